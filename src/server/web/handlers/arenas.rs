//! The list of arenas, one of them, and votes.

use std::path::Path;
use std::sync::Arc;

use axum::extract::{Form, Path as UrlPath, State};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::super::arenas::{arena_page, list_page};
use super::super::percent;
use super::super::routes::{MaybeCaller, frame, page};
use super::benches::data;
use crate::arena::{Choice, Standing, Stored, Vote, VoteError, ids};
use crate::clock;
use crate::server::problem::Problem;
use crate::server::{App, off_runtime};

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    caller: MaybeCaller,
) -> Result<Response, Problem> {
    let data = data(&app);
    let rows = off_runtime(move || data.map(|data| standings(&data)).unwrap_or_default()).await?;
    Ok(page(list_page(&rows, frame("", caller.as_deref()))))
}

/// Damaged arenas are left out.
fn standings(data: &Path) -> Vec<Standing> {
    let all = ids(data).into_iter();
    all.filter_map(|id| Some(Stored::get(data, &id)?.ok()?.standing()))
        .collect()
}

async fn find(app: &App, id: &str) -> Result<Stored, Problem> {
    let (data, wanted) = (data(app), id.to_owned());
    let read = move || data.and_then(|data| Stored::get(&data, &wanted));
    match off_runtime(read).await? {
        None => Err(Problem::not_found(&format!("no arena '{id}'"))),
        Some(Err(failure)) => Err(Problem::internal(failure.message())),
        Some(Ok(stored)) => Ok(stored),
    }
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    caller: MaybeCaller,
    UrlPath(id): UrlPath<String>,
) -> Result<Response, Problem> {
    let stored = find(&app, &id).await?;
    let frame = frame("", caller.as_deref());
    Ok(page(arena_page(&stored, frame)))
}

#[derive(Debug, Deserialize)]
pub(crate) struct VoteForm {
    pair: usize,
    choice: Choice,
}

pub(crate) async fn vote(
    State(app): State<Arc<App>>,
    UrlPath(id): UrlPath<String>,
    Form(form): Form<VoteForm>,
) -> Result<Response, Problem> {
    let stored = find(&app, &id).await?;
    let vote = Vote {
        pair: form.pair,
        choice: form.choice,
        at: clock::now(),
    };
    match off_runtime(move || stored.vote(vote)).await? {
        // A second click on the same pair changes nothing: the next pair is shown.
        Ok(()) | Err(VoteError::Voted) => {
            let page = format!("/arenas/{}", percent(&id));
            Ok(Redirect::to(&page).into_response())
        }
        Err(VoteError::NoSuchPair) => {
            let message = format!("arena '{id}' has no pair {}", form.pair);
            Err(Problem::invalid_at("/pair", message))
        }
        Err(VoteError::Storage(error)) => Err(Problem::internal(&error.to_string())),
    }
}
