use proptest::prelude::*;

use super::*;

fn of(values: &[f64]) -> Distribution {
    Distribution::normalised(values).unwrap()
}

fn opinion(weight: f64, confidence: f64, distribution: &Distribution) -> Opinion<'_> {
    Opinion {
        weight: Probability::new(weight).unwrap(),
        confidence: Confidence::new(confidence).unwrap(),
        distribution,
    }
}

fn close(found: &[f64], expected: &[f64]) {
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            (found - expected).abs() < 1e-12,
            "{found} is not {expected}"
        );
    }
}

/// F-20: weight times confidence, renormalised.
#[test]
fn f20_engines_count_by_weight_and_confidence() {
    let (a, b, c) = (of(&[0.8, 0.2]), of(&[0.4, 0.6]), of(&[0.5, 0.5]));
    let all = [
        opinion(0.5, 0.8, &a),
        opinion(0.35, 0.8, &b),
        opinion(DEBATE_WEIGHT, 0.8, &c),
    ];
    let combined = combine(&all).unwrap();
    close(&combined.weights, &[0.5, 0.35, 0.15]);
    close(combined.distribution.values(), &[0.615, 0.385]);
}

/// F-20: no share above 0.60; exactly 0.60 is kept, the excess goes to the others in proportion.
#[test]
fn f20_no_engine_counts_more_than_six_tenths() {
    let even = of(&[0.5, 0.5]);
    let at = [
        opinion(0.6, 1.0, &even),
        opinion(0.3, 1.0, &even),
        opinion(0.1, 1.0, &even),
    ];
    close(&combine(&at).unwrap().weights, &[0.6, 0.3, 0.1]);
    let over = [
        opinion(0.9, 1.0, &even),
        opinion(0.06, 1.0, &even),
        opinion(0.04, 1.0, &even),
    ];
    close(&combine(&over).unwrap().weights, &[0.6, 0.24, 0.16]);
    let two = [opinion(1.0, 1.0, &even), opinion(0.01, 0.01, &even)];
    close(&combine(&two).unwrap().weights, &[0.6, 0.4]);
}

/// F-20: at least two engines; an engine without confidence is ignored.
#[test]
fn f20_fewer_than_two_engines_are_rejected() {
    let even = of(&[0.5, 0.5]);
    let error = |engines: &[Opinion<'_>]| combine(engines).unwrap_err();
    assert_eq!(error(&[]), EnsembleError::TooFew { found: 0 });
    let one = [opinion(0.5, 1.0, &even)];
    assert_eq!(error(&one), EnsembleError::TooFew { found: 1 });
    let silent = [opinion(0.5, 1.0, &even), opinion(0.5, 0.0, &even)];
    assert_eq!(error(&silent), EnsembleError::TooFew { found: 1 });
    let three = of(&[0.2, 0.3, 0.5]);
    let other = [opinion(0.5, 1.0, &even), opinion(0.5, 1.0, &three)];
    assert_eq!(error(&other), EnsembleError::DifferentOutcomes);
}

/// F-20: clipped to 0.01–0.99, then renormalised.
#[test]
fn f20_certainty_is_clipped() {
    let sure = of(&[1.0, 0.0, 0.0]);
    let both = [opinion(0.5, 1.0, &sure), opinion(0.5, 1.0, &sure)];
    let combined = combine(&both).unwrap();
    close(
        combined.distribution.values(),
        &[0.99 / 1.01, 0.01 / 1.01, 0.01 / 1.01],
    );
}

proptest! {
    #[test]
    fn f20_weights_sum_to_one_and_none_is_above_the_cap(
        weights in prop::collection::vec((0.01..=1.0_f64, 0.01..=1.0_f64), 2..8),
    ) {
        let distribution = of(&[0.3, 0.7]);
        let engines: Vec<_> = weights.iter().map(|(w, c)| opinion(*w, *c, &distribution)).collect();
        let combined = combine(&engines).unwrap();
        prop_assert!((combined.weights.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        prop_assert!(combined.weights.iter().all(|weight| *weight <= MAX_WEIGHT + 1e-12));
        prop_assert!((combined.distribution.values().iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }
}
