//! One attempt at a call: open, read frame by frame, conclude. It ends with a finish or with the error that says why not.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Method, Response};
use roundtable_engine::model::{Delta, Deltas, Finish, Model, ModelError, Profile, Request};

use super::delta_stream::{Item, Source, drawn_from};
use super::endpoint::{Alarm, Clock, Endpoint, LARGEST_BODY, Times};
use super::failure::Refusal;
use super::frames::{Frames, Framing};
use super::wire::{Concession, Concessions, Listed, Progress, Unread, Wire};

/// How long the end of a finished answer is waited for, so that its connection can be used again.
const LAST_BYTES: Duration = Duration::from_millis(5);

/// A list that takes longer is not worth the wait.
const LIST: Duration = Duration::from_secs(10);

/// A provider's address and format, and what has been learnt of its models.
pub(super) struct Backend {
    pub endpoint: Endpoint,
    wire: Box<dyn Wire>,
    conceded: Mutex<HashMap<String, Concessions>>,
}

impl Backend {
    pub(super) fn new(endpoint: Endpoint, wire: Box<dyn Wire>) -> Self {
        Self {
            endpoint,
            wire,
            conceded: Mutex::new(HashMap::new()),
        }
    }

    fn conceded(&self, model: &str) -> Concessions {
        let all = self.conceded.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(model).copied().unwrap_or_default()
    }

    fn concede(&self, model: &str, more: Concessions) {
        let mut all = self.conceded.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.entry(model.to_owned()).or_default();
        *known = known.and(more);
    }

    /// The provider's own list of its models.
    pub(super) async fn list(&self) -> Result<Vec<Listed>, ModelError> {
        const WHAT: &str = "list of models";
        let clock = Clock::start(Times {
            call: LIST,
            idle: LIST,
        });
        let path = self.wire.list_path();
        let body = self
            .endpoint
            .fetch(Method::GET, path, Vec::new(), WHAT, &clock)
            .await?;
        self.wire
            .read_list(&body)
            .ok_or_else(|| self.endpoint.callee.not_a_model_server(WHAT, &body))
    }
}

/// A model behind an address.
pub(super) struct Hosted {
    pub backend: Arc<Backend>,
    pub profile: Profile,
    pub sees: bool,
    pub calls_tools: bool,
}

impl Model for Hosted {
    fn stream(&self, request: Request) -> Deltas {
        let attempt = Attempt::new(Arc::clone(&self.backend), request);
        drawn_from(attempt)
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
    clock: Clock,
    /// What the request that is being answered went without.
    conceded: Concessions,
    answer: Option<Answer>,
    progress: Progress,
    failure: Option<ModelError>,
    over: bool,
}

struct Answer {
    response: Response,
    form: Form,
    alarm: Alarm,
}

enum Form {
    /// Nothing but blanks has come yet.
    Unknown {
        is_html: bool,
        head: Vec<u8>,
    },
    Stream(Frames),
    /// Of a server that does not stream.
    Whole(Vec<u8>),
}

impl Source for Attempt {
    async fn next(&mut self) -> Option<Item> {
        loop {
            if let Some(delta) = self.progress.deltas.pop_front() {
                return Some(Ok(delta));
            }
            if let Some(error) = self.failure.take() {
                return Some(Err(error));
            }
            if self.over {
                return None;
            }
            let step = match self.answer.take() {
                None => self.open().await,
                Some(answer) => self.read(answer).await,
            };
            if let Err(error) = step {
                self.report_usage();
                self.failure = Some(error);
                self.over = true;
            }
        }
    }
}

impl Attempt {
    fn new(backend: Arc<Backend>, request: Request) -> Self {
        let progress = Progress::of(&request);
        Self {
            clock: Clock::start(backend.endpoint.times),
            backend,
            request,
            conceded: Concessions::default(),
            answer: None,
            progress,
            failure: None,
            over: false,
        }
    }

