use super::*;

fn size(prompt: u64, reply: u64) -> SeatSize {
    SeatSize {
        prompt,
        max_prompt: 10_000,
        reply,
        price: Some(Price {
            input: 1.0,
            output: 10.0,
            cached: None,
        }),
        tokens_per_second: None,
    }
}

fn stages() -> Vec<Stage> {
    vec![
        vec![PlannedCall::new("a", 0), PlannedCall::new("b", 0)],
        vec![PlannedCall::new("a", 2)],
    ]
}

fn estimated(calls: f64) -> Amounts {
    Amounts {
        calls,
        tokens: 1000.0 * calls,
        cost: None,
        seconds: calls,
    }
}

/// Debates that used `ratio` times what was estimated.
fn debates(ratios: impl IntoIterator<Item = f64>) -> Vec<(Amounts, Amounts)> {
    let truth = |ratio: f64| (estimated(10.0), estimated(10.0 * ratio));
    ratios.into_iter().map(truth).collect()
}

#[test]
fn b13_calls_add_up_and_parallel_calls_take_as_long_as_the_slowest() {
    let sizes = |seat: &str| {
        if seat == "a" {
            size(100, 60)
        } else {
            size(200, 600)
        }
    };
    let sum = amounts(&stages(), sizes);
    // Input 100 + 200 + (100 + 2 · 60), output 60 + 600 + 60.
    assert_eq!((sum.calls, sum.tokens), (3.0, 520.0 + 720.0));
    assert_eq!(sum.cost, Some(0.00772));
    // 1.5 s + 600 / 60, then 1.5 s + 60 / 60.
    assert_eq!(Some(sum.seconds), Some(11.5 + 2.5));
}

/// Two seats on one machine share its speed; a hosted seat next to them does not wait.
#[test]
fn b13_parallel_calls_on_one_machine_add_up() {
    let sum = |is_local: fn(&str) -> bool| {
        let sizes = |seat: &str| SeatSize {
            tokens_per_second: is_local(seat).then_some(10.0),
            ..size(100, 60)
        };
        amounts(&stages(), sizes).seconds
    };
    // 2 · (1.5 s + 60 / 10), then 1.5 s + 60 / 10.
    assert_eq!(Some(sum(|_| true)), Some(15.0 + 7.5));
    assert_eq!(Some(sum(|seat| seat == "a")), Some(7.5 + 7.5));
    assert_eq!(Some(sum(|_| false)), Some(2.5 + 2.5));
}

#[test]
fn b13_one_unknown_price_makes_the_cost_unknown() {
    let sum = amounts(&stages(), |seat| SeatSize {
        price: size(1, 1).price.filter(|_| seat == "a"),
        ..size(1, 1)
    });
    assert_eq!(sum.cost, None);
}

#[test]
fn b13_a_prompt_is_no_longer_than_its_limit() {
    let sum = amounts(&stages(), |_| SeatSize {
        max_prompt: 150,
        ..size(100, 60)
    });
    assert_eq!(Some(sum.tokens), Some(100.0 + 100.0 + 150.0 + 3.0 * 60.0));
}

/// B-13: nine debates are too few, ten are enough.
#[test]
fn b13_the_prior_holds_until_there_are_ten_debates() {
    let nine = Ratios::of(&debates((1..=9).map(f64::from)));
    let range = ranges(&estimated(10.0), &nine).calls;
    assert_eq!((range.low, range.expected, range.high), (4.0, 10.0, 25.0));
    assert_eq!(nine.debates(), 0);
    let ten = Ratios::of(&debates((1..=10).map(f64::from)));
    let range = ranges(&estimated(10.0), &ten).calls;
    assert_eq!((range.low, range.expected, range.high), (10.0, 60.0, 100.0));
    assert_eq!(ten.debates(), 10);
}

/// B-13: of 50 debates, five are left out on either side.
#[test]
fn b13_a_range_leaves_a_tenth_out_on_either_side() {
    let fifty = Ratios::of(&debates((1..=50).map(|n| f64::from(n) / 10.0)));
    let range = ranges(&estimated(10.0), &fifty).calls;
    assert_eq!((range.low, range.high), (5.0, 46.0));
}

#[test]
fn b13_unknown_costs_have_no_range_and_no_verdict() {
    let known = Amounts {
        cost: Some(0.5),
        ..estimated(10.0)
    };
    let of_prior = ranges(&known, &Ratios::default());
    assert_eq!(of_prior.cost.map(|range| range.high), Some(1.25));
    assert_eq!(of_prior.inside(&estimated(10.0)).cost, None);
    assert_eq!(of_prior.inside(&known).cost, Some(true));
    assert_eq!(ranges(&estimated(10.0), &Ratios::default()).cost, None);
}

/// Both ends of a range are inside.
#[test]
fn b13_the_ends_of_a_range_are_inside() {
    let range = ranges(&estimated(10.0), &Ratios::default());
    for (calls, is_inside) in [(3.0, false), (4.0, true), (25.0, true), (26.0, false)] {
        let truth = Amounts {
            calls,
            ..estimated(10.0)
        };
        assert_eq!(range.inside(&truth).calls, is_inside, "{calls}");
    }
}

/// B-13: ratios of a skewed distribution; after the tenth debate each range is made from those before it.
#[test]
#[expect(clippy::cast_precision_loss, reason = "a share of few debates")]
fn b13_later_debates_fall_inside_as_often_as_promised() {
    let mut state = 7_u64;
    let mut uniform = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        f64::from(u32::try_from(state >> 33).unwrap_or(0)) / f64::from(1_u32 << 31)
    };
    let truths: Vec<f64> = (0..2000)
        .map(|_| (2.0 * uniform() - 1.0).exp() * (1.0 + uniform()))
        .collect();
    let inside = (MIN_SAMPLE..truths.len()).filter(|&index| {
        let past = truths[index.saturating_sub(SAMPLE)..index].iter().copied();
        let range = ranges(&estimated(10.0), &Ratios::of(&debates(past))).tokens;
        range.contains(10_000.0 * truths[index])
    });
    let share = inside.count() as f64 / (truths.len() - MIN_SAMPLE) as f64;
    assert!((0.80..0.87).contains(&share), "{share}");
}

/// B-13: a retrieved text is read once, by the first call of the usual course.
#[test]
fn b13_a_retrieved_text_is_read_by_the_first_call() {
    let stages = vec![
        vec![PlannedCall::new("proposer", 0)],
        vec![PlannedCall::new("proposer", 0)],
    ];
    let outline = Outline::fixed(stages);
    let with = outline.clone().retrieving(300);
    let size = |_: &str| SeatSize {
        prompt: 100,
        max_prompt: 1_000,
        reply: 10,
        price: None,
        tokens_per_second: None,
    };
    let tokens = |stages: &[Stage]| amounts(stages, size).tokens;
    let added = tokens(&with.likely) - tokens(&outline.likely);
    assert!((added - 300.0).abs() < 1e-9, "{added}");
    assert_eq!(with.least, outline.least);
}
