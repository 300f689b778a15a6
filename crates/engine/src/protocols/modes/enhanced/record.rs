//! The debate record of the design (E-12), filled from the journal.

use std::collections::BTreeMap;

use jiff::Timestamp;
use roundtable_core::bounded::{Confidence, Probability};
use roundtable_core::evidence::EvidenceType;
use roundtable_core::wording::one_line;

use super::super::debate::{Debate, Hidden, Round};
use super::super::follow::followed;
use super::super::record::Course;
use super::super::verdict::Verdict;
use super::play::{MeasuredRound, Play};
use super::verdict::{Enhancement, evidence};
use crate::event::{Entry, Event, Millis, Setup, State};
use crate::retrospective::{
    AgentPosition, ClaimEvidence, ClaimRecord, DebateRecord, DissentingOpinion, FinalConsensus,
    RoundMetrics, RoundRecord, SupportingEvidence, TokenEfficiency,
};
use crate::totals::Totals;

/// `None` for a plain debate, and before the first entry.
pub fn record(id: &str, entries: &[Entry]) -> Option<DebateRecord> {
    let setup = entries.iter().find_map(|entry| entry.event.setup())?;
    let debate = followed(entries)?;
    let play = debate.enhanced.as_ref()?;
    let course = Course::of(entries);
    let total_tokens = Totals::of(entries).debate.usage.total();
    let times = Times::of(entries);
    let rounds: Vec<RoundRecord> = debate
        .rounds
        .iter()
        .filter_map(|round| round_of(setup, &debate, play, round, &times))
        .collect();
    let count = u32::try_from(rounds.len()).unwrap_or(u32::MAX);
    let is_over = !matches!(
        course.state,
        State::Queued | State::Running | State::Waiting
    );
    let final_consensus = course
        .result
        .as_ref()
        .and_then(|verdict| consensus(verdict, &debate, play));
    Some(DebateRecord {
        session_id: id.to_owned(),
        project_name: one_line(&setup.question),
        topic: setup.question.clone(),
        timestamp_start: stamp(times.first)?,
        timestamp_end: if is_over { stamp(times.last) } else { None },
        domain: play.rules.domain.clone(),
        required_questions: play.rules.required_questions.clone(),
        rounds,
        claims: claims(&debate, play),
        token_efficiency: TokenEfficiency {
            total_tokens,
            rounds: count,
            avg_tokens_per_round: total_tokens / u64::from(count.max(1)),
            consensus_reached: course
                .result
                .and_then(|verdict| verdict.enhanced)
                .is_some_and(|it| it.is_consensus()),
        },
        final_consensus,
    })
}

/// When rounds began and ended, and what a person said before which of them.
struct Times {
    first: Millis,
    last: Millis,
    began: BTreeMap<u32, Millis>,
    ended: BTreeMap<u32, Millis>,
    said: BTreeMap<u32, Vec<String>>,
}

impl Times {
    fn of(entries: &[Entry]) -> Self {
        let mut times = Self {
            first: entries.first().map_or(0, |it| it.at),
            last: 0,
            began: BTreeMap::new(),
            ended: BTreeMap::new(),
            said: BTreeMap::new(),
        };
        let mut round = 0;
        for entry in entries {
            match &entry.event {
                Event::RoundStarted { round: number, .. } => {
                    round = *number;
                    times.began.entry(round).or_insert(entry.at);
                }
                Event::StepFinished(step) => {
                    let ended = times.ended.entry(step.call.round).or_insert(entry.at);
                    *ended = (*ended).max(entry.at);
                }
                Event::Said(words) => {
                    // Heard before the next round begins: it belongs to the one that it was said in.
                    let said = times.said.entry(round.max(1)).or_default();
                    said.push(words.text.clone());
                }
                Event::Ended(_) => times.last = entry.at,
                Event::Opened(_)
                | Event::Noted { .. }
                | Event::StepStarted { .. }
                | Event::Chunk { .. }
                | Event::StepRestarted { .. }
                | Event::StepFailed(_)
                | Event::Reopened { .. }
                | Event::Rated { .. }
                | Event::Resolved { .. }
                | Event::Tracked { .. }
                | Event::Assessed { .. }
                | Event::Asked(_)
                | Event::Decided(_) => {}
            }
        }
        times
    }
}

fn stamp(at: Millis) -> Option<Timestamp> {
    Timestamp::from_millisecond(i64::try_from(at).ok()?).ok()
}

