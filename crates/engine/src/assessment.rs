//! Assessment of a decision after its implementation, in the design's format (E-14). Optional fields in addition to the design
//! assess single pieces of evidence, agents, questions and skills.

use roundtable_core::bounded::Probability;
use roundtable_core::evidence::EvidenceType;
use roundtable_core::learning::Mark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod time_cost;
pub(crate) mod tracking;

pub use time_cost::{TimeCost, TimeCostError};
pub use tracking::{Status, Timeline, Tracked};

use crate::data::nearest;

/// An assessment file: the tracking with the assessment in it, or the assessment alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AssessmentFile {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implementation_tracking: Option<ImplementationTracking>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post_mortem_assessment: Option<Assessment>,
}

impl AssessmentFile {
    /// The assessment, nested or not.
    pub fn assessment(&self) -> Option<&Assessment> {
        let tracking = self.implementation_tracking.as_ref();
        let nested = tracking.and_then(|tracking| tracking.post_mortem_assessment.as_ref());
        nested.or(self.post_mortem_assessment.as_ref())
    }

    pub fn timeline(&self) -> &[Tracked] {
        let tracking = self.implementation_tracking.as_ref();
        tracking.map_or(&[], |tracking| &tracking.timeline)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImplementationTracking {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debate_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision_made: Option<String>,
    #[serde(default)]
    pub timeline: Vec<Tracked>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post_mortem_assessment: Option<Assessment>,
}

/// The assessor's judgement of a decision: how accurate it was, what went right and wrong, and the lessons.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Assessment {
    pub decision_accuracy: Probability,
    #[serde(default)]
    pub what_went_right: Vec<Finding>,
    #[serde(default)]
    pub what_went_wrong: Vec<Finding>,
    #[serde(default)]
    pub lessons_learned: Vec<LessonLearned>,
    /// Outcome of single pieces of evidence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<MarkedEvidence>,
    /// Accuracy of each agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentVerdict>,
    /// Questions that should have been asked before the debate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_questions: Vec<NewQuestion>,
    /// Whether the questions asked before the debate helped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions_asked: Vec<QuestionAsked>,
    /// Skills the panel lacked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<WantedSkill>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    pub aspect: String,
    /// `EMPIRICAL evidence validated`: if it names one type and an outcome, it marks all evidence of that type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence_type_accuracy: Option<TypeAccuracy>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LessonLearned {
    pub lesson: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actionable: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_impact: Option<String>,
}

/// The outcome of a piece of evidence, or of all evidence for a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "MarkForm", into = "MarkForm")]
#[schemars(with = "MarkForm")]
pub struct MarkedEvidence {
    pub of: Marked,
    pub mark: Mark,
    pub note: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Marked {
    /// By its text. The type is needed only for evidence that was not cited in the debate.
    Citation {
        words: String,
        kind: Option<EvidenceType>,
    },
    /// By the claim's id in the record.
    Claim(String),
}

/// A mark in a file: either `citation` or `claim`.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MarkedEvidence")]
struct MarkForm {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    citation: Option<String>,
    /// The id of a claim in the debate, such as `C3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claim: Option<String>,
    /// Needed only for evidence that was not cited in the debate.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<EvidenceType>,
    mark: Mark,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MarkFormError {
    #[error("a mark needs the 'citation' of a piece of evidence or the id of a 'claim'")]
    Neither,
    #[error("a mark has either a 'citation' or a 'claim', not both")]
    Both,
    #[error("'type' is not allowed with 'claim': the evidence of a claim already has types")]
    TypeOfClaim,
}

impl TryFrom<MarkForm> for MarkedEvidence {
    type Error = MarkFormError;

