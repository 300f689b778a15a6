//! The ledger of the skeptic's issues (P-03, P-04) with their answers, verdicts and status.
//!
//! Ids are assigned here, not by models, and never change. A reference to an id that does not exist is ignored and reported to
//! the caller.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The eight ways to attack an answer.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Strategy {
    AssumptionMining,
    LogicalStructure,
    CounterExampleSearch,
    Completeness,
    HallucinationDetection,
    PrecisionAudit,
    Robustness,
    SteelMan,
}

impl Strategy {
    pub const ALL: [Self; 8] = [
        Self::AssumptionMining,
        Self::LogicalStructure,
        Self::CounterExampleSearch,
        Self::Completeness,
        Self::HallucinationDetection,
        Self::PrecisionAudit,
        Self::Robustness,
        Self::SteelMan,
    ];

    pub const fn title(self) -> &'static str {
        match self {
            Self::AssumptionMining => "assumption mining",
            Self::LogicalStructure => "logical structure",
            Self::CounterExampleSearch => "counter-example search",
            Self::Completeness => "completeness",
            Self::HallucinationDetection => "hallucination detection",
            Self::PrecisionAudit => "precision audit",
            Self::Robustness => "robustness",
            Self::SteelMan => "steel man",
        }
    }
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Severity {
    Critical,
    Major,
    Minor,
}

impl Severity {
    pub const ALL: [Self; 3] = [Self::Critical, Self::Major, Self::Minor];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Major => "major",
            Self::Minor => "minor",
        }
    }
}

/// How the skeptic judges an answer to its issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Status {
    Resolved,
    PartiallyResolved,
    Unresolved,
}

impl Status {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Resolved => "resolved",
            Self::PartiallyResolved => "partially resolved",
            Self::Unresolved => "unresolved",
        }
    }
}

/// What the proposer does about an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Action {
    Accept,
    Defend,
}

