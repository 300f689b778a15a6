use proptest::prelude::*;

use super::*;

fn of(values: &[f64]) -> Distribution {
    Distribution::normalised(values).unwrap()
}

fn close(a: &Distribution, b: &[f64]) {
    assert_eq!(a.outcomes(), b.len());
    for (a, b) in a.values().iter().zip(b) {
        assert!((a - b).abs() < 1e-12, "{a} is not {b}");
    }
}

/// F-08: the default weight of the judge, by hand.
#[test]
fn f08_the_judge_counts_six_tenths() {
    let roles = [
        of(&[0.7, 0.3]),
        of(&[0.2, 0.8]),
        of(&[0.5, 0.5]),
        of(&[0.4, 0.6]),
        of(&[0.6, 0.4]),
    ];
    let consensus = mean(&roles.iter().collect::<Vec<_>>()).unwrap();
    close(&consensus, &[0.48, 0.52]);
    let weight = Probability::new(0.6).unwrap();
    let result = judged(&roles[4], &consensus, weight).unwrap();
    close(&result, &[0.552, 0.448]);
}

/// F-08: weight 1 is the judge alone, weight 0 the consensus alone.
#[test]
fn f08_judge_weights_of_zero_and_one_are_the_limits() {
    let (judge, consensus) = (of(&[0.9, 0.1]), of(&[0.3, 0.7]));
    let with = |weight| judged(&judge, &consensus, Probability::new(weight).unwrap()).unwrap();
    close(&with(1.0), judge.values());
    close(&with(0.0), consensus.values());
}

/// The pool by log-odds of 0.9 and 0.5 is where the odds are √9 = 3.
#[test]
fn the_log_odds_pool_of_two_by_hand() {
    let (sure, unsure) = (of(&[0.9, 0.1]), of(&[0.5, 0.5]));
    close(
        &log_odds_pool(&[(&sure, 1.0), (&unsure, 1.0)]).unwrap(),
        &[0.75, 0.25],
    );
    close(
        &log_odds_pool(&[(&sure, 2.0), (&unsure, 0.0)]).unwrap(),
        &[0.9, 0.1],
    );
}

#[test]
fn one_zero_does_not_veto_an_outcome() {
    let (never, likely) = (of(&[0.0, 1.0]), of(&[0.9, 0.1]));
    let pool = log_odds_pool(&[(&never, 1.0), (&likely, 1.0)]).unwrap();
    assert!(pool.values()[0] > 0.05, "{pool:?}");
}

#[test]
fn invalid_pools_are_rejected() {
    let two = of(&[0.5, 0.5]);
    let three = of(&[0.2, 0.3, 0.5]);
    assert_eq!(log_odds_pool(&[]), Err(PoolError::Empty));
    assert_eq!(mean(&[]), Err(PoolError::Empty));
    assert_eq!(mean(&[&two, &three]), Err(PoolError::DifferentOutcomes));
    for wrong in [-1.0, f64::NAN, f64::INFINITY] {
        let pool = log_odds_pool(&[(&two, 1.0), (&two, wrong)]);
        assert_eq!(pool, Err(PoolError::Weights), "{wrong}");
    }
    assert_eq!(log_odds_pool(&[(&two, 0.0)]), Err(PoolError::Weights));
}

prop_compose! {
    fn distribution(outcomes: usize)(values in prop::collection::vec(0.001..=1.0_f64, outcomes)) -> Distribution {
        of(&values)
    }
}

proptest! {
    /// F-08: pools sum to 1, lie within their inputs outcome by outcome, and do not depend on the order of the roles.
    #[test]
    fn f08_pools_sum_to_one_and_order_does_not_matter(
        roles in prop::collection::vec(distribution(4), 1..6),
        weight in 0.0..=1.0_f64,
    ) {
        let all: Vec<_> = roles.iter().collect();
        let turned: Vec<_> = roles.iter().rev().collect();
        let plain = mean(&all).unwrap();
        let same = mean(&turned).unwrap();
        let mixed = judged(&roles[0], &plain, Probability::new(weight).unwrap()).unwrap();
        let weighted: Vec<_> = all.iter().zip(1..).map(|(role, n)| (*role, f64::from(n))).collect();
        let pool = log_odds_pool(&weighted).unwrap();
        let turned: Vec<_> = weighted.iter().rev().copied().collect();
        let pool_turned = log_odds_pool(&turned).unwrap();
        for distribution in [&plain, &mixed, &pool] {
            prop_assert!((distribution.values().iter().sum::<f64>() - 1.0).abs() < 1e-9);
        }
        for outcome in 0..4 {
            let column = roles.iter().map(|role| role.values()[outcome]);
            let (low, high) = column.fold((1.0_f64, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
            for distribution in [&plain, &mixed] {
                let value = distribution.values()[outcome];
                prop_assert!(value >= low - 1e-12 && value <= high + 1e-12);
            }
            prop_assert!((plain.values()[outcome] - same.values()[outcome]).abs() < 1e-12);
            prop_assert!((pool.values()[outcome] - pool_turned.values()[outcome]).abs() < 1e-12);
        }
    }

    /// With two outcomes the pool's log-odds are the weighted mean of the log-odds.
    #[test]
    fn with_two_outcomes_log_odds_are_averaged(a in 0.01..0.99_f64, b in 0.01..0.99_f64, w in 0.1..10.0_f64) {
        let odds = |p: f64| (p / (1.0 - p)).ln();
        let pool = log_odds_pool(&[(&of(&[a, 1.0 - a]), w), (&of(&[b, 1.0 - b]), 1.0)]).unwrap();
        let expected = (w * odds(a) + odds(b)) / (w + 1.0);
        prop_assert!((odds(pool.values()[0]) - expected).abs() < 1e-9);
    }
}
