//! Events in the form that programs outside read: the design's envelope and names (P-09), for every protocol.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::event::{Event, Setup};
use crate::protocol::AnyProtocol;
use crate::protocols;
use crate::tokens;

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
    /// The turn it belongs to, beyond the design: seats may speak side by side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
}

impl Envelope {
    fn of_step(mut self, step: &str) -> Self {
        self.metadata.step = Some(step.to_owned());
        self
    }
}

/// Puts events into envelopes, in their order. It holds only what the envelope repeats: the round, the models, the tokens.
#[derive(Debug, Default)]
pub struct Envelopes {
    models: HashMap<String, String>,
    /// The phase whose events carry its own name.
    named_phase: Option<&'static str>,
    round: u32,
    settled: u64,
    /// Estimated tokens of the turns that are being written.
    coming_in: HashMap<String, u64>,
}

impl Envelopes {
    pub fn new(setup: &Setup) -> Self {
        let mut envelopes = Self::default();
        envelopes.seat(setup);
        envelopes
    }

    fn seat(&mut self, setup: &Setup) {
        let seats = setup.seats.iter();
        let models = seats.map(|seated| (seated.seat.name.clone(), seated.model.clone()));
        self.models = models.collect();
        self.named_phase = protocols::named(&setup.protocol)
            .filter(|protocol| protocol.phase_names_events())
            .map(AnyProtocol::answer_phase);
    }

    /// `None` for what readers outside are not told.
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
                Some(envelope.of_step(step))
            }
            Event::Chunk {
                step,
                seat,
                round,
                text,
                ..
            } => {
                *self.coming_in.entry(step.clone()).or_default() += tokens::estimate(text);
                let name = format!("{}_chunk", self.subject(step, seat));
                let envelope = self.envelope(name, *round, text.clone(), Some(seat));
                Some(envelope.of_step(step))
            }
            Event::StepRestarted { step, reason } => {
                self.coming_in.remove(step);
                let seat = step.split('/').nth(1).unwrap_or_default();
                let name = format!("{}_restart", self.subject(step, seat));
                let envelope = self.envelope(name, self.round, reason.clone(), Some(seat));
                Some(envelope.of_step(step))
            }
            Event::StepFinished(step) => {
                self.settle(&step.call.step, step.call.spent.usage.total());
                let seat = &step.call.seat;
                let name = format!("{}_end", self.subject(&step.call.step, seat));
                let envelope = self.envelope(name, step.call.round, String::new(), Some(seat));
                Some(envelope.of_step(&step.call.step))
            }
            Event::StepFailed(step) => {
                self.settle(&step.call.step, step.call.spent.usage.total());
                let seat = &step.call.seat;
                let name = format!("{}_absent", self.subject(&step.call.step, seat));
                let envelope =
                    self.envelope(name, step.call.round, step.reason.clone(), Some(seat));
                Some(envelope.of_step(&step.call.step))
            }
            Event::Ended(end) => {
                let answer = end
                    .result
                    .as_ref()
                    .and_then(|result| result["final_answer"].as_str());
                let content = answer.unwrap_or_default().to_owned();
                Some(self.envelope("complete".into(), self.round, content, None))
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
                self.seat(setup);
                None
            }
            Event::Noted { .. }
            | Event::Rated { .. }
            | Event::Resolved { .. }
            | Event::Tracked { .. }
            | Event::Assessed { .. } => None,
        }
    }

    /// Events are named after the seat, those of the answer's phase after the phase if the protocol says so.
    fn subject<'a>(&self, step: &str, seat: &'a str) -> &'a str {
        match self.named_phase {
            Some(phase) if step.split('/').next() == Some(phase) => phase,
            Some(_) | None => seat,
        }
    }

    fn settle(&mut self, step: &str, tokens: u64) {
        self.coming_in.remove(step);
        self.settled += tokens;
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
                tokens_so_far: self.settled + self.coming_in.values().sum::<u64>(),
                step: None,
            },
        }
    }
}

#[cfg(test)]
#[path = "envelope_tests.rs"]
mod tests;