/// An issue as the skeptic states it, before it has an id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Finding {
    /// The attack that found it.
    pub strategy: Strategy,
    pub severity: Severity,
    /// Where in the answer: a short quotation or the step it concerns.
    #[schemars(length(max = 1200))]
    pub location: String,
    /// What is wrong.
    #[schemars(length(min = 1, max = 6000))]
    pub problem: String,
    /// Why it matters for the conclusion.
    #[schemars(length(max = 4000))]
    pub why_it_matters: String,
    /// A concrete way to mend it.
    #[schemars(length(max = 4000))]
    pub suggested_fix: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Answer {
    /// The id of the issue that is answered.
    #[schemars(length(min = 1, max = 12))]
    pub issue: String,
    pub action: Action,
    /// What was changed, or why the position stands.
    #[schemars(length(min = 1, max = 6000))]
    pub explanation: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Verdict {
    /// The id of the earlier issue that is judged.
    #[schemars(length(min = 1, max = 12))]
    pub issue: String,
    pub status: Status,
    /// What settles it, or what is still missing.
    #[schemars(length(max = 4000))]
    pub reason: String,
}

/// An issue with its whole history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Issue {
    pub id: String,
    pub raised_in: u32,
    #[serde(flatten)]
    pub finding: Finding,
    pub status: Status,
    pub answers: Vec<Dated<Answer>>,
    pub verdicts: Vec<Dated<Verdict>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dated<T> {
    pub round: u32,
    #[serde(flatten)]
    pub what: T,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Ledger {
    issues: Vec<Issue>,
}

/// Ids that a model named and that do not exist.
pub type UnknownIds = BTreeSet<String>;

impl Ledger {
    pub fn raise(&mut self, round: u32, findings: impl IntoIterator<Item = Finding>) {
        for finding in findings {
            self.issues.push(Issue {
                id: id_after(self.issues.len()),
                raised_in: round,
                finding,
                status: Status::Unresolved,
                answers: Vec::new(),
                verdicts: Vec::new(),
            });
        }
    }

    pub fn answer(&mut self, round: u32, answers: impl IntoIterator<Item = Answer>) -> UnknownIds {
        let mut unknown = UnknownIds::new();
        for what in answers {
            match self.find(&what.issue) {
                Some(issue) => issue.answers.push(Dated { round, what }),
                None => drop(unknown.insert(what.issue)),
            }
        }
        unknown
    }

    pub fn judge(&mut self, round: u32, verdicts: impl IntoIterator<Item = Verdict>) -> UnknownIds {
        let mut unknown = UnknownIds::new();
        for what in verdicts {
            match self.find(&what.issue) {
                Some(issue) => {
                    issue.status = what.status;
                    issue.verdicts.push(Dated { round, what });
                }
                None => drop(unknown.insert(what.issue)),
            }
        }
        unknown
    }

    /// The answers that count: to issues that exist, and of an issue that is both accepted and defended the defences.
    pub fn usable(&self, answers: &[Answer]) -> Vec<Answer> {
        let contradicted = self.contradicted(answers);
        let counts = |answer: &&Answer| {
            let is_taken_back = answer.action == Action::Accept
                && contradicted.iter().any(|id| *id == normal(&answer.issue));
            self.has(&answer.issue) && !is_taken_back
        };
        answers.iter().filter(counts).cloned().collect()
    }

    /// The issues that are both accepted and defended.
    pub fn contradicted(&self, answers: &[Answer]) -> Vec<&str> {
        let all = self.issues.iter().map(|issue| issue.id.as_str());
        all.filter(|id| {
            let of = |action: Action| {
                let mut own = answers.iter().filter(|answer| normal(&answer.issue) == *id);
                own.any(|answer| answer.action == action)
            };
            of(Action::Accept) && of(Action::Defend)
        })
        .collect()
    }

    fn find(&mut self, id: &str) -> Option<&mut Issue> {
        let wanted = normal(id);
        self.issues.iter_mut().find(|issue| issue.id == wanted)
    }

    /// Whether there is an issue with this id, however the model wrote it.
    pub fn has(&self, id: &str) -> bool {
        let wanted = normal(id);
        self.issues.iter().any(|issue| issue.id == wanted)
    }

    pub fn all(&self) -> &[Issue] {
        &self.issues
    }

    /// All issues not fully resolved, by severity and then in the order they were raised.
    pub fn open(&self) -> Vec<&Issue> {
        let mut open: Vec<_> = self
            .issues
            .iter()
            .filter(|issue| issue.status != Status::Resolved)
            .collect();
        open.sort_by_key(|issue| issue.finding.severity);
        open
    }

    pub fn open_count(&self, severity: Severity) -> usize {
        self.open()
            .iter()
            .filter(|issue| issue.finding.severity == severity)
            .count()
    }

    /// Open issues from earlier rounds that the proposer did not answer in this round.
    pub fn unanswered(&self, round: u32) -> Vec<&Issue> {
        self.open()
            .into_iter()
            .filter(|issue| issue.raised_in < round)
            .filter(|issue| issue.answers.iter().all(|answer| answer.round != round))
            .collect()
    }

    /// Strategies that have found no issue in the whole debate.
    pub fn fruitless(&self) -> Vec<Strategy> {
        Strategy::ALL
            .into_iter()
            .filter(|strategy| {
                self.issues
                    .iter()
                    .all(|issue| issue.finding.strategy != *strategy)
            })
            .collect()
    }
}

/// The id of the next issue after `earlier` issues.
pub fn id_after(earlier: usize) -> String {
    format!("S{}", earlier + 1)
}

/// Models write `s1`, `[S1]` or `#S1` for `S1`.
fn normal(id: &str) -> String {
    id.trim()
        .trim_matches(|c: char| !c.is_ascii_alphanumeric())
        .to_ascii_uppercase()
}

#[cfg(test)]
#[path = "issues_tests.rs"]
mod tests;
