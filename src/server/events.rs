//! Server-sent events of a debate (P-09, C-09), from the beginning or from the client's last event id.
//!
//! The stream is pulled by the connection, so a slow client needs no buffer: events that it has not read yet stay in the
//! journal or in the live state of the debate.

use std::borrow::Borrow;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Extension, Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream;
use roundtable_engine::event::{Entry, State as RowState};
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::App;
use super::access::{Caller, Credential};
use super::live::Feed;
use super::problem::Problem;
use super::reader::{Cursor, Frame, InvalidEventId, Reader};
use super::rest::find;
use super::streams::StreamGuard;
use super::tail::Tail;
use crate::store::{DebateRow, StoreError};

/// Text is batched for this long before it is sent.
const BATCH_INTERVAL: Duration = Duration::from_millis(40);
/// Idle time after which a comment is sent, so that proxies do not close the connection.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// Without an empty line, which some clients take for an empty message.
const KEEP_ALIVE: &[u8] = b": keep-alive\n";
/// Part of the first event: as a message of its own it would be an empty one for some clients.
const RETRY: &str = "retry: 1000\n";

#[derive(Debug, Deserialize)]
pub(super) struct StreamQuery {
    after: Option<String>,
}

pub(super) async fn stream(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Query(query): Query<StreamQuery>,
    Extension(caller): Extension<Caller>,
    Extension(credential): Extension<Credential>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let row = find(&app, &caller, &id).await?;
    let guard = StreamGuard::open(&app, &caller, credential, row.id)?;
    let cursor = cursor(&headers, query.after.as_deref())?;
    // A reader from the beginning gets the whole journal as events, so it needs nothing from before.
    let past = if cursor.is_start() {
        Vec::new()
    } else {
        app.store.entries(row.id).await?
    };
    let reader = Reader::resuming(cursor, &past);
    let has_more = past.last().is_some_and(|last| last.seq > reader.seq());
    if reader.has_ended() && !has_more && !is_active(&row) && !app.scheduler.has(row.id) {
        // Tells an EventSource not to reconnect.
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let subscription = Subscription::new(app, row.id, reader);
    let body = stream::unfold(
        (subscription, guard),
        |(mut subscription, mut guard)| async move {
            let bytes = tokio::select! {
                biased;
                () = guard.ended() => return None,
                bytes = subscription.next() => bytes?,
            };
            subscription.sent_at = Instant::now();
            Some((
                Ok::<_, std::convert::Infallible>(bytes),
                (subscription, guard),
            ))
        },
    );
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        // Keeps proxies from buffering the stream.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    Ok((headers, Body::from_stream(body)).into_response())
}

/// Whether the debate runs or will run. Its journal may end with `Ended` if it was cancelled and is being resumed.
pub(super) fn is_active(row: &DebateRow) -> bool {
    matches!(row.state, RowState::Queued | RowState::Running)
}

/// `Last-Event-ID`, which an `EventSource` sends when it reconnects, takes precedence over the query.
fn cursor(headers: &HeaderMap, after: Option<&str>) -> Result<Cursor, Problem> {
    let last = headers.get("last-event-id").map(|id| id.to_str());
    let (at, text) = match (last, after) {
        (Some(Ok(last)), _) if !last.is_empty() => ("Last-Event-ID", last),
        (Some(Err(_)), _) => ("Last-Event-ID", "?"),
        (_, Some(after)) if !after.is_empty() => ("after", after),
        _ => return Ok(Cursor::default()),
    };
    text.parse()
        .map_err(|error: InvalidEventId| Problem::invalid_at(at, error.to_string()))
}

/// One connection that streams a debate.
pub(super) struct Subscription {
    app: Arc<App>,
    id: Uuid,
    reader: Reader,
    source: Source,
    is_first: bool,
    needs_retry: bool,
    pub(super) sent_at: Instant,
}

/// How a stream is paced.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Text is collected for this long before it is sent.
    pub(super) batch: Duration,
    /// Idle time after which something is sent all the same.
    pub(super) keep_alive: Duration,
}

const EVENT_PACE: Pace = Pace {
    batch: BATCH_INTERVAL,
    keep_alive: KEEP_ALIVE_INTERVAL,
};

/// The source of the events of a debate, with a receiver that changes when there may be new ones.
enum Source {
    Unknown,
    /// This process runs it.
    Feed(Arc<Feed>, watch::Receiver<()>),
    /// Another process runs it, or none.
    Tail(Arc<Tail>, watch::Receiver<()>),
}

impl Subscription {
    pub(super) fn new(app: Arc<App>, id: Uuid, reader: Reader) -> Self {
        Self {
            app,
            id,
            reader,
            source: Source::Unknown,
            is_first: true,
            needs_retry: true,
            sent_at: Instant::now(),
        }
    }

