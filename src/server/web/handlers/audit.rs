//! The page of the audit log.

use std::sync::Arc;

use axum::extract::{Query as QueryParameters, State};
use axum::response::Response;
use serde::Deserialize;

use super::super::audit::{AuditView, PER_PAGE, Row};
use super::super::routes::{MaybeCaller, frame, page};
use crate::server::App;
use crate::server::problem::Problem;
use crate::store::AuditSelection;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Query {
    before: String,
}

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    caller: MaybeCaller,
    QueryParameters(query): QueryParameters<Query>,
) -> Result<Response, Problem> {
    // A malformed number shows the first page.
    let before = query.before.parse().ok();
    let selection = AuditSelection {
        before,
        limit: PER_PAGE,
        ..AuditSelection::default()
    };
    let entries = app.store.audit_log(selection).await?;
    let is_full = entries.len() as u64 == u64::from(PER_PAGE);
    let view = AuditView {
        rows: entries.iter().map(Row::new).collect(),
        older: entries.last().filter(|_| is_full).map(|last| last.number),
        is_first: before.is_none(),
    };
    Ok(page(view.page(frame("audit", caller.as_deref()))))
}
