use super::*;

/// P-01: rounds as people write them, and what is no number of rounds.
#[test]
fn p01_rounds_are_read_as_people_write_them() {
    for (text, expected) in [("3..5", (3, 5)), ("2", (2, 2)), (" 1 ..= 4", (1, 4))] {
        assert_eq!(parse_rounds(text).unwrap(), expected, "{text}");
    }
    for text in ["", "..", "3..", "a..b", "-1..2"] {
        assert!(parse_rounds(text).is_err(), "{text}");
    }
}

/// C-07: time limits as people write them.
#[test]
fn c07_times_are_read_as_people_write_them() {
    for (text, expected) in [
        ("90", 90_000),
        ("1.5s", 1500),
        ("10m", 600_000),
        ("1h", 3_600_000),
    ] {
        assert_eq!(parse_time(text).unwrap(), expected, "{text}");
    }
    for text in ["", "soon", "-3", "0", "1d"] {
        assert!(parse_time(text).is_err(), "{text}");
    }
}
