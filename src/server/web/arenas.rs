//! Pages of arenas: the list, one pair of answers to vote on, and the standing when all votes are in.

use askama::Template;
use roundtable_engine::report::{Fact, Report};

use super::Frame;
use super::listing::{ListRow, Listing};
use crate::arena::{Standing, Stored, report};
use crate::render::{self, Html, Panel};

#[derive(Template)]
#[template(path = "arena.html")]
struct ArenaPage<'a> {
    frame: Frame,
    id: &'a str,
    votes: usize,
    pairs: usize,
    pair: Option<PairView>,
    facts: &'a [Fact],
    panels: Vec<Panel>,
}

/// Two answers, without a word about who gave them.
struct PairView {
    number: usize,
    question: Html,
    left: Html,
    right: Html,
}

pub(super) fn list_page(rows: &[Standing], frame: Frame) -> String {
    let rows = rows.iter().map(|arena| ListRow {
        id: &arena.id,
        summary: None,
        time: None,
        about: vec![
            format!("{} of {} votes", arena.votes, arena.pairs),
            arena.file.clone(),
        ],
    });
    let page = Listing {
        frame,
        title: "Arenas",
        path: "/arenas",
        lead: "Two answers to your questions, without names: which one do you prefer?",
        empty: "No arena. Create one with",
        command: "roundtable arena new questions.txt --between panel,ask",
        rows: rows.collect(),
    };
    page.page()
}

pub(super) fn arena_page(stored: &Stored, frame: Frame) -> String {
    let standing = stored.standing();
    let pair = stored.next();
    // As long as votes are missing, the standing could sway them.
    let report = match pair {
        Some(_) => Report::default(),
        None => report(&standing),
    };
    let page = ArenaPage {
        frame,
        id: &stored.arena.id,
        votes: standing.votes,
        pairs: standing.pairs,
        pair: pair.map(|pair| PairView {
            number: pair.number,
            question: render::markdown::html(&pair.question),
            left: render::markdown::html(&pair.left.text),
            right: render::markdown::html(&pair.right.text),
        }),
        facts: &report.facts,
        panels: render::all_panels(&report),
    };
    page.render().unwrap_or_default()
}
