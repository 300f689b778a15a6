//! The changes a post-mortem made, in the design's format of learning updates.

use std::collections::BTreeMap;

use roundtable_core::bounded::Probability;
use roundtable_core::evidence::EvidenceType;
use roundtable_core::format::counted;
use roundtable_core::learning::{
    Audit, Change, Domain, Knowledge, Lesson, Move, Priority, SkillRecord, Topic,
};
use roundtable_core::wording::normal;
use serde::Serialize;

/// The changes by one entry of the learning audit: weights, calibration, questions and skills.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LearningUpdates {
    pub project: String,
    pub domain: Domain,
    /// The number of the audit entry, to undo it.
    pub entry: u64,
    pub evidence_weight_updates: BTreeMap<EvidenceType, WeightUpdate>,
    pub agent_calibration_updates: BTreeMap<String, AgentUpdate>,
    pub pm_agent_question_updates: QuestionUpdates,
    pub skill_recommendations: Vec<SkillRecommendation>,
    pub debate_efficiency_analysis: EfficiencyAnalysis,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WeightUpdate {
    pub old_weight: f64,
    pub new_weight: f64,
    /// Lower end of the 95% interval of the new weight.
    pub low: f64,
    /// Upper end of the 95% interval.
    pub high: f64,
    pub reason: String,
    pub projects_analyzed: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentUpdate {
    pub domain: Domain,
    pub debates: usize,
    pub accuracy: f64,
    pub low: f64,
    pub high: f64,
    pub brier: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QuestionUpdates {
    pub debate_topic: Domain,
    pub new_required_questions: Vec<NewRequired>,
    pub updated_questions: Vec<UpdatedQuestion>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NewRequired {
    pub question: String,
    pub reason: String,
    pub effectiveness_estimate: f64,
    pub priority: Priority,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UpdatedQuestion {
    pub question: String,
    pub old_effectiveness: f64,
    pub new_effectiveness: f64,
    pub note: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SkillRecommendation {
    pub skill_name: String,
    pub reason: String,
    pub evidence: Vec<String>,
    /// Expected effects in the assessors' words; not used in calculations.
    pub expected_improvement: Vec<String>,
    pub priority: Priority,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EfficiencyAnalysis {
    pub project: String,
    pub rounds: usize,
    /// Rounds that added evidence that proved right.
    pub rounds_that_paid: Vec<u32>,
    pub consensus_reached: bool,
    pub decision_accuracy: Option<f64>,
    pub observation: String,
    pub recommendation: String,
}

impl LearningUpdates {
    /// `None` if the entry is not a lesson. `after` is the knowledge right after the entry.
    pub fn of(entry: &Audit, after: &Knowledge) -> Option<Self> {
        let Change::Learned { lesson } = &entry.change else {
            return None;
        };
        Some(Self {
            project: lesson.project.clone(),
            domain: entry.domain.clone(),
            entry: entry.number,
            evidence_weight_updates: weights(entry, lesson, after),
            agent_calibration_updates: agents(lesson, after),
            pm_agent_question_updates: questions(entry, after),
            skill_recommendations: skills(lesson, after),
            debate_efficiency_analysis: efficiency(lesson),
        })
    }
}

fn moves(entry: &Audit, topic: Topic) -> impl Iterator<Item = &Move> {
    let moves = entry.moves.iter();
    moves.filter(move |change| change.topic == topic)
}

fn weights(
    entry: &Audit,
    lesson: &Lesson,
    after: &Knowledge,
) -> BTreeMap<EvidenceType, WeightUpdate> {
    let moves = moves(entry, Topic::Weight).filter_map(|change| {
        let kind = EvidenceType::named(&change.name)?;
        let weight = after.weights.iter().find(|weight| weight.kind == kind)?;
        let seen = lesson.evidence.iter().find(|seen| seen.kind == kind)?;
        let update = WeightUpdate {
            old_weight: change.old.unwrap_or(weight.prior),
            new_weight: weight.weight.mean,
            low: weight.weight.low,
            high: weight.weight.high,
            reason: seen.why.clone(),
            projects_analyzed: change.from,
        };
        Some((kind, update))
    });
    moves.collect()
}

fn agents(lesson: &Lesson, after: &Knowledge) -> BTreeMap<String, AgentUpdate> {
    let agents = lesson.agents.iter().filter_map(|seen| {
        let mut standings = after.agents.iter();
        let standing = standings.find(|standing| standing.agent == seen.agent)?;
        let update = AgentUpdate {
            domain: after.domain.clone(),
            debates: standing.debates,
            accuracy: standing.accuracy.mean,
            low: standing.accuracy.low,
            high: standing.accuracy.high,
            brier: standing.brier,
        };
        Some((seen.agent.clone(), update))
    });
    agents.collect()
}

fn questions(entry: &Audit, after: &Knowledge) -> QuestionUpdates {
    let mut updates = QuestionUpdates {
        debate_topic: after.domain.clone(),
        new_required_questions: Vec::new(),
        updated_questions: Vec::new(),
    };
    for change in moves(entry, Topic::Question) {
        let mut questions = after.questions.iter();
        let Some(question) = questions.find(|question| question.question == change.name) else {
            continue;
        };
        match change.old {
            None => updates.new_required_questions.push(NewRequired {
                question: question.question.clone(),
                reason: question.reasons.first().cloned().unwrap_or_default(),
                effectiveness_estimate: question.effectiveness.mean,
                priority: question.priority,
            }),
            Some(old) => updates.updated_questions.push(UpdatedQuestion {
                question: question.question.clone(),
                old_effectiveness: old,
                new_effectiveness: question.effectiveness.mean,
                note: format!(
                    "missing in {} of {} projects; asked in {}, helpful in {}",
                    question.missed, question.of, question.asked, question.helped
                ),
            }),
        }
    }
    updates
}

fn skills(lesson: &Lesson, after: &Knowledge) -> Vec<SkillRecommendation> {
    let is_needed = |skill: &&SkillRecord| {
        let mut needs = lesson.skills.iter();
        needs.any(|need| normal(&need.skill) == normal(&skill.skill))
    };
    let skills = after.skills.iter().filter(is_needed);
    skills
        .map(|skill| SkillRecommendation {
            skill_name: skill.skill.clone(),
            reason: format!(
                "{} ({} of {} projects lacked it)",
                skill.reasons.first().map_or("", String::as_str),
                skill.lacking,
                skill.of
            ),
            evidence: skill.evidence.clone(),
            expected_improvement: skill.expected.clone(),
            priority: skill.priority,
        })
        .collect()
}

/// Whether the later rounds added anything right.
fn efficiency(lesson: &Lesson) -> EfficiencyAnalysis {
    let accuracy = lesson.decision_accuracy.map(Probability::value);
    let useful = lesson.rounds.iter().filter(|round| round.right > 0);
    let useful: Vec<u32> = useful.map(|round| round.round).collect();
    let rounds = lesson.rounds.len();
    let last_useful = useful.last().copied().unwrap_or(0);
    let observation = match (rounds, last_useful) {
        (0, _) => "The evidence of the rounds was not assessed.".to_owned(),
        (_, 0) => "No round added evidence that proved right.".to_owned(),
        (_, 1) => "All evidence that proved right was cited in round 1.".to_owned(),
        (_, last) => format!("Round {last} was the last to add evidence that proved right."),
    };
    let has_gaps = accuracy.is_some_and(|accuracy| accuracy < 1.0);
    let recommendation = match lesson.skills.first() {
        Some(need) if lesson.consensus_reached && has_gaps => format!(
            "The panel agreed but missed something: add {} rather than more rounds.",
            need.skill
        ),
        _ if rounds > 0 && usize::try_from(last_useful).unwrap_or(0) < rounds => {
            let rounds = counted(last_useful.max(1), "round");
            format!("{rounds} would have been enough.")
        }
        _ => "The number of rounds was right.".to_owned(),
    };
    EfficiencyAnalysis {
        project: lesson.project.clone(),
        rounds,
        rounds_that_paid: useful,
        consensus_reached: lesson.consensus_reached,
        decision_accuracy: accuracy,
        observation,
        recommendation,
    }
}
