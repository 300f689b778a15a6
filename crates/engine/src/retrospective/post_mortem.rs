//! The post-mortem (E-14): a debate's record, the timeline since and the assessment, checked against each other. The report
//! and the lesson (E-15) are made from it.

use roundtable_core::bounded::{Confidence, Probability};
use roundtable_core::evidence::EvidenceType;
use roundtable_core::learning::{
    AgentObservation, AgentScore, AskedObservation, Domain, Lesson, Mark, Proposal,
    RoundObservation, SkillNeed, TypeObservation,
};
use roundtable_core::spread::mean;
use roundtable_core::wording::normal;

use super::evidence::{EvidenceItem, MarkError, marked_evidence};
use super::record::DebateRecord;
use crate::assessment::tracking::{Status, Timeline};
use crate::assessment::{AgentVerdict, Assessment, TypeVerdict};
use crate::data::nearest;
use crate::event::Millis;

/// A decided debate with its assessment. Marks and agents of the assessment exist in the record.
#[derive(Debug, Clone, PartialEq)]
pub struct PostMortem {
    pub record: DebateRecord,
    pub timeline: Timeline,
    pub assessment: Assessment,
    pub evidence: Vec<EvidenceItem>,
    /// Whether the debate was started with lessons from earlier post-mortems.
    pub with_learning: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PostMortemError {
    #[error("the debate has no decision yet, so there is nothing to assess")]
    Undecided,
    #[error(transparent)]
    Mark(#[from] MarkError),
    #[error("unknown agent '{agent}'{}", nearest(.agent, .agents, "agents of this debate"))]
    Agent { agent: String, agents: Vec<String> },
    #[error("the agent '{agent}' is assessed twice")]
    AgentTwice { agent: String },
}

/// The skill that is missing if requirements come up after the decision.
const REQUIREMENTS_SKILL: &str = "Requirements Validation Expert";

impl PostMortem {
    /// # Errors
    /// Everything in the assessment that does not match the record.
    pub fn new(
        record: DebateRecord,
        timeline: Timeline,
        assessment: Assessment,
        with_learning: bool,
    ) -> Result<Self, Vec<PostMortemError>> {
        if record.final_consensus.is_none() {
            return Err(vec![PostMortemError::Undecided]);
        }
        let mut errors: Vec<PostMortemError> = Vec::new();
        let evidence = marked_evidence(&record, &assessment).unwrap_or_else(|invalid| {
            errors.extend(invalid.into_iter().map(PostMortemError::from));
            Vec::new()
        });
        let agents: Vec<String> = record.agents().into_iter().map(str::to_owned).collect();
        for (index, verdict) in assessment.agents.iter().enumerate() {
            let is_same = |name: &str| normal(name) == normal(&verdict.agent);
            let mut earlier = assessment.agents[..index].iter();
            let agent = verdict.agent.clone();
            if !agents.iter().any(|name| is_same(name)) {
                let agents = agents.clone();
                errors.push(PostMortemError::Agent { agent, agents });
            } else if earlier.any(|other| is_same(&other.agent)) {
                errors.push(PostMortemError::AgentTwice { agent });
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(Self {
            record,
            timeline,
            assessment,
            evidence,
            with_learning,
        })
    }

    /// The lesson for future debates in the domain.
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
                .map(|new| Proposal {
                    question: new.question.clone(),
                    reason: new.reason.clone(),
                    estimate: new.effectiveness_estimate,
                })
                .collect(),
            asked: asked
                .map(|asked| AskedObservation {
                    question: asked.question.clone(),
                    helped: asked.helped,
                })
                .collect(),
            skills: self.skills(),
            rounds: self.rounds(),
            consensus_reached: self.record.token_efficiency.consensus_reached,
        }
    }

    pub(super) fn of_type(&self, kind: EvidenceType) -> impl Iterator<Item = &EvidenceItem> {
        self.evidence.iter().filter(move |item| item.kind == kind)
    }

    /// The assessor's accuracy of a type takes precedence over the mean of its items: it weighs them, and includes evidence
    /// that was never cited.
    fn types(&self) -> Vec<TypeObservation> {
        let types = EvidenceType::ALL.into_iter().filter_map(|kind| {
            let marks: Vec<Mark> = self.of_type(kind).filter_map(|item| item.mark).collect();
            let findings = self.assessment.findings().filter_map(|finding| {
                let accuracy = finding.evidence_type_accuracy.as_ref()?;
                (accuracy.kind == kind).then(|| (finding, accuracy.verdict.held()))
            });
            let (findings, verdicts): (Vec<_>, Vec<f64>) = findings.unzip();
            let shares: Vec<f64> = marks.iter().map(|mark| mark.held()).collect();
            let held = mean(&verdicts).or_else(|| mean(&shares))?;
            let why = if let Some(finding) = findings.first() {
                let why = finding.note.as_ref().or(finding.validation.as_ref());
                why.unwrap_or(&finding.aspect).clone()
            } else {
                let held = shares.iter().filter(|share| **share >= 1.0).count();
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

    /// The assessor's verdict on the agent.
    pub(super) fn verdict_on(&self, agent: &str) -> Option<&AgentVerdict> {
        let mut verdicts = self.assessment.agents.iter();
        verdicts.find(|verdict| normal(&verdict.agent) == normal(agent))
    }

    pub(super) fn score(&self, agent: &str) -> Option<AgentScore> {
        if let Some(verdict) = self.verdict_on(agent) {
            let right = verdict.accuracy;
            let last = self.record.last_position(agent);
            let stated = last.and_then(|position| position.confidence);
            let stated = stated.and_then(|stated| Probability::new(Confidence::value(stated)).ok());
            return Some(match stated {
                Some(confidence) => AgentScore::Probability { confidence, right },
                None => AgentScore::Verdict { right },
            });
        }
        let cites = |item: &&EvidenceItem| item.agents.iter().any(|name| name == agent);
        let own = self.evidence.iter().filter(cites);
        let marks: Vec<f64> = own.filter_map(|item| Some(item.mark?.held())).collect();
        let held = Probability::new(mean(&marks)?).ok()?;
        Some(AgentScore::Evidence {
            held,
            pieces: marks.len(),
        })
    }

    /// The skills the assessor names, and the one that late requirements point to.
    fn skills(&self) -> Vec<SkillNeed> {
        let named = self.assessment.skills.iter().map(|skill| SkillNeed {
            skill: skill.skill_name.clone(),
            reason: skill.reason.clone(),
            evidence: skill.evidence.iter().cloned().collect(),
            expected: skill.expected_improvement.clone(),
        });
        let mut skills: Vec<SkillNeed> = named.collect();
        let events = self.timeline.events().iter();
        let late = events.filter(|event| event.status == Status::NewRequirement);
        let evidence: Vec<String> = late
            .map(|event| format!("{}: {}", event.when(), event.event))
            .collect();
        if evidence.is_empty() {
            return skills;
        }
        let is_same = |need: &&mut SkillNeed| normal(&need.skill) == normal(REQUIREMENTS_SKILL);
        match skills.iter_mut().find(is_same) {
            Some(known) => known.evidence.extend(evidence),
            None => skills.push(SkillNeed {
                skill: REQUIREMENTS_SKILL.to_owned(),
                reason: "Requirements came up after the decision".to_owned(),
                evidence,
                expected: None,
            }),
        }
        skills
    }

    /// For each round, how much of the evidence first cited in it was right and wrong. Empty if no evidence was assessed.
    fn rounds(&self) -> Vec<RoundObservation> {
        if self.evidence.iter().all(|item| item.mark.is_none()) {
            return Vec::new();
        }
        let rounds = self.record.rounds.iter().map(|round| {
            let items = self.evidence.iter();
            let first_cited = items.filter(|item| item.round == Some(round.round_number));
            let marks: Vec<Mark> = first_cited.filter_map(|item| item.mark).collect();
            RoundObservation {
                round: round.round_number,
                right: marks.iter().filter(|mark| mark.held() >= 1.0).count(),
                wrong: marks.iter().filter(|mark| mark.held() <= 0.0).count(),
            }
        });
        rounds.collect()
    }

    /// How well the debate used evidence of a type: the mean of its items, or else the assessor's accuracy of the type.
    pub(super) fn heeded(&self, kind: EvidenceType) -> Option<f64> {
        let marks = self.of_type(kind);
        let marks: Vec<f64> = marks.filter_map(|item| Some(item.mark?.heeded())).collect();
        mean(&marks).or_else(|| {
            let findings = self.assessment.findings();
            let accuracies = findings.filter_map(|finding| finding.evidence_type_accuracy.as_ref());
            let shares: Vec<f64> = accuracies
                .filter(|accuracy| accuracy.kind == kind)
                .map(|accuracy| match accuracy.verdict {
                    TypeVerdict::Held(share) => share.value(),
                    TypeVerdict::Missed => 0.0,
                })
                .collect();
            mean(&shares)
        })
    }
}

#[cfg(test)]
#[path = "post_mortem_tests.rs"]
mod tests;
