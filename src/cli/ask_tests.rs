use super::*;

/// P-01: rounds as people write them, and invalid ones.
#[test]
fn p01_rounds_are_read_as_people_write_them() {
    for (text, expected) in [("3..5", (3, 5)), ("2", (2, 2)), (" 1 ..= 4", (1, 4))] {
        assert_eq!(parse_rounds(text).unwrap(), expected, "{text}");
    }
    for text in ["", "..", "3..", "a..b", "-1..2"] {
        assert!(parse_rounds(text).is_err(), "{text}");
    }
}
