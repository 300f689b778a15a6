//! Lessons learned from past debates, as JSON and as a page.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Html;
use axum::{Extension, Json};
use roundtable_core::learning::{Audit, Domain, Knowledge, domains, in_force, lessons};
use roundtable_engine::report::Report;
use roundtable_engine::retrospective::knowledge_report;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::App;
use super::access::Caller;
use super::problem::Problem;
use super::web::{self, Choice, learning_page};
use crate::clock;

/// The knowledge of every domain, with the full audit history.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Learning {
    /// The age at which a lesson has lost half of its weight.
    half_life_days: f64,
    domains: Vec<Knowledge>,
    history: Vec<HistoryEntry>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct HistoryEntry {
    #[serde(flatten)]
    entry: Audit,
    /// Whether the entry has not been undone.
    in_force: bool,
}

pub(super) async fn all(State(app): State<Arc<App>>) -> Result<Json<Learning>, Problem> {
    let audit = app.store.audit().await?;
    let half_life = app.context.config.learning.half_life;
    let now = clock::now();
    let domains = domains(&audit)
        .iter()
        .map(|domain| Knowledge::from_audit(&audit, domain, half_life, now))
        .collect();
    let in_force = in_force(&audit);
    let history = audit.into_iter().zip(in_force);
    Ok(Json(Learning {
        half_life_days: half_life.in_days(),
        domains,
        history: history
            .map(|(entry, in_force)| HistoryEntry { entry, in_force })
            .collect(),
    }))
}

#[derive(Debug, Deserialize)]
pub(super) struct PageQuery {
    domain: Option<String>,
}

/// The page for one domain: the requested one, or the one with the most lessons.
pub(super) async fn page(
    State(app): State<Arc<App>>,
    query: Result<Query<PageQuery>, QueryRejection>,
    caller: Option<Extension<Caller>>,
) -> Result<Html<String>, Problem> {
    let audit = app.store.audit().await?;
    let half_life = app.context.config.learning.half_life;
    let all = domains(&audit);
    // A malformed query is treated like a missing one.
    let requested = query.ok().and_then(|Query(query)| query.domain);
    let requested = requested.and_then(|name| Domain::new(&name).ok());
    let largest = || {
        let largest = all.iter().max_by_key(|d| lessons(&audit, d).len());
        largest.cloned()
    };
    let chosen = requested.filter(|d| all.contains(d)).or_else(largest);
    let report = chosen.as_ref().map_or_else(Report::default, |domain| {
        knowledge_report(&audit, domain, half_life, clock::now())
    });
    let choices: Vec<Choice> = all
        .iter()
        .map(|domain| Choice {
            value: domain.name().to_owned(),
            label: domain.name().to_owned(),
            is_chosen: chosen.as_ref() == Some(domain),
        })
        .collect();
    let frame = web::frame("learning", caller.as_deref());
    Ok(Html(learning_page(&report, &choices, frame)))
}
