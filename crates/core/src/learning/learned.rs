//! What a debate is opened with of all that was learned: part of its rules, so that a replay is the same whatever has been
//! learned since.

use serde::{Deserialize, Serialize};

use super::priority::Priority;
use super::weights::table;
use super::{Domain, Estimate, Knowledge, Millis};
use crate::evidence::{EvidenceType, Weights};

/// More questions than this are not put to a panel; the most pressing go first.
const MOST_QUESTIONS: usize = 12;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Learned {
    pub domain: Domain,
    pub as_of: Millis,
    /// Post-mortems it rests on.
    pub projects: usize,
    pub weights: Weights,
    /// Put to the seats before round 1.
    pub questions: Vec<RequiredQuestion>,
    /// Skills that panels of the domain lacked.
    pub skills: Vec<SkillAdvice>,
    /// `None` while there are too few projects to say.
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundAdvice {
    /// The last round that brings up something right in at least every other project.
    pub enough: u32,
    pub projects: usize,
    /// The skill to add rather than rounds, where panels agreed and were still wrong in part.
    pub instead: Option<String>,
}

impl Knowledge {
    /// `None` where nothing was learned yet.
    pub fn learned(&self) -> Option<Learned> {
        if self.projects == 0 {
            return None;
        }
        let questions = self.questions.iter().filter(|it| it.is_asked);
        Some(Learned {
            domain: self.domain.clone(),
            as_of: self.as_of,
            projects: self.projects,
            weights: table(&self.weights),
            questions: questions
                .take(MOST_QUESTIONS)
                .map(|it| RequiredQuestion {
                    question: it.question.clone(),
                    effectiveness: it.effectiveness,
                    priority: it.priority,
                })
                .collect(),
            skills: self
                .skills
                .iter()
                .map(|it| SkillAdvice {
                    skill: it.skill.clone(),
                    reason: it.reasons.first().cloned().unwrap_or_default(),
                    lacking: it.lacking,
                    of: it.of,
                    priority: it.priority,
                })
                .collect(),
            rounds: self.advice.clone(),
        })
    }
}

impl Learned {
    /// What it changes, for people: one sentence each.
    pub fn said(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "Learned from {} of '{}':",
            match self.projects {
                1 => "1 post-mortem".to_owned(),
                projects => format!("{projects} post-mortems"),
            },
            self.domain
        )];
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
            1 => lines.push("One question is put to the panel before round 1.".to_owned()),
            count => lines.push(format!(
                "{count} questions are put to the panel before round 1."
            )),
        }
        for skill in &self.skills {
            if skill.priority >= Priority::Medium {
                lines.push(format!(
                    "Consider a seat for '{}': {} of {} projects lacked it.",
                    skill.skill, skill.lacking, skill.of
                ));
            }
        }
        if let Some(rounds) = &self.rounds {
            lines.push(match rounds.enough {
                1 => format!(
                    "In {} projects no round after the first paid.",
                    rounds.projects
                ),
                enough => format!(
                    "In {} projects rounds up to {enough} paid.",
                    rounds.projects
                ),
            });
        }
        lines
    }
}
