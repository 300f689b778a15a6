use proptest::prelude::*;

use super::*;

const OPEN: OpenEnds = OpenEnds {
    below: true,
    above: true,
};
const CLOSED: OpenEnds = OpenEnds {
    below: false,
    above: false,
};

fn bins(edges: &[f64], open: OpenEnds) -> Bins {
    Bins::new(edges.to_vec(), open).unwrap()
}

fn forecast(values: &[f64]) -> Distribution {
    Distribution::normalised(values).unwrap()
}

#[test]
fn b09_a_value_on_an_edge_is_in_the_bin_above_it() {
    let closed = bins(&[0.0, 1.0, 2.0], CLOSED);
    assert_eq!(closed.count(), 2);
    let expected = [
        (-0.001, None),
        (0.0, Some(0)),
        (0.999, Some(0)),
        (1.0, Some(1)),
        (1.999, Some(1)),
        (2.0, Some(1)),
        (2.001, None),
        (f64::NAN, None),
    ];
    for (value, bin) in expected {
        assert_eq!(closed.bin_of(value), bin, "{value}");
    }
    let open = bins(&[0.0, 1.0, 2.0], OPEN);
    assert_eq!(open.count(), 4);
    let expected = [
        (-0.001, Some(0)),
        (0.0, Some(1)),
        (0.999, Some(1)),
        (1.0, Some(2)),
        (1.999, Some(2)),
        (2.0, Some(3)),
        (f64::INFINITY, Some(3)),
        (f64::NEG_INFINITY, Some(0)),
    ];
    for (value, bin) in expected {
        assert_eq!(open.bin_of(value), bin, "{value}");
    }
}

#[test]
fn b09_edges_rise_and_make_two_bins() {
    let error = |edges: &[f64], open| Bins::new(edges.to_vec(), open).unwrap_err();
    assert_eq!(
        error(&[1.0, 1.0], OPEN),
        BinsError::NotRising {
            place: 2,
            value: 1.0
        }
    );
    assert_eq!(
        error(&[1.0, f64::NAN], OPEN),
        BinsError::NotANumber { place: 2 }
    );
    assert_eq!(error(&[], OPEN), BinsError::TooFew);
    assert_eq!(error(&[1.0, 2.0], CLOSED), BinsError::TooFew);
    // One edge with two open ends is a yes-or-no question.
    assert_eq!(bins(&[1.0], OPEN).count(), 2);
    assert_eq!(
        Bins::spaced((1.0, 2.0), 2, Some(1.5), CLOSED).unwrap_err(),
        BinsError::ZeroPoint { zero: 1.5 }
    );
}

#[test]
fn b09_bins_are_equal_in_value_or_in_its_logarithm() {
    let equal = Bins::spaced((0.0, 10.0), 4, None, CLOSED).unwrap();
    assert_eq!(equal.edges(), [0.0, 2.5, 5.0, 7.5, 10.0]);
    let log = Bins::spaced((1.0, 100.0), 2, Some(0.0), CLOSED).unwrap();
    assert!((log.edges()[1] - 10.0).abs() < 1e-9);
    assert!(log.edges().starts_with(&[1.0]) && log.edges().ends_with(&[100.0]));
    // Below the zero point as well.
    let below = Bins::spaced((-100.0, -1.0), 2, Some(0.0), CLOSED).unwrap();
    assert!((below.edges()[1] + 10.0).abs() < 1e-9);
}

