//! Everything that happens at a table is one of these events. Every surface is a fold over them.
//!
//! An event with a [`key`](Event::key) is journaled before anyone hears of it. One without (a chunk of text, a step
//! that begins) is only announced: whoever was not listening finds the whole in the step that finishes.

use std::sync::Arc;

use roundtable_core::usage::{Money, Usage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::assessment::{Assessment, Tracked};
use crate::budget::Budget;
use crate::cast::Seat;
use crate::model::Ability;
use crate::safety::Withheld;

/// Milliseconds since 1970. The engine never reads a clock itself.
pub type Millis = u64;

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub seq: u64,
    pub at: Millis,
    pub event: Event,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Event {
    /// The first entry: all that is needed to play the debate again.
    Opened(Arc<Setup>),
    RoundStarted {
        round: u32,
        name: String,
    },
    /// Something the program itself found out and later steps rest on, such as what was retrieved.
    Noted {
        key: String,
        value: Value,
        started_at: Millis,
    },
    StepStarted {
        step: String,
        seat: String,
        round: u32,
        model: String,
    },
    /// A piece of a turn's text. `offset` counts the bytes of the turn's text before it.
    Chunk {
        step: String,
        seat: String,
        round: u32,
        offset: usize,
        text: String,
    },
    /// The attempt failed and begins anew: the chunks of this step so far are void.
    StepRestarted {
        step: String,
        reason: String,
    },
    StepFinished(Arc<FinishedStep>),
    /// The seat is absent for this step (C-06).
    StepFailed(Arc<FailedStep>),
    Ended(Arc<End>),
    /// An ended debate goes on: failures after the last good step no longer count.
    Reopened {
        generation: u32,
    },
    Rated {
        number: u32,
        rating: u8,
        comment: Option<String>,
    },
    /// What happened in the world; the last one counts. `None` takes back what an earlier one said.
    Resolved {
        number: u32,
        outcome: Option<String>,
        by: Option<String>,
    },
    /// What became of the decision since (E-13).
    Tracked {
        number: u32,
        tracked: Arc<Tracked>,
    },
    /// How it came out in the end (E-14); the last one counts.
    Assessed {
        number: u32,
        assessment: Arc<Assessment>,
    },
    /// A person speaks (E-10).
    Said(Words),
    /// A person is to decide; until then the debate waits (E-09).
    Asked(Query),
    Decided(Decision),
}

/// What a person said while the debate ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Words {
    /// Counted from 1 within the debate.
    pub number: u32,
    pub text: String,
    pub by: Option<String>,
}

/// A question to a person, with the choices there are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Query {
    pub key: String,
    pub question: String,
    pub options: Vec<String>,
}

/// What a person chose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Of the question that is answered.
    pub key: String,
    pub choice: String,
    pub by: Option<String>,
    pub note: Option<String>,
}

impl Event {
    /// What the debate was started with, in its first event.
    pub fn setup(&self) -> Option<&Setup> {
        if let Self::Opened(setup) = self {
            Some(setup)
        } else {
            None
        }
    }

    pub fn finished(&self) -> Option<&Arc<FinishedStep>> {
        if let Self::StepFinished(step) = self {
            Some(step)
        } else {
            None
        }
    }

    pub fn ended(&self) -> Option<&Arc<End>> {
        if let Self::Ended(end) = self {
            Some(end)
        } else {
            None
        }
    }

