use std::sync::Arc;

use serde_json::json;

use crate::budget::Budget;
use crate::event::Event;
use crate::journal::{Journal, MemoryJournal};
use crate::model::{Delta, Deltas, Finish, Instead, Model, ModelError, Request};
use crate::protocols::dialectic::Opening;
use crate::scripted::{Dying, Scripted, deps, entries, setup};
use crate::table::{FastModel, SeatModel, Table, TableDeps, Turn};
use crate::transcript::Transcript;
use roundtable_core::usage::{Money, Price, Usage};

const PROSE: &str =
    "I would use a queue. That takes for granted that writes come in 40 bursts a day.";

fn reply(answer: &str) -> String {
    json!({ "answer": answer, "assumptions": ["writes come in 40 bursts a day"] }).to_string()
}

/// A model of the fast tier that replies with this, at ten times the price of the seat's.
fn fast(text: String) -> (Arc<Scripted>, FastModel) {
    let model = Scripted::new(move |_: &Request, _| Ok(text.clone()));
    let price = Some(Price {
        input: 10.0,
        output: 20.0,
        cached: None,
    });
    let fast = FastModel {
        name: "test:fast".into(),
        seat_model: SeatModel {
            model: Arc::clone(&model) as Arc<dyn Model>,
            price,
        },
    };
    (model, fast)
}

fn seat(replies: &[&str]) -> Arc<Scripted> {
    let replies: Vec<String> = replies.iter().map(|&text| text.to_owned()).collect();
    Scripted::new(move |_: &Request, before| match replies.get(before) {
        Some(text) => Ok(text.clone()),
        None => Err(ModelError::Unreachable {
            detail: "gone".into(),
        }),
    })
}

fn deps_with(
    model: &Arc<Scripted>,
    journal: Arc<dyn Journal>,
    fast_model: Option<FastModel>,
) -> TableDeps {
    TableDeps {
        fast_model,
        ..deps(model, journal)
    }
}

async fn ask(deps: TableDeps, budget: Budget) -> Option<Turn<Opening>> {
    let table = Table::open(setup("Why?"), budget, deps).await.unwrap();
    let ask = table.ask::<Opening>("proposer", "propose").in_round(1);
    let context = json!({ "question": "Why?", "templates": [] });
    ask.prompt("dialectic/propose", context)
        .send()
        .await
        .unwrap()
}

async fn asked(
    replies: &[&str],
    fast_model: Option<FastModel>,
) -> (Arc<MemoryJournal>, Arc<Scripted>, Option<Turn<Opening>>) {
    let (journal, model) = (Arc::<MemoryJournal>::default(), seat(replies));
    let deps = deps_with(&model, Arc::clone(&journal) as _, fast_model);
    let turn = ask(deps, Budget::default()).await;
    (journal, model, turn)
}

fn keys(journal: &MemoryJournal) -> Vec<String> {
    journal.keyed().into_iter().map(|keyed| keyed.key).collect()
}

fn failure(journal: &MemoryJournal) -> String {
    let failed = journal.keyed().pop().unwrap().entry.event;
    failed.failed().unwrap().reason.clone()
}

/// C-05: after two replies in prose, a model of the fast tier puts the words into the schema. The turn says so, and the call is
/// paid for at its own price.
#[tokio::test]
async fn c05_prose_twice_is_put_into_the_schema_by_the_fast_tier() {
    let (clerk, fast) = fast(reply("I would use a queue."));
    let (journal, model, turn) = asked(&[PROSE, PROSE], Some(fast)).await;
    assert_eq!(turn.unwrap().reply.answer, "I would use a queue.");
    assert_eq!((model.heard().len(), clerk.heard().len()), (2, 1));
    let request = &clerk.heard()[0];
    assert!(request.messages[0].text.contains(PROSE));
    assert_eq!(request.schema, model.heard()[0].schema);
    assert_eq!(request.model, "fast");

    let entries = entries(&journal);
    let step = entries.last().unwrap().event.finished().unwrap().clone();
    assert_eq!(step.rescued_by.as_deref(), Some("test:fast"));
    assert_eq!(step.call.model, "test:scripted");
    assert_eq!(
        (step.call.spent.calls, step.call.spent.usage.input),
        (3, 300)
    );
    // 280 µ$ for the two calls of the seat, 1,400 µ$ for the third.
    assert_eq!(step.call.spent.cost, Money::from_dollars(0.001_68));
    let transcript = Transcript::of("d", &entries).unwrap();
    let turn = transcript.turn("r1/proposer/propose").unwrap();
    assert_eq!(turn.rescued_by.as_deref(), Some("test:fast"));
    let shown = serde_json::to_string(turn).unwrap();
    assert!(shown.contains("Put into the required form by test:fast."));
    let report = format!("{:?}", crate::protocols::report(&entries).sections);
    assert!(report.contains("the proposer in round 1"), "{report}");
    let record = crate::protocols::record("d", String::new(), &entries).unwrap();
    assert_eq!(record["rescued"][0]["by"], "test:fast");
}

