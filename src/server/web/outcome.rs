//! The outcome of a debate: of a forecast, events after a decision, and the post-mortem.

use askama::Template;
use roundtable_core::bounded::Probability;
use roundtable_core::excerpt::excerpt;
use roundtable_core::learning::Mark;
use roundtable_engine::retrospective::{
    AgentVerdict, Assessment, DebateRecord, Finding, LessonLearned, Marked, MarkedEvidence,
    NewQuestion, QuestionAsked, Status, Timeline, Tracked, WantedSkill, evidence_items,
};
use roundtable_engine::transcript::capital;

use super::fields::FieldValues;
use super::{Choice, Frame};
use crate::failure::Fault;
use crate::format::short;

/// How right something was, in words: people answer these, and leave out percentages.
const GRADES: [(&str, &str, f64); 5] = [
    ("1", "Right", 1.0),
    ("0.75", "Mostly right", 0.75),
    ("0.5", "Partly right", 0.5),
    ("0.25", "Mostly wrong", 0.25),
    ("0", "Wrong", 0.0),
];
const MARKS: [(&str, &str, Mark); 4] = [
    ("validated", "It held", Mark::Validated),
    ("refuted", "It did not hold", Mark::Refuted),
    (
        "dismissed",
        "It was dismissed, and would have held",
        Mark::DismissedButRelevant,
    ),
    ("incomplete", "It left out what mattered", Mark::Incomplete),
];
/// Pieces of evidence in the form; a debate may have hundreds.
const MAX_EVIDENCE: usize = 40;
const MAX_LINES: usize = 50;
const MAX_CHARS: usize = 2_000;

pub(crate) struct OutcomeView {
    pub id: String,
    pub question: String,
    pub problems: Vec<String>,
    /// The outcomes of a forecast.
    pub outcomes: Vec<Choice>,
    /// The recorded number or date, or an empty text; `None` if the question does not ask for one.
    pub value: Option<String>,
    pub events: Vec<String>,
    pub post_mortem: Option<PostMortemForm>,
}

/// The questions about a decision.
pub(crate) struct PostMortemForm {
    pub decision: Option<String>,
    pub agents: Vec<Asked>,
    pub evidence: Vec<Asked>,
    pub questions: Vec<Asked>,
    /// It was assessed before: another assessment replaces that one.
    pub is_assessed: bool,
    pub domain: String,
}

/// A question with the name of its field.
pub(crate) struct Asked {
    pub name: String,
    pub label: String,
}

#[derive(Template)]
#[template(path = "outcome_page.html")]
struct Page {
    frame: Frame,
    view: OutcomeView,
}

impl OutcomeView {
    pub(crate) fn page(self, frame: Frame) -> String {
        let page = Page { frame, view: self };
        page.render().unwrap_or_default()
    }

    fn statuses() -> Vec<Choice> {
        choices(
            Status::ALL.map(|status| (status.name(), capital(&status.name().replace('_', " ")))),
        )
    }

    fn grades() -> Vec<Choice> {
        choices(GRADES.map(|(value, label, _)| (value, label.to_owned())))
    }

    fn marks() -> Vec<Choice> {
        choices(MARKS.map(|(value, label, _)| (value, label.to_owned())))
    }
}

fn choices<const N: usize>(options: [(&str, String); N]) -> Vec<Choice> {
    let options = options.into_iter();
    options
        .map(|(value, label)| Choice {
            value: value.to_owned(),
            label,
            is_chosen: false,
        })
        .collect()
}

impl PostMortemForm {
    pub(crate) fn new(record: &DebateRecord, is_assessed: bool) -> Self {
        let asked = |prefix: &str, index: usize, label: &str| Asked {
            name: format!("{prefix}.{index}"),
            label: short(label, 300),
        };
        let decision = record.final_consensus.as_ref();
        let evidence = evidence_items(record);
        let evidence = evidence.iter().take(MAX_EVIDENCE).enumerate();
        let agents = record.agents().into_iter().enumerate();
        let questions = record.required_questions.iter().enumerate();
        Self {
            decision: decision
                .and_then(|consensus| consensus.decision.as_deref())
                .map(|decision| excerpt(decision, 600)),
            agents: agents
                .map(|(index, agent)| asked("agent", index, agent))
                .collect(),
            evidence: evidence
                .map(|(index, item)| asked("evidence", index, &item.citation))
                .collect(),
            questions: questions
                .map(|(index, question)| asked("question", index, question))
                .collect(),
            is_assessed,
            domain: record.domain.clone().unwrap_or_default(),
        }
    }
}

