//! The changes one reply makes to the debate state, before they are applied.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bounded::Confidence;
use crate::citations::{self, CitationFault, Reference};
use crate::labels::{self, Label, LabelFault};
use crate::stance::Stance;
use crate::votes::Vote;

/// A claim as a seat puts it forward, without an id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct NewClaim {
    /// One statement that can be understood alone, in at most 30 tokens.
    #[schemars(length(min = 1, max = 240))]
    pub text: String,
    pub label: Label,
    /// Numbers of your reference list: [1], [1][2] or [1-3]. Empty where there is none.
    #[serde(default)]
    #[schemars(length(max = 40))]
    pub citations: String,
}

/// An objection to a claim that is on the table. Dissent points at a conflict of facts or a gap in an inference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Objection {
    /// The id of the claim.
    #[schemars(length(min = 1, max = 12))]
    pub claim: String,
    pub ground: Ground,
    /// Where the conflict or the gap is.
    #[schemars(length(min = 1, max = 240))]
    pub because: String,
    /// The id of the claim or evidence that stands against it, where there is one.
    #[serde(default)]
    #[schemars(length(max = 12))]
    pub counter: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Ground {
    FactConflict,
    InferenceGap,
}

impl Ground {
    pub const fn name(self) -> &'static str {
        match self {
            Self::FactConflict => "FACT conflict",
            Self::InferenceGap => "INFER gap",
        }
    }
}

/// All changes of one seat in one round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Moves {
    /// In a sentence or two.
    pub position: String,
    pub confidence: Confidence,
    pub vote: Vote,
    /// The required change, if the vote is BLOCKER.
    pub blocker: Option<String>,
    pub stance: Option<Stance>,
    /// The answer the seat supports, in a few words.
    pub alignment: Option<String>,
    pub estimate: Option<f64>,
    pub claims: Vec<NewClaim>,
    pub references: Vec<Reference>,
    /// Ids of claims and decisions.
    pub supports: Vec<String>,
    pub opposes: Vec<Objection>,
    pub retracts: Vec<String>,
    pub decisions: Vec<String>,
    pub concern: Option<String>,
}

/// A violation of the rules for labels or citations (M-03, M-04).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    #[error(transparent)]
    Label(LabelFault),
    #[error(transparent)]
    Citation(CitationFault),
}

impl Moves {
    /// The moves with changed words of what the seat says for itself: position, BLOCKER, concern.
    pub(super) fn map_statements(&self, change: impl Fn(&str) -> String) -> Self {
        Self {
            position: change(&self.position),
            blocker: self.blocker.as_deref().map(&change),
            concern: self.concern.as_deref().map(&change),
            ..self.clone()
        }
    }

    /// Whether a text is a citation such as `[1]` of the reply's own list.
    pub(super) fn lists(&self, citation: &str) -> bool {
        let cited = citations::parse(citation).numbers;
        let is_listed = |number: &u32| self.references.iter().any(|r| r.number == *number);
        !cited.is_empty() && cited.iter().all(is_listed)
    }

    /// The numbers a claim cites that are on the reply's own reference list.
    pub(super) fn cited_by(&self, claim: &NewClaim) -> BTreeSet<u32> {
        let cited = citations::parse(&claim.citations).numbers;
        let listed = |number: &u32| self.references.iter().any(|r| r.number == *number);
        cited.into_iter().filter(listed).collect()
    }

    /// All faults of labels and citations, in the claims and in the text of the argument.
    pub fn faults(&self, argument: &str) -> Vec<Fault> {
        let mut faults: Vec<Fault> = Vec::new();
        let mut cited = citations::parse(argument);
        for claim in &self.claims {
            let own = citations::parse(&claim.citations);
            let is_cited = !self.cited_by(claim).is_empty();
            // A number that is not on the list is reported once, as a citation fault.
            let has_citation = is_cited || !own.numbers.is_empty();
            faults.extend(labels::check(claim.label, has_citation, &claim.text).map(Fault::Label));
            cited.numbers.extend(own.numbers);
            cited.strange.extend(own.strange);
            let leftover = claim.citations.trim();
            let is_read = leftover.is_empty() || !citations::parse(leftover).numbers.is_empty();
            if !is_read && !cited.strange.iter().any(|text| text == leftover) {
                cited.strange.push(leftover.to_owned());
            }
        }
        faults.extend(labels::check_text(argument).into_iter().map(Fault::Label));
        let wrong = citations::check(&cited, &self.references);
        faults.extend(wrong.into_iter().map(Fault::Citation));
        faults
    }
}
