use super::*;

/// M-06: an assigned stance is kept and stated; one in another mode is rejected.
#[test]
fn m06_a_stance_is_kept_and_exists_in_one_mode_only() {
    let (yes, no) = (Stance::Yes, Stance::No);
    assert_eq!(check(Some(yes), Some(yes)), None);
    assert_eq!(
        check(Some(yes), None),
        Some(StanceFault::Missing { assigned: yes })
    );
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

/// M-06: YES and NO in balance, YES first, and at least one NEUTRAL.
#[test]
fn m06_stances_are_balanced() {
    let given = |seats: usize| -> String {
        let stances = (0..seats).map(|index| Stance::of_seat(index, seats));
        let letters = stances.map(|stance| match stance {
            Stance::Yes => 'P',
            Stance::No => 'O',
            Stance::Neutral => 'E',
        });
        letters.collect()
    };
    assert_eq!(
        [3, 4, 5, 6, 7, 8].map(given),
        ["POE", "POEE", "PPOOE", "PPOOEE", "PPPOOOE", "PPPOOOEE"]
    );
}
