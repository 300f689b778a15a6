//! Request middleware: host check, CSRF check, rate limit, authentication, authorization. Adds the request id and the
//! security headers to every response.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use uuid::Uuid;

use super::App;
use super::problem::Problem;
use super::tokens::{self, Hash};
use super::web;
use crate::clock;
use crate::store::{Reach, Scope, Store, StoreError, TokenLimits, TokenRow};

pub(super) const SESSION_COOKIE: &str = "roundtable_session";

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// No inline scripts or styles, no third-party resources, no framing.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The remote address of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub(super) SocketAddr);

/// The authenticated sender of a request, in the request's extensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    /// The name of the token; `None` if no token is required.
    pub name: Option<String>,
    pub token: Option<Uuid>,
    pub scope: Scope,
    pub reach: Reach,
    pub limits: Arc<TokenLimits>,
}

impl Caller {
    pub(crate) fn may(&self, scope: Scope) -> bool {
        self.scope >= scope
    }
}

pub(crate) struct AccessControl {
    store: Store,
    /// Bound to a loopback address: only this machine can connect.
    is_loopback: bool,
    /// Accepted `Host` names, in addition to addresses.
    hosts: Vec<String>,
    token_cache: Mutex<Option<(Instant, Arc<[TokenRow]>)>>,
    buckets: Mutex<HashMap<RateKey, Bucket>>,
    rate: Rate,
}

/// Rate limit of one sender, as a token bucket.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rate {
    pub per_second: f64,
    pub burst: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum RateKey {
    Address(IpAddr),
    Token(Uuid),
    /// Sign-in attempts, and requests with an invalid token.
    Guessing(IpAddr),
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    updated_at: Instant,
}

/// How long a revoked token may still be accepted.
const TOKEN_CACHE_TTL: Duration = Duration::from_secs(1);
const MAX_BUCKETS: usize = 10_000;
const GUESS_RATE: Rate = Rate {
    per_second: 0.5,
    burst: 20.0,
};

impl AccessControl {
    pub(crate) fn new(store: Store, bound_to: SocketAddr, hosts: Vec<String>, rate: Rate) -> Self {
        Self {
            store,
            is_loopback: bound_to.ip().is_loopback(),
            hosts,
            token_cache: Mutex::default(),
            buckets: Mutex::default(),
            rate,
        }
    }

    pub(super) async fn tokens(&self) -> Result<Arc<[TokenRow]>, StoreError> {
        {
            let cache = self.token_cache.lock();
            let cache = cache.unwrap_or_else(PoisonError::into_inner);
            if let Some((read_at, tokens)) = cache.as_ref()
                && read_at.elapsed() < TOKEN_CACHE_TTL
            {
                return Ok(Arc::clone(tokens));
            }
        }
        let tokens: Arc<[TokenRow]> = self.store.tokens().await?.into();
        let cache = self.token_cache.lock();
        *cache.unwrap_or_else(PoisonError::into_inner) =
            Some((Instant::now(), Arc::clone(&tokens)));
        Ok(tokens)
    }

