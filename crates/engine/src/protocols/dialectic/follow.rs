//! Where the issues stand, for someone who follows the journal while the debate runs.

use roundtable_core::issues::{Ledger, Severity};
use serde::Deserialize;

use super::replies::{Critique, Review, Revision};
use crate::event::FinishedStep;

#[derive(Debug, Default)]
pub struct Follower {
    ledger: Ledger,
}

impl Follower {
    pub fn take_up(&mut self, step: &FinishedStep) {
        let round = step.call.round;
        let verb = step.call.step.rsplit('/').next().unwrap_or_default();
        match verb {
            "criticise" => {
                if let Ok(reply) = Critique::deserialize(&step.reply) {
                    self.ledger.raise(round, reply.issues);
                }
            }
            "revise" => {
                if let Ok(reply) = Revision::deserialize(&step.reply) {
                    self.ledger.answer(round, reply.responses);
                }
            }
            "review" => {
                if let Ok(reply) = Review::deserialize(&step.reply) {
                    self.ledger.judge(round, reply.verdicts);
                    self.ledger.raise(round, reply.new_issues);
                }
            }
            _ => {}
        }
    }

    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Open issues by severity, gravest first.
    pub fn open(&self) -> [(Severity, usize); 3] {
        Severity::ALL.map(|severity| (severity, self.ledger.open_count(severity)))
    }
}
