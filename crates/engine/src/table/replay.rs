//! Index of a loaded journal by step and key, so that a resumed debate repeats no call (C-08).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use crate::event::{Decision, Entry, Event, FailedStep, FinishedStep, Setup};

#[derive(Debug, Default)]
pub(super) struct Replay {
    finished: HashMap<String, Arc<FinishedStep>>,
    failed: HashMap<String, Arc<FailedStep>>,
    notes: HashMap<String, Value>,
    questions: HashSet<String>,
    decisions: HashMap<String, Decision>,
    rounds: Vec<u32>,
    pub(super) generation: u32,
    pub(super) next_seq: u64,
    pub(super) setup: Option<Arc<Setup>>,
}

/// The recorded outcome of a step.
pub(super) enum Known<'a> {
    Finished(&'a FinishedStep),
    Failed(&'a FailedStep),
}

impl Replay {
    pub(super) fn of(entries: Vec<Entry>) -> Self {
        let mut replay = Self::default();
        let mut after_last_success: Vec<String> = Vec::new();
        for entry in entries {
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
                Event::Reopened { generation } => {
                    replay.generation = generation;
                    // Failures after the last success are retried. Earlier ones are kept, because later prompts were
                    // rendered with them.
                    for step in after_last_success.drain(..) {
                        replay.failed.remove(&step);
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
        let finished = self.finished.get(step).map(|step| Known::Finished(step));
        finished.or_else(|| self.failed.get(step).map(|step| Known::Failed(step)))
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
