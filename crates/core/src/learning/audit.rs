//! The append-only audit log of lessons learned, imported, undone and reset. All knowledge is a fold over it.
//!
//! An entry is in force unless a later entry in force undoes it; undoing an undo therefore restores the entry. A project counts
//! once, even if it is undone and learned again: its last lesson counts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lesson::Lesson;
use super::{Domain, HalfLife, Knowledge, Millis};
use crate::spread::real;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Audit {
    /// Counted from 1.
    pub number: u64,
    pub at: Millis,
    pub domain: Domain,
    pub change: Change,
    /// For people.
    pub why: String,
    /// The figures it changed at that moment.
    pub moves: Vec<Move>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Change {
    Learned {
        lesson: Box<Lesson>,
    },
    Imported {
        lessons: Vec<Lesson>,
    },
    /// Earlier entries no longer count. A reset can be undone too.
    Reset,
    Undone {
        entry: u64,
    },
}

impl Change {
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Learned { .. } => "learned",
            Self::Imported { .. } => "imported",
            Self::Reset => "reset",
            Self::Undone { .. } => "undone",
        }
    }

    /// The lessons that the entry adds.
    fn lessons(&self) -> &[Lesson] {
        match self {
            Self::Learned { lesson } => std::slice::from_ref(lesson),
            Self::Imported { lessons } => lessons,
            Self::Reset | Self::Undone { .. } => &[],
        }
    }
}

/// One figure that an entry changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Move {
    pub topic: Topic,
    pub name: String,
    /// `None` if the figure did not exist before.
    pub old: Option<f64>,
    /// `None` if it no longer exists.
    pub new: Option<f64>,
    /// The number of projects behind the new figure.
    pub from: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// The weight of a type of evidence.
    Weight,
    /// The accuracy of an agent.
    Agent,
    /// The effectiveness of a required question.
    Question,
    /// The number of projects that lacked a skill.
    Skill,
    /// The share of projects in which a round was productive.
    Round,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LearnError {
    #[error(
        "'{project}' is already learned (entry {entry}); undo it first: `roundtable learning undo {entry}`"
    )]
    Twice { project: String, entry: u64 },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UndoError {
    #[error("nothing to undo")]
    Nothing,
    #[error("there is no entry {number}; list entries with `roundtable learning history`")]
    Unknown { number: u64 },
    #[error("entry {number} belongs to the domain '{domain}'")]
    OtherDomain { number: u64, domain: Domain },
    #[error("entry {number} is already undone by entry {by}")]
    Already { number: u64, by: u64 },
}

/// Whether each entry is in force; in the order of the entries.
pub fn in_force(audit: &[Audit]) -> Vec<bool> {
    let mut force = vec![true; audit.len()];
    // From the end, because an undo can only be undone by a later entry.
    for index in (0..audit.len()).rev() {
        if !force[index] {
            continue;
        }
        if let Change::Undone { entry } = audit[index].change {
            let mut earlier = audit[..index].iter();
            if let Some(undone) = earlier.position(|e| e.number == entry) {
                force[undone] = false;
            }
        }
    }
    force
}

/// The lessons of a domain that are in force, in order; each project once.
pub fn lessons(audit: &[Audit], domain: &Domain) -> Vec<Lesson> {
    let mut lessons: Vec<Lesson> = Vec::new();
    for (entry, holds) in audit.iter().zip(in_force(audit)) {
        if !holds || entry.domain != *domain {
            continue;
        }
        if entry.change == Change::Reset {
            lessons.clear();
        }
        for lesson in entry.change.lessons() {
            lessons.retain(|known| known.project != lesson.project);
            lessons.push(lesson.clone());
        }
    }
    lessons
}

/// Every domain in the audit log, sorted by name.
pub fn domains(audit: &[Audit]) -> Vec<Domain> {
    let mut domains: Vec<Domain> = audit.iter().map(|entry| entry.domain.clone()).collect();
    domains.sort();
    domains.dedup();
    domains
}

/// A project can be learned from only once, across all domains.
pub fn learn(audit: &[Audit], lesson: Lesson) -> Result<Change, LearnError> {
    if let Some(entry) = entry_of(audit, &lesson.project) {
        return Err(LearnError::Twice {
            project: lesson.project,
            entry,
        });
    }
    Ok(Change::Learned {
        lesson: Box::new(lesson),
    })
}

