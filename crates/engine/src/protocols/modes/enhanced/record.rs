//! The debate record of the design (E-12), filled from the journal.

use std::collections::BTreeMap;

use jiff::Timestamp;
use roundtable_core::bounded::{Confidence, Probability};
use roundtable_core::convergence::Explanation;
use roundtable_core::evidence::EvidenceType;
use roundtable_core::wording::one_line;

use super::state::{EnhancedState, MeasuredRound, SeatPosition};
use super::verdict::{EnhancedVerdict, supporting_evidence};
use crate::event::{Entry, Event, Millis, Setup, State};
use crate::protocols::modes::record::JournalSummary;
use crate::protocols::modes::{Debate, MinorityPosition, Round, Verdict};
use crate::retrospective::{
    AgentPosition, ClaimEvidence, ClaimRecord, DebateRecord, FinalConsensus, RoundMetrics,
    RoundRecord, SupportingEvidence, TokenEfficiency,
};
use crate::totals::Totals;

/// `None` for a plain debate, and before the first entry.
pub fn record(id: &str, entries: &[Entry]) -> Option<DebateRecord> {
    let debate = Debate::from_journal(entries)?;
    record_of(id, entries, &debate, &JournalSummary::of(entries))
}

/// The same for a journal that has been folded already.
pub(crate) fn record_of(
    id: &str,
    entries: &[Entry],
    debate: &Debate,
    summary: &JournalSummary,
) -> Option<DebateRecord> {
    let setup = entries.iter().find_map(|entry| entry.event.setup())?;
    let enhanced = debate.enhanced.as_ref()?;
    let total_tokens = Totals::of(entries).debate.usage.total();
    let times = RoundTimes::of(entries);
    let rounds: Vec<RoundRecord> = debate
        .rounds
        .iter()
        .filter_map(|round| round_record(setup, debate, enhanced, round, &times))
        .collect();
    let count = u32::try_from(rounds.len()).unwrap_or(u32::MAX);
    let is_over = !matches!(
        summary.state,
        State::Queued | State::Running | State::Waiting
    );
    let verdict = summary.result.as_ref();
    let final_consensus = verdict.and_then(|verdict| consensus(verdict, debate, enhanced));
    Some(DebateRecord {
        session_id: id.to_owned(),
        project_name: one_line(&setup.question),
        topic: setup.question.clone(),
        timestamp_start: timestamp(times.first)?,
        timestamp_end: if is_over { timestamp(times.last) } else { None },
        domain: enhanced.rules.domain.clone(),
        required_questions: enhanced.rules.required_questions.clone(),
        rounds,
        claims: claims(debate, enhanced),
        token_efficiency: TokenEfficiency {
            total_tokens,
            rounds: count,
            avg_tokens_per_round: total_tokens / u64::from(count.max(1)),
            consensus_reached: verdict
                .and_then(|verdict| verdict.enhanced.as_ref())
                .is_some_and(EnhancedVerdict::is_consensus),
        },
        final_consensus,
    })
}

/// Start and end of each round, and what the user said during it.
struct RoundTimes {
    first: Millis,
    last: Millis,
    started: BTreeMap<u32, Millis>,
    ended: BTreeMap<u32, Millis>,
    user_input: BTreeMap<u32, Vec<String>>,
}

impl RoundTimes {
    fn of(entries: &[Entry]) -> Self {
        let mut times = Self {
            first: entries.first().map_or(0, |entry| entry.at),
            last: 0,
            started: BTreeMap::new(),
            ended: BTreeMap::new(),
            user_input: BTreeMap::new(),
        };
        let mut round = 0;
        for entry in entries {
            if let Event::RoundStarted { round: number, .. } = &entry.event {
                round = *number;
                times.started.entry(round).or_insert(entry.at);
            } else if let Some(step) = entry.event.finished() {
                let ended = times.ended.entry(step.call.round).or_insert(entry.at);
                *ended = (*ended).max(entry.at);
            } else if let Event::Said(words) = &entry.event {
                // Seats hear it in the next round; it belongs to the round in which it was said.
                let said = times.user_input.entry(round.max(1)).or_default();
                said.push(words.text.clone());
            } else if entry.event.ended().is_some() {
                times.last = entry.at;
            }
        }
        times
    }
}

fn timestamp(at: Millis) -> Option<Timestamp> {
    Timestamp::from_millisecond(i64::try_from(at).ok()?).ok()
}

