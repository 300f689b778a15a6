//! Server-sent events of a debate (P-09, C-09), from the beginning or from the client's last event id.
//!
//! The stream is pulled by the connection, so a slow client needs no buffer: events that it has not read yet stay in the
//! journal or in the live state of the debate.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Extension, Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream;
use roundtable_engine::event::State as RowState;
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
use crate::store::{DebateRow, StoreError};

/// Text is batched for this long before it is sent.
const BATCH_INTERVAL: Duration = Duration::from_millis(40);
/// Idle time after which a comment is sent, so that proxies do not close the connection.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// Without an empty line, which some clients take for an empty message.
const KEEP_ALIVE: &[u8] = b": keep-alive\n";
/// Part of the first event: as a message of its own it would be an empty one for some clients.
const RETRY: &str = "retry: 1000\n";
/// How often the journal of a debate that another process runs is polled.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

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
    let past = app.store.entries(row.id).await?;
    let reader = Reader::resuming(cursor, &past);
    let has_more = past.last().is_some_and(|last| last.seq > reader.seq());
    if reader.has_ended() && !has_more && !is_active(&row) && !app.scheduler.has(row.id) {
        // Tells an EventSource not to reconnect.
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let subscription = Subscription {
        scheduler_changes: app.scheduler.changes(),
        remote_changes: app.scheduler.notifiers().subscribe(row.id),
        app,
        id: row.id,
        reader,
        feed: None,
        is_first: true,
        needs_retry: true,
        sent_at: Instant::now(),
    };
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
fn is_active(row: &DebateRow) -> bool {
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
struct Subscription {
    app: Arc<App>,
    id: Uuid,
    reader: Reader,
    feed: Option<(Arc<Feed>, watch::Receiver<()>)>,
    scheduler_changes: watch::Receiver<u64>,
    /// Changes when another process may have written entries.
    remote_changes: watch::Receiver<()>,
    is_first: bool,
    needs_retry: bool,
    sent_at: Instant,
}

impl Subscription {
    /// The next bytes to send; `None` if the debate has ended or the server is closing.
    async fn next(&mut self) -> Option<Bytes> {
        let closing = self.app.scheduler.closing().clone();
        let mut out = String::new();
        let is_first = std::mem::take(&mut self.is_first);
        if !is_first && !self.wait(&closing).await? {
            return Some(Bytes::from_static(KEEP_ALIVE));
        }
        loop {
            self.scheduler_changes.mark_unchanged();
            self.remote_changes.mark_unchanged();
            // A store error ends the stream; the client reconnects with its last id.
            for frame in self.collect().await.ok()? {
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
            if !self.wait(&closing).await? {
                return Some(Bytes::from_static(KEEP_ALIVE));
            }
        }
    }

    /// Waits for a batch of changes; `false` if a keep-alive is due, `None` if the stream is over.
    async fn wait(&mut self, closing: &CancellationToken) -> Option<bool> {
        if self.is_over().await {
            return None;
        }
        let keep_alive = self.sent_at + KEEP_ALIVE_INTERVAL;
        tokio::select! {
            biased;
            () = closing.cancelled() => return None,
            // Before `change`, which polls every second and would always win.
            () = tokio::time::sleep_until(keep_alive) => return Some(false),
            () = self.change() => {}
        }
        tokio::select! {
            biased;
            () = closing.cancelled() => None,
            () = tokio::time::sleep(BATCH_INTERVAL) => Some(true),
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
        if let Some((_, changed)) = &mut self.feed {
            // Also changes when the debate leaves the scheduler.
            if changed.changed().await.is_err() {
                self.feed = None;
            }
            return;
        }
        tokio::select! {
            _ = self.scheduler_changes.changed() => {}
            _ = self.remote_changes.changed() => {}
            () = tokio::time::sleep(POLL_INTERVAL) => {}
        }
    }

    /// All available events after the reader's position.
    async fn collect(&mut self) -> Result<Vec<Frame>, StoreError> {
        self.attach();
        let mut frames = Vec::new();
        let Some((feed, changed)) = &mut self.feed else {
            self.read_journal(&mut frames).await?;
            return Ok(frames);
        };
        changed.mark_unchanged();
        let feed = Arc::clone(feed);
        // Repeats if entries are no longer in memory after the journal was read. In practice at most twice.
        loop {
            let caught_up = self.reader.catch_up(&feed.lock());
            if let Some(caught_up) = caught_up {
                frames.extend(caught_up);
                return Ok(frames);
            }
            self.read_journal(&mut frames).await?;
        }
    }

    async fn read_journal(&mut self, frames: &mut Vec<Frame>) -> Result<(), StoreError> {
        let after = self.reader.seq();
        let entries = self.app.store.entries_after(self.id, after).await?;
        self.reader
            .withhold(entries.iter().map(|entry| &entry.event));
        for entry in entries {
            frames.extend(self.reader.entry(entry.seq, &entry.event));
        }
        Ok(())
    }

    /// Subscribes to the debate's current feed, if this process runs it.
    fn attach(&mut self) {
        let now = self.app.scheduler.feed(self.id);
        let is_same = match (&self.feed, &now) {
            (Some((old, _)), Some(new)) => Arc::ptr_eq(old, new),
            (None, None) => true,
            _ => false,
        };
        if !is_same {
            self.reader.mark_unverified();
            self.feed = now.map(|feed| {
                let changed = feed.subscribe();
                (feed, changed)
            });
        }
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
