use proptest::prelude::*;

use super::*;

fn measured(share: f64, scores: &[f64]) -> Measured {
    Measured {
        share,
        scores: scores
            .iter()
            .map(|value| OutOfHundred::new(*value).unwrap())
            .collect(),
    }
}

fn named(name: &str, score: f64, error: Option<f64>) -> (String, OutOfHundred, Option<f64>) {
    (name.into(), OutOfHundred::new(score).unwrap(), error)
}

/// 60, 70 and 50, 60, 70 have a pooled variance of (50 + 200) / 3.
#[test]
fn the_uncertainty_comes_from_the_judges_spread() {
    let found = uncertainty(&[
        measured(0.5, &[60.0, 70.0]),
        measured(0.5, &[55.0]),
        measured(0.0, &[50.0, 60.0, 70.0]),
    ]);
    let variance: f64 = 250.0 / 3.0;
    let expected = (0.25 * variance / 2.0 + 0.25 * variance).sqrt();
    assert!((found.unwrap() - expected).abs() < 1e-9);
    assert_eq!(uncertainty(&[measured(1.0, &[60.0])]), None);
}

/// Standard errors of 3 and 4 combine to 5, so a difference of 10 is not enough and 10.1 is.
#[test]
fn a_difference_within_the_spread_is_not_worth_believing() {
    let verdict = |difference: f64| {
        let order = rank(vec![
            named("a", 50.0, Some(3.0)),
            named("b", 50.0 + difference, Some(4.0)),
        ]);
        (order.pairs[0].higher.clone(), order.pairs[0].verdict)
    };
    assert_eq!(verdict(10.0), ("b".into(), Verdict::NotWorthBelieving));
    assert_eq!(verdict(10.1), ("b".into(), Verdict::Believable));
    let unknown = rank(vec![named("a", 10.0, None), named("b", 90.0, Some(1.0))]);
    assert_eq!(unknown.pairs[0].verdict, Verdict::Unknown);
    assert_eq!((unknown.places[0].best, unknown.places[0].worst), (1, 2));
}

#[test]
fn places_are_ranges_if_differences_are_not_believable() {
    let order = rank(vec![
        named("low", 30.0, Some(2.0)),
        named("middle", 61.0, Some(2.0)),
        named("high", 63.0, Some(2.0)),
    ]);
    let places: Vec<_> = order
        .places
        .iter()
        .map(|place| (place.name.as_str(), place.best, place.worst))
        .collect();
    assert_eq!(places, [("high", 1, 2), ("middle", 1, 2), ("low", 3, 3)]);
}

proptest! {
    #[test]
    fn every_item_has_a_valid_range_of_places(
        given in proptest::collection::vec((0.0..=100.0_f64, proptest::option::of(0.1..20.0_f64)), 1..8),
    ) {
        let count = given.len();
        let order = rank(given.into_iter().map(|(score, error)| named("x", score, error)).collect());
        prop_assert_eq!(order.pairs.len(), count * (count - 1) / 2);
        for (index, place) in order.places.iter().enumerate() {
            prop_assert!(place.best <= index + 1 && index < place.worst && place.worst <= count);
        }
    }
}
