//! The exact prompt of a step that is in a journal.
//!
//! A journal has a hash of each request and not the request. The debate is played again on a table that has every entry except
//! those of this step, so that it renders the step's request, and calls a model that never answers. Only a request with the
//! recorded hash is returned. No model is called and nothing is written.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use roundtable_core::format::{counted, grouped};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::oneshot;

use crate::budget::Budget;
use crate::event::{Call, Entry, Event, Seated};
use crate::journal::{Keyed, MemoryJournal, current};
use crate::model::{Deltas, Message, Model, Request, Speaker};
use crate::protocol::AnyProtocol;
use crate::table::{Halt, SeatModel, Table, TableDeps, request_hash};
use crate::withheld;

/// Playing a long debate again takes well under a second.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// The first request of a step, as its seat received it. Exchanges with tools, and a repeated request, followed it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "RecordedPrompt")]
pub struct RecordedPrompt {
    pub step: String,
    pub seat: String,
    pub round: u32,
    /// `provider:model`
    pub model: String,
    /// The hash of the request in the journal. It is that of this prompt.
    pub request: String,
    /// The number of calls of the step; those after the first repeat this prompt with what followed.
    pub calls: u32,
    pub system: String,
    pub messages: Vec<PromptMessage>,
    /// The names of images that were sent too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
    pub tools: Vec<PromptTool>,
    /// The JSON schema of the reply.
    pub schema: Value,
    pub temperature: f64,
    pub max_output_tokens: u32,
    pub seed: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "PromptMessage")]
pub struct PromptMessage {
    pub speaker: PromptSpeaker,
    pub text: String,
    /// Whether other seats of the round received the same text.
    pub shared: bool,
}

/// `assistant` only in the examples for small models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "PromptSpeaker")]
pub enum PromptSpeaker {
    User,
    Assistant,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "PromptTool")]
pub struct PromptTool {
    pub name: String,
    pub description: String,
}

impl RecordedPrompt {
    /// `lab:x · temperature 0.7 · at most 2,000 tokens · seed 9 · 1 call`
    pub fn about(&self) -> String {
        format!(
            "{} · temperature {} · at most {} tokens · seed {} · {}",
            self.model,
            self.temperature,
            grouped(u64::from(self.max_output_tokens)),
            self.seed,
            counted(self.calls, "call")
        )
    }

    /// The texts in the order in which the model reads them, each with a title.
    pub fn texts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let messages = self.messages.iter().map(|message| {
            let title = match (message.speaker, message.shared) {
                (PromptSpeaker::Assistant, _) => "Reply of the example",
                (PromptSpeaker::User, true) => "Shared by the round",
                (PromptSpeaker::User, false) => "For this seat",
            };
            (title, message.text.as_str())
        });
        std::iter::once(("System", self.system.as_str())).chain(messages)
    }
}

/// Why there is no prompt to show.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoPrompt {
    #[error("there is no finished step '{step}'")]
    UnknownStep { step: String },
    /// M-09: later prompts may quote a withheld turn.
    #[error(
        "the prompt of '{step}' is not shown: it may quote a turn that the safety evaluator withheld"
    )]
    Withheld { step: String },
    #[error(
        "the prompt of '{step}' cannot be rebuilt: prompts, casts or templates have changed since the debate"
    )]
    Changed { step: String },
    #[error("the prompt of '{step}' cannot be rebuilt: {reason}")]
    Failed { step: String, reason: String },
}

/// The steps whose prompts can be asked for, in the order of the journal.
pub fn steps(entries: &[Entry]) -> Vec<String> {
    let entries = current(entries);
    let calls = entries.iter().filter_map(call);
    calls.map(|call| call.step.clone()).collect()
}

/// Rebuilds the prompt of a step. `deps` has prompts, library and scale of the program; its models and its journal are not used.
///
/// # Errors
/// [`NoPrompt`] if the step is unknown, its prompt may not be shown, or the request has another hash now.
pub async fn recorded_prompt(
    protocol: &dyn AnyProtocol,
    entries: &[Entry],
    step: &str,
    deps: TableDeps,
) -> Result<RecordedPrompt, NoPrompt> {
    let entries = current(entries);
    let unknown = || NoPrompt::UnknownStep {
        step: step.to_owned(),
    };
    let failed = |reason: &str| NoPrompt::Failed {
        step: step.to_owned(),
        reason: reason.to_owned(),
    };
    let setup = entries.iter().find_map(|entry| entry.event.setup());
    let setup = setup.ok_or_else(unknown)?;
    let mut calls = entries.iter().filter_map(call);
    let call = calls.find(|call| call.step == step).ok_or_else(unknown)?;
    if may_quote_withheld(&entries, step) {
        return Err(NoPrompt::Withheld {
            step: step.to_owned(),
        });
    }
    let mut seats = setup.seats.iter();
    let seated = seats.find(|seated| seated.seat.name == call.seat);
    let seated = seated.ok_or_else(unknown)?;
    let (model, request) = recorder();
    let journal = MemoryJournal::holding(without(&entries, step));
    let deps = TableDeps {
        seat_models: listening(&setup.seats, &model),
        fast_model: None,
        embedder: None,
        journal: Arc::new(journal),
        ..deps
    };
    let playing = async {
        let table = Table::open(setup.clone(), Budget::default(), deps).await?;
        tokio::select! {
            biased;
            request = request => Ok(request.ok()),
            played = protocol.play(&table) => played.map(|_| None),
        }
    };
    let played = tokio::time::timeout(TIME_LIMIT, playing).await;
    let request = match played.map_err(|_| failed("it takes too long"))? {
        Ok(Some(request)) => request,
        Ok(None) => return Err(failed("the debate takes another course now")),
        Err(Halt::Drift { .. } | Halt::Prompt(_)) => return Err(changed(step)),
        Err(halt) => return Err(failed(&halt.to_string())),
    };
    if request_hash(&seated.model, &request) != call.request {
        return Err(changed(step));
    }
    Ok(shown(call, seated, request))
}

