//! A circuit breaker: who fails again and again is left alone for a while, then tried once before it is trusted again.
//!
//! Closed, every call is let through; so many failures in a row open it. Calls that were under way together when one of
//! them failed tell of the same mishap and count once: a panel of eight that is cut off at one moment has failed once. Open, every call is refused until it has rested.
//! Then it is half open: one call is let through, and its outcome closes or opens it. Time is an argument, in
//! milliseconds from whenever the caller counts.

/// When it opens and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Failures in a row.
    pub failures: u32,
    pub rest_ms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Closed {
        failures: u32,
        /// When the last of them was counted.
        last: u64,
    },
    Open {
        until: u64,
    },
    /// One call is under way that decides.
    HalfOpen,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    Call {
        at: u64,
    },
    /// The one call that decides whether it closes.
    Trial,
    /// Not before so many milliseconds have passed.
    Refused {
        rest_ms: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Breaker {
    settings: Settings,
    state: State,
}

impl Breaker {
    pub const fn new(settings: Settings) -> Self {
        Self {
            settings,
            state: State::Closed {
                failures: 0,
                last: 0,
            },
        }
    }

    pub const fn state(&self) -> State {
        self.state
    }

    pub fn admit(&mut self, now: u64) -> Admission {
        match self.state {
            State::Closed { .. } => Admission::Call { at: now },
            State::Open { until } if now < until => Admission::Refused {
                rest_ms: until - now,
            },
            State::Open { .. } => {
                self.state = State::HalfOpen;
                Admission::Trial
            }
            State::HalfOpen => Admission::Refused { rest_ms: 0 },
        }
    }

    /// It answered, with whatever: it is alive. A call that was let through before it opened does not close it.
    pub fn answered(&mut self, admitted: Admission) {
        match (self.state, admitted) {
            (State::Closed { .. }, _) | (State::HalfOpen, Admission::Trial) => {
                self.state = State::Closed {
                    failures: 0,
                    last: 0,
                };
            }
            (State::Open { .. } | State::HalfOpen, _) => {}
        }
    }

    pub fn failed(&mut self, admitted: Admission, now: u64) {
        let open = State::Open {
            until: now.saturating_add(self.settings.rest_ms),
        };
        match (self.state, admitted) {
            (State::Closed { failures, last }, Admission::Call { at })
                if failures > 0 && at < last => {}
            (State::Closed { failures, .. }, _) => {
                let failures = failures.saturating_add(1);
                self.state = if failures >= self.settings.failures {
                    open
                } else {
                    State::Closed {
                        failures,
                        last: now,
                    }
                };
            }
            (State::HalfOpen, Admission::Trial) => self.state = open,
            (State::Open { .. } | State::HalfOpen, _) => {}
        }
    }

    /// The call was given up before it showed anything: whoever comes next may try.
    pub fn abandoned(&mut self, admitted: Admission, now: u64) {
        if self.state == State::HalfOpen && admitted == Admission::Trial {
            self.state = State::Open { until: now };
        }
    }
}

#[cfg(test)]
#[path = "breaker_tests.rs"]
mod tests;
