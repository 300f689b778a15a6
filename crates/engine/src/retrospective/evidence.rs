//! The evidence of a debate without duplicates, and how the assessment marked it.

use roundtable_core::evidence::EvidenceType;
use roundtable_core::learning::Mark;
use roundtable_core::state::normal_id;
use roundtable_core::wording::normal;
use serde::Serialize;

use super::record::{ClaimRecord, DebateRecord};
use crate::assessment::{Assessment, Finding, Marked, MarkedEvidence};
use crate::data::closest;

/// A piece of evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EvidenceItem {
    #[serde(rename = "type")]
    pub kind: EvidenceType,
    pub citation: String,
    /// The ids of the claims it supports.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<String>,
    /// The agents who cited it, in that order.
    pub agents: Vec<String>,
    /// The round in which it was first cited; `None` if it was not.
    pub round: Option<u32>,
    /// Whether it supports the decision.
    pub is_decisive: bool,
    /// `None` if not assessed.
    pub mark: Option<Mark>,
    pub note: Option<String>,
}

/// The evidence in the order of its first citation. Citations with the same words are one item, with the type of the first.
pub fn evidence_items(record: &DebateRecord) -> Vec<EvidenceItem> {
    let mut items: Vec<EvidenceItem> = Vec::new();
    for round in &record.rounds {
        for position in &round.agent_positions {
            for (kind, citation) in position.evidence() {
                let index = index_of(&mut items, kind, citation, Some(round.round_number));
                let agents = &mut items[index].agents;
                if !agents.contains(&position.agent) {
                    agents.push(position.agent.clone());
                }
            }
        }
    }
    let consensus = record.final_consensus.iter();
    for support in consensus.flat_map(|consensus| &consensus.supporting_evidence) {
        let index = index_of(&mut items, support.kind, &support.citation, None);
        items[index].is_decisive = true;
    }
    for claim in &record.claims {
        let cited = claim.evidence.iter();
        let cited: Vec<String> = cited.map(|evidence| normal(&evidence.citation)).collect();
        for item in &mut items {
            if cited.contains(&normal(&item.citation)) {
                item.claims.push(claim.id.clone());
            }
        }
    }
    items
}

/// The index of the item with this citation, which is added if it is missing.
fn index_of(
    items: &mut Vec<EvidenceItem>,
    kind: EvidenceType,
    citation: &str,
    round: Option<u32>,
) -> usize {
    let words = normal(citation);
    let known = items
        .iter()
        .position(|item| normal(&item.citation) == words);
    known.unwrap_or_else(|| {
        items.push(EvidenceItem {
            kind,
            citation: citation.to_owned(),
            claims: Vec::new(),
            agents: Vec::new(),
            round,
            is_decisive: false,
            mark: None,
            note: None,
        });
        items.len() - 1
    })
}

/// A mark that cannot be assigned to one item.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MarkError {
    #[error(
        "unknown citation '{citation}'{} To mark evidence that was not cited in the debate, add its 'type'", nearest(.near.as_deref())
    )]
    Unknown {
        citation: String,
        near: Option<String>,
    },
    #[error("the citation '{citation}' is ambiguous; it matches: {}", .matches.join("; "))]
    Ambiguous {
        citation: String,
        matches: Vec<String>,
    },
    #[error("'{citation}' is marked twice")]
    Twice { citation: String },
    #[error("unknown claim '{claim}'{}", known_claims(.claims))]
    UnknownClaim { claim: String, claims: Vec<String> },
}

fn known_claims(claims: &[String]) -> String {
    if claims.is_empty() {
        return ": the record has no claims; mark evidence by its citation".to_owned();
    }
    format!("; known claims: {}", claims.join(", "))
}

fn nearest(near: Option<&str>) -> String {
    near.map_or_else(
        || ".".to_owned(),
        |near| format!("; did you mean '{near}'?"),
    )
}

/// The evidence with the marks of the assessment. A mark of the item itself takes precedence over marks of its claims, and
/// these over marks of its type.
pub(super) fn marked_evidence(
    record: &DebateRecord,
    assessment: &Assessment,
) -> Result<Vec<EvidenceItem>, Vec<MarkError>> {
    let mut items = evidence_items(record);
    let mut errors = Vec::new();
    let mut claims: Vec<(&ClaimRecord, &MarkedEvidence)> = Vec::new();
    for given in &assessment.evidence {
        let result = match &given.of {
            Marked::Citation { words, kind } => mark_citation(&mut items, words, *kind, given),
            Marked::Claim(id) => claim_of(record, id).and_then(|claim| {
                if claims.iter().any(|(known, _)| known.id == claim.id) {
                    let citation = claim.id.clone();
                    return Err(MarkError::Twice { citation });
                }
                claims.push((claim, given));
                Ok(())
            }),
        };
        errors.extend(result.err());
    }
    mark_claims(&mut items, &claims);
    for (kind, mark) in assessment.findings().filter_map(Finding::mark) {
        let of_kind = items.iter_mut().filter(|item| item.kind == kind);
        for item in of_kind.filter(|item| item.mark.is_none()) {
            item.mark = Some(mark);
        }
    }
    if errors.is_empty() {
        Ok(items)
    } else {
        Err(errors)
    }
}

