use std::sync::Arc;

use futures::future::BoxFuture;

use super::*;
use crate::event::State;
use crate::journal::{JournalError, Keyed, MemoryJournal};
use crate::model::{Delta, Deltas, Finish, Instead, Model, ModelError, Request};
use crate::protocols::dialectic::Opening;
use crate::scripted::{CUT, Scripted, deps, good_script, setup, setup_with};
use roundtable_core::usage::{Money, Price, Usage};
use serde_json::json;

fn opening<'t>(table: &'t Table, seat: &str) -> Ask<'t, Opening> {
    table.ask::<Opening>(seat, "propose").in_round(1).prompt(
        "dialectic/propose",
        json!({ "question": "Why?", "templates": [] }),
    )
}

/// C-06: if one seat of a parallel round fails, the answers of the others are kept.
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
    let table = Table::open(
        setup("Why?"),
        Budget::default(),
        deps(&model, Arc::<MemoryJournal>::default()),
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

/// C-07: when the budget ends a parallel round, calls in flight are still journaled.
#[tokio::test]
async fn c07_calls_in_flight_are_kept_when_the_budget_ends_the_round() {
    let model = Scripted::new(good_script);
    let journal = Arc::<MemoryJournal>::default();
    let budget = Budget {
        max_tokens: Some(300),
        ..Budget::default()
    };
    let table = Table::open(
        setup("Why?"),
        budget,
        deps(&model, Arc::clone(&journal) as Arc<dyn Journal>),
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

/// A model that streams fixed deltas.
struct FixedDeltas(Vec<Delta>);

impl Model for FixedDeltas {
    fn stream(&self, _: Request) -> Deltas {
        let deltas: Vec<_> = self.0.iter().cloned().map(Ok).collect();
        Box::pin(futures::stream::iter(deltas))
    }
}

async fn ask_with(deltas: Vec<Delta>) -> (Arc<MemoryJournal>, Option<Turn<Opening>>) {
    ask_within(Budget::default(), deltas).await
}

async fn ask_within(
    budget: Budget,
    deltas: Vec<Delta>,
) -> (Arc<MemoryJournal>, Option<Turn<Opening>>) {
    let journal = Arc::<MemoryJournal>::default();
    let mut deps = deps(
        &Scripted::new(good_script),
        Arc::clone(&journal) as Arc<dyn Journal>,
    );
    for seat_model in deps.seat_models.values_mut() {
        seat_model.model = Arc::new(FixedDeltas(deltas.clone()));
    }
    let table = Table::open(setup("Why?"), budget, deps).await.unwrap();
    let turn = opening(&table, "proposer").send().await.unwrap();
    (journal, turn)
}

fn used(input: u64, output: u64) -> Delta {
    Delta::Usage(Usage {
        input,
        output,
        cached: 0,
    })
}

/// C-07: a finished step records the fallback model, the requested model, the reason, and the cost of both.
#[tokio::test]
async fn c07_a_fallback_model_is_recorded_in_the_journal() {
    let reply = good_opening();
    let instead = Instead {
        model: "spare:y".into(),
        because: "test:scripted: gone".into(),
        price: Some(Price {
            input: 10.0,
            output: 20.0,
            cached: None,
        }),
    };
    let (journal, turn) = ask_with(vec![
        Delta::Text("{\"answer\": \"Half".into()),
        used(1_000_000, 0),
        Delta::Instead(Box::new(instead)),
        Delta::Text(reply),
        used(1_000_000, 1_000_000),
        Delta::Finish(Finish::Stop),
    ])
    .await;
    assert_eq!("Use a **queue**.", turn.unwrap().reply.answer);
    let entry = serde_json::to_value(&journal.keyed()[1].entry.event).unwrap();
    // One dollar for the failed attempt of the first model, thirty for the fallback.
    assert_eq!(
        json!(["spare:y", { "model": "test:scripted", "because": "test:scripted: gone" }, 1, Money::from_dollars(31.0)]),
        json!([
            entry["model"],
            entry["instead_of"],
            entry["spent"]["retries"],
            entry["spent"]["cost"]
        ])
    );
}

/// C-19: under a cost limit, a fallback whose price is unknown is not called; without one it answers, at an unknown cost.
#[tokio::test]
async fn c19_a_fallback_without_a_price_is_not_called_under_a_cost_limit() {
    let deltas = vec![
        Delta::Instead(Box::new(Instead {
            model: "spare:y".into(),
            because: "test:scripted: gone".into(),
            price: None,
        })),
        Delta::Text(good_opening()),
        used(1_000, 1_000),
        Delta::Finish(Finish::Stop),
    ];
    let limited = Budget {
        max_cost: Money::from_dollars(1.0),
        ..Budget::default()
    };
    let (journal, turn) = ask_within(limited, deltas.clone()).await;
    assert!(turn.is_none());
    let entry = serde_json::to_value(&journal.keyed()[1].entry.event).unwrap();
    assert_eq!(
        "not called under a cost limit (test:scripted: gone; the price of the fallback spare:y is unknown)",
        entry["reason"]
    );
    let (journal, turn) = ask_with(deltas).await;
    assert!(turn.is_some());
    let entry = serde_json::to_value(&journal.keyed()[1].entry.event).unwrap();
    assert_eq!(serde_json::Value::Null, entry["spent"]["cost"]);
}

fn good_opening() -> String {
    json!({ "answer": "Use a **queue**.", "assumptions": [] }).to_string()
}

/// C-07: a debate may make `SPARE_RETRIES` plus one per step; after that a call that needs a retry fails.
#[tokio::test]
async fn c07_retries_of_a_debate_are_bounded() {
    let restarts = |count: usize| {
        let restart = Delta::Restart {
            reason: "gone".into(),
            wait: std::time::Duration::ZERO,
        };
        let mut deltas = vec![restart; count];
        deltas.push(Delta::Text(good_opening()));
        deltas.push(Delta::Finish(Finish::Stop));
        deltas
    };
    assert!(ask_with(restarts(SPARE_RETRIES + 1)).await.1.is_some());
    let (journal, turn) = ask_with(restarts(SPARE_RETRIES + 2)).await;
    assert!(turn.is_none());
    let entry = serde_json::to_value(&journal.keyed()[1].entry.event).unwrap();
    assert_eq!(
        "the stream broke off (gone; the debate has used up its retries)",
        entry["reason"]
    );
}

/// Runs one step with a model that gives these replies in order and repeats the last. Returns the journal entry and the token limit
/// of each call.
async fn run_step(
    says: impl IntoIterator<Item = Result<String, ModelError>>,
) -> (serde_json::Value, Vec<u32>) {
    let says: Vec<_> = says.into_iter().collect();
    let model = Scripted::new(move |_: &Request, before| says[before.min(says.len() - 1)].clone());
    let journal = Arc::<MemoryJournal>::default();
    let deps = deps(&model, Arc::clone(&journal) as Arc<dyn Journal>);
    let table = Table::open(setup("Why?"), Budget::default(), deps)
        .await
        .unwrap();
    opening(&table, "proposer").send().await.unwrap();
    let last = journal.keyed().pop().unwrap().entry.event;
    let entry = serde_json::to_value(&last).unwrap();
    let requests = model.heard().into_iter();
    (
        entry,
        requests.map(|request| request.max_output_tokens).collect(),
    )
}

fn truncated() -> String {
    format!("{CUT}{{\"answer\": \"Use a")
}

/// Kind, failure, calls, retries and tokens of a step.
fn outline(entry: &serde_json::Value) -> serde_json::Value {
    let spent = &entry["spent"];
    let output = &spent["output"];
    json!([
        entry["kind"],
        entry["reason"],
        spent["calls"],
        spent["retries"],
        output
    ])
}

/// C-05, C-07, C-11: a call truncated by the token limit is retried with a higher limit; its usage is counted.
#[tokio::test]
async fn c07_a_truncated_call_is_retried_with_a_higher_limit() {
    let (entry, rooms) = run_step([Ok(truncated()), Ok(good_opening())]).await;
    assert_eq!(json!(["step_finished", null, 1, 1, 40]), outline(&entry));
    assert_eq!(vec![rooms[0], rooms[0] * 2], rooms);
    // It does not replace the retry of an invalid reply.
    let prose = || "I would rather not.".to_owned();
    let (entry, rooms) =
        run_step([truncated(), prose(), truncated(), good_opening()].map(Ok)).await;
    assert_eq!(json!(["step_finished", null, 2, 2, 80]), outline(&entry));
    let once = rooms[0];
    assert_eq!(vec![once, once * 2, once, once * 2], rooms);
    // A reply that is complete at the limit is accepted.
    let whole = format!("{CUT}{} And", good_opening());
    let (entry, rooms) = run_step([Ok(whole)]).await;
    assert_eq!(json!(["step_finished", null, 1, 0, 20]), outline(&entry));
    assert_eq!(1, rooms.len());
}

/// C-05, C-07: an endless reply costs three calls, then the step fails.
#[tokio::test]
async fn c07_a_step_fails_after_three_truncated_replies() {
    let why = "The reply was cut off at the limit of tokens.";
    let (entry, rooms) = run_step([Ok(truncated())]).await;
    assert_eq!(json!(["step_failed", why, 1, 2, 60]), outline(&entry));
    assert_eq!(vec![rooms[0], rooms[0] * 2, rooms[0] * 4], rooms);
    // A rejected higher limit does not hide the truncation.
    let refused = Err(ModelError::Rejected {
        status: 400,
        detail: "max_tokens is too large".into(),
    });
    let (entry, rooms) = run_step([Ok(truncated()), refused]).await;
    assert_eq!(json!(["step_failed", why, 1, 1, 20]), outline(&entry));
    assert_eq!(2, rooms.len());
}

/// C-07: retries of truncated replies count as retries of the debate.
#[tokio::test]
async fn c07_truncated_replies_use_up_the_retries_of_a_debate() {
    let model = Scripted::new(|_: &Request, _| Ok(truncated()));
    let deps = deps(&model, Arc::<MemoryJournal>::default());
    let table = Table::open(setup("Why?"), Budget::default(), deps)
        .await
        .unwrap();
    let mut calls = Vec::new();
    for round in 1..=u32::try_from(SPARE_RETRIES).unwrap() + 2 {
        let before = model.heard().len();
        let ask = opening(&table, "proposer").in_round(round);
        assert!(ask.send().await.unwrap().is_none());
        calls.push(model.heard().len() - before);
    }
    // Two per step, of which one is spare: the spare ones last for `SPARE_RETRIES` steps.
    let (plenty, last) = calls.split_at(SPARE_RETRIES);
    assert_eq!(
        (vec![3; SPARE_RETRIES].as_slice(), [2, 1].as_slice()),
        (plenty, last)
    );
}

/// C-08: a note is computed once and then read from the journal.
#[tokio::test]
async fn c08_a_note_is_computed_once() {
    let model = Scripted::new(good_script);
    let journal = Arc::<MemoryJournal>::default();
    for found in [1, 2] {
        let deps = deps(&model, Arc::clone(&journal) as Arc<dyn Journal>);
        let table = Table::open(setup("Why?"), Budget::default(), deps)
            .await
            .unwrap();
        let noted: u32 = table.note("r0/thing", || async { found }).await.unwrap();
        assert_eq!(noted, 1);
    }
}

/// A minimal protocol: two rounds in which every seat answers.
async fn two_rounds(table: &Table) -> Result<usize, Halt> {
    let mut turns = 0;
    for round in 1..=2 {
        table.round(round, "estimates");
        let seats = ["proposer", "skeptic", "synthesizer"];
        let answers = all(seats.map(|seat| opening(table, seat).in_round(round).send())).await?;
        turns += answers.iter().flatten().count();
    }
    Ok(turns)
}

/// C-01: a protocol is a function on the table, which provides journal, resume, budget, events and totals.
#[tokio::test]
async fn c01_another_protocol_gets_everything_from_the_table() {
    let model = Scripted::new(good_script);
    let journal = Arc::<MemoryJournal>::default();
    let sit = || {
        let deps = deps(&model, Arc::clone(&journal) as Arc<dyn Journal>);
        Table::open(setup("Why?"), Budget::default(), deps)
    };
    let table = sit().await.unwrap();
    let mut notices = table.listen();
    assert_eq!(two_rounds(&table).await, Ok(6));
    assert!(matches!(
        notices.try_recv().unwrap().event,
        Event::RoundStarted { round: 1, .. }
    ));
    assert_eq!(table.spent().calls, 6);

    let again = sit().await.unwrap();
    assert_eq!(two_rounds(&again).await, Ok(6));
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

/// A slow journal that records each append separately and can refuse one.
#[derive(Default)]
struct Slow {
    appends: Mutex<Vec<Vec<Keyed>>>,
    refused: Option<usize>,
    tries: Mutex<usize>,
}

impl Slow {
    fn keys(&self) -> Vec<Vec<String>> {
        let appends = self.appends.lock().unwrap();
        let keys = |batch: &Vec<Keyed>| batch.iter().map(|k| k.key.clone()).collect();
        appends.iter().map(keys).collect()
    }
}

impl Journal for Slow {
    fn append(&self, entries: Vec<Keyed>) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            let mut tries = self.tries.lock().unwrap();
            *tries += 1;
            if self.refused == Some(*tries) {
                let detail = "for a moment".into();
                return Err(JournalError::Full { detail });
            }
            self.appends.lock().unwrap().push(entries);
            Ok(())
        })
    }

    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        let appends = self.appends.lock().unwrap();
        let entries = appends.iter().flatten().map(|k| k.entry.clone()).collect();
        Box::pin(std::future::ready(Ok(entries)))
    }
}

