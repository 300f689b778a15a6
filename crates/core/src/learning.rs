//! Learning from decisions whose outcome is known (E-15), with Bayesian estimates and intervals (E-16).
//!
//! A post-mortem becomes a [`Lesson`]; the [`Knowledge`] of a domain is a fold over its lessons at a moment. Only lessons and
//! the changes made to them ([`Audit`]) are stored, so every number can be traced, and undoing a change restores exactly the
//! previous state.
//!
//! The unit of observation is the project, not the piece of evidence: pieces of one project share circumstances and assessor,
//! so they are not independent.

mod agents;
mod audit;
pub(crate) mod beta;
mod export;
mod learned;
mod lesson;
mod mark;
mod priority;
mod questions;
mod rounds;
mod skills;
mod weights;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use agents::AgentStanding;
pub use audit::{
    Audit, Change, LearnError, Move, Topic, UndoError, domains, in_force, learn, lessons, record,
    undo,
};
pub use beta::Estimate;
pub use export::{DomainExport, Export, FORMAT, ImportError, import};
pub use learned::{Learned, RequiredQuestion, RoundAdvice, SkillAdvice};
pub use lesson::{
    AgentObservation, AgentScore, AskedObservation, Lesson, Proposal, RoundObservation, SkillNeed,
    TypeObservation,
};
pub use mark::Mark;
pub use priority::{HIGH_SHARE, MEDIUM_SHARE, Priority};
pub use questions::{QuestionRecord, RETIRED_BELOW};
pub use rounds::RoundYield;
pub use skills::SkillRecord;
pub use weights::{LearnedWeight, PRIOR_PROJECTS};

pub use crate::timing::Millis;

/// The subject area of a lesson, such as `api design`. Case and spacing are normalised.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Domain(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DomainError {
    #[error("a domain needs a name, such as 'api design'")]
    Empty,
    #[error("the name of a domain has {found} characters; the limit is {MAX_CHARACTERS}")]
    Long { found: usize },
}

const MAX_CHARACTERS: usize = 80;

impl Domain {
    pub fn new(name: &str) -> Result<Self, DomainError> {
        let words: Vec<&str> = name.split_whitespace().collect();
        let name = words.join(" ").to_lowercase();
        let found = name.chars().count();
        if found == 0 {
            Err(DomainError::Empty)
        } else if found > MAX_CHARACTERS {
            Err(DomainError::Long { found })
        } else {
            Ok(Self(name))
        }
    }

    /// The domain of a debate that names none.
    pub fn general() -> Self {
        Self("general".to_owned())
    }

    pub fn name(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Domain {
    type Error = DomainError;

    fn try_from(name: String) -> Result<Self, DomainError> {
        Self::new(&name)
    }
}

impl From<Domain> for String {
    fn from(domain: Domain) -> Self {
        domain.0
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The number of days after which a lesson counts half.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize)]
pub struct HalfLife(f64);

const DAY: f64 = 86_400_000.0;

impl HalfLife {
    pub const MIN_DAYS: f64 = 1.0;
    pub const MAX_DAYS: f64 = 36_500.0;

    /// `None` outside the range of one day to a hundred years.
    pub fn days(days: f64) -> Option<Self> {
        (Self::MIN_DAYS..=Self::MAX_DAYS)
            .contains(&days)
            .then_some(Self(days))
    }

    pub const fn in_days(self) -> f64 {
        self.0
    }

    /// The weight of a lesson from `at`. A timestamp in the future (clock skew between machines) has the weight of today.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a double holds the milliseconds of 285,000 years exactly"
    )]
    pub fn weight(self, at: Millis, now: Millis) -> f64 {
        let age = now.saturating_sub(at) as f64 / DAY;
        (-age / self.0).exp2()
    }
}

impl Default for HalfLife {
    /// A year: teams, tools and models change in that time, but a lesson outlives its project.
    fn default() -> Self {
        Self(365.0)
    }
}

/// Everything known of a domain at a moment: a pure fold over its lessons.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Knowledge {
    pub domain: Domain,
    pub as_of: Millis,
    /// Post-mortems it is based on, each counted once.
    pub projects: usize,
    /// The sum of their weights by age.
    pub effective_projects: f64,
    /// How accurate the decisions of the domain were; `None` without any.
    pub decision_accuracy: Option<Estimate>,
    /// The same for debates that used earlier lessons.
    pub accuracy_with_learning: Option<Estimate>,
    /// The same for debates that did not.
    pub accuracy_without_learning: Option<Estimate>,
    pub weights: Vec<LearnedWeight>,
    pub agents: Vec<AgentStanding>,
    pub questions: Vec<QuestionRecord>,
    pub skills: Vec<SkillRecord>,
    pub rounds: Vec<RoundYield>,
    pub advice: Option<RoundAdvice>,
}

/// A lesson and its weight by age.
#[derive(Clone, Copy)]
struct Weighed<'a> {
    lesson: &'a Lesson,
    count: f64,
}

impl Knowledge {
    pub fn of(domain: &Domain, lessons: &[Lesson], half_life: HalfLife, now: Millis) -> Self {
        let weighed: Vec<Weighed<'_>> = lessons
            .iter()
            .map(|lesson| Weighed {
                lesson,
                count: half_life.weight(lesson.at, now),
            })
            .collect();
        let rounds = rounds::yields(&weighed);
        let skills = skills::records(&weighed);
        Self {
            domain: domain.clone(),
            as_of: now,
            projects: lessons.len(),
            effective_projects: weighed.iter().map(|weighed| weighed.count).sum::<f64>() + 0.0,
            decision_accuracy: accuracy(&weighed, |_| true),
            accuracy_with_learning: accuracy(&weighed, |lesson| lesson.with_learning),
            accuracy_without_learning: accuracy(&weighed, |lesson| !lesson.with_learning),
            weights: weights::learned(&weighed),
            agents: agents::standings(&weighed),
            questions: questions::records(&weighed),
            advice: rounds::advice(&rounds, &skills, lessons),
            skills,
            rounds,
        }
    }

    /// From the lessons of the audit that are in force.
    pub fn from_audit(audit: &[Audit], domain: &Domain, half_life: HalfLife, now: Millis) -> Self {
        Self::of(domain, &lessons(audit, domain), half_life, now)
    }
}

/// With a flat prior, because nothing is known of a domain before its first decision.
fn accuracy(weighed: &[Weighed<'_>], counts: impl Fn(&Lesson) -> bool) -> Option<Estimate> {
    let known = weighed
        .iter()
        .filter(|weighed| counts(weighed.lesson))
        .filter_map(|w| Some((w.lesson.decision_accuracy?.value(), w.count)));
    let known: Vec<(f64, f64)> = known.collect();
    (!known.is_empty()).then(|| beta::posterior(0.5, 2.0, &known))
}

#[cfg(test)]
#[path = "learning_tests.rs"]
mod tests;
