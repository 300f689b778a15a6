//! The history of a forecast's question.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Extension, Path, State};
use axum::response::Response;
use roundtable_engine::protocols::forecast::history_report;

use super::super::Frame;
use super::super::routes::{frame, page};
use crate::clock;
use crate::questions::history::forecasts_like;
use crate::render::{self, Panel};
use crate::server::access::Caller;
use crate::server::problem::Problem;
use crate::server::{App, rest};

#[derive(Template)]
#[template(path = "history.html")]
struct Page<'a> {
    frame: Frame,
    id: String,
    question: &'a str,
    facts: &'a [roundtable_engine::report::Fact],
    panels: Vec<Panel>,
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    let row = rest::find(&app, &caller, &id).await?;
    let forecasts = forecasts_like(&app.store, &row, (caller.only(), clock::now())).await?;
    let report = history_report(&row.question, &forecasts);
    let view = Page {
        frame: frame("debates", Some(&caller)),
        id: row.id.to_string(),
        question: &row.question,
        facts: &report.facts,
        panels: render::all_panels(&report),
    };
    Ok(page(view.render().unwrap_or_default()))
}
