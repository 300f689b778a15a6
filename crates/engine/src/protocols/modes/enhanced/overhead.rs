//! The token overhead over a plain debate (E-17): parts of prompts and replies that a plain debate does not have, and rounds that
//! it would not have played.

use roundtable_core::votes::{self, Figures};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::replies::enhanced_part;
use crate::protocols::modes::{Debate, PanelDecision};
use crate::tokens;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Overhead {
    pub total_tokens: u64,
    /// Estimate for a plain debate with the same replies.
    pub plain_tokens: u64,
    /// Evidence rules, the table of evidence and required questions, in every call.
    pub prompt_tokens: u64,
    /// Evidence, sources, confidences and critiques in the replies.
    pub reply_tokens: u64,
    /// Rounds after the one in which the votes would have ended a plain debate.
    pub round_tokens: u64,
    /// Read by the embedder; not part of the totals, which count language models only.
    pub embedded_tokens: u64,
}

impl Overhead {
    pub fn of(debate: &Debate, total_tokens: u64) -> Self {
        let mut overhead = Self {
            total_tokens,
            ..Self::default()
        };
        let Some(enhanced) = &debate.enhanced else {
            overhead.plain_tokens = total_tokens;
            return overhead;
        };
        let last = plain_end(debate);
        for round in &debate.rounds {
            let measured = enhanced.measured(round.number).map(|m| &m.measurement);
            overhead.embedded_tokens += measured.map_or(0, |m| m.embedded_tokens);
            if last.is_some_and(|last| round.number > last) {
                let turns = round.turns.iter();
                overhead.round_tokens += turns.map(|turn| turn.spent.usage.total()).sum::<u64>();
                continue;
            }
            overhead.prompt_tokens += measured.map_or(0, |m| m.prompt_tokens);
            let parts = round
                .turns
                .iter()
                .map(|turn| tokens::count(&enhanced_part(&turn.reply)));
            overhead.reply_tokens += parts.sum::<u64>();
        }
        overhead.plain_tokens = total_tokens.saturating_sub(overhead.added());
        overhead
    }

    pub fn added(&self) -> u64 {
        self.prompt_tokens + self.reply_tokens + self.round_tokens
    }

    /// 0.54 means 54% more than a plain debate.
    #[expect(
        clippy::cast_precision_loss,
        reason = "tokens of a debate are far below 2^53"
    )]
    pub fn share(&self) -> Option<f64> {
        (self.plain_tokens > 0).then(|| self.added() as f64 / self.plain_tokens as f64)
    }
}

/// Whether a majority would have ended a plain debate after this round.
fn is_majority(debate: &Debate, last: &Figures) -> bool {
    let rule = debate.rules.majority.as_ref();
    let decision = rule.map(|rule| PanelDecision::of(last, rule));
    decision.is_some_and(|decision| decision.ends_rounds(last))
}

/// The round in which the votes would have ended a plain debate.
fn plain_end(debate: &Debate) -> Option<u32> {
    let history = debate.history();
    (1..=history.len()).find_map(|played| {
        let so_far = history.get(..played)?;
        let last = so_far.last()?;
        let is_over = votes::after_round(so_far, debate.rules.max_rounds).is_some()
            || is_majority(debate, last);
        is_over.then_some(last.round)
    })
}
