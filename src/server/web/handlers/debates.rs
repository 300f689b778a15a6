//! The list of debates.

use std::sync::Arc;

use axum::extract::{Extension, Form, Query as QueryParameters, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use roundtable_engine::event::{Millis, State as DebateState};

use super::super::Choice;
use super::super::debates::{DebatesView, Month, PER_PAGE, Query, Row};
use super::super::fields::FieldValues;
use super::super::routes::{frame, page};
use super::target::Target;
use crate::clock;
use crate::export::{self, Format};
use crate::failure::Fault;
use crate::format::short;
use crate::server::access::Caller;
use crate::server::audit::AuditNote;
use crate::server::list_query::search_fault;
use crate::server::problem::Problem;
use crate::server::rest;
use crate::server::{App, off_runtime};
use crate::store::{Filing, Filter, Scope};
use uuid::Uuid;

const DAY_MS: Millis = 86_400_000;
const MONTHS: u32 = 12;
const MAX_TAGS: usize = 20;
const MAX_TAG_CHARS: usize = 40;

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    QueryParameters(query): QueryParameters<Query>,
) -> Result<Response, Problem> {
    let mut problems = Vec::new();
    let since = day(&query.from, &mut problems);
    // The last day is included.
    let until = day(&query.until, &mut problems).map(|at| at + DAY_MS);
    let is_searchable = match search_fault(&query.q) {
        Some(problem) => {
            problems.push(problem);
            false
        }
        None => true,
    };
    let filter = Filter {
        state: DebateState::ALL
            .into_iter()
            .find(|state| state.name() == query.state),
        protocol: non_empty(&query.protocol),
        search: non_empty(&query.q).filter(|_| is_searchable),
        tag: non_empty(&query.tag),
        is_pinned: !query.pinned.is_empty(),
        since,
        until,
        token: caller.only(),
        limit: u32::try_from(PER_PAGE).unwrap_or(u32::MAX),
        offset: (query.page() - 1).saturating_mul(PER_PAGE),
        ..Filter::default()
    };
    let mut listing = app.store.list(&filter).await?;
    app.store.add_results(&mut listing.debates).await?;
    let is_admin = caller.may(Scope::Admin);
    let ids: Vec<Uuid> = listing.debates.iter().map(|row| row.id).collect();
    let filings = app.store.filings(&ids).await?;
    let rows = listing.debates.into_iter().map(|mut row| {
        rest::overlay_queue_state(&app, &mut row);
        let can_delete = is_admin && !app.scheduler.has(row.id);
        Row::new(&row, can_delete)
            .filed(filings.get(&row.id))
            .choosable()
    });
    let mut view = DebatesView::new(&query, rows.collect(), listing.total);
    let tags = app.store.all_tags(caller.only()).await?.into_iter();
    view.tags = tags
        .map(|tag| Choice {
            is_chosen: tag == query.tag,
            label: tag.clone(),
            value: tag,
        })
        .collect();
    let starts = clock::last_months(MONTHS);
    let usage = app.store.usage_by_period(&starts, caller.only()).await?;
    let used = usage.iter().rev().filter(|month| month.debates > 0);
    view.months = used.map(Month::new).collect();
    view.can_delete = is_admin;
    view.problems = problems;
    let body = page(view.page(frame("debates", Some(&caller))));
    if is_searchable {
        Ok(body)
    } else {
        Ok((StatusCode::UNPROCESSABLE_ENTITY, body).into_response())
    }
}

/// The chosen debates of the list that the caller sees, in the order of their ids.
async fn chosen(app: &App, caller: &Caller, form: &FieldValues) -> Result<Vec<Uuid>, Problem> {
    let ids = form.keys().filter_map(|name| name.strip_prefix("id."));
    let mut chosen = Vec::new();
    for id in ids.take(usize::try_from(PER_PAGE).unwrap_or(usize::MAX)) {
        chosen.push(rest::find(app, caller, id).await?.id);
    }
    if chosen.is_empty() {
        let fault = Fault::new("", "no debate was selected: mark some in the list");
        return Err(Problem::invalid(vec![fault]));
    }
    Ok(chosen)
}

/// The chosen debates as one Markdown file.
pub(crate) async fn export(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Form(form): Form<FieldValues>,
) -> Result<Response, Problem> {
    let mut documents = Vec::new();
    for id in chosen(&app, &caller, &form).await? {
        let row = rest::find(&app, &caller, &id.to_string()).await?;
        let entries = app.store.entries(id).await?;
        let document = off_runtime(move || export::render(Format::Md, &row, &entries)).await?;
        documents.push(document.map_err(|error| Problem::internal(&error.to_string()))?);
    }
    let headers = [
        (
            header::CONTENT_TYPE,
            HeaderValue::from_static(Format::Md.content_type()),
        ),
        (
            header::CONTENT_DISPOSITION,
            HeaderValue::from_static("attachment; filename=\"debates.md\""),
        ),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, documents.join("\n---\n\n")).into_response())
}

/// Deletes the chosen debates, except those that run.
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Form(form): Form<FieldValues>,
) -> Result<Response, Problem> {
    let chosen = chosen(&app, &caller, &form).await?;
    let ids: Vec<String> = chosen.iter().map(Uuid::to_string).collect();
    for id in chosen {
        app.scheduler.delete(id).await?;
    }
    let note = AuditNote {
        subject: Some(format!("{} debates", ids.len())),
        ..AuditNote::detail(ids.join(", "))
    };
    Ok((Extension(note), Redirect::to("/debates")).into_response())
}

/// Pins a debate and sets its tags.
pub(crate) async fn file(
    target: Target,
    Form(form): Form<FieldValues>,
) -> Result<Response, Problem> {
    let tags = form.get("tags").map_or("", String::as_str).split(',');
    let tags = tags.map(|tag| short(&tag.to_lowercase(), MAX_TAG_CHARS));
    let filing = Filing {
        is_pinned: form.contains_key("pinned"),
        tags: tags.filter(|tag| !tag.is_empty()).take(MAX_TAGS).collect(),
    };
    target.app.store.file(target.row.id, &filing).await?;
    Ok(target.page())
}

fn non_empty(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn day(text: &str, problems: &mut Vec<String>) -> Option<Millis> {
    if text.is_empty() {
        return None;
    }
    let at = clock::day(text);
    if at.is_none() {
        problems.push(format!(
            "invalid date '{}': expected a date such as 2026-03-01",
            short(text, 40)
        ));
    }
    at
}
