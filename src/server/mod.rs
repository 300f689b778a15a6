//! The HTTP server: REST API, server-sent events, and web pages.
//!
//! Invariants: without service tokens it serves this machine only, unless started with `--open`; every error is a problem document; an accepted debate is
//! run to its end, across restarts; a client receives every event exactly once.

mod access;
mod audit;
mod audit_api;
mod client;
mod cookies;
mod ensemble;
mod events;
mod learning;
mod list_query;
mod live;
mod log;
mod mcp_route;
pub(crate) mod new_token;
mod notifiers;
mod openai;
mod openapi;
mod openness;
pub(crate) mod operations;
mod ownership;
mod probes;
pub(crate) mod problem;
mod prompts;
mod quota;
mod rate_limit;
mod reader;
mod reasoning;
pub(crate) mod requests;
mod rest;
mod route_table;
mod scheduler;
mod share_api;
mod sign_in;
mod streams;
mod tail;
mod test_calls;
mod token_api;
pub(crate) mod tokens;
pub(crate) mod web;
mod worker;

use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware;
use axum::response::Response;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use tower_http::compression::CompressionLayer;

use crate::app_context::AppContext;
use crate::config::Network;
use crate::failure::Failure;
use crate::store::{SessionTimeouts, Store};
use access::{AccessControl, AccessOptions, Peer};
use audit::Auditor;
use client::Proxies;
pub(crate) use mcp_route::CallInProgress;
pub(crate) use openness::OpenTo;
use openness::Openness;
use operations::UnknownDebates;
use probes::Probes;
use problem::Problem;
use quota::Quotas;
pub(crate) use rate_limit::Rate;
use route_table::ReachRule::{All, Debate, Nothing, Visible};
use route_table::{PUBLIC, Routes, Rules, admin, read, run};
use scheduler::Scheduler;
pub(crate) use scheduler::{Limits, Work};
pub(crate) use streams::StreamLimits;
use streams::Streams;
use test_calls::TestCalls;
pub(crate) use worker::{WorkerOptions, work};

/// How long a client may take to send the request header.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Connections over the limit that get this response at the same time; further ones are closed at once.
const MAX_REFUSALS: usize = 64;
const ACCEPT_BACKOFF: Duration = Duration::from_millis(50);
/// How long open requests may take at shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) struct Options {
    pub bind: SocketAddr,
    pub limits: Limits,
    pub work: Work,
    /// Accepted `Host` names, in addition to addresses.
    pub hosts: Vec<String>,
    pub rate: Rate,
    pub max_connections: usize,
    /// Serve without tokens, also behind a proxy.
    pub open: Option<OpenTo>,
    pub trusted_proxies: Vec<Network>,
    /// All clients use HTTPS, which a proxy terminates.
    pub is_https: bool,
    pub sessions: SessionTimeouts,
    pub streams: StreamLimits,
    /// Accept the empty database that replaces a damaged one.
    pub begin_empty: bool,
    /// How long a request of the forecasting API waits for the result.
    pub answer_within: Duration,
}

/// Shared state of all request handlers.
pub(crate) struct App {
    pub context: Arc<AppContext>,
    pub store: Store,
    pub scheduler: Arc<Scheduler>,
    pub access: AccessControl,
    /// The access that each route needs.
    pub rules: Rules,
    pub quotas: Quotas,
    pub auditor: Auditor,
    pub streams: Streams,
    pub probes: Probes,
    pub test_calls: TestCalls,
    /// Maximum size of a request body, in bytes.
    pub body_limit: usize,
    /// How long a request of the forecasting API waits for the result.
    pub answer_within: Duration,
    pub unknown_debates: UnknownDebates,
    pub mcp_calls: mcp_route::Calls,
}