fn mark_citation(
    items: &mut Vec<EvidenceItem>,
    words: &str,
    kind: Option<EvidenceType>,
    given: &MarkedEvidence,
) -> Result<(), MarkError> {
    let index = match (find_citation(items, words), kind) {
        (Ok(index), _) => index,
        (Err(MarkError::Unknown { citation, .. }), Some(kind)) => {
            index_of(items, kind, &citation, None)
        }
        (Err(error), _) => return Err(error),
    };
    if items[index].mark.is_some() {
        let citation = words.to_owned();
        return Err(MarkError::Twice { citation });
    }
    items[index].mark = Some(given.mark);
    items[index].note.clone_from(&given.note);
    Ok(())
}

fn claim_of<'a>(record: &'a DebateRecord, id: &str) -> Result<&'a ClaimRecord, MarkError> {
    let wanted = normal_id(id);
    let mut claims = record.claims.iter();
    let claim = claims.find(|claim| normal_id(&claim.id) == wanted);
    claim.ok_or_else(|| MarkError::UnknownClaim {
        claim: id.to_owned(),
        claims: record.claims.iter().map(|claim| claim.id.clone()).collect(),
    })
}

/// A mark of a claim applies to its evidence. A claim without evidence is a guess, and becomes an item itself.
fn mark_claims(items: &mut Vec<EvidenceItem>, claims: &[(&ClaimRecord, &MarkedEvidence)]) {
    for (claim, _) in claims.iter().filter(|(claim, _)| claim.evidence.is_empty()) {
        items.push(EvidenceItem {
            kind: EvidenceType::Speculative,
            citation: claim.claim.clone(),
            claims: vec![claim.id.clone()],
            agents: vec![claim.agent.clone()],
            round: Some(claim.round),
            is_decisive: false,
            mark: None,
            note: None,
        });
    }
    for item in items.iter_mut().filter(|item| item.mark.is_none()) {
        let own: Vec<_> = claims
            .iter()
            .filter(|(claim, _)| item.claims.contains(&claim.id))
            .collect();
        item.mark = combined(own.iter().map(|(_, given)| given.mark));
        let notes = own.iter().filter_map(|(claim, given)| {
            let note = given.note.as_ref()?;
            Some(format!("{}: {note}", claim.id))
        });
        let notes: Vec<String> = notes.collect();
        item.note = (!notes.is_empty()).then(|| notes.join("; "));
    }
}

/// Evidence whose claims have different marks was right in part.
fn combined(mut marks: impl Iterator<Item = Mark>) -> Option<Mark> {
    let first = marks.next()?;
    Some(marks.fold(first, |all, mark| {
        if all == mark {
            all
        } else if all.held() >= 1.0 && mark.held() >= 1.0 {
            Mark::Validated
        } else {
            Mark::Incomplete
        }
    }))
}

/// The item whose citation equals the words, or else the only one that starts with them, or else the only one that contains
/// them.
fn find_citation(items: &[EvidenceItem], citation: &str) -> Result<usize, MarkError> {
    let words = normal(citation);
    let all: Vec<String> = items.iter().map(|item| normal(&item.citation)).collect();
    if let Some(index) = all.iter().position(|text| *text == words) {
        return Ok(index);
    }
    let matching = |matches: &dyn Fn(&str) -> bool| -> Vec<usize> {
        let indices = (0..all.len()).filter(|index| !words.is_empty() && matches(&all[*index]));
        indices.collect()
    };
    let mut found = matching(&|text| text.starts_with(&words));
    if found.is_empty() {
        found = matching(&|text| text.contains(&words));
    }
    match found[..] {
        [index] => Ok(index),
        [] => Err(MarkError::Unknown {
            citation: citation.to_owned(),
            near: closest(citation, items.iter().map(|item| item.citation.as_str()))
                .map(str::to_owned),
        }),
        [_, _, ..] => Err(MarkError::Ambiguous {
            citation: citation.to_owned(),
            matches: found
                .iter()
                .map(|index| items[*index].citation.clone())
                .collect(),
        }),
    }
}
