//! What a person is asked to decide in an enhanced debate (E-09, E-21), and what their answer means.

use roundtable_core::convergence::Group;
use serde::{Deserialize, Serialize};

use super::super::{ACCEPT, ANOTHER_ROUND};

/// What a person chooses to let a debate go on over a security objection.
pub const OVERRIDE: &str = "override";

/// Why a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Matter {
    /// Critical objections came to nothing (M-08).
    Groupthink,
    DiminishingReturns,
    SecurityObjection,
    /// Too many stand apart for a majority.
    NoMajority,
}

impl Matter {
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
    pub fn key(self, round: u32) -> String {
        format!("r{round}/{}", self.name())
    }

    /// The round and the matter of a key, where it is one of these.
    pub fn of_key(key: &str) -> Option<(u32, Self)> {
        let (round, name) = key.strip_prefix('r')?.split_once('/')?;
        let matter = Self::ALL.into_iter().find(|it| it.name() == name)?;
        Some((round.parse().ok()?, matter))
    }
}

/// What is put before the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Question {
    pub text: String,
    pub options: Vec<String>,
}

/// Each answer that seats stand for can be chosen, beside taking what most say and going on.
pub(super) fn among_answers(text: String, groups: &[Group]) -> Question {
    let mut options = vec![ACCEPT.to_owned(), ANOTHER_ROUND.to_owned()];
    for group in groups {
        if !options.contains(&group.option) {
            options.push(group.option.clone());
        }
    }
    Question { text, options }
}

pub(super) fn over_objection(objections: &[(String, String)]) -> Question {
    let told: Vec<String> = objections
        .iter()
        .map(|(seat, text)| format!("{seat}: {text}"))
        .collect();
    Question {
        text: format!(
            "A security objection is open ({}). Override it, or let the panel answer it in another round?",
            told.join("; ")
        ),
        options: vec![OVERRIDE.to_owned(), ANOTHER_ROUND.to_owned()],
    }
}
