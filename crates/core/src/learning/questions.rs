//! Questions that are put to the seats before round 1, and whether asking them helps.

use serde::Serialize;

use super::Weighed;
use super::beta::{Estimate, posterior};
use super::priority::Priority;
use crate::bounded::Probability;
use crate::wording;

/// What whoever proposes a question expects of it counts as much as this many debates in which it was asked. By that the
/// design's example (expected 0.80, then five debates in which it helped) comes to 0.92.
const PRIOR_DEBATES: f64 = 3.5;

/// Where nobody says how often a question will help.
const UNKNOWN: f64 = 0.5;

/// A question that helps less often is no longer asked. One of which nothing is known gets there after three debates in
/// which it did not help, not before.
pub const RETIRED_BELOW: f64 = 0.30;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QuestionRecord {
    pub question: String,
    /// The newest first.
    pub reasons: Vec<String>,
    /// Projects that missed it.
    pub missed: usize,
    /// Projects of the domain.
    pub of: usize,
    pub asked: usize,
    pub helped: usize,
    /// What was expected of it at first.
    pub expected: f64,
    pub effectiveness: Estimate,
    pub priority: Priority,
    /// Whether the next debate is asked it.
    pub is_asked: bool,
}

pub(super) fn records(weighed: &[Weighed<'_>]) -> Vec<QuestionRecord> {
    let mut found: Vec<(String, &str)> = Vec::new();
    let all = weighed.iter().flat_map(|it| {
        let proposed = it.lesson.questions.iter().map(|it| it.question.as_str());
        proposed.chain(it.lesson.asked.iter().map(|it| it.question.as_str()))
    });
    for question in all {
        let normal = wording::normal(question);
        if !found.iter().any(|(known, _)| *known == normal) {
            found.push((normal, question));
        }
    }
    let mut records: Vec<QuestionRecord> = found
        .iter()
        .map(|(normal, question)| one(normal, question, weighed))
        .collect();
    // Stable: what is equally pressing and equally effective stays in the order of the lessons.
    records.sort_by(|a, b| {
        b.priority
            .cmp(&a.priority)
            .then(b.effectiveness.mean.total_cmp(&a.effectiveness.mean))
    });
    records
}

fn one(normal: &str, question: &str, weighed: &[Weighed<'_>]) -> QuestionRecord {
    let is_it = |text: &str| wording::normal(text) == normal;
    let proposals = weighed.iter().filter_map(|it| {
        let mut proposals = it.lesson.questions.iter();
        proposals.find(|it| is_it(&it.question))
    });
    let proposals: Vec<_> = proposals.collect();
    let asked: Vec<(bool, f64)> = weighed
        .iter()
        .filter_map(|it| {
            let mut asked = it.lesson.asked.iter();
            let asked = asked.find(|it| is_it(&it.question))?;
            Some((asked.helped, it.count))
        })
        .collect();
    let expected = proposals
        .iter()
        .find_map(|it| it.estimate)
        .map_or(UNKNOWN, Probability::value);
    let seen: Vec<(f64, f64)> = asked
        .iter()
        .map(|(helped, count)| (f64::from(u8::from(*helped)), *count))
        .collect();
    let effectiveness = posterior(expected, PRIOR_DEBATES, &seen);
    let mut reasons: Vec<String> = Vec::new();
    for proposal in proposals.iter().rev() {
        if !reasons.contains(&proposal.reason) {
            reasons.push(proposal.reason.clone());
        }
    }
    QuestionRecord {
        question: question.to_owned(),
        reasons,
        missed: proposals.len(),
        of: weighed.len(),
        asked: asked.len(),
        helped: asked.iter().filter(|(helped, _)| *helped).count(),
        expected,
        effectiveness,
        priority: Priority::of(proposals.len(), weighed.len()),
        is_asked: effectiveness.mean >= RETIRED_BELOW,
    }
}