fn round_of(
    setup: &Setup,
    debate: &Debate,
    play: &Play,
    round: &Round,
    times: &Times,
) -> Option<RoundRecord> {
    let measured = play.rounds.iter().find(|it| it.number == round.number);
    let began = times.began.get(&round.number).copied()?;
    let ended = times.ended.get(&round.number).copied().unwrap_or(began);
    let positions = round
        .turns
        .iter()
        .map(|turn| {
            let (types, citations) = measured
                .filter(|_| turn.hidden == Hidden::No)
                .map_or_else(Default::default, |it| cited(play, it, &turn.seat));
            let seat = debate.panel.seat(&turn.seat);
            AgentPosition {
                agent: turn.seat.clone(),
                panel: panel_of(setup, seat.map(|it| it.title.as_str()), &turn.seat),
                position: match turn.hidden {
                    Hidden::Yes => "[withheld]".to_owned(),
                    Hidden::No => turn.reply.position.clone(),
                },
                evidence_types: types,
                evidence_citations: citations,
                confidence: Some(turn.reply.confidence),
                tokens_used: turn.spent.usage.total(),
            }
        })
        .collect();
    Some(RoundRecord {
        round_number: round.number,
        timestamp: stamp(began)?,
        duration_seconds: ended.saturating_sub(began) / 1000,
        agent_positions: positions,
        metrics: measured.map_or_else(RoundMetrics::default, |it| RoundMetrics {
            semantic_similarity: it.metrics.similarity.map(|it| it.scaled),
            evidence_convergence: Some(it.metrics.evidence),
            position_shift: it.metrics.shift,
        }),
        user_input: times.said.get(&round.number).map(|said| said.join("\n\n")),
    })
}

/// The team where there are teams, else what the seat is there for.
fn panel_of(setup: &Setup, title: Option<&str>, seat: &str) -> String {
    let seated = setup.seats.iter().find(|it| it.seat.name == seat);
    let team = seated.and_then(|it| it.seat.team.map(|team| team.name().to_owned()));
    team.or_else(|| title.map(str::to_owned))
        .unwrap_or_default()
}

fn cited(play: &Play, round: &MeasuredRound, seat: &str) -> (Vec<EvidenceType>, Vec<String>) {
    let position = round.positions.iter().find(|it| it.seat == seat);
    let grounds = position.into_iter().flat_map(|it| &it.evidence.evidence);
    grounds
        .filter_map(|ground| {
            let source = play.ledger.sources.get(ground.source?)?;
            Some((ground.kind, source.cited.shown()))
        })
        .unzip()
}

/// The claims that anybody spoke of the evidence of, in the order in which they were made.
fn claims(debate: &Debate, play: &Play) -> Vec<ClaimRecord> {
    let known = debate.state.claims.iter();
    let spoken_of = known.filter(|it| play.ledger.claims.contains_key(&it.id));
    spoken_of
        .map(|claim| {
            let grounds = play.ledger.grounds_of(&claim.id).into_iter();
            let evidence = grounds.filter_map(|ground| {
                let source = play.ledger.sources.get(ground.source?)?;
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
            }
        })
        .collect()
}

fn consensus(verdict: &Verdict, debate: &Debate, play: &Play) -> Option<FinalConsensus> {
    let enhanced: &Enhancement = verdict.enhanced.as_ref()?;
    let decision = enhanced.answer.clone().or_else(|| verdict.answer.clone())?;
    let cited = evidence(play, debate.panel.seats.len());
    let supporting = cited.into_iter().filter_map(|it| {
        Some(SupportingEvidence {
            kind: it.kind,
            citation: it.source,
            weight: Probability::new(it.weight).ok()?,
        })
    });
    Some(FinalConsensus {
        decision,
        rationale: verdict.answer.clone().unwrap_or_default(),
        // What the panel converged to, as the design has it; where nothing was measured there is none.
        confidence: enhanced
            .similarity
            .and_then(|value| Confidence::new(value).ok()),
        supporting_evidence: supporting.collect(),
        dissenting_opinions: enhanced
            .minority
            .iter()
            .map(|it| DissentingOpinion {
                agent: it.agent.clone(),
                position: it.position.clone(),
                rationale: it.answer.clone(),
            })
            .collect(),
        escalation: enhanced.escalation,
        human_override: enhanced.human_override,
    })
}
