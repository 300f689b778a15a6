//! The list of finished benches, and one of them.

use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::super::benches::{bench_page, list_page};
use super::super::routes::{MaybeCaller, frame, page};
use crate::bench::{self, BenchReport, stored};
use crate::server::problem::Problem;
use crate::server::{App, off_runtime};
use crate::store::Address;

/// Benches are files in a data folder; a server on a database has none.
pub(super) fn data(app: &App) -> Option<PathBuf> {
    match app.context.address() {
        Ok(Address::Folder(folder)) => Some(folder.clone()),
        Ok(Address::Server(_)) | Err(_) => None,
    }
}

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    caller: MaybeCaller,
) -> Result<Response, Problem> {
    let data = data(&app);
    let read = move || data.map(|data| stored::list(&data)).unwrap_or_default();
    let rows = off_runtime(read).await?;
    Ok(page(list_page(&rows, frame("", caller.as_deref()))))
}

async fn find(app: &App, id: &str) -> Result<BenchReport, Problem> {
    let (data, wanted) = (data(app), id.to_owned());
    let read = move || data.and_then(|data| stored::get(&data, &wanted));
    match off_runtime(read).await? {
        None => Err(Problem::not_found(&format!("no finished bench '{id}'"))),
        Some(Err(failure)) => Err(Problem::internal(failure.message())),
        Some(Ok(bench)) => Ok(bench),
    }
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    caller: MaybeCaller,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let found = find(&app, &id).await?;
    let report = bench::report(&found);
    let frame = frame("", caller.as_deref());
    Ok(page(bench_page(&id, &report, frame)))
}

pub(crate) async fn result(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let found = find(&app, &id).await?;
    let text =
        serde_json::to_string(&found).map_err(|error| Problem::internal(&error.to_string()))?;
    let kind = [(header::CONTENT_TYPE, "application/json")];
    Ok((kind, text).into_response())
}
