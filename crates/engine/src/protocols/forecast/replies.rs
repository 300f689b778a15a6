//! The replies of the seats. Models write the fields in this order; doc comments and names are part of the schema they get.

use std::collections::BTreeMap;
use std::fmt::Write;

use roundtable_core::bounded::{Confidence, Probability};
use roundtable_core::distinct::distinct;
use roundtable_core::forecast::{Distribution, DistributionError};
use roundtable_core::format::percent;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::contract::{Impact, Precedent};
use super::percentages;
use crate::reply::Reply;

/// One role's turn. What a round does not ask for is left out of its schema.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Argument {
    /// The case itself.
    #[schemars(length(min = 1, max = 20_000))]
    pub argument: String,
    /// Data or precedents it rests on, each a short reference.
    #[schemars(length(max = 8))]
    pub evidence: Vec<String>,
    /// The id of the outcome it supports.
    pub supports: String,
    /// The roles it contradicts.
    #[serde(default)]
    pub rebuts: Vec<String>,
    /// The ids of earlier points it answers or builds on.
    #[serde(default)]
    pub refers_to: Vec<String>,
    #[serde(default)]
    #[schemars(length(max = 6))]
    pub precedents: Vec<Precedent>,
    /// From 0 to 1 for every outcome, summing to 1.
    pub probabilities: BTreeMap<String, Probability>,
    pub confidence: Confidence,
    /// The point in one line, as later rounds will see it.
    #[schemars(length(min = 1, max = 300))]
    pub gist: String,
}

/// What an argument is worth by the rubric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scoring {
    /// One sentence.
    #[schemars(length(max = 1000))]
    pub reason: String,
    pub scores: BTreeMap<String, Probability>,
}

/// The debate for a reader who was not there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Synthesis {
    /// In Markdown.
    #[schemars(length(min = 1, max = 8000))]
    pub summary: String,
    #[schemars(length(max = 10))]
    pub rounds: Vec<RoundNotes>,
    #[schemars(length(max = 8))]
    pub disagreements: Vec<Dispute>,
    #[schemars(length(max = 8))]
    pub insights: Vec<NotedInsight>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct RoundNotes {
    pub round: u32,
    /// Points of contention.
    #[schemars(length(max = 6))]
    pub key_disagreements: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Dispute {
    #[schemars(length(min = 1, max = 300))]
    pub topic: String,
    #[schemars(length(max = 12))]
    pub positions: Vec<DisputedPosition>,
    pub resolved: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct DisputedPosition {
    pub role: String,
    #[schemars(length(max = 400))]
    pub stance: String,
    pub strength: Probability,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct NotedInsight {
    #[schemars(length(min = 1, max = 600))]
    pub insight: String,
    pub source_role: String,
    pub round: u32,
    pub impact: Impact,
    pub affected_outcomes: Vec<String>,
}

impl Argument {
    /// The probabilities in the order of `outcomes`.
    pub fn distribution(&self, outcomes: &[String]) -> Result<Distribution, DistributionError> {
        let (found, expected) = (self.probabilities.len(), outcomes.len());
        let values = outcomes
            .iter()
            .map(|id| Some(self.probabilities.get(id)?.value()));
        let values: Option<Vec<f64>> = values.collect();
        let values = values.filter(|_| found == expected);
        let values = values.ok_or(DistributionError::WrongCount { found, expected })?;
        Distribution::normalised(&values)
    }

    /// Faults that make the argument unusable: an invalid distribution or an unknown outcome.
    pub(super) fn unusable(&self, outcomes: &[String]) -> Vec<String> {
        let mut faults = Vec::new();
        let known = outcomes.join(", ");
        if !outcomes.contains(&self.supports) {
            faults.push(format!(
                "'supports' is '{}', which is no outcome; the outcomes are: {known}",
                self.supports
            ));
        }
        let mut missing = outcomes.to_vec();
        missing.retain(|id| !self.probabilities.contains_key(id));
        let mut unknown: Vec<String> = self.probabilities.keys().cloned().collect();
        unknown.retain(|id| !outcomes.contains(id));
        if !missing.is_empty() {
            let missing = missing.join(", ");
            faults.push(format!("probabilities are missing for: {missing}"));
        }
        if !unknown.is_empty() {
            faults.push(format!("there is no outcome: {}", unknown.join(", ")));
        }
        if missing.is_empty() && unknown.is_empty() {
            let improper = self.distribution(outcomes).err();
            faults.extend(improper.map(|improper| improper.to_string()));
        }
        faults
    }

    /// The other roles that the argument contradicts.
    pub(super) fn rebutted(&self, role: &str, roles: &[String]) -> Vec<String> {
        let others = self.rebuts.iter();
        let others = others.filter(|other| *other != role && roles.contains(other));
        distinct(others.cloned())
    }
}

impl Reply for Argument {
    const NAME: &'static str = "argument";
    const MAIN: &'static str = "argument";

    fn rewrite(reply: &mut Value) {
        percentages::rewrite(reply);
    }

    fn text(&self) -> String {
        let mut text = self.argument.clone();
        // Writing to a String cannot fail.
        let _ = write!(text, "\n\n**Supports {}**", self.supports);
        let shares = self.probabilities.iter();
        let shares = shares.map(|(id, share)| format!("{id} {}", percent(share.value())));
        let _ = write!(text, " ({})", shares.collect::<Vec<_>>().join(", "));
        let mut list = |title: &str, items: &[String]| {
            if !items.is_empty() {
                let _ = write!(text, "\n\n{title}: {}", items.join("; "));
            }
        };
        list("Evidence", &self.evidence);
        list("Rebuts", &distinct(self.rebuts.iter().cloned()));
        list("Refers to", &distinct(self.refers_to.iter().cloned()));
        for precedent in &self.precedents {
            let _ = write!(
                text,
                "\n\n- {} ({}): {}",
                precedent.event, precedent.date, precedent.outcome
            );
        }
        text
    }
}

impl Reply for Scoring {
    const NAME: &'static str = "scoring";
    const MAIN: &'static str = "reason";

    fn text(&self) -> String {
        let scores = self.scores.iter();
        let scores: Vec<_> = scores
            .map(|(name, score)| format!("{name} {score}"))
            .collect();
        format!("{}\n\n{}", self.reason, scores.join(", "))
    }
}

impl Reply for Synthesis {
    const NAME: &'static str = "forecast_synthesis";
    const MAIN: &'static str = "summary";

    fn text(&self) -> String {
        self.summary.clone()
    }
}
