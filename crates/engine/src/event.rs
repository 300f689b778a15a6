//! The events of a debate. Every view (terminal, server, exports, reports) is a fold over them.
//!
//! An event with a [`key`](Event::key) is journaled before it is announced. An event without one (a chunk of text, the start
//! of a step) is only announced; its content is also part of the step that finishes.
//!
//! This module is at the bottom of the engine: the modules it imports must not import it.

use std::sync::Arc;

pub use roundtable_core::timing::Millis;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::assessment::{Assessment, Tracked};
use crate::budget::Budget;
use crate::cast::Seat;
use crate::depth::Depth;
use crate::expected_usage::Estimate;
use crate::model::Ability;
use crate::parent::Parent;
use crate::safety::Withheld;
pub use crate::spent::Spent;
pub use crate::state::State;

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub seq: u64,
    pub at: Millis,
    pub event: Event,
}

/// Everything that can happen in a debate, from its opening to the assessment of its decision months later.
///
/// The JSON form is stored in journals and sent to clients, so variants and fields are only ever added. A fold that needs one
/// or two variants uses an accessor such as [`finished`](Self::finished), or a match with `_`. Only matches that must decide
/// about every variant list all of them: [`key`](Self::key), the public envelopes and the rows of the store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Event {
    /// The first entry: everything needed to replay the debate.
    Opened(Arc<Setup>),
    RoundStarted {
        round: u32,
        name: String,
    },
    /// A result the program computed and later steps depend on, such as retrieved sources.
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
    /// Part of a turn's text. `offset` is the number of bytes of the turn's text before it.
    Chunk {
        step: String,
        seat: String,
        round: u32,
        offset: usize,
        text: String,
    },
    /// The attempt failed and is retried: discard the chunks of this step so far.
    StepRestarted {
        step: String,
        reason: String,
    },
    StepFinished(Arc<FinishedStep>),
    /// The seat is absent for this step (C-06).
    StepFailed(Arc<FailedStep>),
    Ended(Arc<End>),
    /// An ended debate continues. `from` is the entry of its first failed step: that step is retried, and the debate is played
    /// again from there ([`current`](crate::journal::current)). Without it, and in journals of earlier versions, only failures
    /// after the last successful step no longer count.
    Reopened {
        generation: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<u64>,
    },
    /// A step that a reopened debate has replaced; it only counts in the totals. Never journaled: [`current`](crate::journal::current)
    /// puts it in the place of the step.
    Superseded(Arc<Call>),
    Rated {
        number: u32,
        rating: u8,
        comment: Option<String>,
    },
    /// The real outcome of a forecast; the last event counts. `None` withdraws an earlier one.
    Resolved {
        number: u32,
        outcome: Option<String>,
        by: Option<String>,
        /// The number or date, of a question that asks for one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<String>,
    },
    /// Something that happened while the decision was implemented (E-13).
    Tracked {
        number: u32,
        tracked: Arc<Tracked>,
    },
    /// The assessment of the decision (E-14); the last event counts.
    Assessed {
        number: u32,
        assessment: Arc<Assessment>,
    },
    /// A person added a message (E-10).
    Said(Words),
    /// The debate waits for a person's decision (E-09).
    Asked(Query),
    Decided(Decision),
}

/// A message from a person while the debate runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Words {
    /// Counted from 1 within the debate.
    pub number: u32,
    pub text: String,
    pub by: Option<String>,
}

/// A question to a person, with the options.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Query {
    pub key: String,
    pub question: String,
    pub options: Vec<String>,
}

/// A person's answer to a [`Query`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The key of the query.
    pub key: String,
    pub choice: String,
    pub by: Option<String>,
    pub note: Option<String>,
}

/// Accessors for folds that need one kind of event.
impl Event {
    pub fn setup(&self) -> Option<&Setup> {
        match self {
            Self::Opened(setup) => Some(setup),
            _ => None,
        }
    }

    pub fn finished(&self) -> Option<&Arc<FinishedStep>> {
        match self {
            Self::StepFinished(step) => Some(step),
            _ => None,
        }
    }

