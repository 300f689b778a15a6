//! The facts and points in the prompt of a role, cut to a token budget (F-15).

use super::contract::Phase;
use super::debate::{Debate, Points};
use super::facts;
use super::text_budget::estimate_tokens;
use crate::table::Table;

/// The maximum length of a gist, which is one line in later prompts.
pub(super) const GIST_WORDS: usize = 12;

/// The maximum input of an argument call (F-15).
const MAX_INPUT_TOKENS: u64 = 600;
/// The approximate size of the text that every prompt has.
const FIXED_PROMPT_TOKENS: u64 = 280;

/// The parts of a prompt that grow with request and debate, cut to the remaining tokens. The same for all roles of a round, so
/// that their prompts share a prefix.
pub(super) struct PromptInputs {
    pub(super) facts: Vec<String>,
    pub(super) points: Points,
}

impl PromptInputs {
    pub(super) fn of(table: &Table, debate: &Debate<'_>, round: u32) -> Self {
        let request = &debate.rules().request;
        let outcomes = request.prediction_context.outcomes.iter();
        let named = outcomes.map(|outcome| {
            4 + estimate_tokens(&outcome.id) * 2
                + estimate_tokens(&outcome.label)
                + estimate_tokens(&outcome.description)
        });
        let frame = estimate_tokens(&table.setup().question) + named.sum::<u64>();
        let left = MAX_INPUT_TOKENS.saturating_sub(FIXED_PROMPT_TOKENS + frame);
        let facts = match debate.phase(round) {
            Phase::Opening => facts::facts(request, left),
            Phase::Rebuttal => facts::facts(request, left / 2),
            Phase::Closing => facts::brief(request, left / 2),
        };
        let used: u64 = facts.iter().map(|line| estimate_tokens(line)).sum();
        Self {
            points: debate.points(round, left.saturating_sub(used)),
            facts,
        }
    }
}

/// The number of words to ask for: a token is about three quarters of a word, and the reply has other fields too.
pub(super) fn words_for(tokens: u32) -> u32 {
    tokens * 36 / 100
}

pub(super) fn last_forecast(debate: &Debate<'_>, role: &str, round: u32) -> Option<String> {
    let arguments = debate.arguments().into_iter();
    let last = arguments
        .rev()
        .find(|argument| argument.role == role && argument.round < round)?;
    Some(debate.shares(&last.turn.distribution))
}
