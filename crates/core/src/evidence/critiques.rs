//! Critiques (E-03). A critique names a claim, grades its evidence, gives counter-evidence of the same or a stronger type, and
//! proposes a synthesis or concedes.

use serde::{Deserialize, Serialize};

use super::{EvidenceType, Stated, Weights};

/// A critic's grade of a claim's evidence.
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
        Self::ALL
            .into_iter()
            .find(|strength| strength.name() == name)
    }
}

/// The conclusion of a critique.
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
    /// The types of its usable counter-evidence: valid types with a source.
    pub counter: Vec<EvidenceType>,
    pub answer: Answer,
}

/// The effect of a critique on the claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The critic now supports the claim.
    Concedes,
    /// The critic now opposes the claim.
    Contests,
    /// The counter-evidence is weaker than the claim's: no effect.
    TooWeak {
        needed: EvidenceType,
    },
    NoCounterEvidence,
    /// Neither a synthesis nor a concession.
    Unfinished,
}

/// A critique with its effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    pub round: u32,
    pub seat: String,
    #[serde(flatten)]
    pub critique: Critique,
    pub standing: Standing,
}

/// `attacked` are the types of the claim's evidence. A claim without evidence is contested by any counter-evidence.
pub fn judge(critique: &Critique, attacked: &[EvidenceType], weights: &Weights) -> Standing {
    match &critique.answer {
        Answer::Concession(_) => return Standing::Concedes,
        Answer::Neither => return Standing::Unfinished,
        Answer::Synthesis(_) => {}
    }
    let Some(counter) = weights.strongest(critique.counter.iter().copied()) else {
        return Standing::NoCounterEvidence;
    };
    match weights.strongest(attacked.iter().copied()) {
        Some(needed) if weights.of(counter).value() < weights.of(needed).value() => {
            Standing::TooWeak { needed }
        }
        Some(_) | None => Standing::Contests,
    }
}
