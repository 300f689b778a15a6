use super::figure;

/// M-02: an estimate is shown with the digits that count.
#[test]
fn m02_estimates_show_four_digits_that_count() {
    let shown = [
        1.437_895,
        2.468_947_499_999_999_6,
        1234.56,
        98_765_432.1,
        0.000_123_456,
        -2.5,
        0.0,
        120.0,
    ]
    .map(figure);
    assert_eq!(
        shown,
        [
            "1.438",
            "2.469",
            "1235",
            "98765432",
            "0.0001235",
            "-2.5",
            "0",
            "120"
        ]
    );
}
