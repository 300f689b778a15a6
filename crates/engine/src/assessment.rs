//! How a decision came out, in the design's form (E-14). What the form leaves open (each piece of evidence, the agents,
//! questions and skills by name) can be given beside it.

use roundtable_core::bounded::Probability;
use roundtable_core::evidence::EvidenceType;
use roundtable_core::learning::Mark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod time_cost;
pub(crate) mod tracking;

pub use time_cost::{TimeCost, TimeCostError};
pub use tracking::{Course, Status, Tracked};

use crate::data::closest;

/// A file of the design: the tracking with the assessment in it, or the assessment alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AssessmentFile {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implementation_tracking: Option<ImplementationTracking>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post_mortem_assessment: Option<Assessment>,
}

impl AssessmentFile {
    /// The assessment, wherever it stands.
    pub fn assessment(&self) -> Option<&Assessment> {
        let inside = self.implementation_tracking.as_ref();
        let inside = inside.and_then(|it| it.post_mortem_assessment.as_ref());
        inside.or(self.post_mortem_assessment.as_ref())
    }

    pub fn timeline(&self) -> &[Tracked] {
        let tracking = self.implementation_tracking.as_ref();
        tracking.map_or(&[], |it| &it.timeline)
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
    /// What became of single pieces of evidence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<MarkedEvidence>,
    /// How right each agent was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentVerdict>,
    /// What should have been asked before the debate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_questions: Vec<NewQuestion>,
    /// Whether what was asked before it helped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions_asked: Vec<QuestionAsked>,
    /// What the panel lacked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<WantedSkill>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    pub aspect: String,
    /// `EMPIRICAL evidence validated`: where it names a type and what became of it, that marks the pieces of the type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence_type_accuracy: Option<TypeAccuracy>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LessonLearned {
    pub lesson: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actionable: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_impact: Option<String>,
}

/// What became of a piece of evidence, or of all that a claim rested on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "WrittenMark", into = "WrittenMark")]
#[schemars(with = "WrittenMark")]
pub struct MarkedEvidence {
    pub of: Marked,
    pub mark: Mark,
    pub note: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Marked {
    /// By its words; the type is needed only for evidence that nobody cited.
    Citation {
        words: String,
        kind: Option<EvidenceType>,
    },
    /// By the claim's id in the record.
    Claim(String),
}

/// A mark as it is written in a file: one of `citation` and `claim`.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MarkedEvidence")]
struct WrittenMark {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    citation: Option<String>,
    /// The id of a claim of the debate, such as `C3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claim: Option<String>,
    /// Needed only for evidence that nobody cited.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<EvidenceType>,
    mark: Mark,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WrittenMarkError {
    #[error("a mark needs either the 'citation' of a piece of evidence or the id of a 'claim'")]
    Neither,
    #[error("a mark is of a 'citation' or of a 'claim', not of both")]
    Both,
    #[error("the evidence of a claim has its types already: leave 'type' out")]
    TypeOfClaim,
}

impl TryFrom<WrittenMark> for MarkedEvidence {
    type Error = WrittenMarkError;

    fn try_from(written: WrittenMark) -> Result<Self, WrittenMarkError> {
        let kind = written.kind;
        let of = match (written.citation, written.claim) {
            (Some(words), None) => Marked::Citation { words, kind },
            (None, Some(_)) if kind.is_some() => return Err(WrittenMarkError::TypeOfClaim),
            (None, Some(claim)) => Marked::Claim(claim),
            (None, None) => return Err(WrittenMarkError::Neither),
            (Some(_), Some(_)) => return Err(WrittenMarkError::Both),
        };
        Ok(Self {
            of,
            mark: written.mark,
            note: written.note,
        })
    }
}

impl From<MarkedEvidence> for WrittenMark {
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// So much of it held.
    Held(Probability),
    /// It was not heeded and should have been.
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
        "'{text}' does not say which type of evidence held how far; write it like 'LOGICAL: 50%' or 'PRECEDENT: missed'"
    )]
    Form { text: String },
    #[error("there is no type of evidence '{name}'{}", nearest(.name))]
    Type { name: String },
    #[error("{found}% is no share: it must be from 0% to 100%")]
    Share { found: String },
}

fn nearest(name: &str) -> String {
    let known = EvidenceType::ALL.map(EvidenceType::name);
    match closest(&name.to_uppercase(), known.into_iter()) {
        Some(close) => format!("; did you mean '{close}'?"),
        None => format!("; there are: {}", known.join(", ")),
    }
}

impl TypeAccuracy {
    pub fn new(text: &str) -> Result<Self, TypeAccuracyError> {
        let form = || TypeAccuracyError::Form {
            text: text.to_owned(),
        };
        let (name, rest) = text.split_once(':').ok_or_else(form)?;
        let name = name.trim();
        let kind =
            EvidenceType::named(&name.to_uppercase()).ok_or_else(|| TypeAccuracyError::Type {
                name: name.to_owned(),
            })?;
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
            text: text.to_owned(),
        })
    }
}

impl TryFrom<String> for TypeAccuracy {
    type Error = TypeAccuracyError;

    fn try_from(text: String) -> Result<Self, TypeAccuracyError> {
        Self::new(&text)
    }
}

impl From<TypeAccuracy> for String {
    fn from(accuracy: TypeAccuracy) -> Self {
        accuracy.text
    }
}

impl Finding {
    /// `PRECEDENT evidence was dismissed but relevant` → what became of all pieces of that type. `None` where it says
    /// nothing of the sort.
    pub(super) fn mark(&self) -> Option<(EvidenceType, Mark)> {
        let text = self.validation.as_ref()?.to_lowercase();
        let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
        let mut kinds = EvidenceType::ALL
            .into_iter()
            .filter(|kind| words.contains(&kind.name().to_lowercase().as_str()));
        let kind = kinds.next()?;
        // Of two types in one sentence nobody can tell which is meant.
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