/// C-08: answers that arrive during a write are appended in one batch, in order, and announced after it.
#[tokio::test]
async fn c08_concurrent_answers_are_appended_in_one_batch() {
    let model = Scripted::new(good_script);
    let journal = Arc::<Slow>::default();
    let deps = deps(&model, Arc::clone(&journal) as Arc<dyn Journal>);
    let table = Table::open(setup("Why?"), Budget::default(), deps)
        .await
        .unwrap();
    let mut notices = table.listen();
    assert_eq!(two_rounds(&table).await, Ok(6));
    table.flush().await.unwrap();
    let round = |number: u32| {
        let seats = ["proposer", "skeptic", "synthesizer"];
        let steps = seats.map(|seat| format!("r{number}/{seat}/propose"));
        let mut keys = vec![format!("r{number}")];
        keys.extend(steps);
        keys
    };
    let by_append = [vec!["opened".to_owned()], round(1), round(2)];
    assert_eq!(journal.keys(), by_append);
    let mut announced = Vec::new();
    while let Ok(notice) = notices.try_recv() {
        announced.extend(notice.seq);
    }
    assert_eq!(announced, [2, 3, 4, 5, 6, 7, 8, 9]);
}

/// A table with a slow journal, after one step marked as the last.
async fn after_the_last_step() -> (Arc<Slow>, Table) {
    let model = Scripted::new(good_script);
    let journal = Arc::<Slow>::default();
    let deps = deps(&model, Arc::clone(&journal) as Arc<dyn Journal>);
    let table = Table::open(setup("Why?"), Budget::default(), deps)
        .await
        .unwrap();
    table.round(1, "proposal");
    let turn = opening(&table, "proposer").last().send().await;
    assert!(turn.unwrap().is_some());
    (journal, table)
}