fn changed(step: &str) -> NoPrompt {
    NoPrompt::Changed {
        step: step.to_owned(),
    }
}

/// The call of a finished or failed step.
fn call(entry: &Entry) -> Option<&Call> {
    let finished = entry.event.finished().map(|step| &step.call);
    finished.or_else(|| entry.event.failed().map(|step| &step.call))
}

/// Whether the step ended after a turn that was withheld.
fn may_quote_withheld(entries: &[Entry], step: &str) -> bool {
    let withheld = withheld::steps(entries.iter().map(|entry| &entry.event));
    let steps = entries.iter().filter_map(call).map(|call| &call.step);
    let mut until = steps.take_while(|other| *other != step);
    until.any(|other| withheld.contains(other))
}

/// The journal without what the step left in it, and without its ends: the debate goes on until it asks this step.
fn without(entries: &[Entry], step: &str) -> Vec<Keyed> {
    let belongs = |event: &Event| match event {
        Event::Noted { key, .. } => {
            let rest = key.strip_prefix(step);
            rest.is_some_and(|rest| rest.starts_with('/'))
        }
        Event::Ended(_) | Event::Reopened { .. } => true,
        _ => false,
    };
    let kept = entries.iter().filter(|entry| {
        let is_step = call(entry).is_some_and(|call| call.step == step);
        !is_step && !belongs(&entry.event)
    });
    kept.map(|entry| Keyed {
        key: entry.event.key(0).unwrap_or_default(),
        entry: entry.clone(),
    })
    .collect()
}

fn listening(seats: &[Seated], model: &Arc<Recorder>) -> HashMap<String, SeatModel> {
    let seats = seats.iter().map(|seated| {
        let model = Arc::clone(model) as Arc<dyn Model>;
        let seat_model = SeatModel { model, price: None };
        (seated.seat.name.clone(), seat_model)
    });
    seats.collect()
}

/// A model that hands over the first request and never answers.
struct Recorder(Mutex<Option<oneshot::Sender<Request>>>);

fn recorder() -> (Arc<Recorder>, oneshot::Receiver<Request>) {
    let (sender, receiver) = oneshot::channel();
    (Arc::new(Recorder(Mutex::new(Some(sender)))), receiver)
}

impl Model for Recorder {
    fn stream(&self, request: Request) -> Deltas {
        let sender = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(sender) = sender {
            // Fails only if nobody waits for it any more.
            let _ = sender.send(request);
        }
        Box::pin(futures::stream::pending())
    }
}

fn shown(call: &Call, seated: &Seated, request: Request) -> RecordedPrompt {
    let tools = request.tools.iter().flat_map(|tools| &tools.list);
    let tools = tools.map(|tool| PromptTool {
        name: tool.name.clone(),
        description: tool.description.clone(),
    });
    RecordedPrompt {
        step: call.step.clone(),
        seat: call.seat.clone(),
        round: call.round,
        model: seated.model.clone(),
        request: call.request.clone(),
        calls: call.spent.calls,
        tools: tools.collect(),
        images: request.images.into_iter().map(|image| image.name).collect(),
        schema: request
            .schema
            .map_or(Value::Null, |schema| (**schema.json).clone()),
        system: request.system,
        messages: request.messages.into_iter().map(message).collect(),
        temperature: request.temperature,
        max_output_tokens: request.max_output_tokens,
        seed: request.seed,
    }
}

fn message(message: Message) -> PromptMessage {
    PromptMessage {
        speaker: match message.speaker {
            Speaker::User => PromptSpeaker::User,
            Speaker::Assistant => PromptSpeaker::Assistant,
        },
        text: message.text,
        shared: message.shared,
    }
}

#[cfg(test)]
#[path = "recorded_prompt_tests.rs"]
mod tests;
