//! Request middleware: host check, CSRF check, rate limit, authentication, authorization. Adds the request id and the
//! security headers to every response.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use uuid::Uuid;

use super::App;
use super::audit::Received;
use super::client::{Client, Proxies, is_forwarded};
use super::cookies;
use super::openai;
use super::openness::Openness;
use super::problem::Problem;
use super::rate_limit::{Rate, RateKey, RateLimiter};
use super::tokens::{self, Hash};
use super::web;
use crate::clock;
use crate::store::{
    Reach, Scope, SessionTimeouts, Store, StoreError, TokenLimits, TokenRow, Uses, Via,
};

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

    /// For the audit log.
    pub(super) fn via(&self) -> Via {
        match self.token {
            Some(_) => Via::Token,
            None => Via::OpenServer,
        }
    }
}

/// How a request was authenticated, in the request's extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Credential {
    /// No token is required.
    Nothing,
    Token(Hash),
    Session(Hash),
}

pub(super) struct AccessOptions {
    pub bound_to: SocketAddr,
    /// Accepted `Host` names, in addition to addresses.
    pub hosts: Vec<String>,
    pub rate: Rate,
    pub openness: Openness,
    pub proxies: Proxies,
    pub sessions: SessionTimeouts,
}

pub(crate) struct AccessControl {
    store: Store,
    options: AccessOptions,
    token_cache: Mutex<Option<(Instant, Arc<KnownTokens>)>>,
    /// This process has seen a token, so it does not open again.
    has_seen_tokens: AtomicBool,
    limiter: RateLimiter,
    /// Not recorded in the store yet.
    uses: Mutex<Uses>,
}

struct KnownTokens {
    rows: Vec<TokenRow>,
    /// No token is required. If only local requests are open, one that a proxy forwarded still needs a token.
    is_open: bool,
}

/// How long a revoked token may still be accepted.
const TOKEN_CACHE_TTL: Duration = Duration::from_secs(1);
const GUESS_RATE: Rate = Rate {
    per_second: 0.5,
    burst: 20.0,
};

impl AccessControl {
    pub(super) fn new(store: Store, options: AccessOptions) -> Self {
        Self {
            store,
            options,
            token_cache: Mutex::default(),
            has_seen_tokens: AtomicBool::new(false),
            limiter: RateLimiter::default(),
            uses: Mutex::default(),
        }
    }

