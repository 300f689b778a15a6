//! One attempt at a call: send the request, read the response frame by frame, end with `Delta::Finish` or an error.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Method, Response};
use roundtable_core::usage::Usage;
use roundtable_engine::model::{Delta, Deltas, Finish, Model, ModelError, Profile, Request};

use super::MAX_REMEMBERED;
use super::delta_stream::{DeltaSource, Item, into_deltas};
use super::endpoint::{CallTimer, Endpoint, IdleTimer, MAX_BODY_BYTES, MAX_STREAM_BYTES, Timeouts};
use super::framing::{Frames, Framing};
use super::wire::{Adjustment, Adjustments, FrameError, Listed, Progress, WireFormat};

/// How long to wait for the end of a finished response, so that its connection can be reused.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(5);

/// Of one call, far more than any model reads or writes.
pub(super) const MAX_REPORTED_TOKENS: u64 = 1_000_000_000;

const LIST_TIMEOUT: Duration = Duration::from_secs(10);

/// A provider's endpoint and wire format, and the request adjustments learnt for each of its models.
pub(super) struct Backend {
    pub endpoint: Endpoint,
    wire: Box<dyn WireFormat>,
    /// Those that all of its models need from the start.
    initial: Adjustments,
    adjustments: Mutex<HashMap<String, Adjustments>>,
}

impl Backend {
    pub(super) fn new(endpoint: Endpoint, wire: Box<dyn WireFormat>, initial: Adjustments) -> Self {
        Self {
            endpoint,
            wire,
            initial,
            adjustments: Mutex::new(HashMap::new()),
        }
    }

    fn adjustments(&self, model: &str) -> Adjustments {
        self.all_adjustments()
            .get(model)
            .copied()
            .unwrap_or(self.initial)
    }

    fn adjust(&self, model: &str, more: Adjustments) {
        let mut all = self.all_adjustments();
        if all.len() >= MAX_REMEMBERED && !all.contains_key(model) {
            all.clear();
        }
        let known = all.entry(model.to_owned()).or_insert(self.initial);
        *known = known.and(more);
    }

    fn all_adjustments(&self) -> MutexGuard<'_, HashMap<String, Adjustments>> {
        let all = self.adjustments.lock();
        all.unwrap_or_else(PoisonError::into_inner)
    }

    /// The provider's own list of its models.
    pub(super) async fn list(&self) -> Result<Vec<Listed>, ModelError> {
        const WHAT: &str = "list of models";
        let timer = CallTimer::start(Timeouts {
            call: LIST_TIMEOUT,
            idle: LIST_TIMEOUT,
        });
        let path = self.wire.list_path();
        let body = self
            .endpoint
            .fetch(Method::GET, path, Vec::new(), WHAT, &timer)
            .await?;
        self.wire
            .read_list(&body)
            .ok_or_else(|| self.endpoint.errors.not_a_model_server(WHAT, &body))
    }
}

/// A model served over HTTP.
pub(super) struct Hosted {
    pub backend: Arc<Backend>,
    pub profile: Profile,
    pub sees: bool,
    pub calls_tools: bool,
}

impl Model for Hosted {
    fn stream(&self, request: Request) -> Deltas {
        into_deltas(Attempt::new(Arc::clone(&self.backend), request))
    }

    fn profile(&self) -> Profile {
        self.profile
    }

    fn sees(&self) -> bool {
        self.sees
    }

    fn calls_tools(&self) -> bool {
        self.calls_tools
    }
}

struct Attempt {
    backend: Arc<Backend>,
    request: Request,
    timer: CallTimer,
    /// The adjustments of the request in flight.
    adjustments: Adjustments,
    answer: Option<Answer>,
    progress: Progress,
    failure: Option<ModelError>,
}

struct Answer {
    response: Response,
    body: Body,
    idle_timer: IdleTimer,
    /// Bytes of the body so far.
    received: usize,
}

enum Body {
    /// Only whitespace has arrived so far.
    Unknown {
        is_html: bool,
        head: Vec<u8>,
    },
    Stream(Frames),
    /// From a server that does not stream.
    Whole(Vec<u8>),
}

impl DeltaSource for Attempt {
    async fn next(&mut self) -> Option<Item> {
        loop {
            if let Some(delta) = self.progress.deltas.pop_front() {
                return Some(Ok(delta));
            }
            if let Some(error) = self.failure.take() {
                return Some(Err(error));
            }
            let step = match self.answer.take() {
                None => self.open().await,
                Some(answer) => self.read(answer).await,
            };
            if let Err(error) = step {
                self.report_usage();
                self.failure = Some(error);
            }
        }
    }
}

impl Attempt {
    fn new(backend: Arc<Backend>, request: Request) -> Self {
        let progress = Progress::of(&request);
        Self {
            timer: CallTimer::start(backend.endpoint.timeouts),
            backend,
            request,
            adjustments: Adjustments::default(),
            answer: None,
            progress,
            failure: None,
        }
    }

