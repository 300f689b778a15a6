use proptest::prelude::*;

use super::*;

fn of(values: &[f64]) -> Distribution {
    Distribution::normalised(values).unwrap()
}

#[test]
fn brier_and_log_score_by_hand() {
    let forecast = of(&[0.7, 0.3]);
    let close = |found: Option<f64>, expected: f64| {
        assert!((found.unwrap() - expected).abs() < 1e-12, "{found:?}");
    };
    close(brier(&forecast, 0), 0.09);
    close(brier(&forecast, 1), 0.49);
    close(log_score(&forecast, 0), -(0.7_f64.ln()));
    close(brier(&of(&[0.5, 0.3, 0.2]), 0), 0.19);
    close(brier(&Distribution::uniform(4).unwrap(), 2), 0.375);
}

#[test]
fn both_scores_at_certainty() {
    let sure = of(&[1.0, 0.0]);
    assert_eq!((brier(&sure, 0), brier(&sure, 1)), (Some(0.0), Some(1.0)));
    assert_eq!(log_score(&sure, 0), Some(0.0));
    assert_eq!(log_score(&sure, 1), Some(-MIN_PROBABILITY.ln()));
    assert_eq!((brier(&sure, 2), log_score(&sure, 2)), (None, None));
}

proptest! {
    /// Both are proper scoring rules: stating the actual belief has the best expected score.
    #[test]
    fn both_scores_are_proper(belief in 0.01..0.99_f64, said in 0.01..0.99_f64) {
        let expected = |score: fn(&Distribution, usize) -> Option<f64>, p: f64| {
            let forecast = of(&[p, 1.0 - p]);
            belief * score(&forecast, 0).unwrap() + (1.0 - belief) * score(&forecast, 1).unwrap()
        };
        prop_assert!(expected(brier, belief) <= expected(brier, said) + 1e-12);
        prop_assert!(expected(log_score, belief) <= expected(log_score, said) + 1e-12);
    }
}
