use super::*;

fn battles(first: usize, second: usize, results: &[f64]) -> Vec<Battle> {
    let battle = |result: &f64| Battle {
        first,
        second,
        result: *result,
    };
    results.iter().map(battle).collect()
}

fn is_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
}

/// With two contestants the odds are those of the wins, each half a win more; the variance is the sum of both reciprocals.
#[test]
fn b01_two_contestants_have_the_odds_of_their_wins() {
    let results = [vec![0.0; 15], vec![1.0; 5], vec![0.5; 2]].concat();
    let found = strengths(2, &battles(0, 1, &results));
    let (won, lost): (f64, f64) = (16.5, 6.5);
    is_near(found[1].log_odds, (won / lost).ln());
    let half = Z * (1.0 / won + 1.0 / lost).sqrt();
    is_near(found[1].interval.unwrap().low, (won / lost).ln() - half);
    is_near(win_probability(found[1].log_odds), won / (won + lost));
    assert_eq!((found[1].battles, found[0].battles), (22, 22));
    is_near(found[1].wins, 16.0);
    is_near(found[0].log_odds, 0.0);
    assert_eq!(found[0].interval, None);
}

/// Three contestants in a chain: the log-odds add up, and so do the variances of independent pairs.
#[test]
fn b01_strengths_are_inferred_across_a_common_opponent() {
    let all = [
        battles(0, 1, &[vec![0.0; 6], vec![1.0; 3]].concat()),
        battles(1, 2, &[vec![0.0; 8], vec![1.0; 2]].concat()),
    ]
    .concat();
    let found = strengths(3, &all);
    let (one, two) = ((6.5_f64 / 3.5).ln(), (8.5_f64 / 2.5).ln());
    is_near(found[1].log_odds, one);
    is_near(found[2].log_odds, one + two);
    let variance = 1.0 / 6.5 + 1.0 / 3.5 + 1.0 / 8.5 + 1.0 / 2.5;
    let interval = found[2].interval.unwrap();
    is_near(
        (interval.high - interval.low) / 2.0,
        Z * f64::sqrt(variance),
    );
}

#[test]
fn b01_a_contestant_that_always_wins_has_a_finite_strength() {
    let found = strengths(2, &battles(0, 1, &[0.0; 20]));
    assert!(found[1].log_odds.is_finite());
    assert!(found[1].interval.unwrap().low > 0.0);
    // Nobody has met: nothing is known.
    let nothing = strengths(2, &[]);
    is_near(nothing[1].log_odds, 0.0);
    assert_eq!(nothing[1].interval, None);
}
