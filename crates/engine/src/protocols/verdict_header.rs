//! The part of a verdict that is the same for every protocol: state, failed seats, usage and next actions, folded from the journal.

use roundtable_core::format::counted;

use super::outcome::rounds_and_phases;
use super::record_header::DebateStatus;
use super::scrutiny::Scrutiny;
use crate::event::{Entry, Event, State};
use crate::remarks::{plain_reason, skipped};
use crate::report::{Badge, BadgeKind, NextAction, SeatFailure, Tone, Verdict, VerdictUsage};
use crate::table::{Missing, busy_ms};
use crate::totals::Totals;
use crate::transcript::capital;

/// The verdict without anything that only the protocol knows. Its badge is that of a debate without an answer.
pub(super) fn header(entries: &[Entry]) -> Verdict {
    let status = DebateStatus::of(entries);
    let failures = failures(entries);
    let sum = Totals::of(entries).debate;
    let ran_out = status.end.is_some_and(crate::event::End::ran_out);
    Verdict {
        state: status.state,
        badge: no_answer(status.state),
        answer: None,
        confidence: None,
        changed: None,
        dissent: Vec::new(),
        caveats: Vec::new(),
        figures: Vec::new(),
        ending: None,
        actions: actions(status.state, ran_out, !failures.is_empty()),
        failures,
        rounds: rounds(entries),
        usage: VerdictUsage {
            calls: sum.calls,
            input_tokens: sum.usage.input,
            output_tokens: sum.usage.output,
            cost: sum.cost,
            duration_ms: busy_ms(entries),
        },
    }
}

/// The badge of a finished answer; `None` for verdicts of earlier versions.
pub(super) fn badge(scrutiny: Option<&Scrutiny>) -> Badge {
    let Some(scrutiny) = scrutiny else {
        let text = "Not recorded whether it was challenged";
        return Badge::new(BadgeKind::Unknown, text, Tone::Quiet);
    };
    match scrutiny {
        Scrutiny::Challenged { objections, open } => {
            let all = counted(*objections, "objection");
            match open {
                Some(0) => Badge::new(
                    BadgeKind::Challenged,
                    format!("Challenged: {all}, {objections} settled"),
                    Tone::Good,
                ),
                Some(open) => Badge::new(
                    BadgeKind::Contested,
                    format!("Challenged: {all}, {open} open"),
                    Tone::Caution,
                ),
                None => Badge::new(
                    BadgeKind::Challenged,
                    format!("Challenged: {all}"),
                    Tone::Plain,
                ),
            }
        }
        Scrutiny::Unanimous => Badge::new(
            BadgeKind::Unanimous,
            "Unanimous, blind: nobody objected",
            Tone::Caution,
        ),
        Scrutiny::NotChallenged { why } => Badge::new(
            BadgeKind::NotChallenged,
            format!("Not challenged: {why}"),
            Tone::Critical,
        ),
    }
}

/// The badge of a draft. If the debate stopped in the middle, it says so first.
pub(super) fn draft_badge(verdict: &Verdict, text: &str, tone: Tone) -> Badge {
    match verdict.state {
        State::Queued | State::Running => Badge::new(BadgeKind::Draft, text, tone),
        _ => {
            let text = format!("{}: {text}", verdict.badge.text);
            Badge::new(BadgeKind::Draft, text, tone)
        }
    }
}

/// The seat's name for people.
pub(super) fn title_of(entries: &[Entry], seat: &str) -> String {
    let setup = entries.iter().find_map(|entry| entry.event.setup());
    let mut seats = setup.into_iter().flat_map(|setup| &setup.seats);
    seats
        .find(|seated| seated.seat.name == seat)
        .map_or_else(|| capital(seat), |seated| seated.seat.title.clone())
}

fn no_answer(state: State) -> Badge {
    let (kind, text, tone) = match state {
        State::Queued => (BadgeKind::Draft, "Waiting for a free slot", Tone::Quiet),
        State::Running => (BadgeKind::Draft, "No draft yet", Tone::Quiet),
        State::Waiting => (BadgeKind::Draft, "Waiting for a decision", Tone::Caution),
        State::Cancelled => (BadgeKind::NoAnswer, "Cancelled", Tone::Quiet),
        State::Interrupted => (BadgeKind::NoAnswer, "Interrupted", Tone::Caution),
        State::Complete | State::Partial | State::Failed => {
            (BadgeKind::NoAnswer, "No answer", Tone::Critical)
        }
    };
    Badge::new(kind, text, tone)
}

fn actions(state: State, ran_out: bool, has_failures: bool) -> Vec<NextAction> {
    let first = match state {
        State::Waiting => Some(NextAction::Decide),
        State::Partial if ran_out => Some(NextAction::RaiseLimit),
        State::Partial | State::Failed if has_failures => Some(NextAction::Retry),
        State::Failed | State::Cancelled | State::Interrupted => Some(NextAction::Resume),
        State::Queued | State::Running | State::Partial | State::Complete => None,
    };
    let keeps = matches!(state, State::Complete | State::Partial);
    let keeps = keeps.then_some([NextAction::Export, NextAction::Rate]);
    let always = first.into_iter().chain([NextAction::Read]);
    always.chain(keeps.into_iter().flatten()).collect()
}

fn rounds(entries: &[Entry]) -> u32 {
    let started = entries.iter().map(|entry| match &entry.event {
        Event::RoundStarted { round, .. } => *round,
        _ => 0,
    });
    started.max().unwrap_or(0)
}

/// The steps that failed and did not succeed later, by seat and reason.
fn failures(entries: &[Entry]) -> Vec<SeatFailure> {
    let mut failed: Vec<Missing> = Vec::new();
    for entry in entries {
        if let Some(step) = entry.event.finished() {
            failed.retain(|other| other.step != step.call.step);
        } else if let Some(step) = entry.event.failed() {
            failed.retain(|other| other.step != step.call.step);
            failed.push(Missing {
                step: step.call.step.clone(),
                seat: step.call.seat.clone(),
                reason: step.reason.clone(),
            });
        }
    }
    let mut groups: Vec<Vec<Missing>> = Vec::new();
    for step in failed {
        // A seat that is not asked because its provider failed before has no reason of its own.
        let same = |group: &&mut Vec<Missing>| {
            let first = group.first();
            first.is_some_and(|first| {
                let same_reason = plain_reason(&first.reason) == plain_reason(&step.reason);
                first.seat == step.seat && (same_reason || skipped(&step.reason).is_some())
            })
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(step),
            None => groups.push(vec![step]),
        }
    }
    let failures = groups.iter().filter_map(|group| {
        let first = group.first()?;
        let title = title_of(entries, &first.seat);
        Some(SeatFailure {
            seat: first.seat.clone(),
            text: format!("{title} gave no answer{}", rounds_and_phases(group)),
            reason: plain_reason(&first.reason),
        })
    });
    failures.collect()
}

#[cfg(test)]
#[path = "verdict_header_tests.rs"]
mod tests;
