use super::*;

fn spent(tokens: u64, dollars: f64) -> Spent {
    Spent {
        usage: Usage {
            input: tokens,
            ..Usage::default()
        },
        cost: Money::from_dollars(dollars),
        ..Spent::default()
    }
}

/// C-07: at the limit no further call starts; one token below it does.
#[test]
fn c07_a_call_starts_only_below_the_limits() {
    let budget_tracker = BudgetTracker::new(Budget {
        max_tokens: Some(100),
        max_cost: Money::from_dollars(1.0),
        max_ms: None,
    });
    budget_tracker.add(&spent(99, 0.99));
    assert!(budget_tracker.admit(0, None).is_ok());
    budget_tracker.add(&spent(1, 0.0));
    assert_eq!(
        budget_tracker.admit(0, None).unwrap_err(),
        Exhausted::Tokens {
            limit: 100,
            spent: 100
        }
    );

    let budget_tracker = BudgetTracker::new(Budget {
        max_cost: Money::from_dollars(1.0),
        ..Budget::default()
    });
    budget_tracker.add(&spent(5, 1.0));
    assert!(matches!(
        budget_tracker.admit(0, None),
        Err(Exhausted::Cost { .. })
    ));
}

/// C-07: reservations of concurrent calls count.
#[test]
fn c07_a_call_in_flight_counts_until_it_is_settled() {
    let budget_tracker = BudgetTracker::new(Budget {
        max_tokens: Some(100),
        ..Budget::default()
    });
    let first = budget_tracker.admit(99, None).unwrap();
    assert!(budget_tracker.admit(1, None).is_err());
    budget_tracker.settle(first, &spent(40, 0.0));
    assert!(budget_tracker.admit(1, None).is_ok());
}

/// C-07: a call whose prompt alone reaches the limit does not start, so that the limit is exceeded by a reply at most.
#[test]
fn c07_a_prompt_must_fit_into_what_is_left() {
    let tracker = BudgetTracker::new(Budget {
        max_tokens: Some(300),
        max_cost: Money::from_dollars(1.0),
        max_ms: None,
    });
    let refused = tracker.admit(300, None).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the limit of 300 tokens has no room for the next call (0 used)"
    );
    assert!(tracker.admit(299, None).is_ok());
    let price = Price {
        input: 10_000.0,
        output: 0.0,
        cached: None,
    };
    let tracker = BudgetTracker::new(Budget {
        max_cost: Money::from_dollars(1.0),
        ..Budget::default()
    });
    assert!(tracker.admit(100, Some(&price)).is_err());
    assert!(tracker.admit(99, Some(&price)).is_ok());
}

/// C-07: for a call in flight, a reply as long as the mean of those before is reserved.
#[test]
fn c07_expected_replies_of_calls_in_flight_count() {
    let tracker = BudgetTracker::new(Budget {
        max_tokens: Some(100),
        ..Budget::default()
    });
    tracker.add(&Spent {
        calls: 2,
        usage: Usage {
            output: 40,
            ..Usage::default()
        },
        ..Spent::default()
    });
    let _in_flight = tracker.admit(10, None).unwrap();
    // 40 spent, 10 and 20 in flight.
    assert!(tracker.admit(30, None).is_err());
    assert!(tracker.admit(29, None).is_ok());
}

#[test]
fn the_deadline_counts_what_earlier_runs_used() {
    let budget_tracker = BudgetTracker::new(Budget {
        max_ms: Some(1000),
        ..Budget::default()
    });
    assert_eq!(budget_tracker.deadline(50_000, 400), Some(50_600));
    assert_eq!(budget_tracker.deadline(50_000, 4000), Some(50_000));
    let unlimited = BudgetTracker::new(Budget {
        max_ms: Some(u64::MAX),
        ..Budget::default()
    });
    assert_eq!(unlimited.deadline(50_000, 0), Some(u64::MAX));
}