/// The events of a timeline, one line each.
pub(crate) fn events(course: &Timeline) -> Vec<String> {
    let events = course.events().iter();
    events
        .map(|event| {
            let when = match (event.date, event.week) {
                (Some(date), _) => date.to_string(),
                (None, Some(week)) => format!("Week {week}"),
                (None, None) => String::new(),
            };
            let status = event.status.name().replace('_', " ");
            short(&format!("{when} {} ({status})", event.event), 300)
        })
        .collect()
}

/// The submitted event.
pub(crate) fn tracked(
    values: &FieldValues,
    today: jiff::civil::Date,
) -> Result<Tracked, Vec<Fault>> {
    let mut faults = Vec::new();
    let event = text(values, "event");
    if event.is_empty() {
        faults.push(Fault::new("/event", "what happened must not be empty"));
    }
    let given = text(values, "date");
    let date = if given.is_empty() {
        Some(today)
    } else {
        given.parse().ok()
    };
    if date.is_none() {
        let given = short(&given, 40);
        let message = format!("invalid date '{given}': expected a date such as 2026-11-16");
        faults.push(Fault::new("/date", message));
    }
    let status = text(values, "status");
    let status = Status::named(&status);
    if status.is_none() {
        faults.push(Fault::new("/status", "choose a status"));
    }
    match (status, faults.is_empty()) {
        (Some(status), true) => Ok(Tracked {
            week: None,
            date,
            event,
            status,
            note: None,
            impact: Some(text(values, "impact")).filter(|impact| !impact.is_empty()),
            time_cost: None,
            tokens_impacted: None,
            surprise_factor: None,
            overall_assessment: None,
        }),
        _ => Err(faults),
    }
}

/// The submitted assessment. Questions without an answer are left out; only the first one needs one.
pub(crate) fn assessment(
    values: &FieldValues,
    record: &DebateRecord,
) -> Result<Assessment, Vec<Fault>> {
    let accuracy = grade(&text(values, "accuracy"));
    let accuracy = accuracy.ok_or_else(|| {
        vec![Fault::new(
            "/accuracy",
            "answer the first question: did the decision turn out right?",
        )]
    })?;
    let missed = |what: &str| format!("{what} in '{}'", record.project_name);
    let agents = record.agents().into_iter().enumerate();
    let evidence = evidence_items(record).into_iter().take(MAX_EVIDENCE);
    let questions = record.required_questions.iter().enumerate();
    Ok(Assessment {
        decision_accuracy: accuracy,
        what_went_right: findings(values, "right"),
        what_went_wrong: findings(values, "wrong"),
        lessons_learned: lines(values, "lessons")
            .map(|lesson| LessonLearned {
                lesson,
                ..LessonLearned::default()
            })
            .collect(),
        evidence: evidence
            .enumerate()
            .filter_map(|(index, item)| {
                let chosen = text(values, &format!("evidence.{index}"));
                let (_, _, mark) = MARKS.into_iter().find(|(name, _, _)| *name == chosen)?;
                Some(MarkedEvidence {
                    of: Marked::Citation {
                        words: item.citation,
                        kind: None,
                    },
                    mark,
                    note: None,
                })
            })
            .collect(),
        agents: agents
            .filter_map(|(index, agent)| {
                Some(AgentVerdict {
                    agent: agent.to_owned(),
                    accuracy: grade(&text(values, &format!("agent.{index}")))?,
                    note: None,
                })
            })
            .collect(),
        required_questions: lines(values, "missed")
            .map(|question| NewQuestion {
                question,
                reason: missed("missed"),
                effectiveness_estimate: None,
            })
            .collect(),
        questions_asked: questions
            .filter_map(|(index, question)| {
                let helped = match text(values, &format!("question.{index}")).as_str() {
                    "yes" => true,
                    "no" => false,
                    _ => return None,
                };
                Some(QuestionAsked {
                    question: question.clone(),
                    helped,
                })
            })
            .collect(),
        skills: lines(values, "skills")
            .map(|skill_name| WantedSkill {
                skill_name,
                reason: missed("lacking"),
                ..WantedSkill::default()
            })
            .collect(),
    })
}

fn grade(value: &str) -> Option<Probability> {
    let (_, _, grade) = GRADES.into_iter().find(|(name, _, _)| *name == value)?;
    Probability::new(grade).ok()
}

fn findings(values: &FieldValues, name: &str) -> Vec<Finding> {
    lines(values, name)
        .map(|aspect| Finding {
            aspect,
            ..Finding::default()
        })
        .collect()
}

fn text(values: &FieldValues, name: &str) -> String {
    let text = values.get(name).map_or("", |value| value.trim());
    short(text, MAX_CHARS)
}

/// One entry per line.
fn lines(values: &FieldValues, name: &str) -> impl Iterator<Item = String> {
    let lines = values.get(name).map_or("", String::as_str).lines();
    let lines = lines.map(|line| short(line, MAX_CHARS));
    lines.filter(|line| !line.is_empty()).take(MAX_LINES)
}
