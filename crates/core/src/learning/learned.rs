//! The knowledge a debate starts with. It is part of the debate's rules, so that a replay does not depend on later lessons.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::priority::Priority;
use super::weights::table;
use super::{Domain, Estimate, Knowledge, Millis};
use crate::evidence::{EvidenceType, Weights};
use crate::format::counted;

/// The panel is asked at most this many questions, by priority.
const MAX_QUESTIONS: usize = 12;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Learned {
    pub domain: Domain,
    pub as_of: Millis,
    /// Post-mortems it is based on.
    pub projects: usize,
    pub weights: Weights,
    /// Asked before round 1.
    pub questions: Vec<RequiredQuestion>,
    /// Skills that panels of the domain lacked.
    pub skills: Vec<SkillAdvice>,
    /// `None` if there are too few projects.
    pub rounds: Option<RoundAdvice>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequiredQuestion {
    pub question: String,
    pub effectiveness: Estimate,
    pub priority: Priority,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillAdvice {
    pub skill: String,
    pub reason: String,
    pub lacking: usize,
    pub of: usize,
    pub priority: Priority,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoundAdvice {
    /// The last round that was productive in at least half of the projects.
    pub enough: u32,
    pub projects: usize,
    /// The skill to add instead of more rounds, if panels agreed and were still partly wrong.
    pub instead: Option<String>,
}

impl Knowledge {
    /// `None` if nothing was learned yet.
    pub fn learned(&self) -> Option<Learned> {
        if self.projects == 0 {
            return None;
        }
        let questions = self.questions.iter().filter(|record| record.is_asked);
        Some(Learned {
            domain: self.domain.clone(),
            as_of: self.as_of,
            projects: self.projects,
            weights: table(&self.weights),
            questions: questions
                .take(MAX_QUESTIONS)
                .map(|record| RequiredQuestion {
                    question: record.question.clone(),
                    effectiveness: record.effectiveness,
                    priority: record.priority,
                })
                .collect(),
            skills: self
                .skills
                .iter()
                .map(|record| SkillAdvice {
                    skill: record.skill.clone(),
                    reason: record.reasons.first().cloned().unwrap_or_default(),
                    lacking: record.lacking,
                    of: record.of,
                    priority: record.priority,
                })
                .collect(),
            rounds: self.advice.clone(),
        })
    }
}

impl Learned {
    /// Its effects on the debate, one sentence each, for people.
    pub fn summary(&self) -> Vec<String> {
        let projects = counted(self.projects, "post-mortem");
        let mut lines = vec![format!("Learned from {projects} of '{}':", self.domain)];
        let moved: Vec<String> = EvidenceType::ALL
            .into_iter()
            .filter_map(|kind| {
                let (old, new) = (kind.prior_weight().value(), self.weights.of(kind).value());
                let (old, new) = (format!("{old:.2}"), format!("{new:.2}"));
                (old != new).then(|| format!("{kind} {old} → {new}"))
            })
            .collect();
        if !moved.is_empty() {
            lines.push(format!("Weights of evidence: {}.", moved.join(", ")));
        }
        match self.questions.len() {
            0 => {}
            1 => lines.push("The panel is asked one question before round 1.".to_owned()),
            count => lines.push(format!(
                "The panel is asked {count} questions before round 1."
            )),
        }
        let skills = self.skills.iter();
        for skill in skills.filter(|skill| skill.priority >= Priority::Medium) {
            lines.push(format!(
                "Consider a seat for '{}': {} of {} projects lacked it.",
                skill.skill, skill.lacking, skill.of
            ));
        }
        if let Some(RoundAdvice {
            enough, projects, ..
        }) = &self.rounds
        {
            let productive = match enough {
                1 => "no round after the first was".to_owned(),
                enough => format!("rounds up to {enough} were"),
            };
            lines.push(format!("In {projects} projects {productive} productive."));
        }
        lines
    }
}