/// The entry in force that holds a project's lesson.
pub(super) fn entry_of(audit: &[Audit], project: &str) -> Option<u64> {
    let includes = |lessons: &[Lesson]| lessons.iter().any(|lesson| lesson.project == project);
    let mut domains = domains(audit).into_iter();
    if !domains.any(|domain| includes(&lessons(audit, &domain))) {
        return None;
    }
    let mut entries = audit.iter().zip(in_force(audit)).rev();
    let holding = entries.find(|(entry, holds)| *holds && includes(entry.change.lessons()));
    holding.map(|(entry, _)| entry.number)
}

/// Undoes an entry; without a number the last one in force that is not itself an undo.
pub fn undo(
    audit: &[Audit],
    number: Option<u64>,
    domain: Option<&Domain>,
) -> Result<(Domain, Change), UndoError> {
    let force = in_force(audit);
    let index = match number {
        Some(number) => {
            let index = audit.iter().position(|entry| entry.number == number);
            index.ok_or(UndoError::Unknown { number })?
        }
        None => audit
            .iter()
            .zip(&force)
            .rposition(|(entry, holds)| {
                *holds
                    && !matches!(entry.change, Change::Undone { .. })
                    && domain.is_none_or(|domain| entry.domain == *domain)
            })
            .ok_or(UndoError::Nothing)?,
    };
    let entry = &audit[index];
    let number = entry.number;
    if domain.is_some_and(|domain| entry.domain != *domain) {
        let domain = entry.domain.clone();
        return Err(UndoError::OtherDomain { number, domain });
    }
    if !force[index] {
        let by = audit.iter().zip(&force).find_map(|(later, holds)| {
            let undoes = matches!(later.change, Change::Undone { entry } if entry == number);
            (*holds && undoes).then_some(later.number)
        });
        let by = by.unwrap_or(number);
        return Err(UndoError::Already { number, by });
    }
    Ok((entry.domain.clone(), Change::Undone { entry: number }))
}

/// The audit entry for a change, with the figures it changes.
pub fn record(
    audit: &[Audit],
    domain: Domain,
    change: Change,
    why: String,
    half_life: HalfLife,
    now: Millis,
) -> Audit {
    let mut entry = Audit {
        number: audit.iter().map(|entry| entry.number).max().unwrap_or(0) + 1,
        at: now,
        domain,
        change,
        why,
        moves: Vec::new(),
    };
    let before = Knowledge::from_audit(audit, &entry.domain, half_life, now);
    let mut with: Vec<Audit> = audit.to_vec();
    with.push(entry.clone());
    let after = Knowledge::from_audit(&with, &entry.domain, half_life, now);
    entry.moves = moves(&before, &after);
    entry
}

type Figure = (Topic, String, f64, usize);

fn figures(knowledge: &Knowledge) -> Vec<Figure> {
    let weights = knowledge.weights.iter().map(|learned| {
        let name = learned.kind.name().to_owned();
        let weight = learned.weight;
        (Topic::Weight, name, weight.mean, weight.cases)
    });
    let agents = knowledge.agents.iter().map(|standing| {
        let (name, accuracy) = (standing.agent.clone(), standing.accuracy);
        (Topic::Agent, name, accuracy.mean, accuracy.cases)
    });
    let questions = knowledge.questions.iter().map(|record| {
        let from = record.missed + record.asked;
        let name = record.question.clone();
        (Topic::Question, name, record.effectiveness.mean, from)
    });
    let skills = knowledge.skills.iter().map(|record| {
        let lacking = real(record.lacking);
        (Topic::Skill, record.skill.clone(), lacking, record.of)
    });
    let rounds = knowledge.rounds.iter().map(|round| {
        let name = format!("round {}", round.round);
        (Topic::Round, name, round.share.mean, round.played)
    });
    weights
        .chain(agents)
        .chain(questions)
        .chain(skills)
        .chain(rounds)
        .collect()
}

/// The figures that differ.
fn moves(before: &Knowledge, after: &Knowledge) -> Vec<Move> {
    let (before, after) = (figures(before), figures(after));
    let is_same = |a: &Figure, b: &Figure| a.0 == b.0 && a.1 == b.1;
    let mut moves = Vec::new();
    for new in &after {
        let old = before.iter().find(|old| is_same(old, new));
        if old.is_none_or(|old| (old.2 - new.2).abs() > 1e-12 || old.3 != new.3) {
            moves.push(Move {
                topic: new.0,
                name: new.1.clone(),
                old: old.map(|old| old.2),
                new: Some(new.2),
                from: new.3,
            });
        }
    }
    for old in &before {
        if !after.iter().any(|new| is_same(old, new)) {
            moves.push(Move {
                topic: old.0,
                name: old.1.clone(),
                old: Some(old.2),
                new: None,
                from: 0,
            });
        }
    }
    moves
}