    pub fn failed(&self) -> Option<&Arc<FailedStep>> {
        match self {
            Self::StepFailed(step) => Some(step),
            _ => None,
        }
    }

    pub fn ended(&self) -> Option<&Arc<End>> {
        match self {
            Self::Ended(end) => Some(end),
            _ => None,
        }
    }

    /// A person's message.
    pub fn said(&self) -> Option<&Words> {
        match self {
            Self::Said(words) => Some(words),
            _ => None,
        }
    }

    pub fn asked(&self) -> Option<&Query> {
        match self {
            Self::Asked(query) => Some(query),
            _ => None,
        }
    }

    pub fn decided(&self) -> Option<&Decision> {
        match self {
            Self::Decided(decision) => Some(decision),
            _ => None,
        }
    }

    pub fn tracked(&self) -> Option<&Tracked> {
        match self {
            Self::Tracked { tracked, .. } => Some(tracked),
            _ => None,
        }
    }

    pub fn assessed(&self) -> Option<&Assessment> {
        match self {
            Self::Assessed { assessment, .. } => Some(assessment),
            _ => None,
        }
    }

    /// The model call of a step, successful or not; each call once, also if its step was copied when the debate was reopened.
    pub fn call(&self) -> Option<&Call> {
        match self {
            Self::StepFinished(step) if step.reused => None,
            Self::StepFinished(step) => Some(&step.call),
            Self::StepFailed(step) => Some(&step.call),
            Self::Superseded(call) => Some(call),
            _ => None,
        }
    }
}

impl Event {
    /// The event's key in the journal, unique within a debate; `None` for events that are only announced.
    ///
    /// `generation` is the number of times the debate was reopened: in each generation a round can start, a step can finish or
    /// fail, and the debate can end once.
    pub fn key(&self, generation: u32) -> Option<String> {
        match self {
            Self::Opened(_) => Some("opened".into()),
            Self::RoundStarted { round, .. } => {
                Some(in_generation(format!("r{round}"), generation))
            }
            Self::Noted { key, .. } => Some(in_generation(key.clone(), generation)),
            Self::StepFinished(step) => Some(in_generation(step.call.step.clone(), generation)),
            Self::StepFailed(step) => Some(format!("{}!{generation}", step.call.step)),
            Self::Ended(_) => Some(format!("ended!{generation}")),
            Self::Reopened { generation, .. } => Some(format!("reopened!{generation}")),
            Self::Rated { number, .. } => Some(format!("rated!{number}")),
            Self::Resolved { number, .. } => Some(format!("resolved!{number}")),
            Self::Tracked { number, .. } => Some(format!("tracked!{number}")),
            Self::Assessed { number, .. } => Some(format!("assessed!{number}")),
            Self::Said(words) => Some(format!("said!{}", words.number)),
            Self::Asked(query) => Some(format!("asked!{}", query.key)),
            Self::Decided(decision) => Some(format!("decided!{}", decision.key)),
            Self::StepStarted { .. }
            | Self::Chunk { .. }
            | Self::StepRestarted { .. }
            | Self::Superseded(_) => None,
        }
    }
}

fn in_generation(key: String, generation: u32) -> String {
    match generation {
        0 => key,
        _ => format!("{key}@{generation}"),
    }
}

/// A step's position for people: `the skeptic in round 1` for `r1/skeptic/criticise`, `the judge (score)` for `score/judge/mark`.
pub fn position(step: &str) -> String {
    let mut parts = step.split('/');
    let (Some(group), Some(seat)) = (parts.next(), parts.next()) else {
        return step.to_owned();
    };
    let seat = seat.replace(['-', '_'], " ");
    match group.strip_prefix('r').map(str::parse::<u32>) {
        Some(Ok(round)) => format!("the {seat} in round {round}"),
        _ => format!("the {seat} ({group})"),
    }
}

/// `No answer from the skeptic in round 1`
pub fn unanswered(step: &str) -> String {
    format!("No answer from {}", position(step))
}