/// C-08: the last step and the end are written in one append and announced after it.
#[tokio::test]
async fn c08_the_last_step_is_written_with_the_end() {
    let (journal, table) = after_the_last_step().await;
    let mut notices = table.listen();
    assert_eq!(journal.keys().len(), 1, "only the opening is written");
    let end = End {
        state: State::Complete,
        reason: None,
        result: None,
    };
    table.end(Arc::new(end)).await.unwrap();
    assert_eq!(
        journal.keys()[1..],
        [["r1", "r1/proposer/propose", "ended!0"]]
    );
    let mut announced = Vec::new();
    while let Ok(notice) = notices.try_recv() {
        announced.extend(notice.seq);
    }
    assert_eq!(announced, [3, 4]);
}

/// C-08: if no end follows, the last step is still written, and nothing is written twice.
#[tokio::test]
async fn c08_without_an_end_the_last_step_is_written_too() {
    let (journal, table) = after_the_last_step().await;
    for _ in 0..2 {
        table.flush_queue().await.unwrap();
        assert_eq!(journal.keys()[1..], [["r1", "r1/proposer/propose"]]);
    }
}

/// C-08: a failed append fails only its own waiters and leaves no gap in the sequence.
#[tokio::test]
async fn c08_a_failed_append_leaves_no_gap() {
    let model = Scripted::new(good_script);
    let journal = Arc::new(Slow {
        refused: Some(2),
        ..Slow::default()
    });
    let deps = deps(&model, Arc::clone(&journal) as Arc<dyn Journal>);
    let table = Table::open(setup("Why?"), Budget::default(), deps)
        .await
        .unwrap();
    // Another step is in flight, so each waits for the write.
    let _working = table.write_queue.in_flight();
    table.round(1, "proposal");
    let full = opening(&table, "proposer").send().await.unwrap_err();
    assert!(
        matches!(full, Halt::Journal(JournalError::Full { .. })),
        "{full}"
    );
    opening(&table, "skeptic").send().await.unwrap().unwrap();
    assert_eq!(
        journal.keys(),
        [vec!["opened"], vec!["r1", "r1/skeptic/propose"]]
    );
    let numbers: Vec<u64> = journal
        .load()
        .await
        .unwrap()
        .iter()
        .map(|entry| entry.seq)
        .collect();
    assert_eq!(numbers, [1, 2, 3]);
}

