//! One step: a question to a seat, from the rendered prompt to the journaled reply.

use std::sync::Arc;
use std::time::Duration;

use minijinja::value::{Serde, merge_maps};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::calls::{self, Failure, Judged, Work};
use super::replay::Known;
use super::{Exhausted, Halt, Missing, Table, fingerprint, lock};
use crate::event::{Call, Event, FailedStep, FinishedStep, InsteadOf, Seated, Spent, Words};
use crate::journal::JournalError;
use crate::model::{Ability, Image, Message, Request, Speaker};
use crate::reply::{Refinement, Reply, schema_for};
use crate::safety::{Withheld, withhold_text};
use crate::tokens;
use crate::tools::Toolbox;

/// A reply that fits, and how people read it.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn<T> {
    pub reply: T,
    pub text: String,
    /// Rules it broke even after it was sent back once.
    pub remarks: Vec<String>,
    /// What the safety monitor took out of it.
    pub withheld: Vec<Withheld>,
    pub spent: Spent,
}

type Check<'t, T> = Box<dyn Fn(&T) -> Vec<String> + Send + Sync + 't>;
type Render<'t, T> = Box<dyn Fn(&T) -> String + Send + Sync + 't>;

/// A question to a seat, being put together. `send` asks it.
#[must_use = "nothing is asked until it is sent"]
pub struct Ask<'t, T> {
    pub(super) table: &'t Table,
    seat: String,
    verb: String,
    phase: Option<&'static str>,
    round: u32,
    prompt: String,
    context: minijinja::Value,
    refinement: Refinement,
    images: Vec<Image>,
    is_last: bool,
    pub(super) toolbox: Option<Toolbox>,
    pub(super) check: Check<'t, T>,
    pub(super) demand: Check<'t, T>,
    pub(super) render: Render<'t, T>,
}

impl<'t, T: Reply> Ask<'t, T> {
    pub(super) fn new(table: &'t Table, seat: &str, verb: &str) -> Self {
        Self {
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
            check: Box::new(|_| Vec::new()),
            demand: Box::new(|_| Vec::new()),
            render: Box::new(T::text),
        }
    }

    pub fn in_round(mut self, round: u32) -> Self {
        self.round = round;
        self
    }

    /// A step outside the rounds, after `round`: its name begins with the phase instead.
    pub fn in_phase(mut self, phase: &'static str, round: u32) -> Self {
        self.phase = Some(phase);
        self.in_round(round)
    }

    /// The debate ends with this step: it is written together with the end, which follows at once.
    pub fn last(mut self) -> Self {
        self.is_last = true;
        self
    }

    /// The template to render; `seat` and `small` are added to its context, and `person` (what a person said) as nobody
    /// where it is not given.
    pub fn prompt(mut self, name: &str, context: impl Serialize) -> Self {
        name.clone_into(&mut self.prompt);
        self.context = minijinja::Value::from(Serde(context));
        self
    }

    /// In this reply, properties of that name can only take these values.
    pub fn choices(mut self, property: &'static str, values: Vec<String>) -> Self {
        self.refinement.choices.push((property, values));
        self
    }

    /// In this reply, properties of that name are objects with exactly these keys.
    pub fn keys(mut self, property: &'static str, keys: Vec<String>) -> Self {
        self.refinement.keys.push((property, keys));
        self
    }

    /// This call does not ask for that property; its type has a default.
    pub fn without(mut self, property: &'static str) -> Self {
        self.refinement.omitted.push(property);
        self
    }

    /// What makes a reply unusable beyond the schema. It is sent back once; if it stays so, the step has failed.
    pub fn demand(mut self, rule: impl Fn(&T) -> Vec<String> + Send + Sync + 't) -> Self {
        self.demand = Box::new(rule);
        self
    }

    /// Pictures that belong to what is asked about.
    pub fn images(mut self, images: &[Image]) -> Self {
        self.images = images.to_vec();
        self
    }

    /// The seat may call these tools before it replies (M-15).
    pub fn tools(mut self, toolbox: Option<Toolbox>) -> Self {
        self.toolbox = toolbox;
        self
    }

    /// In this reply, lists of that name have so many items.
    pub fn items(mut self, property: &'static str, count: usize) -> Self {
        self.refinement.items.push((property, count));
        self
    }

    /// Rules beyond the schema. What breaks one is sent back once; if it still does, it is kept and remarked on.
    pub fn check(mut self, rule: impl Fn(&T) -> Vec<String> + Send + Sync + 't) -> Self {
        self.check = Box::new(rule);
        self
    }

    /// How the turn reads, where that takes more than the reply itself. It too begins with the main field.
    pub fn read_as(mut self, render: impl Fn(&T) -> String + Send + Sync + 't) -> Self {
        self.render = Box::new(render);
        self
    }

    fn step(&self) -> String {
        match self.phase {
            Some(phase) => format!("{phase}/{}/{}", self.seat, self.verb),
            None => format!("r{}/{}/{}", self.round, self.seat, self.verb),
        }
    }

