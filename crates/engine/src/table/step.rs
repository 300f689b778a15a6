//! One step: a question to a seat, from the rendered prompt to the journaled reply.

use std::sync::Arc;
use std::time::Duration;

use minijinja::value::{Serde, merge_maps};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::calls::{Calls, Failure};
use super::parroting::Told;
use super::replay::Known;
use super::reply_type::{Judged, ReplyType, Rules};
use super::{Halt, Missing, Table, fingerprint, lock};
use crate::budget::Exhausted;
use crate::event::{Call, Event, FailedStep, FinishedStep, InsteadOf, Seated, Spent, Words};
use crate::journal::JournalError;
use crate::model::{Ability, Image, Message, Request, Speaker};
use crate::reply::{Refinement, Reply};
use crate::safety::{Withheld, withhold_text};
use crate::tokens;
use crate::tools::Toolbox;

/// A valid reply of a seat, with the text people read. Returned by [`Ask::send`], and by a replay exactly as it was recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn<T> {
    pub reply: T,
    pub text: String,
    /// Rules of [`Ask::check`] that it still broke after the retry.
    pub remarks: Vec<String>,
    /// Texts that the safety monitor removed from it.
    pub withheld: Vec<Withheld>,
    pub spent: Spent,
}

/// Builder of one step: a question to a seat whose reply has the type `T`. [`Ask::send`] asks it.
///
/// The step's name (`r2/skeptic/critique`) is its key in the journal and must be unique within a debate. A journaled step is
/// replayed instead of asked, if its request has the same hash.
#[must_use = "nothing is asked before `send`"]
pub struct Ask<'t, T> {
    question: Question<'t>,
    rules: Rules<'t, T>,
}

/// A step without the type of its reply: its code is compiled once, not once per type.
pub(super) struct Question<'t> {
    pub(super) table: &'t Table,
    pub(super) seat: String,
    verb: String,
    phase: Option<&'static str>,
    round: u32,
    prompt: String,
    context: minijinja::Value,
    pub(super) refinement: Refinement,
    images: Vec<Image>,
    is_last: bool,
    pub(super) toolbox: Option<Toolbox>,
    pub(super) subject: String,
}

impl<'t, T: Reply> Ask<'t, T> {
    pub(super) fn new(table: &'t Table, seat: &str, verb: &str) -> Self {
        let question = Question {
            table,
            seat: seat.to_owned(),
            verb: verb.to_owned(),
            phase: None,
            round: 0,
            prompt: String::new(),
            context: minijinja::Value::UNDEFINED,
            refinement: Refinement::default(),
            images: Vec::new(),
            is_last: false,
            toolbox: None,
            subject: String::new(),
        };
        let rules = Rules::default();
        Self { question, rules }
    }

    pub fn in_round(mut self, round: u32) -> Self {
        self.question.round = round;
        self
    }

    /// A step outside the rounds, after `round`: its name begins with the phase.
    pub fn in_phase(mut self, phase: &'static str, round: u32) -> Self {
        self.question.phase = Some(phase);
        self.in_round(round)
    }

    /// Marks the last step of a debate: it is written in one batch with the end, which must follow.
    pub fn last(mut self) -> Self {
        self.question.is_last = true;
        self
    }

    /// The template to render. `seat` and `small` are added to its context, and an empty `person` (words of a person) if it
    /// has none.
    pub fn prompt(mut self, name: &str, context: impl Serialize) -> Self {
        name.clone_into(&mut self.question.prompt);
        self.question.context = minijinja::Value::from(Serde(context));
        self
    }

    /// Restricts properties of this name to these values.
    pub fn choices(mut self, property: &'static str, values: Vec<String>) -> Self {
        self.question.refinement.choices.push((property, values));
        self
    }

    /// Makes properties of this name objects with exactly these keys.
    pub fn keys(mut self, property: &'static str, keys: Vec<String>) -> Self {
        self.question.refinement.keys.push((property, keys));
        self
    }

