//! What a debate's blind round gives: arms that cost nothing, and noise controls.

use std::collections::HashMap;

use roundtable_core::bench::{
    Arm, Cell, Key, Measure, Moves, Record, RoundMoves, Seat, Spent, Ties, movements,
};
use roundtable_core::usage::Money;
use roundtable_engine::event::Entry;

use super::{Results, spent_of};
use crate::bench::DebateMovements;
use crate::bench::blind::{self, Lender, Typed};
use crate::bench::plan::{DebateArm, Unit};
use crate::bench::run::Run;
use crate::clock;

impl Results<'_> {
    /// The debates that lend their blind answers to the noise controls of a debate, by the places of their questions.
    pub(crate) fn lenders(&self, debate: &DebateArm) -> Vec<(usize, usize)> {
        let debates: Vec<Lender<'_>> = (0..self.questions.len())
            .filter_map(|place| {
                Some(Lender {
                    place,
                    cluster: &self.questions[place].question.cluster,
                    entries: self.journal(place, &Unit::Debate(debate))?,
                })
            })
            .collect();
        blind::lenders(&debates, self.seed)
    }

    /// The noise controls that a debate can have.
    pub(crate) fn noise_runs<'u>(&self, debate: &'u DebateArm) -> Vec<Run<'u>> {
        let journal = |place| {
            self.journal(place, &Unit::Debate(debate))
                .unwrap_or_default()
        };
        let lenders = self.lenders(debate).into_iter();
        lenders
            .map(|(place, other)| Run {
                beginning: blind::beginning(journal(place), journal(other), clock::now()),
                ..Run::new(place, Unit::Noise(debate))
            })
            .collect()
    }

    /// The debate with answers to another question in its blind round. A debate in which nothing was read is its own control.
    pub(super) fn noise(&self, debate: &DebateArm) -> Option<Arm> {
        let lenders: HashMap<usize, usize> = self.lenders(debate).into_iter().collect();
        let name = format!("noise control of {}", debate.name);
        let unit = Unit::Debate(debate);
        self.arm(&name, |place| {
            if !lenders.contains_key(&place) {
                let entries = self.journal(place, &unit)?;
                let graded = self
                    .graded(place, &unit)
                    .filter(|_| !blind::was_read(entries))?;
                return self.outcome(place, graded.answer.as_deref(), graded.spent);
            }
            let graded = self.graded(place, &Unit::Noise(debate))?;
            let blind = blind::answers(self.journal(place, &unit)?).into_iter();
            let blind = blind.map(|(step, _)| {
                let spent = &step.call.spent;
                spent_of(
                    spent.usage,
                    spent.cost.map(Money::dollars),
                    spent.latency_ms,
                )
            });
            // As if it had asked for its blind answers itself.
            let spent = Spent::sum(blind.chain([graded.spent]));
            self.outcome(place, graded.answer.as_deref(), spent)
        })
    }

    /// The blind answers of a debate, if it has them: nothing is asked again.
    pub(super) fn blind(&self, debate: &DebateArm) -> Option<Record> {
        self.record(debate, |entries| {
            let blind = blind::answers(entries).into_iter();
            blind.map(|own| (0, own)).collect()
        })
    }

    /// λ of every round in which the seats of a debate answer again.
    pub(super) fn movements(&self, debate: &DebateArm) -> Vec<DebateMovements> {
        let record = self.record(debate, |entries| {
            let blind = blind::answers(entries).into_iter();
            let blind = blind.map(|own| (0, own));
            blind.chain(blind::later_answers(entries)).collect()
        });
        let moved = record.as_ref().map(movements).unwrap_or_default();
        moved
            .into_iter()
            .map(|own| DebateMovements::new(Some(&debate.name), own))
            .collect()
    }

    /// The answers of a debate's seats as a record, each with its round from 0.
    fn record(
        &self,
        debate: &DebateArm,
        answers: impl for<'e> Fn(&'e [Entry]) -> Vec<(usize, Typed<'e>)>,
    ) -> Option<Record> {
        let mut seats: Vec<Seat> = Vec::new();
        let mut rows: Vec<(usize, usize, usize, Option<String>, Spent)> = Vec::new();
        for (place, question) in self.questions.iter().enumerate() {
            let Some(entries) = self.journal(place, &Unit::Debate(debate)) else {
                continue;
            };
            for (round, (step, typed)) in answers(entries) {
                let name = &step.call.seat;
                let seat = seats.iter().position(|seat| seat.name == *name);
                let seat = seat.unwrap_or_else(|| {
                    seats.push(Seat {
                        name: name.clone(),
                        family: None,
                    });
                    seats.len() - 1
                });
                let answer = question.key.extract(typed, &step.text);
                let spent = &step.call.spent;
                let cost = spent.cost.map(Money::dollars);
                let spent = spent_of(spent.usage, cost, spent.latency_ms);
                rows.push((place, round, seat, answer, spent));
            }
        }
        if seats.len() < 2 {
            return None;
        }
        // The right answer of every question is 0; others are numbered by question. Of probabilities, the outcome is the truth.
        let is_forecast = self.measure() == Measure::Brier;
        let questions = self.questions.iter().map(|one| {
            let happened = matches!(one.key, Key::Probability { happened: true });
            (one.question.clone(), u32::from(happened))
        });
        let rounds = rows.iter().map(|(_, round, ..)| round + 1).max()?;
        let mut record = Record::new(questions.collect(), seats, rounds, is_forecast);
        let mut numbers: HashMap<(usize, String), u32> = HashMap::new();
        for (place, round, seat, answer, spent) in rows {
            let key = &self.questions[place].key;
            let probability = answer.as_deref().filter(|_| is_forecast);
            let probability = probability.and_then(|answer| answer.parse().ok());
            let answer = answer.filter(|_| !is_forecast).map(|answer| {
                if key.is_right(&answer) {
                    return 0;
                }
                let next = u32::try_from(numbers.len() + 1).unwrap_or(u32::MAX);
                *numbers.entry((place, answer)).or_insert(next)
            });
            let cell = Cell {
                answer,
                probability,
                spent,
            };
            record.set(place, round, seat, cell);
        }
        Some(record)
    }

    /// Corrections and collapses from the blind round to the result.
    pub(super) fn moves(&self, debate: &DebateArm, record: &Record) -> RoundMoves {
        let blind = record.arms(Ties::First);
        let blind = blind.first();
        let mut panel = Moves::default();
        for place in 0..self.questions.len() {
            let before = blind.and_then(|arm| arm.outcomes[place]);
            let after = self.graded(place, &Unit::Debate(debate));
            if let Some((before, after)) = before.zip(after) {
                let is_right = |answer: &str| self.questions[place].key.is_right(answer);
                let after = after.answer.is_some_and(|answer| is_right(&answer));
                panel.add(
                    Some(u32::from(before.credit < 0.5)),
                    Some(u32::from(!after)),
                    0,
                );
            }
        }
        RoundMoves {
            round: 2,
            panel,
            seats: Moves::default(),
        }
    }
}
