//! The append-only list of what was learned, taken back, imported and reset. What is known is a fold over it.
//!
//! An entry is in force unless a later entry that is in force takes it back; so taking back a taking back restores it.
//! A project counts once, whatever is taken back and learned again in between: its last lesson stands for it.

use serde::{Deserialize, Serialize};

use super::lesson::Lesson;
use super::{Domain, HalfLife, Knowledge, Millis};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    /// Counted from 1.
    pub number: u64,
    pub at: Millis,
    pub domain: Domain,
    pub change: Change,
    /// In words, for people.
    pub why: String,
    /// What it moved at that moment.
    pub moves: Vec<Move>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Change {
    Learned {
        lesson: Box<Lesson>,
    },
    Imported {
        lessons: Vec<Lesson>,
    },
    /// Everything before is forgotten, though not lost: this too can be taken back.
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
}

/// One figure that an entry changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Move {
    pub topic: Topic,
    pub name: String,
    /// `None` where there was none before, or is none any more.
    pub old: Option<f64>,
    pub new: Option<f64>,
    /// From how many projects the new figure is.
    pub from: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// The weight of a type of evidence.
    Weight,
    /// The accuracy of an agent.
    Agent,
    /// The effectiveness of a required question.
    Question,
    /// In how many projects a skill was lacking.
    Skill,
    /// In what share of projects a round paid.
    Round,
}

impl Topic {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Weight => "weight",
            Self::Agent => "agent",
            Self::Question => "question",
            Self::Skill => "skill",
            Self::Round => "round",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LearnError {
    #[error(
        "'{project}' was learned from already (entry {entry}); take that back first with `roundtable learning undo {entry}`"
    )]
    Twice { project: String, entry: u64 },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UndoError {
    #[error("there is nothing to take back")]
    Nothing,
    #[error("there is no entry {number}; `roundtable learning history` lists them")]
    Unknown { number: u64 },
    #[error("entry {number} is of the domain '{domain}'")]
    OtherDomain { number: u64, domain: Domain },
    #[error("entry {number} was taken back already, by entry {by}")]
    Already { number: u64, by: u64 },
}

/// Whether each entry is in force; in the order of the entries.
pub fn in_force(audit: &[Audit]) -> Vec<bool> {
    let mut force = vec![true; audit.len()];
    // From the end: what takes something back is itself only taken back by what comes later.
    for place in (0..audit.len()).rev() {
        if !force[place] {
            continue;
        }
        if let Change::Undone { entry } = audit[place].change {
            let before = audit[..place].iter().position(|it| it.number == entry);
            if let Some(before) = before {
                force[before] = false;
            }
        }
    }
    force
}

/// What a domain was taught, in order; each project once.
pub fn lessons(audit: &[Audit], domain: &Domain) -> Vec<Lesson> {
    let mut lessons: Vec<Lesson> = Vec::new();
    let take = |lesson: &Lesson, lessons: &mut Vec<Lesson>| {
        lessons.retain(|known| known.project != lesson.project);
        lessons.push(lesson.clone());
    };
    for (entry, holds) in audit.iter().zip(in_force(audit)) {
        if !holds || entry.domain != *domain {
            continue;
        }
        match &entry.change {
            Change::Learned { lesson } => take(lesson, &mut lessons),
            Change::Imported { lessons: many } => {
                for lesson in many {
                    take(lesson, &mut lessons);
                }
            }
            Change::Reset => lessons.clear(),
            Change::Undone { .. } => {}
        }
    }
    lessons
}

/// Every domain that was ever heard of, by name.
pub fn domains(audit: &[Audit]) -> Vec<Domain> {
    let mut domains: Vec<Domain> = audit.iter().map(|it| it.domain.clone()).collect();
    domains.sort();
    domains.dedup();
    domains
}

/// The same project teaches once, in whatever domain.
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

