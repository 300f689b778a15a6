//! The calibration page: a report on the accuracy of resolved forecasts.

use askama::Template;
use roundtable_engine::report::Report;

use super::Frame;
use super::debates::Row;
use crate::render::{self, Panel};
use crate::store::DebateRow;

#[derive(Template)]
#[template(path = "calibration.html")]
struct Page<'a> {
    frame: Frame,
    facts: &'a [roundtable_engine::report::Fact],
    panels: Vec<Panel>,
    /// Forecasts whose outcome is not recorded.
    due: Vec<Row>,
}

pub(crate) fn calibration_page(report: &Report, due: &[DebateRow], frame: Frame) -> String {
    let page = Page {
        frame,
        facts: &report.facts,
        panels: render::all_panels(report),
        due: due.iter().map(|row| Row::new(row, false)).collect(),
    };
    page.render().unwrap_or_default()
}
