//! A debate of the modes, folded from its journal at any moment.

use std::collections::BTreeMap;

use roundtable_core::groupthink::Diversity;

use serde::Deserialize;

use super::checks::Kind;
use super::debate::{BlindVote, Debate};
use super::enhanced::{Matter, Measurement, PersonDecision, round_of};
use super::replies::{Ballot, Contribution, Evaluation};
use super::rules::Rules;
use crate::event::{Entry, Event, FinishedStep};
use crate::table::Turn;

/// `None` before the first entry, or where the rules are not those of the modes.
pub fn followed(entries: &[Entry]) -> Option<Debate> {
    let setup = entries.iter().find_map(|entry| entry.event.setup())?;
    let rules: Rules = Deserialize::deserialize(&setup.rules).ok()?;
    let mut debate = Debate::new(setup, &rules);
    let mut heard = Heard::default();
    for entry in entries {
        heard.take_up(&entry.event);
    }
    heard.fold_into(&mut debate);
    Some(debate)
}

/// What the journal holds, by its place in the debate: a debate that was reopened has steps of earlier rounds at its end.
#[derive(Default)]
struct Heard {
    rounds: BTreeMap<u32, Kind>,
    /// `None` for who is absent.
    turns: BTreeMap<(u32, String), Option<Turn<Contribution>>>,
    ballots: Vec<BlindVote>,
    evaluations: BTreeMap<u32, Evaluation>,
    diversities: BTreeMap<u32, Diversity>,
    measurements: BTreeMap<u32, Measurement>,
    decisions: BTreeMap<u32, Vec<PersonDecision>>,
}

impl Heard {
    fn take_up(&mut self, event: &Event) {
        match event {
            Event::RoundStarted { round, name } => {
                self.rounds.insert(*round, Kind::named(name));
            }
            Event::StepFinished(step) => self.finished(step),
            Event::StepFailed(step) if step.call.step.ends_with("/speak") => {
                let place = (step.call.round, step.call.seat.clone());
                self.turns.insert(place, None);
            }
            Event::Noted { key, value, .. } if round_of(key).is_some() => {
                let measured = Deserialize::deserialize(value).ok();
                self.measurements.extend(round_of(key).zip(measured));
            }
            Event::Decided(decision) => {
                if let Some((round, matter)) = Matter::of_key(&decision.key) {
                    let decisions = self.decisions.entry(round).or_default();
                    decisions.push(PersonDecision::of(round, matter, decision));
                }
            }
            Event::Noted { key, value, .. } => {
                let place = key
                    .strip_prefix('r')
                    .and_then(|key| key.split_once("/diversity-of-"));
                let round = place.and_then(|(round, _)| round.parse().ok());
                if let (Some(round), Ok(value)) = (round, Deserialize::deserialize(value)) {
                    self.diversities.insert(round, value);
                }
            }
            Event::Opened(_)
            | Event::StepStarted { .. }
            | Event::Chunk { .. }
            | Event::StepRestarted { .. }
            | Event::StepFailed(_)
            | Event::Ended(_)
            | Event::Reopened { .. }
            | Event::Rated { .. }
            | Event::Resolved { .. }
            | Event::Tracked { .. }
            | Event::Assessed { .. }
            | Event::Said(_)
            | Event::Asked(_) => {}
        }
    }

    fn finished(&mut self, step: &FinishedStep) {
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
                if let Ok(ballot) = serde_json::from_value::<Ballot>(reply) {
                    let spent = step.call.spent;
                    self.ballots.push(BlindVote {
                        seat,
                        ballot,
                        spent,
                    });
                }
            }
            "evaluate" => {
                if let Ok(evaluation) = serde_json::from_value(reply) {
                    self.evaluations.insert(round, evaluation);
                }
            }
            _ => {}
        }
    }

    fn fold_into(mut self, debate: &mut Debate) {
        let seats = debate.panel.names();
        self.ballots
            .sort_by_key(|it| seats.iter().position(|seat| *seat == it.seat));
        debate.ballots = std::mem::take(&mut self.ballots);
        for (round, kind) in std::mem::take(&mut self.rounds) {
            debate.begin(round, kind);
            let groups: Vec<Vec<String>> = debate
                .panel
                .groups(debate.rules.mode.order)
                .into_iter()
                .map(|group| group.into_iter().map(|seat| seat.name.clone()).collect())
                .collect();
            for group in groups {
                // As the protocol does: before a group is complete, ids could still change.
                let turns: Option<Vec<_>> = group
                    .into_iter()
                    .map(|seat| {
                        self.turns
                            .remove(&(round, seat.clone()))
                            .map(|turn| (seat, turn))
                    })
                    .collect();
                let Some(turns) = turns else {
                    return;
                };
                debate.take(
                    turns
                        .into_iter()
                        .filter_map(|(seat, turn)| turn.map(|turn| (seat, turn)))
                        .collect(),
                );
            }
            if let Some(evaluation) = self.evaluations.remove(&round) {
                debate.heed(evaluation);
            }
            let measured = self.measurements.remove(&round);
            debate.close(self.diversities.remove(&round), measured);
            for decision in self.decisions.remove(&round).unwrap_or_default() {
                debate.decided(decision);
            }
        }
    }
}
