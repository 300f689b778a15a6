use super::*;

/// C-07: time limits as people write them.
#[test]
fn c07_a_timeout_is_seconds_or_a_duration() {
    for (text, expected) in [
        ("90", 90_000),
        ("1.5s", 1500),
        ("10m", 600_000),
        ("1h", 3_600_000),
        ("1h 30m", 5_400_000),
    ] {
        assert_eq!(parse_timeout(text).unwrap(), expected, "{text}");
    }
    for text in ["", "soon", "-3", "0", "1e30"] {
        assert!(parse_timeout(text).is_err(), "{text}");
    }
}
