//! Pages of finished benches: the list, and one with the report that the command line prints.

use askama::Template;
use roundtable_engine::report::{Fact, Report};

use super::Frame;
use crate::bench::stored::BenchRow;
use crate::clock;
use crate::render::{self, Panel};

#[derive(Template)]
#[template(path = "benches.html")]
struct ListPage<'a> {
    frame: Frame,
    rows: Vec<Row<'a>>,
}

struct Row<'a> {
    bench: &'a BenchRow,
    stamp: String,
    when: String,
    arms: String,
}

#[derive(Template)]
#[template(path = "bench.html")]
struct BenchPage<'a> {
    frame: Frame,
    id: &'a str,
    facts: &'a [Fact],
    panels: Vec<Panel>,
}

pub(super) fn list_page(rows: &[BenchRow], frame: Frame) -> String {
    let rows = rows.iter().map(|bench| Row {
        stamp: clock::stamp(bench.at),
        when: clock::day_and_time(bench.at),
        arms: bench.arms.join(", "),
        bench,
    });
    let page = ListPage {
        frame,
        rows: rows.collect(),
    };
    page.render().unwrap_or_default()
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
