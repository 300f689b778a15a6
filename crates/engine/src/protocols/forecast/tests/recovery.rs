//! Resuming after kills, failures and budget limits.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::scripted::{Dying, assert_all_rebuilt, timeless};

/// C-15: the same seed, setup and replies give the same journal.
#[tokio::test]
async fn c15_the_same_forecast_twice_is_the_same_journal() {
    let (first, second) = (Arc::default(), Arc::default());
    played(&good_model(), &first).await;
    played(&good_model(), &second).await;
    assert_eq!(timeless(&first), timeless(&second));
    assert_all_rebuilt(&Forecast, &first).await;
}

/// By key, because parallel steps may be journaled in another order after a kill.
fn by_key(journal: &MemoryJournal) -> BTreeMap<String, Value> {
    let entries = timeless(journal).into_iter();
    entries
        .map(|entry| (entry["key"].as_str().unwrap().to_owned(), entry))
        .collect()
}

fn finished(journal: &MemoryJournal) -> BTreeSet<String> {
    let entries = entries(journal);
    let steps = entries.iter().filter_map(|entry| entry.event.finished());
    steps.map(|step| step.call.step.clone()).collect()
}

/// C-08: killed after every single journal entry and resumed, the journal is the same and no finished call is made twice.
#[tokio::test]
async fn c08_a_forecast_killed_after_every_entry_and_resumed_loses_and_repeats_nothing() {
    let whole: Arc<MemoryJournal> = Arc::default();
    played(&rewriting_model(), &whole).await;
    let length = whole.keyed().len();
    assert_eq!(
        length,
        1 + 3 + 3 + 33 + 1,
        "opened, rounds, interludes, steps, ended"
    );
    let expected = by_key(&whole);
    for after in 1..=length {
        let model = rewriting_model();
        let inner: Arc<MemoryJournal> = Arc::default();
        let (dying, dead) = Dying::after(after, &inner);
        let setup = setup_of(&request());
        let first_life = async {
            let deps = forecast_deps(&model, &setup, Arc::new(dying));
            let table = Table::open(setup.clone(), Budget::default(), deps)
                .await
                .unwrap();
            play(&table, &Forecast).await.unwrap();
        };
        tokio::select! {
            () = first_life => {}
            () = dead.notified() => {}
        }
        let safe = finished(&inner).len();
        let before = model.heard().len();
        if inner.keyed().len() < length {
            played(&model, &inner).await;
        }
        assert_eq!(by_key(&inner), expected, "killed after entry {after}");
        let asked_again = model.heard().len() - before;
        assert_eq!(asked_again, 33 - safe, "killed after entry {after}");
    }
}

/// C-06: if no model answers, the forecast fails after one round; resumed when the models are back, it completes.
#[tokio::test]
async fn c06_a_failed_forecast_can_be_resumed() {
    let dead = Scripted::new(|_: &Request, _| {
        Err(ModelError::Unreachable {
            detail: "no network".into(),
        })
    });
    let journal = Arc::default();
    let result = played(&dead, &journal).await;
    assert_eq!(result.roundtable.state, State::Failed);
    assert_eq!(dead.asked().len(), 5);
    let result = played(&good_model(), &journal).await;
    assert_eq!(result.roundtable.state, State::Complete);
    assert_eq!(result.metadata.total_arguments, 15);
}

/// C-07: at the limit the debate stops with the result so far; with a larger limit it continues.
#[tokio::test]
async fn c07_a_budget_stops_a_forecast_with_the_best_result_so_far() {
    let (model, journal) = (good_model(), Arc::default());
    let budget = Budget {
        max_tokens: Some(900),
        ..Budget::default()
    };
    let result = played_with(&model, &journal, setup_of(&request()), budget).await;
    assert_eq!(result.roundtable.state, State::Partial);
    assert!(
        result
            .roundtable
            .reason
            .unwrap()
            .contains("the limit of 900 tokens")
    );
    let sum: f64 = result
        .probability_distribution
        .iter()
        .map(|outcome| outcome.probability)
        .sum();
    assert!((sum - 1.0).abs() < 1e-9);
    let result = played(&model, &journal).await;
    assert_eq!(result.roundtable.state, State::Complete);
    assert_eq!(model.asked().len(), 31, "no call was made twice");
}

/// A forecast that was cancelled says so, and does not present the numbers so far as its consensus.
#[tokio::test]
async fn c07_a_cancelled_forecast_says_that_it_was_cancelled() {
    let whole: Arc<MemoryJournal> = Arc::default();
    played(&good_model(), &whole).await;
    let mut entries = entries(&whole);
    // Up to the fourth argument of the first round: the judge's is the fifth.
    let fourth = |entry: &&crate::event::Entry| entry.event.finished().is_some();
    let last = entries.iter().filter(fourth).nth(3).unwrap().seq;
    entries.retain(|entry| entry.seq <= last);
    let so_far = DebateResult::of("id", "then".into(), &entries).unwrap();
    assert_eq!(json!(so_far.roundtable.extras.ending)["how"], "running");

    let mut end = entries.last().unwrap().clone();
    end.seq += 1;
    end.event = crate::event::Event::Ended(Arc::new(End {
        state: State::Cancelled,
        reason: Some("interrupted".into()),
        result: None,
    }));
    entries.push(end);
    let result = DebateResult::of("id", "then".into(), &entries).unwrap();
    let extras = &result.roundtable.extras;
    assert_eq!(json!(extras.ending)["how"], "cancelled");
    assert_eq!(result.probability_distribution[0].role_assessments.len(), 4);
    let report = json!(crate::protocols::report(&entries)).to_string();
    assert!(!report.contains("consensus alone"), "{report}");
    assert!(
        report.contains("The debate stopped before the judge spoke"),
        "{report}"
    );
}