    /// Makes this process notice added and revoked tokens at once.
    pub(super) fn forget_tokens(&self) {
        let cache = self.token_cache.lock();
        *cache.unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The sender of a request; `None` if a valid token is required and missing.
    pub(super) async fn authenticate(
        &self,
        headers: &HeaderMap,
    ) -> Result<Option<Caller>, StoreError> {
        let tokens = self.tokens().await?;
        if self.is_loopback && tokens.is_empty() {
            return Ok(Some(Caller::open()));
        }
        if let Some(secret) = bearer(headers) {
            return Ok(tokens::find(&tokens, &tokens::hash(secret)).map(caller));
        }
        let Some(hash) = session_hash(headers) else {
            return Ok(None);
        };
        let token = self.store.session(&hash, clock::now()).await?;
        let row = token.and_then(|id| tokens.iter().find(|token| token.id == id));
        Ok(row.map(caller))
    }

    /// Opens a session for a valid token. Returns the secret for the session cookie.
    pub(super) async fn sign_in(&self, secret: &str) -> Result<Option<String>, Problem> {
        let tokens = self.tokens().await?;
        let Some(row) = tokens::find(&tokens, &tokens::hash(secret.trim())) else {
            return Ok(None);
        };
        let session = tokens::make().map_err(|error| Problem::internal(&error.to_string()))?;
        let now = clock::now();
        let hash = tokens::hash(&session);
        self.store
            .open_session(&hash, row.id, now, now + tokens::SESSION_MS)
            .await?;
        Ok(Some(session))
    }

    pub(super) async fn sign_out(&self, headers: &HeaderMap) -> Result<(), StoreError> {
        match session_hash(headers) {
            Some(hash) => self.store.close_session(&hash).await,
            None => Ok(()),
        }
    }

    /// Whether a `Host` is one of this server's. Any other may be DNS rebinding.
    fn is_own_host(&self, host: &str) -> bool {
        let name = without_port(host).to_ascii_lowercase();
        if name == "localhost" || self.hosts.iter().any(|own| own.eq_ignore_ascii_case(&name)) {
            return true;
        }
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        match bare.parse::<IpAddr>() {
            // DNS rebinding needs a name, so any address is safe if the server is not bound to loopback.
            Ok(address) => address.is_loopback() || !self.is_loopback,
            Err(_) => false,
        }
    }

    /// Takes one request from the sender's bucket. The error is the time until the next is allowed.
    fn check_rate(&self, key: RateKey, rate: Rate) -> Result<(), Duration> {
        let now = Instant::now();
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MAX_BUCKETS && !buckets.contains_key(&key) {
            // Idle senders have a full bucket again, so their entries can be removed.
            let refill = rate.burst / rate.per_second;
            buckets
                .retain(|_, bucket| now.duration_since(bucket.updated_at).as_secs_f64() < refill);
        }
        let bucket = buckets.entry(key).or_insert(Bucket {
            left: rate.burst,
            updated_at: now,
        });
        let passed = now.duration_since(bucket.updated_at).as_secs_f64();
        bucket.left = (bucket.left + passed * rate.per_second).min(rate.burst);
        bucket.updated_at = now;
        if bucket.left < 1.0 {
            return Err(Duration::from_secs_f64(
                (1.0 - bucket.left) / rate.per_second,
            ));
        }
        bucket.left -= 1.0;
        Ok(())
    }
}

fn caller(row: &TokenRow) -> Caller {
    Caller {
        name: Some(row.name.clone()),
        token: Some(row.id),
        scope: row.scope,
        reach: row.reach,
        limits: Arc::new(row.limits.clone()),
    }
}

pub(super) async fn guard(
    State(app): State<Arc<App>>,
    mut request: Request,
    next: Next,
) -> Response {
    let id = request_id(request.headers());
    let is_api = is_api(request.uri());
    let wants_page = !is_api && accepts_html(request.headers());
    let mut caller = None;
    let mut response = match check(&app, &mut request).await {
        Ok(()) => {
            caller = request.extensions().get::<Caller>().cloned();
            next.run(request).await
        }
        Err(response) => *response,
    };
    let caller = caller.or_else(|| response.extensions_mut().remove::<Caller>());
    let is_error = response.status().is_client_error() || response.status().is_server_error();
    if is_api && is_error && response.extensions().get::<Problem>().is_none() {
        // Rejected by an axum extractor: a path or query that is not valid UTF-8.
        let problem = Problem::new(
            response.status(),
            "malformed",
            "the path or query string is malformed",
        );
        response.extensions_mut().insert(problem);
    }
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        let status = problem.status();
        let rendered = if wants_page {
            web::problem_page(&problem, &id, caller.as_ref())
        } else {
            problem.render(&id)
        };
        let original = std::mem::replace(&mut response, rendered);
        if status == StatusCode::METHOD_NOT_ALLOWED
            && let Some(allow) = original.headers().get(header::ALLOW)
        {
            response.headers_mut().insert(header::ALLOW, allow.clone());
        }
    }
    if let Some(caller) = caller {
        // For the audit log.
        response.extensions_mut().insert(caller);
    }
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID, id);
    }
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        // With "no-referrer", browsers would send `Origin: null` with our own forms.
        (header::REFERRER_POLICY, "same-origin"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if is_api && !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

/// The client's id if it is short and plain ASCII, otherwise a new one.
fn request_id(headers: &HeaderMap) -> String {
    let given = headers.get(&REQUEST_ID).and_then(|id| id.to_str().ok());
    let is_valid = |id: &&str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        (1..=64).contains(&id.len()) && id.chars().all(is_plain)
    };
    given
        .filter(is_valid)
        .map_or_else(|| Uuid::new_v4().to_string(), str::to_owned)
}

/// The id of a request. It becomes the only one in the header.
pub(super) fn assign_request_id(headers: &mut HeaderMap) -> String {
    let id = request_id(headers);
    if let Ok(value) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID, value);
    }
    id
}

/// Browsers get error pages; other clients get problem documents.
pub(super) fn accepts_html(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT);
    let accept = accept.and_then(|value| value.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}

