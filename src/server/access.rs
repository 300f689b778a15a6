//! Before anything else looks at a request: is it for us, is it from here, is it not too many, who sends it? And on every
//! answer: its request's id, and the headers that keep browsers from being made to do harm.

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
use crate::store::{Scope, Store, StoreError, TokenRow};

/// The name of the cookie that a browser gets when it signs in.
pub(super) const COOKIE: &str = "roundtable_session";

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// No inline script or style, nothing from elsewhere, nobody's frame.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Where a connection comes from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub(super) SocketAddr);

/// Who sends a request. Handlers find it among the request's extensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    /// The name of the token; `None` where none is needed.
    pub name: Option<String>,
    pub token: Option<Uuid>,
    pub scope: Scope,
}

impl Caller {
    pub(crate) fn may(&self, scope: Scope) -> bool {
        self.scope >= scope
    }
}

/// Whom the server lets in.
pub(crate) struct AccessControl {
    store: Store,
    /// Only programs of this machine can reach it.
    is_loopback: bool,
    /// Names that it may be called by, beside its addresses.
    hosts: Vec<String>,
    known: Mutex<Option<(Instant, Arc<[TokenRow]>)>>,
    buckets: Mutex<HashMap<Source, Bucket>>,
    rate: Rate,
}

/// How many requests one sender may make: so many a second, and so many at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rate {
    pub per_second: f64,
    pub at_once: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Source {
    Address(IpAddr),
    Token(Uuid),
    /// Attempts to sign in, or requests with a token that is none.
    Guessing(IpAddr),
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    at: Instant,
}

/// How long a revoked token may still be taken for good.
const KNOWN_FOR: Duration = Duration::from_secs(1);
/// More senders than this are not remembered at once.
const MOST_BUCKETS: usize = 10_000;
const GUESSES: Rate = Rate {
    per_second: 0.5,
    at_once: 20.0,
};

impl AccessControl {
    pub(crate) fn new(store: Store, bound_to: SocketAddr, hosts: Vec<String>, rate: Rate) -> Self {
        Self {
            store,
            is_loopback: bound_to.ip().is_loopback(),
            hosts,
            known: Mutex::default(),
            buckets: Mutex::default(),
            rate,
        }
    }

    async fn tokens(&self) -> Result<Arc<[TokenRow]>, StoreError> {
        {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((at, tokens)) = known.as_ref()
                && at.elapsed() < KNOWN_FOR
            {
                return Ok(Arc::clone(tokens));
            }
        }
        let tokens: Arc<[TokenRow]> = self.store.tokens().await?.into();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some((Instant::now(), Arc::clone(&tokens)));
        Ok(tokens)
    }

    /// Who a request comes from: `None` where a token is needed and none is there that counts.
    pub(super) async fn recognise(
        &self,
        headers: &HeaderMap,
    ) -> Result<Option<Caller>, StoreError> {
        let tokens = self.tokens().await?;
        if self.is_loopback && tokens.is_empty() {
            return Ok(Some(Caller {
                name: None,
                token: None,
                scope: Scope::Admin,
            }));
        }
        if let Some(secret) = bearer(headers) {
            return Ok(tokens::find(&tokens, &tokens::hash(secret)).map(caller));
        }
        let Some(hash) = session_of(headers) else {
            return Ok(None);
        };
        let token = self.store.session(&hash, clock::now()).await?;
        let row = token.and_then(|id| tokens.iter().find(|token| token.id == id));
        Ok(row.map(caller))
    }

