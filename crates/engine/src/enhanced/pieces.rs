//! The pieces of evidence of a debate, each once, and what became of them.

use roundtable_core::evidence::EvidenceType;
use roundtable_core::learning::Mark;
use roundtable_core::wording::normal;
use serde::Serialize;

use super::assessment::{Assessment, Finding};
use super::record::DebateRecord;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Piece {
    #[serde(rename = "type")]
    pub kind: EvidenceType,
    pub citation: String,
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
    pieces
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
}

fn nearest(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!("; did you mean '{near}'?"))
}

/// The pieces with what the assessment says of them: of each by itself, or else of all of its type.
pub(super) fn marked(
    record: &DebateRecord,
    assessment: &Assessment,
) -> Result<Vec<Piece>, Vec<MarkError>> {
    let mut pieces = pieces(record);
    let mut errors = Vec::new();
    for given in &assessment.evidence {
        match fitting(&pieces, &given.citation) {
            Ok(place) if pieces[place].mark.is_some() => errors.push(MarkError::Twice {
                citation: given.citation.clone(),
            }),
            Ok(place) => {
                pieces[place].mark = Some(given.mark);
                pieces[place].note.clone_from(&given.note);
            }
            Err(MarkError::Unknown { citation, near }) => match given.kind {
                Some(kind) => {
                    let place = place_of(&mut pieces, kind, &citation, None);
                    pieces[place].mark = Some(given.mark);
                    pieces[place].note.clone_from(&given.note);
                }
                None => errors.push(MarkError::Unknown { citation, near }),
            },
            Err(error) => errors.push(error),
        }
    }
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
