//! The debate page: the page itself, the parts that `live.js` fetches, and the forms on it.

use std::sync::Arc;

use axum::extract::rejection::FormRejection;
use axum::extract::{Extension, Form, Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};
use roundtable_engine::event::{Entry, Event, State as DebateState};
use roundtable_engine::protocols;
use roundtable_engine::report::Report;
use roundtable_engine::transcript::Transcript;
use serde::Deserialize;

use super::super::Frame;
use super::super::debate::{DebateView, Right};
use super::super::routes::{frame, page};
use super::super::thread::ThreadView;
use super::home::number;
use super::target::Target;
use crate::clock;
use crate::export;
use crate::format::short;
use crate::render;
use crate::server::access::Caller;
use crate::server::audit::{AuditNote, Received};
use crate::server::problem::Problem;
use crate::server::quota::admit_continuation;
use crate::server::requests::{
    BudgetRequest, DecisionRequest, InputRequest, RatingRequest, checked_form,
};
use crate::server::rest;
use crate::server::{App, off_runtime};
use crate::setup::limits::UsedUp;
use crate::store::{DebateRow, Filing, Scope, ShareRow, Thread};

/// The current state of a debate.
pub(super) struct LoadedDebate {
    row: DebateRow,
    entries: Vec<Entry>,
    pub(super) transcript: Transcript,
    /// Seats in mid-turn.
    speaking: Vec<String>,
    /// The limits that need a higher value before the debate can be resumed.
    used_up: Option<UsedUp>,
    /// Links to it, for visitors who may revoke them.
    shares: Vec<ShareRow>,
    filing: Filing,
    thread: Thread,
}

impl LoadedDebate {
    pub(super) fn report(&self) -> Report {
        protocols::report(&self.entries).shown_as(self.row.state)
    }

    pub(super) fn view(&self, app: &App, caller: &Caller) -> DebateView {
        let right = if caller.may(Scope::Run) {
            Right::Run
        } else {
            Right::Read
        };
        DebateView::new(&self.transcript, right)
            .speaking(&self.transcript, &self.speaking)
            .pausing(app.scheduler.is_pause_requested(self.row.id))
            .needing_budget(self.used_up.as_ref())
            .shared(&self.shares)
            .filed(&self.filing)
            .in_thread(ThreadView::new(&self.transcript, &self.thread))
    }

    pub(super) fn page(&self, view: DebateView, frame: Frame) -> String {
        view.page(frame, &self.transcript, &self.report())
    }
}

/// The debate as this visitor may see it.
pub(super) async fn load(app: &App, caller: &Caller, id: &str) -> Result<LoadedDebate, Problem> {
    let row = rest::find(app, caller, id).await?;
    let mut loaded = load_row(app, row).await?;
    loaded.thread = app.store.thread(&loaded.row, caller.only()).await?;
    if caller.may(Scope::Run) {
        let id = loaded.row.id;
        loaded.shares = app.store.shares_of(id, clock::now()).await?;
        let filing = app.store.filings(&[id]).await?.remove(&id);
        loaded.filing = filing.unwrap_or_default();
    }
    Ok(loaded)
}

pub(super) async fn load_row(app: &App, row: DebateRow) -> Result<LoadedDebate, Problem> {
    let mut entries = app.store.entries(row.id).await?;
    if entries.is_empty() {
        // A queued debate has no journal yet; its setup is enough for the page.
        let setup = app.store.setup(row.id).await?;
        let setup = setup.ok_or_else(|| Problem::not_found("there is no such debate"))?;
        entries.push(Entry {
            seq: 0,
            at: row.created_at,
            event: Event::Opened(Arc::new(setup)),
        });
    }
    let used_up = used_up(app, &row, &entries).await?;
    let speaking = add_live_state(app, &row, &mut entries);
    let id = row.id.to_string();
    let folding = off_runtime(move || (Transcript::of(&id, &entries), entries));
    let (transcript, entries) = folding.await?;
    let transcript = transcript
        .ok_or_else(|| Problem::internal("a journal without its first entry"))?
        .shown_as(row.state);
    Ok(LoadedDebate {
        row,
        entries,
        transcript,
        speaking,
        used_up,
        shares: Vec::new(),
        filing: Filing::default(),
        thread: Thread::default(),
    })
}

async fn used_up(app: &App, row: &DebateRow, entries: &[Entry]) -> Result<Option<UsedUp>, Problem> {
    let is_resumable = matches!(
        row.state,
        DebateState::Partial | DebateState::Failed | DebateState::Cancelled
    );
    if !is_resumable {
        return Ok(None);
    }
    let configured = app.context.config.limits.budget();
    let own = match app.store.budget(row.id).await? {
        Some(own) => own,
        None => entries
            .iter()
            .find_map(|entry| match &entry.event {
                Event::Opened(setup) => Some(setup.budget),
                _ => None,
            })
            .unwrap_or_default(),
    };
    Ok(UsedUp::of(
        entries,
        own.within(configured),
        configured,
        false,
    ))
}

