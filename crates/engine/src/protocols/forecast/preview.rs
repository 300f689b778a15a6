//! The expected usage of a large forecast, shown before its first call (C-19).

use roundtable_core::format::grouped;
use roundtable_core::usage::{Money, Usage};

use super::prompt_inputs::ORDINARY_TOKENS;
use super::rules::ForecastPlan;
use crate::cast::Duty;
use crate::protocol::SeatModels;
use crate::tokens;

/// A forecast of this many tokens or more is announced. One of ordinary size takes less than half.
const LARGE: u64 = 100_000;
/// Approximate sizes of prompts without the texts that differ (F-15), and of replies.
const ARGUMENT_PROMPT: u64 = 500;
const ARGUMENT_INSTRUCTIONS: u64 = 250;
const SCORING_PROMPT: u64 = 350;
const SYNTHESIS_PROMPT: u64 = 400;
const SCORING_REPLY: u64 = 80;
const SYNTHESIS_REPLY: u64 = 700;

/// A line for the user. `None` for a forecast of ordinary size.
pub(super) fn preview(plan: &ForecastPlan, models: &SeatModels) -> Option<String> {
    let expected = expected(plan);
    let usage: Usage = expected.iter().map(|(_, usage)| *usage).sum();
    if usage.total() < LARGE {
        return None;
    }
    let costs = expected.iter().map(|(seat, usage)| {
        let price = models.get(*seat)?.price;
        price.map(|price| price.of(*usage))
    });
    let cost = match costs.sum::<Option<Money>>() {
        Some(Money::ZERO) => "free".to_owned(),
        Some(cost) => format!("about ${:.2}", cost.dollars()),
        None => "price unknown".to_owned(),
    };
    let arguments = arguments(plan);
    let calls = if plan.rules.is_scored {
        2 * arguments + 1
    } else {
        arguments + 1
    };
    Some(format!(
        "Large forecast: about {} tokens in {calls} calls, {cost}. Facts and notes are part of every prompt. Set a limit with \
         --max-tokens-total or --max-cost.",
        grouped(rounded(usage.total())),
    ))
}

fn arguments(plan: &ForecastPlan) -> u64 {
    let roles = plan.rules.request.config.roles.len() as u64;
    roles * u64::from(plan.rules.rounds)
}

/// The expected usage of each seat.
fn expected(plan: &ForecastPlan) -> Vec<(&str, Usage)> {
    let rules = &plan.rules;
    // Question, outcomes, facts and notes, which are in every prompt.
    let more = rules.max_prompt_tokens - ORDINARY_TOKENS;
    let argument = ARGUMENT_PROMPT + more;
    let shared = argument - ARGUMENT_INSTRUCTIONS;
    let notes = rules.context.as_deref().map_or(0, tokens::estimate);
    let reply = u64::from(rules.request.config.max_argument_length);
    let rounds = u64::from(rules.rounds);
    let arguments = arguments(plan);
    let others = rules.request.config.roles.len().saturating_sub(1) as u64;
    let usage = |calls: u64, input: u64, output: u64| Usage {
        input: calls * (input + notes),
        output: calls * output,
        cached: 0,
    };
    let seats = plan.cast.seats.iter().map(|seat| {
        let usage = match seat.duty {
            Some(Duty::Score) if !rules.is_scored => Usage::default(),
            Some(Duty::Score) => usage(arguments, SCORING_PROMPT + shared + reply, SCORING_REPLY),
            Some(Duty::Synthesis) => usage(
                1,
                SYNTHESIS_PROMPT + shared + arguments * reply,
                SYNTHESIS_REPLY,
            ),
            Some(Duty::Judge) => {
                let all = usage(rounds, argument, reply);
                let input = all.input + others * reply;
                Usage { input, ..all }
            }
            Some(Duty::Precedents) | None => usage(rounds, argument, reply),
        };
        (seat.name.as_str(), usage)
    });
    seats.collect()
}

/// Two significant digits.
fn rounded(number: u64) -> u64 {
    let scale = 10_u64.pow(number.checked_ilog10().unwrap_or(0).saturating_sub(1));
    (number + scale / 2) / scale * scale
}

#[cfg(test)]
#[path = "preview_tests.rs"]
mod tests;
