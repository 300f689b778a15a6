//! A round's structured summary, made by the program from the state (M-13): consensus status, agreements, unresolved
//! disagreements by agent, the table of positions, new evidence. No model is asked for it.

use roundtable_core::state::{ClaimStatus, DebateState, Taken};
use roundtable_core::votes::{Figures, Vote};
use serde::{Deserialize, Serialize};

use super::state::EVIDENCE_TEXT;
use crate::mode::Visibility;
use crate::tokens;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Consensus {
    High,
    Medium,
    Low,
}

impl Consensus {
    fn of(agreement: f64) -> Self {
        if agreement >= 0.80 {
            Self::High
        } else if agreement >= 0.50 {
            Self::Medium
        } else {
            Self::Low
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundSummary {
    pub round: u32,
    pub consensus: Consensus,
    /// The share of ACCEPT and MINOR.
    pub agreement: f64,
    /// Accepted claims that this round brought or settled.
    pub agreements: Vec<Point>,
    pub disagreements: Vec<Disagreement>,
    pub positions: Vec<PositionRow>,
    pub new_claims: Vec<String>,
    pub new_evidence: Vec<Point>,
    pub new_decisions: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    pub id: String,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disagreement {
    pub claim: String,
    pub text: String,
    pub supporters: Vec<String>,
    pub opponents: Vec<String>,
    /// The newest objection.
    pub best_con: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
        let touched = |id: &String| {
            taken.touched.values().any(|it| {
                let mut all = it
                    .introduced
                    .iter()
                    .chain(&it.reinforced)
                    .chain(&it.challenged);
                all.any(|touched| touched == id)
            })
        };
        let accepted = state
            .claims
            .iter()
            .filter(|it| it.status == ClaimStatus::Accepted);
        Self {
            round,
            consensus: Consensus::of(agreement),
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

    /// As text in at most `budget` tokens. The claims behind the ids are in the state; so ids stay and words give way.
    pub fn text(&self, visibility: Visibility, budget: u64) -> String {
        let mut text = String::new();
        for words in [EVIDENCE_TEXT, 16, 10, 6, 0] {
            text = self.at(visibility, words);
            if tokens::fits(&text, budget) {
                return text;
            }
        }
        // So many ids in one round: the beginning says the most.
        tokens::shorten(&text, budget)
    }

    fn at(&self, visibility: Visibility, words: u64) -> String {
        let share = (self.agreement * 100.0).round();
        let mut lines = vec![format!("Consensus {} ({share}%)", self.consensus.name())];
        let told = |id: &str, text: &str| {
            if words == 0 {
                id.to_owned()
            } else {
                format!("{id} {}", tokens::shorten(text, words))
            }
        };
        let mut list = |title: &str, points: Vec<String>| {
            if !points.is_empty() {
                let separator = if words == 0 { ", " } else { "; " };
                lines.push(format!("{title}: {}", points.join(separator)));
            }
        };
        // What is contested is in the state in full; here its id says where it stood.
        list(
            "Unresolved",
            self.disagreements
                .iter()
                .map(|it| it.told(visibility))
                .collect(),
        );
        list(
            "Agreed",
            self.agreements
                .iter()
                .map(|it| told(&it.id, &it.text))
                .collect(),
        );
        list(
            "New evidence",
            self.new_evidence
                .iter()
                .map(|it| told(&it.id, &it.text))
                .collect(),
        );
        list(
            "New claims",
            vec![self.new_claims.join(", ")]
                .into_iter()
                .filter(|it| !it.is_empty())
                .collect(),
        );
        list(
            "New decisions",
            vec![self.new_decisions.join(", ")]
                .into_iter()
                .filter(|it| !it.is_empty())
                .collect(),
        );
        match visibility {
            Visibility::Named => {
                for row in &self.positions {
                    lines.push(row.told(words));
                }
            }
            // Whose position it was must not be told, and an order would tell: only how many.
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
        opponents: claim.opponents.iter().map(|it| it.seat.clone()).collect(),
        best_con: claim
            .opponents
            .iter()
            .max_by_key(|it| it.round)
            .map_or_else(String::new, |it| it.because.clone()),
    }
}

impl Disagreement {
    fn told(&self, visibility: Visibility) -> String {
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
    fn told(&self, words: u64) -> String {
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
