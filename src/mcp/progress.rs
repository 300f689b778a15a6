//! How far a running debate is, in a sentence and in percent.

use roundtable_engine::event::{Entry, Event, Setup};
use roundtable_engine::transcript::Planned;

use crate::server::operations::Speaker;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Progress {
    /// From 0 to 99.
    pub(super) percent: f64,
    /// Such as `round 2 of 3–5: skeptic`.
    pub(super) message: String,
}

/// The number of rounds if the protocol plans none: answer, rank, conclude.
const DEFAULT_ROUNDS: u32 = 3;
const MAX_PERCENT: f64 = 99.0;

impl Progress {
    pub(super) fn of(setup: Option<&Setup>, entries: &[Entry], speakers: &[Speaker]) -> Self {
        let Some(setup) = setup else {
            return Self::queued();
        };
        let planned = Planned::of(setup);
        let most = planned
            .map_or(DEFAULT_ROUNDS, |planned| planned.most)
            .max(1);
        let finished = entries.iter().filter_map(|entry| match &entry.event {
            Event::StepFinished(step) => Some(step.call.round),
            Event::StepFailed(step) => Some(step.call.round),
            _ => None,
        });
        let finished: Vec<u32> = finished.collect();
        let current = speakers.iter().map(|speaker| speaker.round).max();
        let current = current.or(finished.iter().copied().max());
        let Some(current) = current else {
            return Self::queued();
        };
        let done = finished.iter().filter(|round| **round == current).count();
        let seats = setup.seats.len().max(done + speakers.len()).max(1);
        let share = f64::from(u32::try_from(done).unwrap_or(u32::MAX))
            / f64::from(u32::try_from(seats).unwrap_or(u32::MAX));
        let rounds = f64::from(current.saturating_sub(1)) + share;
        // The answer is written after the last round.
        let percent = 100.0 * rounds / f64::from(most + 1);
        Self {
            percent: percent.min(MAX_PERCENT),
            message: sentence(current, planned, speakers),
        }
    }

    fn queued() -> Self {
        Self {
            percent: 0.0,
            message: "starting".to_owned(),
        }
    }
}

fn sentence(round: u32, planned: Option<Planned>, speakers: &[Speaker]) -> String {
    let round = match planned {
        _ if round == 0 => "blind vote".to_owned(),
        Some(Planned { least, most }) if round <= most && round <= least && least < most => {
            format!("round {round} of {least}–{most}")
        }
        Some(Planned { most, .. }) if round <= most => format!("round {round} of {most}"),
        Some(_) => "last step".to_owned(),
        None => format!("step {round}"),
    };
    let seats: Vec<&str> = speakers.iter().map(|one| one.seat.as_str()).collect();
    if seats.is_empty() {
        round
    } else {
        format!("{round}: {}", seats.join(", "))
    }
}

#[cfg(test)]
#[path = "progress_tests.rs"]
mod tests;
