//! The record of a debate for programs: the design's debate state and round summaries, and the result.

use std::collections::BTreeMap;

use roundtable_core::citations::EvidenceKind;
use roundtable_core::sources::Passage;
use roundtable_core::state::{AgentStatus, Blocker, Claim, Decision, Evidence, Touched};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::Serialize;
use serde_json::Value;

use super::debate::{Debate, Round};
use super::resolution::MinorityPosition;
use super::verdict::{Safety, Verdict};
use super::{Modes, enhanced};
use crate::context::RoundSummary;
use crate::event::{Entry, Event, Setup, State};
use crate::fallbacks::StandIn;
use crate::protocol::Protocol;
use crate::protocols::record_header::{DebateStatus, RecordHeader};
use crate::remarks::for_people;
use crate::retrospective::{DebateRecord, FinalConsensus};
use crate::table::busy_ms;
use crate::tools::{Answered, Exchange};
use crate::totals::Totals;
use crate::withheld;

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "A debate in a mode")]
pub struct Record {
    pub id: String,
    pub timestamp: String,
    pub protocol: String,
    pub question: String,
    pub mode: String,
    pub state: State,
    pub reason: Option<String>,
    pub seats: Vec<SeatRecord>,
    pub debate_state: DebateStateRecord,
    /// The user's sources.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SourceRecord>,
    pub rounds: Vec<RoundRecord>,
    pub safety: Safety,
    pub result: Option<Verdict>,
    pub user_input: Vec<String>,
    pub user_rating: Option<u8>,
    /// The design's record of an enhanced debate (E-12).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debate_record: Option<DebateRecord>,
    pub totals: Totals,
    /// Steps answered by a fallback model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answered_instead: Vec<StandIn>,
    /// Replacements and omissions, such as a schema that the server does not accept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
    pub total_ms: u64,
    pub seed: u64,
    pub program: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SeatRecord {
    pub name: String,
    pub model: String,
    pub anchor: Option<String>,
    pub team: Option<String>,
    pub stance: Option<String>,
}

/// A source at the time of opening, with the passages that were cited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SourceRecord {
    pub name: String,
    pub sha256: String,
    pub cited: Vec<Passage>,
}

