//! A circuit breaker.
//!
//! - Closed: every call is admitted; `failures` consecutive failures open it. Calls that were in flight when a failure was
//!   counted belong to the same outage and are not counted again: eight parallel calls that are cut off count as one.
//! - Open: every call is refused until the cooldown has passed.
//! - Half open: one trial call is admitted, and its outcome closes or reopens the breaker.
//!
//! Time is an argument, in milliseconds from any fixed origin.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Consecutive failures that open the breaker.
    pub failures: u32,
    /// How long it stays open.
    pub rest_ms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Closed {
        failures: u32,
        /// When the last failure was counted.
        last: u64,
    },
    Open {
        until: u64,
    },
    /// The trial call is in flight.
    HalfOpen,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    Call {
        at: u64,
    },
    /// The call whose outcome closes or reopens the breaker.
    Trial,
    /// Refused; `rest_ms` of the cooldown are left.
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

    /// Reports any answer, even an error reply: the provider is reachable. A call admitted before the breaker opened does not
    /// close it.
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
            // In flight when the last failure was counted: the same outage.
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

    /// Reports a call that was cancelled without an outcome. After a cancelled trial, the next call becomes the trial.
    pub fn abandoned(&mut self, admitted: Admission, now: u64) {
        if self.state == State::HalfOpen && admitted == Admission::Trial {
            self.state = State::Open { until: now };
        }
    }
}

#[cfg(test)]
#[path = "breaker_tests.rs"]
mod tests;