/// Serves until `shutdown` resolves. Debates that are still running resume at the next start; a second shutdown signal drops
/// their model calls.
pub(crate) async fn serve(
    context: Arc<AppContext>,
    options: Options,
    shutdown: impl AsyncFn(),
) -> Result<(), Failure> {
    let open_files = raise_open_file_limit();
    // The other half is for debates and the store, which must not fail for want of a descriptor.
    let max_connections = options.max_connections.min(open_files / 2).max(1);
    let store = context.store().await?;
    if options.work == Work::Elsewhere && !store.is_shared() {
        return Err(Failure::usage(
            "--no-work needs workers, and workers need a PostgreSQL database: set --database",
        ));
    }
    store.set_up_queue().await?;
    check_replacement(&store, options.begin_empty).await?;
    let openness = openness::decide(&store, &options).await?;
    if options.begin_empty {
        store.accept_replacement().await?;
    }
    let listener = TcpListener::bind(options.bind)
        .await
        .map_err(|error| Failure::usage(format!("cannot listen on {}: {error}", options.bind)))?;
    let address = listener
        .local_addr()
        .map_err(|error| Failure::other(format!("cannot listen on {}: {error}", options.bind)))?;
    let scheduler = Scheduler::open(
        Arc::clone(&context),
        store.clone(),
        options.limits,
        options.work,
    );
    let app = Arc::new(App {
        body_limit: requests::body_limit(&context.config.limits),
        answer_within: options.answer_within,
        access: AccessControl::new(
            store.clone(),
            AccessOptions {
                bound_to: address,
                hosts: options.hosts,
                rate: options.rate,
                openness,
                proxies: Proxies {
                    trusted: options.trusted_proxies,
                    is_https: options.is_https,
                },
                sessions: options.sessions,
            },
        ),
        streams: Streams::new(options.streams),
        probes: Probes::default(),
        rules: routes().rules,
        quotas: Quotas::default(),
        auditor: Auditor::new(store.clone()),
        scheduler: Arc::clone(&scheduler),
        store: store.clone(),
        test_calls: TestCalls::default(),
        unknown_debates: UnknownDebates::default(),
        mcp_calls: mcp_route::Calls::default(),
        context,
    });
    if openness == Openness::Everyone {
        log::note(&format!(
            "--open: no token is required; everyone who can connect to {address}, also through a proxy or a tunnel, can read, \
             start and delete debates"
        ));
    }
    announce(&format!("Listening on http://{address}"));
    if std::io::stdout().is_terminal() {
        announce(&format!(
            "Open {} in your browser. Ctrl-C stops the server.",
            browser_url(address)
        ));
    }
    scheduler.tasks().spawn(record_uses(Arc::clone(&app)));
    scheduler.fetch_embedder();
    scheduler.join_cluster();
    scheduler.recover_abandoned();
    let router = router(app);
    tokio::select! {
        () = accept(&listener, &router, &scheduler, max_connections) => {}
        () = shutdown() => {}
    }
    drop(listener);
    log::note(
        "shutting down: finishing open requests and model calls; running debates resume at the next start",
    );
    scheduler.close(SHUTDOWN_TIMEOUT, shutdown()).await;
    store.close().await;
    Ok(())
}

/// A server, unlike a command, does not continue with an empty database in place of a damaged one unless the user asks for it.
async fn check_replacement(store: &Store, begin_empty: bool) -> Result<(), Failure> {
    match (store.replaces_damaged().await?, begin_empty) {
        (Some(kept_as), false) => Err(Failure::usage(format!(
            "the database was damaged and was moved to {kept_as}; the one in its place has none of its debates and tokens. \
             Restore a backup, or start once with --begin-empty to go on without them"
        ))),
        (None, true) => Err(Failure::usage(
            "--begin-empty accepts an empty database in place of a damaged one, and this database replaces none; \
             leave the option out",
        )),
        _ => Ok(()),
    }
}

const USE_INTERVAL: Duration = Duration::from_mins(1);

/// Records the last use of tokens and sessions until the server closes.
async fn record_uses(app: Arc<App>) {
    let closing = app.scheduler.closing().clone();
    loop {
        let is_closing = tokio::select! {
            () = closing.cancelled() => true,
            () = tokio::time::sleep(USE_INTERVAL) => false,
        };
        // An outage loses at most a minute of it.
        if let Err(error) = app.access.record_uses().await {
            log::note(&format!("cannot record the last use of tokens: {error}"));
        }
        if is_closing {
            return;
        }
    }
}

