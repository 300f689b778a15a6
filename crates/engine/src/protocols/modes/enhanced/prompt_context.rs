//! The additions of an enhanced debate to the prompts, within token limits: evidence types with their weights, the evidence for each
//! claim, and required questions.

use roundtable_core::evidence::{EvidenceType, Level};
use roundtable_core::state::{Claim, ClaimStatus, DebateState};
use serde::Serialize;

use super::source_checks::claim_notes;
use super::state::EnhancedState;
use crate::algorithm::Veto;
use crate::tokens;

/// The table of evidence; contested claims come first, then the newest.
const MAX_TABLE_TOKENS: u64 = 400;
/// Tokens of the templates without the table and the questions.
const TEMPLATE_TOKENS: u64 = 620;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PromptEvidence {
    /// Whether evidence is required.
    pub evidence: bool,
    pub types: Vec<WeightedType>,
    /// A line for each claim; empty in the first round.
    pub table: String,
    pub questions: Vec<String>,
    /// Whether security objections are asked for.
    pub security: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WeightedType {
    pub name: &'static str,
    pub what: &'static str,
    pub weight: String,
}

impl PromptEvidence {
    pub(crate) fn of(enhanced: &EnhancedState, state: &DebateState) -> Self {
        let types = EvidenceType::ALL.into_iter().map(|kind| WeightedType {
            name: kind.name(),
            what: kind.what(),
            weight: format!("{:.2}", enhanced.ledger.weights.of(kind).value()),
        });
        Self {
            evidence: enhanced.rules.wants_evidence(),
            types: types.collect(),
            table: table(enhanced, state),
            questions: enhanced.rules.required_questions.clone(),
            security: enhanced.rules.algorithm.veto == Veto::Security,
        }
    }

    /// An upper bound of its tokens in a prompt.
    pub(crate) fn tokens(&self) -> u64 {
        let questions = self.questions.iter().map(|q| tokens::count(q) + 4);
        TEMPLATE_TOKENS + tokens::count(&self.table) + questions.sum::<u64>()
    }
}

fn table(enhanced: &EnhancedState, state: &DebateState) -> String {
    let mut claims: Vec<&Claim> = state
        .claims
        .iter()
        .filter(|claim| claim.status != ClaimStatus::Retracted)
        .collect();
    claims.sort_by_key(|claim| {
        let is_settled = claim.status != ClaimStatus::Contested;
        (is_settled, std::cmp::Reverse(claim.last_updated_round))
    });
    let notes = claim_notes(&enhanced.checks);
    let mut lines = Vec::new();
    let mut left = MAX_TABLE_TOKENS;
    for claim in claims {
        let Some(line) = line(enhanced, claim, notes.get(&claim.id)) else {
            continue;
        };
        let cost = tokens::count(&line) + 1;
        if cost > left {
            break;
        }
        left -= cost;
        lines.push(line);
    }
    lines.join("\n")
}

/// `C3: DOCUMENTED, LOGICAL; allows MEDIUM-HIGH (0.70–0.84)`, and what a check of its source found.
fn line(enhanced: &EnhancedState, claim: &Claim, note: Option<&String>) -> Option<String> {
    let grade = enhanced.ledger.grade_of(&claim.id)?;
    let kinds: Vec<&str> = enhanced
        .ledger
        .kinds_of(&claim.id)
        .into_iter()
        .map(EvidenceType::name)
        .collect();
    let note = note.map_or_else(String::new, |note| format!("; {note}"));
    Some(format!(
        "{}: {}; allows {}{note}",
        claim.id,
        kinds.join(", "),
        with_band(grade.level)
    ))
}

pub(super) fn with_band(level: Level) -> String {
    let (low, high) = level.band();
    format!("{} ({low:.2}–{high:.2})", level.name())
}