/// The design's `debateState`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DebateStateRecord {
    pub topic: String,
    pub round: u32,
    pub participants: Vec<String>,
    pub claims: Vec<Claim>,
    pub evidence: Vec<Evidence>,
    pub decisions: Vec<Decision>,
    pub blockers: Vec<Blocker>,
    pub agent_status: Vec<AgentStatus>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RoundRecord {
    pub round: u32,
    pub kind: &'static str,
    /// The question that the user set for the round (M-14).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub focus: Option<String>,
    pub summary: Option<RoundSummary>,
    pub agent_responses: Vec<ResponseRecord>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ResponseRecord {
    pub agent: String,
    /// `None` if the safety evaluator hid the turn.
    pub reply: Option<Value>,
    pub claims_touched: Touched,
    pub citations_used: Vec<String>,
    /// Calls of tools with their results.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<Answered>,
    pub remarks: Vec<String>,
    pub sent_back: bool,
}

pub fn record(id: &str, timestamp: String, entries: &[Entry]) -> Option<Record> {
    let header = RecordHeader::of(id, timestamp, entries)?;
    let setup = header.setup;
    let debate = Debate::from_journal(entries)?;
    let summary = JournalSummary::of(entries);
    let tool_calls = tool_calls(entries);
    Some(Record {
        id: header.id,
        timestamp: header.timestamp,
        protocol: setup.protocol.clone(),
        question: setup.question.clone(),
        mode: debate.rules.mode.name.clone(),
        debate_record: enhanced::record_of(id, entries, &debate, &summary),
        state: summary.state,
        reason: summary.reason,
        seats: seats(setup, &debate),
        debate_state: state_record(&debate),
        sources: source_records(&debate),
        rounds: debate
            .rounds
            .iter()
            .map(|round| round_record(&debate, round, &tool_calls))
            .collect(),
        safety: Safety::of(&debate),
        result: summary.result,
        user_input: summary.user_input,
        user_rating: summary.user_rating,
        totals: header.totals,
        answered_instead: header.answered_instead,
        notices: header.notices,
        total_ms: busy_ms(entries),
        seed: setup.seed,
        program: setup.program.clone(),
    })
}

/// The published schema of the record.
pub(super) fn schema() -> Value {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<Record>()
        .to_value()
}

/// Completes the record of a plain debate with what was decided (E-22). Leaves records of other protocols as they are.
pub(crate) fn apply_resolution(entries: &[Entry], consensus: &mut FinalConsensus) {
    let setup = entries.iter().find_map(|entry| entry.event.setup());
    if setup.is_none_or(|setup| setup.protocol != Modes::NAME) {
        return;
    }
    let Some(verdict) = JournalSummary::of(entries).result else {
        return;
    };
    let Some(resolution) = verdict.resolution else {
        return;
    };
    consensus.rationale = verdict.answer.unwrap_or_default();
    consensus.decision = resolution.decision;
    consensus.human_override = resolution.by_person;
    consensus.dissenting_opinions = resolution
        .dissenters
        .into_iter()
        .map(MinorityPosition::into_dissent)
        .collect();
}

/// The parts of the journal that are not turns: state, result, and what the user said.
pub(crate) struct JournalSummary {
    pub(super) state: State,
    pub(super) reason: Option<String>,
    pub(super) result: Option<Verdict>,
    user_input: Vec<String>,
    user_rating: Option<u8>,
}

impl JournalSummary {
    pub(super) fn of(entries: &[Entry]) -> Self {
        let status = DebateStatus::of(entries);
        let messages = entries.iter().filter_map(|entry| entry.event.said());
        Self {
            state: status.state,
            reason: status.reason(),
            result: status.verdict(),
            user_input: messages.map(|words| words.text.clone()).collect(),
            user_rating: status.user_rating,
        }
    }
}

fn seats(setup: &Setup, debate: &Debate) -> Vec<SeatRecord> {
    let seats = setup.seats.iter().map(|seated| {
        let panelist = debate.panel.seat(&seated.seat.name);
        SeatRecord {
            name: seated.seat.name.clone(),
            model: seated.model.clone(),
            anchor: panelist.map(|seat| seat.anchor.name().to_owned()),
            team: panelist.and_then(|seat| Some(seat.team?.name().to_owned())),
            stance: panelist.and_then(|seat| Some(seat.stance?.name().to_owned())),
        }
    });
    seats.collect()
}

fn state_record(debate: &Debate) -> DebateStateRecord {
    let state = debate.state.clone();
    DebateStateRecord {
        topic: debate.question.clone(),
        round: debate.rounds.last().map_or(0, |round| round.number),
        participants: state.participants().to_vec(),
        claims: state.claims,
        evidence: state.evidence,
        decisions: state.decisions,
        blockers: state.blockers,
        agent_status: state.agent_status,
    }
}

fn source_records(debate: &Debate) -> Vec<SourceRecord> {
    let is_cited = |passage: &Passage| {
        let mut evidence = debate.state.evidence.iter();
        evidence.any(|e| e.kind == EvidenceKind::ToolOutput && e.title == passage.id)
    };
    let sources = debate.rules.sources.list().iter();
    sources
        .map(|source| SourceRecord {
            name: source.name.clone(),
            sha256: source.sha256.clone(),
            cited: source
                .passages
                .iter()
                .filter(|passage| is_cited(passage))
                .cloned()
                .collect(),
        })
        .collect()
}

/// Calls of tools with their results, by step, without those of withheld turns.
pub(super) fn tool_calls(entries: &[Entry]) -> BTreeMap<String, Vec<Answered>> {
    let withheld = withheld::steps(entries.iter().map(|entry| &entry.event));
    let mut calls: BTreeMap<String, Vec<Answered>> = BTreeMap::new();
    for entry in entries {
        if let Event::Noted { key, value, .. } = &entry.event
            && let Some((step, exchange)) = Exchange::of(key, value)
            && !withheld.contains(step)
        {
            calls
                .entry(step.to_owned())
                .or_default()
                .extend(exchange.calls);
        }
    }
    calls
}

fn round_record(
    debate: &Debate,
    round: &Round,
    tool_calls: &BTreeMap<String, Vec<Answered>>,
) -> RoundRecord {
    let cited: BTreeMap<&str, Vec<String>> = round
        .turns
        .iter()
        .map(|turn| {
            let evidence = debate
                .state
                .evidence
                .iter()
                .filter(|evidence| evidence.cited_by.contains(&turn.seat));
            (
                turn.seat.as_str(),
                evidence.map(|evidence| evidence.id.clone()).collect(),
            )
        })
        .collect();
    let responses = round.turns.iter().map(|turn| ResponseRecord {
        agent: turn.seat.clone(),
        reply: (!turn.is_hidden)
            .then(|| serde_json::to_value(&turn.reply).ok())
            .flatten(),
        claims_touched: round
            .changes
            .touched
            .get(&turn.seat)
            .cloned()
            .unwrap_or_default(),
        citations_used: cited.get(turn.seat.as_str()).cloned().unwrap_or_default(),
        tool_calls: tool_calls
            .get(&format!("r{}/{}/speak", round.number, turn.seat))
            .cloned()
            .unwrap_or_default(),
        remarks: turn
            .shown_remarks()
            .iter()
            .map(|remark| for_people(remark).to_owned())
            .collect(),
        sent_back: turn.spent.was_sent_back(),
    });
    RoundRecord {
        round: round.number,
        kind: round.kind.name(),
        focus: debate.rules.focus.get(&round.number).cloned(),
        summary: round.summary.clone(),
        agent_responses: responses.collect(),
    }
}
