//! How much of what is shown (M-12): targets, hard limits, and what gives way first.

use roundtable_core::state::DebateState;
use serde::Serialize;

use super::state::render_state;
use super::summaries::RoundSummary;
use crate::mode::Visibility;
use crate::tokens;

/// Tokens for each part. The first of a pair is what is aimed at, the second is never exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub state_floor: u64,
    pub state: (u64, u64),
    pub summary: (u64, u64),
    pub previous: (u64, u64),
    /// Of the previous round's share, what may go to this round's earlier speakers.
    pub current: u64,
    pub total: (u64, u64),
}

impl Limits {
    /// The limits of the design, with targets inside its ranges: 800–2,000, 150–300, 2,500–4,000.
    pub const FULL: Self = Self {
        state_floor: 800,
        state: (1600, 2500),
        summary: (250, 400),
        previous: (3200, 5000),
        current: 1800,
        total: (8000, 10_000),
    };

    /// For a model whose whole context is a few thousand tokens.
    pub const SMALL: Self = Self {
        state_floor: 200,
        state: (350, 500),
        summary: (60, 100),
        previous: (500, 700),
        current: 350,
        total: (2200, 2800),
    };
}

/// The round from which on the context does not grow any more.
const SETTLED: u32 = 4;

/// One turn of a round, as others read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastTurn {
    pub by: String,
    /// Vote, confidence, position, BLOCKER: never cut.
    pub head: String,
    pub argument: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Shown {
    pub by: String,
    pub text: String,
}

/// What there is to be shown before a round.
#[derive(Debug, Clone, Copy)]
pub struct Material<'a> {
    pub round: u32,
    pub state: &'a DebateState,
    /// Of all rounds so far, in order.
    pub summaries: &'a [RoundSummary],
    pub previous: &'a [PastTurn],
    pub visibility: Visibility,
    /// Everything else in the prompt: the mode, the question, the instructions.
    pub fixed: &'a Fixed<'a>,
}

/// What does not give way.
#[derive(Debug, Clone, Default)]
pub struct Fixed<'a> {
    pub texts: Vec<&'a str>,
    /// Tokens of what is not at hand as text.
    pub others: u64,
}

/// What is shown: the same for every seat of the round.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Context {
    pub state: String,
    pub summaries: Vec<Shown>,
    pub previous: Vec<Shown>,
}

impl Context {
    /// As it stands in the prompt, by a measure of texts.
    fn size(&self, measure: impl Fn(&str) -> u64) -> u64 {
        let quoted = self.summaries.iter().chain(&self.previous);
        measure(&self.state) + quoted.map(|it| measure(&it.text) + QUOTE).sum::<u64>()
    }

    /// Whether it has at most so many tokens together with what does not give way.
    fn fits(&self, fixed: &Fixed<'_>, limit: u64) -> bool {
        let size = |measure: fn(&str) -> u64| {
            let texts = fixed.texts.iter().map(|text| measure(text));
            self.size(measure) + fixed.others + texts.sum::<u64>()
        };
        // A token has at least one byte, so what is short needs no counting.
        size(|text| text.len() as u64) <= limit || size(tokens::count) <= limit
    }
}

#[derive(Debug, Clone)]
pub struct Window {
    limits: Limits,
    /// How long the state was when the debate had settled: it grows no further.
    settled_state: Option<u64>,
}

impl Window {
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            settled_state: None,
        }
    }

    /// What every seat sees before this round: rounds N−2 and N−3 summarised, N−1 in full, older ones in the state only.
    pub fn compose(&mut self, material: &Material<'_>) -> Context {
        let limits = self.limits;
        let mut budget = Budget {
            state: self.state_budget(),
            summaries: older(material).map(|_| limits.summary.0).collect(),
            previous: limits.previous.0,
        };
        let mut context = shown(material, &budget);
        // Over the target the oldest gives way first: summaries, then the previous round, then the state.
        while !context.fits(material.fixed, limits.total.0) && budget.tighten(&limits) {
            context = shown(material, &budget);
        }
        if material.round == SETTLED {
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

    /// What those who spoke before in the same round said.
    pub fn current(&self, turns: &[PastTurn]) -> Vec<Shown> {
        fitted(turns, self.limits.current)
    }

    /// A whole round for somebody who reads nothing else.
    pub fn in_full(&self, turns: &[PastTurn]) -> Vec<Shown> {
        fitted(turns, self.limits.previous.1)
    }
}

struct Budget {
    state: u64,
    /// The oldest first.
    summaries: Vec<u64>,
    previous: u64,
}

impl Budget {
    /// Takes a little from whatever is to give way next. False: nothing is left to give.
    fn tighten(&mut self, limits: &Limits) -> bool {
        let least_summary = limits.summary.0 * 2 / 5;
        if let Some(oldest) = self.summaries.iter_mut().find(|it| **it > least_summary) {
            *oldest = least_summary;
            return true;
        }
        let least_previous = limits.previous.0 / 4;
        if self.previous > least_previous {
            self.previous = (self.previous * 4 / 5).max(least_previous);
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
    let is_shown = move |it: &&RoundSummary| it.round + 3 >= round && it.round + 2 <= round;
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
        previous: fitted(material.previous, budget.previous),
    }
}

/// What the marks around a quotation take.
const QUOTE: u64 = 24;

/// Turns within a budget that they share: what short ones leave over goes to the longer ones.
fn fitted(turns: &[PastTurn], budget: u64) -> Vec<Shown> {
    let bytes = turns.iter().map(|it| it.head.len() + it.argument.len());
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

/// The largest length that each may have so that all together stay within the budget.
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