    /// Leaves a property out of the schema; its type needs a default.
    pub fn without(mut self, property: &'static str) -> Self {
        self.question.refinement.omitted.push(property);
        self
    }

    /// Rules without which a reply is unusable. A violation is sent back once; if it persists, the step fails.
    pub fn demand(mut self, rule: impl Fn(&T) -> Vec<String> + Send + Sync + 't) -> Self {
        self.rules.demand = Box::new(rule);
        self
    }

    /// Images to send with the question.
    pub fn images(mut self, images: &[Image]) -> Self {
        self.question.images = images.to_vec();
        self
    }

    /// The seat may call these tools before it replies (M-15).
    pub fn tools(mut self, toolbox: Option<Toolbox>) -> Self {
        self.question.toolbox = toolbox;
        self
    }

    /// The text that the reply is about. A small model that repeats it is asked again.
    pub fn about(mut self, subject: &str) -> Self {
        subject.clone_into(&mut self.question.subject);
        self
    }

    /// Makes lists of this name have exactly `count` items.
    pub fn items(mut self, property: &'static str, count: usize) -> Self {
        self.question.refinement.items.push((property, count));
        self
    }

    /// Rules that a reply should keep. A violation is sent back once; if it persists, the reply is kept with a remark.
    pub fn check(mut self, rule: impl Fn(&T) -> Vec<String> + Send + Sync + 't) -> Self {
        self.rules.check = Box::new(rule);
        self
    }

    /// Renders the turn's text if that takes more than the reply itself. The text must begin with the main field.
    pub fn read_as(mut self, render: impl Fn(&T) -> String + Send + Sync + 't) -> Self {
        self.rules.render = Box::new(render);
        self
    }

    /// Asks the seat, or replays the step from the journal. `None` if the step failed: the seat is absent for this step, and
    /// [`Table::missing`] has the reason.
    ///
    /// # Errors
    /// Every [`Halt`] but `OtherSetup` and `Waiting`.
    pub async fn send(self) -> Result<Option<Turn<T>>, Halt> {
        let Some(step) = self.question.send(&self.rules).await? else {
            return Ok(None);
        };
        let reply = T::deserialize(&step.reply).map_err(|error| JournalError::Corrupt {
            detail: format!("step '{}': {error}", step.call.step),
        })?;
        Ok(Some(Turn {
            reply,
            text: step.text.clone(),
            remarks: step.remarks.clone(),
            withheld: step.withheld.clone(),
            spent: step.call.spent,
        }))
    }
}

