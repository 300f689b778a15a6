//! One provider's address: the connection pool, the headers that every request carries, and the time that one may take.

use std::pin::Pin;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Response, Url};
use roundtable_engine::model::ModelError;
use tokio::time::Sleep;

use super::failure::{Callee, Refusal};
use crate::config::{Kind, Provider};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// No honest reply is longer; a server that sends more is not asked what.
pub(super) const LARGEST_BODY: usize = 32 << 20;

/// How long an attempt may take, and how long the server may be silent within it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub call: Duration,
    pub idle: Duration,
}

/// The clock of one attempt.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    started: Instant,
    times: Times,
}

impl Clock {
    pub(super) fn start(times: Times) -> Self {
        Self {
            started: Instant::now(),
            times,
        }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    pub(super) async fn within<T>(&self, work: impl Future<Output = T>) -> Result<T, ModelError> {
        let (limit, after) = self.limit();
        tokio::time::timeout(limit, work)
            .await
            .map_err(|_| ModelError::Timeout { after })
    }

    /// The same for one of many pieces of an answer.
    pub(super) async fn within_by<T>(
        &self,
        alarm: &mut Alarm,
        work: impl Future<Output = T>,
    ) -> Result<T, ModelError> {
        let (limit, after) = self.limit();
        tokio::select! {
            biased;
            done = work => Ok(done),
            () = alarm.ring(limit) => Err(ModelError::Timeout { after }),
        }
    }

    /// How long the server may be silent now, and what that is.
    fn limit(&self) -> (Duration, Duration) {
        let left = self.times.call.saturating_sub(self.elapsed());
        if left < self.times.idle {
            (left, self.times.call)
        } else {
            (self.times.idle, self.times.idle)
        }
    }
}

/// Rings when nothing has come for too long. A timer set and taken back for each of a thousand pieces would take as long as reading
/// them; this one stays where it was set, and is set anew only when it rings too early.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    timer: Option<Pin<Box<Sleep>>>,
}

impl Alarm {
    async fn ring(&mut self, limit: Duration) {
        let due = tokio::time::Instant::now() + limit;
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
    pub callee: Callee,
    pub times: Times,
    /// What the paths of calls are added to.
    root: String,
    headers: HeaderMap,
    /// The path that was called last, with its address: reading one takes longer than finding it here.
    called: Mutex<Option<(String, Url)>>,
    // Built at the first call: reading the system's certificates takes a while.
    client: OnceLock<Client>,
}

impl Endpoint {
    pub(super) fn new(provider: &Provider, times: Times) -> Self {
        let key_setting = match provider.key_variables.as_slice() {
            [] => format!(
                "api_key_env of [providers.{}], which is not set",
                provider.name
            ),
            [one] => one.clone(),
            several => several.join(" or "),
        };
        let key = provider.key.iter().map(|key| key.secret.clone());
        let others = provider.headers.iter().map(|(_, value)| value.clone());
        Self {
            callee: Callee {
                provider: provider.name.clone(),
                base_url: provider.base_url.clone(),
                key_setting: provider
                    .key
                    .as_ref()
                    .map_or(key_setting, |key| key.variable.clone()),
                is_ollama: provider.kind == Kind::Ollama,
                secrets: key.chain(others).collect(),
            },
            times,
            root: root(provider),
            headers: headers(provider),
            called: Mutex::default(),
            client: OnceLock::new(),
        }
    }

    fn client(&self, model: &str) -> Result<&Client, ModelError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // An error means that a provider of cryptography is installed already, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .user_agent(concat!("roundtable/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            // A key follows no redirection to another host.
            .redirect(reqwest::redirect::Policy::none());
        if self.root.starts_with("http://") {
            builder = builder.tls_certs_only([]);
        }
        if is_loopback(&self.root) {
            builder = builder.no_proxy();
        }
        let client = builder
            .build()
            .map_err(|error| self.callee.broken(model, error, false))?;
        Ok(self.client.get_or_init(|| client))
    }

    fn address(&self, path: &str) -> Result<Url, String> {
        let mut called = self.called.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, address)) = &*called
            && known == path
        {
            return Ok(address.clone());
        }
        let text = format!("{}{path}", self.root);
        let address = Url::parse(&text).map_err(|_| text)?;
        *called = Some((path.to_owned(), address.clone()));
        Ok(address)
    }

    /// Sends a request and waits for the head of the answer, whatever its status.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
        model: &str,
        clock: &Clock,
    ) -> Result<Response, ModelError> {
        let client = self.client(model)?;
        let request = match self.address(path) {
            Ok(address) => client.request(method, address),
            // The client says what is wrong with it.
            Err(text) => client.request(method, text),
        };
        let request = request.headers(self.headers.clone()).body(body);
        clock
            .within(request.send())
            .await?
            .map_err(|error| self.callee.broken(model, error, false))
    }

    /// The whole body of an answer.
    pub(super) async fn body(
        &self,
        mut response: Response,
        model: &str,
        clock: &Clock,
    ) -> Result<Vec<u8>, ModelError> {
        let mut body = Vec::new();
        while let Some(chunk) = clock
            .within(response.chunk())
            .await?
            .map_err(|error| self.callee.broken(model, error, true))?
        {
            body.extend_from_slice(&chunk);
            if body.len() > LARGEST_BODY {
                return Err(self.callee.not_a_model_server(model, &body));
            }
        }
        Ok(body)
    }

    /// A call whose answer comes in one piece.
    pub(super) async fn fetch(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
        model: &str,
        clock: &Clock,
    ) -> Result<Vec<u8>, ModelError> {
        let response = self.send(method, path, body, model, clock).await?;
        let status = response.status();
        let headers = if status.is_success() {
            HeaderMap::new()
        } else {
            response.headers().clone()
        };
        let body = self.body(response, model, clock).await?;
        if status.is_success() {
            return Ok(body);
        }
        let refusal = Refusal {
            status: status.as_u16(),
            headers: &headers,
            body: &body,
            elapsed: clock.elapsed(),
        };
        Err(self.callee.refused(model, &refusal))
    }
}

/// People give base addresses with and without the version.
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
        Kind::OpenAi | Kind::Anthropic | Kind::Gemini | Kind::Local => base.to_owned(),
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
        let (name, value) = match provider.kind {
            Kind::Anthropic => (HeaderName::from_static("x-api-key"), key.to_owned()),
            Kind::Gemini => (HeaderName::from_static("x-goog-api-key"), key.to_owned()),
            Kind::OpenAi | Kind::Ollama | Kind::Local => (AUTHORIZATION, format!("Bearer {key}")),
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

/// A key with characters that no header can hold is left out, and the server then says what it misses.
fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(mut value) = HeaderValue::from_str(value) {
        value.set_sensitive(true);
        headers.insert(name, value);
    }
}

fn is_loopback(address: &str) -> bool {
    let host = Url::parse(address).ok();
    host.as_ref().and_then(Url::host_str).is_some_and(|host| {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost"
            || bare
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    })
}

#[cfg(test)]
#[path = "endpoint_tests.rs"]
mod tests;