    /// Opens a session for whoever has this token. Gives what the browser is to hold.
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
        match session_of(headers) {
            Some(hash) => self.store.close_session(&hash).await,
            None => Ok(()),
        }
    }

    /// Names and addresses that this server may be called by. A page of another name that leads here is turned away.
    fn knows(&self, host: &str) -> bool {
        let name = without_port(host).to_ascii_lowercase();
        if name == "localhost" || self.hosts.iter().any(|own| own.eq_ignore_ascii_case(&name)) {
            return true;
        }
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        match bare.parse::<IpAddr>() {
            // A name that was made to point here is no address.
            Ok(address) => address.is_loopback() || !self.is_loopback,
            Err(_) => false,
        }
    }

    /// Takes one from what a sender has left; tells after how long there is one again.
    fn admit(&self, source: Source, rate: Rate) -> Result<(), Duration> {
        let now = Instant::now();
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MOST_BUCKETS && !buckets.contains_key(&source) {
            // Whoever has been quiet has a full bucket again, and is forgotten without harm.
            let filled = rate.at_once / rate.per_second;
            buckets.retain(|_, bucket| now.duration_since(bucket.at).as_secs_f64() < filled);
        }
        let bucket = buckets.entry(source).or_insert(Bucket {
            left: rate.at_once,
            at: now,
        });
        let passed = now.duration_since(bucket.at).as_secs_f64();
        bucket.left = (bucket.left + passed * rate.per_second).min(rate.at_once);
        bucket.at = now;
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
    }
}

/// Around everything: the id, the checks, the headers.
pub(super) async fn guard(
    State(app): State<Arc<App>>,
    mut request: Request,
    next: Next,
) -> Response {
    let id = request_id(request.headers());
    let is_api = is_api(request.uri());
    let wants_page = !is_api && accepts_pages(request.headers());
    let mut caller = None;
    let mut response = match check(&app, &mut request).await {
        Ok(()) => {
            caller = request.extensions().get::<Caller>().cloned();
            next.run(request).await
        }
        Err(refusal) => *refusal,
    };
    let is_error = response.status().is_client_error() || response.status().is_server_error();
    if is_api && is_error && response.extensions().get::<Problem>().is_none() {
        // What could not even be read: a path or a query that is no text.
        let problem = Problem::new(
            response.status(),
            "malformed",
            "the request's address could not be read",
        );
        response.extensions_mut().insert(problem);
    }
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        let cause = problem.status();
        let rendered = if wants_page {
            web::problem_page(&problem, &id, caller.as_ref())
        } else {
            problem.render(&id)
        };
        let earlier = std::mem::replace(&mut response, rendered);
        if cause == StatusCode::METHOD_NOT_ALLOWED
            && let Some(allow) = earlier.headers().get(header::ALLOW)
        {
            response.headers_mut().insert(header::ALLOW, allow.clone());
        }
    }
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID, id);
    }
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        // Not "no-referrer": a browser would then send no Origin with our own forms either.
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

/// The client's, where it is harmless; else a new one.
fn request_id(headers: &HeaderMap) -> String {
    let given = headers.get(&REQUEST_ID).and_then(|id| id.to_str().ok());
    let is_harmless = |id: &&str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        (1..=64).contains(&id.len()) && id.chars().all(is_plain)
    };
    given
        .filter(is_harmless)
        .map_or_else(|| Uuid::new_v4().to_string(), str::to_owned)
}

/// Browsers say so; programs get their errors in one form wherever they ask.
fn accepts_pages(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}

fn is_api(uri: &Uri) -> bool {
    uri.path().starts_with("/api/")
}

/// What needs no token: how the server is, how to sign in, and the files that the sign-in page is made of.
fn is_open(uri: &Uri) -> bool {
    matches!(
        uri.path(),
        "/healthz" | "/readyz" | "/sign-in" | "/favicon.ico"
    ) || uri.path().starts_with("/assets/")
}

