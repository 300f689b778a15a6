//! HTTP access to one provider: connection pool, base URL, headers and timeouts.

use std::pin::Pin;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Response, Url};
use roundtable_engine::model::ModelError;
use tokio::time::Sleep;

use super::errors::{ErrorContext, ErrorResponse};
use crate::config::{Kind, Provider, is_loopback};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// No valid response is longer.
pub(super) const MAX_BODY_BYTES: usize = 32 << 20;
/// Limit on a whole stream. A token in a frame of its own takes some 300 bytes, so this is room for 200,000 tokens: more than any
/// model writes.
pub(super) const MAX_STREAM_BYTES: usize = 64 << 20;

/// The limits of one attempt: in total, and without any data from the server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timeouts {
    pub call: Duration,
    pub idle: Duration,
}

/// Applies the timeouts of one attempt.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallTimer {
    started: Instant,
    timeouts: Timeouts,
}

impl CallTimer {
    pub(super) fn start(timeouts: Timeouts) -> Self {
        Self {
            started: Instant::now(),
            timeouts,
        }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    pub(super) async fn limit<T>(&self, work: impl Future<Output = T>) -> Result<T, ModelError> {
        let (remaining, after) = self.remaining();
        tokio::time::timeout(remaining, work)
            .await
            .map_err(|_| ModelError::Timeout { after })
    }

    /// Like [`Self::limit`], for one of many chunks of a response.
    pub(super) async fn limit_idle<T>(
        &self,
        idle_timer: &mut IdleTimer,
        work: impl Future<Output = T>,
    ) -> Result<T, ModelError> {
        let (remaining, after) = self.remaining();
        tokio::select! {
            biased;
            done = work => Ok(done),
            () = idle_timer.wait(remaining) => Err(ModelError::Timeout { after }),
        }
    }

    /// The time left for the next data, and the configured timeout that it comes from.
    fn remaining(&self) -> (Duration, Duration) {
        let left = self.timeouts.call.saturating_sub(self.elapsed());
        if left < self.timeouts.idle {
            (left, self.timeouts.call)
        } else {
            (self.timeouts.idle, self.timeouts.idle)
        }
    }
}

/// A reusable timer for the silence between chunks. Registering and cancelling a timer for every chunk would cost as much
/// as reading it, so the registered deadline is extended only when it fires too early.
#[derive(Debug, Default)]
pub(super) struct IdleTimer {
    timer: Option<Pin<Box<Sleep>>>,
}

impl IdleTimer {
    async fn wait(&mut self, duration: Duration) {
        let due = tokio::time::Instant::now() + duration;
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(due)));
        if timer.deadline() > due {
            timer.as_mut().reset(due);
        }
        loop {
            timer.as_mut().await;
            if timer.deadline() >= due {
                return;
            }
            timer.as_mut().reset(due);
        }
    }
}

#[derive(Debug)]
pub(super) struct Endpoint {
    pub errors: ErrorContext,
    pub timeouts: Timeouts,
    /// The base URL with its version path.
    root: String,
    headers: HeaderMap,
    query: Option<String>,
    /// The last path and its parsed URL, because parsing is slower than this lookup.
    last_url: Mutex<Option<(String, Url)>>,
    // Built at the first call: reading the system's certificates is slow.
    client: OnceLock<Client>,
}

impl Endpoint {
    pub(super) fn new(provider: &Provider, timeouts: Timeouts) -> Self {
        let key_setting = match provider.key_variables.as_slice() {
            [] => format!(
                "api_key_env of [providers.{}], which is not set",
                provider.name
            ),
            [one] => one.clone(),
            several => several.join(" or "),
        };
        let key = provider.key.iter().map(|key| key.secret.clone());
        let header_values = provider.headers.iter().map(|(_, value)| value.clone());
        Self {
            errors: ErrorContext {
                provider: provider.name.clone(),
                address: provider.shown_address(),
                key_setting: provider
                    .key
                    .as_ref()
                    .map_or(key_setting, |key| key.variable.clone()),
                is_ollama: provider.kind == Kind::Ollama,
                secrets: key.chain(header_values).collect(),
            },
            timeouts,
            root: root(provider),
            headers: headers(provider),
            query: provider.query.clone(),
            last_url: Mutex::default(),
            client: OnceLock::new(),
        }
    }

