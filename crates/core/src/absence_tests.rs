#![expect(clippy::float_cmp, reason = "the figures are exact, or rounded before")]

use super::*;

fn mark(value: u8) -> OutOfTen {
    OutOfTen::new(value).unwrap()
}

/// C-06: unchanged if nothing is missing, otherwise lower, and never below 1.
#[test]
fn c06_missing_steps_lower_the_confidence() {
    assert_eq!(lowered(mark(8), 8, 0), mark(8));
    assert_eq!(lowered(mark(8), 8, 1), mark(7));
    assert_eq!(
        lowered(mark(8), 100, 1),
        mark(7),
        "rounding must not hide a missing step"
    );
    assert_eq!(lowered(mark(8), 4, 2), mark(4));
    assert_eq!(lowered(mark(8), 3, 3), mark(1));
    assert_eq!(lowered(mark(1), 3, 1), mark(1));
}

#[test]
fn c06_missing_steps_lower_a_confidence_by_their_share() {
    let of =
        |stated, asked, missing| scaled(Confidence::new(stated).unwrap(), asked, missing).value();
    assert_eq!(of(0.8, 20, 0), 0.8);
    assert_eq!(of(0.8, 20, 1), 0.76);
    assert_eq!(of(0.8, 20, 20), 0.0);
}
