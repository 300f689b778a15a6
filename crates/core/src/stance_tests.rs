use super::*;

/// M-06: an assigned stance is kept; one in another mode is rejected; a missing one is filled in.
#[test]
fn m06_a_stance_is_kept_and_exists_in_one_mode_only() {
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
fn m06_stances_are_assigned_in_turn() {
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