/// The parameters a debate was started with.
///
/// It is the payload of the first journal entry. Together with the recorded replies it determines the debate: a resumed debate
/// must be opened with an equal setup. [`rules`](crate::rules) has the fields of `rules` that are read across protocols.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    pub protocol: String,
    pub question: String,
    pub seed: u64,
    pub seats: Vec<Seated>,
    /// The protocol's rules, serialized from its own type.
    pub rules: Value,
    pub budget: Budget,
    pub embedder: Option<String>,
    /// The version of the program that opened the debate.
    pub program: String,
    /// Replacements and omissions before the debate began, such as a provider that could not be reached (C-18).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
    #[serde(default, skip_serializing_if = "Depth::is_normal")]
    pub depth: Depth,
    /// The estimate (B-13). `None` in debates of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// The debate that it follows up on (B-14).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Box<Parent>>,
}

/// A seat together with the model assigned to it. The assignment is fixed when the debate is opened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Seated {
    #[serde(flatten)]
    pub seat: Seat,
    /// `provider:model`
    pub model: String,
    pub ability: Ability,
    /// The model's family, such as `claude`. `None` in debates of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// Why the seat has this model, if the user did not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Seated {
    pub fn new(seat: Seat, model: impl Into<String>, ability: Ability) -> Self {
        Self {
            seat,
            model: model.into(),
            ability,
            family: None,
            why: None,
        }
    }
}

/// A step's request to a model, successful or not: which step and seat, which model, when, and what it used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The step's position: `r2/skeptic/review`. Never the order of completion.
    pub step: String,
    pub seat: String,
    pub round: u32,
    pub model: String,
    /// Hash of the rendered request. A different hash on replay halts the debate, because the recorded reply no longer belongs
    /// to the request.
    pub request: String,
    pub started_at: Millis,
    pub spent: Spent,
}

/// A successful step: the validated reply and the text of the turn. On replay it is used instead of a new model call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FinishedStep {
    #[serde(flatten)]
    pub call: Call,
    pub reply: Value,
    /// The turn's text for people: its chunks joined.
    pub text: String,
    /// Rules the reply still broke after it was sent back once.
    pub remarks: Vec<String>,
    /// Content the safety monitor removed: position and reason, never the content itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<Withheld>,
    /// The model that was asked first, if a fallback model answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<InsteadOf>,
    /// The model that put the seat's words into the schema, `provider:model`, after the seat had failed to do so twice (C-05).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rescued_by: Option<String>,
    /// A copy of a step of an earlier generation whose request is the same again. Its usage is counted there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reused: bool,
    /// Features that the call went without, such as a schema that the server does not accept (C-18).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}

impl FinishedStep {
    /// The remarks for people, with the one on the model that put the reply into its form.
    pub fn all_remarks(&self) -> Vec<String> {
        let rescued = self.rescued_by.iter();
        let rescued = rescued.map(|model| format!("Put into the required form by {model}."));
        self.remarks.iter().cloned().chain(rescued).collect()
    }
}

/// The model that was asked and did not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InsteadOf {
    /// `provider:model`
    pub model: String,
    pub because: String,
}

/// A step that failed after all retries. The debate continues without it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailedStep {
    #[serde(flatten)]
    pub call: Call,
    pub reason: String,
    /// The invalid reply, if the model gave one: it was paid for.
    pub said: Option<String>,
}

/// How a debate ended: its final state and the protocol's result. A reopened debate has one `End` per generation; the last
/// one counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct End {
    pub state: State,
    /// Why it ended in this state, for people.
    pub reason: Option<String>,
    pub result: Option<Value>,
}

impl End {
    /// The protocol's stop reason, a field of every verdict.
    pub fn stop_reason(&self) -> Option<&str> {
        self.result.as_ref()?["stop_reason"].as_str()
    }

    /// Whether a limit on tokens, money or time ended the debate.
    pub fn ran_out(&self) -> bool {
        self.stop_reason() == Some("budget")
    }
}