/// A clock that goes back a minute with every reading.
struct Backwards(std::sync::atomic::AtomicU64);

impl Clock for Backwards {
    fn now(&self) -> crate::event::Millis {
        let looks = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        1_000_000_000 - looks * 60_000
    }
}

/// C-08: with any clock the debate ends, durations are not negative, and the journal is in order.
#[tokio::test]
async fn c08_a_clock_that_jumps_backwards_does_no_harm() {
    use crate::protocols::{Dialectic, play, report};

    let model = Scripted::new(good_script);
    let journal = Arc::<MemoryJournal>::default();
    let mut deps = deps(&model, Arc::clone(&journal) as Arc<dyn Journal>);
    deps.clock = Arc::new(Backwards(0.into()));
    let budget = Budget {
        max_ms: Some(86_400_000),
        ..Budget::default()
    };
    let table = Table::open(setup("Why?"), budget, deps).await.unwrap();
    let end = play(&table, &Dialectic).await.unwrap();
    assert_eq!(end.state, crate::event::State::Complete);
    let entries = crate::scripted::entries(&journal);
    let numbers: Vec<u64> = entries.iter().map(|entry| entry.seq).collect();
    assert_eq!(numbers, (1..=entries.len() as u64).collect::<Vec<_>>());
    assert!(
        entries.windows(2).any(|pair| pair[1].at < pair[0].at),
        "the clock did not jump"
    );
    // All views of the journal can still be built.
    report(&entries);
    let transcript = crate::transcript::Transcript::of("id", &entries).unwrap();
    assert_eq!(transcript.busy_ms, 0);
}

