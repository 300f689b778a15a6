use super::*;

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "{found} is not {expected}");
}

fn rounds(changed: usize, played: usize) -> Rounds {
    Rounds { played, changed }
}

/// B-10: the worked examples of the estimator.
#[test]
fn b10_the_chance_of_a_change_lies_between_prior_and_record() {
    near(chance_of_change(Unity::Divided, rounds(0, 0)).mean, 0.25);
    let some = chance_of_change(Unity::Divided, rounds(3, 12));
    near(some.mean, 0.25);
    near(some.low, 0.097_163);
    near(some.high, 0.445_703);
    near(
        chance_of_change(Unity::Unanimous, rounds(0, 40)).mean,
        0.001,
    );
    near(
        chance_of_change(Unity::Leaning, rounds(1, 5)).mean,
        0.166_667,
    );
}

/// B-10: bounds of the bands, on both sides.
#[test]
fn b10_unity_is_the_share_of_the_leading_answer() {
    for (leading, seats, unity) in [
        (2, 5, Some(Unity::Scattered)),
        (41, 100, Some(Unity::Divided)),
        (3, 5, Some(Unity::Divided)),
        (61, 100, Some(Unity::Leaning)),
        (4, 5, Some(Unity::Leaning)),
        (81, 100, Some(Unity::AlmostUnanimous)),
        (6, 7, Some(Unity::AlmostUnanimous)),
        (1, 1, Some(Unity::Unanimous)),
        (5, 5, Some(Unity::Unanimous)),
        (0, 0, None),
        (6, 5, None),
    ] {
        assert_eq!(Unity::of(leading, seats), unity, "{leading} of {seats}");
    }
}

/// B-10: the worked examples of the efficiency of movement.
#[test]
fn b10_movement_is_worth_what_it_gained() {
    let movements = [(0.04, 0.010), (0.09, -0.020), (0.01, 0.004)]
        .map(|(squared, gain)| Movement { squared, gain });
    let efficiency = efficiency(&movements);
    near(efficiency, -0.017_647);
    near(next_movement(0.03), 0.0138);
    near(efficiency * next_movement(0.03), -0.000_244);
    assert!(super::efficiency(&[]).to_bits() == 0.0_f64.to_bits());
}

/// B-10: for two outcomes the gain is 2Δ(y − p₁) + Δ², exactly.
#[test]
fn b10_the_gain_of_a_movement_is_the_fall_of_the_brier_score() {
    for (before, after, outcome) in [(0.4, 0.7, 1.0), (0.4, 0.7, 0.0), (0.9, 0.2, 1.0)] {
        let index = usize::from(outcome < 0.5);
        let movement = Movement::of(&[before, 1.0 - before], &[after, 1.0 - after], index);
        let movement = movement.expect("two outcomes");
        let step: f64 = after - before;
        near(movement.squared, step.powi(2));
        near(movement.gain, 2.0 * step * (outcome - after) + step.powi(2));
    }
    assert_eq!(Movement::of(&[0.5, 0.5], &[1.0], 0), None);
    assert_eq!(Movement::of(&[0.5, 0.5], &[0.4, 0.6], 2), None);
}

/// B-10: both thresholds, on both sides.
#[test]
fn b10_a_round_is_played_if_its_chance_and_its_price_allow() {
    let by_chance = Threshold::default();
    assert!(is_worth_playing(0.05, 0.0, Some(1.0), &by_chance));
    assert!(!is_worth_playing(0.0499, 1.0, None, &by_chance));
    let by_price = Threshold {
        worth: Some(10.0),
        ..by_chance
    };
    assert!(is_worth_playing(0.2, 0.5, Some(1.0), &by_price));
    assert!(!is_worth_playing(0.2, 0.5, Some(1.01), &by_price));
    assert!(!is_worth_playing(0.2, -0.5, Some(0.01), &by_price));
    assert!(is_worth_playing(0.2, -0.5, None, &by_price));
}

fn leading(supporters: usize, seats: usize) -> Leading {
    Leading {
        answer: "Use a queue".into(),
        supporters,
        seats,
    }
}

fn price(cost: f64) -> RoundPrice {
    RoundPrice {
        tokens: 6200,
        cost: Some(cost),
    }
}