#[test]
fn b09_quantiles_lie_within_their_bin_on_both_sides_of_each_edge() {
    let range = bins(&[0.0, 10.0, 30.0], CLOSED);
    let forecast = forecast(&[0.5, 0.5]);
    let at = |share| range.quantile(&forecast, share).unwrap();
    assert_eq!(at(0.25), Quantile::At(5.0));
    assert_eq!(at(0.5), Quantile::At(10.0));
    assert_eq!(at(0.75), Quantile::At(20.0));
    let Quantile::At(just_above) = at(0.5001) else {
        panic!("inside the range");
    };
    assert!(just_above > 10.0 && just_above < 10.01, "{just_above}");
    assert_eq!(range.quantile(&forecast, 0.0), None);
    assert_eq!(range.quantile(&forecast, 1.0), None);
    assert_eq!(range.quantile(&forecast, f64::NAN), None);
    let other = Distribution::uniform(3).unwrap();
    assert_eq!(range.quantile(&other, 0.5), None);
}

#[test]
fn b09_beyond_an_open_end_only_the_bound_is_known() {
    let range = bins(&[0.0, 10.0], OPEN);
    let forecast = forecast(&[0.05, 0.85, 0.10]);
    let at = |share| range.quantile(&forecast, share).unwrap();
    assert_eq!(at(0.05), Quantile::Below(0.0));
    assert!(matches!(at(0.051), Quantile::At(value) if value > 0.0 && value < 0.02));
    assert!(matches!(at(0.90), Quantile::At(value) if (value - 10.0).abs() < 1e-9));
    assert_eq!(at(0.901), Quantile::Above(10.0));
    assert_eq!(at(0.95), Quantile::Above(10.0));
}

#[test]
fn b09_empty_bins_are_passed_over() {
    let range = bins(&[0.0, 1.0, 2.0, 3.0], CLOSED);
    let forecast = forecast(&[0.0, 1.0, 0.0]);
    assert_eq!(range.quantile(&forecast, 0.5), Some(Quantile::At(1.5)));
    let last = range.quantile(&forecast, 0.999_999);
    assert!(matches!(last, Some(Quantile::At(value)) if value > 1.99 && value < 2.0));
}

#[test]
fn b09_quantiles_of_others_become_probabilities_of_bins() {
    let near = |found: Distribution, expected: &[f64]| {
        for (a, b) in found.values().iter().zip(expected) {
            assert!((a - b).abs() < 1e-9, "{found:?} {expected:?}");
        }
        assert_eq!(found.outcomes(), expected.len());
    };
    let closed = bins(&[0.0, 10.0, 20.0], CLOSED);
    near(closed.of_cdf(&[(10.0, 0.3)]).unwrap(), &[0.3, 0.7]);
    near(
        closed.of_cdf(&[(5.0, 0.5)]).unwrap(),
        &[2.0 / 3.0, 1.0 / 3.0],
    );
    // Half of the 10% below the lowest quantile is below the open end, and so on.
    let open = bins(&[0.0, 10.0, 20.0], OPEN);
    let quantiles = [(5.0, 0.1), (10.0, 0.5), (15.0, 0.9)];
    near(open.of_cdf(&quantiles).unwrap(), &[0.05, 0.45, 0.45, 0.05]);
    // A whole distribution says itself how much is beyond the ends.
    let whole = [(0.0, 0.2), (20.0, 0.6)];
    near(open.of_cdf(&whole).unwrap(), &[0.2, 0.2, 0.2, 0.4]);
}

#[test]
fn b09_points_that_do_not_rise_are_no_distribution() {
    let range = bins(&[0.0, 1.0, 2.0], CLOSED);
    let error = |points: &[(f64, f64)]| range.of_cdf(points).unwrap_err();
    assert_eq!(error(&[]), CdfError::Empty);
    assert_eq!(error(&[(f64::NAN, 0.5)]), CdfError::Invalid { place: 1 });
    assert_eq!(error(&[(1.0, 50.0)]), CdfError::Invalid { place: 1 });
    assert_eq!(
        error(&[(1.0, 0.5), (1.0, 0.6)]),
        CdfError::NotRising { place: 2 }
    );
    assert_eq!(
        error(&[(1.0, 0.5), (2.0, 0.4)]),
        CdfError::NotRising { place: 2 }
    );
}

