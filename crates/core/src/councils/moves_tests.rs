use proptest::prelude::*;

use super::*;

fn score(value: f64) -> OutOfHundred {
    OutOfHundred::new(value).unwrap()
}

fn allowed(from: f64, to: f64, limit: Limit) -> bool {
    moved(score(from), score(to), limit).is_ok()
}

#[test]
fn t08_the_exchange_moves_a_number_by_at_most_five_points() {
    assert!(allowed(70.46, 75.46, Limit::Exchange));
    assert!(allowed(70.46, 65.46, Limit::Exchange));
    assert!(!allowed(70.46, 75.47, Limit::Exchange));
    assert!(!allowed(70.46, 65.45, Limit::Exchange));
}

#[test]
fn t10_a_finding_moves_a_number_by_at_most_ten_points() {
    assert!(allowed(50.1, 60.1, Limit::Finding));
    assert!(!allowed(50.1, 60.11, Limit::Finding));
    let error = moved(score(50.0), score(72.0), Limit::Finding).unwrap_err();
    assert_eq!(
        error.to_string(),
        "from 50 to 72 is 22 points; at most 10 are allowed"
    );
    let error = moved(score(50.0), score(55.01), Limit::Exchange).unwrap_err();
    assert_eq!(
        error.to_string(),
        "from 50 to 55.01 is 5.01 points; at most 5 are allowed"
    );
}

#[test]
fn t08_the_reach_is_clamped_to_the_scale() {
    assert_eq!(reach(score(70.0), Limit::Exchange), (65.0, 75.0));
    assert_eq!(reach(score(70.46), Limit::Exchange), (65.5, 75.4));
    assert_eq!(reach(score(97.0), Limit::Finding), (87.0, 100.0));
    assert_eq!(reach(score(3.0), Limit::Exchange), (0.0, 8.0));
}

proptest! {
    #[test]
    fn t08_both_ends_of_the_reach_are_allowed(from in 0.0..=100.0_f64) {
        for limit in [Limit::Exchange, Limit::Finding] {
            let (low, high) = reach(score(from), limit);
            prop_assert!(allowed(from, low, limit) && allowed(from, high, limit), "{from}: {low} {high}");
        }
    }
}
