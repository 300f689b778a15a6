//! A debate's events as a stream (P-09, C-09): server-sent events, from the beginning or from where a reader was.
//!
//! The stream takes what there is whenever its connection can take more, and holds nothing back for a slow one: what is not
//! taken stays where it is, in the journal or in the live part of the debate.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
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
use super::live::Feed;
use super::problem::Problem;
use super::reader::{Cursor, Frame, Reader};
use super::rest::find;
use crate::failure::Fault;
use crate::store::{DebateRow, StoreError};

/// Text is gathered for this long before it goes out.
const GATHER: Duration = Duration::from_millis(40);
/// A comment goes out when nothing else has for this long, so that nobody in between takes the connection for dead.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How often the journal of a debate is looked at that this server does not run.
const LOOK: Duration = Duration::from_secs(1);

#[derive(Debug, Deserialize)]
pub(super) struct After {
    after: Option<String>,
}

pub(super) async fn stream(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Query(query): Query<After>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let row = find(&app, &id).await?;
    let cursor = cursor(&headers, query.after.as_deref())?;
    let past = app.store.entries(row.id).await?;
    let reader = Reader::resuming(cursor, &past);
    let has_more = past.last().is_some_and(|last| last.seq > reader.seq());
    if reader.has_ended() && !has_more && !goes_on(&row) && !app.scheduler.has(row.id) {
        // Tells a browser not to ask again.
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let following = Following {
        traffic: app.scheduler.traffic(),
        bell: app.scheduler.notifiers().listen(row.id),
        app,
        id: row.id,
        reader,
        feed: None,
        is_new: true,
        sent_at: Instant::now(),
    };
    let body = stream::unfold(following, |mut following| async move {
        let bytes = following.next().await?;
        following.sent_at = Instant::now();
        Some((Ok::<_, std::convert::Infallible>(bytes), following))
    });
    let mut response = Response::new(Body::from_stream(body));
    let fixed = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        // Some proxies would gather what is to stream.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    for (name, value) in fixed {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

/// Whether it is to be run, whatever its journal says: it may have been cancelled, and be about to go on.
fn goes_on(row: &DebateRow) -> bool {
    matches!(row.state, RowState::Queued | RowState::Running)
}

/// What a browser says by itself when it comes back counts before what the address says.
fn cursor(headers: &HeaderMap, after: Option<&str>) -> Result<Cursor, Problem> {
    let last = headers.get("last-event-id").map(|id| id.to_str());
    let (at, text) = match (last, after) {
        (Some(Ok(last)), _) if !last.is_empty() => ("Last-Event-ID", last),
        (Some(Err(_)), _) => ("Last-Event-ID", "?"),
        (_, Some(after)) if !after.is_empty() => ("after", after),
        _ => return Ok(Cursor::default()),
    };
    text.parse().map_err(|error: super::reader::NotAnId| {
        Problem::invalid(vec![Fault::new(at, error.to_string())])
    })
}

/// One connection that follows a debate.
struct Following {
    app: Arc<App>,
    id: Uuid,
    reader: Reader,
    feed: Option<(Arc<Feed>, watch::Receiver<()>)>,
    traffic: watch::Receiver<u64>,
    /// Rings when others have written something.
    bell: watch::Receiver<()>,
    is_new: bool,
    /// When something last went out.
    sent_at: Instant,
}

impl Following {
    /// The next that goes out; `None` where the debate is over, or the server is closing.
    async fn next(&mut self) -> Option<Bytes> {
        let closing = self.app.scheduler.closing().clone();
        // The first bytes go out at once, so that the reader knows that it is connected.
        let mut out = String::new();
        if std::mem::take(&mut self.is_new) {
            out.push_str("retry: 1000\n\n");
        } else if !self.wait(&closing).await? {
            return Some(Bytes::from_static(b": still here\n\n"));
        }
        loop {
            self.traffic.mark_unchanged();
            self.bell.mark_unchanged();
            // A store that cannot be read ends the stream; the reader comes back with its last id.
            for frame in self.collect().await.ok()? {
                write(&mut out, &frame);
            }
            if !out.is_empty() {
                return Some(Bytes::from(out));
            }
            if !self.wait(&closing).await? {
                return Some(Bytes::from_static(b": still here\n\n"));
            }
        }
    }

    /// Waits for something new and gathers it; `false` when it is time for a sign of life, `None` when all is over.
    async fn wait(&mut self, closing: &CancellationToken) -> Option<bool> {
        if self.is_over().await {
            return None;
        }
        let sign_of_life = self.sent_at + HEARTBEAT;
        tokio::select! {
            biased;
            () = closing.cancelled() => return None,
            // Before what is looked at every second, or that would always come first.
            () = tokio::time::sleep_until(sign_of_life) => return Some(false),
            () = self.change() => {}
        }
        tokio::select! {
            biased;
            () = closing.cancelled() => None,
            () = tokio::time::sleep(GATHER) => Some(true),
        }
    }

    /// Whether nothing more will come. A store that cannot say ends the stream too.
    async fn is_over(&self) -> bool {
        if !self.reader.has_ended() || self.app.scheduler.has(self.id) {
            return false;
        }
        let row = self.app.store.get(self.id).await;
        !row.is_ok_and(|row| row.is_some_and(|row| goes_on(&row)))
    }

    /// Waits until there may be something new.
    async fn change(&mut self) {
        if let Some((_, changed)) = &mut self.feed {
            // It is told too when the debate leaves the scheduler.
            if changed.changed().await.is_err() {
                self.feed = None;
            }
            return;
        }
        tokio::select! {
            _ = self.traffic.changed() => {}
            _ = self.bell.changed() => {}
            () = tokio::time::sleep(LOOK) => {}
        }
    }

    /// Everything that there is and this reader has not got.
    async fn collect(&mut self) -> Result<Vec<Frame>, StoreError> {
        self.attach();
        let mut frames = Vec::new();
        let Some((feed, changed)) = &mut self.feed else {
            self.read_journal(&mut frames).await?;
            return Ok(frames);
        };
        changed.mark_unchanged();
        let feed = Arc::clone(feed);
        // At most twice or so: entries that are not at hand come from the store, and by then there may be newer ones.
        loop {
            let taken = self.reader.take(&feed.lock());
            if let Some(taken) = taken {
                frames.extend(taken);
                return Ok(frames);
            }
            self.read_journal(&mut frames).await?;
        }
    }

    async fn read_journal(&mut self, frames: &mut Vec<Frame>) -> Result<(), StoreError> {
        let after = self.reader.seq();
        for entry in self.app.store.entries_after(self.id, after).await? {
            frames.extend(self.reader.entry(entry.seq, &entry.event));
        }
        Ok(())
    }

    /// Listens to the debate where it is now.
    fn attach(&mut self) {
        let now = self.app.scheduler.feed(self.id);
        let is_same = match (&self.feed, &now) {
            (Some((old, _)), Some(new)) => Arc::ptr_eq(old, new),
            (None, None) => true,
            _ => false,
        };
        if !is_same {
            self.reader.doubt();
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
