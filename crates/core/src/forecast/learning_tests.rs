use proptest::prelude::*;

use super::*;

fn roles() -> Vec<String> {
    vec!["optimist".into(), "historian".into()]
}

fn seen(role: &str, domain: &str, brier: f64, known_at: u64) -> Observation {
    Observation {
        role: role.into(),
        domain: Some(domain.into()),
        brier,
        known_at,
    }
}

fn weights(standings: &[Standing]) -> Vec<f64> {
    standings.iter().map(|standing| standing.weight).collect()
}

#[test]
fn without_history_weights_are_equal() {
    let standings = standings(&roles(), &[], Some("economy"), 100);
    assert_eq!(weights(&standings), [0.5, 0.5]);
    assert!(
        standings
            .iter()
            .all(|standing| standing.shrunk_brier.is_none())
    );
}

/// Ten questions each, 0.3 and 0.1, mean 0.2: shrunk to 0.25 and 0.15, so the weights are as 1/0.25⁴ to 1/0.15⁴.
#[test]
fn weights_follow_the_shrunk_brier_to_the_fourth_power() {
    let history: Vec<_> = (0..10)
        .flat_map(|at| {
            [
                seen("optimist", "economy", 0.3, at),
                seen("historian", "economy", 0.1, at),
            ]
        })
        .collect();
    let standings = standings(&roles(), &history, Some("economy"), 100);
    let shrunk: Vec<_> = standings
        .iter()
        .map(|standing| standing.shrunk_brier.unwrap())
        .collect();
    assert!((shrunk[0] - 0.25).abs() < 1e-12 && (shrunk[1] - 0.15).abs() < 1e-12);
    let expected = 1.0 / (1.0 + (0.25_f64 / 0.15).powi(4));
    assert!((standings[0].weight - expected).abs() < 1e-12);
}

/// One question changes little; a domain without questions falls back on all others.
#[test]
fn small_samples_move_little() {
    let history = [
        seen("optimist", "economy", 0.9, 1),
        seen("historian", "economy", 0.1, 1),
    ];
    let found = standings(&roles(), &history, Some("economy"), 100);
    assert!(found[0].weight > 0.35, "{found:?}");
    let elsewhere = standings(&roles(), &history, Some("weather"), 100);
    assert!(elsewhere[0].weight < 0.5);
    assert_eq!(elsewhere[0].questions_in_domain, 0);
    let nowhere = standings(&roles(), &history, None, 100);
    assert_eq!(weights(&nowhere), weights(&elsewhere));
}

/// Causality: questions resolved at the moment itself or later do not count.
#[test]
fn only_questions_resolved_before_count() {
    let history = [
        seen("optimist", "economy", 0.9, 50),
        seen("historian", "economy", 0.1, 50),
    ];
    assert_eq!(
        weights(&standings(&roles(), &history, None, 50)),
        [0.5, 0.5]
    );
    assert!(weights(&standings(&roles(), &history, None, 51))[0] < 0.5);
}

proptest! {
    #[test]
    fn weights_are_shares_and_a_better_record_never_counts_less(
        first in prop::collection::vec(0.0..=1.0_f64, 0..30),
        better in 0.0..=1.0_f64,
    ) {
        let mut history: Vec<_> = first.iter().map(|b| seen("optimist", "x", *b, 1)).collect();
        history.extend(first.iter().map(|b| seen("historian", "x", b * better, 1)));
        let found = standings(&roles(), &history, Some("x"), 2);
        prop_assert!((found.iter().map(|standing| standing.weight).sum::<f64>() - 1.0).abs() < 1e-9);
        prop_assert!(found[1].weight >= found[0].weight - 1e-12);
    }
}
