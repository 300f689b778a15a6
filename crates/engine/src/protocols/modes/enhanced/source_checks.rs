//! Checks claims against the user's sources (E-18): a DOCUMENTED claim against the source it cites, an EMPIRICAL claim against
//! all figures in the sources.

use std::collections::BTreeMap;

use roundtable_core::evidence::{EvidenceType, Heard, Said};
use roundtable_core::sources::{Checked, Sources, check, check_anywhere};
use roundtable_core::wording::one_line;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tokens;

const MAX_EXCERPT_TOKENS: u64 = 60;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceCheck {
    pub round: u32,
    pub seat: String,
    pub claim: String,
    #[serde(rename = "type")]
    pub kind: EvidenceType,
    pub cited: String,
    pub result: Checked,
    /// An excerpt of the passage that supports or contradicts the claim.
    pub passage: Option<String>,
}

impl SourceCheck {
    /// `plan.md:1, which has 400`, or `plan.md:1, which says the opposite`; empty if nothing contradicts the claim.
    pub fn contradicting(&self) -> String {
        match &self.result {
            Checked::Contradicted {
                passage,
                figure: Some(figure),
            } => format!("{passage}, which has {figure}"),
            Checked::Contradicted {
                passage,
                figure: None,
            } => format!("{passage}, which says the opposite"),
            Checked::Supported { .. } | Checked::NotFound => String::new(),
        }
    }
}

/// Remarks for the seats, by claim id: a source contradicts the claim, or does not contain it. A claim that another source
/// supports is not remarked on.
pub(crate) fn claim_notes(checks: &[SourceCheck]) -> BTreeMap<String, String> {
    let mut notes = BTreeMap::new();
    for check in checks {
        let is_supported = checks.iter().any(|other| {
            other.claim == check.claim && matches!(other.result, Checked::Supported { .. })
        });
        match &check.result {
            Checked::Contradicted { .. } => {
                let note = format!("source check: contradicted by {}", check.contradicting());
                notes.insert(check.claim.clone(), note);
            }
            Checked::NotFound if !is_supported => {
                let note = format!("source check: not found in {}", check.cited);
                notes.entry(check.claim.clone()).or_insert(note);
            }
            Checked::NotFound | Checked::Supported { .. } => {}
        }
    }
    notes
}

/// Claims that cite anything else are not checked.
pub(super) fn check_claims(round: u32, heard: &Heard, sources: &Sources) -> Vec<SourceCheck> {
    let mut checks: Vec<SourceCheck> = Vec::new();
    if sources.is_empty() {
        return checks;
    }
    for grounds in &heard.grounds {
        for said in &grounds.evidence {
            let Some((kind, result)) = check_claim(&grounds.text, said, sources) else {
                continue;
            };
            let new = SourceCheck {
                round,
                seat: heard.seat.clone(),
                claim: grounds.claim.clone(),
                kind,
                cited: said.source.shown(),
                passage: excerpt(&result, sources),
                result,
            };
            if !checks.contains(&new) {
                checks.push(new);
            }
        }
    }
    checks
}

fn check_claim(claim: &str, said: &Said, sources: &Sources) -> Option<(EvidenceType, Checked)> {
    let kind = said.kind.value()?;
    let cited = &said.source.title;
    let is_given = sources.passage(cited).is_some() || sources.named(cited).is_some();
    match kind {
        EvidenceType::Documented if is_given => {
            Some((kind, check(claim, cited, sources.passages())))
        }
        EvidenceType::Empirical => {
            let found = check_anywhere(claim, sources.passages());
            let is_contradicted = matches!(found, Checked::Contradicted { .. });
            is_contradicted.then_some((kind, found))
        }
        EvidenceType::Documented
        | EvidenceType::Precedent
        | EvidenceType::Logical
        | EvidenceType::Preferential
        | EvidenceType::Speculative => None,
    }
}

fn excerpt(result: &Checked, sources: &Sources) -> Option<String> {
    let id = match result {
        Checked::Supported { passage } | Checked::Contradicted { passage, .. } => passage,
        Checked::NotFound => return None,
    };
    let passage = sources.passage(id)?;
    Some(tokens::shorten(
        &one_line(&passage.text),
        MAX_EXCERPT_TOKENS,
    ))
}