/// A journal whose appends, except the first, block until they are released.
#[derive(Default)]
struct Gated {
    kept: MemoryJournal,
    open: tokio::sync::watch::Sender<bool>,
    refuses: bool,
}

impl Journal for Gated {
    fn append(&self, entries: Vec<Keyed>) -> BoxFuture<'_, Result<(), JournalError>> {
        Box::pin(async move {
            if entries[0].key != "opened" {
                let mut open = self.open.subscribe();
                open.wait_for(|is_open| *is_open).await.unwrap();
                if self.refuses {
                    let detail = "no more".into();
                    return Err(JournalError::Full { detail });
                }
            }
            self.kept.append(entries).await
        })
    }

    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        self.kept.load()
    }
}

async fn gated(refuses: bool) -> (Arc<Gated>, Arc<Scripted>, Table) {
    let model = Scripted::new(good_script);
    let journal = Arc::new(Gated {
        refuses,
        ..Gated::default()
    });
    let deps = deps(&model, Arc::clone(&journal) as Arc<dyn Journal>);
    let table = Table::open(setup("Why?"), Budget::default(), deps)
        .await
        .unwrap();
    (journal, model, table)
}

/// C-08: the next step is prepared during the write of the last one, but its call waits for the write. C-09: listeners are
/// notified in the order of the journal.
#[tokio::test]
async fn c08_the_next_call_waits_until_the_last_step_is_written() {
    let (journal, model, table) = gated(false).await;
    let seqs = Arc::<Mutex<Vec<u64>>>::default();
    let sink = Arc::clone(&seqs);
    table.set_observer(Box::new(move |notice| {
        sink.lock().unwrap().extend(notice.seq);
    }));
    opening(&table, "proposer").send().await.unwrap().unwrap();
    assert_eq!(journal.kept.keyed().len(), 1, "it is not written yet");
    table.round(2, "critique");
    let mut next = Box::pin(opening(&table, "skeptic").send());
    assert!(futures::poll!(&mut next).is_pending());
    assert_eq!((model.heard().len(), seqs.lock().unwrap().len()), (1, 0));

    journal.open.send_replace(true);
    next.await.unwrap().unwrap();
    table.note("later", async || 1_u8).await.unwrap();
    assert_eq!(model.heard().len(), 2);
    let keys: Vec<_> = journal.kept.keyed().into_iter().map(|k| k.key).collect();
    let steps = ["r1/proposer/propose", "r2", "r1/skeptic/propose", "later"];
    assert_eq!(keys[1..], steps);
    assert_eq!(*seqs.lock().unwrap(), [2, 3, 4, 5]);
}

