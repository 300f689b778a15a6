//! What the enhanced debate cost over a plain one (E-17): counted from the parts of prompts and replies that a plain debate
//! does not have, and from rounds that it would not have played.

use roundtable_core::votes;
use serde::{Deserialize, Serialize};

use super::super::debate::Debate;
use super::replies::own_part;
use crate::tokens;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overhead {
    pub total_tokens: u64,
    /// What a plain debate with the same replies would have used.
    pub plain_tokens: u64,
    /// Evidence rules, the table of evidence, and questions, in every call.
    pub prompt_tokens: u64,
    /// Evidence, sources, confidences and critiques in the replies.
    pub reply_tokens: u64,
    /// Rounds after the one with which a plain debate would have ended.
    pub round_tokens: u64,
    /// What the embedder read; it is not part of the totals, which count language models alone.
    pub embedded_tokens: u64,
}

impl Overhead {
    pub fn of(debate: &Debate, total_tokens: u64) -> Self {
        let mut overhead = Self {
            total_tokens,
            ..Self::default()
        };
        let Some(play) = &debate.enhanced else {
            overhead.plain_tokens = total_tokens;
            return overhead;
        };
        let last = plain_end(debate);
        for round in &debate.rounds {
            let measured = play.rounds.iter().find(|it| it.number == round.number);
            let measured = measured.map(|it| &it.measurement);
            overhead.embedded_tokens += measured.map_or(0, |it| it.embedded_tokens);
            if last.is_some_and(|last| round.number > last) {
                let turns = round.turns.iter();
                overhead.round_tokens += turns.map(|it| it.spent.usage.total()).sum::<u64>();
                continue;
            }
            overhead.prompt_tokens += measured.map_or(0, |it| it.prompt_tokens);
            let parts = round
                .turns
                .iter()
                .map(|it| tokens::count(&own_part(&it.reply)));
            overhead.reply_tokens += parts.sum::<u64>();
        }
        overhead.plain_tokens = total_tokens.saturating_sub(overhead.added());
        overhead
    }

    pub fn added(&self) -> u64 {
        self.prompt_tokens + self.reply_tokens + self.round_tokens
    }

    /// 0.54 is 54% more than a plain debate.
    #[expect(
        clippy::cast_precision_loss,
        reason = "tokens of a debate are far below 2^53"
    )]
    pub fn share(&self) -> Option<f64> {
        (self.plain_tokens > 0).then(|| self.added() as f64 / self.plain_tokens as f64)
    }
}

/// The round after which the votes alone would have ended it.
fn plain_end(debate: &Debate) -> Option<u32> {
    let history = debate.history();
    (1..=history.len()).find_map(|played| {
        let so_far = history.get(..played)?;
        let exit = votes::after_round(so_far, debate.rules.max_rounds);
        exit.and(so_far.last()).map(|figures| figures.round)
    })
}
