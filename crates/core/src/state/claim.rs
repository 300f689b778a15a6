//! A claim of the debate, with the seats that support and oppose it.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::moves::{Ground, Objection};
use crate::labels::Label;
use crate::wording::one_line;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimStatus {
    Accepted,
    Contested,
    Retracted,
    Open,
}

impl ClaimStatus {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Contested => "contested",
            Self::Retracted => "retracted",
            Self::Open => "open",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    pub id: String,
    pub text: String,
    pub label: Label,
    /// A FACT without a valid citation is kept and marked, but does not count as a fact.
    pub cited: bool,
    pub status: ClaimStatus,
    pub introduced_round: u32,
    pub last_updated_round: u32,
    /// Ids of evidence for it.
    pub support: Vec<String>,
    /// Ids of claims and evidence against it.
    pub opposition: Vec<String>,
    pub introduced_by: String,
    pub supporters: BTreeSet<String>,
    pub opponents: Vec<Opponent>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Opponent {
    pub seat: String,
    pub ground: Ground,
    pub because: String,
    /// The claim or evidence that this seat puts against it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counter: Option<String>,
    pub round: u32,
}

impl Claim {
    pub(super) fn new(index: usize, text: &str, label: Label, round: u32, seat: &str) -> Self {
        Self {
            id: format!("C{}", index + 1),
            text: one_line(text),
            label,
            cited: false,
            status: ClaimStatus::Open,
            introduced_round: round,
            last_updated_round: round,
            support: Vec::new(),
            opposition: Vec::new(),
            introduced_by: seat.to_owned(),
            supporters: BTreeSet::new(),
            opponents: Vec::new(),
        }
    }

    pub(super) fn support_by(&mut self, round: u32, seat: &str) {
        self.opponents.retain(|opponent| opponent.seat != seat);
        self.supporters.insert(seat.to_owned());
        self.last_updated_round = round;
    }

    pub(super) fn oppose_by(
        &mut self,
        round: u32,
        seat: &str,
        objection: &Objection,
        counter: Option<String>,
    ) {
        self.supporters.remove(seat);
        self.opponents.retain(|opponent| opponent.seat != seat);
        let at = self
            .opponents
            .partition_point(|opponent| opponent.round < round || opponent.seat.as_str() < seat);
        self.opponents.insert(
            at,
            Opponent {
                seat: seat.to_owned(),
                ground: objection.ground,
                because: one_line(&objection.because),
                counter,
                round,
            },
        );
        self.last_updated_round = round;
    }

    /// The label as shown in prompts and on pages.
    pub fn tag(&self) -> &'static str {
        match (self.label, self.cited) {
            (Label::Fact, false) => "[FACT, uncited]",
            (Label::Fact, true) => "[FACT]",
            (Label::Infer, _) => "[INFER]",
            (Label::Assume, _) => "[ASSUME]",
        }
    }
}
