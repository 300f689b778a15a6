//! Selects the finished debates that are good enough for training data (P-08).

use std::collections::HashSet;

use crate::wording::normal;

/// The properties of a debate that the filter uses.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub question: String,
    pub answer: String,
    pub rounds: u32,
    pub auto_score: Option<f64>,
    pub user_rating: Option<f64>,
    pub created_at: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    pub min_score: f64,
    pub min_rounds: u32,
    pub min_answer_chars: usize,
    pub max_answer_chars: usize,
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            min_score: 8.0,
            min_rounds: 1,
            min_answer_chars: 40,
            max_answer_chars: 40_000,
        }
    }
}

impl Candidate {
    /// The user's rating, or the automatic score if there is none.
    pub fn score(&self) -> Option<f64> {
        self.user_rating.or(self.auto_score)
    }
}

/// The indices of the selected candidates, in the given order. Of questions that differ only in case, spacing and
/// punctuation, the best is kept, and of equally good ones the newest.
pub fn select(candidates: &[Candidate], filter: &Filter) -> Vec<usize> {
    let mut order: Vec<_> = (0..candidates.len())
        .filter(|&index| filter.rejection(&candidates[index]).is_none())
        .collect();
    order.sort_by(|&a, &b| {
        let (a, b) = (&candidates[a], &candidates[b]);
        let score = |candidate: &Candidate| candidate.score().unwrap_or_default();
        score(b)
            .total_cmp(&score(a))
            .then(b.created_at.cmp(&a.created_at))
    });
    let mut seen = HashSet::new();
    order.retain(|&index| seen.insert(normal(&candidates[index].question)));
    order.sort_unstable();
    order
}

impl Filter {
    /// Why the filter rejects a candidate; `None` if it passes.
    pub fn rejection(&self, candidate: &Candidate) -> Option<&'static str> {
        let length = candidate.answer.chars().count();
        match candidate.score() {
            None => return Some("without a score"),
            Some(score) if score < self.min_score => return Some("score below the minimum"),
            Some(_) => {}
        }
        if candidate.rounds < self.min_rounds {
            Some("fewer rounds than the minimum")
        } else if length < self.min_answer_chars {
            Some("answer shorter than the minimum")
        } else if length > self.max_answer_chars {
            Some("answer longer than the maximum")
        } else {
            None
        }
    }
}

#[cfg(test)]
#[path = "dataset_tests.rs"]
mod tests;
