use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::event::{Event, Setup};
use crate::journal::MemoryJournal;
use crate::protocols::{self, Dialectic, debate_record as record_of};
use crate::scripted::{Scripted, deps, entries, good_script, setup};
use crate::table::{Budget, Table};

async fn good_debate() -> Vec<Entry> {
    let journal = Arc::<MemoryJournal>::default();
    let model = Scripted::new(good_script);
    let deps = deps(&model, journal.clone());
    let table = Table::open(setup("Why?"), Budget::default(), deps)
        .await
        .unwrap();
    protocols::play(&table, &Dialectic).await.unwrap();
    entries(&journal)
}

fn with(mut entries: Vec<Entry>, events: Vec<Event>) -> Vec<Entry> {
    for event in events {
        let seq = entries.len() as u64 + 1;
        let at = entries.last().map_or(0, |entry| entry.at) + 1;
        entries.push(Entry { seq, at, event });
    }
    entries
}

fn tracked(number: u32, text: &str) -> Event {
    Event::Tracked {
        number,
        tracked: serde_saphyr::from_str(text).unwrap(),
    }
}

fn assessed(number: u32, text: &str) -> Event {
    Event::Assessed {
        number,
        assessment: serde_saphyr::from_str(text).unwrap(),
    }
}

/// E-13: a report of any protocol gets the follow-up appended, and is otherwise unchanged.
#[tokio::test]
async fn e13_a_report_ends_with_the_follow_up() {
    let debate = good_debate().await;
    let before = protocols::report(&debate);
    let after = with(
        debate,
        vec![
            tracked(
                1,
                "{week: 2, event: Late, status: delayed, time_cost: 2 days}",
            ),
            tracked(2, "{week: 1, event: Begun, status: on_track}"),
            assessed(1, "{decision_accuracy: 0.9}"),
            assessed(
                2,
                "{decision_accuracy: 0.6, what_went_wrong: [{aspect: Queries, note: N+1}]}",
            ),
        ],
    );
    let report = protocols::report(&after);
    let count = before.sections.len();
    assert_eq!(report.sections[..count], before.sections[..]);
    insta::assert_json_snapshot!(report.sections[count..]);
    // The last assessment counts.
    assert_eq!(report.facts.last().unwrap().value, "60%");
}

/// E-12: a debate that was not enhanced has a record too.
#[tokio::test]
async fn e12_every_finished_debate_has_a_record() {
    let debate = good_debate().await;
    let record = record_of("d", &debate).unwrap();
    assert_eq!(record.agents(), ["proposer", "skeptic"]);
    assert_eq!((record.topic.as_str(), record.rounds.len()), ("Why?", 3));
    assert!(record.final_consensus.is_some());
    assert_eq!(record.domain, None);
    let unfinished = record_of("d", &debate[..debate.len() - 1]).unwrap();
    assert_eq!(unfinished.final_consensus, None);
    assert_eq!(record_of("d", &[]), None);
}

fn opened(rules: Value) -> Vec<Entry> {
    let opened = Event::Opened(Arc::new(Setup {
        rules,
        ..setup("Why?")
    }));
    with(Vec::new(), vec![opened])
}

/// E-15: plain and enhanced debates keep the learning input in different places.
#[test]
fn e15_learning_input_is_recorded() {
    let learned = json!({ "learned": { "domain": "api design", "questions": [{ "question": "Which queries?" }] } });
    let enhanced =
        json!({ "enhanced": { "domain": "api design", "required_questions": ["Which queries?"] } });
    for rules in [learned, enhanced] {
        let entries = opened(rules);
        assert!(used_learning(&entries));
        let record = record_of("d", &entries).unwrap();
        assert_eq!(record.domain.as_deref(), Some("api design"));
        assert_eq!(record.required_questions, ["Which queries?"]);
    }
    for rules in [
        json!({}),
        json!({ "learned": null }),
        json!({ "enhanced": { "required_questions": [] } }),
    ] {
        assert!(!used_learning(&opened(rules)));
    }
    assert!(!used_learning(&[]));
}