    /// Sends the request, and again without what the server refuses as long as that can be left out.
    async fn open(&mut self) -> Result<(), ModelError> {
        let backend = Arc::clone(&self.backend);
        let Backend { endpoint, wire, .. } = backend.as_ref();
        let model = self.request.model.as_str();
        self.clock = Clock::start(endpoint.times);
        loop {
            self.conceded = self.conceded.and(backend.conceded(model));
            let call = wire.call(&self.request, self.conceded);
            let response = endpoint
                .send(Method::POST, &call.path, call.body, model, &self.clock)
                .await?;
            let status = response.status();
            if status.is_success() {
                self.answer = Some(Answer {
                    form: Form::Unknown {
                        is_html: is_html(response.headers()),
                        head: Vec::new(),
                    },
                    response,
                    alarm: Alarm::default(),
                });
                return Ok(());
            }
            let headers = response.headers().clone();
            let body = endpoint.body(response, model, &self.clock).await?;
            let error = endpoint.callee.refused(
                model,
                &Refusal {
                    status: status.as_u16(),
                    headers: &headers,
                    body: &body,
                    elapsed: self.clock.elapsed(),
                },
            );
            let ModelError::Rejected {
                status: 400 | 422, ..
            } = error
            else {
                return Err(error);
            };
            let said = String::from_utf8_lossy(&body);
            let Some(conceded) = self.conceded.after(&said, wire.optional()) else {
                return Err(error);
            };
            backend.concede(model, conceded);
        }
    }

    async fn read(&mut self, mut answer: Answer) -> Result<(), ModelError> {
        let coming = answer.response.chunk();
        let chunk = self.clock.within_by(&mut answer.alarm, coming).await;
        let chunk = match chunk {
            Ok(Ok(chunk)) => chunk,
            // A reply that is finished is not thrown away because the goodbye is missing.
            Ok(Err(_)) | Err(_) if self.progress.finish.is_some() => {
                self.conclude();
                return Ok(());
            }
            Ok(Err(error)) => {
                let callee = &self.backend.endpoint.callee;
                return Err(callee.broken(&self.request.model, error, true));
            }
            Err(timeout) => return Err(timeout),
        };
        let Some(bytes) = chunk else {
            return self.end(answer.form);
        };
        self.take(&mut answer.form, &bytes)?;
        if self.progress.done {
            // The connection serves the next call only if this answer was read to its end.
            finish_reading(&mut answer.response).await;
            self.conclude();
        } else {
            self.answer = Some(answer);
        }
        Ok(())
    }

