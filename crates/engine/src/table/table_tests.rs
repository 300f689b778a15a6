use std::sync::Arc;

use super::*;
use crate::journal::MemoryJournal;
use crate::model::{ModelError, Request};
use crate::protocols::dialectic::Opening;
use crate::scripted::{Scripted, good_script, kit, setup};
use serde_json::json;

fn opening<'t>(table: &'t Table, seat: &str) -> Ask<'t, Opening> {
    table.ask::<Opening>(seat, "propose").in_round(1).prompt(
        "dialectic/propose",
        json!({ "question": "Why?", "templates": [] }),
    )
}

/// C-06: in a parallel round one seat's failure leaves the others' answers.
#[tokio::test]
async fn c06_in_a_parallel_round_one_failure_leaves_the_rest() {
    let model = Scripted::new(|request: &Request, before| {
        if before == 1 {
            return Err(ModelError::Unreachable {
                detail: "gone".into(),
            });
        }
        good_script(request, before)
    });
    let table = Table::sit(
        setup("Why?"),
        Budget::default(),
        kit(&model, Arc::<MemoryJournal>::default()),
    )
    .await
    .unwrap();
    let seats = ["proposer", "skeptic", "synthesizer"];
    let turns = all(seats.map(|seat| opening(&table, seat).send()))
        .await
        .unwrap();
    let present: Vec<_> = turns.iter().map(Option::is_some).collect();
    assert_eq!(present, [true, false, true]);
    assert_eq!(table.missing()[0].step, "r1/skeptic/propose");
    assert_eq!(table.asked(), 3);
}

/// C-07: when the budget ends a parallel round, what was under way is still journaled.
#[tokio::test]
async fn c07_answers_under_way_are_kept_when_the_budget_ends_the_round() {
    let model = Scripted::new(good_script);
    let journal = Arc::<MemoryJournal>::default();
    let budget = Budget {
        max_tokens: Some(100),
        ..Budget::default()
    };
    let table = Table::sit(
        setup("Why?"),
        budget,
        kit(&model, Arc::clone(&journal) as Arc<dyn Journal>),
    )
    .await
    .unwrap();
    let halt = all(["proposer", "skeptic"].map(|seat| opening(&table, seat).send()))
        .await
        .unwrap_err();
    assert!(
        matches!(halt, Halt::Budget(Exhausted::Tokens { .. })),
        "{halt}"
    );
    let kept: Vec<_> = journal.keyed().into_iter().map(|keyed| keyed.key).collect();
    assert_eq!(kept, ["opened", "r1/proposer/propose"]);
}

/// Notes are found out once and then read from the journal.
#[tokio::test]
async fn c08_a_note_is_found_out_once() {
    let model = Scripted::new(good_script);
    let journal = Arc::<MemoryJournal>::default();
    for found in [1, 2] {
        let kit = kit(&model, Arc::clone(&journal) as Arc<dyn Journal>);
        let table = Table::sit(setup("Why?"), Budget::default(), kit)
            .await
            .unwrap();
        let noted: u32 = table.note("r0/thing", || async { found }).await.unwrap();
        assert_eq!(noted, 1);
    }
}

/// A protocol of three lines: everybody answers, everybody answers again knowing how many there were.
async fn twice(table: &Table) -> Result<usize, Halt> {
    let mut turns = 0;
    for round in 1..=2 {
        table.round(round, "estimates").await;
        let seats = ["proposer", "skeptic", "synthesizer"];
        let answers = all(seats.map(|seat| opening(table, seat).in_round(round).send())).await?;
        turns += answers.iter().flatten().count();
    }
    Ok(turns)
}

/// C-01: a protocol is an ordinary function on the table; journal, resume, budget, events and totals come with it.
#[tokio::test]
async fn c01_another_protocol_gets_everything_from_the_table() {
    let model = Scripted::new(good_script);
    let journal = Arc::<MemoryJournal>::default();
    let sit = || {
        let kit = kit(&model, Arc::clone(&journal) as Arc<dyn Journal>);
        Table::sit(setup("Why?"), Budget::default(), kit)
    };
    let table = sit().await.unwrap();
    let mut notices = table.listen();
    assert_eq!(twice(&table).await, Ok(6));
    assert!(matches!(
        notices.try_recv().unwrap().event,
        Event::RoundStarted { round: 1, .. }
    ));
    assert_eq!(table.spent().calls, 6);

    let again = sit().await.unwrap();
    assert_eq!(twice(&again).await, Ok(6));
    assert_eq!(model.asked().len(), 6, "the second run asked nobody");
    let keys: Vec<_> = journal.keyed().into_iter().map(|keyed| keyed.key).collect();
    assert_eq!(
        keys,
        [
            "opened",
            "r1",
            "r1/proposer/propose",
            "r1/skeptic/propose",
            "r1/synthesizer/propose",
            "r2",
            "r2/proposer/propose",
            "r2/skeptic/propose",
            "r2/synthesizer/propose",
        ]
    );
}
