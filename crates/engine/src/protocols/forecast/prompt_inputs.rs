//! What a role is given to argue with, fitted into a small prompt (F-15).

use super::contract::Phase;
use super::debate::{Debate, Points};
use super::facts;
use super::text_budget::{share, weight};
use crate::table::Table;

/// A gist is one line of the later prompts.
pub(super) const GIST_WORDS: usize = 12;

/// What an argument call may take in (F-15).
const INPUT: u64 = 600;
/// About what the words take that stand in every prompt, whatever is asked.
const STANDING: u64 = 262;

/// What grows with the request and the debate, fitted into what is left. The same for all roles of a round, so that they
/// share the beginning of their prompts.
pub(super) struct Material {
    pub(super) facts: Vec<String>,
    pub(super) points: Points,
}

impl Material {
    pub(super) fn of(table: &Table, debate: &Debate<'_>, round: u32) -> Self {
        let request = &debate.rules().request;
        let outcomes = request.prediction_context.outcomes.iter();
        let named =
            outcomes.map(|it| 4 + weight(&it.id) * 2 + weight(&it.label) + weight(&it.description));
        let frame = weight(&table.setup().question) + named.sum::<u64>();
        let left = INPUT.saturating_sub(STANDING + frame);
        let facts = match debate.phase(round) {
            Phase::Opening => facts::facts(request, left),
            Phase::Rebuttal => facts::facts(request, left / 2),
            Phase::Closing => facts::brief(request, left / 2),
        };
        let taken: u64 = facts.iter().map(|line| weight(line)).sum();
        Self {
            points: debate.points(round, left.saturating_sub(taken)),
            facts,
        }
    }
}

/// A token is about three quarters of a word, and the argument shares its reply with the rest of it.
pub(super) fn words_for(tokens: u32) -> u32 {
    tokens * 36 / 100
}

pub(super) fn last_forecast(debate: &Debate<'_>, role: &str, round: u32) -> Option<String> {
    let heard = debate.heard().into_iter();
    let last = heard.rev().find(|it| it.role == role && it.round < round)?;
    let pairs = debate
        .outcomes()
        .iter()
        .zip(last.spoken.distribution.values());
    let shares: Vec<_> = pairs
        .map(|(id, value)| format!("{id} {}", share(*value)))
        .collect();
    Some(shares.join(", "))
}
