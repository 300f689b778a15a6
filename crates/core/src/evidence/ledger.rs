//! The evidence of every claim of a debate: a pure fold over the turns of the seats, round by round.
//!
//! Invalid input (an unknown type, no source, a confidence that is not a number from 0 to 1, a claim that cites itself) is
//! dropped and flagged, never replaced by a default. A claim without remaining evidence counts as SPECULATIVE.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::critiques::{Answer, Critique, Judged, Standing, judge};
use super::sources::{Cited, Registry, SourceId};
use super::{Calibration, EvidenceType, Grade, Level, Weights, grade};
use crate::bounded::Confidence;
use crate::wording::normal;

/// A requested value: given, given in an unreadable form, or missing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stated<T> {
    Given(T),
    Unreadable(String),
    #[default]
    Missing,
}

impl<T: Copy> Stated<T> {
    pub fn value(&self) -> Option<T> {
        match self {
            Self::Given(value) => Some(*value),
            Self::Unreadable(_) | Self::Missing => None,
        }
    }
}

/// One piece of evidence as stated by a seat, not yet validated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    pub kind: Stated<EvidenceType>,
    pub source: Cited,
    /// Whether the source is an entry of a reference list.
    pub is_listed: bool,
}

/// A seat's evidence for one claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grounds {
    /// The id of the claim.
    pub claim: String,
    /// The text of the claim, to detect a claim that cites itself.
    pub text: String,
    pub evidence: Vec<Said>,
    pub confidence: Stated<Confidence>,
}

/// All statements of a seat about evidence in one turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Heard {
    pub seat: String,
    pub grounds: Vec<Grounds>,
    /// Claims that it makes without evidence.
    pub bare: Vec<String>,
    /// Referenced claims that do not exist.
    pub unknown: Vec<String>,
    /// The sources that it lists and cites in its argument.
    pub references: Vec<Cited>,
    pub critiques: Vec<Critique>,
    /// Evidence and critiques that were dropped before, with the reason.
    #[serde(default)]
    pub dropped: Vec<Flag>,
}

/// One piece of validated evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ground {
    pub kind: EvidenceType,
    /// `None` for speculation.
    pub source: Option<SourceId>,
}

/// A seat's latest evidence for a claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grounding {
    pub round: u32,
    pub evidence: Vec<Ground>,
    #[serde(flatten)]
    pub grade: Grade,
    /// `None` if the seat stated no readable confidence.
    pub stated: Option<Confidence>,
    pub calibration: Option<Calibration>,
}

impl Grounding {
    fn new(
        round: u32,
        evidence: Vec<Ground>,
        stated: Option<Confidence>,
        weights: &Weights,
    ) -> Self {
        let evidence = if evidence.is_empty() {
            vec![SPECULATION]
        } else {
            evidence
        };
        let grade = grade(&evidence, weights);
        Self {
            round,
            evidence,
            grade,
            stated,
            calibration: stated.map(|stated| Calibration::of(stated, grade.level)),
        }
    }
}

const SPECULATION: Ground = Ground {
    kind: EvidenceType::Speculative,
    source: None,
};

/// Why part of a seat's evidence or critique was dropped or has no effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case", tag = "flag")]
pub enum Flag {
    #[error("{claim} rests on nothing: it counts as SPECULATIVE")]
    NoEvidence { claim: String },
    #[error("{claim} has {} evidence without a source", kind.name())]
    NoSource { claim: String, kind: EvidenceType },
    #[error("{claim} has evidence of a type that does not exist: \"{said}\"")]
    NoSuchType { claim: String, said: String },
    #[error("{claim} has evidence without a type")]
    NoType { claim: String },
    #[error("the confidence in {claim} cannot be read: \"{said}\"")]
    UnreadableConfidence { claim: String, said: String },
    #[error("no confidence is stated for {claim}")]
    NoConfidence { claim: String },
    #[error("{claim} cites itself: \"{source_}\"")]
    CitesItself {
        claim: String,
        #[serde(rename = "source")]
        source_: String,
    },
    #[error("there is no claim \"{claim}\"")]
    NoSuchClaim { claim: String },
    #[error("the critique of {claim} brings nothing as strong as {}", needed.name())]
    WeakCounterEvidence { claim: String, needed: EvidenceType },
    #[error("the critique of {claim} brings no counter-evidence")]
    NoCounterEvidence { claim: String },
    #[error("the critique of {claim} neither proposes a synthesis nor concedes")]
    Unfinished { claim: String },
    #[error("the critique of {claim} does not grade its evidence")]
    Ungraded { claim: String },
    #[error("{claim} is the seat's own claim: it cannot criticise it")]
    OwnClaim { claim: String },
    #[error("the critique of {claim} both proposes a synthesis and concedes")]
    BothEnds { claim: String },
    #[error("{claim} is contradicted by \"{source_}\": its evidence no longer counts")]
    Contradicted {
        claim: String,
        #[serde(rename = "source")]
        source_: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flagged {
    pub round: u32,
    pub seat: String,
    #[serde(flatten)]
    pub flag: Flag,
}

/// A point given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Concession {
    pub round: u32,
    pub seat: String,
    pub claim: String,
    pub because: String,
}

/// The evidence for a seat's position in one round. The grade is that of all its evidence, old and new.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PositionEvidence {
    pub evidence: Vec<Ground>,
    /// Evidence of earlier rounds that still backs the position.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Ground>,
    #[serde(flatten)]
    pub grade: Grade,
    pub stated: Confidence,
    pub calibration: Calibration,
}

