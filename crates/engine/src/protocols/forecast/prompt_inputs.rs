//! Request and debate as the prompts of a forecast contain them, within a token budget (F-15, F-21).

use minijinja::Value;
use roundtable_core::format::grouped;

use super::contract::{DebateRequest, Phase};
use super::debate::Debate;
use super::facts::{self, Facts, with_margin};
use super::replies::Argument;
use super::rules::Rules;
use super::text_budget::estimate_tokens;
use crate::prompt::given;
use crate::table::Table;

/// The maximum length of a gist, which is one line in later prompts.
pub(super) const GIST_WORDS: usize = 12;

/// The maximum input of an argument call for a request of ordinary size (F-15).
pub(super) const ORDINARY_TOKENS: u64 = 600;
/// The maximum for a request with many facts, unless the configuration sets another one.
pub(super) const LARGEST_TOKENS: u64 = 4000;
/// The approximate size of the text that every prompt has.
const FIXED_TOKENS: u64 = 298;
/// The size of the leaning of a role, which only a rebuttal has next to points.
const LEANING_TOKENS: u64 = 14;
/// The size of an earlier point at its shortest.
const POINT_TOKENS: u64 = 10;

/// The maximum input of an argument call: enough for all facts, if that is at most `largest`. The arguments that the judge
/// reads before its closing, a weak argument that is rewritten, and notes come on top.
pub(super) fn token_limit(request: &DebateRequest, question: &str, largest: u64) -> u64 {
    let needed = without_facts(request, question) + facts::total_tokens(request);
    needed.clamp(ORDINARY_TOKENS, largest.max(ORDINARY_TOKENS))
}

/// The size of an argument prompt of the last round without facts.
fn without_facts(request: &DebateRequest, question: &str) -> u64 {
    let config = &request.config;
    let points = u64::from(config.rounds.saturating_sub(1)) * config.roles.len() as u64;
    fixed(request, question) + points * POINT_TOKENS
}

/// The parts that are the same in all prompts, with question and outcomes.
fn fixed(request: &DebateRequest, question: &str) -> u64 {
    let outcomes = request.prediction_context.outcomes.iter();
    let outcomes = outcomes.map(|outcome| {
        4 + estimate_tokens(&outcome.id) * 2
            + estimate_tokens(&outcome.label)
            + estimate_tokens(&outcome.description)
            + estimate_tokens(&outcome.boundary_conditions)
    });
    FIXED_TOKENS + estimate_tokens(question) + outcomes.sum::<u64>()
}

/// The facts in every prompt of the debate.
pub(super) fn known_facts(rules: &Rules, question: &str) -> Facts {
    let request = &rules.request;
    let free = rules
        .max_prompt_tokens
        .saturating_sub(without_facts(request, question));
    facts::facts(request, question, free)
}

/// The lines of earlier points take what the facts leave.
pub(super) fn points(table: &Table, debate: &Debate<'_>, round: u32) -> Vec<String> {
    let rules = debate.rules();
    let facts = debate.facts(&table.setup().question);
    let used: u64 = facts
        .lines
        .iter()
        .map(|line| estimate_tokens(line) + 1)
        .sum();
    let leaning = match debate.phase(round) {
        Phase::Rebuttal => LEANING_TOKENS,
        Phase::Opening | Phase::Closing => 0,
    };
    let used = leaning + with_margin(used) + fixed(&rules.request, &table.setup().question);
    debate.points(round, rules.max_prompt_tokens.saturating_sub(used))
}

/// The beginning of every prompt: question, dates, outcomes, facts and notes. The same for all roles, so that their prompts
/// share a prefix.
pub(super) fn frame(table: &Table, debate: &Debate<'_>) -> Value {
    let rules = debate.rules();
    let facts = debate.facts(&table.setup().question);
    let dates = rules.today.zip(rules.resolves_on);
    let days_left = dates.and_then(|(today, end)| Some(today.until(end).ok()?.get_days()));
    given!({
        "question": table.setup().question,
        "today": rules.today,
        "deadline": rules.resolves_on,
        "days_left": days_left,
        "outcomes": rules.request.prediction_context.outcomes,
        "facts": facts.lines,
        "facts_left_out": facts.left_out,
        "context": rules.context,
    })
}

/// The limit for the smallest context: half of its tokens are for prompts.
pub(super) fn within_context(limit: u64, context: Option<u64>) -> u64 {
    context.map_or(limit, |context| limit.min(context / 2).max(ORDINARY_TOKENS))
}

/// The note for the user about a request that is larger than usual.
pub(super) fn size_note(rules: &Rules, question: &str) -> Option<String> {
    let limit = rules.max_prompt_tokens;
    let left_out = known_facts(rules, question).left_out;
    let rest = match left_out {
        0 if limit <= ORDINARY_TOKENS => return None,
        0 => "so that all facts fit".to_owned(),
        count => format!(
            "and {count} of the facts do not fit; the most relevant ones stay. The limit is max_prompt_tokens in [forecast], or \
             half of the smallest context"
        ),
    };
    let ordinary = if limit > ORDINARY_TOKENS {
        format!(" instead of {}", grouped(ORDINARY_TOKENS))
    } else {
        String::new()
    };
    let limit = grouped(limit);
    Some(format!(
        "Large request: argument prompts have up to {limit} tokens{ordinary}, {rest}"
    ))
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

/// An argument with its evidence.
pub(super) fn with_evidence(reply: &Argument) -> String {
    if reply.evidence.is_empty() {
        return reply.argument.clone();
    }
    format!(
        "{}\nEvidence: {}",
        reply.argument,
        reply.evidence.join("; ")
    )
}
