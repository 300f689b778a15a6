use super::*;

/// C-12: what a model writes cannot steer the terminal.
#[test]
fn c12_control_characters_of_a_model_are_taken_out() {
    assert_eq!(
        harmless("a\u{1b}]0;owned\u{7}b\r\n\tc\u{9b}31m"),
        "a]0;ownedb\n\tc31m"
    );
}

#[test]
fn numbers_and_texts_are_made_short() {
    assert_eq!(grouped(0), "0");
    assert_eq!(grouped(1_234_567), "1,234,567");
    assert_eq!(grouped(999), "999");
    assert_eq!(short("a  b\nc", 10), "a b c");
    assert_eq!(short("abcdef", 4), "abc…");
    assert_eq!(duration(999), "999 ms");
    assert_eq!(duration(61_250), "61.2 s");
    assert_eq!(duration(125_000), "2 min 5 s");
}

/// C-11: an unknown price is never shown as zero.
#[test]
fn c11_an_unknown_price_is_called_unknown() {
    assert_eq!(money(None), "price unknown");
    assert_eq!(money(Some(roundtable_core::usage::Money::ZERO)), "free");
}