    /// Sends the request; resends it without optional parameters that the server rejects.
    async fn open(&mut self) -> Result<(), ModelError> {
        let backend = Arc::clone(&self.backend);
        let Backend { endpoint, wire, .. } = backend.as_ref();
        let model = self.request.model.as_str();
        self.timer = CallTimer::start(endpoint.timeouts);
        loop {
            self.adjustments = self.adjustments.and(backend.adjustments(model));
            let call = wire.call(&self.request, self.adjustments);
            let response = endpoint
                .send(Method::POST, &call.path, call.body, model, &self.timer)
                .await?;
            if response.status().is_success() {
                self.answer = Some(Answer {
                    body: Body::Unknown {
                        is_html: is_html(response.headers()),
                        head: Vec::new(),
                    },
                    response,
                    idle_timer: IdleTimer::default(),
                    received: 0,
                });
                return Ok(());
            }
            let (error, body) = endpoint.rejection(response, model, &self.timer).await?;
            let ModelError::Rejected {
                status: 400 | 422, ..
            } = error
            else {
                return Err(error);
            };
            let message = String::from_utf8_lossy(&body);
            let Some(adjustments) = self.adjustments.after(&message, wire.adjustable()) else {
                return Err(error);
            };
            backend.adjust(model, adjustments);
        }
    }

    async fn read(&mut self, mut answer: Answer) -> Result<(), ModelError> {
        let next_chunk = answer.response.chunk();
        let chunk = self
            .timer
            .limit_idle(&mut answer.idle_timer, next_chunk)
            .await;
        let chunk = match chunk {
            Ok(Ok(chunk)) => chunk,
            // The reply is complete; only the end of the stream is missing.
            Ok(Err(_)) | Err(_) if self.progress.finish.is_some() => {
                self.conclude();
                return Ok(());
            }
            Ok(Err(error)) => {
                let errors = &self.backend.endpoint.errors;
                return Err(errors.connection_error(&self.request.model, error, true));
            }
            Err(timeout) => return Err(timeout),
        };
        let Some(bytes) = chunk else {
            return self.end(answer.body);
        };
        answer.received += bytes.len();
        if answer.received > MAX_STREAM_BYTES {
            return Err(self.too_long());
        }
        self.receive(&mut answer.body, &bytes)?;
        if self.progress.done {
            // The connection can be reused only if the response was read to its end.
            drain(&mut answer.response).await;
            self.conclude();
        } else {
            self.answer = Some(answer);
        }
        Ok(())
    }

    fn receive(&mut self, body: &mut Body, bytes: &[u8]) -> Result<(), ModelError> {
        if let Body::Unknown { is_html, head } = body {
            head.extend_from_slice(bytes);
            let beginning = Beginning::of(head, self.backend.wire.framing());
            if matches!(beginning, Beginning::Empty) && !*is_html {
                // Some servers send blank lines until the reply begins.
                let blanks = head.len() - head.trim_ascii_start().len();
                head.drain(..blanks);
                return Ok(());
            }
            if matches!(beginning, Beginning::Other) || *is_html {
                let errors = &self.backend.endpoint.errors;
                return Err(errors.not_a_model_server(&self.request.model, head));
            }
            let head = std::mem::take(head);
            *body = if matches!(beginning, Beginning::Whole) {
                Body::Whole(Vec::new())
            } else {
                Body::Stream(Frames::new(self.backend.wire.framing()))
            };
            return self.receive(body, &head);
        }
        let buffered = match body {
            Body::Stream(frames) => {
                self.read_frames(|mut read| frames.push(bytes, &mut read))?;
                frames.buffered()
            }
            Body::Whole(body) => {
                body.extend_from_slice(bytes);
                body.len()
            }
            Body::Unknown { .. } => 0,
        };
        if buffered > MAX_BODY_BYTES {
            return Err(self.too_long());
        }
        Ok(())
    }

    fn too_long(&self) -> ModelError {
        let errors = &self.backend.endpoint.errors;
        errors.interrupted(&self.request.model, "the response is too long")
    }