/// Adds entries that were announced and are not in the journal yet, such as the start of a round. Returns the seats in mid-turn.
fn add_live_state(app: &App, row: &DebateRow, entries: &mut Vec<Entry>) -> Vec<String> {
    let Some(feed) = app.scheduler.feed(row.id) else {
        return Vec::new();
    };
    let live = feed.lock();
    // Added entries get the number of the last journaled one, because the event stream continues after that.
    let seq = entries.last().map_or(0, |last| last.seq);
    let unwritten = live.announced.iter();
    let unwritten = unwritten.filter(|notice| notice.seq > Some(seq));
    entries.extend(unwritten.map(|notice| Entry {
        seq,
        at: notice.at,
        event: notice.event.clone(),
    }));
    live.turns.iter().map(|turn| turn.seat.clone()).collect()
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    let debate = load(&app, &caller, &id).await?;
    let view = debate.view(&app, &caller);
    let frame = frame("debates", Some(&caller));
    let body = move || debate.page(view, frame);
    Ok(page(off_runtime(body).await?))
}

pub(crate) async fn panels(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    let debate = load(&app, &caller, &id).await?;
    let view = debate.view(&app, &caller);
    let body = move || view.panels(&debate.transcript, &debate.report());
    Ok(page(off_runtime(body).await?))
}

/// The verdict as Markdown, to be copied.
pub(crate) async fn verdict(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    let debate = load(&app, &caller, &id).await?;
    let text = move || export::verdict_markdown(&debate.transcript, &debate.report());
    let text = off_runtime(text).await?;
    let headers = [
        // Browsers show plain text, and download Markdown.
        (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    Ok((headers, text).into_response())
}

pub(crate) async fn turn(
    State(app): State<Arc<App>>,
    Path((id, step)): Path<(String, String)>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    let transcript = load(&app, &caller, &id).await?.transcript;
    let turn = transcript
        .turn(&step)
        .ok_or_else(|| Problem::not_found("there is no such turn, or it has not ended"))?;
    let roles = render::Roles::of(&transcript);
    Ok(page(
        render::open_turn(turn, &roles, &transcript.id).to_string(),
    ))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct MessageForm {
    text: String,
}

pub(crate) async fn say(
    target: Target,
    Form(form): Form<MessageForm>,
) -> Result<Response, Problem> {
    if !form.text.trim().is_empty() {
        let (text, by) = (form.text, None);
        let message = checked_form(&InputRequest { text, by })?;
        let by = target.caller.author(None);
        target
            .app
            .scheduler
            .say(target.row.id, message.text, by)
            .await?;
    }
    Ok(target.page())
}

pub(crate) async fn pause(target: Target) -> Result<Response, Problem> {
    target.app.scheduler.pause(target.row.id).await?;
    Ok(target.page())
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DecisionForm {
    choice: String,
    note: String,
}

pub(crate) async fn decide(
    target: Target,
    Form(form): Form<DecisionForm>,
) -> Result<Response, Problem> {
    let DecisionRequest { choice, note, .. } = checked_form(&DecisionRequest {
        choice: form.choice,
        by: None,
        note: Some(form.note).filter(|note| !note.trim().is_empty()),
    })?;
    let _allowance = admit_continuation(&target.app, &target.caller, &target.row).await?;
    let recorded = AuditNote::detail(format!("choice '{}'", short(&choice, 200)));
    let by = target.caller.author(None);
    target
        .app
        .scheduler
        .decide(target.row.id, choice, by, note)
        .await?;
    Ok((Extension(recorded), target.page()).into_response())
}

pub(crate) async fn cancel(target: Target) -> Result<Response, Problem> {
    target.app.scheduler.cancel(target.row.id).await?;
    Ok(target.page())
}

/// New limits, for a debate that has used up its own.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "the names of the API's `budget`")]
pub(crate) struct ResumeForm {
    max_tokens: String,
    max_cost: String,
    max_seconds: String,
}

pub(crate) async fn resume(
    target: Target,
    Extension(received): Extension<Received>,
    form: Result<Form<ResumeForm>, FormRejection>,
) -> Result<Response, Problem> {
    // Without a form no limit is raised.
    let form = form.map(|Form(form)| form).unwrap_or_default();
    let mut faults = Vec::new();
    let requested = BudgetRequest {
        max_tokens: number(&form.max_tokens, "number of tokens", &mut faults),
        max_cost: number(&form.max_cost, "cost", &mut faults),
        max_seconds: number(&form.max_seconds, "number of seconds", &mut faults),
    };
    let requested = requested.budget(&mut faults);
    if !faults.is_empty() {
        return Err(Problem::invalid(faults));
    }
    let resumed = rest::resume_within(
        &target.app,
        &target.caller,
        &target.row,
        requested,
        received,
    )
    .await?;
    if let Some(recorded) = resumed.extensions().get::<AuditNote>().cloned() {
        return Ok((Extension(recorded), target.page()).into_response());
    }
    Ok(target.page())
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RatingForm {
    rating: String,
    comment: String,
}

pub(crate) async fn rate(
    target: Target,
    Form(form): Form<RatingForm>,
) -> Result<Response, Problem> {
    let rating = rest::valid_rating(form.rating.parse().ok())?;
    let RatingRequest { comment, .. } = checked_form(&RatingRequest {
        rating: rating.value(),
        comment: Some(form.comment).filter(|comment| !comment.trim().is_empty()),
    })?;
    target
        .app
        .scheduler
        .rate(target.row.id, rating, comment)
        .await?;
    Ok(target.page())
}

pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    caller: Extension<Caller>,
) -> Result<Response, Problem> {
    rest::delete(State(app), Path(id), caller).await?;
    Ok(Redirect::to("/debates").into_response())
}
