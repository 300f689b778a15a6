//! Pages of finished benches: the list, and one with the report that the command line prints.

use askama::Template;
use roundtable_engine::report::{Fact, Report};

use super::Frame;
use super::listing::{ListRow, Listing, Time};
use crate::bench::stored::BenchRow;
use crate::clock;
use crate::render::{self, Panel};

#[derive(Template)]
#[template(path = "bench.html")]
struct BenchPage<'a> {
    frame: Frame,
    id: &'a str,
    facts: &'a [Fact],
    panels: Vec<Panel>,
}

pub(super) fn list_page(rows: &[BenchRow], frame: Frame) -> String {
    let rows = rows.iter().map(|bench| ListRow {
        id: &bench.id,
        summary: Some(&bench.conclusion),
        time: Some(Time {
            stamp: clock::stamp(bench.at),
            shown: clock::day_and_time(bench.at),
        }),
        about: vec![
            format!("{} questions", bench.questions),
            bench.arms.join(", "),
        ],
    });
    let page = Listing {
        frame,
        title: "Benches",
        path: "/benches",
        lead: "Debates compared with single calls, on questions with known answers.",
        empty: "No finished bench. Run one with",
        command: "roundtable bench questions.csv --arms one,consistency,panel",
        rows: rows.collect(),
    };
    page.page()
}

pub(super) fn bench_page(id: &str, report: &Report, frame: Frame) -> String {
    let page = BenchPage {
        frame,
        id,
        facts: &report.facts,
        panels: render::all_panels(report),
    };
    page.render().unwrap_or_default()
}
