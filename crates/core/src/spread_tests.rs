use proptest::prelude::*;

use super::*;

/// M-02: the worked values of a panel of five and of four.
#[test]
fn m02_median_and_quartiles() {
    let five = Spread::of([0.9, 0.5, 0.7, 0.6, 0.8]).unwrap();
    assert_eq!(
        five,
        Spread {
            lowest: 0.5,
            lower_quartile: 0.6,
            median: 0.7,
            upper_quartile: 0.8,
            highest: 0.9
        }
    );
    let four = Spread::of([1.0, 2.0, 3.0, 4.0]).unwrap();
    assert_eq!(
        four,
        Spread {
            lowest: 1.0,
            lower_quartile: 1.75,
            median: 2.5,
            upper_quartile: 3.25,
            highest: 4.0
        }
    );
    assert_eq!(Spread::of([f64::NAN]), None);
    assert_eq!(Spread::of([]), None);
}

#[test]
fn the_deviation_is_that_of_a_population() {
    assert!((deviation(&[0.0, 1.0]).unwrap() - 0.5).abs() < 1e-12);
    assert_eq!(deviation(&[]), None);
}

proptest! {
    /// M-02: the summary does not depend on the order of the values, and its five numbers are in order.
    #[test]
    fn m02_quartiles_are_in_order_and_anonymous(mut values in prop::collection::vec(0.0..1.0_f64, 1..9)) {
        let spread = Spread::of(values.clone()).unwrap();
        prop_assert!(spread.lowest <= spread.lower_quartile && spread.lower_quartile <= spread.median);
        prop_assert!(spread.median <= spread.upper_quartile && spread.upper_quartile <= spread.highest);
        values.reverse();
        prop_assert_eq!(Spread::of(values).unwrap(), spread);
    }
}
