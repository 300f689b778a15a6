//! The contract's `DebateResult`, folded from the journal: at the end what was journaled as the result, before it what there
//! is so far.

use std::collections::BTreeMap;

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
use super::verdict::{Circumstances, Ending, Verdict};
use crate::event::{End, Entry, Event, Millis, Setup, State};
use crate::fallbacks::{StandIn, fallbacks};
use crate::table::{Missing, busy_ms};
use crate::totals::Totals;

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DebateResult {
    pub debate_id: String,
    pub task_id: String,
    /// ISO 8601; `None` while it runs.
    pub completed_at: Option<String>,
    pub debate_log: DebateLog,
    pub consensus_score: Option<f64>,
    pub disagreement_map: Vec<Disagreement>,
    pub probability_distribution: Vec<OutcomeForecast>,
    pub key_insights: Vec<KeyInsight>,
    pub historical_precedents: Vec<Precedent>,
    pub metadata: Metadata,
    /// Everything that is not of the contract.
    pub roundtable: Ours,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Ours {
    pub protocol: String,
    pub question: String,
    pub opened_at: String,
    pub state: State,
    pub reason: Option<String>,
    pub models: BTreeMap<String, String>,
    /// Steps that another model answered than the one that was asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answered_instead: Vec<StandIn>,
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

/// A debate as far as its journal goes.
pub(super) struct Folded {
    pub(super) setup: Setup,
    pub(super) rules: Rules,
    pub(super) verdict: Verdict,
    pub(super) state: State,
    reason: Option<String>,
    ended_at: Option<Millis>,
    user_rating: Option<u8>,
}

impl Folded {
    /// `None` for a journal without its first entry, or of another protocol.
    pub(super) fn of(entries: &[Entry]) -> Option<Self> {
        let setup = entries
            .iter()
            .find_map(|entry| entry.event.setup())?
            .clone();
        let rules = Rules::deserialize(&setup.rules).ok()?;
        let mut debate = Debate::new(&rules, &setup.seats);
        let mut missing: BTreeMap<String, Missing> = BTreeMap::new();
        let mut steps = 0;
        let ended = last_end(entries).and_then(|end| end.result.as_ref());
        let ended = ended.and_then(|result| Verdict::deserialize(result).ok());
        let (mut state, mut reason, mut ended_at) = (State::Running, None, None);
        let mut user_rating = None;
        for entry in entries {
            match &entry.event {
                Event::StepFinished(step) => {
                    steps += 1;
                    missing.remove(&step.call.step);
                    if ended.is_none() {
                        debate.take_up(step);
                    }
                }
                Event::StepFailed(step) => {
                    steps += 1;
                    let absent = Missing {
                        step: step.call.step.clone(),
                        seat: step.call.seat.clone(),
                        reason: step.reason.clone(),
                    };
                    missing.insert(step.call.step.clone(), absent);
                }
                Event::Ended(end) => {
                    (state, reason, ended_at) = (end.state, end.reason.clone(), Some(entry.at));
                }
                Event::Reopened { .. } => {
                    (state, reason, ended_at) = (State::Running, None, None);
                }
                Event::Rated { rating, .. } => user_rating = Some(*rating),
                Event::Opened(_)
                | Event::RoundStarted { .. }
                | Event::Noted { .. }
                | Event::StepStarted { .. }
                | Event::Chunk { .. }
                | Event::StepRestarted { .. }
                | Event::Resolved { .. }
                | Event::Tracked { .. }
                | Event::Assessed { .. }
                | Event::Said(_)
                | Event::Asked(_)
                | Event::Decided(_) => {}
            }
        }
        let verdict = ended.unwrap_or_else(|| {
            let circumstances = Circumstances {
                ending: Ending::Running,
                missing: missing.into_values().collect(),
                asked: steps,
                spent: Totals::of(entries).debate,
            };
            Verdict::of(&debate, circumstances)
        });
        Some(Self {
            setup,
            rules,
            verdict,
            state,
            reason,
            ended_at,
            user_rating,
        })
    }
}

/// How the debate has ended, unless it was opened again since.
fn last_end(entries: &[Entry]) -> Option<&End> {
    let is_turn = |entry: &&Entry| matches!(entry.event, Event::Ended(_) | Event::Reopened { .. });
    if let Event::Ended(end) = &entries.iter().rfind(is_turn)?.event {
        Some(end)
    } else {
        None
    }
}

impl DebateResult {
    /// `None` for a journal without its first entry. `timestamp` is when the debate was opened, RFC 3339.
    pub fn of(id: &str, timestamp: String, entries: &[Entry]) -> Option<Self> {
        let folded = Folded::of(entries)?;
        let totals = Totals::of(entries);
        let usage = totals.debate.usage;
        let last = entries.last().map_or(0, |entry| entry.at);
        let models: BTreeMap<String, String> = folded
            .setup
            .seats
            .iter()
            .map(|it| (it.seat.name.clone(), it.model.clone()))
            .collect();
        let answered_instead = fallbacks(entries);
        let rounds = &folded.verdict.debate_log.rounds;
        Some(Self {
            debate_id: id.to_owned(),
            task_id: folded.rules.request.task_id.clone(),
            completed_at: folded.ended_at.map(stamp),
            metadata: Metadata {
                total_arguments: rounds.iter().map(|it| it.arguments.len()).sum(),
                sonnet_tokens_used: TokensUsed {
                    input: usage.input,
                    output: usage.output,
                },
                sonnet_calls: totals.debate.calls,
                wall_clock_time_ms: busy_ms(entries),
                model: model_names(&models, &answered_instead),
            },
            debate_log: folded.verdict.debate_log,
            consensus_score: folded.verdict.consensus_score,
            disagreement_map: folded.verdict.disagreement_map,
            probability_distribution: folded.verdict.probability_distribution,
            key_insights: folded.verdict.key_insights,
            historical_precedents: folded.verdict.historical_precedents,
            roundtable: Ours {
                protocol: folded.setup.protocol,
                question: folded.setup.question,
                opened_at: timestamp,
                state: folded.state,
                reason: folded.reason,
                models,
                answered_instead,
                extras: folded.verdict.roundtable,
                resolution: resolution_of(entries),
                scores: scored(id, entries, last),
                user_rating: folded.user_rating,
                totals,
                seed: folded.setup.seed,
                program: folded.setup.program,
            },
        })
    }
}

/// Each model once, in the order of the names of its seats, and those that stood in after them.
fn model_names(models: &BTreeMap<String, String>, others: &[StandIn]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for model in models.values().chain(others.iter().map(|it| &it.model)) {
        if !names.contains(&model.as_str()) {
            names.push(model);
        }
    }
    names.join(", ")
}

/// RFC 3339 in UTC.
pub(super) fn stamp(at: Millis) -> String {
    let at = i64::try_from(at).unwrap_or(i64::MAX);
    jiff::Timestamp::from_millisecond(at)
        .map(|at| format!("{at:.3}"))
        .unwrap_or_default()
}