/// C-09: a number that a listener is told is in the journal by then, also that of a deferred note; only the start of a round is
/// announced before. A reader of the journal would otherwise wait for the entry.
#[tokio::test]
async fn c09_a_deferred_note_is_announced_when_it_is_written() {
    let (model, journal) = (Scripted::new(good_script), Arc::<MemoryJournal>::default());
    let deps = deps(&model, Arc::clone(&journal) as Arc<dyn Journal>);
    let table = Table::open(setup("Why?"), Budget::default(), deps)
        .await
        .unwrap();
    let heard = Arc::<Mutex<Vec<u64>>>::default();
    let (sink, written) = (Arc::clone(&heard), Arc::clone(&journal));
    table.set_observer(Box::new(move |notice| {
        let count = written.keyed().len() as u64;
        let is_round = matches!(notice.event, Event::RoundStarted { .. });
        assert!(
            is_round || notice.seq.is_none_or(|seq| seq <= count),
            "{notice:?}"
        );
        sink.lock().unwrap().extend(notice.seq);
    }));
    assert_eq!(table.last_seq(), 1);
    table.memoize("figure", || 7_u8).unwrap();
    // It is in the queue, so that a reader that joins now is told of it later.
    assert_eq!((table.last_seq(), heard.lock().unwrap().len()), (1, 0));
    table.round(1, "proposal");
    opening(&table, "proposer").send().await.unwrap().unwrap();
    table.flush().await.unwrap();
    assert_eq!(*heard.lock().unwrap(), [2, 3, 4]);
    assert_eq!((table.last_seq(), journal.keyed().len()), (4, 4));
    // Without a note before it, the start of a round is announced at once.
    table.round(2, "critique");
    assert_eq!(*heard.lock().unwrap(), [2, 3, 4, 5]);
}

/// C-09: the value of a round is told to readers at once, without a write of its own.
#[tokio::test]
async fn c09_a_note_can_be_announced_before_it_is_written() {
    let (model, journal) = (Scripted::new(good_script), Arc::<MemoryJournal>::default());
    let deps = deps(&model, Arc::clone(&journal) as Arc<dyn Journal>);
    let table = Table::open(setup("Why?"), Budget::default(), deps)
        .await
        .unwrap();
    let heard = Arc::<Mutex<Vec<u64>>>::default();
    let sink = Arc::clone(&heard);
    table.set_observer(Box::new(move |notice| {
        sink.lock().unwrap().extend(notice.seq);
    }));
    assert_eq!(table.memoize_and_announce("figure", || 7_u8), Ok(7));
    assert_eq!((heard.lock().unwrap().len(), journal.keyed().len()), (1, 1));
    opening(&table, "proposer").send().await.unwrap().unwrap();
    table.flush().await.unwrap();
    assert_eq!(*heard.lock().unwrap(), [2, 3]);
    assert_eq!(journal.keyed().len(), 3);
}

/// C-08: after a failed write no further call is made.
#[tokio::test]
async fn c08_no_call_is_made_after_a_failed_write() {
    let (journal, model, table) = gated(true).await;
    opening(&table, "proposer").send().await.unwrap().unwrap();
    journal.open.send_replace(true);
    let full = Err(Halt::Journal(JournalError::Full {
        detail: "no more".into(),
    }));
    for seat in ["proposer", "skeptic", "synthesizer"] {
        let asked = opening(&table, seat).in_round(2).send().await;
        assert_eq!(asked.map(drop), full);
    }
    assert_eq!(model.heard().len(), 1);
}

