//! The audit log over the API, for admins.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::App;
use super::problem::Problem;
use crate::clock;
use crate::failure::Fault;
use crate::store::{AuditEntry, AuditSelection};

const DEFAULT_LIMIT: u32 = 100;
const MAX_LIMIT: u32 = 500;

/// A page of the audit log.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AuditPage {
    /// Newest first.
    entries: Vec<AuditEntry>,
    /// `before` of the next page; null on the last page.
    next: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AuditQuery {
    since: Option<String>,
    before: Option<String>,
    limit: Option<String>,
}

impl AuditQuery {
    fn selection(self) -> Result<AuditSelection, Problem> {
        let mut faults = Vec::new();
        let since = self.since.map(|text| clock::time(&text));
        if since == Some(None) {
            let message = "invalid time: expected 2026-03-01 or 2026-03-01T12:00:00Z";
            faults.push(Fault::new("since", message));
        }
        let before = self.before.map(|text| text.parse().ok());
        if before == Some(None) {
            let message = "invalid number: use `next` of the previous page";
            faults.push(Fault::new("before", message));
        }
        let limit = self.limit.map_or(Some(DEFAULT_LIMIT), |text| {
            let limit = text.parse().ok();
            limit.filter(|limit| (1..=MAX_LIMIT).contains(limit))
        });
        if limit.is_none() {
            let message = format!("limit must be from 1 to {MAX_LIMIT}");
            faults.push(Fault::new("limit", message));
        }
        if !faults.is_empty() {
            return Err(Problem::invalid(faults));
        }
        Ok(AuditSelection {
            since: since.flatten().unwrap_or(0),
            before: before.flatten(),
            limit: limit.unwrap_or(DEFAULT_LIMIT),
        })
    }
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    query: Result<Query<AuditQuery>, QueryRejection>,
) -> Result<Json<AuditPage>, Problem> {
    let Query(query) = query.map_err(|error| Problem::invalid_at("query", error.body_text()))?;
    let selection = query.selection()?;
    let entries = app.store.audit_log(selection).await?;
    let is_full = entries.len() as u64 == u64::from(selection.limit);
    let next = entries.last().filter(|_| is_full).map(|last| last.number);
    Ok(Json(AuditPage { entries, next }))
}