/// C-05: without a fast tier the seat's own model does it.
#[tokio::test]
async fn c05_without_a_fast_tier_the_seats_own_model_puts_it_into_the_schema() {
    let good = reply("I would use a queue.");
    let (journal, model, turn) = asked(&[PROSE, PROSE, &good], None).await;
    assert!(turn.is_some());
    assert_eq!(model.heard().len(), 3);
    let finished = journal.keyed().pop().unwrap().entry.event;
    let by = finished.finished().unwrap().rescued_by.clone();
    assert_eq!(by.as_deref(), Some("test:scripted"));
}

/// C-05: anything that the seat has not said is refused, and the step fails.
#[tokio::test]
async fn c05_a_rescue_that_adds_something_fails_the_step() {
    for answer in ["I would use a queue 41 bursts.", "I would not use a queue."] {
        let (_, fast) = fast(reply(answer));
        let (journal, _, turn) = asked(&[PROSE, PROSE], Some(fast)).await;
        assert!(turn.is_none(), "{answer}");
        let reason = failure(&journal);
        assert!(
            reason.contains("test:fast could not put it into the required form: it added"),
            "{reason}"
        );
        let failed = journal.keyed().pop().unwrap().entry.event;
        assert_eq!(failed.call().unwrap().spent.calls, 3);
    }
}

/// C-05: a rescue in another form is requested once more, then the step fails; so does a seat that said nothing.
#[tokio::test]
async fn c05_a_rescue_in_prose_or_of_nothing_fails_the_step() {
    let (clerk, fast) = fast("I cannot.".into());
    let (journal, _, turn) = asked(&[PROSE, PROSE], Some(fast.clone())).await;
    assert!(turn.is_none());
    assert_eq!(clerk.heard().len(), 2);
    assert!(failure(&journal).contains("prose instead of the required form"));
    let (_, _, turn) = asked(&["", ""], Some(fast)).await;
    assert!(turn.is_none());
    assert_eq!(clerk.heard().len(), 2);
}

/// C-05: the first reply is rescued if the second call fails.
#[tokio::test]
async fn c05_the_first_reply_is_rescued_if_the_second_call_fails() {
    let (_, fast) = fast(reply("I would use a queue."));
    let (_, _, turn) = asked(&[PROSE], Some(fast)).await;
    assert!(turn.is_some());
}

/// Replies in prose, 5,000 tokens each.
struct Costly;

impl Model for Costly {
    fn stream(&self, _: Request) -> Deltas {
        let usage = Usage {
            input: 5000,
            ..Usage::default()
        };
        let deltas = [
            Delta::Text(PROSE.into()),
            Delta::Usage(usage),
            Delta::Finish(Finish::Stop),
        ];
        Box::pin(futures::stream::iter(deltas.map(Ok)))
    }
}

/// C-07: with the budget spent there is no rescue.
#[tokio::test]
async fn c07_a_rescue_respects_the_budget() {
    for (limit, is_rescued) in [(10_000, false), (10_001, true)] {
        let (_, fast) = fast(reply("I would use a queue."));
        let journal = Arc::<MemoryJournal>::default();
        let mut deps = deps_with(&seat(&[]), journal, Some(fast));
        for seat_model in deps.seat_models.values_mut() {
            seat_model.model = Arc::new(Costly);
        }
        let budget = Budget {
            max_tokens: Some(limit),
            ..Budget::default()
        };
        assert_eq!(ask(deps, budget).await.is_some(), is_rescued, "{limit}");
    }
}

