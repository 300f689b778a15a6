//! Questions that a person decides (E-09, E-21).

use roundtable_core::convergence;
use serde::{Deserialize, Serialize};

use super::state::{EnhancedState, SecurityObjection};
use crate::event::Query;
use crate::protocols::modes::{ACCEPT, ANOTHER_ROUND};

/// A person's choice to continue despite a security objection.
pub const OVERRIDE: &str = "override";

/// Why a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Escalation {
    /// An objection round changed nothing (M-08). The only one in plain debates.
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
    pub fn query(self, round: u32, enhanced: Option<&EnhancedState>) -> Query {
        let mut options = match self {
            Self::SecurityObjection => vec![OVERRIDE.to_owned(), ANOTHER_ROUND.to_owned()],
            Self::Groupthink | Self::DiminishingReturns | Self::NoMajority => {
                vec![ACCEPT.to_owned(), ANOTHER_ROUND.to_owned()]
            }
        };
        if matches!(self, Self::DiminishingReturns | Self::NoMajority) {
            let answers = enhanced.map_or_else(Vec::new, EnhancedState::answers);
            for group in convergence::groups(&answers) {
                if !options.contains(&group.option) {
                    options.push(group.option);
                }
            }
        }
        Query {
            key: self.key(round),
            question: self.question(enhanced),
            options,
        }
    }

    fn question(self, enhanced: Option<&EnhancedState>) -> String {
        match self {
            Self::Groupthink => {
                "The panel agrees, and a round of critical objections brought no new fact and changed nothing. Is its \
                 agreement good enough, or should it go on?"
                    .to_owned()
            }
            Self::DiminishingReturns => {
                "The debate makes no progress: positions hardly move and there is no consensus. Accept what most stand \
                 for, choose an answer, or let it go on for another round?"
                    .to_owned()
            }
            Self::NoMajority => {
                "Too many seats stand apart for a majority. Accept what most stand for, choose an answer, or let the \
                 panel go on for another round?"
                    .to_owned()
            }
            Self::SecurityObjection => {
                let objections = enhanced.iter().flat_map(|enhanced| &enhanced.objections);
                let open: Vec<String> = objections
                    .filter(|objection| objection.is_open())
                    .map(|SecurityObjection { seat, text, .. }| format!("{seat}: {text}"))
                    .collect();
                format!(
                    "A security objection is open ({}). Override it, or let the panel answer it in another round?",
                    open.join("; ")
                )
            }
        }
    }
}