#[test]
fn b09_a_forecast_survives_the_way_through_its_quantiles() {
    let range = bins(&[0.0, 1.0, 2.0, 4.0, 8.0], CLOSED);
    let forecast = forecast(&[0.05, 0.20, 0.50, 0.25]);
    let points = QUANTILES.map(|share| match range.quantile(&forecast, share) {
        Some(Quantile::At(value)) => (value, share),
        other => panic!("{other:?}"),
    });
    let back = range.of_cdf(&points).unwrap();
    assert!(back.movement(&forecast).unwrap() < 0.03, "{back:?}");
}

/// B-09: computed by hand: two bins of 0.5 each make F(x) = x/2 between 0 and 2.
#[test]
fn b09_crps_is_the_squared_distance_to_the_value() {
    let forecast = |shares: &[f64]| Distribution::normalised(shares).unwrap();
    let closed = Bins::new(vec![0.0, 1.0, 2.0], OpenEnds::default()).unwrap();
    let even = forecast(&[0.5, 0.5]);
    let at = |value: f64| closed.crps(&even, value).unwrap();
    // ∫ (x/2)² from 0 to 1 and ∫ (1 − x/2)² from 1 to 2 are 1/12 each.
    assert!((at(1.0) - 1.0 / 6.0).abs() < 1e-12);
    // 0.5³/12, and 2/3 · 0.75³.
    assert!((at(0.5) - (0.125 / 12.0 + 2.0 / 3.0 * 0.421_875)).abs() < 1e-12);
    // ∫ (1 − x/2)² from 0 to 2 is 2/3; from the other end it is the same.
    assert!((at(0.0) - 2.0 / 3.0).abs() < 1e-12);
    assert!((at(2.0) - 2.0 / 3.0).abs() < 1e-12);
    // Open ends: F rises from 0.2 to 0.7 in the one inner bin, where the value is below, so 1 − F falls from 0.8 to 0.3.
    let open = OpenEnds {
        below: true,
        above: true,
    };
    let open = Bins::new(vec![0.0, 1.0], open).unwrap();
    let tails = forecast(&[0.2, 0.5, 0.3]);
    let expected = (0.64 + 0.24 + 0.09) / 3.0;
    assert!((open.crps(&tails, -5.0).unwrap() - expected).abs() < 1e-12);
    assert_eq!(open.crps(&tails, -5.0), open.crps(&tails, 0.0));
    // 0.2² + 0.2·0.7 + 0.7² over 3.
    assert!((open.crps(&tails, 9.0).unwrap() - 0.67 / 3.0).abs() < 1e-12);
    assert_eq!(open.crps(&even, 0.5), None);
    assert_eq!(open.crps(&tails, f64::NAN), None);
}

proptest! {
    /// B-09: the score is proper: on average over values drawn from it, no other forecast is better than the true one.
    #[test]
    fn b09_crps_is_least_for_the_true_forecast(
        truth in prop::collection::vec(0.01..1.0_f64, 4),
        said in prop::collection::vec(0.01..1.0_f64, 4),
    ) {
        let open = OpenEnds { below: true, above: true };
        let bins = Bins::new(vec![0.0, 1.0, 3.0], open).unwrap();
        let truth = Distribution::normalised(&truth).unwrap();
        let said = Distribution::normalised(&said).unwrap();
        let mean = |forecast: &Distribution| -> f64 {
            let extents = bins.extents().into_iter().zip(truth.values());
            extents.map(|(extent, share)| {
                // A fine grid within each bin; beyond an end every value counts the same.
                let (from, to) = (extent.from.unwrap_or(-1.0), extent.to.unwrap_or(4.0));
                let points = (0..400).map(|step| from + (to - from) * (f64::from(step) + 0.5) / 400.0);
                let scores = points.map(|value| bins.crps(forecast, value).unwrap());
                share * scores.sum::<f64>() / 400.0
            }).sum()
        };
        prop_assert!(mean(&truth) <= mean(&said) + 1e-4);
    }
}
