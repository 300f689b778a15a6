//! The public form of events: the envelope and the event names of the design (P-09), for every protocol.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::event::{Event, Setup, State};
use crate::protocol::AnyProtocol;
use crate::protocols;
use crate::remarks::plain_reason;
use crate::tokens;

/// An event as clients receive it, over SSE and as JSON lines. `event` is named after the seat or the phase, such as
/// `skeptic_chunk` or `round_start`; `content` is its text. The field names are part of the API.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Envelope {
    #[serde(rename = "type")]
    #[schemars(extend("const" = "debate_event"))]
    pub kind: &'static str,
    pub event: String,
    pub round: u32,
    pub content: String,
    pub metadata: Metadata,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "EnvelopeMetadata")]
pub struct Metadata {
    pub model: Option<String>,
    pub role: Option<String>,
    pub tokens_so_far: u64,
    /// The step it belongs to, in addition to the design: steps may run in parallel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The model that put the seat's words into the required form, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rescued_by: Option<String>,
    /// With `complete`: how the debate ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// With `complete`: what is missing, if the debate is not complete. With a restart: why, in words for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The debate's id, in the event `debate_start`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debate_id: Option<String>,
}

impl Envelope {
    fn with_step(mut self, step: &str) -> Self {
        self.metadata.step = Some(step.to_owned());
        self
    }
}

/// Wraps events in order. Keeps only the state that envelopes repeat: round, models and token count.
#[derive(Debug, Default)]
pub struct Envelopes {
    models: HashMap<String, String>,
    /// The phase whose events are named after it and not after the seat.
    named_phase: Option<&'static str>,
    round: u32,
    finished_tokens: u64,
    /// Estimated tokens of the steps in flight.
    tokens_in_flight: HashMap<String, u64>,
}

impl Envelopes {
    pub fn new(setup: &Setup) -> Self {
        let mut envelopes = Self::default();
        envelopes.read_setup(setup);
        envelopes
    }

    fn read_setup(&mut self, setup: &Setup) {
        let seats = setup.seats.iter();
        let models = seats.map(|seated| (seated.seat.name.clone(), seated.model.clone()));
        self.models = models.collect();
        self.named_phase = protocols::named(&setup.protocol)
            .filter(|protocol| protocol.phase_names_events())
            .map(AnyProtocol::answer_phase);
    }

    /// The first event of a stream that is not addressed by the debate's id: it names the debate and the question.
    pub fn start(&self, id: &str, question: &str) -> Envelope {
        let mut envelope = self.envelope("debate_start".into(), 0, question.to_owned(), None);
        envelope.metadata.debate_id = Some(id.to_owned());
        envelope
    }

    /// `None` for events that are not public. The match lists every event, so that each new one is decided on here.
    pub fn wrap(&mut self, event: &Event) -> Option<Envelope> {
        match event {
            Event::RoundStarted { round, name } => {
                self.round = *round;
                Some(self.envelope("round_start".into(), *round, name.clone(), None))
            }
            Event::StepStarted {
                step, seat, round, ..
            } => {
                let name = format!("{}_start", self.subject(step, seat));
                let envelope = self.envelope(name, *round, String::new(), Some(seat));
                Some(envelope.with_step(step))
            }
            Event::Chunk {
                step,
                seat,
                round,
                text,
                ..
            } => {
                *self.tokens_in_flight.entry(step.clone()).or_default() += tokens::estimate(text);
                let name = format!("{}_chunk", self.subject(step, seat));
                let envelope = self.envelope(name, *round, text.clone(), Some(seat));
                Some(envelope.with_step(step))
            }
            Event::StepRestarted { step, reason } => {
                self.tokens_in_flight.remove(step);
                let seat = step.split('/').nth(1).unwrap_or_default();
                let name = format!("{}_restart", self.subject(step, seat));
                let mut envelope = self.envelope(name, self.round, reason.clone(), Some(seat));
                envelope.metadata.reason = Some(plain_reason(reason));
                Some(envelope.with_step(step))
            }
            // Clients have it from the first time.
            Event::StepFinished(step) if step.reused => None,
            Event::StepFinished(step) => {
                self.add_tokens(&step.call.step, step.call.spent.usage.total());
                let seat = &step.call.seat;
                let name = format!("{}_end", self.subject(&step.call.step, seat));
                let mut envelope = self.envelope(name, step.call.round, String::new(), Some(seat));
                envelope.metadata.rescued_by.clone_from(&step.rescued_by);
                Some(envelope.with_step(&step.call.step))
            }
            Event::StepFailed(step) => {
                self.add_tokens(&step.call.step, step.call.spent.usage.total());
                let seat = &step.call.seat;
                let name = format!("{}_absent", self.subject(&step.call.step, seat));
                let envelope =
                    self.envelope(name, step.call.round, step.reason.clone(), Some(seat));
                Some(envelope.with_step(&step.call.step))
            }
            Event::Ended(end) => {
                let answer = end
                    .result
                    .as_ref()
                    .and_then(|result| result["final_answer"].as_str());
                let content = answer.unwrap_or_default().to_owned();
                let mut envelope = self.envelope("complete".into(), self.round, content, None);
                envelope.metadata.state = Some(end.state);
                envelope.metadata.reason.clone_from(&end.reason);
                Some(envelope)
            }
            Event::Said(words) => {
                Some(self.envelope("user_input".into(), self.round, words.text.clone(), None))
            }
            Event::Asked(query) => {
                let content = format!("{} ({})", query.question, query.options.join(", "));
                Some(self.envelope("decision_needed".into(), self.round, content, None))
            }
            Event::Decided(decision) => {
                let content = decision.choice.clone();
                Some(self.envelope("decision".into(), self.round, content, None))
            }
            Event::Reopened { .. } => {
                Some(self.envelope("reopened".into(), self.round, String::new(), None))
            }
            Event::Opened(setup) => {
                self.read_setup(setup);
                None
            }
            Event::Noted { .. }
            | Event::Superseded(_)
            | Event::Rated { .. }
            | Event::Resolved { .. }
            | Event::Tracked { .. }
            | Event::Assessed { .. } => None,
        }
    }

    /// The seat, or the answer phase if the protocol names the phase's events after it.
    fn subject<'a>(&self, step: &str, seat: &'a str) -> &'a str {
        match self.named_phase {
            Some(phase) if step.split('/').next() == Some(phase) => phase,
            Some(_) | None => seat,
        }
    }

    fn add_tokens(&mut self, step: &str, tokens: u64) {
        self.tokens_in_flight.remove(step);
        self.finished_tokens += tokens;
    }

    fn envelope(&self, event: String, round: u32, content: String, seat: Option<&str>) -> Envelope {
        Envelope {
            kind: "debate_event",
            event,
            round,
            content,
            metadata: Metadata {
                model: seat.and_then(|seat| self.models.get(seat).cloned()),
                role: seat.map(str::to_owned),
                tokens_so_far: self.finished_tokens + self.tokens_in_flight.values().sum::<u64>(),
                step: None,
                rescued_by: None,
                state: None,
                reason: None,
                debate_id: None,
            },
        }
    }
}

#[cfg(test)]
#[path = "envelope_tests.rs"]
mod tests;
