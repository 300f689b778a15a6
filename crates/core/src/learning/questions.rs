//! Questions asked before round 1, and how often asking them helps.

use schemars::JsonSchema;
use serde::Serialize;

use super::Weighed;
use super::beta::{Estimate, posterior};
use super::priority::Priority;
use crate::bounded::Probability;
use crate::distinct::distinct;
use crate::wording;

/// The proposer's estimate counts as much as this many debates. With it the design's example (expected 0.80, then five debates
/// in which it helped) comes to 0.92.
const PRIOR_DEBATES: f64 = 3.5;

/// Used if the proposer gives no estimate.
const DEFAULT_ESTIMATE: f64 = 0.5;

/// A question that helps less often is no longer asked. Without an estimate, that takes three debates in which it did not help.
pub const RETIRED_BELOW: f64 = 0.30;

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
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
    /// The first estimate.
    pub expected: f64,
    pub effectiveness: Estimate,
    pub priority: Priority,
    /// Whether the next debate asks it.
    pub is_asked: bool,
}

pub(super) fn records(weighed: &[Weighed<'_>]) -> Vec<QuestionRecord> {
    let mut found: Vec<(String, &str)> = Vec::new();
    let all = weighed.iter().flat_map(|weighed| {
        let proposed = weighed.lesson.questions.iter().map(|q| q.question.as_str());
        proposed.chain(weighed.lesson.asked.iter().map(|q| q.question.as_str()))
    });
    for question in all {
        let normal = wording::normal(question);
        if !found.iter().any(|(known, _)| *known == normal) {
            found.push((normal, question));
        }
    }
    let mut records: Vec<QuestionRecord> = found
        .iter()
        .map(|(normal, question)| record(normal, question, weighed))
        .collect();
    // A stable sort: equal records stay in the order of the lessons.
    records.sort_by(|a, b| {
        b.priority
            .cmp(&a.priority)
            .then(b.effectiveness.mean.total_cmp(&a.effectiveness.mean))
    });
    records
}

fn record(normal: &str, question: &str, weighed: &[Weighed<'_>]) -> QuestionRecord {
    let is_same = |text: &str| wording::normal(text) == normal;
    let proposals: Vec<_> = weighed
        .iter()
        .filter_map(|weighed| {
            let mut proposals = weighed.lesson.questions.iter();
            proposals.find(|proposal| is_same(&proposal.question))
        })
        .collect();
    let asked: Vec<(bool, f64)> = weighed
        .iter()
        .filter_map(|weighed| {
            let mut asked = weighed.lesson.asked.iter();
            let asked = asked.find(|asked| is_same(&asked.question))?;
            Some((asked.helped, weighed.count))
        })
        .collect();
    let expected = proposals
        .iter()
        .find_map(|proposal| proposal.estimate)
        .map_or(DEFAULT_ESTIMATE, Probability::value);
    let seen: Vec<(f64, f64)> = asked
        .iter()
        .map(|(helped, count)| (f64::from(u8::from(*helped)), *count))
        .collect();
    let effectiveness = posterior(expected, PRIOR_DEBATES, &seen);
    let reasons = proposals.iter().rev().map(|proposal| &proposal.reason);
    QuestionRecord {
        question: question.to_owned(),
        reasons: distinct(reasons).into_iter().cloned().collect(),
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
