//! Token limits of the prompt context (M-12): targets, hard limits, and the order in which parts are shortened.

use roundtable_core::state::DebateState;
use serde::Serialize;

use super::state::render_state;
use super::summaries::RoundSummary;
use crate::mode::Visibility;
use crate::tokens;

/// Tokens for each part. A pair is the target and the hard limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub state_floor: u64,
    pub state: (u64, u64),
    pub summary: (u64, u64),
    pub previous: (u64, u64),
    /// For the earlier speakers of the current round.
    pub current: u64,
    pub total: (u64, u64),
}

impl Limits {
    /// The limits of the specification, with targets inside its ranges: 800–2,000, 150–300, 2,500–4,000.
    pub const FULL: Self = Self {
        state_floor: 800,
        state: (1600, 2500),
        summary: (250, 400),
        previous: (3200, 5000),
        current: 1800,
        total: (8000, 10_000),
    };

    /// For models with a context of a few thousand tokens.
    pub const SMALL: Self = Self {
        state_floor: 200,
        state: (350, 500),
        summary: (60, 100),
        previous: (500, 700),
        current: 350,
        total: (2200, 2800),
    };
}

/// From this round on the state does not grow.
const SETTLED_ROUND: u32 = 4;

/// A turn as other seats see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastTurn {
    pub by: String,
    /// Vote, confidence, position, BLOCKER: never shortened.
    pub head: String,
    pub argument: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Shown {
    pub by: String,
    pub text: String,
}

/// The input of [`Window::compose`].
#[derive(Debug, Clone, Copy)]
pub struct Material<'a> {
    pub round: u32,
    pub state: &'a DebateState,
    /// Of all rounds so far, in order.
    pub summaries: &'a [RoundSummary],
    pub previous: &'a [PastTurn],
    pub visibility: Visibility,
    /// The rest of the prompt: the mode, the question, the instructions.
    pub fixed: &'a Fixed<'a>,
}

/// Parts of the prompt that are never shortened.
#[derive(Debug, Clone, Default)]
pub struct Fixed<'a> {
    pub texts: Vec<&'a str>,
    /// Tokens of parts that are not available as text.
    pub others: u64,
}

/// The context shown to every seat of a round.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Context {
    pub state: String,
    pub summaries: Vec<Shown>,
    pub previous: Vec<Shown>,
}

impl Context {
    /// Size in the prompt, by a measure of texts.
    fn size(&self, measure: impl Fn(&str) -> u64) -> u64 {
        let quoted = self.summaries.iter().chain(&self.previous);
        measure(&self.state)
            + quoted
                .map(|shown| measure(&shown.text) + QUOTE_TOKENS)
                .sum::<u64>()
    }

    /// Whether it has at most `limit` tokens together with the fixed parts.
    fn fits(&self, fixed: &Fixed<'_>, limit: u64) -> bool {
        let size = |measure: fn(&str) -> u64| {
            let texts = fixed.texts.iter().map(|text| measure(text));
            self.size(measure) + fixed.others + texts.sum::<u64>()
        };
        // A token has at least one byte, so a short text needs no tokenizer.
        size(|text| text.len() as u64) <= limit || size(tokens::count) <= limit
    }
}

/// Composes the context of each round within the limits.
#[derive(Debug, Clone)]
pub struct Window {
    limits: Limits,
    /// Tokens of the state in [`SETTLED_ROUND`]; later states are not longer.
    settled_state: Option<u64>,
}