/// C-08: answered calls that were sent back are in the journal before the next call. A process killed in the third call repeats
/// neither of the first two, and their usage is in the totals.
#[tokio::test]
async fn c08_replies_that_were_sent_back_are_not_asked_for_again() {
    for (dies_after, asked_again) in [(2, 1), (3, 0)] {
        let journal = Arc::<MemoryJournal>::default();
        let (_, fast) = fast(reply("I would use a queue."));
        let first = seat(&[PROSE, PROSE]);
        let (dying, dead) = Dying::after(dies_after, &journal);
        let deps = deps_with(&first, Arc::new(dying), Some(fast.clone()));
        tokio::select! {
            _ = ask(deps, Budget::default()) => panic!("it must not finish"),
            () = dead.notified() => {}
        }
        let second = seat(&[PROSE]);
        let deps = deps_with(&second, Arc::clone(&journal) as _, Some(fast));
        assert!(ask(deps, Budget::default()).await.is_some());
        assert_eq!(second.heard().len(), asked_again);
        assert_eq!(
            keys(&journal),
            [
                "opened",
                "r1/proposer/propose/sent-back",
                "r1/proposer/propose/sent-back-2",
                "r1/proposer/propose"
            ]
        );
        let Event::StepFinished(step) = journal.keyed().pop().unwrap().entry.event else {
            panic!("not finished")
        };
        assert_eq!(
            (step.call.spent.calls, step.call.spent.usage.input),
            (3, 300)
        );
        if asked_again == 1 {
            // The retry quotes the first reply as the journal has it.
            assert!(second.heard()[0].messages.iter().any(|m| m.text == PROSE));
        }
    }
}

/// A fallback model that answers with prose, at ten times the price of the seat's model.
struct Elsewhere;

impl Model for Elsewhere {
    fn stream(&self, _: Request) -> Deltas {
        let instead = Instead {
            model: "spare:y".into(),
            because: "test:scripted: gone".into(),
            price: Some(Price {
                input: 10.0,
                output: 20.0,
                cached: None,
            }),
        };
        let usage = Usage {
            input: 100,
            output: 20,
            cached: 0,
        };
        let deltas = [
            Delta::Instead(Box::new(instead)),
            Delta::Text(PROSE.into()),
            Delta::Usage(usage),
            Delta::Finish(Finish::Stop),
        ];
        Box::pin(futures::stream::iter(deltas.map(Ok)))
    }
}

/// C-08, C-11: replies of a fallback model that were sent back before a kill are paid for at its price, and it is named.
#[tokio::test]
async fn c11_a_fallback_is_priced_as_itself_after_a_kill() {
    let elsewhere = |mut deps: TableDeps| {
        for seat_model in deps.seat_models.values_mut() {
            seat_model.model = Arc::new(Elsewhere);
        }
        deps
    };
    let finished = |journal: &MemoryJournal| {
        let event = journal.keyed().pop().unwrap().entry.event;
        event.finished().unwrap().clone()
    };
    let (_, fast) = fast(reply("I would use a queue."));
    let journal = Arc::<MemoryJournal>::default();
    let deps = deps_with(&seat(&[]), Arc::clone(&journal) as _, Some(fast.clone()));
    ask(elsewhere(deps), Budget::default()).await;
    let whole = finished(&journal);
    // 1,400 µ$ for each of the three calls.
    assert_eq!(whole.call.spent.cost, Money::from_dollars(0.0042));
    for dies_after in [2, 3] {
        let journal = Arc::<MemoryJournal>::default();
        let (dying, dead) = Dying::after(dies_after, &journal);
        let deps = deps_with(&seat(&[]), Arc::new(dying), Some(fast.clone()));
        tokio::select! {
            _ = ask(elsewhere(deps), Budget::default()) => panic!("it must not finish"),
            () = dead.notified() => {}
        }
        let deps = deps_with(&seat(&[]), Arc::clone(&journal) as _, Some(fast.clone()));
        ask(elsewhere(deps), Budget::default()).await;
        let step = finished(&journal);
        assert_eq!(step.call.spent.cost, whole.call.spent.cost, "{dies_after}");
        assert_eq!(
            (&step.call.model, &step.instead_of),
            (&whole.call.model, &whole.instead_of)
        );
    }
}