    fn try_from(form: MarkForm) -> Result<Self, MarkFormError> {
        let kind = form.kind;
        let of = match (form.citation, form.claim) {
            (Some(words), None) => Marked::Citation { words, kind },
            (None, Some(_)) if kind.is_some() => return Err(MarkFormError::TypeOfClaim),
            (None, Some(claim)) => Marked::Claim(claim),
            (None, None) => return Err(MarkFormError::Neither),
            (Some(_), Some(_)) => return Err(MarkFormError::Both),
        };
        Ok(Self {
            of,
            mark: form.mark,
            note: form.note,
        })
    }
}

impl From<MarkedEvidence> for MarkForm {
    fn from(marked: MarkedEvidence) -> Self {
        let (citation, claim, kind) = match marked.of {
            Marked::Citation { words, kind } => (Some(words), None, kind),
            Marked::Claim(claim) => (None, Some(claim), None),
        };
        Self {
            citation,
            claim,
            kind,
            mark: marked.mark,
            note: marked.note,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentVerdict {
    pub agent: String,
    pub accuracy: Probability,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewQuestion {
    pub question: String,
    pub reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effectiveness_estimate: Option<Probability>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuestionAsked {
    pub question: String,
    pub helped: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedSkill {
    pub skill_name: String,
    pub reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_improvement: Option<String>,
}

/// `LOGICAL: 50% (incomplete reasoning)`, or `PRECEDENT: missed (should have weighted higher)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct TypeAccuracy {
    pub kind: EvidenceType,
    pub verdict: TypeVerdict,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TypeVerdict {
    /// The share that proved right.
    Held(Probability),
    /// Relevant, but ignored in the debate.
    Missed,
}

impl TypeVerdict {
    pub fn held(self) -> f64 {
        match self {
            Self::Held(share) => share.value(),
            Self::Missed => 1.0,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TypeAccuracyError {
    #[error(
        "invalid evidence accuracy '{text}': expected a type and a share, such as 'LOGICAL: 50%', or 'PRECEDENT: missed'"
    )]
    Form { text: String },
    #[error("unknown evidence type '{name}'{}", nearest(&.name.to_uppercase(), &EvidenceType::ALL.map(EvidenceType::name), "known types"))]
    Type { name: String },
    #[error("invalid share {found}%: expected 0% to 100%")]
    Share { found: String },
}

impl TryFrom<String> for TypeAccuracy {
    type Error = TypeAccuracyError;

    fn try_from(text: String) -> Result<Self, TypeAccuracyError> {
        let form = || TypeAccuracyError::Form { text: text.clone() };
        let (name, rest) = text.split_once(':').ok_or_else(form)?;
        let name = name.trim();
        let unknown = || TypeAccuracyError::Type {
            name: name.to_owned(),
        };
        let kind = EvidenceType::named(&name.to_uppercase()).ok_or_else(unknown)?;
        let rest = rest.trim();
        let verdict = if rest.to_lowercase().starts_with("missed") {
            TypeVerdict::Missed
        } else {
            let (number, _) = rest.split_once('%').ok_or_else(form)?;
            let percent: f64 = number.trim().parse().map_err(|_| form())?;
            let share = Probability::new(percent / 100.0);
            TypeVerdict::Held(share.map_err(|_| TypeAccuracyError::Share {
                found: number.trim().to_owned(),
            })?)
        };
        Ok(Self {
            kind,
            verdict,
            text,
        })
    }
}

impl From<TypeAccuracy> for String {
    fn from(accuracy: TypeAccuracy) -> Self {
        accuracy.text
    }
}

impl Finding {
    /// `PRECEDENT evidence was dismissed but relevant` → the mark for all evidence of that type. `None` if the text names no
    /// single type or no outcome.
    pub(super) fn mark(&self) -> Option<(EvidenceType, Mark)> {
        let text = self.validation.as_ref()?.to_lowercase();
        let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
        let mut kinds = EvidenceType::ALL
            .into_iter()
            .filter(|kind| words.contains(&kind.name().to_lowercase().as_str()));
        let kind = kinds.next()?;
        // With two types in one sentence it is unclear which is meant.
        if kinds.next().is_some() {
            return None;
        }
        let says = |word: &str| words.contains(&word);
        let mark = if says("dismissed") {
            Mark::DismissedButRelevant
        } else if says("refuted") || says("wrong") || says("not") {
            Mark::Refuted
        } else if says("incomplete") || says("partially") || says("partly") {
            Mark::Incomplete
        } else if says("validated") || says("confirmed") {
            Mark::Validated
        } else {
            return None;
        };
        Some((kind, mark))
    }
}

impl Assessment {
    pub(super) fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.what_went_right.iter().chain(&self.what_went_wrong)
    }
}

#[cfg(test)]
#[path = "assessment_tests.rs"]
mod tests;
