use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::event::{End, Words};
use crate::journal::MemoryJournal;
use crate::protocols::{self, Dialectic};
use crate::scripted::{Scripted, deps, entries, good_script, setup, strip_times};
use crate::table::{Budget, Table};

async fn good_debate() -> Vec<Entry> {
    let journal = Arc::<MemoryJournal>::default();
    let model = Scripted::new(good_script);
    let table = Table::open(
        setup("Why?"),
        Budget::default(),
        deps(&model, journal.clone()),
    )
    .await
    .unwrap();
    protocols::play(&table, &Dialectic).await.unwrap();
    entries(&journal)
}

/// C-09: every prefix of the journal has a transcript, and no turn disappears.
#[tokio::test]
async fn c09_every_prefix_of_the_journal_has_a_transcript() {
    let entries = good_debate().await;
    assert_eq!(Transcript::of("d", &[]), None);
    let mut turns = 0;
    for end in 1..=entries.len() {
        let transcript = Transcript::of("d", &entries[..end]).unwrap();
        assert_eq!(transcript.seq, entries[end - 1].seq);
        assert!(transcript.turns().count() >= turns, "after {end} entries");
        turns = transcript.turns().count();
    }
    let mut whole = json!(Transcript::of("d", &entries).unwrap());
    strip_times(&mut whole);
    insta::assert_json_snapshot!(whole);
}

fn call(step: &str, seat: &str, started_at: Millis) -> Call {
    Call {
        step: step.into(),
        seat: seat.into(),
        round: 1,
        model: "test:x".into(),
        request: String::new(),
        started_at,
        spent: Spent {
            latency_ms: 10,
            ..Spent::default()
        },
    }
}

fn said(step: &str, seat: &str, started_at: Millis) -> Event {
    Event::StepFinished(Arc::new(FinishedStep {
        call: call(step, seat, started_at),
        reply: json!({}),
        text: format!("{seat} at {started_at}"),
        remarks: Vec::new(),
        withheld: Vec::new(),
        instead_of: None,
        rescued_by: None,
        reused: false,
        notices: Vec::new(),
    }))
}

fn failed(step: &str, seat: &str, started_at: Millis) -> Event {
    Event::StepFailed(Arc::new(FailedStep {
        call: call(step, seat, started_at),
        reason: "no answer".into(),
        said: None,
    }))
}

fn ended(state: State) -> Event {
    Event::Ended(Arc::new(End {
        state,
        reason: Some("it had to".into()),
        result: Some(json!({ "stop_reason": "budget" })),
    }))
}

fn journal(events: Vec<Event>) -> Vec<Entry> {
    let opened = Event::Opened(Arc::new(setup("Why?")));
    (1..)
        .zip(std::iter::once(opened).chain(events))
        .map(|(seq, event)| Entry {
            seq,
            at: 1000 + seq,
            event,
        })
        .collect()
}

fn turns(transcript: &Transcript) -> Vec<(&str, Option<&str>)> {
    transcript
        .turns()
        .map(|turn| (turn.step.as_str(), turn.text()))
        .collect()
}

/// The order of completion is random; the page must look the same live and after a reload.
#[test]
fn c15_turns_are_sorted_by_start_time() {
    let transcript = Transcript::of(
        "d",
        &journal(vec![
            said("r1/judge/look", "judge", 100),
            said("r1/skeptic/look", "skeptic", 101),
            said("r1/proposer/look", "proposer", 100),
        ]),
    )
    .unwrap();
    let seats: Vec<_> = transcript.turns().map(|turn| turn.seat.as_str()).collect();
    assert_eq!(seats, ["proposer", "judge", "skeptic"]);
    assert_eq!(
        transcript.rounds[0].busy_ms, 11,
        "parallel turns count once"
    );
}

/// C-06: a failed step is shown as absent until the debate is reopened to retry it.
#[test]
fn c06_a_failure_is_shown_until_it_is_retried() {
    let mut events = vec![
        failed("r1/proposer/propose", "proposer", 1),
        said("r1/skeptic/criticise", "skeptic", 2),
        failed("synthesis/synthesizer/synthesise", "synthesizer", 3),
        ended(State::Partial),
    ];
    let transcript = Transcript::of("d", &journal(events.clone())).unwrap();
    assert_eq!(
        turns(&transcript),
        [
            ("r1/proposer/propose", None),
            ("r1/skeptic/criticise", Some("skeptic at 2")),
            ("synthesis/synthesizer/synthesise", None),
        ]
    );
    assert!(transcript.ran_out() && transcript.is_over());
    assert_eq!(transcript.reason.as_deref(), Some("it had to"));

    events.push(Event::Reopened {
        generation: 1,
        from: None,
    });
    let transcript = Transcript::of("d", &journal(events.clone())).unwrap();
    assert_eq!(
        turns(&transcript),
        [
            ("r1/proposer/propose", None),
            ("r1/skeptic/criticise", Some("skeptic at 2")),
        ]
    );
    assert!(!transcript.ran_out() && !transcript.is_over());
    assert_eq!((transcript.reason, transcript.ended_at), (None, None));

    events.push(said("synthesis/synthesizer/synthesise", "synthesizer", 9));
    let transcript = Transcript::of("d", &journal(events)).unwrap();
    assert_eq!(turns(&transcript)[2].1, Some("synthesizer at 9"));
    let titles: Vec<_> = transcript.rounds.iter().map(Round::title).collect();
    assert_eq!(titles, ["Round 1", "Synthesis"]);
}

/// E-09, E-10: messages and decisions of people are listed between the turns; an open question is shown until it is decided.
#[test]
fn e09_messages_and_decisions_of_people_are_listed_by_time() {
    let mut events = vec![
        said("r1/proposer/propose", "proposer", 1),
        Event::Said(Words {
            number: 1,
            text: "Mind the costs.".into(),
            by: None,
        }),
        Event::Asked(Query {
            key: "r2/pause0".into(),
            question: "The debate is paused.".into(),
            options: vec!["continue".into(), "stop".into()],
        }),
    ];
    let transcript = Transcript::of("d", &journal(events.clone())).unwrap();
    assert_eq!(transcript.state, State::Waiting);
    let asked = transcript.waiting_for.map(|query| query.question);
    assert_eq!(asked.as_deref(), Some("The debate is paused."));

    events.push(Event::Decided(Decision {
        key: "r2/pause0".into(),
        choice: "continue".into(),
        by: Some("Ada".into()),
        note: Some("enough coffee".into()),
    }));
    events.push(said("r1/skeptic/criticise", "skeptic", 5000));
    let transcript = Transcript::of("d", &journal(events)).unwrap();
    assert_eq!(
        (transcript.state, transcript.waiting_for),
        (State::Running, None)
    );
    let items: Vec<String> = transcript.rounds[0]
        .items()
        .into_iter()
        .map(|item| match item {
            Item::Turn(turn) => turn.seat.clone(),
            Item::Voice(voice) => voice.text.clone(),
        })
        .collect();
    assert_eq!(
        items,
        [
            "proposer",
            "Mind the costs.",
            "Continue: enough coffee",
            "skeptic"
        ]
    );
}