    fn take(&mut self, form: &mut Form, bytes: &[u8]) -> Result<(), ModelError> {
        if let Form::Unknown { is_html, head } = form {
            head.extend_from_slice(bytes);
            let begins = Beginning::of(head, self.backend.wire.framing());
            let head = match begins {
                Beginning::Nothing if !*is_html => return Ok(()),
                Beginning::Nothing | Beginning::Alien => {
                    let callee = &self.backend.endpoint.callee;
                    return Err(callee.not_a_model_server(&self.request.model, head));
                }
                Beginning::Stream | Beginning::Whole if *is_html => {
                    let callee = &self.backend.endpoint.callee;
                    return Err(callee.not_a_model_server(&self.request.model, head));
                }
                Beginning::Stream | Beginning::Whole => std::mem::take(head),
            };
            *form = match begins {
                Beginning::Whole => Form::Whole(Vec::new()),
                Beginning::Stream | Beginning::Nothing | Beginning::Alien => {
                    Form::Stream(Frames::new(self.backend.wire.framing()))
                }
            };
            return self.take(form, &head);
        }
        let held = match form {
            Form::Stream(frames) => {
                self.read_frames(|mut read| frames.push(bytes, &mut read))?;
                frames.held()
            }
            Form::Whole(body) => {
                body.extend_from_slice(bytes);
                body.len()
            }
            Form::Unknown { .. } => 0,
        };
        if held > LARGEST_BODY {
            let callee = &self.backend.endpoint.callee;
            return Err(callee.interrupted(&self.request.model, "the answer has no end"));
        }
        Ok(())
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
            // What follows the mark of the end is not part of the reply.
            if progress.done {
                return Ok(());
            }
            wire.read(frame, progress).map_err(|unread| match unread {
                Unread::Reported => endpoint.callee.reported(&request.model, frame),
                Unread::Malformed => {
                    let excerpt: String = String::from_utf8_lossy(frame).chars().take(80).collect();
                    endpoint
                        .callee
                        .interrupted(&request.model, &format!("unreadable: {excerpt}"))
                }
            })
        })
    }

    /// The server has closed the answer.
    fn end(&mut self, form: Form) -> Result<(), ModelError> {
        let backend = Arc::clone(&self.backend);
        let callee = &backend.endpoint.callee;
        match form {
            Form::Unknown { .. } => {
                return Err(callee.interrupted(&self.request.model, "the answer is empty"));
            }
            Form::Stream(mut frames) => self.read_frames(|mut read| frames.end(&mut read))?,
            Form::Whole(body) => {
                let is_cut = serde_json::from_slice::<serde::de::IgnoredAny>(&body)
                    .is_err_and(|error| error.is_eof());
                if is_cut {
                    return Err(callee.interrupted(&self.request.model, "the answer is cut"));
                }
                match backend.wire.read(&body, &mut self.progress) {
                    Ok(()) if self.progress.finish.is_some() => {}
                    Ok(()) | Err(Unread::Malformed) => {
                        return Err(callee.not_a_model_server(&self.request.model, &body));
                    }
                    Err(Unread::Reported) => {
                        return Err(callee.reported(&self.request.model, &body));
                    }
                }
            }
        }
        if self.progress.finish.is_some() || self.progress.done {
            self.conclude();
            Ok(())
        } else {
            Err(callee.interrupted(&self.request.model, "the stream ended before the reply did"))
        }
    }

    fn conclude(&mut self) {
        let model = &self.request.model;
        let had_room = self.conceded.has(Concession::RoomToThink);
        if self.progress.has_thought() && !had_room {
            let room = Concessions::default().with(Concession::RoomToThink);
            self.backend.concede(model, room);
        }
        let wasted = self.progress.is_cut_before_speaking() && !had_room;
        self.progress.hand_over_calls();
        self.report_usage();
        if wasted {
            // The budget for the reply went into thinking: once more, with room for both.
            let fresh = Progress::of(&self.request);
            let mut deltas = std::mem::replace(&mut self.progress, fresh).deltas;
            deltas.push_back(Delta::Restart {
                reason: "the reply was cut while the model was still thinking".to_owned(),
            });
            self.progress.deltas = deltas;
            return;
        }
        let finish = self.progress.finish.unwrap_or(Finish::Stop);
        self.progress.deltas.push_back(Delta::Finish(finish));
        self.over = true;
    }

    /// Also before an error: what a broken attempt has used is used.
    fn report_usage(&mut self) {
        if let Some(usage) = self.progress.usage.take() {
            self.progress.deltas.push_back(Delta::Usage(usage));
        }
    }
}

/// What is there already is read without a clock: setting one has the runtime look at the network once more.
async fn finish_reading(response: &mut Response) {
    for _ in 0..2 {
        if response.chunk().now_or_never().is_some() {
            return;
        }
        tokio::task::yield_now().await;
    }
    let _ = tokio::time::timeout(LAST_BYTES, response.chunk()).await;
}

fn is_html(headers: &HeaderMap) -> bool {
    headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|kind| kind.to_ascii_lowercase().contains("html"))
}

/// What an answer turns out to be. Its first bytes are believed rather than its content type, which servers get wrong.
#[derive(Clone, Copy)]
enum Beginning {
    Nothing,
    Stream,
    Whole,
    Alien,
}

impl Beginning {
    fn of(head: &[u8], framing: Framing) -> Self {
        const FIELDS: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        let head = head.trim_ascii_start();
        match (framing, head.first()) {
            (_, None) => Self::Nothing,
            (Framing::Lines, Some(b'{')) => Self::Stream,
            (Framing::Events, Some(b'{' | b'[')) => Self::Whole,
            (Framing::Lines, Some(_)) => Self::Alien,
            (Framing::Events, Some(_)) => {
                if FIELDS.iter().any(|field| head.starts_with(field)) {
                    Self::Stream
                } else if FIELDS.iter().any(|field| field.starts_with(head)) {
                    Self::Nothing
                } else {
                    Self::Alien
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "attempt_tests.rs"]
mod tests;