async fn check(app: &App, request: &mut Request) -> Result<(), Box<Response>> {
    let refuse = |problem: Problem| Err(Box::new(problem.into_response()));
    let access = &app.access;
    let headers = request.headers();
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let Some(host) = host.filter(|host| access.knows(host)) else {
        return refuse(Problem::new(
            StatusCode::MISDIRECTED_REQUEST,
            "unknown-host",
            "this server is not known by that name; call it by its address, or start it with --host NAME",
        ));
    };
    if !is_safe(request.method()) && !is_from_here(headers, host) {
        return refuse(Problem::new(
            StatusCode::FORBIDDEN,
            "cross-site",
            "this comes from a page of another site",
        ));
    }
    let address = request
        .extensions()
        .get::<Peer>()
        .map_or(IpAddr::from([0, 0, 0, 0]), |peer| peer.0.ip());
    let is_open = is_open(request.uri());
    // Whether this process lives has nothing to do with the store: who asks for it must not be told to start another.
    let recognised = if request.uri().path() == "/healthz" {
        Ok(None)
    } else {
        access.recognise(headers).await
    };
    let caller = match recognised {
        Ok(caller) => caller,
        Err(_) if is_open => None,
        Err(error) => return refuse(error.into()),
    };
    let source = match caller.as_ref().map(|caller| caller.token) {
        Some(Some(token)) => Source::Token(token),
        _ => Source::Address(address),
    };
    let mut admitted = access.admit(source, access.rate);
    let guesses = request.uri().path() == "/sign-in" && !is_safe(request.method());
    if admitted.is_ok() && (guesses || (caller.is_none() && bearer(headers).is_some())) {
        admitted = access.admit(Source::Guessing(address), GUESSES);
    }
    if let Err(wait) = admitted {
        let seconds = wait.as_secs() + 1;
        return refuse(
            Problem::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too-many-requests",
                format!("too many requests; try again in {seconds} s"),
            )
            .with(header::RETRY_AFTER, HeaderValue::from(seconds)),
        );
    }
    if is_open {
        if let Some(caller) = caller {
            request.extensions_mut().insert(caller);
        }
        return Ok(());
    }
    let Some(caller) = caller else {
        return Err(Box::new(unknown_caller(request)));
    };
    let needed = scope_for(request.method(), request.uri());
    if !caller.may(needed) {
        return refuse(Problem::new(
            StatusCode::FORBIDDEN,
            "scope",
            format!(
                "this needs a token of the scope '{}'; yours has '{}'",
                needed.name(),
                caller.scope.name()
            ),
        ));
    }
    request.extensions_mut().insert(caller);
    Ok(())
}

/// Programs are told what is missing; people are led to where they can sign in.
fn unknown_caller(request: &Request) -> Response {
    if !is_api(request.uri()) && is_safe(request.method()) {
        let wanted = request.uri().path_and_query().map_or("/", |it| it.as_str());
        let address = format!("/sign-in?next={}", web::percent(wanted));
        return Redirect::to(&address).into_response();
    }
    Problem::new(
        StatusCode::UNAUTHORIZED,
        "no-token",
        "this server needs a service token: send it as `Authorization: Bearer …` (`roundtable token add` makes one)",
    )
    .with(
        header::WWW_AUTHENTICATE,
        HeaderValue::from_static("Bearer realm=\"roundtable\""),
    )
    .into_response()
}

/// Looking needs `read`, deleting `admin`, everything else `run`. Anyone may sign out.
fn scope_for(method: &Method, uri: &Uri) -> Scope {
    if is_safe(method) || uri.path() == "/sign-out" {
        Scope::Read
    } else if method == Method::DELETE || uri.path().ends_with("/delete") {
        Scope::Admin
    } else {
        Scope::Run
    }
}

fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// Browsers say where a request comes from; programs do not, and hold a token instead of a cookie.
fn is_from_here(headers: &HeaderMap, host: &str) -> bool {
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
        // The colons of an address in brackets are not before a port.
        Some((name, port)) if port.chars().all(|c| c.is_ascii_digit()) => name,
        _ => host,
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, secret) = text.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
}

fn session_of(headers: &HeaderMap) -> Option<Hash> {
    let cookies = headers.get_all(header::COOKIE).iter();
    let mut pairs = cookies
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    let (_, session) = pairs.find(|(name, _)| *name == COOKIE)?;
    Some(tokens::hash(session))
}

#[cfg(test)]
#[path = "access_tests.rs"]
mod tests;