impl Question<'_> {
    fn step(&self) -> String {
        match self.phase {
            Some(phase) => format!("{phase}/{}/{}", self.seat, self.verb),
            None => format!("r{}/{}/{}", self.round, self.seat, self.verb),
        }
    }

    async fn send(&self, reply_type: &dyn ReplyType) -> Result<Option<Arc<FinishedStep>>, Halt> {
        let table = self.table;
        let (seated, seat_model) = table.seated(&self.seat)?;
        let request = self.request(seated, reply_type)?;
        let step = self.step();
        let hash = fingerprint::of(&seated.model, &request);
        lock(&table.stats).steps += 1;
        if let Some(known) = table.replay.step(&step) {
            return self.recall(&known, &hash);
        }
        table.check_replay().await?;
        if let Some((notes, reply)) = table.replay.reusable(&step, &hash) {
            return Box::pin(self.reuse(notes, reply)).await;
        }
        let expected = request.texts().map(tokens::estimate).sum();
        table.flush().await?;
        let reservation = table
            .budget_tracker
            .admit(expected, seat_model.price.as_ref())?;
        let in_flight = table.write_queue.in_flight();
        table.announce(Event::StepStarted {
            step: step.clone(),
            seat: self.seat.clone(),
            round: self.round,
            model: seated.model.clone(),
        });
        let started_at = table.deps.clock.now();
        let sent = request.schema.clone().unwrap_or_default();
        let mut calls = Calls::new(self, reply_type, seat_model, &step, &hash, &sent.json);
        calls.told = (seated.ability == Ability::Small).then(|| self.told(&request));
        let outcome = calls.run(request).await?;
        let mut spent = calls.total();
        let notices = std::mem::take(&mut calls.notices);
        spent.latency_ms = table.deps.clock.now().saturating_sub(started_at);
        let rescued_by = calls
            .rescued
            .filter(|_| outcome.is_ok())
            .map(|rescued| rescued.by);
        let (announced, fallback) = (calls.announced, calls.fallback);
        table.budget_tracker.settle(reservation, &spent);
        let call = Call {
            step,
            seat: self.seat.clone(),
            round: self.round,
            model: fallback
                .as_ref()
                .map_or_else(|| seated.model.clone(), |f| f.instead.model.clone()),
            request: hash,
            started_at,
            spent,
        };
        lock(&table.stats).sum.add(&call);
        let instead_of = fallback.map(|f| InsteadOf {
            model: seated.model.clone(),
            because: withhold_text(&f.instead.because),
        });
        drop(in_flight);
        let origin = Origin {
            instead_of,
            rescued_by,
            notices,
        };
        self.conclude(call, outcome, origin, &announced).await
    }

    fn request(&self, seated: &Seated, reply_type: &dyn ReplyType) -> Result<Request, Halt> {
        let no_words = Vec::<Words>::new();
        // Later maps take precedence.
        let context = merge_maps([
            self.table.quote_context(),
            minijinja::context! { person => Serde(no_words) },
            self.context.clone(),
            minijinja::context! { seat => Serde(&seated.seat), small => seated.ability == Ability::Small },
        ]);
        let prompts = &self.table.deps.prompts;
        let prompt = prompts.render(&self.prompt, seated.ability, &context)?;
        let message = |speaker, text: String, shared| Message {
            speaker,
            text,
            shared,
            tools: Vec::new(),
        };
        let example = prompt.example.into_iter().flat_map(|example| {
            [
                message(Speaker::User, example.asked, true),
                message(Speaker::Assistant, example.replied, true),
            ]
        });
        // First, because it is the same in every prompt: providers cache common beginnings.
        let shared = match &self.table.parent {
            Some(parent) => format!("{parent}\n\n{}", prompt.shared),
            None => prompt.shared,
        };
        let question = [
            message(Speaker::User, shared, true),
            message(Speaker::User, prompt.own, false),
        ];
        Ok(Request {
            model: model_part(&seated.model).to_owned(),
            system: prompt.system,
            messages: example
                .chain(question)
                .filter(|message| !message.text.is_empty())
                .collect(),
            images: self.images.clone(),
            schema: Some(reply_type.schema(&self.refinement, seated.ability)),
            tools: self.toolbox.as_ref().map(Toolbox::offered),
            temperature: seated.seat.temperature,
            max_output_tokens: seated.seat.max_output_tokens,
            seed: seed_for(self.table.setup.seed, &self.step()),
        })
    }

    fn told(&self, request: &Request) -> Told {
        let texts: Vec<&str> = request.texts().collect();
        let messages = request.messages.iter();
        let example = messages.filter(|message| message.speaker == Speaker::Assistant);
        let example: Vec<&str> = example.map(|message| message.text.as_str()).collect();
        Told {
            prompt: self.table.quote_tag.outside(&texts.join("\n")),
            example: example.join("\n"),
        }
    }

    fn recall(&self, known: &Known<'_>, hash: &str) -> Result<Option<Arc<FinishedStep>>, Halt> {
        match known {
            Known::Finished(step) if step.call.request != hash => {
                let step = step.call.step.clone();
                let _ = self.table.drifted.set(step.clone());
                Err(Halt::Drift { step })
            }
            Known::Finished(step) => Ok(Some(Arc::clone(step))),
            Known::Failed(step) => {
                self.mark_missing(&step.call.step, &step.reason);
                Ok(None)
            }
        }
    }

    /// Journals an earlier reply to the same request again, at its place in the debate as it is played now.
    async fn reuse(
        &self,
        notes: Vec<Event>,
        step: FinishedStep,
    ) -> Result<Option<Arc<FinishedStep>>, Halt> {
        self.table.flush().await?;
        for note in notes {
            self.table.record(note).await?;
        }
        self.finish(step).await
    }

    async fn finish(&self, step: FinishedStep) -> Result<Option<Arc<FinishedStep>>, Halt> {
        let step = Arc::new(step);
        self.record(Event::StepFinished(Arc::clone(&step))).await?;
        Ok(Some(step))
    }

    fn mark_missing(&self, step: &str, reason: &str) {
        lock(&self.table.stats).missing.insert(
            step.to_owned(),
            Missing {
                step: step.to_owned(),
                seat: self.seat.clone(),
                reason: reason.to_owned(),
            },
        );
    }

    async fn conclude(
        &self,
        call: Call,
        outcome: Result<Judged, Failure>,
        origin: Origin,
        announced: &str,
    ) -> Result<Option<Arc<FinishedStep>>, Halt> {
        match outcome {
            Ok(judged) => {
                self.announce_rest(&call.step, &judged.text, announced);
                let mut remarks = judged.remarks;
                remarks.extend(judged.cuts);
                let step = FinishedStep {
                    call,
                    reply: judged.json,
                    text: judged.text,
                    remarks,
                    withheld: judged.withheld,
                    instead_of: origin.instead_of,
                    rescued_by: origin.rescued_by,
                    reused: false,
                    notices: origin.notices,
                };
                self.finish(step).await
            }
            Err(failure) => {
                self.mark_missing(&call.step, &failure.reason);
                let failed = FailedStep {
                    call,
                    reason: failure.reason,
                    said: failure.said,
                };
                self.record(Event::StepFailed(Arc::new(failed))).await?;
                Ok(None)
            }
        }
    }

    async fn record(&self, event: Event) -> Result<(), JournalError> {
        if self.is_last {
            self.table.record_final(event);
            return Ok(());
        }
        self.table.record_async(event).await
    }

    /// Sends what has not been streamed yet: the concatenated chunks of a turn are its text.
    fn announce_rest(&self, step: &str, text: &str, announced: &str) {
        let rest = text.strip_prefix(announced).unwrap_or_else(|| {
            self.table.announce(Event::StepRestarted {
                step: step.to_owned(),
                reason: "the text was revised".into(),
            });
            text
        });
        if !rest.is_empty() {
            self.announce_chunk(step, text.len() - rest.len(), rest.to_owned());
        }
    }

    pub(super) fn announce_chunk(&self, step: &str, offset: usize, text: String) {
        self.table.announce(Event::Chunk {
            step: step.to_owned(),
            seat: self.seat.clone(),
            round: self.round,
            offset,
            text,
        });
    }
}

/// Which other models a reply comes from.
struct Origin {
    instead_of: Option<InsteadOf>,
    rescued_by: Option<String>,
    notices: Vec<String>,
}

/// Completes when the debate's time limit is reached.
pub(super) async fn deadline(table: &Table) -> Exhausted {
    match table.deadline {
        Some(end) => {
            let left = end.saturating_sub(table.deps.clock.now());
            tokio::time::sleep(Duration::from_millis(left)).await;
        }
        None => std::future::pending().await,
    }
    table.budget_tracker.time_exhausted()
}

/// `qwen3:32b` of `ollama:qwen3:32b`.
pub(super) fn model_part(name: &str) -> &str {
    name.split_once(':').map_or(name, |(_, model)| model)
}

/// Each step derives its own seed from the debate's, so that adding a step does not change the others.
pub(super) fn seed_for(seed: u64, step: &str) -> u64 {
    let digest = Sha256::digest(format!("{seed}/{step}"));
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&digest[..8]);
    // Some servers read the seed as a signed 32-bit number.
    u64::from_be_bytes(bytes) >> 33
}
