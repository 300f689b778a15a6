use super::*;

/// M-14: a focus as people write it.
#[test]
fn m14_a_focus_is_for_the_round_it_names_or_the_first() {
    assert_eq!(
        parse_focus("2=What does it cost?"),
        (2, "What does it cost?")
    );
    assert_eq!(parse_focus(" 3 = Is x=1?"), (3, "Is x=1?"));
    assert_eq!(parse_focus("Is x=1?"), (1, "Is x=1?"));
}
