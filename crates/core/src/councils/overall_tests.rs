use proptest::prelude::*;

use super::*;

fn component(dimension: &str, weight: f64, score: Option<f64>) -> Component {
    Component {
        dimension: dimension.into(),
        weight,
        score: score.map(|value| OutOfHundred::new(value).unwrap()),
    }
}

fn themis(scores: [Option<f64>; 5]) -> Vec<Component> {
    let names = ["hook", "emotion", "production", "trend", "shareability"];
    let weights = [25.0, 20.0, 15.0, 20.0, 20.0];
    let parts = names.into_iter().zip(weights).zip(scores);
    parts
        .map(|((name, weight), score)| component(name, weight, score))
        .collect()
}

#[test]
fn t01_the_overall_score_is_the_weighted_sum_of_its_components() {
    let found = overall(&themis([72.0, 60.0, 80.0, 50.0, 65.0].map(Some))).unwrap();
    // 18 + 12 + 12 + 10 + 13
    assert_eq!(format!("{:.6}", found.score.value()), "65.000000");
    assert_eq!((found.shown, found.left_out.len()), (65, 0));
}

/// T-01: it is listed as left out and never set to 50.
#[test]
fn t01_a_missing_component_is_left_out_and_the_rest_reweighted() {
    let found = overall(&themis([
        Some(80.0),
        Some(80.0),
        None,
        Some(80.0),
        Some(80.0),
    ]))
    .unwrap();
    assert_eq!(format!("{:.6}", found.score.value()), "80.000000");
    assert_eq!(found.left_out, ["production"]);
    let shares: Vec<_> = found
        .components
        .iter()
        .map(|part| format!("{:.3}", part.share))
        .collect();
    assert_eq!(shares, ["0.294", "0.235", "0.235", "0.235"]);
    assert_eq!(overall(&themis([None; 5])), None);
}

fn tiers() -> Tiers {
    let tier = |from, name: &str| Tier {
        from,
        name: name.into(),
    };
    Tiers::try_from(vec![
        tier(0, "first"),
        tier(21, "second"),
        tier(41, "third"),
        tier(61, "fourth"),
        tier(81, "fifth"),
    ])
    .unwrap()
}

/// T-01: tiers start at 21, 41, 61, 81, by the score without rounding.
#[test]
fn t01_scores_on_both_sides_of_each_tier_boundary() {
    let tiers = tiers();
    let of = |score: f64| tiers.of(OutOfHundred::new(score).unwrap());
    let found = [
        0.0, 20.0, 20.5, 20.99, 21.0, 40.99, 41.0, 60.0, 61.0, 80.0, 81.0, 100.0,
    ]
    .map(of);
    assert_eq!(
        found,
        [
            "first", "first", "first", "first", "second", "second", "third", "third", "fourth",
            "fourth", "fifth", "fifth"
        ]
    );
}

#[test]
fn t01_tiers_that_do_not_start_at_zero_or_rise_are_rejected() {
    let tier = |from, name: &str| Tier {
        from,
        name: name.into(),
    };
    assert_eq!(Tiers::try_from(Vec::new()), Err(TierError::NoneFromZero));
    assert_eq!(
        Tiers::try_from(vec![tier(1, "a")]),
        Err(TierError::NoneFromZero)
    );
    assert!(matches!(
        Tiers::try_from(vec![tier(0, "a"), tier(0, "b")]),
        Err(TierError::NotRising { .. })
    ));
    assert!(matches!(
        Tiers::try_from(vec![tier(0, "a"), tier(101, "b")]),
        Err(TierError::OutOfScale { .. })
    ));
}

fn confidence(stated: &[f64], adjustment: Option<f64>) -> Option<f64> {
    overall_confidence(
        stated.iter().map(|value| Confidence::new(*value).unwrap()),
        adjustment.map(|value| Adjustment::new(value).unwrap()),
    )
    .map(Confidence::value)
}

/// T-10: the lowest of the consensus confidences, adjusted within −0.2 … +0.1 and never outside 0 … 1.
#[test]
fn t10_the_overall_confidence_is_the_lowest_adjusted_by_the_critic() {
    assert_eq!(confidence(&[0.8, 0.9, 0.95], None), Some(0.8));
    assert_eq!(confidence(&[0.9, 0.9], Some(-0.2)), Some(0.7));
    assert_eq!(confidence(&[0.6], Some(0.1)), Some(0.7));
    assert_eq!(confidence(&[0.1], Some(-0.2)), Some(0.0));
    assert_eq!(confidence(&[0.95], Some(0.1)), Some(1.0));
    assert_eq!(confidence(&[], Some(0.1)), None);
    assert!(Adjustment::new(-0.21).is_err() && Adjustment::new(0.11).is_err());
}

proptest! {
    #[test]
    fn t01_an_overall_score_lies_within_its_components(
        given in proptest::collection::vec((0.1..50.0_f64, proptest::option::of(0.0..=100.0_f64)), 1..8),
    ) {
        let components: Vec<_> = given.iter().map(|(weight, score)| component("d", *weight, *score)).collect();
        let scores: Vec<f64> = given.iter().filter_map(|(_, score)| *score).collect();
        match overall(&components) {
            None => prop_assert!(scores.is_empty()),
            Some(found) => {
                let low = scores.iter().copied().fold(f64::INFINITY, f64::min);
                let high = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                prop_assert!((low - 1e-9..=high + 1e-9).contains(&found.score.value()));
                let shares: f64 = found.components.iter().map(|part| part.share).sum();
                prop_assert!((shares - 1.0).abs() < 1e-9);
            }
        }
    }
}
