//! The enhanced part of a debate's state: the evidence ledger, measured rounds, security objections and decisions of people. A
//! fold, like the debate itself.

use std::collections::{BTreeMap, BTreeSet};

use roundtable_core::convergence::{
    self, Agreement, Answer, Decision, Explanation, Metrics, Movement, Status, Warning,
};
use roundtable_core::evidence::{ClaimConfidence, Critique, Flag, Heard, Ledger, PositionEvidence};
use roundtable_core::scale::Similarity;
use roundtable_core::sources::{Checked, Sources};
use roundtable_core::spread;
use roundtable_core::state::{DebateState, Moves, Taken, normal_id};
use roundtable_core::votes::{Exit, Figures};
use roundtable_core::wording::one_line;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::escalation::{Escalation, OVERRIDE};
use super::measure::Measurement;
use super::replies;
use super::rules::EnhancedRules;
use super::source_checks::{SourceCheck, check_claims};
use crate::algorithm::{Count, Veto};
use crate::event;
use crate::protocols::modes::{
    ANOTHER_ROUND, Contribution, Ending, EscalationPolicy, NextStep, Round, RoundKind, Rules,
    SeatTurn,
};
use crate::table::Turn;

#[derive(Debug, Clone)]
pub struct EnhancedState {
    pub rules: EnhancedRules,
    pub ledger: Ledger,
    pub rounds: Vec<MeasuredRound>,
    pub objections: Vec<SecurityObjection>,
    pub decisions: Vec<PersonDecision>,
    /// Claims checked against the user's sources (E-18).
    pub checks: Vec<SourceCheck>,
    /// The last typed answer of each seat, with its round.
    answers: BTreeMap<String, (u32, Answer)>,
    /// The round in which each seat took its present position.
    since: BTreeMap<String, u32>,
    /// The number of seats that never spoke.
    silent: usize,
}

/// A round with its measures and the decision that follows from them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredRound {
    pub number: u32,
    pub positions: Vec<SeatPosition>,
    pub metrics: Metrics,
    pub decision: Decision,
    pub measurement: Measurement,
}

/// A seat's position in a round: its evidence, and how far it moved and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeatPosition {
    pub seat: String,
    pub evidence: PositionEvidence,
    /// Its confidence in single claims of this round, compared with their evidence (E-04).
    pub claims: Vec<ClaimConfidence>,
    /// `None` if the seat had not spoken before.
    pub movement: Option<Movement>,
    pub explanation: Explanation,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecurityObjection {
    pub seat: String,
    pub text: String,
    pub raised_round: u32,
    /// The seat spoke without raising it again.
    pub withdrawn_round: Option<u32>,
    /// A person overrode it.
    pub overridden_round: Option<u32>,
}

impl SecurityObjection {
    pub fn is_open(&self) -> bool {
        self.withdrawn_round.is_none() && self.overridden_round.is_none()
    }
}

/// A person's decision on an escalation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PersonDecision {
    pub round: u32,
    #[serde(rename = "matter")]
    pub escalation: Escalation,
    pub choice: String,
    pub note: Option<String>,
    pub by: Option<String>,
}

impl PersonDecision {
    pub fn of(round: u32, escalation: Escalation, decision: &event::Decision) -> Self {
        Self {
            round,
            escalation,
            choice: decision.choice.clone(),
            note: decision.note.clone(),
            by: decision.by.clone(),
        }
    }

    /// Whether the person decided instead of the panel.
    pub fn overrides(&self) -> bool {
        self.choice != ANOTHER_ROUND
    }
}

impl EnhancedState {
    pub fn new(rules: &EnhancedRules) -> Self {
        Self {
            ledger: Ledger::new(rules.weights),
            rules: rules.clone(),
            rounds: Vec::new(),
            objections: Vec::new(),
            decisions: Vec::new(),
            checks: Vec::new(),
            answers: BTreeMap::new(),
            since: BTreeMap::new(),
            silent: 0,
        }
    }

