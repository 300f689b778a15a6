use proptest::prelude::*;

use super::*;

/// F-08: numbers that cannot be normalised are rejected with the reason; percentages are never guessed.
#[test]
fn f08_invalid_numbers_are_rejected_with_the_reason() {
    let cases: [(&[f64], DistributionError); 8] = [
        (&[], DistributionError::Empty),
        (&[0.0, 0.0], DistributionError::ZeroSum),
        (&[0.5, f64::NAN], DistributionError::NotANumber { place: 2 }),
        (
            &[f64::INFINITY, 0.1],
            DistributionError::NotANumber { place: 1 },
        ),
        (
            &[1.2, -0.2],
            DistributionError::AboveOne {
                place: 1,
                value: 1.2,
            },
        ),
        (
            &[0.9, -0.1],
            DistributionError::Negative {
                place: 2,
                value: -0.1,
            },
        ),
        (
            &[60.0, 30.0, 10.0],
            DistributionError::AboveOne {
                place: 1,
                value: 60.0,
            },
        ),
        (&[1e-320, 0.0], DistributionError::ZeroSum),
    ];
    for (values, expected) in cases {
        assert_eq!(
            Distribution::normalised(values),
            Err(expected),
            "{values:?}"
        );
    }
}

/// F-08: a sum of 1.3 is scaled to 1.
#[test]
fn f08_a_sum_of_one_point_three_is_normalised() {
    let distribution = Distribution::normalised(&[0.65, 0.39, 0.26]).unwrap();
    let expected = [0.5, 0.3, 0.2];
    for (value, expected) in distribution.values().iter().zip(expected) {
        assert!((value - expected).abs() < 1e-12);
    }
}

/// F-01: the distribution of a request is not rescaled; both sides of the tolerance.
#[test]
fn f01_a_sum_beyond_the_tolerance_is_rejected() {
    assert!(Distribution::summing_to_one(&[0.5, 0.509], 0.01).is_ok());
    let error = Distribution::summing_to_one(&[0.5, 0.511], 0.01).unwrap_err();
    assert!(
        matches!(error, DistributionError::WrongSum { .. }),
        "{error}"
    );
}

#[test]
fn json_is_validated_like_any_other_input() {
    assert!(serde_json::from_str::<Distribution>("[0.5, 0.6]").is_err());
    assert!(serde_json::from_str::<Distribution>("[]").is_err());
    assert!(serde_json::from_str::<Distribution>("[0.25, 0.75]").is_ok());
}

#[test]
fn f13_movement_is_the_probability_that_moved_between_outcomes() {
    let of = |values: &[f64]| Distribution::normalised(values).unwrap();
    let before = of(&[0.5, 0.3, 0.2]);
    assert_eq!(before.movement(&before), Some(0.0));
    let moved = before.movement(&of(&[0.4, 0.3, 0.3])).unwrap();
    assert!((moved - 0.1).abs() < 1e-12, "{moved}");
    assert_eq!(of(&[1.0, 0.0]).movement(&of(&[0.0, 1.0])), Some(1.0));
    assert_eq!(of(&[1.0, 0.0]).movement(&before), None);
}

proptest! {
    /// F-08: every accepted distribution sums to 1 within 1e-9, keeps its order, and survives JSON unchanged.
    #[test]
    fn f08_every_distribution_sums_to_one(values in prop::collection::vec(0.0..=1.0_f64, 1..50)) {
        if let Ok(distribution) = Distribution::normalised(&values) {
            let sum: f64 = distribution.values().iter().sum();
            prop_assert!((sum - 1.0).abs() < 1e-9);
            for (a, b) in values.iter().zip(&values[1..]).zip(distribution.values().iter().zip(&distribution.values()[1..])).map(|(x, y)| ((x.0 - x.1), (y.0 - y.1))) {
                prop_assert!(a * b >= 0.0);
            }
            let json = serde_json::to_string(&distribution).unwrap();
            prop_assert!(serde_json::from_str::<Distribution>(&json).is_ok());
        } else {
            prop_assert!(values.iter().sum::<f64>() < f64::MIN_POSITIVE);
        }
    }
}