    fn client(&self, model: &str) -> Result<&Client, ModelError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // An error means that a crypto provider is already installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .user_agent(concat!("roundtable/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            // A redirect must not send the key to another host.
            .redirect(reqwest::redirect::Policy::none());
        if self.root.starts_with("http://") {
            builder = builder.tls_certs_only([]);
        }
        if is_loopback(&self.root) {
            builder = builder.no_proxy();
        }
        let client = builder
            .build()
            .map_err(|error| self.errors.connection_error(model, error, false))?;
        Ok(self.client.get_or_init(|| client))
    }

    fn url(&self, path: &str) -> Result<Url, String> {
        let mut last = self.last_url.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, url)) = &*last
            && known == path
        {
            return Ok(url.clone());
        }
        let mut text = format!("{}{path}", self.root);
        if let Some(query) = &self.query {
            text.push(if path.contains('?') { '&' } else { '?' });
            text.push_str(query);
        }
        let url = Url::parse(&text).map_err(|_| text)?;
        *last = Some((path.to_owned(), url.clone()));
        Ok(url)
    }

    /// Sends a request and waits for the response headers of any status.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
        model: &str,
        timer: &CallTimer,
    ) -> Result<Response, ModelError> {
        let client = self.client(model)?;
        let request = match self.url(path) {
            Ok(url) => client.request(method, url),
            // The client reports why the URL is invalid.
            Err(text) => client.request(method, text),
        };
        let request = request.headers(self.headers.clone()).body(body);
        timer
            .limit(request.send())
            .await?
            .map_err(|error| self.errors.connection_error(model, error, false))
    }

    /// Reads the whole body.
    pub(super) async fn body(
        &self,
        mut response: Response,
        model: &str,
        timer: &CallTimer,
    ) -> Result<Vec<u8>, ModelError> {
        let mut body = Vec::new();
        while let Some(chunk) = timer
            .limit(response.chunk())
            .await?
            .map_err(|error| self.errors.connection_error(model, error, true))?
        {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_BODY_BYTES {
                return Err(self.errors.not_a_model_server(model, &body));
            }
        }
        Ok(body)
    }

    /// A call that does not stream: the body of a successful response.
    pub(super) async fn fetch(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
        model: &str,
        timer: &CallTimer,
    ) -> Result<Vec<u8>, ModelError> {
        let response = self.send(method, path, body, model, timer).await?;
        if response.status().is_success() {
            return self.body(response, model, timer).await;
        }
        let (error, _) = self.rejection(response, model, timer).await?;
        Err(error)
    }

    /// The error in a response without a success status, and its body.
    pub(super) async fn rejection(
        &self,
        mut response: Response,
        model: &str,
        timer: &CallTimer,
    ) -> Result<(ModelError, Vec<u8>), ModelError> {
        let status = response.status().as_u16();
        let headers = std::mem::take(response.headers_mut());
        let body = self.body(response, model, timer).await?;
        let error = ErrorResponse {
            status,
            headers: &headers,
            body: &body,
        };
        Ok((self.errors.response_error(model, &error), body))
    }
}

/// The base URL with the version that the paths need; users write it with or without.
fn root(provider: &Provider) -> String {
    let base = provider.base_url.as_str();
    let last = base.rsplit('/').next().unwrap_or_default();
    let versioned = last.starts_with('v') && last[1..].starts_with(|c: char| c.is_ascii_digit());
    match provider.kind {
        Kind::Anthropic if !versioned => format!("{base}/v1"),
        Kind::Gemini if !versioned => format!("{base}/v1beta"),
        Kind::Ollama => base
            .trim_end_matches("/v1")
            .trim_end_matches("/api")
            .to_owned(),
        Kind::OpenAi
        | Kind::Anthropic
        | Kind::Gemini
        | Kind::Local
        | Kind::Command
        | Kind::Simulated => base.to_owned(),
    }
}

fn headers(provider: &Provider) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
    if provider.kind == Kind::Anthropic {
        headers.insert(
            HeaderName::from_static("anthropic-version"),
            HeaderValue::from_static("2023-06-01"),
        );
    }
    if let Some(key) = &provider.key {
        let key = key.secret.expose();
        let own_header = provider.key_header.as_ref();
        let own_header = own_header.and_then(|name| HeaderName::from_bytes(name.as_bytes()).ok());
        let (name, value) = match (own_header, provider.kind) {
            (Some(name), _) => (name, key.to_owned()),
            (None, Kind::Anthropic) => (HeaderName::from_static("x-api-key"), key.to_owned()),
            (None, Kind::Gemini) => (HeaderName::from_static("x-goog-api-key"), key.to_owned()),
            (None, Kind::OpenAi | Kind::Ollama | Kind::Local | Kind::Command | Kind::Simulated) => {
                (AUTHORIZATION, format!("Bearer {key}"))
            }
        };
        insert(&mut headers, name, &value);
    }
    for (name, value) in &provider.headers {
        if let Ok(name) = HeaderName::from_bytes(name.as_bytes()) {
            insert(&mut headers, name, value.expose());
        }
    }
    headers
}

/// Omits a key that is not a valid header value; the server then reports the missing key.
fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(mut value) = HeaderValue::from_str(value) {
        value.set_sensitive(true);
        headers.insert(name, value);
    }
}

#[cfg(test)]
#[path = "endpoint_tests.rs"]
mod tests;