    /// Turns the critiques of a reply into moves, before the debate's state takes them.
    pub(crate) fn apply_critiques(
        &self,
        moves: &mut Moves,
        seat: &str,
        reply: &Contribution,
        state: &DebateState,
    ) {
        replies::apply_critiques(moves, seat, reply, state, &self.ledger);
    }

    /// Adds the turns of a group. The debate's state has taken their moves already.
    pub(crate) fn add_turns(
        &mut self,
        round: u32,
        group: &[(String, Turn<Contribution>)],
        changes: &Taken,
        state: &DebateState,
        sources: &Sources,
    ) {
        if self.rules.wants_evidence() {
            let mut heard: Vec<_> = group
                .iter()
                .map(|(seat, turn)| {
                    let registered = changes.registered.get(seat).cloned().unwrap_or_default();
                    replies::read_registered(seat, &turn.reply, &registered, state, &self.ledger)
                })
                .collect();
            for heard in &mut heard {
                // A claim of this group was not on the table when the critic spoke.
                let (guessed, known) = std::mem::take(&mut heard.critiques)
                    .into_iter()
                    .partition(|critique| changes.new_claims.contains(&critique.claim));
                heard.critiques = known;
                let guessed: Vec<Critique> = guessed;
                let guessed = guessed.into_iter().map(|critique| critique.claim);
                heard.unknown.extend(guessed);
                let checks = check_claims(round, heard, sources);
                for check in &checks {
                    drop_contradicted(heard, check);
                }
                self.checks.extend(checks);
            }
            self.ledger.take(round, &heard);
        }
        for (seat, turn) in group {
            self.update_objection(round, seat, turn.reply.security_objection.as_deref());
        }
    }

    /// A seat's objection stays open until the seat speaks without raising it.
    fn update_objection(&mut self, round: u32, seat: &str, raised: Option<&str>) {
        if self.rules.algorithm.veto != Veto::Security {
            return;
        }
        let raised = raised.map(one_line).filter(|text| !text.is_empty());
        let open = self
            .objections
            .iter_mut()
            .rfind(|objection| objection.seat == seat && objection.withdrawn_round.is_none());
        match (raised, open) {
            (None, Some(open)) => open.withdrawn_round = Some(round),
            (Some(text), Some(open)) => open.text = text,
            (None, None) => {}
            (Some(text), None) => self.objections.push(SecurityObjection {
                seat: seat.to_owned(),
                text,
                raised_round: round,
                withdrawn_round: None,
                overridden_round: None,
            }),
        }
    }

    pub(crate) fn redact(&mut self, round: u32, seat: &str, replacement: &str) {
        self.ledger.redact(round, seat, replacement);
        self.checks
            .retain(|check| check.round != round || check.seat != seat);
        let objections = self.objections.iter_mut();
        for objection in objections.filter(|objection| objection.seat == seat) {
            replacement.clone_into(&mut objection.text);
        }
    }

