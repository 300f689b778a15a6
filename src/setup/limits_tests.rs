use std::sync::Arc;

use roundtable_core::usage::Usage;
use roundtable_engine::event::{Call, End, FailedStep, Spent, State};

use super::*;

fn tokens(limit: u64) -> Budget {
    Budget {
        max_tokens: Some(limit),
        ..Budget::default()
    }
}

fn dollars(limit: f64) -> Budget {
    Budget {
        max_cost: Money::from_dollars(limit),
        ..Budget::default()
    }
}

/// A debate that used 4,200 tokens, $0.03 and two seconds, and ended for this reason.
fn ended(stop_reason: &str) -> Vec<Entry> {
    let call = Call {
        step: "r1/skeptic/review".into(),
        seat: "skeptic".into(),
        round: 1,
        model: "lab:x".into(),
        request: String::new(),
        started_at: 1_000,
        spent: Spent {
            usage: Usage {
                input: 4_000,
                output: 200,
                cached: 0,
            },
            latency_ms: 2_000,
            cost: Money::from_dollars(0.03),
            ..Spent::default()
        },
    };
    let events = [
        Event::StepFailed(Arc::new(FailedStep {
            call,
            reason: String::new(),
            said: None,
        })),
        Event::Ended(Arc::new(End {
            state: State::Partial,
            reason: None,
            result: Some(json!({ "stop_reason": stop_reason })),
        })),
    ];
    let entries = (1..)
        .zip(events)
        .map(|(seq, event)| Entry { seq, at: 0, event });
    entries.collect()
}

/// C-19: the debate's own limits hold, a requested one replaces them, and the configured ones are never exceeded.
#[test]
fn c19_standing_limits_hold_on_resume() {
    let none = Budget::default();
    assert_eq!(resumed(tokens(10), none, none), tokens(10));
    assert_eq!(resumed(tokens(10), tokens(20), none), tokens(20));
    assert_eq!(resumed(tokens(10), tokens(20), tokens(15)), tokens(15));
    assert_eq!(resumed(none, none, tokens(15)), tokens(15));
    assert_eq!(resumed(tokens(10), none, tokens(15)), tokens(10));
    let both = resumed(tokens(10), dollars(1.0), none);
    assert_eq!(both, dollars(1.0).or(tokens(10)));
}

/// C-19: a requested limit above the configured one does not replace it.
#[test]
fn c19_a_wish_above_the_ceiling_changes_nothing() {
    let none = Budget::default();
    assert!(!has_new_limits(tokens(15), tokens(20), tokens(15)));
    assert!(has_new_limits(tokens(10), tokens(20), tokens(15)));
    assert!(!has_new_limits(tokens(10), none, tokens(15)));
    assert!(!has_new_limits(tokens(10), tokens(10), none));
}

/// C-19: a used-up limit names the commands that work; one token more is not used up.
#[test]
fn c19_a_used_up_limit_names_the_command_that_works() {
    let none = Budget::default();
    let past = ended("round_cap");
    let used_up = UsedUp::of(&past, tokens(4_200), none, false).unwrap();
    let sentence = "the limit of 4,200 tokens is used up (4,200 tokens used)";
    assert_eq!(used_up.sentence(), sentence);
    let command = "roundtable resume 3f2a --max-tokens-total 9000";
    assert_eq!(used_up.commands("3f2a"), [command]);
    assert_eq!(
        used_up.request().map(serde_json::Value::Object),
        Some(json!({ "max_tokens": 9_000 }))
    );
    assert_eq!(UsedUp::of(&past, tokens(4_201), none, false), None);

    let used_up = UsedUp::of(&past, dollars(0.02), none, false).unwrap();
    let command = "roundtable resume 3f2a --max-cost 0.06";
    assert_eq!(used_up.commands("3f2a"), [command]);
    let time = Budget {
        max_ms: Some(1_500),
        ..none
    };
    let used_up = UsedUp::of(&past, time, none, false).unwrap();
    let command = "roundtable resume 3f2a --timeout 4";
    assert_eq!(used_up.commands("3f2a"), [command]);
}

/// C-19: where the configuration is the ceiling, it has to be raised too.
#[test]
fn c19_a_configured_ceiling_has_to_be_raised_first() {
    let past = ended("budget");
    let used_up = UsedUp::of(&past, tokens(4_000), tokens(4_000), false).unwrap();
    assert_eq!(
        used_up.commands("3f2a"),
        [
            "roundtable config set limits.max_tokens_total 9000",
            "roundtable resume 3f2a --max-tokens-total 9000"
        ]
    );
    assert_eq!(used_up.request(), None);
    // A ceiling above what was used is the most that can be asked for.
    let used_up = UsedUp::of(&past, tokens(4_000), tokens(5_000), false).unwrap();
    let command = "roundtable resume 3f2a --max-tokens-total 5000";
    assert_eq!(used_up.commands("3f2a"), [command]);
}

/// Calls in flight count: a budget can end a debate just below its limit, and then a resume needs a higher one.
#[test]
fn c19_after_a_budget_stop_a_new_limit_is_needed() {
    let none = Budget::default();
    let past = ended("budget");
    assert!(UsedUp::of(&past, tokens(4_300), none, false).is_some());
    assert_eq!(UsedUp::of(&past, tokens(4_300), none, true), None);
    assert_eq!(UsedUp::of(&past, none, none, false), None);
    let open = [
        past,
        vec![Entry {
            seq: 3,
            at: 0,
            event: Event::Reopened {
                generation: 1,
                from: None,
            },
        }],
    ];
    assert_eq!(UsedUp::of(&open.concat(), tokens(1), none, false), None);
}

/// C-19: the configured limit that holds is named.
#[test]
fn c19_a_lowered_limit_is_named() {
    let note = "--max-tokens-total: the configured limit of 1,000 tokens holds (limits.max_tokens_total), not 5,000 tokens.";
    assert_eq!(lowered(tokens(5_000), tokens(1_000)), [note]);
    assert!(lowered(tokens(1_000), tokens(1_000)).is_empty());
    assert!(lowered(Budget::default(), tokens(1_000)).is_empty());
}

/// C-19: calls at an unknown price cannot be counted against a cost limit; a call that was never answered costs nothing.
#[test]
fn c19_an_unknown_cost_so_far_is_noticed() {
    let with = |cost: Option<Money>, input: u64| {
        let mut past = ended("budget");
        if let Event::StepFailed(step) = &mut past[0].event {
            let step = Arc::make_mut(step);
            step.call.spent.cost = cost;
            step.call.spent.usage = Usage {
                input,
                ..Usage::default()
            };
        }
        has_unknown_cost(&past)
    };
    assert!(with(None, 1));
    assert!(!with(None, 0));
    assert!(!with(Some(Money::ZERO), 1));
}
