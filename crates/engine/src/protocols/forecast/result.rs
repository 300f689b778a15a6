//! The contract's `DebateResult`, folded from the journal: the journaled result of an ended debate, the result so far of a
//! running one.

use std::collections::BTreeMap;

use roundtable_core::distinct::distinct;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::contract::{
    DebateLog, Disagreement, KeyInsight, Metadata, OutcomeForecast, Precedent, TokensUsed,
};
use super::debate::Debate;
use super::extras::Extras;
use super::resolution::{Resolution, Scored, resolution_of, scored};
use super::rules::Rules;
use super::verdict::{Ending, RunInfo, Verdict};
use crate::event::{Entry, Millis, Setup, State};
use crate::fallbacks::StandIn;
use crate::journal::current;
use crate::protocols::record_header::{DebateStatus, RecordHeader};
use crate::table::{Missing, busy_ms};
use crate::totals::Totals;

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DebateResult {
    pub debate_id: String,
    pub task_id: String,
    /// ISO 8601; `null` while the debate runs.
    pub completed_at: Option<String>,
    pub debate_log: DebateLog,
    pub consensus_score: Option<f64>,
    pub disagreement_map: Vec<Disagreement>,
    pub probability_distribution: Vec<OutcomeForecast>,
    pub key_insights: Vec<KeyInsight>,
    pub historical_precedents: Vec<Precedent>,
    pub metadata: Metadata,
    /// Everything that is not part of the contract.
    pub roundtable: Additions,
}

/// Our additions to the contract's result.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Ours")]
pub struct Additions {
    pub protocol: String,
    pub question: String,
    pub opened_at: String,
    pub state: State,
    pub reason: Option<String>,
    pub models: BTreeMap<String, String>,
    /// Steps that a fallback model answered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answered_instead: Vec<StandIn>,
    /// Replacements and omissions, such as a schema that the server does not accept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
    #[serde(flatten)]
    pub extras: Extras,
    pub resolution: Option<Resolution>,
    pub scores: Option<Scored>,
    pub user_rating: Option<u8>,
    pub totals: Totals,
    pub seed: u64,
    pub program: String,
}

/// The published schema of the result.
pub fn schema() -> Value {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<DebateResult>()
        .to_value()
}

/// A forecast up to the last entry of its journal.
pub(super) struct ForecastSnapshot<'j> {
    pub(super) setup: &'j Setup,
    pub(super) rules: Rules,
    pub(super) verdict: Verdict,
    pub(super) state: State,
}

impl<'j> ForecastSnapshot<'j> {
    /// `None` for a journal without its first entry, or of another protocol.
    pub(super) fn of(entries: &'j [Entry]) -> Option<Self> {
        let setup = entries.iter().find_map(|entry| entry.event.setup())?;
        let rules = Rules::deserialize(&setup.rules).ok()?;
        let status = DebateStatus::of(entries);
        let verdict = status
            .verdict()
            .unwrap_or_else(|| verdict_so_far(&rules, setup, entries, ending_of(status.state)));
        Some(Self {
            setup,
            rules,
            verdict,
            state: status.state,
        })
    }
}

/// How a debate without a verdict ended.
fn ending_of(state: State) -> Ending {
    match state {
        State::Queued | State::Running | State::Waiting => Ending::Running,
        State::Cancelled | State::Interrupted => Ending::Cancelled,
        State::Failed | State::Complete | State::Partial => Ending::Failed,
    }
}

/// The verdict of a debate that still runs, or stopped without one.
fn verdict_so_far(rules: &Rules, setup: &Setup, entries: &[Entry], ending: Ending) -> Verdict {
    let mut debate = Debate::new(rules, &setup.seats);
    let mut missing: BTreeMap<String, Missing> = BTreeMap::new();
    let mut asked = 0;
    for entry in entries {
        if let Some(step) = entry.event.finished() {
            asked += 1;
            missing.remove(&step.call.step);
            debate.apply(step);
        } else if let Some(step) = entry.event.failed() {
            asked += 1;
            let failed = Missing {
                step: step.call.step.clone(),
                seat: step.call.seat.clone(),
                reason: step.reason.clone(),
            };
            missing.insert(step.call.step.clone(), failed);
        }
    }
    let run = RunInfo {
        ending,
        missing: missing.into_values().collect(),
        asked,
        spent: Totals::of(entries).debate,
    };
    Verdict::of(&debate, run)
}

impl DebateResult {
    /// `None` for a journal without its first entry. `timestamp` (RFC 3339) is the opening time.
    pub fn of(id: &str, timestamp: String, entries: &[Entry]) -> Option<Self> {
        let entries = &*current(entries);
        let header = RecordHeader::of(id, timestamp, entries)?;
        let ForecastSnapshot { rules, verdict, .. } = ForecastSnapshot::of(entries)?;
        let (setup, status, totals) = (header.setup, header.status, header.totals);
        let usage = totals.debate.usage;
        let last = entries.last().map_or(0, |entry| entry.at);
        let rounds = verdict.debate_log.rounds.iter();
        Some(Self {
            debate_id: header.id,
            task_id: rules.request.task_id,
            completed_at: status.ended_at.map(stamp),
            metadata: Metadata {
                total_arguments: rounds.map(|round| round.arguments.len()).sum(),
                sonnet_tokens_used: TokensUsed {
                    input: usage.input,
                    output: usage.output,
                },
                sonnet_calls: totals.debate.calls,
                wall_clock_time_ms: busy_ms(entries),
                model: model_names(&header.models, &header.answered_instead),
            },
            debate_log: verdict.debate_log,
            consensus_score: verdict.consensus_score,
            disagreement_map: verdict.disagreement_map,
            probability_distribution: verdict.probability_distribution,
            key_insights: verdict.key_insights,
            historical_precedents: verdict.historical_precedents,
            roundtable: Additions {
                protocol: setup.protocol.clone(),
                question: setup.question.clone(),
                opened_at: header.timestamp,
                state: status.state,
                reason: status.reason(),
                models: header.models,
                answered_instead: header.answered_instead,
                notices: header.notices,
                extras: verdict.roundtable,
                resolution: resolution_of(entries),
                scores: scored(id, entries, last),
                user_rating: status.user_rating,
                totals,
                seed: setup.seed,
                program: setup.program.clone(),
            },
        })
    }
}

/// Each model once: those of the seats in the order of the seats' names, then the fallbacks.
fn model_names(models: &BTreeMap<String, String>, others: &[StandIn]) -> String {
    let others = others.iter().map(|other| &other.model);
    let names = models.values().chain(others).map(String::as_str);
    distinct(names).join(", ")
}

/// RFC 3339 in UTC.
pub(super) fn stamp(at: Millis) -> String {
    let at = i64::try_from(at).unwrap_or(i64::MAX);
    jiff::Timestamp::from_millisecond(at)
        .map(|at| format!("{at:.3}"))
        .unwrap_or_default()
}