    pub(crate) fn finish_round(
        &mut self,
        round: &Round,
        state: &DebateState,
        measurement: Measurement,
    ) {
        let figures = round.figures.as_ref();
        self.silent = figures.map_or(0, |figures| figures.silent);
        let mut positions = Vec::new();
        let mut turned = Vec::new();
        let mut compared = 0;
        for turn in round.turns.iter().filter(|turn| !turn.is_hidden) {
            let answer = answer_of(turn, state);
            let before = self.answers.get(&turn.seat);
            let movement = before.map(|(_, before)| Movement {
                shift: measurement.shifts.get(&turn.seat).copied(),
                turned: convergence::changed_sides(before, &answer),
            });
            compared += usize::from(movement.is_some());
            if movement.is_some_and(|movement| movement.turned) {
                turned.push(turn.seat.clone());
            }
            let spoke_last = before.map_or(0, |(round, _)| *round);
            let explanation = self.explain(movement.as_ref(), turn, state, spoke_last);
            // A seat that changed sides starts again without the evidence for its old position.
            if movement.is_none_or(|movement| movement.turned) {
                self.since.insert(turn.seat.clone(), round.number);
            }
            let since = self.since.get(&turn.seat).copied().unwrap_or_default();
            let seat = &turn.seat;
            // Its own claims until it retracts them, claims of others until it opposes them.
            let stands = |claim: &str| {
                state.claim(claim).is_none_or(|claim| {
                    let opposes = claim
                        .opponents
                        .iter()
                        .any(|opponent| opponent.seat == *seat);
                    !opposes && (claim.introduced_by != *seat || claim.supporters.contains(seat))
                })
            };
            positions.push(SeatPosition {
                seat: turn.seat.clone(),
                evidence: self.ledger.position(
                    since..=round.number,
                    &turn.seat,
                    turn.reply.confidence,
                    stands,
                ),
                claims: self.ledger.claim_confidences(round.number, &turn.seat),
                explanation,
                movement,
            });
            self.answers
                .insert(turn.seat.clone(), (round.number, answer));
        }
        let in_seat_order: Vec<Answer> = state
            .participants()
            .iter()
            .filter_map(|seat| self.answers.get(seat))
            .map(|(_, answer)| answer.clone())
            .collect();
        let shifts: Vec<f64> = measurement.shifts.values().map(|s| s.scaled).collect();
        let cited: Vec<_> = self.ledger.cited_in(round.number).into_values().collect();
        let metrics = Metrics {
            round: round.number,
            similarity: measurement.similarity,
            shift: spread::mean(&shifts),
            evidence: convergence::evidence_convergence(&cited),
            // A seat that is absent in this round keeps its last answer.
            agreement: Agreement::of(&in_seat_order),
            turned,
            compared,
            seats: figures.map_or(0, Figures::seats),
            silent: self.silent,
            sources: cited.iter().flatten().collect::<BTreeSet<_>>().len(),
        };
        let mut history: Vec<Metrics> = self.history();
        history.push(metrics.clone());
        let Some(mut decision) = convergence::after_round(&history, &self.rules.thresholds) else {
            return;
        };
        if round.kind == RoundKind::Objection {
            // This is the round that the warning demands.
            decision
                .warnings
                .retain(|warning| *warning != Warning::EarlyConsensus);
        }
        self.rounds.push(MeasuredRound {
            number: round.number,
            positions,
            metrics,
            decision,
            measurement,
        });
    }

    /// A move is explained by claims or evidence of others that are new to the seat: from the round it last spoke, or later.
    fn explain(
        &self,
        movement: Option<&Movement>,
        turn: &SeatTurn,
        state: &DebateState,
        spoke_last: u32,
    ) -> Explanation {
        let Some(movement) = movement else {
            return Explanation::NotNeeded;
        };
        let named: Vec<String> = turn.reply.moved_by.iter().map(|id| normal_id(id)).collect();
        let is_new = |id: &str| {
            let claim = state.claim(id);
            let evidence = state.evidence.iter().find(|evidence| evidence.id == id);
            claim.is_some_and(|claim| {
                claim.introduced_by != turn.seat && claim.introduced_round >= spoke_last
            }) || evidence.is_some_and(|evidence| {
                evidence.added_round >= spoke_last
                    && evidence.cited_by.iter().any(|by| *by != turn.seat)
            })
        };
        convergence::explanation(movement, &named, is_new, &self.rules.thresholds)
    }

    pub fn history(&self) -> Vec<Metrics> {
        self.rounds.iter().map(|r| r.metrics.clone()).collect()
    }

    /// The last answer of each seat.
    pub fn answers(&self) -> Vec<Answer> {
        self.answers.values().map(|(_, a)| a.clone()).collect()
    }

    /// Whether an open security objection waits for a person after this round.
    pub(crate) fn is_vetoed(&self, round: u32) -> bool {
        self.objections.iter().any(SecurityObjection::is_open)
            && !self.is_decided(round, Escalation::SecurityObjection)
    }

