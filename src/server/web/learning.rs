//! The learning page: the learned weights of one domain, with links to the other domains.

use askama::Template;
use roundtable_engine::report::Report;

use super::{Choice, Frame};
use crate::render::{self, Panel};

#[derive(Template)]
#[template(path = "learning.html")]
struct Page<'a> {
    frame: Frame,
    domains: &'a [Choice],
    facts: &'a [roundtable_engine::report::Fact],
    panels: Vec<Panel>,
}

pub(crate) fn learning_page(report: &Report, domains: &[Choice], frame: Frame) -> String {
    let page = Page {
        frame,
        domains,
        facts: &report.facts,
        panels: render::all_panels(report),
    };
    page.render().unwrap_or_default()
}