    /// `None`: the seat is absent for this step, and the table remembers why.
    pub async fn send(self) -> Result<Option<Turn<T>>, Halt> {
        let table = self.table;
        let (seated, chair) = table.seated(&self.seat)?;
        let request = self.request(seated)?;
        let step = self.step();
        let hash = fingerprint::of(&seated.model, &request);
        lock(&table.asked).count += 1;
        if let Some(known) = table.replay.step(&step) {
            return self.recall(&known, &hash);
        }
        let expected = request.texts().map(tokens::estimate).sum();
        table.flush().await?;
        let reservation = table.budget_tracker.admit(expected, chair.price.as_ref())?;
        let in_flight = table.write_queue.in_flight();
        table.announce(Event::StepStarted {
            step: step.clone(),
            seat: self.seat.clone(),
            round: self.round,
            model: seated.model.clone(),
        });
        let started_at = table.deps.clock.now();
        let sent = request.schema.clone().unwrap_or_default();
        let mut work = Work {
            ask: &self,
            chair,
            step: &step,
            hash: &hash,
            sent: &sent.json,
            tally: Spent::default(),
            instead: None,
            main: String::new(),
            announced: String::new(),
        };
        let outcome = work.run(request).await?;
        let (mut spent, announced, instead) = (work.tally, work.announced, work.instead);
        spent.latency_ms = table.deps.clock.now().saturating_sub(started_at);
        spent.cost = calls::cost(&spent, chair.price.as_ref(), instead.as_ref());
        table.budget_tracker.settle(reservation, &spent);
        let call = Call {
            step,
            seat: self.seat.clone(),
            round: self.round,
            model: instead
                .as_ref()
                .map_or_else(|| seated.model.clone(), |instead| instead.who.model.clone()),
            request: hash,
            started_at,
            spent,
        };
        lock(&table.asked).sum.add(&call);
        let instead_of = instead.map(|instead| InsteadOf {
            model: seated.model.clone(),
            because: withhold_text(&instead.who.because),
        });
        drop(in_flight);
        self.conclude(call, outcome, instead_of, &announced).await
    }

    fn request(&self, seated: &Seated) -> Result<Request, Halt> {
        let nobody = Vec::<Words>::new();
        // The later stand before the earlier.
        let context = merge_maps([
            minijinja::context! { person => Serde(nobody) },
            self.context.clone(),
            minijinja::context! { seat => Serde(&seated.seat), small => seated.ability == Ability::Small },
        ]);
        let prompt = self.table.deps.prompts.render(&self.prompt, &context)?;
        let message = |text: String, shared| Message {
            speaker: Speaker::User,
            text,
            shared,
            tools: Vec::new(),
        };
        Ok(Request {
            model: model_part(&seated.model).to_owned(),
            system: prompt.system,
            messages: [message(prompt.shared, true), message(prompt.own, false)]
                .into_iter()
                .filter(|message| !message.text.is_empty())
                .collect(),
            images: self.images.clone(),
            schema: Some(schema_for::<T>(&self.refinement, seated.ability)),
            tools: self.toolbox.as_ref().map(Toolbox::offered),
            temperature: seated.seat.temperature,
            max_output_tokens: seated.seat.max_output_tokens,
            seed: seed_for(self.table.setup.seed, &self.step()),
        })
    }

    fn recall(&self, known: &Known<'_>, hash: &str) -> Result<Option<Turn<T>>, Halt> {
        match known {
            Known::Finished(step) if step.call.request != hash => Err(Halt::Drift {
                step: step.call.step.clone(),
            }),
            Known::Finished(step) => {
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
            Known::Failed(step) => {
                self.miss(&step.call.step, &step.reason);
                Ok(None)
            }
        }
    }

    fn miss(&self, step: &str, reason: &str) {
        lock(&self.table.asked).missing.insert(
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
        outcome: Result<Judged<T>, Failure>,
        instead_of: Option<InsteadOf>,
        announced: &str,
    ) -> Result<Option<Turn<T>>, Halt> {
        match outcome {
            Ok(Judged { mut turn, written }) => {
                turn.spent = call.spent;
                self.announce_rest(&call.step, &turn.text, announced);
                let finished = FinishedStep {
                    call,
                    reply: written,
                    text: turn.text.clone(),
                    remarks: turn.remarks.clone(),
                    withheld: turn.withheld.clone(),
                    instead_of,
                };
                self.record(Event::StepFinished(Arc::new(finished))).await?;
                Ok(Some(turn))
            }
            Err(failure) => {
                self.miss(&call.step, &failure.reason);
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

    /// The chunks of a turn put together are its text: what has not been streamed follows now.
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

/// Until the debate's time is up.
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
fn model_part(name: &str) -> &str {
    name.split_once(':').map_or(name, |(_, model)| model)
}

/// Each step draws its own randomness from the debate's seed, so that adding a step changes no other.
fn seed_for(seed: u64, step: &str) -> u64 {
    let digest = Sha256::digest(format!("{seed}/{step}"));
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&digest[..8]);
    // Some servers read the seed as a signed 32-bit number.
    u64::from_be_bytes(bytes) >> 33
}
