use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::event::Event;
use crate::protocols;
use crate::scripted::setup;

fn seated(families: [&str; 4], why: Option<&str>) -> Setup {
    let mut setup = setup("Why?");
    for (seated, family) in setup.seats.iter_mut().zip(families) {
        seated.family = Some(family.to_owned());
        seated.why = why.map(str::to_owned);
    }
    setup
}

/// C-04: the report and the record of a debate name the families and who has which.
#[test]
fn c04_report_and_record_name_the_families() {
    let setup = seated(
        ["claude", "gpt", "gemini", "claude"],
        Some("families in turn"),
    );
    let entries = [Entry {
        seq: 1,
        at: 0,
        event: Event::Opened(Arc::new(setup)),
    }];
    let note = "3 model families: claude (proposer, judge); gpt (skeptic); gemini (synthesizer)";
    let report = protocols::report(&entries);
    let section = report.sections.iter().find(|one| one.title == "Models");
    assert_eq!(
        [Block::Note {
            text: note.into(),
            tone: Tone::Plain
        }]
        .as_slice(),
        section.unwrap().blocks
    );
    let record = protocols::record("id", "then".into(), &entries).unwrap();
    assert_eq!(json!(note), record["seating"]["note"]);
    assert_eq!(json!(3), record["seating"]["families"]);
    assert_eq!(
        json!({ "seat": "skeptic", "model": "test:scripted", "family": "gpt", "why": "families in turn" }),
        record["seating"]["seats"][1]
    );
}

/// C-04: one family is named with its effect, unless the user has named the model.
#[test]
fn c04_a_single_family_is_named_with_its_effect() {
    let one = ["claude"; 4];
    let note = seating(&seated(one, Some("the only family found")))
        .unwrap()
        .note;
    assert!(
        note.starts_with("All seats share one model family, claude. Models of one family tend"),
        "{note}"
    );
    assert_eq!(None, seating(&seated(one, None)));
    assert_eq!(None, seating(&setup("Why?")), "of an earlier version");
    let named = seated(["claude", "gpt", "claude", "gpt"], None);
    assert_eq!(2, seating(&named).unwrap().families);
}
