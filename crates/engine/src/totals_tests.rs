use super::*;
use crate::event::Spent;

fn call(cost: Option<Money>, input: u64) -> Call {
    Call {
        step: "r1/a/b".into(),
        seat: "a".into(),
        round: 1,
        model: "x:y".into(),
        request: String::new(),
        started_at: 0,
        spent: Spent {
            usage: Usage {
                input,
                ..Usage::default()
            },
            calls: 1,
            cost,
            ..Spent::default()
        },
    }
}

/// C-11: one unknown price makes the sum unknown; it is never counted as zero.
#[test]
fn c11_an_unknown_price_makes_the_sum_unknown() {
    let mut sum = Sum::default();
    sum.add(&call(Money::from_dollars(0.5), 10));
    assert_eq!(sum.cost, Money::from_dollars(0.5));
    sum.add(&call(None, 0));
    assert_eq!(
        sum.cost,
        Money::from_dollars(0.5),
        "a call that used nothing costs nothing"
    );
    sum.add(&call(None, 1));
    assert_eq!(sum.cost, None);
}

/// C-11: a price that is unknown, or of which nothing is known yet, is never free.
#[test]
fn c11_only_answered_calls_can_be_free() {
    let half = Money::from_dollars(0.5);
    for (cost, tokens, shown) in [
        (None, 0, "price unknown"),
        (None, 10, "price unknown"),
        (Some(Money::ZERO), 0, "no cost"),
        (Some(Money::ZERO), 1, "free"),
        (half, 0, "$0.5000"),
    ] {
        assert_eq!(shown_cost(cost, tokens), shown);
    }
    let fact = compared_cost((None, 1200), (half, 4000));
    assert_eq!(
        fact.value,
        "price unknown (1,200 tokens) blind, $0.5000 (4,000 tokens) debated"
    );
}
