//! A debate of the modes, folded from its journal at any moment.

use std::collections::{BTreeMap, HashSet};

use roundtable_core::groupthink::Diversity;

use super::checks::Kind;
use super::debate::{Cast, Debate};
use super::replies::{Ballot, Contribution, Evaluation};
use super::rules::Rules;
use crate::event::{Entry, Event, FinishedStep};
use crate::table::Turn;

/// `None` before the first entry, or where the rules are not those of the modes.
pub fn followed(entries: &[Entry]) -> Option<Debate> {
    let setup = entries.iter().find_map(|entry| entry.event.setup())?;
    let rules: Rules = serde_json::from_value(setup.rules.clone()).ok()?;
    let mut follower = Follower {
        debate: Debate::new(setup, &rules),
        said: BTreeMap::new(),
        diversity: None,
        taken: 0,
    };
    // A step that failed before the debate was reopened, and was made good, has not failed.
    let finished: HashSet<&str> = entries
        .iter()
        .filter_map(|entry| finished_step(&entry.event))
        .collect();
    for entry in entries {
        let is_made_good = matches!(&entry.event, Event::StepFailed(step) if finished.contains(step.call.step.as_str()));
        if !is_made_good {
            follower.take_up(&entry.event);
        }
    }
    follower.close();
    Some(follower.debate)
}

fn finished_step(event: &Event) -> Option<&str> {
    if let Event::StepFinished(step) = event {
        Some(&step.call.step)
    } else {
        None
    }
}

struct Follower {
    debate: Debate,
    /// Who has finished in the current round; `None` for who is absent.
    said: BTreeMap<String, Option<Turn<Contribution>>>,
    diversity: Option<Diversity>,
    /// How many groups of the current round have been taken up.
    taken: usize,
}

impl Follower {
    fn take_up(&mut self, event: &Event) {
        match event {
            Event::RoundStarted { round, name } => {
                self.close();
                self.debate.begin(*round, Kind::named(name));
            }
            Event::StepFinished(step) => self.finished(step),
            Event::StepFailed(step) if step.call.step.ends_with("/speak") => {
                self.said.insert(step.call.seat.clone(), None);
                self.flush();
            }
            Event::Noted { key, value, .. } if key.ends_with("/diversity") => {
                self.diversity = serde_json::from_value(value.clone()).ok();
            }
            Event::Opened(_)
            | Event::Noted { .. }
            | Event::StepStarted { .. }
            | Event::Chunk { .. }
            | Event::StepRestarted { .. }
            | Event::StepFailed(_)
            | Event::Ended(_)
            | Event::Reopened { .. }
            | Event::Rated { .. }
            | Event::Resolved { .. }
            | Event::Said(_)
            | Event::Asked(_)
            | Event::Decided(_) => {}
        }
    }

    fn finished(&mut self, step: &FinishedStep) {
        let verb = step.call.step.rsplit('/').next().unwrap_or_default();
        let reply = step.reply.clone();
        match verb {
            "speak" => {
                let turn = serde_json::from_value(reply).ok().map(|reply| Turn {
                    reply,
                    text: step.text.clone(),
                    remarks: step.remarks.clone(),
                    withheld: step.withheld.clone(),
                    spent: step.call.spent,
                });
                self.said.insert(step.call.seat.clone(), turn);
                self.flush();
            }
            "ballot" => {
                if let Ok(ballot) = serde_json::from_value::<Ballot>(reply) {
                    let seat = step.call.seat.clone();
                    self.debate.ballots.push(Cast {
                        seat,
                        ballot,
                        spent: step.call.spent,
                    });
                }
            }
            "evaluate" => {
                if let Ok(evaluation) = serde_json::from_value::<Evaluation>(reply) {
                    self.debate.heed(evaluation);
                }
            }
            _ => {}
        }
    }

    /// Takes up the groups that are complete, as the protocol does: before that, ids could still change.
    fn flush(&mut self) {
        let order = self.debate.rules.mode.order;
        let groups: Vec<Vec<String>> = self
            .debate
            .panel
            .groups(order)
            .into_iter()
            .map(|group| group.into_iter().map(|seat| seat.name.clone()).collect())
            .collect();
        for group in groups.into_iter().skip(self.taken) {
            if !group.iter().all(|seat| self.said.contains_key(seat)) {
                return;
            }
            self.taken += 1;
            let turns = group.into_iter().filter_map(|seat| {
                let turn = self.said.get(&seat).cloned().flatten();
                turn.map(|turn| (seat, turn))
            });
            let turns = turns.collect();
            self.debate.take(turns);
        }
    }

    fn close(&mut self) {
        let has_spoken = self
            .debate
            .rounds
            .last()
            .is_some_and(|round| !round.turns.is_empty());
        if has_spoken || self.taken > 0 {
            self.debate.close(self.diversity.take());
        }
        self.said.clear();
        self.taken = 0;
    }
}