/// B-10: the leading answer is that of most seats, on a tie the first; seats without an answer count.
#[test]
fn b10_the_leading_answer_is_that_of_most_seats() {
    let found = Leading::of(["Wait", "Use a queue", "use a queue!", "Buy"], 5);
    assert_eq!(
        found.map(|l| (l.answer, l.supporters, l.seats)),
        Some(("Use a queue".into(), 2, 5))
    );
    let tie = Leading::of(["Wait", "Buy"], 2).map(|leading| leading.answer);
    assert_eq!(tie.as_deref(), Some("Wait"));
    assert_eq!(Leading::of([], 3), None);
}

/// B-10: every round but the last is counted, by how united it was.
#[test]
fn b10_the_record_counts_rounds_that_changed_the_leading_answer() {
    let other = Leading {
        answer: "Wait".into(),
        ..leading(4, 5)
    };
    let debates = [
        vec![leading(3, 5), other.clone(), other],
        vec![leading(3, 5), leading(5, 5)],
        vec![leading(5, 5)],
    ];
    let record = record(&debates);
    assert_eq!(record.get(&Unity::Divided), Some(&rounds(1, 2)));
    assert_eq!(record.get(&Unity::Leaning), Some(&rounds(0, 1)));
    assert_eq!(record.len(), 2);
}

/// B-10: three of five agree, so another round changes the answer with 25%: it is worth a quarter of the price that the user set.
#[test]
fn b10_a_debate_stops_when_a_change_costs_more_than_it_is_worth() {
    let none = Record::new();
    for (cost, max_price, stops) in [
        (0.25, Some(1.0), false),
        (0.26, Some(1.0), true),
        (0.26, None, false),
        (0.0, Some(0.0), false),
    ] {
        let value = of_answers(leading(3, 5), &none, price(cost), max_price).unwrap();
        assert_eq!(value.stops, stops, "{cost}");
        assert_eq!(value.cost_per_change, Some(cost / 0.25));
    }
    let unknown = RoundPrice {
        tokens: 1,
        cost: None,
    };
    let value = of_answers(leading(3, 5), &none, unknown, Some(1.0)).unwrap();
    assert_eq!((value.stops, value.cost_per_change), (false, None));
}

/// B-10: a unanimous panel stops at any price, but only if the user asked for it.
#[test]
fn b10_a_unanimous_panel_stops() {
    let none = Record::new();
    let stops = |seats, max_price| {
        let value = of_answers(leading(4, seats), &none, price(0.0), max_price);
        value.unwrap().stops
    };
    assert!(stops(4, Some(100.0)));
    assert!(!stops(5, Some(100.0)));
    assert!(!stops(4, None));
}

/// B-10: with copies of one model, movement is not known to be worth anything; with several families it is.
#[test]
fn b10_movement_is_worth_something_with_several_families() {
    near(efficiency_of(1, &[]), 0.0);
    near(efficiency_of(2, &[]), 1.0);
    // Moves .04 .09 .01 with gains .010 −.020 .004.
    let movements = [(0.04, 0.010), (0.09, -0.020), (0.01, 0.004)]
        .map(|(squared, gain)| Movement { squared, gain });
    near(efficiency_of(1, &movements), -0.017_647);
    near(efficiency_of(3, &movements), 0.194 / 0.34);
    let none = Record::new();
    let value = |last, families| {
        let moved = (last, efficiency_of(families, &[]));
        of_movement(leading(5, 5), &none, moved, price(0.05), Some(1.0)).unwrap()
    };
    near(value(None, 2).expected_change, 0.005_f64.sqrt());
    near(value(Some(0.03), 2).expected_change, 0.0138_f64.sqrt());
    assert!(
        !value(Some(0.03), 2).stops,
        "a move of 11.7% is worth 5 cents"
    );
    assert!(value(Some(0.0001), 2).stops);
    assert!(value(Some(0.03), 1).stops, "copies of one model");
    near(squared_movement(&[0.7, 0.3], &[0.6, 0.4]), 0.01);
}

#[test]
fn b10_the_value_is_told_in_words() {
    let value = of_answers(leading(3, 5), &Record::new(), price(0.04), Some(0.1)).unwrap();
    assert_eq!(
        value.to_text(),
        "3 of 5 give the leading answer; another round would change it with probability 25% (95% 5% to 54%); it costs about 6,200 \
         tokens, $0.0400. It is not worth it"
    );
    assert_eq!(
        value.stop_text(2),
        "another round was not worth its price: it would have changed the leading answer with probability 25% (95% 5% to 54%). \
         Saved: up to 2 rounds, about 12,400 tokens, $0.0800"
    );
}
