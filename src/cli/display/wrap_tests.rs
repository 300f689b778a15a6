use super::*;

#[test]
fn a_word_longer_than_the_line_gets_its_own_line() {
    let text = "a incomprehensibilities b";
    let lines = ["a", "incomprehensibilities", "b"];
    assert_eq!(wrap_line(text, Some(8)), lines);
}

/// Wide characters take two columns.
#[test]
fn width_is_measured_in_columns() {
    assert_eq!(wrap_line("日本 語 x", Some(6)), ["日本", "語 x"]);
    assert_eq!(break_line("日本語", 4), ["日本", "語"]);
}

/// R9: messages are wrapped between words, at their own indentation; colours take no room.
#[test]
fn only_lines_that_are_too_long_are_wrapped() {
    let text = "short\n  roundtable resume 3f2a --decide accept\n\u{1b}[1mbold\u{1b}[0m";
    let expected = "short\n  roundtable resume\n  3f2a --decide\n  accept\n\u{1b}[1mbold\u{1b}[0m";
    assert_eq!(fit(text, 20), expected);
    assert_eq!(fit(text, 80), text);
}
