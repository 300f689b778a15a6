//! The pieces of evidence of a debate, each once, and what became of them.

use roundtable_core::evidence::EvidenceType;
use roundtable_core::learning::Mark;
use roundtable_core::state::normal_id;
use roundtable_core::wording::normal;
use serde::Serialize;

use super::record::{ClaimRecord, DebateRecord};
use crate::assessment::{Assessment, Finding, Marked, MarkedEvidence};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Piece {
    #[serde(rename = "type")]
    pub kind: EvidenceType,
    pub citation: String,
    /// The ids of the claims that rest on it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<String>,
    /// Whoever cited it, in the order in which they did.
    pub agents: Vec<String>,
    /// When it first came up; `None` for what nobody cited in any round.
    pub round: Option<u32>,
    /// Whether the decision rests on it.
    pub is_decisive: bool,
    /// `None` while nobody has said what became of it.
    pub mark: Option<Mark>,
    pub note: Option<String>,
}

/// In the order in which they came up. The same words are the same piece; the first to cite it says of what type it is.
pub fn pieces(record: &DebateRecord) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for round in &record.rounds {
        for position in &round.agent_positions {
            for (kind, citation) in position.evidence() {
                let place = place_of(&mut pieces, kind, citation, Some(round.round_number));
                let agents = &mut pieces[place].agents;
                if !agents.contains(&position.agent) {
                    agents.push(position.agent.clone());
                }
            }
        }
    }
    let decisive = record.final_consensus.iter();
    for support in decisive.flat_map(|it| &it.supporting_evidence) {
        let place = place_of(&mut pieces, support.kind, &support.citation, None);
        pieces[place].is_decisive = true;
    }
    for claim in &record.claims {
        for place in resting(&pieces, claim) {
            pieces[place].claims.push(claim.id.clone());
        }
    }
    pieces
}

/// The pieces that a claim rests on.
fn resting(pieces: &[Piece], claim: &ClaimRecord) -> Vec<usize> {
    let words: Vec<String> = claim
        .evidence
        .iter()
        .map(|it| normal(&it.citation))
        .collect();
    let places = 0..pieces.len();
    places
        .filter(|place| words.contains(&normal(&pieces[*place].citation)))
        .collect()
}

fn place_of(
    pieces: &mut Vec<Piece>,
    kind: EvidenceType,
    citation: &str,
    round: Option<u32>,
) -> usize {
    let words = normal(citation);
    let known = pieces.iter().position(|it| normal(&it.citation) == words);
    known.unwrap_or_else(|| {
        pieces.push(Piece {
            kind,
            citation: citation.to_owned(),
            claims: Vec::new(),
            agents: Vec::new(),
            round,
            is_decisive: false,
            mark: None,
            note: None,
        });
        pieces.len() - 1
    })
}

/// A mark that fits no piece, or more than one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MarkError {
    #[error(
        "nobody cited '{citation}'; give its type if it is meant as evidence that should have been there{}", nearest(.near.as_deref())
    )]
    Unknown {
        citation: String,
        near: Option<String>,
    },
    #[error("'{citation}' fits several pieces of evidence: {}", .fitting.join("; "))]
    Ambiguous {
        citation: String,
        fitting: Vec<String>,
    },
    #[error("'{citation}' is marked twice")]
    Twice { citation: String },
    #[error("nobody made a claim '{claim}'{}", listed(.claims))]
    NoClaim { claim: String, claims: Vec<String> },
}

fn listed(claims: &[String]) -> String {
    if claims.is_empty() {
        return ": the record has no claims with ids; mark evidence by its citation".to_owned();
    }
    format!("; there are: {}", claims.join(", "))
}

fn nearest(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!("; did you mean '{near}'?"))
}

