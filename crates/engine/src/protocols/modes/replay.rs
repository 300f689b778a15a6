//! Folds a journal into the [`Debate`] that it records, at any point of the journal. Reports and records read the result.

use std::collections::BTreeMap;

use roundtable_core::groupthink::Diversity;
use serde::Deserialize;
use serde_json::Value;

use super::debate::{BlindVote, Debate, RoundKind};
use super::diversity;
use super::enhanced::{self, Escalation, Measurement, PersonDecision};
use super::replies::{Contribution, Evaluation};
use super::rules::Rules;
use crate::event::{Entry, Event, FinishedStep};
use crate::table::Turn;

impl Debate {
    /// `None` before the first entry, or if the rules are not those of this protocol.
    pub fn from_journal(entries: &[Entry]) -> Option<Self> {
        let setup = entries.iter().find_map(|entry| entry.event.setup())?;
        let rules: Rules = Deserialize::deserialize(&setup.rules).ok()?;
        let mut debate = Self::new(setup, &rules);
        let mut index = JournalIndex::default();
        for entry in entries {
            index.add(&entry.event);
        }
        index.replay(&mut debate);
        Some(debate)
    }
}

/// The journal by round. The order of entries is not enough: a reopened debate has steps of earlier rounds at its end.
#[derive(Default)]
struct JournalIndex {
    rounds: BTreeMap<u32, RoundKind>,
    /// By round and seat; `None` for an absent seat.
    turns: BTreeMap<(u32, String), Option<Turn<Contribution>>>,
    ballots: Vec<BlindVote>,
    evaluations: BTreeMap<u32, Evaluation>,
    diversities: BTreeMap<u32, Diversity>,
    measurements: BTreeMap<u32, Measurement>,
    decisions: BTreeMap<u32, Vec<PersonDecision>>,
}

impl JournalIndex {
    fn add(&mut self, event: &Event) {
        if let Event::RoundStarted { round, name } = event {
            self.rounds.insert(*round, RoundKind::from_name(name));
        } else if let Event::StepFinished(step) = event {
            self.add_step(step);
        } else if let Event::StepFailed(step) = event
            && step.call.step.ends_with("/speak")
        {
            let turn = (step.call.round, step.call.seat.clone());
            self.turns.insert(turn, None);
        } else if let Event::Noted { key, value, .. } = event {
            self.add_note(key, value);
        } else if let Event::Decided(decision) = event
            && let Some((round, escalation)) = Escalation::from_key(&decision.key)
        {
            let decisions = self.decisions.entry(round).or_default();
            decisions.push(PersonDecision::of(round, escalation, decision));
        }
    }

    fn add_note(&mut self, key: &str, value: &Value) {
        if let Some(round) = enhanced::round_of_key(key) {
            let measured = Deserialize::deserialize(value).ok();
            self.measurements
                .extend(measured.map(|value| (round, value)));
        } else if let Some(round) = diversity::round_of_key(key) {
            let measured = Deserialize::deserialize(value).ok();
            self.diversities
                .extend(measured.map(|value| (round, value)));
        }
    }

    fn add_step(&mut self, step: &FinishedStep) {
        let round = step.call.round;
        let seat = step.call.seat.clone();
        let reply = step.reply.clone();
        match step.call.step.rsplit('/').next().unwrap_or_default() {
            "speak" => {
                let turn = serde_json::from_value(reply).ok().map(|reply| Turn {
                    reply,
                    text: step.text.clone(),
                    remarks: step.remarks.clone(),
                    withheld: step.withheld.clone(),
                    spent: step.call.spent,
                });
                self.turns.insert((round, seat), turn);
            }
            "ballot" => {
                let ballot = serde_json::from_value(reply).ok();
                self.ballots.extend(ballot.map(|ballot| BlindVote {
                    seat,
                    ballot,
                    spent: step.call.spent,
                }));
            }
            "evaluate" => {
                let evaluation = serde_json::from_value(reply).ok();
                self.evaluations
                    .extend(evaluation.map(|value| (round, value)));
            }
            _ => {}
        }
    }

    /// Plays the rounds up to the first group of seats that is not complete: before that, ids of claims can still change.
    fn replay(mut self, debate: &mut Debate) {
        let seats = debate.panel.names();
        self.ballots
            .sort_by_key(|vote| seats.iter().position(|seat| *seat == vote.seat));
        debate.ballots = self.ballots;
        for (round, kind) in self.rounds {
            debate.start_round(round, kind);
            for group in debate.panel.groups(debate.rules.order()) {
                let turns: Option<Vec<_>> = group
                    .into_iter()
                    .map(|seat| {
                        let turn = self.turns.remove(&(round, seat.clone()))?;
                        Some((seat, turn))
                    })
                    .collect();
                let Some(turns) = turns else {
                    return;
                };
                debate.add_turns(turns);
            }
            if let Some(evaluation) = self.evaluations.remove(&round) {
                debate.apply_evaluation(evaluation);
            }
            let measured = self.measurements.remove(&round);
            debate.finish_round(self.diversities.remove(&round), measured);
            for decision in self.decisions.remove(&round).unwrap_or_default() {
                debate.add_decision(decision);
            }
        }
    }
}
