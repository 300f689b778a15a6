//! The panel's decision by majority, and how much it is worth (E-21).

use roundtable_core::convergence::{self, Contradiction, Group};
use roundtable_core::evidence::Level;
use roundtable_core::votes::{self, Figures};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::resolution::MinorityPosition;
use crate::algorithm::{Count, MajorityRule};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PanelDecision {
    /// HIGH if all agree; lower with a minority.
    pub level: Level,
    /// Whether the majority is sufficient. Otherwise a person decides.
    pub carried: bool,
    /// Whether the seats that spoke have no sufficient majority, silent ones aside.
    pub contested: bool,
    /// The answer of the majority; `None` if it is not sufficient.
    pub answer: Option<String>,
    /// The seats by answer, the largest group first.
    pub answers: Vec<Group>,
    /// Seats that support another answer, name none, or block.
    pub minority: Vec<MinorityPosition>,
    /// The number of seats that never spoke.
    pub silent: usize,
}

impl PanelDecision {
    /// Silent seats do not agree, and opposite stances or probabilities have no majority.
    pub fn of(figures: &Figures, rule: &MajorityRule) -> Self {
        let answers = figures.answers();
        let majority = convergence::majority(&answers);
        let is_split = figures.contradictions().iter().any(|found| {
            matches!(
                found,
                Contradiction::Stances { .. } | Contradiction::Probabilities { .. }
            )
        });
        let count = |silent: usize| {
            let minority = majority.minority.len() + silent;
            match rule.count(majority.seats.len(), minority) {
                Count::Carried(_) if is_split => (false, rule.otherwise),
                Count::Carried(level) => (true, level),
                Count::Open(level) => (false, level),
            }
        };
        let (carried, level) = count(figures.silent);
        let (is_settled, _) = count(0);
        let position = |seat: &str| {
            let mut standings = figures.standings.iter();
            let standing = standings.find(|standing| standing.seat == seat);
            standing.map_or_else(String::new, |standing| standing.position.clone())
        };
        let minority = majority.minority.into_iter();
        Self {
            level,
            carried,
            contested: !is_settled,
            answer: majority.option.filter(|_| carried),
            answers: convergence::groups(&answers),
            minority: minority
                .map(|(agent, answer)| MinorityPosition {
                    position: position(&agent),
                    agent,
                    answer,
                })
                .collect(),
            silent: figures.silent,
        }
    }

    /// Whether the majority of these figures ends a plain debate. In round 1 the minority may not have heard the others.
    pub fn ends_rounds(&self, figures: &Figures) -> bool {
        self.carried && figures.round > 1 && votes::is_accepted(figures)
    }

    /// `2 for "Use a queue", 1 for "Wait", 1 silent`
    pub fn split(&self) -> String {
        let mut parts: Vec<String> = self
            .answers
            .iter()
            .map(|group| format!("{} for \"{}\"", group.seats.len(), group.option))
            .collect();
        let untyped = self
            .minority
            .iter()
            .filter(|seat| seat.answer.is_none())
            .count();
        if untyped > 0 {
            parts.push(format!("{untyped} without a typed answer"));
        }
        if self.silent > 0 {
            parts.push(format!("{} silent", self.silent));
        }
        parts.join(", ")
    }
}
