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
