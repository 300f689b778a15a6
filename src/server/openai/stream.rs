//! Streams a debate to a client: what the seats say as one run of reasoning, then the answer.
//!
//! The stream is pulled by the connection, like the event streams: a slow client holds nothing up. There are no comments and no
//! event ids, which some clients cannot read; an empty delta keeps the connection open.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::channel::mpsc::{self, SendError, Sender};
use futures::{FutureExt, SinkExt, StreamExt, stream};
use serde::Serialize;
use tokio::time::Instant;
use uuid::Uuid;

use super::super::App;
use super::super::access::Caller;
use super::super::events::{Pace, Subscription, is_active};
use super::super::problem::Problem;
use super::super::reader::{Cursor, Reader};
use super::super::streams::StreamGuard;
use super::answer::{self, Answer};
use super::ask::Ask;
use super::debate::{Debate, without_answer};
use super::narration::Narration;

/// The first words of a model reach the client within 50 ms.
const PACE: Pace = Pace {
    batch: Duration::from_millis(10),
    keep_alive: Duration::from_secs(10),
};

/// The events of one endpoint, as text of an event stream.
pub(super) trait Wire: Send + 'static {
    type Whole: Serialize;
    /// The debate that answers.
    fn begin(&mut self, debate: Uuid);
    /// The response without streaming.
    fn whole(self, answer: Answer) -> Self::Whole;
    fn start(&mut self) -> String;
    fn reasoning(&mut self, text: &str) -> String;
    /// Something that says nothing.
    fn idle(&mut self) -> String;
    /// The answer and the end of the stream.
    fn answer(&mut self, answer: Answer) -> String;
    /// The end of a stream without an answer.
    fn failure(&mut self, problem: &Problem) -> String;
}

/// A client that follows a debate.
pub(super) struct Session<W> {
    pub(super) app: Arc<App>,
    pub(super) caller: Caller,
    pub(super) debate: Debate,
    pub(super) guard: StreamGuard,
    pub(super) ask: Ask,
    pub(super) answer_phase: &'static str,
    pub(super) wire: W,
}

/// An answer that is known already.
pub(super) fn whole(mut wire: impl Wire, answer: Answer) -> Response {
    respond(Body::from(wire.start() + &wire.answer(answer)))
}

pub(super) fn follow<W: Wire>(session: Session<W>) -> Response {
    let (sender, receiver) = mpsc::channel(1);
    // Polled together with the receiver, so dropping the body drops the session.
    let following = session.follow(Out(sender)).into_stream();
    let following = following.filter_map(|_| std::future::ready(None));
    let body = stream::select(receiver, following).map(Ok::<Bytes, std::convert::Infallible>);
    respond(Body::from_stream(body))
}

fn respond(body: Body) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        // Keeps proxies from buffering the stream.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, body).into_response()
}

struct Out(Sender<Bytes>);

impl Out {
    async fn send(&mut self, text: String) -> Result<(), SendError> {
        if text.is_empty() {
            return Ok(());
        }
        self.0.send(Bytes::from(text)).await
    }
}

impl<W: Wire> Session<W> {
    async fn follow(mut self, mut out: Out) -> Result<(), SendError> {
        out.send(self.wire.start()).await?;
        let told = self.tell(&mut out).await?;
        // It is over, or it no longer concerns this client.
        self.debate.leave();
        let last = match told {
            Ok(()) => self.answer(&mut out).await?,
            Err(problem) => Err(problem),
        };
        let text = match last {
            Ok(answer) => self.wire.answer(answer),
            Err(problem) => self.wire.failure(&problem),
        };
        out.send(text).await
    }

    /// Sends what is said until the debate is over.
    async fn tell(&mut self, out: &mut Out) -> Result<Result<(), Problem>, SendError> {
        let id = self.debate.id;
        let closing = self.app.scheduler.closing().clone();
        let reader = Reader::resuming(Cursor::default(), &[]);
        let mut subscription = Subscription::new(Arc::clone(&self.app), id, reader);
        let mut narration = Narration::new(self.answer_phase);
        loop {
            // Asked before the events are read, so that none is missed at the end.
            let is_over = is_over(&self.app, id).await;
            let Some(frames) = subscription.collect().await else {
                let why = "the debate was deleted, or the database is unavailable".to_owned();
                let problem = without_answer(StatusCode::SERVICE_UNAVAILABLE, "lost", why, id);
                return Ok(Err(problem));
            };
            let text: String = frames
                .iter()
                .map(|frame| narration.tell(&frame.envelope))
                .collect();
            if !text.is_empty() {
                out.send(self.wire.reasoning(&text)).await?;
                subscription.sent_at = Instant::now();
            }
            if is_over {
                return Ok(Ok(()));
            }
            tokio::select! {
                biased;
                () = self.guard.ended() => {
                    let why = "the token is no longer valid, or the debate was deleted".to_owned();
                    return Ok(Err(without_answer(StatusCode::FORBIDDEN, "revoked", why, id)));
                }
                change = subscription.wait(&closing, PACE) => match change {
                    Some(true) => {}
                    Some(false) => {
                        out.send(self.wire.idle()).await?;
                        subscription.sent_at = Instant::now();
                    }
                    // The answer says that the debate continues.
                    None => return Ok(Ok(())),
                },
            }
        }
    }

    /// The answer, which may need a last call.
    async fn answer(&mut self, out: &mut Out) -> Result<Result<Answer, Problem>, SendError> {
        let (app, caller, id) = (Arc::clone(&self.app), self.caller.clone(), self.debate.id);
        let reading = answer::read(&app, &caller, id, &self.ask);
        let mut reading = std::pin::pin!(reading);
        loop {
            tokio::select! {
                answer = &mut reading => return Ok(answer),
                () = tokio::time::sleep(PACE.keep_alive) => out.send(self.wire.idle()).await?,
            }
        }
    }
}

/// Whether the debate has ended or waits for a person.
async fn is_over(app: &App, id: Uuid) -> bool {
    if app.scheduler.has(id) {
        return false;
    }
    let row = app.store.get(id).await;
    row.is_ok_and(|row| row.is_none_or(|row| !is_active(&row)))
}

/// One event of the stream.
pub(super) fn data(json: &impl Serialize) -> String {
    format!(
        "data: {}\n\n",
        serde_json::to_string(json).unwrap_or_default()
    )
}