/// C-08: while other steps are in flight, a finished step is written and announced at once.
#[tokio::test]
async fn c08_a_finished_step_is_written_while_others_are_in_flight() {
    let (journal, _, table) = gated(false).await;
    journal.open.send_replace(true);
    let working = table.write_queue.in_flight();
    opening(&table, "proposer").send().await.unwrap().unwrap();
    assert_eq!(journal.kept.keyed().len(), 2);
    drop(working);
}

/// C-06, C-08: of a parallel round, only the failed seat is asked again. The replies of the others are used again, count once in
/// the totals, and the journal has each of them in the new generation.
#[tokio::test]
async fn c06_replies_to_the_same_request_are_used_again() {
    let seats = ["proposer", "skeptic", "synthesizer"];
    let journal = Arc::<MemoryJournal>::default();
    let failing = Scripted::new(|request: &Request, before| {
        if before == 0 {
            return Err(ModelError::Unreachable {
                detail: "gone".into(),
            });
        }
        good_script(request, before)
    });
    let whole = Scripted::new(good_script);
    for (model, present) in [(&failing, 2), (&whole, 3)] {
        let deps = deps(model, Arc::clone(&journal) as Arc<dyn Journal>);
        let table = Table::open(setup("Why?"), Budget::default(), deps)
            .await
            .unwrap();
        let asks = seats.map(|seat| opening(&table, seat).send());
        let turns = all(asks).await.unwrap();
        assert_eq!(turns.iter().flatten().count(), present);
        let end = End {
            state: State::Partial,
            reason: None,
            result: None,
        };
        table.end(Arc::new(end)).await.unwrap();
    }
    assert_eq!(whole.heard().len(), 1);
    let keys: Vec<_> = journal.keyed().into_iter().map(|keyed| keyed.key).collect();
    assert_eq!(
        keys[4..],
        [
            "ended!0",
            "reopened!1",
            "r1/proposer/propose@1",
            "r1/skeptic/propose@1",
            "r1/synthesizer/propose@1",
            "ended!1"
        ]
    );
    let entries = crate::scripted::entries(&journal);
    let totals = |entries: &[Entry]| crate::totals::Totals::of(entries).debate;
    assert_eq!(totals(&entries).calls, 4);
    assert_eq!(totals(&current(&entries)), totals(&entries));
    assert_eq!(current(&current(&entries)), current(&entries));
}

/// C-08: the request of a step before the failure may not change; that is a different debate.
#[tokio::test]
async fn c08_a_changed_request_before_the_failure_is_a_drift() {
    let journal = Arc::<MemoryJournal>::default();
    let model = Scripted::new(|request: &Request, before| {
        if before == 1 {
            return Err(ModelError::Unreachable {
                detail: "gone".into(),
            });
        }
        good_script(request, before)
    });
    let open = || async {
        let deps = deps(&model, Arc::clone(&journal) as Arc<dyn Journal>);
        Table::open(setup("Why?"), Budget::default(), deps)
            .await
            .unwrap()
    };
    let table = open().await;
    opening(&table, "proposer").send().await.unwrap();
    opening(&table, "skeptic").send().await.unwrap();
    let end = End {
        state: State::Partial,
        reason: None,
        result: None,
    };
    table.end(Arc::new(end)).await.unwrap();
    let table = open().await;
    let other = json!({ "question": "How?", "templates": [] });
    let ask = table.ask::<Opening>("proposer", "propose").in_round(1);
    let halt = ask.prompt("dialectic/propose", other).send().await;
    assert!(matches!(halt, Err(Halt::Drift { .. })));
}