/// A seat's confidence in one claim, compared with the band of the claim's evidence (E-04).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimConfidence {
    pub claim: String,
    pub stated: Confidence,
    pub level: Level,
    pub calibration: Calibration,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    pub weights: Weights,
    pub sources: Registry,
    /// By claim, then by seat.
    pub claims: BTreeMap<String, BTreeMap<String, Grounding>>,
    pub critiques: Vec<Judged>,
    pub concessions: Vec<Concession>,
    pub flags: Vec<Flagged>,
    /// By round, then by seat.
    cited: BTreeMap<u32, BTreeMap<String, BTreeSet<SourceId>>>,
}

impl Ledger {
    pub fn new(weights: Weights) -> Self {
        Self {
            weights,
            ..Self::default()
        }
    }

    /// Records turns that were made in parallel, in the order of the seats. Critiques are judged against the evidence before these
    /// turns.
    pub fn take(&mut self, round: u32, said: &[Heard]) {
        for heard in said {
            self.criticise(round, heard);
        }
        for heard in said {
            self.ground(round, heard);
        }
    }

    fn ground(&mut self, round: u32, heard: &Heard) {
        let seat = &heard.seat;
        let mut cited = BTreeSet::new();
        for reference in heard.references.iter().filter(|cited| !cited.is_empty()) {
            cited.insert(self.sources.cite(seat, None, reference));
        }
        for claim in &heard.unknown {
            let claim = claim.clone();
            self.flag(round, seat, Flag::NoSuchClaim { claim });
        }
        for flag in &heard.dropped {
            self.flag(round, seat, flag.clone());
        }
        for grounds in &heard.grounds {
            let mut evidence = Vec::new();
            for said in &grounds.evidence {
                match validate(said, grounds, seat) {
                    Ok(kind) => {
                        let source = self.sources.cite(seat, Some(kind), &said.source);
                        // Reasoning is the seat's own, not a source that other seats could share.
                        if kind.has_source() || said.is_listed {
                            cited.insert(source);
                        }
                        let ground = Ground {
                            kind,
                            source: Some(source),
                        };
                        if !evidence.contains(&ground) {
                            evidence.push(ground);
                        }
                    }
                    Err(flag) => self.flag(round, seat, flag),
                }
            }
            let claim = grounds.claim.clone();
            match &grounds.confidence {
                Stated::Given(_) => {}
                Stated::Unreadable(said) => {
                    let (claim, said) = (claim.clone(), said.clone());
                    self.flag(round, seat, Flag::UnreadableConfidence { claim, said });
                }
                Stated::Missing => {
                    let claim = claim.clone();
                    self.flag(round, seat, Flag::NoConfidence { claim });
                }
            }
            if evidence.is_empty() {
                let claim = claim.clone();
                self.flag(round, seat, Flag::NoEvidence { claim });
            }
            let stated = grounds.confidence.value();
            let grounding = Grounding::new(round, evidence, stated, &self.weights);
            let seats = self.claims.entry(claim).or_default();
            seats.insert(seat.clone(), grounding);
        }
        for claim in &heard.bare {
            let flag = Flag::NoEvidence {
                claim: claim.clone(),
            };
            self.flag(round, seat, flag);
            let grounding = Grounding::new(round, Vec::new(), None, &self.weights);
            let seats = self.claims.entry(claim.clone()).or_default();
            seats.insert(seat.clone(), grounding);
        }
        let seats = self.cited.entry(round).or_default();
        seats.insert(seat.clone(), cited);
    }

