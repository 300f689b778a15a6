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
