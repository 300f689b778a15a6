//! The record of a debate that was not enhanced: positions without evidence and confidence.

use roundtable_core::format::truncated;
use roundtable_core::wording::one_line;

use super::follow_up::timestamp_of;
use super::record::{
    AgentPosition, DebateRecord, FinalConsensus, RoundMetrics, RoundRecord, TokenEfficiency,
};
use crate::event::{Entry, State};
use crate::rules::LearningInput;
use crate::transcript::{Round, Transcript};

const MAX_TITLE: usize = 80;

/// `None` before the first entry.
pub fn plain_record(id: &str, entries: &[Entry], answer: Option<String>) -> Option<DebateRecord> {
    let transcript = Transcript::of(id, entries)?;
    let setup = entries.iter().find_map(|entry| entry.event.setup())?;
    let input = LearningInput::of(setup);
    let rounds: Vec<RoundRecord> = transcript.rounds.iter().filter_map(round_record).collect();
    let is_decided = matches!(transcript.state, State::Complete | State::Partial);
    let total = transcript.totals.debate.usage;
    let count = u32::try_from(rounds.len()).unwrap_or(u32::MAX);
    let total_tokens = total.input + total.output;
    Some(DebateRecord {
        session_id: id.to_owned(),
        project_name: truncated(&one_line(&transcript.question), MAX_TITLE),
        topic: transcript.question.clone(),
        timestamp_start: timestamp_of(transcript.opened_at),
        timestamp_end: transcript.ended_at.map(timestamp_of),
        domain: input.domain().map(str::to_owned),
        required_questions: input.required_questions(),
        rounds,
        claims: Vec::new(),
        final_consensus: answer
            .filter(|_| is_decided)
            .map(|decision| FinalConsensus {
                decision: Some(decision),
                rationale: transcript.reason.clone().unwrap_or_default(),
                confidence: None,
                supporting_evidence: Vec::new(),
                dissenting_opinions: Vec::new(),
                escalation: false,
                human_override: false,
            }),
        token_efficiency: TokenEfficiency {
            total_tokens,
            rounds: count,
            avg_tokens_per_round: total_tokens / u64::from(count.max(1)),
            consensus_reached: transcript.state == State::Complete,
        },
    })
}

fn round_record(round: &Round) -> Option<RoundRecord> {
    let started = round.turns.iter().map(|turn| turn.started_at).min();
    let positions = round.turns.iter().filter_map(|turn| {
        Some(AgentPosition {
            agent: turn.seat.clone(),
            panel: turn.title.clone(),
            position: turn.text()?.to_owned(),
            evidence_types: Vec::new(),
            evidence_citations: Vec::new(),
            confidence: None,
            tokens_used: turn.spent.usage.input + turn.spent.usage.output,
            evidence_allows: None,
            calibration: None,
            moved_by: Vec::new(),
            moved_unexplained: false,
        })
    });
    Some(RoundRecord {
        round_number: round.number?,
        timestamp: timestamp_of(started?),
        duration_seconds: round.busy_ms / 1_000,
        agent_positions: positions.collect(),
        metrics: RoundMetrics::default(),
        user_input: round.voices.first().map(|voice| voice.text.clone()),
    })
}