    fn criticise(&mut self, round: u32, heard: &Heard) {
        for critique in &heard.critiques {
            let standing = self.judged(critique);
            let claim = critique.claim.clone();
            let fault = match standing {
                Standing::Concedes => {
                    if let Answer::Concession(because) = &critique.answer {
                        self.concessions.push(Concession {
                            round,
                            seat: heard.seat.clone(),
                            claim: claim.clone(),
                            because: because.clone(),
                        });
                    }
                    None
                }
                Standing::Contests => None,
                Standing::TooWeak { needed } => Some(Flag::WeakCounterEvidence {
                    claim: claim.clone(),
                    needed,
                }),
                Standing::NoCounterEvidence => Some(Flag::NoCounterEvidence {
                    claim: claim.clone(),
                }),
                Standing::Unfinished => Some(Flag::Unfinished {
                    claim: claim.clone(),
                }),
            };
            let ungraded = critique
                .grade
                .value()
                .is_none()
                .then_some(Flag::Ungraded { claim });
            for flag in fault.into_iter().chain(ungraded) {
                self.flag(round, &heard.seat, flag);
            }
            self.critiques.push(Judged {
                round,
                seat: heard.seat.clone(),
                critique: critique.clone(),
                standing,
            });
        }
    }

    /// The effect that a critique has on its claim, given the current evidence.
    pub fn judged(&self, critique: &Critique) -> Standing {
        judge(critique, &self.kinds_of(&critique.claim), &self.weights)
    }

    /// The types of a claim's evidence, the strongest first.
    pub fn kinds_of(&self, claim: &str) -> Vec<EvidenceType> {
        let kinds: BTreeSet<EvidenceType> = self
            .grounds_of(claim)
            .into_iter()
            .map(|ground| ground.kind)
            .collect();
        let mut kinds: Vec<EvidenceType> = kinds.into_iter().collect();
        kinds.sort_by(|a, b| {
            self.weights
                .of(*b)
                .value()
                .total_cmp(&self.weights.of(*a).value())
        });
        kinds
    }

    /// The evidence for a claim from all seats.
    pub fn grounds_of(&self, claim: &str) -> Vec<Ground> {
        let mut all: Vec<Ground> = Vec::new();
        let seats = self
            .claims
            .get(claim)
            .into_iter()
            .flat_map(BTreeMap::values);
        for ground in seats.flat_map(|grounding| &grounding.evidence) {
            if !all.contains(ground) {
                all.push(*ground);
            }
        }
        // With evidence from any seat, the claim is no longer speculation.
        if all.iter().any(|ground| ground.source.is_some()) {
            all.retain(|ground| ground.source.is_some());
        }
        all
    }

    /// `None` for a claim that no seat has mentioned.
    pub fn grade_of(&self, claim: &str) -> Option<Grade> {
        let grounds = self.grounds_of(claim);
        (!grounds.is_empty()).then(|| grade(&grounds, &self.weights))
    }

    /// The evidence for a seat's position: what it states in this round, and what it stated since it took the position, for
    /// claims that it `stands` for. A seat that repeats its position need not back it again.
    pub fn position(
        &self,
        rounds: RangeInclusive<u32>,
        seat: &str,
        stated: Confidence,
        stands: impl Fn(&str) -> bool,
    ) -> PositionEvidence {
        let groundings = || {
            let own = self
                .claims
                .iter()
                .filter_map(|(claim, seats)| Some((claim, seats.get(seat)?)));
            own.filter(|(claim, grounding)| {
                let is_now = grounding.round == *rounds.end();
                is_now || rounds.contains(&grounding.round) && stands(claim)
            })
        };
        let of = |is_wanted: &dyn Fn(u32) -> bool| -> BTreeSet<Ground> {
            let wanted = groundings().filter(|(_, grounding)| is_wanted(grounding.round));
            let evidence = wanted.flat_map(|(_, grounding)| grounding.evidence.iter().copied());
            evidence.collect()
        };
        let evidence = of(&|round| round == *rounds.end());
        let earlier = of(&|round| round != *rounds.end());
        let all: Vec<Ground> = evidence.union(&earlier).copied().collect();
        let grade = grade(&all, &self.weights);
        PositionEvidence {
            earlier: earlier.difference(&evidence).copied().collect(),
            evidence: evidence.into_iter().collect(),
            grade,
            stated,
            calibration: Calibration::of(stated, grade.level),
        }
    }