    /// The place of this event in the journal, unique within a debate; `None` for what is only announced.
    ///
    /// `generation` counts how often the debate was reopened: a step may fail, and the debate end, once in each.
    pub fn key(&self, generation: u32) -> Option<String> {
        match self {
            Self::Opened(_) => Some("opened".into()),
            Self::RoundStarted { round, .. } => Some(format!("r{round}")),
            Self::Noted { key, .. } => Some(key.clone()),
            Self::StepFinished(step) => Some(step.call.step.clone()),
            Self::StepFailed(step) => Some(format!("{}!{generation}", step.call.step)),
            Self::Ended(_) => Some(format!("ended!{generation}")),
            Self::Reopened { generation } => Some(format!("reopened!{generation}")),
            Self::Rated { number, .. } => Some(format!("rated!{number}")),
            Self::Resolved { number, .. } => Some(format!("resolved!{number}")),
            Self::Tracked { number, .. } => Some(format!("tracked!{number}")),
            Self::Assessed { number, .. } => Some(format!("assessed!{number}")),
            Self::Said(words) => Some(format!("said!{}", words.number)),
            Self::Asked(query) => Some(format!("asked!{}", query.key)),
            Self::Decided(decision) => Some(format!("decided!{}", decision.key)),
            Self::StepStarted { .. } | Self::Chunk { .. } | Self::StepRestarted { .. } => None,
        }
    }
}

/// All that a debate was started with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    pub protocol: String,
    pub question: String,
    pub seed: u64,
    pub seats: Vec<Seated>,
    /// The rules of the protocol, as its own type wrote them.
    pub rules: Value,
    pub budget: Budget,
    pub embedder: Option<String>,
    /// The version of the program that opened the debate.
    pub program: String,
}

/// A seat with the model that was found for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Seated {
    #[serde(flatten)]
    pub seat: Seat,
    /// `provider:model`
    pub model: String,
    pub ability: Ability,
}

/// What is known of every call, whether it went well or not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The step's position: `r2/skeptic/review`. Never the order of completion.
    pub step: String,
    pub seat: String,
    pub round: u32,
    pub model: String,
    /// Hash of the rendered request: on replay another hash is [`JournalDrift`](crate::table::Halt::Drift).
    pub request: String,
    pub started_at: Millis,
    pub spent: Spent,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FinishedStep {
    #[serde(flatten)]
    pub call: Call,
    pub reply: Value,
    /// The turn as people read it; its chunks put together.
    pub text: String,
    /// Rules the reply broke even after it was sent back once.
    pub remarks: Vec<String>,
    /// What the safety monitor took out of it: where and why, never what.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<Withheld>,
    /// The model of the call answered in place of this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<InsteadOf>,
}

/// The model that was asked and did not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InsteadOf {
    /// `provider:model`
    pub model: String,
    pub because: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailedStep {
    #[serde(flatten)]
    pub call: Call,
    pub reason: String,
    /// What the model said, where it said something unusable: it was paid for.
    pub said: Option<String>,
}

/// The price of one step, all its attempts together (C-11).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    #[serde(flatten)]
    pub usage: Usage,
    pub calls: u32,
    /// Of the calls, those that ended in calls of tools.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tool_turns: u32,
    pub retries: u32,
    pub latency_ms: u64,
    /// `None` where the price is not known.
    pub cost: Option<Money>,
    /// The provider told no usage; it was counted here with a tokenizer.
    pub estimated: bool,
}

impl Spent {
    /// Whether the reply was asked for once more; retries of the transport are counted apart.
    pub fn was_sent_back(&self) -> bool {
        self.calls > self.tool_turns + 1
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct End {
    pub state: State,
    /// Why it ended like this, for people.
    pub reason: Option<String>,
    pub result: Option<Value>,
}

impl End {
    /// The protocol's stop reason, which every verdict carries.
    pub fn stop_reason(&self) -> Option<&str> {
        self.result.as_ref()?["stop_reason"].as_str()
    }

    /// Whether a limit on tokens, money or time ended the debate.
    pub fn ran_out(&self) -> bool {
        self.stop_reason() == Some("budget")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// For a place among the running ones.
    Queued,
    Running,
    /// For a person's decision.
    Waiting,
    Complete,
    Partial,
    Failed,
    Cancelled,
}

impl State {
    pub const ALL: [Self; 7] = [
        Self::Queued,
        Self::Running,
        Self::Waiting,
        Self::Complete,
        Self::Partial,
        Self::Failed,
        Self::Cancelled,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Complete => "complete",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}
