//! Debates for tests of the store.

use std::sync::Arc;

use roundtable_core::usage::{Money, Usage};
use roundtable_engine::cast::seating::Wishes;
use roundtable_engine::cast::{Part, Seat, Tier};
use roundtable_engine::event::{
    Call, End, Entry, Event, FailedStep, FinishedStep, Millis, Seated, Setup, Spent, State,
};
use roundtable_engine::journal::Keyed;
use roundtable_engine::model::Ability;
use roundtable_engine::table::Budget;
use serde_json::json;

use super::{AuditOutcome, AuditRecord, Via};

pub(super) fn setup(question: &str) -> Setup {
    Setup {
        protocol: "dialectic".into(),
        question: question.into(),
        seed: u64::MAX,
        seats: vec![Seated::new(
            Seat {
                persona: "You doubt.".into(),
                prefers: None,
                duty: None,
                bias_direction: None,
                evidence_preference: None,
                part: Part::Panel,
                anchor: None,
                team: None,
                stance: None,
                seating: Wishes::default(),
                name: "skeptic".into(),
                title: "Skeptic".into(),
                tier: Tier::Deliberate,
                temperature: 0.7,
                max_output_tokens: 2_000,
            },
            "lab:x",
            Ability::Full,
        )],
        rules: json!({ "rounds": [1, 3], "threshold": 0.1 }),
        budget: Budget::default(),
        embedder: None,
        program: "0.1.0".into(),
        notices: Vec::new(),
        depth: roundtable_engine::depth::Depth::Normal,
        estimate: None,
        parent: None,
    }
}

pub(super) fn spent(cost: Option<f64>) -> Spent {
    Spent {
        usage: Usage {
            input: 100,
            output: 20,
            cached: 60,
        },
        calls: 2,
        tool_turns: 0,
        retries: 1,
        latency_ms: 40,
        cost: cost.and_then(Money::from_dollars),
        estimated: false,
    }
}

fn call(step: &str, spent: Spent) -> Call {
    Call {
        step: step.into(),
        seat: "skeptic".into(),
        round: 1,
        model: "lab:x".into(),
        request: "5f".into(),
        started_at: 1_000,
        spent,
    }
}

pub(super) fn opened(question: &str) -> Event {
    Event::Opened(Arc::new(setup(question)))
}

pub(super) fn finished(step: &str, spent: Spent) -> Event {
    Event::StepFinished(Arc::new(FinishedStep {
        call: call(step, spent),
        // These must round-trip exactly.
        reply: json!({ "text": "né\u{0}\n\"so\"", "floats": [0.1, 1e-7, 2.225_073_858_507_201_4e-308, 0.3] }),
        text: "so".into(),
        remarks: vec!["too short".into()],
        withheld: Vec::new(),
        instead_of: None,
        rescued_by: None,
        reused: false,
        notices: Vec::new(),
    }))
}

pub(super) fn failed(step: &str, spent: Spent) -> Event {
    Event::StepFailed(Arc::new(FailedStep {
        call: call(step, spent),
        reason: "no JSON".into(),
        said: Some("hm".into()),
    }))
}

pub(super) fn ended(state: State) -> Event {
    Event::Ended(Arc::new(End {
        state,
        reason: None,
        result: Some(json!({ "answer": 42 })),
    }))
}

/// An entry of the first generation; its time is derived from its number.
pub(super) fn keyed(seq: u64, event: Event) -> Keyed {
    Keyed {
        key: event.key(0).expect("only announced"),
        entry: Entry {
            seq,
            at: at(seq),
            event,
        },
    }
}

pub(super) fn at(seq: u64) -> Millis {
    1_800_000_000_000 + seq
}

pub(super) fn entries(batch: &[Keyed]) -> Vec<Entry> {
    batch.iter().map(|keyed| keyed.entry.clone()).collect()
}

/// Polls an operation at most this often, then drops it, as a request is dropped when its client disconnects. Returns its
/// output if it was ready by then.
pub(crate) async fn dropped_after<T>(
    polls: usize,
    operation: impl Future<Output = T>,
) -> Option<T> {
    let mut operation = std::pin::pin!(operation);
    let mut left = polls;
    std::future::poll_fn(|context| {
        if left == 0 {
            return std::task::Poll::Ready(None);
        }
        left -= 1;
        operation.as_mut().poll(context).map(Some)
    })
    .await
}

pub(super) fn audit_record(action: &str) -> AuditRecord {
    AuditRecord {
        at: 1_800_000_000_000,
        who: Some("ada".into()),
        via: Via::Token,
        action: action.into(),
        subject: Some("bob".into()),
        outcome: AuditOutcome::Done,
        address: Some("127.0.0.1".into()),
        request_id: Some("r1".into()),
        detail: None,
    }
}