    pub(crate) fn after_convergence(
        &self,
        rounds: &[Round],
        max_rounds: u32,
        rules: &Rules,
    ) -> NextStep {
        let next = NextStep::Round(RoundKind::Ordinary);
        let Some((last, measured)) = rounds
            .last()
            .and_then(|last| Some((last, self.measured(last.number)?)))
        else {
            return next;
        };
        let is_early = measured
            .decision
            .warnings
            .contains(&Warning::EarlyConsensus);
        let has_objected = rounds.iter().any(|r| r.kind == RoundKind::Objection);
        // An early consensus has to hold through an objection round (E-08).
        if is_early && !has_objected && !rules.brief {
            return NextStep::Round(RoundKind::Objection);
        }
        match measured.decision.status {
            status if status.is_consensus() => {
                let is_cited = self.rounds.iter().any(|round| round.metrics.sources > 0);
                NextStep::End(if is_cited {
                    Ending::Converged(status)
                } else {
                    Ending::ConvergedWithoutEvidence(status)
                })
            }
            Status::DiminishingReturns
                if !self.is_decided(last.number, Escalation::DiminishingReturns) =>
            {
                match rules.escalation {
                    EscalationPolicy::Ask => NextStep::Ask(Escalation::DiminishingReturns),
                    EscalationPolicy::Never => NextStep::End(Ending::Exit(Exit::Plateau)),
                }
            }
            _ if last.number >= max_rounds => NextStep::End(Ending::Exit(Exit::RoundCap)),
            _ => next,
        }
    }

    pub fn measured(&self, round: u32) -> Option<&MeasuredRound> {
        let mut rounds = self.rounds.iter();
        rounds.find(|measured| measured.number == round)
    }

    pub fn is_decided(&self, round: u32, escalation: Escalation) -> bool {
        let mut decisions = self.decisions.iter();
        decisions.any(|decision| decision.round == round && decision.escalation == escalation)
    }

    /// The majority of answers and its weight; `None` if the algorithm does not count answers.
    pub fn count(&self) -> Option<(convergence::Majority, Count)> {
        let rule = self.rules.algorithm.majority.as_ref()?;
        let majority = convergence::majority(&self.answers());
        let count = rule.count(majority.seats.len(), majority.minority.len() + self.silent);
        Some((majority, count))
    }

    pub(crate) fn add_decision(&mut self, decision: PersonDecision) {
        let overrides =
            decision.escalation == Escalation::SecurityObjection && decision.choice == OVERRIDE;
        if overrides {
            let open = self.objections.iter_mut();
            for objection in open.filter(|objection| objection.is_open()) {
                objection.overridden_round = Some(decision.round);
            }
        }
        self.decisions.push(decision);
    }

    pub fn last_similarity(&self) -> Option<Similarity> {
        self.rounds.last().and_then(|last| last.metrics.similarity)
    }
}

/// Removes evidence that the user's sources contradict, so that it no longer gives the claim its band (E-18).
fn drop_contradicted(heard: &mut Heard, check: &SourceCheck) {
    if !matches!(check.result, Checked::Contradicted { .. }) {
        return;
    }
    for grounds in heard.grounds.iter_mut().filter(|g| g.claim == check.claim) {
        let is_kept = |kind, cited: String| kind != Some(check.kind) || cited != check.cited;
        grounds
            .evidence
            .retain(|said| is_kept(said.kind.value(), said.source.shown()));
    }
    heard.dropped.push(Flag::Contradicted {
        claim: check.claim.clone(),
        source_: check.cited.clone(),
    });
}

fn answer_of(turn: &SeatTurn, state: &DebateState) -> Answer {
    let mut statuses = state.agent_status.iter();
    let status = statuses.find(|status| status.agent == turn.seat);
    let estimate = turn.reply.estimate;
    Answer {
        seat: turn.seat.clone(),
        option: turn.reply.debate_alignment.clone(),
        vote: turn.reply.vote,
        stance: status.and_then(|status| status.stance),
        probability: estimate.filter(|value| (0.0..=1.0).contains(value)),
        position: turn.reply.position.clone(),
    }
}
