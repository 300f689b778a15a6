use proptest::prelude::*;

use super::*;

/// F-09: the largest spread, exactly, for even and odd numbers of roles.
#[test]
fn f09_the_largest_spread_for_each_number_of_roles() {
    let cases = [
        (0, 0.0),
        (1, 0.0),
        (2, 0.5),
        (3, 2.0_f64.sqrt() / 3.0),
        (4, 0.5),
        (5, 6.0_f64.sqrt() / 5.0),
    ];
    for (n, expected) in cases {
        assert!((largest_spread(n) - expected).abs() < 1e-15, "{n} roles");
    }
}

fn of(first: f64) -> Distribution {
    Distribution::normalised(&[first, 1.0 - first]).unwrap()
}

/// F-09: all agree: 1; as far apart as 2, 3, 4 or 5 roles can be: 0.
#[test]
fn f09_consensus_is_one_in_agreement_and_zero_at_the_largest_spread() {
    for n in 2..=5 {
        let same = vec![of(0.37); n];
        let same: Vec<_> = same.iter().collect();
        assert_eq!(mean_agreement(&same), Some(1.0), "{n} roles");
        let apart: Vec<_> = (0..n)
            .map(|i| of(if i < n / 2 { 1.0 } else { 0.0 }))
            .collect();
        let apart: Vec<_> = apart.iter().collect();
        let score = mean_agreement(&apart).unwrap();
        assert!(score.abs() < 1e-12, "{n} roles: {score}");
    }
}

/// F-09: agreement needs two; a role that is left alone is not reported as full agreement.
#[test]
fn f09_a_single_role_has_no_agreement() {
    assert_eq!(mean_agreement(&[]), None);
    assert_eq!(mean_agreement(&[&of(0.2)]), None);
    assert!(outcome_agreement(&[&of(0.2)]).is_empty());
    assert_eq!(mean_agreement(&[&of(0.2), &of(0.2)]), Some(1.0));
}

/// A worked example by hand: 0.6, 0.2 and 0.4 have σ = √(0.08/3); σmax for three is √2/3.
#[test]
fn f09_a_worked_example() {
    let roles = [of(0.6), of(0.2), of(0.4)];
    let roles: Vec<_> = roles.iter().collect();
    let expected = 1.0 - (0.08_f64 / 3.0).sqrt() / (2.0_f64.sqrt() / 3.0);
    let each = outcome_agreement(&roles);
    assert!((each[0] - expected).abs() < 1e-12);
    assert!((each[1] - expected).abs() < 1e-12);
}

proptest! {
    /// F-09: no numbers from 0 to 1 spread further than the bound; order does not matter.
    #[test]
    fn f09_nothing_spreads_further(values in prop::collection::vec(0.0..=1.0_f64, 1..9)) {
        #[expect(clippy::cast_precision_loss, reason = "a handful")]
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let spread = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
        prop_assert!(spread <= largest_spread(values.len()) + 1e-12);
        let mut turned = values.clone();
        turned.reverse();
        prop_assert!((agreement(&values) - agreement(&turned)).abs() < 1e-12);
        prop_assert!((0.0..=1.0).contains(&agreement(&values)));
    }
}
