//! `/mcp`: the MCP server over streamable HTTP.
//!
//! Every request is authenticated by itself and served without a session. Clients of earlier MCP versions get a session id all the
//! same, because their cancellations arrive as requests of their own: token, session and request id together name the call.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Extension, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::App;
use super::access::Caller;
use super::operations::Operations;
use super::problem::Problem;
use crate::mcp::McpServer;

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// How often an open response gets a comment, so that proxies keep it and a client that is gone is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// The calls in progress that a client can cancel.
#[derive(Default)]
pub(crate) struct Calls(Arc<Mutex<HashMap<CallKey, CancellationToken>>>);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct CallKey {
    token: Option<Uuid>,
    session: String,
    /// As JSON: the number 1 and the text "1" are different ids.
    request: String,
}

/// A call in progress. Dropping it forgets the call.
pub(crate) struct CallInProgress {
    calls: Arc<Mutex<HashMap<CallKey, CancellationToken>>>,
    key: CallKey,
}

/// The parts of a message that decide how it is handled. `rmcp` checks the rest.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message {
    id: Value,
    method: String,
    params: Params,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Params {
    request_id: Value,
}

pub(super) async fn post(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Problem> {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, app.body_limit).await;
    let body = body.map_err(|error| Problem::internal(&error.to_string()))?;
    let message: Message = serde_json::from_slice(&body).unwrap_or_default();
    let cancelled = CancellationToken::new();
    let mut call = None;
    match message.method.as_str() {
        "notifications/cancelled" => {
            let key = CallKey::new(&caller, &head.headers, &message.params.request_id);
            app.mcp_calls.cancel(&key);
        }
        "tools/call" => {
            let key = CallKey::new(&caller, &head.headers, &message.id);
            call = Some(Arc::new(app.mcp_calls.begin(key, cancelled.clone())));
        }
        _ => {}
    }
    let wait = app.context.config.mcp.wait;
    let operations = Operations::new(Arc::clone(&app), caller);
    let server = McpServer::served(operations, wait, cancelled, call);
    let response = serve(&app, server, Request::from_parts(head, Body::from(body))).await;
    let mut response = response.map(Body::new);
    if message.method == "initialize"
        && response.status().is_success()
        && let Ok(id) = HeaderValue::from_str(&Uuid::new_v4().to_string())
    {
        response.headers_mut().insert(SESSION_ID, id);
    }
    Ok(response)
}

async fn serve(
    app: &App,
    server: McpServer,
    request: Request,
) -> axum::http::Response<
    impl axum::body::HttpBody<Data = Bytes, Error = std::convert::Infallible> + use<>,
> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_sse_keep_alive(Some(KEEP_ALIVE))
        .with_sse_retry(None)
        .with_max_request_body_bytes(app.body_limit)
        .with_cancellation_token(app.scheduler.closing().clone())
        // The server's own middleware has checked host and origin.
        .disable_allowed_hosts();
    let sessions = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(server.clone()), sessions, config);
    service.handle(request).await
}

impl CallKey {
    fn new(caller: &Caller, headers: &HeaderMap, request: &Value) -> Self {
        let session = headers.get(SESSION_ID).and_then(|id| id.to_str().ok());
        Self {
            token: caller.token,
            session: session.unwrap_or_default().to_owned(),
            request: request.to_string(),
        }
    }
}

impl Calls {
    fn begin(&self, key: CallKey, cancelled: CancellationToken) -> CallInProgress {
        // Without a session, requests of several clients may have the same id; none of them can be cancelled this way.
        if !key.session.is_empty() {
            lock(&self.0).insert(key.clone(), cancelled);
        }
        CallInProgress {
            calls: Arc::clone(&self.0),
            key,
        }
    }

    fn cancel(&self, key: &CallKey) {
        if let Some(call) = lock(&self.0).remove(key) {
            call.cancel();
        }
    }
}

impl Drop for CallInProgress {
    fn drop(&mut self) {
        lock(&self.calls).remove(&self.key);
    }
}

fn lock(
    calls: &Mutex<HashMap<CallKey, CancellationToken>>,
) -> MutexGuard<'_, HashMap<CallKey, CancellationToken>> {
    calls.lock().unwrap_or_else(PoisonError::into_inner)
}
