//! What an enhanced debate adds to the prompts, within bounds: the types with their weights, what the claims rest on, and
//! which questions every position answers.

use roundtable_core::evidence::{EvidenceType, Level};
use roundtable_core::state::{Claim, ClaimStatus, DebateState};
use serde::Serialize;

use super::play::Play;
use crate::algorithm::Veto;
use crate::tokens;

/// The table of evidence takes no more than this; what is contested goes first, then what is new.
pub(super) const TABLE: u64 = 400;
/// What the templates add beside the table and the questions.
const TEMPLATES: u64 = 620;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PromptEvidence {
    /// Whether evidence is asked for.
    pub evidence: bool,
    pub types: Vec<Kind>,
    /// A line for each claim; empty in the first round.
    pub table: String,
    pub questions: Vec<String>,
    /// Whether security objections are asked for.
    pub security: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Kind {
    pub name: &'static str,
    pub what: &'static str,
    pub weight: String,
}

impl PromptEvidence {
    pub(in super::super) fn of(play: &Play, state: &DebateState) -> Self {
        let types = EvidenceType::ALL.into_iter().map(|kind| Kind {
            name: kind.name(),
            what: kind.what(),
            weight: format!("{:.2}", play.ledger.weights.of(kind).value()),
        });
        Self {
            evidence: play.rules.wants_evidence(),
            types: types.collect(),
            table: table(play, state),
            questions: play.rules.required_questions.clone(),
            security: play.rules.algorithm.veto == Veto::Security,
        }
    }

    /// Room that it takes in a prompt, at most.
    pub(in super::super) fn tokens(&self) -> u64 {
        let questions = self.questions.iter().map(|it| tokens::count(it) + 4);
        TEMPLATES + tokens::count(&self.table) + questions.sum::<u64>()
    }
}

fn table(play: &Play, state: &DebateState) -> String {
    let mut claims: Vec<&Claim> = state
        .claims
        .iter()
        .filter(|claim| claim.status != ClaimStatus::Retracted)
        .collect();
    claims.sort_by_key(|claim| {
        let is_settled = claim.status != ClaimStatus::Contested;
        (is_settled, std::cmp::Reverse(claim.last_updated_round))
    });
    let mut lines = Vec::new();
    let mut left = TABLE;
    for claim in claims {
        let Some(line) = line(play, claim) else {
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

/// `C3: DOCUMENTED, LOGICAL; allows MEDIUM-HIGH (0.70–0.84)`
fn line(play: &Play, claim: &Claim) -> Option<String> {
    let grade = play.ledger.grade_of(&claim.id)?;
    let kinds: Vec<&str> = play
        .ledger
        .kinds_of(&claim.id)
        .into_iter()
        .map(EvidenceType::name)
        .collect();
    Some(format!(
        "{}: {}; allows {}",
        claim.id,
        kinds.join(", "),
        banded(grade.level)
    ))
}

pub(super) fn banded(level: Level) -> String {
    let (low, high) = level.band();
    format!("{} ({low:.2}–{high:.2})", level.name())
}