fn router(app: Arc<App>) -> Router {
    routes()
        .router
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(middleware::from_fn_with_state(
            app.body_limit,
            requests::within_limits,
        ))
        .layer(CompressionLayer::new())
        .layer(middleware::from_fn_with_state(
            Arc::clone(&app),
            access::guard,
        ))
        .layer(middleware::from_fn_with_state(
            Arc::clone(&app),
            audit::record,
        ))
        .with_state(app)
}

/// Every route, with the scope and reach it needs and the action it is recorded as.
fn routes() -> Routes {
    let debate = "/api/v1/debates/{id}";
    let forecast = "/api/v1/reasoning/debate/{id}";
    let shares = "/api/v1/debates/{id}/shares";
    Routes::default()
        .get("/api/v1/debates", read(Visible), rest::list)
        .post("/api/v1/debates", run(Visible), rest::create)
        .post("/api/v1/debates/estimate", run(Nothing), rest::estimate)
        .get(debate, read(Debate), rest::show)
        .delete(
            debate,
            admin(Debate).audited("debate-deleted"),
            rest::delete,
        )
        .get("/api/v1/debates/{id}/events", read(Debate), events::stream)
        .post("/api/v1/debates/{id}/input", run(Debate), rest::input)
        .post(
            "/api/v1/debates/{id}/decision",
            run(Debate).audited("decision"),
            rest::decision,
        )
        .post("/api/v1/debates/{id}/pause", run(Debate), rest::pause)
        .post("/api/v1/debates/{id}/cancel", run(Debate), rest::cancel)
        .post("/api/v1/debates/{id}/resume", run(Debate), rest::resume)
        .post("/api/v1/debates/{id}/rating", run(Debate), rest::rating)
        .get("/api/v1/debates/{id}/export", read(Debate), rest::export)
        .get("/api/v1/debates/{id}/prompt", read(Debate), prompts::show)
        .get(shares, run(Debate), share_api::list)
        .post(shares, run(Debate).audited("share-added"), share_api::add)
        .delete(
            "/api/v1/debates/{id}/shares/{share}",
            run(Debate).audited("share-revoked"),
            share_api::revoke,
        )
        .post("/api/v1/reasoning/debate", run(Visible), reasoning::create)
        .get(forecast, read(Debate), reasoning::show)
        .get(
            "/api/v1/reasoning/debate/{id}/round/{number}",
            read(Debate),
            reasoning::round,
        )
        .get(
            "/api/v1/reasoning/debate/{id}/role/{name}",
            read(Debate),
            reasoning::role,
        )
        .get(
            "/api/v1/reasoning/debate/{id}/consensus",
            read(Debate),
            reasoning::consensus,
        )
        .post(
            "/api/v1/reasoning/debate/{id}/resolution",
            run(Debate).audited("resolution"),
            reasoning::resolve,
        )
        .get(
            "/api/v1/reasoning/calibration",
            read(Visible),
            reasoning::calibration,
        )
        .post(
            "/api/v1/reasoning/ensemble",
            read(Visible),
            ensemble::combine,
        )
        .get("/calibration", read(Visible), reasoning::page)
        .get("/api/v1/learning", read(All), learning::all)
        .get("/learning", read(All), learning::page)
        .get("/api/v1/tokens", admin(All), token_api::list)
        .post(
            "/api/v1/tokens",
            admin(All).audited("token-added"),
            token_api::add,
        )
        .put(
            "/api/v1/tokens/{name}",
            admin(All).audited("token-changed"),
            token_api::change,
        )
        .delete(
            "/api/v1/tokens/{name}",
            admin(All).audited("token-revoked"),
            token_api::revoke,
        )
        .get("/api/v1/audit", admin(All), audit_api::list)
        // Tools that start or change debates need more; the tool calls check it.
        .post("/mcp", read(Visible), mcp_route::post)
        .get("/api/openapi.json", read(Nothing), openapi::as_json)
        .get("/api/docs", read(Nothing), openapi::as_page)
        .get("/api/docs.css", read(Nothing), openapi::style)
        .get("/healthz", PUBLIC, health)
        .get("/readyz", PUBLIC, readiness)
        .post("/sign-in", PUBLIC.audited("sign-in"), sign_in::sign_in)
        .post(
            "/sign-out",
            read(Nothing).audited("sign-out"),
            sign_in::sign_out,
        )
        .merge(openai::routes())
        .merge(web::routes())
}

