//! C-07: when a breaker opens and closes.

use proptest::prelude::*;

use super::*;

const SETTINGS: Settings = Settings {
    failures: 3,
    rest_ms: 1000,
};

fn failing(times: u32) -> Breaker {
    let mut breaker = Breaker::new(SETTINGS);
    for _ in 0..times {
        let admitted = breaker.admit(0);
        breaker.failed(admitted, 0);
    }
    breaker
}

#[test]
fn c07_it_opens_with_the_third_failure_in_a_row_and_not_before() {
    assert_eq!(
        State::Closed {
            failures: 2,
            last: 0
        },
        failing(2).state()
    );
    assert_eq!(State::Open { until: 1000 }, failing(3).state());
    let mut breaker = failing(2);
    breaker.answered(Admission::Call { at: 0 });
    breaker.failed(Admission::Call { at: 0 }, 0);
    assert_eq!(
        State::Closed {
            failures: 1,
            last: 0
        },
        breaker.state()
    );
}

#[test]
fn c07_it_rests_its_time_and_then_lets_one_call_through() {
    let mut breaker = failing(3);
    assert_eq!(Admission::Refused { rest_ms: 1 }, breaker.admit(999));
    assert_eq!(Admission::Trial, breaker.admit(1000));
    assert_eq!(Admission::Refused { rest_ms: 0 }, breaker.admit(1001));
}

#[test]
fn c07_the_call_that_is_let_through_decides() {
    let mut breaker = failing(3);
    breaker.admit(1000);
    breaker.answered(Admission::Trial);
    assert_eq!(
        State::Closed {
            failures: 0,
            last: 0
        },
        breaker.state()
    );

    let mut breaker = failing(3);
    breaker.admit(1000);
    breaker.failed(Admission::Trial, 1200);
    assert_eq!(State::Open { until: 2200 }, breaker.state());

    let mut breaker = failing(3);
    breaker.admit(1000);
    breaker.abandoned(Admission::Trial, 1200);
    assert_eq!(Admission::Trial, breaker.admit(1200));
}

#[test]
fn c07_calls_from_before_it_opened_change_nothing() {
    let mut breaker = failing(3);
    breaker.answered(Admission::Call { at: 0 });
    breaker.failed(Admission::Call { at: 0 }, 500);
    breaker.abandoned(Admission::Call { at: 0 }, 500);
    assert_eq!(State::Open { until: 1000 }, breaker.state());
    breaker.admit(1000);
    breaker.answered(Admission::Call { at: 0 });
    breaker.failed(Admission::Call { at: 0 }, 1001);
    assert_eq!(State::HalfOpen, breaker.state());
}

#[test]
fn c07_calls_that_fail_together_count_once() {
    let mut breaker = Breaker::new(SETTINGS);
    let together: Vec<Admission> = (0..8).map(|_| breaker.admit(10)).collect();
    for (admitted, at) in together.into_iter().zip(11..) {
        breaker.failed(admitted, at);
    }
    assert_eq!(
        State::Closed {
            failures: 1,
            last: 11
        },
        breaker.state()
    );
    // One that begins at the very moment, and not before, is another.
    breaker.failed(Admission::Call { at: 10 }, 30);
    breaker.failed(Admission::Call { at: 11 }, 30);
    assert_eq!(
        State::Closed {
            failures: 2,
            last: 30
        },
        breaker.state()
    );
}

proptest! {
    /// Whatever happens, there is at most one trial at a time, and a dead one is let alone but for trials.
    #[test]
    fn c07_a_dead_one_is_called_at_most_once_in_its_rest(steps in prop::collection::vec(0_u64..400, 1..200)) {
        let mut breaker = Breaker::new(SETTINGS);
        let (mut now, mut calls, mut last_trial) = (0, 0_u32, None::<u64>);
        for step in steps {
            now += step;
            match breaker.admit(now) {
                Admission::Call { at } => {
                    calls += 1;
                    breaker.failed(Admission::Call { at }, now);
                }
                Admission::Trial => {
                    prop_assert!(last_trial.is_none_or(|last| now >= last + SETTINGS.rest_ms));
                    last_trial = Some(now);
                    breaker.failed(Admission::Trial, now);
                }
                Admission::Refused { rest_ms } => prop_assert!(rest_ms <= SETTINGS.rest_ms),
            }
        }
        prop_assert!(calls <= SETTINGS.failures);
    }
}