fn round_record(
    setup: &Setup,
    debate: &Debate,
    enhanced: &EnhancedState,
    round: &Round,
    times: &RoundTimes,
) -> Option<RoundRecord> {
    let measured = enhanced.measured(round.number);
    let started = times.started.get(&round.number).copied()?;
    let ended = times.ended.get(&round.number).copied().unwrap_or(started);
    let positions = round
        .turns
        .iter()
        .map(|turn| {
            let own = measured.filter(|_| !turn.is_hidden).and_then(|round| {
                let mut positions = round.positions.iter();
                positions.find(|position| position.seat == turn.seat)
            });
            let (types, citations) = own.map_or_else(Default::default, |own| cited(enhanced, own));
            let graded = own.filter(|_| enhanced.rules.wants_evidence());
            let seat = debate.panel.seat(&turn.seat);
            AgentPosition {
                agent: turn.seat.clone(),
                panel: panel_of(setup, seat.map(|seat| seat.title.as_str()), &turn.seat),
                position: if turn.is_hidden {
                    "[withheld]".to_owned()
                } else {
                    turn.reply.position.clone()
                },
                evidence_types: types,
                evidence_citations: citations,
                confidence: Some(turn.reply.confidence),
                tokens_used: turn.spent.usage.total(),
                evidence_allows: graded.map(|own| own.evidence.grade.level),
                calibration: graded.map(|own| own.evidence.calibration),
                moved_by: match own.map(|own| &own.explanation) {
                    Some(Explanation::By(ids)) => ids.clone(),
                    Some(Explanation::NotNeeded | Explanation::Unexplained) | None => Vec::new(),
                },
                moved_unexplained: own
                    .is_some_and(|own| own.explanation == Explanation::Unexplained),
            }
        })
        .collect();
    Some(RoundRecord {
        round_number: round.number,
        timestamp: timestamp(started)?,
        duration_seconds: ended.saturating_sub(started) / 1000,
        agent_positions: positions,
        metrics: measured.map_or_else(
            RoundMetrics::default,
            |MeasuredRound { metrics, .. }| RoundMetrics {
                semantic_similarity: metrics.similarity.map(|similarity| similarity.scaled),
                evidence_convergence: Some(metrics.evidence),
                position_shift: metrics.shift,
            },
        ),
        user_input: times
            .user_input
            .get(&round.number)
            .map(|said| said.join("\n\n")),
    })
}

/// The seat's team, or its title if the cast has no teams.
fn panel_of(setup: &Setup, title: Option<&str>, seat: &str) -> String {
    let seated = setup.seats.iter().find(|seated| seated.seat.name == seat);
    let team = seated.and_then(|seated| Some(seated.seat.team?.name().to_owned()));
    team.or_else(|| title.map(str::to_owned))
        .unwrap_or_default()
}

/// The types and sources of a position's evidence. Speculation has no source, so its type comes last.
fn cited(enhanced: &EnhancedState, own: &SeatPosition) -> (Vec<EvidenceType>, Vec<String>) {
    let grounds = &own.evidence.evidence;
    let (mut types, citations): (Vec<EvidenceType>, Vec<String>) = grounds
        .iter()
        .filter_map(|ground| {
            let source = enhanced.ledger.sources.get(ground.source?)?;
            Some((ground.kind, source.cited.shown()))
        })
        .unzip();
    if grounds.iter().any(|ground| ground.source.is_none()) {
        types.push(EvidenceType::Speculative);
    }
    (types, citations)
}

/// The claims in the ledger, in the order in which they were made.
fn claims(debate: &Debate, enhanced: &EnhancedState) -> Vec<ClaimRecord> {
    let claims = debate.state.claims.iter();
    claims
        .filter(|claim| enhanced.ledger.claims.contains_key(&claim.id))
        .map(|claim| {
            let grounds = enhanced.ledger.grounds_of(&claim.id).into_iter();
            let evidence = grounds.filter_map(|ground| {
                let source = enhanced.ledger.sources.get(ground.source?)?;
                Some(ClaimEvidence {
                    kind: ground.kind,
                    citation: source.cited.shown(),
                })
            });
            ClaimRecord {
                id: claim.id.clone(),
                claim: claim.text.clone(),
                agent: claim.introduced_by.clone(),
                round: claim.introduced_round,
                evidence: evidence.collect(),
                allows: enhanced.ledger.grade_of(&claim.id).map(|grade| grade.level),
            }
        })
        .collect()
}

fn consensus(
    verdict: &Verdict,
    debate: &Debate,
    enhanced: &EnhancedState,
) -> Option<FinalConsensus> {
    let result: &EnhancedVerdict = verdict.enhanced.as_ref()?;
    // Verdicts of earlier versions have the decision in their enhanced part only.
    let resolution = verdict
        .resolution
        .clone()
        .unwrap_or_else(|| result.resolution(debate));
    let evidence = supporting_evidence(debate, enhanced, &resolution);
    let supporting = evidence.into_iter().filter_map(|cited| {
        Some(SupportingEvidence {
            kind: cited.kind,
            citation: cited.source,
            weight: Probability::new(cited.weight).ok()?,
        })
    });
    Some(FinalConsensus {
        decision: resolution.decision,
        rationale: verdict.answer.clone().unwrap_or_default(),
        // The design defines it as the similarity of the last round; `None` if it was not measured.
        confidence: result
            .similarity
            .and_then(|value| Confidence::new(value).ok()),
        supporting_evidence: supporting.collect(),
        dissenting_opinions: resolution
            .dissenters
            .into_iter()
            .map(MinorityPosition::into_dissent)
            .collect(),
        escalation: result.escalation,
        human_override: result.human_override,
    })
}