/// The answer for a path without a route.
const NO_SUCH_PATH: &str = "no such path; see /api/docs for the API";

async fn not_found() -> Problem {
    Problem::not_found(NO_SUCH_PATH)
}

async fn method_not_allowed() -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method",
        "method not allowed for this path",
    )
}

#[derive(Debug, Serialize, JsonSchema)]
struct Health {
    status: &'static str,
    /// Debates that run on this server.
    #[serde(skip_serializing_if = "Option::is_none")]
    running: Option<usize>,
    /// Debates that wait for a slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    queued: Option<u64>,
}

async fn health(State(app): State<Arc<App>>) -> Json<Health> {
    let (running, _) = app.scheduler.load();
    let queued = app.probes.queue_length(&app.scheduler, &app.store).await;
    Json(Health {
        status: "ok",
        running: Some(running),
        queued: Some(queued),
    })
}

async fn readiness(State(app): State<Arc<App>>) -> Result<Json<Health>, Problem> {
    let not_ready = |why: &str| Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not-ready", why);
    if app.scheduler.closing().is_cancelled() {
        return Err(not_ready("the server is shutting down"));
    }
    if !app.probes.is_store_up(&app.store).await {
        return Err(not_ready("the database is not responding"));
    }
    Ok(Json(Health {
        status: "ready",
        running: None,
        queued: None,
    }))
}

/// The address for a browser on this machine.
fn browser_url(address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        format!("http://localhost:{}", address.port())
    } else {
        format!("http://{address}")
    }
}

/// On standard output, so that a supervisor can wait for it and a program that chose port 0 learns the port.
fn announce(line: &str) {
    let mut out = anstream::stdout().lock();
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}

async fn accept(
    listener: &TcpListener,
    router: &Router,
    scheduler: &Arc<Scheduler>,
    max_connections: usize,
) {
    let slots = Arc::new(Semaphore::new(max_connections));
    let refusals = Arc::new(Semaphore::new(MAX_REFUSALS));
    let refusing = Router::new().fallback(too_many_connections);
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let (permit, router) = match Arc::clone(&slots).try_acquire_owned() {
                    Ok(permit) => (permit, router),
                    Err(_) => match Arc::clone(&refusals).try_acquire_owned() {
                        Ok(permit) => (permit, &refusing),
                        Err(_) => continue,
                    },
                };
                let serving = connection(stream, peer, router.clone(), scheduler.closing().clone());
                scheduler.tasks().spawn(async move {
                    serving.await;
                    drop(permit);
                });
            }
            // Usually too many open files, or a client that disconnected early. Neither is fatal.
            Err(error) => {
                log::note(&format!("cannot accept a connection: {error}"));
                tokio::time::sleep(ACCEPT_BACKOFF).await;
            }
        }
    }
}

async fn too_many_connections() -> Response {
    Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "too-many-connections",
        "the server has too many open connections; retry later",
    )
    .with(header::RETRY_AFTER, HeaderValue::from_static("5"))
    .with(header::CONNECTION, HeaderValue::from_static("close"))
    .render("-")
}

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    closing: CancellationToken,
) {
    // Nagle's algorithm would delay small events.
    let _ = stream.set_nodelay(true);
    let service = router.map_request(move |mut request: hyper::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(Peer(peer));
        request
    });
    let serving = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    tokio::pin!(serving);
    // Connection errors are the client's; nothing to do.
    tokio::select! {
        _ = serving.as_mut() => {}
        () = closing.cancelled() => {
            serving.as_mut().graceful_shutdown();
            let _ = serving.await;
        }
    }
}

/// Runs work that takes long for large requests or debates. On a thread of the runtime it would hold up other requests.
pub(crate) async fn off_runtime<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Problem::internal(&error.to_string()))
}

/// Raises the limit of open files to its maximum: each debate holds a lock file and a connection to its model. Returns the limit.
fn raise_open_file_limit() -> usize {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        // Best effort.
        let _ = setrlimit(Resource::Nofile, limit);
        let limit = getrlimit(Resource::Nofile).current;
        limit.map_or(usize::MAX, |limit| {
            usize::try_from(limit).unwrap_or(usize::MAX)
        })
    }
    #[cfg(not(unix))]
    usize::MAX
}