    async fn tokens(&self) -> Result<Arc<KnownTokens>, StoreError> {
        {
            let cache = self.token_cache.lock();
            let cache = cache.unwrap_or_else(PoisonError::into_inner);
            if let Some((read_at, tokens)) = cache.as_ref()
                && read_at.elapsed() < TOKEN_CACHE_TTL
            {
                return Ok(Arc::clone(tokens));
            }
        }
        let rows = self.store.tokens().await?;
        let is_open = rows.is_empty() && self.is_open_without_tokens().await?;
        if !rows.is_empty() {
            self.has_seen_tokens.store(true, Ordering::Relaxed);
        }
        let tokens = Arc::new(KnownTokens { rows, is_open });
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

    /// The client of a request, for the audit log.
    pub(super) fn client(&self, request: &Request) -> Client {
        let peer = request.extensions().get::<Peer>();
        let peer = peer.map_or(IpAddr::from([0, 0, 0, 0]), |peer| peer.0.ip());
        self.options.proxies.client(peer, request.headers())
    }

    /// The name of the token with this secret.
    pub(super) async fn token_name(&self, secret: &str) -> Result<Option<String>, StoreError> {
        let tokens = self.tokens().await?;
        let hash = tokens::hash(secret.trim());
        let found = tokens::find(&tokens.rows, &hash, clock::now());
        Ok(found.map(|token| token.name.clone()))
    }

    async fn is_open_without_tokens(&self) -> Result<bool, StoreError> {
        if self.has_seen_tokens.load(Ordering::Relaxed) {
            return Ok(false);
        }
        match self.options.openness {
            Openness::Closed => Ok(false),
            Openness::Local => Ok(!self.store.had_tokens().await?),
            Openness::Everyone => Ok(true),
        }
    }

    /// The sender of a request; `None` if a valid token is required and missing.
    async fn authenticate(
        &self,
        headers: &HeaderMap,
        client: Client,
    ) -> Result<Option<(Caller, Credential)>, StoreError> {
        let credential = if self.tokens().await?.is_open {
            if self.options.openness == Openness::Local && is_forwarded(headers) {
                return Ok(None);
            }
            Credential::Nothing
        } else if let Some(secret) = bearer(headers) {
            Credential::Token(tokens::hash(secret))
        } else if let Some(secret) = cookies::session(headers, client) {
            Credential::Session(tokens::hash(secret))
        } else {
            return Ok(None);
        };
        let caller = self.verify(credential).await?;
        if let Some(caller) = &caller {
            self.note_use(caller, credential);
        }
        Ok(caller.map(|caller| (caller, credential)))
    }

    /// The caller with this credential, if it is still valid.
    pub(super) async fn verify(
        &self,
        credential: Credential,
    ) -> Result<Option<Caller>, StoreError> {
        let tokens = self.tokens().await?;
        let now = clock::now();
        let row = match credential {
            Credential::Nothing => {
                return Ok(tokens.is_open.then(Caller::open));
            }
            Credential::Token(hash) => tokens::find(&tokens.rows, &hash, now),
            Credential::Session(hash) => {
                let timeouts = self.options.sessions;
                let token = self.store.session(&hash, now, timeouts).await?;
                let row = token.and_then(|id| tokens.rows.iter().find(|row| row.id == id));
                row.filter(|row| !row.is_expired(now))
            }
        };
        Ok(row.map(caller))
    }

    /// Opens a session for a valid token. Returns the secret for the session cookie.
    pub(super) async fn sign_in(&self, secret: &str) -> Result<Option<String>, Problem> {
        let tokens = self.tokens().await?;
        let now = clock::now();
        let Some(row) = tokens::find(&tokens.rows, &tokens::hash(secret.trim()), now) else {
            return Ok(None);
        };
        let session = tokens::make().map_err(|error| Problem::internal(&error.to_string()))?;
        let hash = tokens::hash(&session);
        self.store
            .open_session(&hash, row.id, now, self.options.sessions)
            .await?;
        Ok(Some(session))
    }

    pub(super) async fn sign_out(
        &self,
        headers: &HeaderMap,
        client: Client,
    ) -> Result<(), StoreError> {
        match cookies::session(headers, client) {
            Some(secret) => self.store.close_session(&tokens::hash(secret)).await,
            None => Ok(()),
        }
    }

    pub(super) fn session_timeouts(&self) -> SessionTimeouts {
        self.options.sessions
    }

    /// Remembers the use of a token, and of a session. [`Self::record_uses`] writes it to the store.
    fn note_use(&self, caller: &Caller, credential: Credential) {
        let now = clock::now();
        let mut uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        uses.tokens.extend(caller.token.map(|token| (token, now)));
        if let Credential::Session(hash) = credential {
            uses.sessions.insert(hash, now);
        }
    }

    /// Writes what was used since the last call. Called by a background task, because a request must not wait for it.
    pub(super) async fn record_uses(&self) -> Result<(), StoreError> {
        let uses = {
            let mut uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *uses)
        };
        if uses == Uses::default() {
            return Ok(());
        }
        self.store.record_uses(&uses).await
    }

    /// Whether this URL of a provider leads to this server: by its port and address, or by one of its names.
    pub(super) fn is_own_url(&self, url: &str) -> bool {
        let options = &self.options;
        is_own_url(url, options.bound_to, &options.hosts)
    }

    /// Whether a `Host` is one of this server's. Any other may be DNS rebinding.
    fn is_own_host(&self, host: &str) -> bool {
        let name = without_port(host).to_ascii_lowercase();
        let hosts = &self.options.hosts;
        if name == "localhost" || hosts.iter().any(|own| own.eq_ignore_ascii_case(&name)) {
            return true;
        }
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        match bare.parse::<IpAddr>() {
            // DNS rebinding needs a name, so any address is safe if the server is not bound to loopback.
            Ok(address) => address.is_loopback() || !self.options.bound_to.ip().is_loopback(),
            Err(_) => false,
        }
    }
}

/// See [`AccessControl::is_own_url`].
fn is_own_url(url: &str, bound_to: SocketAddr, hosts: &[String]) -> bool {
    let Ok(url) = url.parse::<Uri>() else {
        return false;
    };
    let Some(host) = url.host() else {
        return false;
    };
    let is_named = hosts.iter().any(|own| own.eq_ignore_ascii_case(host));
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let is_here = match address.parse::<IpAddr>() {
        Ok(address) => address == bound_to.ip() || is_reached_by_loopback(address, bound_to),
        Err(_) => is_named || host.eq_ignore_ascii_case("localhost"),
    };
    let port = url.port_u16();
    // A proxy serves the names at the default port. Other programs of the host have ports of their own.
    is_here && (port == Some(bound_to.port()) || (port.is_none() && is_named))
}

