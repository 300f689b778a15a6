//! Structured summary of a round, computed from the state without a model call (M-13): consensus, agreements, unresolved
//! disagreements by agent, positions, new evidence.

use std::collections::BTreeSet;

use roundtable_core::convergence::Agreement;
use roundtable_core::state::{ClaimStatus, DebateState, Taken};
use roundtable_core::votes::{Figures, Vote};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::state::EVIDENCE_TEXT;
use crate::mode::Visibility;
use crate::tokens;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Consensus {
    High,
    Medium,
    Low,
}

impl Consensus {
    /// From the share of agreeing votes. If answers exclude each other, it is at most MEDIUM, and LOW without a majority for
    /// one of them, however the seats vote (M-17).
    fn of(figures: &Figures, is_contradicted: bool) -> Self {
        let answers = Agreement::of(&figures.answers());
        let typed = [answers.option, answers.stance].into_iter().flatten();
        let has_majority = typed
            .min_by(f64::total_cmp)
            .is_some_and(|share| share > 0.5);
        let agreement = figures.agreement().unwrap_or(0.0);
        if agreement < 0.50 || (is_contradicted && !has_majority) {
            Self::Low
        } else if agreement < 0.80 || is_contradicted {
            Self::Medium
        } else {
            Self::High
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::High => "HIGH",
            Self::Medium => "MEDIUM",
            Self::Low => "LOW",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundSummary {
    pub round: u32,
    pub consensus: Consensus,
    /// The share of ACCEPT and MINOR.
    pub agreement: f64,
    /// Whether answers exclude each other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_contradicted: bool,
    /// Accepted claims that this round introduced or settled.
    pub agreements: Vec<Point>,
    pub disagreements: Vec<Disagreement>,
    pub positions: Vec<PositionRow>,
    pub new_claims: Vec<String>,
    pub new_evidence: Vec<Point>,
    pub new_decisions: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    pub id: String,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Disagreement {
    pub claim: String,
    pub text: String,
    pub supporters: Vec<String>,
    pub opponents: Vec<String>,
    /// The newest objection.
    pub best_con: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PositionRow {
    pub agent: String,
    pub stance: Option<String>,
    pub confidence: f64,
    pub confidence_delta: f64,
    pub vote: Vote,
    pub key_point: String,
}

impl RoundSummary {
    pub fn of(state: &DebateState, taken: &Taken, figures: &Figures) -> Self {
        let round = figures.round;
        let agreement = figures.agreement().unwrap_or(0.0);
        let is_contradicted = !figures.contradictions().is_empty();
        let touched = |id: &String| {
            taken.touched.values().any(|claims| {
                let mut all = claims
                    .introduced
                    .iter()
                    .chain(&claims.reinforced)
                    .chain(&claims.challenged);
                all.any(|touched| touched == id)
            })
        };
        let accepted = state
            .claims
            .iter()
            .filter(|claim| claim.status == ClaimStatus::Accepted);
        Self {
            round,
            consensus: Consensus::of(figures, is_contradicted),
            is_contradicted,
            agreement,
            agreements: accepted
                .filter(|claim| touched(&claim.id))
                .map(|claim| Point {
                    id: claim.id.clone(),
                    text: format!("{} {}", claim.tag(), claim.text),
                })
                .collect(),
            disagreements: state.contested().map(disagreement).collect(),
            positions: state
                .agent_status
                .iter()
                .filter(|status| status.round == round)
                .map(|status| PositionRow {
                    agent: status.agent.clone(),
                    stance: status.stance.map(|stance| stance.name().to_owned()),
                    confidence: status.confidence.value(),
                    confidence_delta: status.confidence_delta,
                    vote: status.vote,
                    key_point: status.position.clone(),
                })
                .collect(),
            new_claims: taken.new_claims.clone(),
            new_evidence: state
                .evidence
                .iter()
                .filter(|evidence| taken.new_evidence.contains(&evidence.id))
                .map(|evidence| Point {
                    id: evidence.id.clone(),
                    text: evidence.title.clone(),
                })
                .collect(),
            new_decisions: taken.new_decisions.clone(),
        }
    }

    /// The summary in at most `budget` tokens. Words are shortened before ids, because the state has the claims behind the ids:
    /// an id that is not in `shown` is left out.
    pub fn text(&self, visibility: Visibility, budget: u64, shown: &BTreeSet<String>) -> String {
        let mut text = String::new();
        for words in [EVIDENCE_TEXT, 16, 10, 6, 0] {
            text = self.at(visibility, words, shown);
            if tokens::fits(&text, budget) {
                return text;
            }
        }
        // Too many ids in one round: keep the beginning.
        tokens::shorten(&text, budget)
    }

    fn at(&self, visibility: Visibility, words: u64, shown: &BTreeSet<String>) -> String {
        let share = (self.agreement * 100.0).round();
        let contradicted = if self.is_contradicted {
            ", but the answers contradict each other"
        } else {
            ""
        };
        let consensus = self.consensus.name();
        let mut lines = vec![format!("Consensus {consensus} ({share}%{contradicted})")];
        let point = |id: &str, text: &str| {
            if words == 0 {
                id.to_owned()
            } else {
                format!("{id} {}", tokens::shorten(text, words))
            }
        };
        let points = |points: &[Point]| -> Vec<String> {
            let points = points.iter();
            let kept = points.filter(|p| words > 0 || shown.contains(&p.id));
            kept.map(|p| point(&p.id, &p.text)).collect()
        };
        let ids = |ids: &[String]| -> Vec<String> {
            let ids = ids.iter().filter(|id| shown.contains(*id));
            let ids: Vec<&str> = ids.map(String::as_str).collect();
            let line = Some(ids.join(", ")).filter(|line| !line.is_empty());
            line.into_iter().collect()
        };
        let mut list = |title: &str, points: Vec<String>| {
            if !points.is_empty() {
                let separator = if words == 0 { ", " } else { "; " };
                lines.push(format!("{title}: {}", points.join(separator)));
            }
        };
        // The state has contested claims in full, so ids are enough here.
        list(
            "Unresolved",
            self.disagreements
                .iter()
                .filter(|disagreement| shown.contains(&disagreement.claim))
                .map(|disagreement| disagreement.text(visibility))
                .collect(),
        );
        list("Agreed", points(&self.agreements));
        list("New evidence", points(&self.new_evidence));
        list("New claims", ids(&self.new_claims));
        list("New decisions", ids(&self.new_decisions));
        match visibility {
            Visibility::Named => {
                for row in &self.positions {
                    lines.push(row.text(words));
                }
            }
            // Only the number: an order of positions would reveal who they belong to.
            Visibility::Anonymous => {
                lines.push(format!("{} participants spoke", self.positions.len()));
            }
        }
        lines.join("\n")
    }
}

fn disagreement(claim: &roundtable_core::state::Claim) -> Disagreement {
    Disagreement {
        claim: claim.id.clone(),
        text: claim.text.clone(),
        supporters: claim.supporters.iter().cloned().collect(),
        opponents: claim.opponents.iter().map(|o| o.seat.clone()).collect(),
        best_con: claim
            .opponents
            .iter()
            .max_by_key(|opponent| opponent.round)
            .map_or_else(String::new, |opponent| opponent.because.clone()),
    }
}

impl Disagreement {
    fn text(&self, visibility: Visibility) -> String {
        match visibility {
            Visibility::Named => {
                format!(
                    "{} ({} vs {})",
                    self.claim,
                    self.supporters.join(", "),
                    self.opponents.join(", ")
                )
            }
            Visibility::Anonymous => {
                format!(
                    "{} ({} vs {})",
                    self.claim,
                    self.supporters.len(),
                    self.opponents.len()
                )
            }
        }
    }
}

impl PositionRow {
    fn text(&self, words: u64) -> String {
        let stance = self
            .stance
            .as_deref()
            .map_or_else(String::new, |stance| format!(" {stance}"));
        let point = if words == 0 {
            String::new()
        } else {
            format!(": {}", tokens::shorten(&self.key_point, words))
        };
        format!(
            "{}{stance} {} {:.2}{point}",
            self.agent,
            self.vote.name(),
            self.confidence
        )
    }
}