    fn read_frames(
        &mut self,
        frames: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<(), ModelError>) -> Result<(), ModelError>,
    ) -> Result<(), ModelError> {
        let Self {
            backend,
            request,
            progress,
            ..
        } = self;
        let Backend { endpoint, wire, .. } = backend.as_ref();
        frames(&mut |frame| {
            // Frames after the end marker are not part of the reply.
            if progress.done {
                return Ok(());
            }
            wire.read(frame, progress).map_err(|error| match error {
                FrameError::ErrorReport => endpoint.errors.reported_error(&request.model, frame),
                FrameError::Malformed => {
                    let excerpt: String = String::from_utf8_lossy(frame).chars().take(80).collect();
                    endpoint
                        .errors
                        .interrupted(&request.model, &format!("invalid frame: {excerpt}"))
                }
            })
        })
    }

    /// The server has ended the response.
    fn end(&mut self, body: Body) -> Result<(), ModelError> {
        let backend = Arc::clone(&self.backend);
        let errors = &backend.endpoint.errors;
        match body {
            Body::Unknown { .. } => {
                return Err(errors.interrupted(&self.request.model, "the response is empty"));
            }
            Body::Stream(mut frames) => self.read_frames(|mut read| frames.end(&mut read))?,
            Body::Whole(body) => {
                let is_truncated = serde_json::from_slice::<serde::de::IgnoredAny>(&body)
                    .is_err_and(|error| error.is_eof());
                if is_truncated {
                    return Err(
                        errors.interrupted(&self.request.model, "the response is truncated")
                    );
                }
                match backend.wire.read(&body, &mut self.progress) {
                    Ok(()) if self.progress.finish.is_some() => {}
                    Ok(()) | Err(FrameError::Malformed) => {
                        return Err(errors.not_a_model_server(&self.request.model, &body));
                    }
                    Err(FrameError::ErrorReport) => {
                        return Err(errors.reported_error(&self.request.model, &body));
                    }
                }
            }
        }
        if self.progress.finish.is_some() || self.progress.done {
            self.conclude();
            Ok(())
        } else {
            Err(errors.interrupted(&self.request.model, "the stream ended before the reply did"))
        }
    }

    fn conclude(&mut self) {
        let model = self.request.model.clone();
        let had_headroom = self.adjustments.has(Adjustment::ThinkingHeadroom);
        if self.progress.has_thought() && !had_headroom {
            let headroom = Adjustments::default().with(Adjustment::ThinkingHeadroom);
            self.backend.adjust(&model, headroom);
        }
        let wasted = self.progress.spent_limit_on_thinking() && !had_headroom;
        self.progress.flush_calls();
        self.report_usage();
        if wasted {
            // The token limit was spent on thinking: retry with a higher limit.
            let fresh = Progress::of(&self.request);
            let mut deltas = std::mem::replace(&mut self.progress, fresh).deltas;
            deltas.push_back(Delta::Restart {
                reason: "the reply was truncated while the model was still thinking".to_owned(),
                wait: Duration::ZERO,
            });
            self.progress.deltas = deltas;
            return;
        }
        let is_unconstrained = self.adjustments.has(self.backend.wire.unconstrained());
        if self.request.schema.is_some() && is_unconstrained {
            let provider = &self.backend.endpoint.errors.provider;
            self.progress.deltas.push_back(Delta::Notice(format!(
                "{provider} does not accept schemas for {model}; replies are checked but not constrained"
            )));
        }
        let finish = self.progress.finish.unwrap_or(Finish::Stop);
        self.progress.deltas.push_back(Delta::Finish(finish));
    }

    /// Also called before an error, because a failed attempt is billed too.
    fn report_usage(&mut self) {
        if let Some(usage) = self.progress.usage.take() {
            // A server may report any number. Sums of these fit everywhere.
            let usage = Usage {
                input: usage.input.min(MAX_REPORTED_TOKENS),
                output: usage.output.min(MAX_REPORTED_TOKENS),
                cached: usage.cached.min(MAX_REPORTED_TOKENS),
            };
            self.progress.deltas.push_back(Delta::Usage(usage));
        }
    }
}

/// Polls before it sets a timer: a timer costs another turn of the runtime, and the end has usually arrived.
async fn drain(response: &mut Response) {
    for _ in 0..2 {
        if response.chunk().now_or_never().is_some() {
            return;
        }
        tokio::task::yield_now().await;
    }
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, response.chunk()).await;
}

fn is_html(headers: &HeaderMap) -> bool {
    headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|kind| kind.to_ascii_lowercase().contains("html"))
}

/// The kind of a response, by its first bytes: the content types that servers send are often wrong.
#[derive(Clone, Copy)]
enum Beginning {
    Empty,
    Stream,
    Whole,
    Other,
}

impl Beginning {
    fn of(head: &[u8], framing: Framing) -> Self {
        const FIELDS: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        let head = head.trim_ascii_start();
        match (framing, head.first()) {
            (_, None) => Self::Empty,
            (Framing::Lines, Some(b'{')) => Self::Stream,
            (Framing::Events, Some(b'{' | b'[')) => Self::Whole,
            (Framing::Lines, Some(_)) => Self::Other,
            (Framing::Events, Some(_)) => {
                if FIELDS.iter().any(|field| head.starts_with(field)) {
                    Self::Stream
                } else if FIELDS.iter().any(|field| field.starts_with(head)) {
                    Self::Empty
                } else {
                    Self::Other
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "attempt_tests.rs"]
mod tests;
