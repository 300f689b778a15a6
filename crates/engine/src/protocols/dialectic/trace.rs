//! The trace of a debate: the fields and timings of the design (P-07), then our own, folded from the journal.

use std::collections::BTreeMap;

use roundtable_core::bounded::OutOfTen;
use roundtable_core::timing::busy;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::RETRIEVAL;
use super::debate::{Debate, Exchange};
use super::verdict::{AutoScore, Verdict};
use crate::event::{Entry, Event, State};
use crate::fallbacks::StandIn;
use crate::journal::current;
use crate::protocols::record_header::RecordHeader;
use crate::reasoning::Retrieval;
use crate::table::span_of;
use crate::totals::Totals;

const JUDGE: &str = "judge";

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "A debate between proposer and skeptic")]
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
    /// `provider:model` by seat, and the embedder. The judge only if it was asked.
    pub models: BTreeMap<String, Option<String>>,
    pub timing: Timing,
    // The remaining fields are not part of the design.
    pub protocol: String,
    pub state: State,
    pub reason: Option<String>,
    pub seed: u64,
    pub auto_score_details: Option<AutoScore>,
    pub user_comment: Option<String>,
    pub result: Option<Verdict>,
    pub totals: Totals,
    /// Steps that a fallback model answered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answered_instead: Vec<StandIn>,
    /// Replacements and omissions, such as a schema that the server does not accept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
    pub program: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Timing {
    pub total_ms: u64,
    pub rag_ms: u64,
    pub rounds_ms: Vec<u64>,
    pub synthesis_ms: u64,
}

impl Trace {
    /// `None` for a journal without its first entry. `timestamp` (RFC 3339) is the opening time.
    pub fn of(id: &str, timestamp: String, entries: &[Entry]) -> Option<Self> {
        let entries = &*current(entries);
        let header = RecordHeader::of(id, timestamp, entries)?;
        let (setup, status) = (header.setup, header.status);
        let verdict: Option<Verdict> = status.verdict();
        let debate = Debate::replay(entries);
        let mut models: BTreeMap<String, Option<String>> = header
            .models
            .into_iter()
            .filter(|(seat, _)| seat != JUDGE || was_asked(entries, seat))
            .map(|(seat, model)| (seat, Some(model)))
            .collect();
        models.insert("embedding".into(), setup.embedder.clone());
        let auto_score = verdict
            .as_ref()
            .and_then(|verdict| verdict.auto_score.clone());
        Some(Self {
            id: header.id,
            timestamp: header.timestamp,
            query: setup.question.clone(),
            templates_used: templates_used(entries),
            final_answer: verdict
                .as_ref()
                .and_then(|verdict| verdict.final_answer.clone()),
            total_rounds: verdict
                .as_ref()
                .map_or_else(|| debate.rounds(), |verdict| verdict.total_rounds),
            early_stopped: verdict
                .as_ref()
                .is_some_and(|verdict| verdict.early_stopped),
            quality_score: verdict.as_ref().and_then(|verdict| verdict.quality_score),
            user_rating: status.user_rating,
            auto_score: auto_score.as_ref().map(|auto| auto.score.value()),
            models,
            timing: Timing::of(entries, debate.exchanges()),
            rounds: debate.exchanges().to_vec(),
            protocol: setup.protocol.clone(),
            state: status.state,
            reason: status.reason(),
            seed: setup.seed,
            auto_score_details: auto_score,
            user_comment: status.user_comment,
            result: verdict,
            totals: header.totals,
            answered_instead: header.answered_instead,
            notices: header.notices,
            program: setup.program.clone(),
        })
    }
}

fn was_asked(entries: &[Entry], seat: &str) -> bool {
    entries.iter().any(|entry| {
        let finished = entry.event.finished().map(|step| &step.call);
        let failed = entry.event.failed().map(|step| &step.call);
        finished.or(failed).is_some_and(|call| call.seat == seat)
    })
}

/// The published schema of the trace.
pub(super) fn schema() -> Value {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<Trace>()
        .to_value()
}

/// The ids of the retrieved reasoning templates.
fn templates_used(entries: &[Entry]) -> Vec<String> {
    let retrieval = entries.iter().find_map(|entry| {
        if let Event::Noted { key, value, .. } = &entry.event
            && key == RETRIEVAL
        {
            Retrieval::deserialize(value).ok()
        } else {
            None
        }
    });
    let hits = retrieval.map_or_else(Vec::new, |retrieval| retrieval.hits);
    hits.into_iter().map(|hit| hit.id).collect()
}

impl Timing {
    fn of(entries: &[Entry], rounds: &[Exchange]) -> Self {
        let within = |prefix: &str| {
            busy(entries.iter().filter_map(|entry| {
                let key = entry.event.key(0)?;
                key.starts_with(prefix).then(|| span_of(entry)).flatten()
            }))
        };
        Self {
            total_ms: within(""),
            rag_ms: within("r0/"),
            rounds_ms: rounds
                .iter()
                .map(|exchange| within(&format!("r{}/", exchange.round)))
                .collect(),
            synthesis_ms: within("synthesis/"),
        }
    }
}