/// The pieces with what the assessment says of them: of each by itself, or else of the claims that rest on it, or else of all
/// of its type.
pub(super) fn marked(
    record: &DebateRecord,
    assessment: &Assessment,
) -> Result<Vec<Piece>, Vec<MarkError>> {
    let mut pieces = pieces(record);
    let mut errors = Vec::new();
    let mut claims: Vec<(&ClaimRecord, &MarkedEvidence)> = Vec::new();
    for given in &assessment.evidence {
        let done = match &given.of {
            Marked::Citation { words, kind } => by_citation(&mut pieces, words, *kind, given),
            Marked::Claim(id) => claim_of(record, id).and_then(|claim| {
                if claims.iter().any(|(known, _)| known.id == claim.id) {
                    let citation = claim.id.clone();
                    return Err(MarkError::Twice { citation });
                }
                claims.push((claim, given));
                Ok(())
            }),
        };
        errors.extend(done.err());
    }
    by_claims(&mut pieces, &claims);
    for (kind, mark) in assessment.findings().filter_map(Finding::mark) {
        let of_kind = pieces.iter_mut().filter(|it| it.kind == kind);
        for piece in of_kind.filter(|it| it.mark.is_none()) {
            piece.mark = Some(mark);
        }
    }
    if errors.is_empty() {
        Ok(pieces)
    } else {
        Err(errors)
    }
}

fn by_citation(
    pieces: &mut Vec<Piece>,
    words: &str,
    kind: Option<EvidenceType>,
    given: &MarkedEvidence,
) -> Result<(), MarkError> {
    let place = match (fitting(pieces, words), kind) {
        (Ok(place), _) => place,
        (Err(MarkError::Unknown { citation, .. }), Some(kind)) => {
            place_of(pieces, kind, &citation, None)
        }
        (Err(error), _) => return Err(error),
    };
    if pieces[place].mark.is_some() {
        let citation = words.to_owned();
        return Err(MarkError::Twice { citation });
    }
    pieces[place].mark = Some(given.mark);
    pieces[place].note.clone_from(&given.note);
    Ok(())
}

fn claim_of<'a>(record: &'a DebateRecord, id: &str) -> Result<&'a ClaimRecord, MarkError> {
    let wanted = normal_id(id);
    let claim = record.claims.iter().find(|it| normal_id(&it.id) == wanted);
    claim.ok_or_else(|| MarkError::NoClaim {
        claim: id.to_owned(),
        claims: record.claims.iter().map(|it| it.id.clone()).collect(),
    })
}

/// What became of a claim became of what it rests on. A claim that rests on nothing is a guess, and a piece by itself.
fn by_claims(pieces: &mut Vec<Piece>, claims: &[(&ClaimRecord, &MarkedEvidence)]) {
    for (claim, _) in claims.iter().filter(|(claim, _)| claim.evidence.is_empty()) {
        pieces.push(Piece {
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
    for piece in pieces.iter_mut().filter(|it| it.mark.is_none()) {
        let own: Vec<_> = claims
            .iter()
            .filter(|(claim, _)| piece.claims.contains(&claim.id))
            .collect();
        piece.mark = joined(own.iter().map(|(_, given)| given.mark));
        let notes = own.iter().filter_map(|(claim, given)| {
            let note = given.note.as_ref()?;
            Some(format!("{}: {note}", claim.id))
        });
        let notes: Vec<String> = notes.collect();
        piece.note = (!notes.is_empty()).then(|| notes.join("; "));
    }
}

/// Evidence whose claims came out differently held in part.
fn joined(mut marks: impl Iterator<Item = Mark>) -> Option<Mark> {
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

/// The piece with these words, or those it begins with, or else the only one that contains them.
fn fitting(pieces: &[Piece], citation: &str) -> Result<usize, MarkError> {
    let words = normal(citation);
    let all: Vec<String> = pieces.iter().map(|it| normal(&it.citation)).collect();
    if let Some(place) = all.iter().position(|it| *it == words) {
        return Ok(place);
    }
    let where_it = |fits: &dyn Fn(&str) -> bool| -> Vec<usize> {
        let places = (0..all.len()).filter(|place| !words.is_empty() && fits(&all[*place]));
        places.collect()
    };
    let mut holding = where_it(&|it| it.starts_with(&words));
    if holding.is_empty() {
        holding = where_it(&|it| it.contains(&words));
    }
    match holding[..] {
        [place] => Ok(place),
        [] => Err(MarkError::Unknown {
            citation: citation.to_owned(),
            near: crate::data::closest(citation, pieces.iter().map(|it| it.citation.as_str()))
                .map(str::to_owned),
        }),
        [_, _, ..] => Err(MarkError::Ambiguous {
            citation: citation.to_owned(),
            fitting: holding
                .iter()
                .map(|place| pieces[*place].citation.clone())
                .collect(),
        }),
    }
}