fn is_api(uri: &Uri) -> bool {
    uri.path().starts_with("/api/")
}

async fn check(app: &App, request: &mut Request) -> Result<(), Box<Response>> {
    let reject = |problem: Problem| Err(Box::new(problem.into_response()));
    let access = &app.access;
    let headers = request.headers();
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let Some(host) = host.filter(|host| access.is_own_host(host)) else {
        return reject(Problem::new(
            StatusCode::MISDIRECTED_REQUEST,
            "unknown-host",
            "unknown host name; use the server's address, or start it with --host NAME",
        ));
    };
    if !is_safe(request.method()) && !is_same_origin(headers, host) {
        return reject(Problem::new(
            StatusCode::FORBIDDEN,
            "cross-site",
            "cross-site request rejected",
        ));
    }
    let address = request
        .extensions()
        .get::<Peer>()
        .map_or(IpAddr::from([0, 0, 0, 0]), |peer| peer.0.ip());
    let rule = app.rules.of(request);
    let is_public = rule.scope.is_none();
    // Liveness must not depend on the store: a supervisor would restart a healthy process.
    let authenticated = if request.uri().path() == "/healthz" {
        Ok(None)
    } else {
        access.authenticate(headers).await
    };
    let caller = match authenticated {
        Ok(caller) => caller,
        Err(_) if is_public => None,
        Err(error) => return reject(error.into()),
    };
    let key = match caller.as_ref().map(|caller| caller.token) {
        Some(Some(token)) => RateKey::Token(token),
        _ => RateKey::Address(address),
    };
    let mut allowed = access.check_rate(key, access.rate);
    let is_sign_in = request.uri().path() == "/sign-in" && !is_safe(request.method());
    if allowed.is_ok() && (is_sign_in || (caller.is_none() && bearer(headers).is_some())) {
        allowed = access.check_rate(RateKey::Guessing(address), GUESS_RATE);
    }
    if let Err(wait) = allowed {
        let seconds = wait.as_secs() + 1;
        return reject(
            Problem::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too-many-requests",
                format!("too many requests; retry in {seconds} s"),
            )
            .with(header::RETRY_AFTER, HeaderValue::from(seconds)),
        );
    }
    if is_public {
        if let Some(caller) = caller {
            request.extensions_mut().insert(caller);
        }
        return Ok(());
    }
    let Some(caller) = caller else {
        return Err(Box::new(unauthenticated(request)));
    };
    match caller.check(rule) {
        Ok(()) => {
            request.extensions_mut().insert(caller);
            Ok(())
        }
        Err(problem) => {
            let mut response = problem.into_response();
            response.extensions_mut().insert(caller);
            Err(Box::new(response))
        }
    }
}

/// API clients get 401; browsers are redirected to the sign-in page.
fn unauthenticated(request: &Request) -> Response {
    if !is_api(request.uri()) && is_safe(request.method()) {
        let next = request.uri().path_and_query();
        let next = web::percent(next.map_or("/", |path| path.as_str()));
        return Redirect::to(&format!("/sign-in?next={next}")).into_response();
    }
    Problem::new(
        StatusCode::UNAUTHORIZED,
        "no-token",
        "missing or invalid service token: send `Authorization: Bearer …`; create a token with `roundtable token add`",
    )
    .with(
        header::WWW_AUTHENTICATE,
        HeaderValue::from_static("Bearer realm=\"roundtable\""),
    )
    .into_response()
}

fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// CSRF check. Only browsers send these headers; other clients authenticate with a token instead of a cookie.
fn is_same_origin(headers: &HeaderMap, host: &str) -> bool {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    if let Some(site) = text("sec-fetch-site")
        && !matches!(site, "same-origin" | "none")
    {
        return false;
    }
    match text("origin") {
        None => true,
        Some(origin) => origin
            .split_once("://")
            .is_some_and(|(_, from)| from.eq_ignore_ascii_case(host)),
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        // In a bracketed IPv6 address, the text after the last colon ends with `]` and is not a port.
        Some((name, port)) if port.chars().all(|c| c.is_ascii_digit()) => name,
        _ => host,
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, secret) = text.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
}

fn session_hash(headers: &HeaderMap) -> Option<Hash> {
    let cookies = headers.get_all(header::COOKIE).iter();
    let mut pairs = cookies
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    let (_, session) = pairs.find(|(name, _)| *name == SESSION_COOKIE)?;
    Some(tokens::hash(session))
}

#[cfg(test)]
#[path = "access_tests.rs"]
mod tests;
