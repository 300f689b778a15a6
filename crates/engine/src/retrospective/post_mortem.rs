//! The post-mortem (E-14): a debate's record, what happened since, and what somebody says of it, brought together. From it
//! come the report and the lesson (E-15).

use roundtable_core::bounded::{Confidence, Probability};
use roundtable_core::evidence::EvidenceType;
use roundtable_core::learning::{
    AgentObservation, AgentScore, AskedObservation, Domain, Lesson, Mark, Proposal,
    RoundObservation, SkillNeed, TypeObservation,
};
use roundtable_core::wording::normal;

use super::pieces::{MarkError, Piece, marked};
use super::record::DebateRecord;
use crate::assessment::tracking::{Course, Status};
use crate::assessment::{Assessment, TypeVerdict};
use crate::data::closest;
use crate::event::Millis;

#[derive(Debug, Clone, PartialEq)]
pub struct PostMortem {
    pub record: DebateRecord,
    pub course: Course,
    pub assessment: Assessment,
    pub pieces: Vec<Piece>,
    /// Whether the debate was played with what had been learned before.
    pub with_learning: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PostMortemError {
    #[error("the debate has no decision yet, so there is nothing to assess")]
    Undecided,
    #[error(transparent)]
    Mark(#[from] MarkError),
    #[error("no agent '{agent}' spoke in this debate{}", nearest(.agent, .agents))]
    Agent { agent: String, agents: Vec<String> },
    #[error("the agent '{agent}' is assessed twice")]
    AgentTwice { agent: String },
}

fn nearest(agent: &str, agents: &[String]) -> String {
    match closest(agent, agents.iter().map(String::as_str)) {
        Some(close) => format!("; did you mean '{close}'?"),
        None => format!("; there were: {}", agents.join(", ")),
    }
}

/// What a panel lacks that is surprised by requirements.
const REQUIREMENTS_SKILL: &str = "Requirements Validation Expert";

impl PostMortem {
    /// Everything that does not fit the record is said at once.
    pub fn new(
        record: DebateRecord,
        course: Course,
        assessment: Assessment,
        with_learning: bool,
    ) -> Result<Self, Vec<PostMortemError>> {
        if record.final_consensus.is_none() {
            return Err(vec![PostMortemError::Undecided]);
        }
        let mut errors: Vec<PostMortemError> = Vec::new();
        let pieces = marked(&record, &assessment).unwrap_or_else(|wrong| {
            errors.extend(wrong.into_iter().map(PostMortemError::from));
            Vec::new()
        });
        let agents: Vec<String> = record.agents().into_iter().map(str::to_owned).collect();
        for (place, verdict) in assessment.agents.iter().enumerate() {
            let is_it = |name: &str| normal(name) == normal(&verdict.agent);
            let agent = verdict.agent.clone();
            if !agents.iter().any(|it| is_it(it)) {
                let agents = agents.clone();
                errors.push(PostMortemError::Agent { agent, agents });
            } else if assessment.agents[..place].iter().any(|it| is_it(&it.agent)) {
                errors.push(PostMortemError::AgentTwice { agent });
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(Self {
            record,
            course,
            assessment,
            pieces,
            with_learning,
        })
    }

    /// What it teaches.
    pub fn lesson(&self, domain: Domain, at: Millis) -> Lesson {
        let asked = self.assessment.questions_asked.iter();
        let questions = self.assessment.required_questions.iter();
        Lesson {
            project: self.record.session_id.clone(),
            title: self.record.project_name.clone(),
            domain,
            at,
            decision_accuracy: Some(self.assessment.decision_accuracy),
            with_learning: self.with_learning,
            evidence: self.types(),
            agents: self.agents(),
            questions: questions
                .map(|it| Proposal {
                    question: it.question.clone(),
                    reason: it.reason.clone(),
                    estimate: it.effectiveness_estimate,
                })
                .collect(),
            asked: asked
                .map(|it| AskedObservation {
                    question: it.question.clone(),
                    helped: it.helped,
                })
                .collect(),
            skills: self.skills(),
            rounds: self.rounds(),
            consensus_reached: self.record.token_efficiency.consensus_reached,
        }
    }

    pub(super) fn of_type(&self, kind: EvidenceType) -> Vec<&Piece> {
        self.pieces.iter().filter(|it| it.kind == kind).collect()
    }

    /// What somebody says of a type as a whole goes before the mean of its pieces: it weighs them, and knows of what was
    /// never cited.
    fn types(&self) -> Vec<TypeObservation> {
        let types = EvidenceType::ALL.into_iter().filter_map(|kind| {
            let pieces = self.of_type(kind);
            let marks: Vec<Mark> = pieces.iter().filter_map(|it| it.mark).collect();
            let said: Vec<_> = self
                .assessment
                .findings()
                .filter_map(|it| Some((it, it.evidence_type_accuracy.as_ref()?)))
                .filter(|(_, accuracy)| accuracy.kind == kind)
                .collect();
            let verdicts = said.iter().map(|(_, it)| it.verdict.held());
            let held = mean(verdicts).or_else(|| mean(marks.iter().map(|it| it.held())))?;
            let why = if let Some((finding, _)) = said.first() {
                let why = finding.note.as_ref().or(finding.validation.as_ref());
                why.unwrap_or(&finding.aspect).clone()
            } else {
                let held = marks.iter().filter(|it| it.held() >= 1.0).count();
                format!("{held} of {} pieces held", marks.len())
            };
            Some(TypeObservation {
                kind,
                held: Probability::new(held).ok()?,
                pieces: marks.len(),
                why,
            })
        });
        types.collect()
    }

    fn agents(&self) -> Vec<AgentObservation> {
        let names = self.record.agents();
        let agents = names.into_iter().filter_map(|agent| {
            Some(AgentObservation {
                agent: agent.to_owned(),
                score: self.score(agent)?,
            })
        });
        agents.collect()
    }

    pub(super) fn score(&self, agent: &str) -> Option<AgentScore> {
        let verdicts = &self.assessment.agents;
        let verdict = verdicts
            .iter()
            .find(|it| normal(&it.agent) == normal(agent));
        if let Some(verdict) = verdict {
            let right = verdict.accuracy;
            let last = self.record.last_position(agent);
            let stated = last.and_then(|it| it.confidence).map(Confidence::value);
            let stated = stated.and_then(|it| Probability::new(it).ok());
            return Some(match stated {
                Some(confidence) => AgentScore::Probability { confidence, right },
                None => AgentScore::Verdict { right },
            });
        }
        let own = self
            .pieces
            .iter()
            .filter(|it| it.agents.iter().any(|it| it == agent));
        let marks: Vec<f64> = own.filter_map(|it| Some(it.mark?.held())).collect();
        let held = Probability::new(mean(marks.iter().copied())?).ok()?;
        Some(AgentScore::Evidence {
            held,
            pieces: marks.len(),
        })
    }

    /// What somebody names, and what requirements that came up later show.
    fn skills(&self) -> Vec<SkillNeed> {
        let wanted = self.assessment.skills.iter().map(|it| SkillNeed {
            skill: it.skill_name.clone(),
            reason: it.reason.clone(),
            evidence: it.evidence.iter().cloned().collect(),
            expected: it.expected_improvement.clone(),
        });
        let mut skills: Vec<SkillNeed> = wanted.collect();
        let events = self.course.events().iter();
        let late = events.filter(|it| it.status == Status::NewRequirement);
        let shown: Vec<String> = late
            .map(|it| format!("{}: {}", it.when(), it.event))
            .collect();
        if shown.is_empty() {
            return skills;
        }
        let is_it = |skill: &str| normal(skill) == normal(REQUIREMENTS_SKILL);
        match skills.iter_mut().find(|it| is_it(&it.skill)) {
            Some(known) => known.evidence.extend(shown),
            None => skills.push(SkillNeed {
                skill: REQUIREMENTS_SKILL.to_owned(),
                reason: "Requirements came up after the decision".to_owned(),
                evidence: shown,
                expected: None,
            }),
        }
        skills
    }

    /// What came up first in each round, and whether it held.
    fn rounds(&self) -> Vec<RoundObservation> {
        let rounds = self.record.rounds.iter().map(|round| {
            let here = self
                .pieces
                .iter()
                .filter(|it| it.round == Some(round.round_number));
            let marks: Vec<Mark> = here.filter_map(|it| it.mark).collect();
            RoundObservation {
                round: round.round_number,
                right: marks.iter().filter(|it| it.held() >= 1.0).count(),
                wrong: marks.iter().filter(|it| it.held() <= 0.0).count(),
            }
        });
        // Rounds of which nobody said what became of their evidence teach nothing.
        if self.pieces.iter().any(|it| it.mark.is_some()) {
            rounds.collect()
        } else {
            Vec::new()
        }
    }

    /// How well the debate did with evidence of a type: by its pieces, or else by what was said of it as a whole.
    pub(super) fn heeded(&self, kind: EvidenceType) -> Option<f64> {
        let pieces = self.of_type(kind);
        let marks = pieces.iter().filter_map(|it| Some(it.mark?.heeded()));
        let marks: Vec<f64> = marks.collect();
        mean(marks.into_iter()).or_else(|| {
            let said = self.assessment.findings();
            let said = said.filter_map(|it| it.evidence_type_accuracy.as_ref());
            let shares = said
                .filter(|it| it.kind == kind)
                .map(|it| match it.verdict {
                    TypeVerdict::Held(share) => share.value(),
                    TypeVerdict::Missed => 0.0,
                });
            mean(shares.collect::<Vec<_>>().into_iter())
        })
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "pieces of evidence are counted in thousands"
)]
fn mean(values: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let count = values.clone().count();
    (count > 0).then(|| values.sum::<f64>() / count as f64)
}

#[cfg(test)]
#[path = "post_mortem_tests.rs"]
mod tests;