impl Window {
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            settled_state: None,
        }
    }

    /// The context before round N: the state, summaries of rounds N−2 and N−3, and round N−1 in full.
    pub fn compose(&mut self, material: &Material<'_>) -> Context {
        let limits = self.limits;
        let mut budget = Budget {
            state: self.state_budget(),
            summaries: older(material).map(|_| limits.summary.0).collect(),
            previous: limits.previous.0,
        };
        let mut context = shown(material, &budget);
        // Over the target, shorten the summaries first, then the previous round, then the state.
        while !context.fits(material.fixed, limits.total.0) && budget.tighten(&limits) {
            context = shown(material, &budget);
        }
        if material.round == SETTLED_ROUND {
            self.settled_state = Some(tokens::count(&context.state));
        }
        context
    }

    fn state_budget(&self) -> u64 {
        let target = self.limits.state.0;
        self.settled_state.map_or(target, |settled| {
            settled.clamp(self.limits.state_floor, target)
        })
    }

    /// The earlier turns of the current round.
    pub fn current(&self, turns: &[PastTurn]) -> Vec<Shown> {
        shorten_turns(turns, self.limits.current)
    }

    /// A whole round, for a reader who gets no other context.
    pub fn in_full(&self, turns: &[PastTurn]) -> Vec<Shown> {
        shorten_turns(turns, self.limits.previous.1)
    }
}

struct Budget {
    state: u64,
    /// Oldest first.
    summaries: Vec<u64>,
    previous: u64,
}

impl Budget {
    /// Reduces the budget of the next part; false if nothing can be reduced.
    fn tighten(&mut self, limits: &Limits) -> bool {
        let min_summary = limits.summary.0 * 2 / 5;
        if let Some(oldest) = self
            .summaries
            .iter_mut()
            .find(|tokens| **tokens > min_summary)
        {
            *oldest = min_summary;
            return true;
        }
        let min_previous = limits.previous.0 / 4;
        if self.previous > min_previous {
            self.previous = (self.previous * 4 / 5).max(min_previous);
            return true;
        }
        if self.state > limits.state_floor {
            self.state = (self.state * 4 / 5).max(limits.state_floor);
            return true;
        }
        false
    }
}

/// The rounds that are shown as summaries.
fn older<'a>(material: &Material<'a>) -> impl Iterator<Item = &'a RoundSummary> + use<'a> {
    let round = material.round;
    let is_shown = move |s: &&RoundSummary| s.round + 3 >= round && s.round + 2 <= round;
    material.summaries.iter().filter(is_shown)
}

fn shown(material: &Material<'_>, budget: &Budget) -> Context {
    let state = render_state(material.state, material.visibility, budget.state);
    let summaries: Vec<Shown> = older(material)
        .zip(&budget.summaries)
        .map(|(summary, budget)| Shown {
            by: format!("round {}", summary.round),
            text: summary.text(material.visibility, *budget),
        })
        .collect();
    Context {
        state,
        summaries,
        previous: shorten_turns(material.previous, budget.previous),
    }
}

/// Tokens of the tags around a quote.
const QUOTE_TOKENS: u64 = 24;

/// Shortens turns to a common budget; what short turns leave goes to longer ones.
fn shorten_turns(turns: &[PastTurn], budget: u64) -> Vec<Shown> {
    let bytes = turns
        .iter()
        .map(|turn| turn.head.len() + turn.argument.len());
    let share = if bytes.sum::<usize>() as u64 <= budget {
        budget
    } else {
        let heads = turns.iter().map(|turn| tokens::count(&turn.head));
        let lengths = turns.iter().map(|turn| tokens::count(&turn.argument));
        let left = budget.saturating_sub(heads.sum());
        fair_share(&lengths.collect::<Vec<_>>(), left)
    };
    turns
        .iter()
        .map(|turn| {
            let argument = tokens::shorten(&turn.argument, share);
            Shown {
                by: turn.by.clone(),
                text: format!("{}\n\n{argument}", turn.head),
            }
        })
        .collect()
}

/// The largest length per item with which all items together stay within the budget.
fn fair_share(lengths: &[u64], budget: u64) -> u64 {
    let mut sorted = lengths.to_vec();
    sorted.sort_unstable();
    let mut left = budget;
    for (index, length) in sorted.iter().enumerate() {
        let rest = (sorted.len() - index) as u64;
        if length * rest > left {
            return left / rest;
        }
        left -= length;
    }
    sorted.last().copied().unwrap_or(0)
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
