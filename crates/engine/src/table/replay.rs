//! Index of a loaded journal by step and key, so that a resumed debate repeats no call (C-08).
//!
//! A debate that is played again from a failed step on uses an earlier reply again if its request is the same, and asks again if
//! the request has changed because an earlier answer now exists.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::calls::SENT_BACK;
use crate::event::{Decision, Entry, Event, FailedStep, FinishedStep, Setup};
use crate::journal::current;

#[derive(Debug, Default)]
pub(super) struct Replay {
    finished: HashMap<String, Arc<FinishedStep>>,
    failed: HashMap<String, Arc<FailedStep>>,
    notes: HashMap<String, Value>,
    /// All steps and notes, also those that no longer count.
    earlier: Vec<Event>,
    questions: HashSet<String>,
    decisions: HashMap<String, Decision>,
    rounds: Vec<u32>,
    pub(super) generation: u32,
    pub(super) next_seq: u64,
    pub(super) setup: Option<Arc<Setup>>,
}

/// The recorded outcome of a step.
pub(super) enum Known<'a> {
    Finished(&'a Arc<FinishedStep>),
    Failed(&'a FailedStep),
}

impl Replay {
    pub(super) fn of(entries: &[Entry]) -> Self {
        let mut replay = Self {
            earlier: superseded_in(entries),
            ..Self::default()
        };
        let failed_once: HashSet<&str> = entries
            .iter()
            .filter_map(|entry| match &entry.event {
                Event::StepFailed(step) => Some(step.call.step.as_str()),
                _ => None,
            })
            .collect();
        let mut after_last_success: Vec<String> = Vec::new();
        for entry in current(entries).into_owned() {
            replay.next_seq = entry.seq + 1;
            match entry.event {
                Event::Opened(setup) => replay.setup = Some(setup),
                Event::RoundStarted { round, .. } => replay.rounds.push(round),
                Event::Noted { key, value, .. } => drop(replay.notes.insert(key, value)),
                Event::StepFinished(step) => {
                    after_last_success.clear();
                    replay.finished.insert(step.call.step.clone(), step);
                }
                Event::StepFailed(step) => {
                    after_last_success.push(step.call.step.clone());
                    replay.failed.insert(step.call.step.clone(), step);
                }
                Event::Reopened { generation, .. } => {
                    replay.generation = generation;
                    // Failures after the last success are retried. Earlier ones are kept, because later prompts were
                    // rendered with them.
                    for step in after_last_success.drain(..) {
                        replay.failed.remove(&step);
                    }
                    // A step that is retried starts from the beginning, without the replies that made it fail.
                    for step in &failed_once {
                        if !replay.failed.contains_key(*step) {
                            let sent_back = format!("{step}/{SENT_BACK}");
                            replay.notes.retain(|key, _| !key.starts_with(&sent_back));
                        }
                    }
                }
                Event::Asked(query) => drop(replay.questions.insert(query.key)),
                Event::Decided(decision) => {
                    replay.decisions.insert(decision.key.clone(), decision);
                }
                _ => {}
            }
        }
        replay
    }

    pub(super) fn step(&self, step: &str) -> Option<Known<'_>> {
        let finished = self.finished.get(step).map(Known::Finished);
        finished.or_else(|| self.failed.get(step).map(|step| Known::Failed(step)))
    }

    /// An earlier reply to the same request, with the notes on its calls, as entries to be journaled again.
    pub(super) fn reusable(&self, step: &str, request: &str) -> Option<(Vec<Event>, FinishedStep)> {
        let mut earlier = self.earlier.iter().rev();
        let reply = earlier.find_map(|event| {
            let finished = event.finished()?;
            let is_same = finished.call.step == step && finished.call.request == request;
            is_same.then(|| FinishedStep {
                reused: true,
                ..FinishedStep::clone(finished)
            })
        })?;
        let belongs = |event: &&Event| match event {
            Event::Noted { key, value, .. } => {
                let rest = key.strip_prefix(step);
                rest.is_some_and(|rest| rest.starts_with('/')) && value["request"] == request
            }
            _ => false,
        };
        // The same exchange may have been copied before: the last copy counts.
        let mut notes: Vec<Event> = Vec::new();
        for note in self.earlier.iter().filter(belongs) {
            notes.retain(|other| other.key(0) != note.key(0));
            notes.push(note.clone());
        }
        Some((notes, reply))
    }

    pub(super) fn note(&self, key: &str) -> Option<&Value> {
        self.notes.get(key)
    }

    pub(super) fn is_asked(&self, key: &str) -> bool {
        self.questions.contains(key)
    }

    pub(super) fn decision(&self, key: &str) -> Option<&Decision> {
        self.decisions.get(key)
    }

    pub(super) fn has_round(&self, round: u32) -> bool {
        self.rounds.contains(&round)
    }
}

/// Steps and notes that a reopened debate has left behind.
fn superseded_in(entries: &[Entry]) -> Vec<Event> {
    let restarted = entries
        .iter()
        .rposition(|entry| matches!(entry.event, Event::Reopened { from: Some(_), .. }));
    let before = restarted.map_or(&[][..], |index| &entries[..index]);
    let left = before.iter().map(|entry| &entry.event);
    left.filter(|event| matches!(event, Event::StepFinished(_) | Event::Noted { .. }))
        .cloned()
        .collect()
}
