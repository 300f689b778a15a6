use super::*;

/// M-06: held to where it is assigned, refused where it does not belong, filled in where it is left out.
#[test]
fn m06_a_stance_is_held_to_and_belongs_to_one_mode() {
    let (yes, no) = (Stance::Yes, Stance::No);
    assert_eq!(check(Some(yes), Some(yes)), None);
    assert_eq!(check(Some(yes), None), None);
    assert_eq!(check(None, None), None);
    assert_eq!(check(None, Some(no)), Some(StanceFault::OutOfPlace));
    assert_eq!(
        check(Some(yes), Some(no)),
        Some(StanceFault::Abandoned {
            assigned: yes,
            stated: no
        })
    );
}

#[test]
fn m06_stances_are_given_out_in_turn() {
    let given: Vec<_> = (0..5).map(Stance::of_seat).collect();
    assert_eq!(
        given,
        [
            Stance::Yes,
            Stance::No,
            Stance::Neutral,
            Stance::Yes,
            Stance::No
        ]
    );
}
