//! The stored trace with the design's fields and timings (P-07), folded from the journal. Ours come after the design's.

use std::collections::BTreeMap;

use roundtable_core::bounded::OutOfTen;
use roundtable_core::timing::busy;
use serde::Serialize;

use super::debate::Exchange;
use super::verdict::{AutoScore, Verdict};
use crate::event::{Entry, Event, Setup, State};
use crate::fallbacks::{StandIn, fallbacks};
use crate::table::span_of;
use crate::totals::Totals;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trace {
    pub id: String,
    pub timestamp: String,
    pub query: String,
    pub templates_used: Vec<String>,
    pub rounds: Vec<Exchange>,
    pub final_answer: Option<String>,
    pub total_rounds: u32,
    pub early_stopped: bool,
    pub quality_score: Option<OutOfTen>,
    pub user_rating: Option<u8>,
    pub auto_score: Option<f64>,
    pub models: BTreeMap<String, Option<String>>,
    pub timing: Timing,
    // What follows goes beyond the design.
    pub protocol: String,
    pub state: State,
    pub reason: Option<String>,
    pub seed: u64,
    pub auto_score_details: Option<AutoScore>,
    pub user_comment: Option<String>,
    pub result: Option<Verdict>,
    pub totals: Totals,
    /// Steps that another model answered than the one that was asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answered_instead: Vec<StandIn>,
    pub program: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Timing {
    pub total_ms: u64,
    pub rag_ms: u64,
    pub rounds_ms: Vec<u64>,
    pub synthesis_ms: u64,
}

impl Trace {
    /// `None` for a journal without its first entry. `timestamp` is when the debate was opened, RFC 3339.
    pub fn of(id: &str, timestamp: String, entries: &[Entry]) -> Option<Self> {
        let setup = entries.iter().find_map(|entry| entry.event.setup())?;
        let mut trace = Self::begun(id, timestamp, setup);
        for entry in entries {
            trace.take_up(&entry.event);
        }
        trace.timing = Timing::of(entries, trace.rounds.len());
        trace.totals = Totals::of(entries);
        trace.answered_instead = fallbacks(entries);
        if let Some(verdict) = &trace.result {
            trace.templates_used = verdict
                .retrieval
                .hits
                .iter()
                .map(|hit| hit.id.clone())
                .collect();
            trace.final_answer.clone_from(&verdict.final_answer);
            trace.total_rounds = verdict.total_rounds;
            trace.early_stopped = verdict.early_stopped;
            trace.quality_score = verdict.quality_score;
            trace.auto_score = verdict.auto_score.as_ref().map(|auto| auto.score.value());
            trace.auto_score_details.clone_from(&verdict.auto_score);
        }
        Some(trace)
    }

    fn begun(id: &str, timestamp: String, setup: &Setup) -> Self {
        let mut models: BTreeMap<String, Option<String>> = setup
            .seats
            .iter()
            .map(|seated| (seated.seat.name.clone(), Some(seated.model.clone())))
            .collect();
        models.insert("embedding".into(), setup.embedder.clone());
        Self {
            id: id.to_owned(),
            timestamp,
            query: setup.question.clone(),
            templates_used: Vec::new(),
            rounds: Vec::new(),
            final_answer: None,
            total_rounds: 0,
            early_stopped: false,
            quality_score: None,
            user_rating: None,
            auto_score: None,
            models,
            timing: Timing::default(),
            protocol: setup.protocol.clone(),
            state: State::Running,
            reason: None,
            seed: setup.seed,
            auto_score_details: None,
            user_comment: None,
            result: None,
            totals: Totals::default(),
            answered_instead: Vec::new(),
            program: setup.program.clone(),
        }
    }

    fn take_up(&mut self, event: &Event) {
        match event {
            Event::RoundStarted { round, .. } => {
                self.total_rounds = *round;
                self.rounds.push(Exchange {
                    round: *round,
                    ..Exchange::default()
                });
            }
            Event::StepFinished(step) => {
                let round = step.call.round;
                let is_in_round = step.call.step.starts_with(&format!("r{round}/"));
                let exchange = self.rounds.iter_mut().find(|it| it.round == round);
                if let Some(exchange) = exchange.filter(|_| is_in_round) {
                    match step.call.seat.as_str() {
                        "proposer" => exchange.proposer = Some(step.text.clone()),
                        "skeptic" => exchange.skeptic = Some(step.text.clone()),
                        _ => {}
                    }
                }
            }
            Event::Noted { key, value, .. } if key == "r0/retrieval" => {
                let hits = value["hits"].as_array().cloned().unwrap_or_default();
                self.templates_used = hits
                    .iter()
                    .filter_map(|hit| hit["id"].as_str().map(str::to_owned))
                    .collect();
            }
            Event::Ended(end) => {
                self.state = end.state;
                self.reason.clone_from(&end.reason);
                let result = end.result.clone();
                self.result = result.and_then(|result| serde_json::from_value(result).ok());
            }
            Event::Reopened { .. } => {
                self.state = State::Running;
                self.reason = None;
                self.result = None;
            }
            Event::Asked(_) => self.state = State::Waiting,
            Event::Decided(_) => self.state = State::Running,
            Event::Rated {
                rating, comment, ..
            } => {
                self.user_rating = Some(*rating);
                self.user_comment.clone_from(comment);
            }
            Event::Opened(_)
            | Event::Noted { .. }
            | Event::StepStarted { .. }
            | Event::Chunk { .. }
            | Event::StepRestarted { .. }
            | Event::StepFailed(_)
            | Event::Resolved { .. }
            | Event::Tracked { .. }
            | Event::Assessed { .. }
            | Event::Said(_) => {}
        }
    }
}

impl Timing {
    fn of(entries: &[Entry], rounds: usize) -> Self {
        let within = |prefix: &str| {
            busy(entries.iter().filter_map(|entry| {
                let key = entry.event.key(0)?;
                key.starts_with(prefix).then(|| span_of(entry)).flatten()
            }))
        };
        Self {
            total_ms: within(""),
            rag_ms: within("r0/"),
            rounds_ms: (1..=rounds)
                .map(|round| within(&format!("r{round}/")))
                .collect(),
            synthesis_ms: within("synthesis/"),
        }
    }
}
