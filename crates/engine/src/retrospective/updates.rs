//! What a post-mortem changed, in the design's form of learning updates.

use std::collections::BTreeMap;

use roundtable_core::bounded::Probability;
use roundtable_core::evidence::EvidenceType;
use roundtable_core::learning::{
    Audit, Change, Domain, Knowledge, Lesson, Move, Priority, QuestionRecord, Topic,
};
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LearningUpdates {
    pub project: String,
    pub domain: Domain,
    /// Its entry in the audit, by which it can be taken back.
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
    /// The new one lies between these with 95% probability.
    pub low: f64,
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
    /// What people expect, in their words; nothing is counted with it.
    pub expected_improvement: Vec<String>,
    pub priority: Priority,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EfficiencyAnalysis {
    pub project: String,
    pub rounds: usize,
    /// Those that brought up something that turned out right.
    pub rounds_that_paid: Vec<u32>,
    pub consensus_reached: bool,
    pub decision_accuracy: Option<f64>,
    pub observation: String,
    pub recommendation: String,
}

impl LearningUpdates {
    /// `None` for an entry by which nothing was learned. `after` is what was known right after it.
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

fn moved(entry: &Audit, topic: Topic) -> impl Iterator<Item = &Move> {
    entry.moves.iter().filter(move |it| it.topic == topic)
}

fn weights(
    entry: &Audit,
    lesson: &Lesson,
    after: &Knowledge,
) -> BTreeMap<EvidenceType, WeightUpdate> {
    let moves = moved(entry, Topic::Weight).filter_map(|it| {
        let kind = EvidenceType::named(&it.name)?;
        let weight = after.weights.iter().find(|it| it.kind == kind)?;
        let seen = lesson.evidence.iter().find(|it| it.kind == kind)?;
        let update = WeightUpdate {
            old_weight: it.old.unwrap_or(weight.prior),
            new_weight: weight.weight.mean,
            low: weight.weight.low,
            high: weight.weight.high,
            reason: seen.why.clone(),
            projects_analyzed: it.from,
        };
        Some((kind, update))
    });
    moves.collect()
}

fn agents(lesson: &Lesson, after: &Knowledge) -> BTreeMap<String, AgentUpdate> {
    let agents = lesson.agents.iter().filter_map(|seen| {
        let standing = after.agents.iter().find(|it| it.agent == seen.agent)?;
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
    for it in moved(entry, Topic::Question) {
        let Some(question) = after.questions.iter().find(|q| q.question == it.name) else {
            continue;
        };
        match it.old {
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
                note: told(question),
            }),
        }
    }
    updates
}

fn told(question: &QuestionRecord) -> String {
    format!(
        "missed by {} of {} projects; asked in {}, where it helped in {}",
        question.missed, question.of, question.asked, question.helped
    )
}

fn skills(lesson: &Lesson, after: &Knowledge) -> Vec<SkillRecommendation> {
    let is_new = |skill: &str| {
        let mut needs = lesson.skills.iter();
        needs.any(|it| {
            roundtable_core::wording::normal(&it.skill) == roundtable_core::wording::normal(skill)
        })
    };
    let skills = after.skills.iter().filter(|it| is_new(&it.skill));
    skills
        .map(|it| SkillRecommendation {
            skill_name: it.skill.clone(),
            reason: format!(
                "{} ({} of {} projects lacked it)",
                it.reasons.first().map_or("", String::as_str),
                it.lacking,
                it.of
            ),
            evidence: it.evidence.clone(),
            expected_improvement: it.expected.clone(),
            priority: it.priority,
        })
        .collect()
}

/// Whether later rounds changed anything that turned out right.
fn efficiency(lesson: &Lesson) -> EfficiencyAnalysis {
    let accuracy = lesson.decision_accuracy.map(Probability::value);
    let paid = lesson.rounds.iter().filter(|it| it.right > 0);
    let paid: Vec<u32> = paid.map(|it| it.round).collect();
    let rounds = lesson.rounds.len();
    let last_paid = paid.last().copied().unwrap_or(0);
    let observation = match (rounds, last_paid) {
        (0, _) => "Nobody said what became of the evidence of the rounds.".to_owned(),
        (_, 0) => "No round brought up anything that turned out right.".to_owned(),
        (_, 1) => "Everything that turned out right came up in round 1.".to_owned(),
        (_, last) => format!("The last round that brought up something right was round {last}."),
    };
    let has_gaps = accuracy.is_some_and(|it| it < 1.0);
    let recommendation = match lesson.skills.first() {
        Some(need) if lesson.consensus_reached && has_gaps => format!(
            "They agreed and still missed something: add {} rather than more rounds.",
            need.skill
        ),
        Some(_) | None if rounds > 0 && usize::try_from(last_paid).unwrap_or(0) < rounds => {
            format!(
                "{} would have done.",
                match last_paid {
                    0 | 1 => "One round".to_owned(),
                    last => format!("{last} rounds"),
                }
            )
        }
        Some(_) | None => "The rounds paid; keep them.".to_owned(),
    };
    EfficiencyAnalysis {
        project: lesson.project.clone(),
        rounds,
        rounds_that_paid: paid,
        consensus_reached: lesson.consensus_reached,
        decision_accuracy: accuracy,
        observation,
        recommendation,
    }
}
