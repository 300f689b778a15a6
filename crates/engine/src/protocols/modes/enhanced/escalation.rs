//! Questions that a person decides (E-09, E-21).

use roundtable_core::convergence::{self, Answer};
use roundtable_core::votes::Figures;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::state::SecurityObjection;
use crate::event::Query;
use crate::protocols::modes::{ACCEPT, ANOTHER_ROUND, Debate};

/// A person's choice to continue despite a security objection, or to accept an answer despite a BLOCKER.
pub const OVERRIDE: &str = "override";

/// Why a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Escalation {
    /// An objection round changed nothing (M-08).
    Groupthink,
    DiminishingReturns,
    SecurityObjection,
    /// The answers have no majority.
    NoMajority,
}

impl Escalation {
    pub const ALL: [Self; 4] = [
        Self::Groupthink,
        Self::DiminishingReturns,
        Self::SecurityObjection,
        Self::NoMajority,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Groupthink => "groupthink",
            Self::DiminishingReturns => "diminishing-returns",
            Self::SecurityObjection => "security-objection",
            Self::NoMajority => "no-majority",
        }
    }

    /// `r3/diminishing-returns`
    fn key(self, round: u32) -> String {
        format!("r{round}/{}", self.name())
    }

    /// The round and the escalation of a decision's key.
    pub fn from_key(key: &str) -> Option<(u32, Self)> {
        let (round, name) = key.strip_prefix('r')?.split_once('/')?;
        let escalation = Self::ALL.into_iter().find(|e| e.name() == name)?;
        Some((round.parse().ok()?, escalation))
    }

    /// The question with its options. Both are journaled.
    pub fn query(self, round: u32, debate: &Debate) -> Query {
        let figures = debate.history().pop();
        let answers = figures.as_ref().map_or_else(Vec::new, Figures::answers);
        let is_split = figures.is_some_and(|figures| !figures.contradictions().is_empty());
        let blockers: Vec<String> = debate
            .state
            .open_blockers()
            .map(|blocker| format!("{}: {}", blocker.seat, blocker.text))
            .collect();
        let objected = "a round of critical objections brought no new fact and changed nothing";
        let (question, options) = match self {
            Self::SecurityObjection => (
                format!(
                    "A security objection is open ({}). Override it, or let the panel answer it in another round?",
                    open_objections(debate).join("; ")
                ),
                vec![OVERRIDE.to_owned(), ANOTHER_ROUND.to_owned()],
            ),
            Self::Groupthink if !blockers.is_empty() => (
                format!(
                    "The panel does not agree: a BLOCKER is open ({}), and {objected}. Override the BLOCKER and accept \
                     the answer, or let the panel go on for another round?",
                    blockers.join("; ")
                ),
                vec![OVERRIDE.to_owned(), ANOTHER_ROUND.to_owned()],
            ),
            Self::Groupthink if is_split => choice(
                &format!(
                    "The panel does not agree ({}), and {objected}.",
                    split(&answers)
                ),
                &answers,
            ),
            Self::Groupthink => (
                format!(
                    "The panel agrees, and {objected}. Is its agreement good enough, or should it go on?"
                ),
                vec![ACCEPT.to_owned(), ANOTHER_ROUND.to_owned()],
            ),
            Self::DiminishingReturns => choice(
                "The debate makes no progress: positions hardly move and there is no consensus.",
                &answers,
            ),
            Self::NoMajority => {
                let blocked = if blockers.is_empty() {
                    String::new()
                } else {
                    format!("; open BLOCKER: {}", blockers.join("; "))
                };
                choice(
                    &format!(
                        "There is no sufficient majority ({}{blocked}).",
                        split(&answers)
                    ),
                    &answers,
                )
            }
        };
        Query {
            key: self.key(round),
            question,
            options,
        }
    }
}

fn open_objections(debate: &Debate) -> Vec<String> {
    let objections = debate
        .enhanced
        .iter()
        .flat_map(|enhanced| &enhanced.objections);
    objections
        .filter(|objection| objection.is_open())
        .map(|SecurityObjection { seat, text, .. }| format!("{seat}: {text}"))
        .collect()
}

/// `2 for "Use a queue", 2 for "Wait"`
fn split(answers: &[Answer]) -> String {
    let groups = convergence::groups(answers);
    if groups.is_empty() {
        return "no seat names an answer".to_owned();
    }
    let each: Vec<String> = groups
        .iter()
        .map(|group| format!("{} for \"{}\"", group.seats.len(), group.option))
        .collect();
    each.join(", ")
}

/// The answers to choose from. The answer of most seats is offered only if there is one.
fn choice(why: &str, answers: &[Answer]) -> (String, Vec<String>) {
    let groups = convergence::groups(answers);
    let leading = convergence::leading_option(answers);
    let mut options = Vec::new();
    // Without any typed answer, the chair's conclusion is all there is to accept.
    if leading.is_some() || groups.is_empty() {
        options.push(ACCEPT.to_owned());
    }
    options.push(ANOTHER_ROUND.to_owned());
    for group in groups {
        if !options.contains(&group.option) {
            options.push(group.option);
        }
    }
    let accept = match &leading {
        Some(option) => format!("Accept what most stand for (\"{option}\"), choose an answer"),
        None if options.len() > 2 => "Choose an answer".to_owned(),
        None => "Accept the conclusion of the chair".to_owned(),
    };
    let question = format!("{why} {accept}, or let the panel go on for another round?");
    (question, options)
}
