//! A critique in four steps (E-03): it names a claim, grades its evidence, brings counter-evidence of the same or a stronger
//! type, and proposes a synthesis or concedes.

use serde::{Deserialize, Serialize};

use super::{EvidenceType, Stated, Weights};

/// How a critic finds the evidence of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Strength {
    High,
    Medium,
    Low,
}

impl Strength {
    pub const ALL: [Self; 3] = [Self::High, Self::Medium, Self::Low];

    pub const fn name(self) -> &'static str {
        match self {
            Self::High => "HIGH",
            Self::Medium => "MEDIUM",
            Self::Low => "LOW",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_uppercase();
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

/// The last step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Synthesis(String),
    /// With the reason.
    Concession(String),
    Neither,
}

/// One seat's critique of one claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Critique {
    /// The id of the claim.
    pub claim: String,
    pub grade: Stated<Strength>,
    /// The types of its counter-evidence, as far as they exist and have a source.
    pub counter: Vec<EvidenceType>,
    pub answer: Answer,
}

/// What a critique does to the claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It gives the point up: from now on the critic stands for the claim.
    Concedes,
    /// From now on the critic stands against the claim.
    Contests,
    /// What it brings is weaker than what it attacks: the claim stands as it did.
    TooWeak {
        needed: EvidenceType,
    },
    NoCounterEvidence,
    /// Neither a synthesis nor a concession.
    Unfinished,
}

/// A critique and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    pub round: u32,
    pub seat: String,
    #[serde(flatten)]
    pub critique: Critique,
    pub standing: Standing,
}

/// `attacked` are the types of evidence that the claim rests on; a claim without any falls to every counter-evidence.
pub fn judge(critique: &Critique, attacked: &[EvidenceType], weights: &Weights) -> Standing {
    match &critique.answer {
        Answer::Concession(_) => return Standing::Concedes,
        Answer::Neither => return Standing::Unfinished,
        Answer::Synthesis(_) => {}
    }
    let Some(brought) = weights.strongest(critique.counter.iter().copied()) else {
        return Standing::NoCounterEvidence;
    };
    match weights.strongest(attacked.iter().copied()) {
        Some(needed) if weights.of(brought).value() < weights.of(needed).value() => {
            Standing::TooWeak { needed }
        }
        Some(_) | None => Standing::Contests,
    }
}
