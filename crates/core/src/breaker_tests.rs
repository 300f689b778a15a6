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
fn c07_it_opens_at_the_third_consecutive_failure() {
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
fn c07_it_admits_one_trial_after_the_cooldown() {
    let mut breaker = failing(3);
    assert_eq!(Admission::Refused { rest_ms: 1 }, breaker.admit(999));
    assert_eq!(Admission::Trial, breaker.admit(1000));
    assert_eq!(Admission::Refused { rest_ms: 0 }, breaker.admit(1001));
}

#[test]
fn c07_the_trial_closes_or_reopens_it() {
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
fn c07_calls_admitted_before_it_opened_change_nothing() {
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
    // A call admitted at the moment of the last failure, not before it, counts again.
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
    /// A provider that never answers gets at most `failures` calls, then one trial per cooldown.
    #[test]
    fn c07_a_failing_provider_gets_one_trial_per_cooldown(steps in prop::collection::vec(0_u64..400, 1..200)) {
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
