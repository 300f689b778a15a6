use super::significant;

/// M-02
#[test]
fn m02_estimates_show_four_significant_digits() {
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
    .map(significant);
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
