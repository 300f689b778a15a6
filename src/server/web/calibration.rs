//! The calibration page: a report on the accuracy of resolved forecasts.

use askama::Template;
use roundtable_engine::report::Report;

use super::Frame;
use crate::render::{self, Panel};

#[derive(Template)]
#[template(path = "calibration.html")]
struct Page<'a> {
    frame: Frame,
    facts: &'a [roundtable_engine::report::Fact],
    panels: Vec<Panel>,
}

pub(crate) fn calibration_page(report: &Report, frame: Frame) -> String {
    let page = Page {
        frame,
        facts: &report.facts,
        panels: render::all_panels(report),
    };
    page.render().unwrap_or_default()
}