fn is_reached_by_loopback(address: IpAddr, bound_to: SocketAddr) -> bool {
    let bound_to = bound_to.ip();
    address.is_loopback() && (bound_to.is_loopback() || bound_to.is_unspecified())
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
    // Its errors are JSON-RPC messages.
    let is_mcp = is_mcp(request.uri());
    let is_openai = openai::is_path(request.uri().path());
    let wants_page = !is_api && accepts_html(request.headers());
    let mut caller = None;
    let mut response = match check(&app, &mut request).await {
        Ok(()) => {
            caller = request.extensions().get::<Caller>().cloned();
            let received = request.extensions().get::<Received>().cloned();
            match begin(&app, received, caller.as_ref()).await {
                Ok(()) => next.run(request).await,
                Err(problem) => problem.into_response(),
            }
        }
        Err(response) => *response,
    };
    let caller = caller.or_else(|| response.extensions_mut().remove::<Caller>());
    let is_error = response.status().is_client_error() || response.status().is_server_error();
    let is_plain = is_api && !is_mcp;
    if is_plain && is_error && response.extensions().get::<Problem>().is_none() {
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
        } else if is_openai {
            openai::render_error(&problem)
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
    // Everything but the assets may contain debates.
    if !headers.contains_key(header::CACHE_CONTROL) {
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

/// For programs: errors are never pages, and requests are not redirected to the sign-in page.
fn is_api(uri: &Uri) -> bool {
    let path = uri.path();
    path.starts_with("/api/") || openai::is_path(path) || is_mcp(uri)
}

fn is_mcp(uri: &Uri) -> bool {
    uri.path() == "/mcp"
}

fn is_probe(uri: &Uri) -> bool {
    matches!(uri.path(), "/healthz" | "/readyz")
}

/// Records the start of an action. A request without a caller records it itself, once it knows who sent it.
async fn begin(
    app: &App,
    received: Option<Received>,
    caller: Option<&Caller>,
) -> Result<(), Problem> {
    match (received, caller) {
        (Some(received), Some(caller)) => {
            let who = caller.name.clone();
            app.auditor.begin(&received, who, caller.via()).await
        }
        _ => Ok(()),
    }
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
    let client = access.client(request);
    if is_probe(request.uri()) {
        // No rate limit, no authentication: a flood of other requests must not make a supervisor restart the process.
        return Ok(());
    }
    let rule = app.rules.of(request);
    let is_public = rule.scope.is_none();
    let is_sign_in = request.uri().path() == "/sign-in" && !is_safe(request.method());
    let caller = match admit(access, headers, client, is_sign_in).await? {
        Ok(caller) => caller,
        Err(_) if is_public => None,
        Err(error) => return reject(error.into()),
    };
    request.extensions_mut().insert(client);
    if is_public {
        if let Some((caller, _)) = caller {
            request.extensions_mut().insert(caller);
        }
        return Ok(());
    }
    let Some((caller, credential)) = caller else {
        let is_open = access.tokens().await.is_ok_and(|tokens| tokens.is_open);
        return Err(Box::new(if is_open {
            forwarded_without_tokens().into_response()
        } else {
            unauthenticated(request)
        }));
    };
    match caller.check(rule) {
        Ok(()) => {
            request.extensions_mut().insert(caller);
            request.extensions_mut().insert(credential);
            Ok(())
        }
        Err(problem) => {
            let mut response = problem.into_response();
            response.extensions_mut().insert(caller);
            Err(Box::new(response))
        }
    }
}

type Authenticated = Result<Option<(Caller, Credential)>, StoreError>;

/// Authenticates the sender within the rate limits. A request that is limited by its address does not reach the database.
async fn admit(
    access: &AccessControl,
    headers: &HeaderMap,
    client: Client,
    is_sign_in: bool,
) -> Result<Authenticated, Box<Response>> {
    let limit = |key, rate| {
        let allowed = access.limiter.check(key, rate);
        allowed.map_err(|wait| Box::new(too_many_requests(wait).into_response()))
    };
    let (group, rate) = (client.rate_group(), access.options.rate);
    let has_bearer = bearer(headers).is_some();
    // Service tokens are cached. Each has a limit of its own, wherever it is used from.
    if !has_bearer {
        limit(RateKey::Address(group), rate)?;
    }
    let authenticated = access.authenticate(headers, client).await;
    let caller = authenticated.as_ref().ok().and_then(Option::as_ref);
    match caller.and_then(|(caller, _)| caller.token) {
        Some(token) => limit(RateKey::Token(token), rate)?,
        None if has_bearer => limit(RateKey::Address(group), rate)?,
        None => {}
    }
    if is_sign_in || (has_bearer && caller.is_none()) {
        limit(RateKey::Guessing(group), GUESS_RATE)?;
    }
    Ok(authenticated)
}

fn too_many_requests(wait: Duration) -> Problem {
    let seconds = wait.as_secs() + 1;
    let detail = format!("too many requests; retry in {seconds} s");
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "too-many-requests", detail)
        .with(header::RETRY_AFTER, HeaderValue::from(seconds))
}

/// The server has no tokens and is open to this machine only, but the request came through a proxy.
fn forwarded_without_tokens() -> Problem {
    Problem::new(
        StatusCode::FORBIDDEN,
        "forwarded",
        "the request came through a proxy, and the server has no service tokens; \
         create one with `roundtable token add`, or start the server with --open",
    )
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

#[cfg(test)]
#[path = "access_tests.rs"]
mod tests;
