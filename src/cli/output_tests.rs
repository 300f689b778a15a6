use super::*;

/// C-12: control characters from a model never reach the terminal.
#[test]
fn c12_control_characters_of_a_model_are_removed() {
    assert_eq!(
        harmless("a\u{1b}]0;owned\u{7}b\r\n\tc\u{9b}31m"),
        "a]0;ownedb\n\tc31m"
    );
}