/// The entry by which a project counts.
pub(super) fn entry_of(audit: &[Audit], project: &str) -> Option<u64> {
    let counted = domains(audit).iter().any(|domain| {
        lessons(audit, domain)
            .iter()
            .any(|it| it.project == project)
    });
    if !counted {
        return None;
    }
    let force = in_force(audit);
    let entries = audit.iter().zip(force).filter(|(_, holds)| *holds);
    let mut holding = entries
        .map(|(entry, _)| entry)
        .filter(|entry| match &entry.change {
            Change::Learned { lesson } => lesson.project == project,
            Change::Imported { lessons } => lessons.iter().any(|it| it.project == project),
            Change::Reset | Change::Undone { .. } => false,
        });
    holding.next_back().map(|entry| entry.number)
}

/// Takes back an entry, or the last one in force that is not itself a taking back.
pub fn undo(
    audit: &[Audit],
    number: Option<u64>,
    domain: Option<&Domain>,
) -> Result<(Domain, Change), UndoError> {
    let force = in_force(audit);
    let place = match number {
        Some(number) => {
            let place = audit.iter().position(|it| it.number == number);
            place.ok_or(UndoError::Unknown { number })?
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
    let entry = &audit[place];
    let number = entry.number;
    if domain.is_some_and(|domain| entry.domain != *domain) {
        let domain = entry.domain.clone();
        return Err(UndoError::OtherDomain { number, domain });
    }
    if !force[place] {
        let by = audit.iter().zip(&force).find_map(|(later, holds)| {
            let takes_back = matches!(later.change, Change::Undone { entry } if entry == number);
            (*holds && takes_back).then_some(later.number)
        });
        let by = by.unwrap_or(number);
        return Err(UndoError::Already { number, by });
    }
    Ok((entry.domain.clone(), Change::Undone { entry: number }))
}

/// The entry that such a change makes, with what it moves.
pub fn record(
    audit: &[Audit],
    domain: Domain,
    change: Change,
    why: String,
    half_life: HalfLife,
    now: Millis,
) -> Audit {
    let mut entry = Audit {
        number: audit.iter().map(|it| it.number).max().unwrap_or(0) + 1,
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

#[expect(
    clippy::cast_precision_loss,
    reason = "projects are counted in thousands"
)]
fn figures(knowledge: &Knowledge) -> Vec<Figure> {
    let weights = knowledge.weights.iter().map(|it| {
        let name = it.kind.name().to_owned();
        (Topic::Weight, name, it.weight.mean, it.weight.cases)
    });
    let agents = knowledge.agents.iter().map(|it| {
        let accuracy = it.accuracy;
        (
            Topic::Agent,
            it.agent.clone(),
            accuracy.mean,
            accuracy.cases,
        )
    });
    let questions = knowledge.questions.iter().map(|it| {
        let from = it.missed + it.asked;
        let name = it.question.clone();
        (Topic::Question, name, it.effectiveness.mean, from)
    });
    let skills = knowledge.skills.iter().map(|it| {
        let lacking = it.lacking as f64;
        (Topic::Skill, it.skill.clone(), lacking, it.of)
    });
    let rounds = knowledge.rounds.iter().map(|it| {
        let name = format!("round {}", it.round);
        (Topic::Round, name, it.share.mean, it.played)
    });
    weights
        .chain(agents)
        .chain(questions)
        .chain(skills)
        .chain(rounds)
        .collect()
}

/// What differs. Weights that stay where they were are left out, as is everything else that does.
fn moves(before: &Knowledge, after: &Knowledge) -> Vec<Move> {
    let (before, after) = (figures(before), figures(after));
    let is = |a: &Figure, b: &Figure| a.0 == b.0 && a.1 == b.1;
    let mut moves = Vec::new();
    for new in &after {
        let old = before.iter().find(|old| is(old, new));
        if old.is_none_or(|old| (old.2 - new.2).abs() > 1e-12 || old.3 != new.3) {
            moves.push(Move {
                topic: new.0,
                name: new.1.clone(),
                old: old.map(|it| it.2),
                new: Some(new.2),
                from: new.3,
            });
        }
    }
    for old in &before {
        if !after.iter().any(|new| is(old, new)) {
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
