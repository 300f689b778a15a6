//! Token limits of the prompt context (M-12): targets, hard limits, and the order in which parts are shortened.

use std::collections::BTreeSet;

use roundtable_core::state::{DebateState, ids_in};
use serde::Serialize;

use super::state::{StateShown, StateText, View};
use super::summaries::RoundSummary;
use crate::tokens;

/// Tokens for each part. A pair is the target and the hard limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub state: (u64, u64),
    pub summary: (u64, u64),
    /// For the previous round: what it keeps as long as the prompt is within its hard limit, and the most it gets.
    pub previous: (u64, u64),
    /// The least for the earlier speakers of the current round. They also get what is free.
    pub current: u64,
    pub total: (u64, u64),
}

impl Limits {
    /// The limits of the specification, with targets inside its ranges: 800–2,000, 150–300, 2,500–4,000. The state's target is
    /// its upper end and an item, so that 80% of its hard limit is used before anything is left out.
    pub const FULL: Self = Self {
        state: (2060, 2500),
        summary: (250, 400),
        previous: (3000, 4900),
        current: 2400,
        total: (8000, 10_000),
    };

    /// For models with a context of a few thousand tokens.
    pub const SMALL: Self = Self {
        state: (240, 300),
        summary: (40, 60),
        previous: (300, 400),
        current: 200,
        total: (1300, 1500),
    };

    /// The room that is reserved for the state; it keeps its target as long as the prompt is within its hard limit.
    const fn least_state(&self) -> u64 {
        self.state.1 / 3
    }

    const fn least_previous(&self) -> u64 {
        self.previous.0 / 3
    }
}

/// From this round on the prompt grows by at most one part in [`MAX_GROWTH`], and all of that is for the state.
const SETTLED_ROUND: u32 = 4;
const MAX_GROWTH: u64 = 14;

/// A turn as other seats see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastTurn {
    pub by: String,
    /// Vote, confidence, position, BLOCKER, ids: never shortened.
    pub head: String,
    /// Risks, alternatives, concerns and the like, one to a line.
    pub points: Vec<String>,
    pub argument: String,
}

impl PastTurn {
    fn texts(&self) -> impl Iterator<Item = &str> {
        let points = self.points.iter().map(String::as_str);
        [self.head.as_str(), self.argument.as_str()]
            .into_iter()
            .chain(points)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Shown {
    pub by: String,
    pub text: String,
}

/// The input of [`Window::compose`].
#[derive(Debug, Clone, Copy)]
pub struct Material<'a> {
    pub state: &'a DebateState,
    /// Of all rounds so far, in order.
    pub summaries: &'a [RoundSummary],
    pub previous: &'a [PastTurn],
    /// How the state is shown. The ids that the previous round names are added to its ids.
    pub view: View<'a>,
    /// The rest of the prompt: the mode, the question, the instructions.
    pub fixed: &'a Fixed<'a>,
}

/// Parts of the prompt that are never shortened.
#[derive(Debug, Clone, Default)]
pub struct Fixed<'a> {
    pub texts: Vec<&'a str>,
    /// Tokens of parts that are not available as text.
    pub others: u64,
    /// Tokens that are kept free below the hard limit.
    pub reserved: u64,
}

impl Fixed<'_> {
    fn size(&self, measure: impl Fn(&str) -> u64) -> u64 {
        self.others + self.texts.iter().map(|text| measure(text)).sum::<u64>()
    }
}

/// The context shown to every seat of a round.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Context {
    pub state: String,
    /// The ids of the items that the state shows.
    #[serde(skip)]
    pub ids: BTreeSet<String>,
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
        let size = |measure: fn(&str) -> u64| self.size(measure) + fixed.size(measure);
        // A token has at least one byte, so a short text needs no tokenizer.
        size(|text| text.len() as u64) <= limit || size(tokens::count) <= limit
    }
}