    /// The next bytes to send; `None` if the debate has ended or the server is closing.
    async fn next(&mut self) -> Option<Bytes> {
        let closing = self.app.scheduler.closing().clone();
        let mut out = String::new();
        let is_first = std::mem::take(&mut self.is_first);
        if !is_first && !self.wait_for_event(&closing).await? {
            return Some(Bytes::from_static(KEEP_ALIVE));
        }
        loop {
            // A store error ends the stream; the client reconnects with its last id.
            for frame in self.collect().await? {
                if std::mem::take(&mut self.needs_retry) {
                    out.push_str(RETRY);
                }
                write(&mut out, &frame);
            }
            if !out.is_empty() {
                return Some(Bytes::from(out));
            }
            if is_first {
                // So that the client knows that it is connected.
                return Some(Bytes::from_static(KEEP_ALIVE));
            }
            if !self.wait_for_event(&closing).await? {
                return Some(Bytes::from_static(KEEP_ALIVE));
            }
        }
    }

    async fn wait_for_event(&mut self, closing: &CancellationToken) -> Option<bool> {
        if self.is_over().await {
            return None;
        }
        self.wait(closing, EVENT_PACE).await
    }

    /// Waits for a batch of changes; `false` if a keep-alive is due, `None` if the server is closing.
    pub(super) async fn wait(&mut self, closing: &CancellationToken, pace: Pace) -> Option<bool> {
        let keep_alive = self.sent_at + pace.keep_alive;
        tokio::select! {
            biased;
            () = closing.cancelled() => return None,
            () = tokio::time::sleep_until(keep_alive) => return Some(false),
            () = self.change() => {}
        }
        tokio::select! {
            biased;
            () = closing.cancelled() => None,
            () = tokio::time::sleep(pace.batch) => Some(true),
        }
    }

    /// Whether no more events will follow. A store error ends the stream too.
    async fn is_over(&self) -> bool {
        if !self.reader.has_ended() || self.app.scheduler.has(self.id) {
            return false;
        }
        let row = self.app.store.get(self.id).await;
        !row.is_ok_and(|row| row.is_some_and(|row| is_active(&row)))
    }

    /// Waits until there may be new events.
    async fn change(&mut self) {
        match &mut self.source {
            Source::Unknown => {}
            // Also changes when the debate enters or leaves the scheduler.
            Source::Feed(_, changed) | Source::Tail(_, changed) => {
                if changed.changed().await.is_err() {
                    self.source = Source::Unknown;
                }
            }
        }
    }

    /// All available events after the reader's position; `None` if the stream is over.
    pub(super) async fn collect(&mut self) -> Option<Vec<Frame>> {
        let mut frames = Vec::new();
        while !self.is_attached() {
            self.attach(&mut frames).await.ok()?;
        }
        match &mut self.source {
            Source::Unknown => {}
            Source::Feed(feed, changed) => {
                changed.mark_unchanged();
                let feed = Arc::clone(feed);
                // Repeats if entries are no longer in memory after the journal was read. In practice at most twice.
                loop {
                    let caught_up = self.reader.catch_up(&feed.lock());
                    if let Some(caught_up) = caught_up {
                        frames.extend(caught_up);
                        break;
                    }
                    self.read_journal(&mut frames).await.ok()?;
                }
            }
            Source::Tail(tail, changed) => {
                changed.mark_unchanged();
                let tail = Arc::clone(tail);
                match tail.entries_after(self.reader.seq()) {
                    Some(entries) => self.receive(&entries, &mut frames),
                    None => self.read_journal(&mut frames).await.ok()?,
                }
                if frames.is_empty() && tail.is_closed() {
                    return None;
                }
            }
        }
        Some(frames)
    }

    async fn read_journal(&mut self, frames: &mut Vec<Frame>) -> Result<(), StoreError> {
        let after = self.reader.seq();
        let entries = self.app.store.entries_after(self.id, after).await?;
        self.receive(&entries, frames);
        Ok(())
    }

    fn receive<E: Borrow<Entry>>(&mut self, entries: &[E], frames: &mut Vec<Frame>) {
        let events = entries.iter().map(|entry| &entry.borrow().event);
        self.reader.withhold(events);
        for entry in entries.iter().map(Borrow::borrow) {
            frames.extend(self.reader.entry(entry.seq, &entry.event));
        }
    }

    fn is_attached(&self) -> bool {
        match (self.app.scheduler.feed(self.id), &self.source) {
            (Some(feed), Source::Feed(current, _)) => Arc::ptr_eq(&feed, current),
            (None, Source::Tail(..)) => true,
            _ => false,
        }
    }

    /// Subscribes to the debate's feed if this process runs it, otherwise to the tail of its journal.
    async fn attach(&mut self, frames: &mut Vec<Frame>) -> Result<(), StoreError> {
        self.reader.mark_unverified();
        if let Some(feed) = self.app.scheduler.feed(self.id) {
            let changed = feed.subscribe();
            self.source = Source::Feed(feed, changed);
            return Ok(());
        }
        // The tail has only what is read from now on.
        self.read_journal(frames).await?;
        let scheduler = &self.app.scheduler;
        let (tail, changed) = scheduler.follow(self.id, self.reader.seq());
        self.source = Source::Tail(tail, changed);
        Ok(())
    }
}

fn write(out: &mut String, frame: &Frame) {
    let data = serde_json::to_string(&frame.envelope).unwrap_or_default();
    // Writing to a String cannot fail.
    let _ = write!(
        out,
        "id: {}\nevent: {}\ndata: {data}\n\n",
        frame.id, frame.envelope.event
    );
}
