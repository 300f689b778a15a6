use super::*;

fn dollars(amount: f64) -> Money {
    Money::from_dollars(amount).unwrap()
}

fn limits(cost: Option<f64>, running: Option<u32>) -> TokenLimits {
    TokenLimits {
        max_cost_per_day: cost.map(dollars),
        max_running: running,
        models: Vec::new(),
    }
}

/// Ten seconds before the end of a day.
const NOW: Millis = 20_000 * DAY_MS + DAY_MS - 10_000;

#[test]
fn what_is_left_of_the_day_is_neither_spent_nor_reserved() {
    let spending = Spending {
        spent: dollars(1.0),
        reserved: dollars(2.0),
        running: 2,
    };
    let left = |limits: TokenLimits| left_of(&limits, spending, NOW);
    assert_eq!(left(limits(None, None)).unwrap(), None);
    let five = left(limits(Some(5.0), Some(3))).unwrap();
    assert_eq!(five, Some(dollars(2.0)));
    let just_enough = left(limits(Some(3.001), None)).unwrap();
    assert_eq!(just_enough, Some(dollars(0.001)));
    for (refused, retry) in [
        (limits(Some(3.0), None), "10"),
        (limits(Some(5.0), Some(2)), "10"),
    ] {
        let problem = left(refused).unwrap_err();
        assert_eq!(problem.status(), StatusCode::TOO_MANY_REQUESTS);
        let reply = problem.render("r");
        assert_eq!(reply.headers()[header::RETRY_AFTER], retry);
    }
    // With nothing reserved, only the next day helps.
    let spent = Spending {
        spent: dollars(5.0),
        ..Spending::default()
    };
    let problem = left_of(&limits(Some(5.0), None), spent, NOW).unwrap_err();
    let reply = problem.render("r");
    assert_eq!(reply.headers()[header::RETRY_AFTER], "11");
    assert!(
        problem.detail().contains("2024-10-05"),
        "{}",
        problem.detail()
    );
}

/// C-19: the calls of a client that start no debate are limited too.
#[test]
fn c19_calls_outside_of_debates_are_limited() {
    let quotas = Quotas::default();
    let mut turns: Vec<_> = (0..MAX_CALLS_OUTSIDE)
        .map(|_| quotas.take_turn_outside().unwrap())
        .collect();
    let refused = quotas.take_turn_outside().unwrap_err();
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    turns.pop();
    assert!(quotas.take_turn_outside().is_ok());
}