/// A small model may answer in the words of its example, also next to a main text of its own: it is asked once more. Words of
/// the question in such a place are no repetition.
#[tokio::test]
async fn c05_a_small_model_that_repeats_its_example_is_asked_again() {
    const QUESTION: &str = "Is the drink of the town taken every day of the week?";
    let with = |assumption: &str| {
        json!({ "answer": "A queue smooths the bursts.", "assumptions": [assumption] }).to_string()
    };
    for (assumption, ability, calls) in [
        ("The drink is taken every day.", Ability::Small, 2),
        ("The drink is taken every day.", Ability::Full, 1),
        ("The drink of the town is taken.", Ability::Small, 1),
    ] {
        let replies = [with(assumption), with("The load stays as it is.")];
        let model = Scripted::new(move |_: &Request, before| Ok(replies[before.min(1)].clone()));
        let rules = crate::protocols::dialectic::Rules::new(3, 5, 8).unwrap();
        let setup = setup_with(QUESTION, ability, &rules);
        let deps = deps(&model, Arc::<MemoryJournal>::default());
        let table = Table::open(setup, Budget::default(), deps).await.unwrap();
        let context = json!({ "question": QUESTION, "templates": [] });
        let ask: Ask<'_, Opening> = table.ask("proposer", "propose");
        let ask = ask.in_round(1).prompt("dialectic/propose", context);
        let turn = ask.send().await.unwrap().unwrap();
        assert_eq!((model.heard().len(), turn.remarks.len()), (calls, 0));
    }
}

/// A list item that still repeats the example in the second reply is left out, and the turn says so.
#[tokio::test]
async fn c05_an_item_that_repeats_the_example_twice_is_left_out() {
    let copied = "The drink is taken every day.";
    let own = "The load stays as it is.";
    let reply = json!({ "answer": "A queue smooths the bursts.", "assumptions": [copied, own] });
    let model = Scripted::new(move |_: &Request, _| Ok(reply.to_string()));
    let rules = crate::protocols::dialectic::Rules::new(3, 5, 8).unwrap();
    let setup = setup_with("Why?", Ability::Small, &rules);
    let deps = deps(&model, Arc::<MemoryJournal>::default());
    let table = Table::open(setup, Budget::default(), deps).await.unwrap();
    let context = json!({ "question": "Why?", "templates": [] });
    let ask: Ask<'_, Opening> = table.ask("proposer", "propose");
    let ask = ask.in_round(1).prompt("dialectic/propose", context);
    let turn = ask.send().await.unwrap().unwrap();
    assert_eq!(model.heard().len(), 2);
    assert_eq!(turn.reply.assumptions, [own]);
    let said = turn.remarks.join("\n");
    assert!(
        said.contains("left out because it repeats the example: 1"),
        "{said}"
    );
}

/// A small model that repeats its prompt is asked once more, with the same prompt and another seed: its reply and a reproach would
/// only be repeated too. A second parroted reply is kept with a remark. Other models are not checked.
#[tokio::test]
async fn c05_a_parroted_reply_of_a_small_model_is_sent_back_once() {
    const QUESTION: &str = "Should we put a queue in front of the database this year?";
    let parroted = json!({ "answer": QUESTION, "assumptions": [] }).to_string();
    let own =
        json!({ "answer": "A queue smooths the bursts of every morning.", "assumptions": [] });
    for (ability, second, calls, kept, remarks) in [
        (
            Ability::Small,
            own.to_string(),
            2,
            "A queue smooths the bursts of every morning.",
            0,
        ),
        (Ability::Small, parroted.clone(), 2, QUESTION, 1),
        (Ability::Full, own.to_string(), 1, QUESTION, 0),
    ] {
        let (first, second) = (parroted.clone(), second);
        let model = Scripted::new(move |_: &Request, before| {
            Ok(if before == 0 {
                first.clone()
            } else {
                second.clone()
            })
        });
        let rules = crate::protocols::dialectic::Rules::new(3, 5, 8).unwrap();
        let setup = setup_with(QUESTION, ability, &rules);
        let deps = deps(&model, Arc::<MemoryJournal>::default());
        let table = Table::open(setup, Budget::default(), deps).await.unwrap();
        let context = json!({ "question": QUESTION, "templates": [] });
        let ask: Ask<'_, Opening> = table.ask("proposer", "propose");
        let ask = ask.in_round(1).prompt("dialectic/propose", context);
        let turn = ask.send().await.unwrap().unwrap();
        assert_eq!(
            (turn.reply.answer.as_str(), turn.remarks.len()),
            (kept, remarks)
        );
        let heard = model.heard();
        assert_eq!(heard.len(), calls);
        if let [first, again] = heard.as_slice() {
            assert_eq!(first.messages, again.messages);
            assert_ne!(first.seed, again.seed);
        }
    }
}
