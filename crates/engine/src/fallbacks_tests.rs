use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::budget::Budget;
use crate::event::Event;
use crate::journal::MemoryJournal;
use crate::protocols::{self, Dialectic};
use crate::scripted::{Scripted, deps, entries, good_script, setup};
use crate::table::Table;

/// A debate in which a fallback model answered these steps.
async fn debate_with(fallbacks: &[(&str, &str)]) -> Vec<Entry> {
    let journal = Arc::<MemoryJournal>::default();
    let model = Scripted::new(good_script);
    let table = Table::open(
        setup("Why?"),
        Budget::default(),
        deps(&model, Arc::clone(&journal) as _),
    )
    .await
    .unwrap();
    protocols::play(&table, &Dialectic).await.unwrap();
    let mut entries = entries(&journal);
    for entry in &mut entries {
        if let Event::StepFinished(step) = &mut entry.event
            && let Some((_, other)) = fallbacks.iter().find(|(name, _)| *name == step.call.step)
        {
            let step = Arc::make_mut(step);
            step.instead_of = Some(crate::event::InsteadOf {
                model: std::mem::replace(&mut step.call.model, (*other).to_owned()),
                because: "test:scripted: the server failed with status 500".into(),
            });
        }
    }
    entries
}

/// C-07: the report and the record name the model that really answered.
#[tokio::test]
async fn c07_fallback_models_are_in_the_report_and_the_record() {
    let entries = debate_with(&[
        ("r1/proposer/propose", "spare:y"),
        ("r1/skeptic/criticise", "spare:y"),
        ("synthesis/synthesizer/synthesise", "last:z"),
    ])
    .await;
    let sections = protocols::report(&entries).sections;
    let shown = sections
        .iter()
        .find(|section| section.title == "Fallback models");
    let because = "test:scripted: the server failed with status 500";
    let note = |text: String| Block::Note {
        text,
        tone: Tone::Caution,
    };
    assert_eq!(
        shown.map(|section| section.blocks.clone()),
        Some(vec![
            note(format!(
                "spare:y answered in place of test:scripted in 2 steps, first in r1/proposer/propose: {because}"
            )),
            note(format!(
                "last:z answered in place of test:scripted in 1 step, first in synthesis/synthesizer/synthesise: {because}"
            )),
        ])
    );
    let record = protocols::record("x", "now".into(), &entries).unwrap();
    let row = |step: &str, seat: &str, model: &str| json!({ "step": step, "seat": seat, "model": model, "instead_of": "test:scripted", "because": because });
    assert_eq!(
        record["answered_instead"],
        json!([
            row("r1/proposer/propose", "proposer", "spare:y"),
            row("r1/skeptic/criticise", "skeptic", "spare:y"),
            row("synthesis/synthesizer/synthesise", "synthesizer", "last:z"),
        ])
    );
    assert_eq!(
        record["models"]["synthesizer"], "last:z",
        "it answered every step"
    );
    assert_eq!(
        record["models"]["proposer"], "test:scripted",
        "it answered some steps"
    );
}

/// C-18: what was replaced or left out is in the report and the record, each once.
#[tokio::test]
async fn c18_notices_are_in_the_report_and_the_record() {
    let mut entries = debate_with(&[]).await;
    for entry in &mut entries {
        match &mut entry.event {
            Event::Opened(setup) => Arc::make_mut(setup).notices.push("lab is down".into()),
            Event::StepFinished(step) => {
                Arc::make_mut(step)
                    .notices
                    .push("lab does not accept schemas".into());
            }
            _ => {}
        }
    }
    let expected = ["lab is down", "lab does not accept schemas"];
    let record = protocols::record("x", "now".into(), &entries).unwrap();
    assert_eq!(record["notices"], json!(expected));
    let sections = protocols::report(&entries).sections;
    let shown = sections.iter().find(|section| section.title == "Notices");
    let notes = expected.map(|text| Block::Note {
        text: text.into(),
        tone: Tone::Caution,
    });
    assert_eq!(shown.unwrap().blocks, notes);
}

/// C-07: without fallbacks there is no section.
#[tokio::test]
async fn c07_without_fallbacks_there_is_no_section() {
    let entries = debate_with(&[]).await;
    assert_eq!(section(&entries), None);
    let record = protocols::record("x", "now".into(), &entries).unwrap();
    assert_eq!(record.get("answered_instead"), None);
    assert_eq!(record.get("notices"), None);
}
