use super::*;

/// M-14: a focus as people write it.
#[test]
fn m14_a_focus_is_for_the_round_it_names_or_the_first() {
    assert_eq!(focus_of("2=What does it cost?"), (2, "What does it cost?"));
    assert_eq!(focus_of(" 3 = Is x=1?"), (3, "Is x=1?"));
    assert_eq!(focus_of("Is x=1?"), (1, "Is x=1?"));
}