    /// The confidences that a seat stated for single claims in a round, compared with the evidence of each claim.
    pub fn claim_confidences(&self, round: u32, seat: &str) -> Vec<ClaimConfidence> {
        let own = self
            .claims
            .iter()
            .filter_map(|(claim, seats)| Some((claim, seats.get(seat)?)));
        own.filter(|(_, grounding)| grounding.round == round)
            .filter_map(|(claim, grounding)| {
                Some(ClaimConfidence {
                    claim: claim.clone(),
                    stated: grounding.stated?,
                    level: grounding.grade.level,
                    calibration: grounding.calibration?,
                })
            })
            .collect()
    }

    /// The sources that each seat cited in a round.
    pub fn cited_in(&self, round: u32) -> BTreeMap<String, BTreeSet<SourceId>> {
        self.cited.get(&round).cloned().unwrap_or_default()
    }

    /// Replaces all text of one seat's turn by `words`.
    pub fn redact(&mut self, round: u32, seat: &str, words: &str) {
        let cited = self
            .cited
            .get_mut(&round)
            .and_then(|seats| seats.remove(seat));
        let elsewhere: BTreeSet<SourceId> = self
            .cited
            .values()
            .flat_map(BTreeMap::values)
            .flatten()
            .copied()
            .collect();
        for id in cited.unwrap_or_default().difference(&elsewhere) {
            self.sources.redact(*id, words);
        }
        let own = self.claims.values_mut();
        for grounding in own.filter_map(|seats| seats.get_mut(seat)) {
            if grounding.round == round {
                for id in grounding.evidence.iter().filter_map(|ground| ground.source) {
                    if !elsewhere.contains(&id) {
                        self.sources.redact(id, words);
                    }
                }
            }
        }
        for concession in &mut self.concessions {
            if concession.round == round && concession.seat == seat {
                words.clone_into(&mut concession.because);
            }
        }
        for judged in &mut self.critiques {
            if judged.round == round && judged.seat == seat {
                judged.critique.answer = match judged.standing {
                    Standing::Concedes => Answer::Concession(words.to_owned()),
                    Standing::Contests
                    | Standing::TooWeak { .. }
                    | Standing::NoCounterEvidence
                    | Standing::Unfinished => Answer::Synthesis(words.to_owned()),
                };
            }
        }
        self.flags
            .retain(|flagged| flagged.round != round || flagged.seat != seat);
    }

    fn flag(&mut self, round: u32, seat: &str, flag: Flag) {
        self.flags.push(Flagged {
            round,
            seat: seat.to_owned(),
            flag,
        });
    }
}

/// The type of a piece of evidence, or why it is invalid.
fn validate(said: &Said, grounds: &Grounds, seat: &str) -> Result<EvidenceType, Flag> {
    let claim = grounds.claim.clone();
    let kind = match &said.kind {
        Stated::Given(kind) => *kind,
        Stated::Unreadable(said) => {
            let said = said.clone();
            return Err(Flag::NoSuchType { claim, said });
        }
        Stated::Missing => return Err(Flag::NoType { claim }),
    };
    if said.source.is_empty() {
        return Err(Flag::NoSource { claim, kind });
    }
    let title = normal(&said.source.title);
    let cites_itself = said.source.address.is_none()
        && (title == normal(&claim) || title == normal(&grounds.text) || title == normal(seat));
    if cites_itself {
        let source_ = said.source.shown();
        return Err(Flag::CitesItself { claim, source_ });
    }
    Ok(kind)
}

impl Grounds {
    /// The faults that [`Ledger::take`] would flag.
    pub fn faults(&self, seat: &str) -> Vec<Flag> {
        let claim = || self.claim.clone();
        let mut faults: Vec<Flag> = self
            .evidence
            .iter()
            .filter_map(|said| validate(said, self, seat).err())
            .collect();
        if self.evidence.len() == faults.len() {
            faults.push(Flag::NoEvidence { claim: claim() });
        }
        match &self.confidence {
            Stated::Given(_) => {}
            Stated::Unreadable(said) => faults.push(Flag::UnreadableConfidence {
                claim: claim(),
                said: said.clone(),
            }),
            Stated::Missing => faults.push(Flag::NoConfidence { claim: claim() }),
        }
        faults
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