/// Composes the context of each round within the limits.
#[derive(Debug, Clone)]
pub struct Window {
    limits: Limits,
    /// The most tokens for the state after [`SETTLED_ROUND`].
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
            previous: limits.previous.1,
        };
        let texts = material.previous.iter().flat_map(PastTurn::texts);
        let mut named: BTreeSet<String> = texts.flat_map(ids_in).map(str::to_owned).collect();
        named.extend(material.view.named.iter().cloned());
        let view = View {
            named: &named,
            ..material.view
        };
        let state = StateText::of(material.state, &view);
        let shown = |budget: &Budget| shown(material, &state, budget, limits.state.1);
        let mut context = shown(&budget);
        // Over the target, the oldest is shortened first: the summaries, then the previous round.
        while !context.fits(material.fixed, limits.total.0) && budget.tighten(&limits) {
            context = shown(&budget);
        }
        let limit = limits.total.1.saturating_sub(material.fixed.reserved);
        while !context.fits(material.fixed, limit) && budget.squeeze(&limits) {
            context = shown(&budget);
        }
        if material.view.last_round + 1 == SETTLED_ROUND {
            let all = context.size(tokens::count) + material.fixed.size(tokens::count);
            self.settled_state = Some(tokens::count(&context.state) + all / MAX_GROWTH);
        }
        context
    }

    fn state_budget(&self) -> u64 {
        let limits = &self.limits;
        self.settled_state.map_or(limits.state.0, |settled| {
            settled.clamp(limits.least_state(), limits.state.0)
        })
    }

    /// The earlier turns of the current round, in the room that the rest of the prompt leaves.
    pub fn current(&self, turns: &[PastTurn], context: &Context, fixed: &Fixed<'_>) -> Vec<Shown> {
        let bytes = |text: &str| text.len() as u64;
        let whole: u64 = turns.iter().flat_map(PastTurn::texts).map(bytes).sum();
        let budget = if whole <= self.limits.current {
            self.limits.current
        } else {
            let rest = context.size(tokens::count) + fixed.size(tokens::count);
            let quotes = QUOTE_TOKENS * turns.len() as u64;
            let free = self.limits.total.0.saturating_sub(rest + quotes);
            free.max(self.limits.current)
        };
        shorten_turns(turns, budget)
    }

    /// A whole round, for a reader who gets no other context.
    pub fn in_full(&self, turns: &[PastTurn]) -> Vec<Shown> {
        shorten_turns(turns, self.limits.total.0)
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }
}

struct Budget {
    state: u64,
    /// Oldest first.
    summaries: Vec<u64>,
    previous: u64,
}

impl Budget {
    /// Reduces the budget of the next part to what it keeps within the hard limit; false if nothing can be reduced.
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
        reduce(&mut self.previous, limits.previous.0)
    }

    /// Reduces the budgets to their least.
    fn squeeze(&mut self, limits: &Limits) -> bool {
        reduce(&mut self.previous, limits.least_previous())
            || reduce(&mut self.state, limits.least_state())
    }
}

/// Reduces a budget by a tenth, down to `least`; false if it is there.
fn reduce(budget: &mut u64, least: u64) -> bool {
    let is_more = *budget > least;
    if is_more {
        *budget = (*budget * 9 / 10).max(least);
    }
    is_more
}

/// The rounds that are shown as summaries.
fn older<'a>(material: &Material<'a>) -> impl Iterator<Item = &'a RoundSummary> + use<'a> {
    let round = material.view.last_round + 1;
    let is_shown = move |s: &&RoundSummary| s.round + 3 >= round && s.round + 2 <= round;
    material.summaries.iter().filter(is_shown)
}

fn shown(material: &Material<'_>, state: &StateText, budget: &Budget, limit: u64) -> Context {
    let StateShown { text, ids } = state.fit(budget.state, limit);
    let summaries: Vec<Shown> = older(material)
        .zip(&budget.summaries)
        .map(|(summary, budget)| Shown {
            by: format!("round {}", summary.round),
            text: summary.text(material.view.visibility, *budget, &ids),
        })
        .collect();
    Context {
        state: text,
        ids,
        summaries,
        previous: shorten_turns(material.previous, budget.previous),
    }
}

/// Tokens of the tags around a quote.
const QUOTE_TOKENS: u64 = 26;

/// Shortens turns to a common budget; what short turns leave goes to longer ones. Points and arguments are shortened together:
/// every point keeps its first words.
fn shorten_turns(turns: &[PastTurn], budget: u64) -> Vec<Shown> {
    let texts = turns.iter().flat_map(PastTurn::texts);
    let (point_share, argument_share) = if texts.map(str::len).sum::<usize>() as u64 <= budget {
        (budget, budget)
    } else {
        // One more for the line break.
        let points = turns.iter().flat_map(|turn| &turn.points);
        let points: Vec<u64> = points.map(|point| tokens::count(point) + 1).collect();
        let arguments = turns.iter().map(|turn| tokens::count(&turn.argument) + 1);
        let arguments: Vec<u64> = arguments.collect();
        let heads: u64 = turns.iter().map(|turn| tokens::count(&turn.head)).sum();
        let left = budget.saturating_sub(heads);
        let used = |lengths: &[u64], share: u64| -> u64 {
            lengths.iter().map(|length| (*length).min(share)).sum()
        };
        let points_first = used(&points, fair_share(&points, left * 2 / 5));
        let argument_share = fair_share(&arguments, left - points_first);
        let left = left - used(&arguments, argument_share);
        (
            fair_share(&points, left).saturating_sub(1),
            argument_share.saturating_sub(1),
        )
    };
    turns
        .iter()
        .map(|turn| {
            let points = turn.points.iter();
            let points = points.map(|point| tokens::shorten(point, point_share));
            let head: Vec<String> = std::iter::once(turn.head.clone()).chain(points).collect();
            let argument = tokens::shorten(&turn.argument, argument_share);
            Shown {
                by: turn.by.clone(),
                text: format!("{}\n\n{argument}", head.join("\n")),
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
