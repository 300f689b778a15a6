//! The list of debates.

use std::sync::Arc;

use axum::extract::{Extension, Query as QueryParameters, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use roundtable_engine::event::{Millis, State as DebateState};

use super::super::debates::{DebatesView, PER_PAGE, Query, Row};
use super::super::routes::{frame, page};
use crate::clock;
use crate::format::short;
use crate::server::App;
use crate::server::access::Caller;
use crate::server::list_query::search_fault;
use crate::server::problem::Problem;
use crate::server::rest;
use crate::store::{Filter, Scope};

const DAY_MS: Millis = 86_400_000;

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
        since,
        until,
        token: caller.only(),
        limit: u32::try_from(PER_PAGE).unwrap_or(u32::MAX),
        offset: (query.page() - 1).saturating_mul(PER_PAGE),
        ..Filter::default()
    };
    let listing = app.store.list(&filter).await?;
    let is_admin = caller.may(Scope::Admin);
    let rows = listing.debates.into_iter().map(|mut row| {
        rest::overlay_queue_state(&app, &mut row);
        let can_delete = is_admin && !app.scheduler.has(row.id);
        Row::new(&row, can_delete)
    });
    let mut view = DebatesView::new(&query, rows.collect(), listing.total);
    view.problems = problems;
    let body = page(view.page(frame("debates", Some(&caller))));
    if is_searchable {
        Ok(body)
    } else {
        Ok((StatusCode::UNPROCESSABLE_ENTITY, body).into_response())
    }
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
