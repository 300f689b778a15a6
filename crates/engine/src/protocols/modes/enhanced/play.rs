//! An enhanced debate as it stands: what claims rest on, every round as it was measured, open security objections, and what
//! a person decided. A fold like the debate itself.

use std::collections::BTreeMap;

use roundtable_core::convergence::{
    self, Agreement, Answer, Decision, Explanation, Metrics, Movement, Status, Warning,
};
use roundtable_core::evidence::{Ledger, PositionEvidence};
use roundtable_core::scale::Similarity;
use roundtable_core::sources::Sources;
use roundtable_core::spread;
use roundtable_core::state::{DebateState, Moves, normal_id};
use roundtable_core::votes::{self, Figures};
use roundtable_core::wording::one_line;
use serde::{Deserialize, Serialize};

use super::super::checks::Kind;
use super::super::debate::{Hidden, Next, Round, Spoken};
use super::super::replies::Contribution;
use super::super::{ACCEPT, ANOTHER_ROUND};
use super::escalation::{self, Matter, OVERRIDE, Question};
use super::measure::Measurement;
use super::replies;
use super::rules::Enhanced;
use super::source_checks::{SourceCheck, held_against};
use crate::algorithm::{Count, EndsBy, Veto};
use crate::table::Turn;

#[derive(Debug, Clone)]
pub struct Play {
    pub rules: Enhanced,
    pub ledger: Ledger,
    pub rounds: Vec<MeasuredRound>,
    pub objections: Vec<SecurityObjection>,
    pub decisions: Vec<PersonDecision>,
    /// Claims that were held against the sources the user gave (E-18).
    pub checks: Vec<SourceCheck>,
    /// The last typed answer of each seat.
    answers: BTreeMap<String, (u32, Answer)>,
}

/// A round as it was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredRound {
    pub number: u32,
    pub positions: Vec<SeatPosition>,
    pub metrics: Metrics,
    pub decision: Decision,
    pub measurement: Measurement,
}

/// Where a seat stood in a round, what that rests on, and how it came to stand there.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeatPosition {
    pub seat: String,
    pub evidence: PositionEvidence,
    /// `None` where it had not spoken before.
    pub movement: Option<Movement>,
    pub explanation: Explanation,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecurityObjection {
    pub seat: String,
    pub text: String,
    pub raised_round: u32,
    /// The seat no longer upholds it.
    pub withdrawn_round: Option<u32>,
    /// A person went over it.
    pub overridden_round: Option<u32>,
}

impl SecurityObjection {
    fn is_open(&self) -> bool {
        self.withdrawn_round.is_none() && self.overridden_round.is_none()
    }
}

/// What a person was asked and chose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonDecision {
    pub round: u32,
    pub matter: Matter,
    pub choice: String,
    pub note: Option<String>,
    pub by: Option<String>,
}

impl PersonDecision {
    pub fn of(round: u32, matter: Matter, decision: &crate::event::Decision) -> Self {
        Self {
            round,
            matter,
            choice: decision.choice.clone(),
            note: decision.note.clone(),
            by: decision.by.clone(),
        }
    }

    /// Whether the person, and not the panel, decided something.
    pub fn overrides(&self) -> bool {
        self.choice != ANOTHER_ROUND
    }
}

impl Play {
    pub fn new(rules: &Enhanced) -> Self {
        Self {
            ledger: Ledger::new(rules.weights),
            rules: rules.clone(),
            rounds: Vec::new(),
            objections: Vec::new(),
            decisions: Vec::new(),
            checks: Vec::new(),
            answers: BTreeMap::new(),
        }
    }

    /// What critiques do to claims, before the state takes a turn up.
    pub(in super::super) fn amend(&self, moves: &mut Moves, reply: &Contribution) {
        replies::amend(moves, reply, &self.ledger);
    }

    /// Takes up what a group said without having heard each other. The state has taken it up already.
    pub(in super::super) fn take(
        &mut self,
        round: u32,
        group: &[(String, Turn<Contribution>)],
        state: &DebateState,
        sources: &Sources,
    ) {
        if self.rules.wants_evidence() {
            let heard: Vec<_> = group
                .iter()
                .map(|(seat, turn)| replies::registered(seat, &turn.reply, state, &self.ledger))
                .collect();
            self.ledger.take(round, &heard);
            let checked = heard.iter().flat_map(|it| held_against(round, it, sources));
            self.checks.extend(checked);
        }
        for (seat, turn) in group {
            self.object(round, seat, turn.reply.security_objection.as_deref());
        }
    }

    /// A seat's objection stands until it speaks without it.
    fn object(&mut self, round: u32, seat: &str, said: Option<&str>) {
        if self.rules.algorithm.veto != Veto::Security {
            return;
        }
        let said = said.map(one_line).filter(|text| !text.is_empty());
        let open = self
            .objections
            .iter_mut()
            .rfind(|it| it.seat == seat && it.withdrawn_round.is_none());
        match (said, open) {
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

    pub(in super::super) fn redact(&mut self, round: u32, seat: &str, words: &str) {
        self.ledger.redact(round, seat, words);
        self.checks
            .retain(|it| it.round != round || it.seat != seat);
        for it in &mut self.objections {
            if it.seat == seat {
                words.clone_into(&mut it.text);
            }
        }
    }

    /// The round is over and measured.
    pub(in super::super) fn close(
        &mut self,
        round: &Round,
        state: &DebateState,
        measurement: Measurement,
    ) {
        let heard: Vec<&Spoken> = round
            .turns
            .iter()
            .filter(|turn| turn.hidden == Hidden::No)
            .collect();
        let mut answers = Vec::new();
        let mut positions = Vec::new();
        let mut turned = Vec::new();
        let mut compared = 0;
        for turn in heard {
            let stance = state.agent_status.iter().find(|it| it.agent == turn.seat);
            let answer = Answer {
                seat: turn.seat.clone(),
                option: turn.reply.debate_alignment.clone(),
                vote: turn.reply.vote,
                stance: stance.and_then(|it| it.stance),
                probability: turn
                    .reply
                    .estimate
                    .filter(|value| (0.0..=1.0).contains(value)),
                position: turn.reply.position.clone(),
            };
            let before = self.answers.get(&turn.seat);
            let movement = before.map(|(_, before)| Movement {
                shift: measurement.shifts.get(&turn.seat).copied(),
                turned: convergence::changed_sides(before, &answer),
            });
            compared += usize::from(movement.is_some());
            if movement.is_some_and(|it| it.turned) {
                turned.push(turn.seat.clone());
            }
            let spoke_last = before.map_or(0, |(round, _)| *round);
            positions.push(SeatPosition {
                seat: turn.seat.clone(),
                evidence: self
                    .ledger
                    .position(round.number, &turn.seat, turn.reply.confidence),
                explanation: self.explained(movement.as_ref(), turn, state, spoke_last),
                movement,
            });
            answers.push(answer);
        }
        let shifts: Vec<f64> = measurement.shifts.values().map(|it| it.scaled).collect();
        let cited: Vec<_> = self.ledger.cited_in(round.number).into_values().collect();
        let metrics = Metrics {
            round: round.number,
            similarity: measurement.similarity,
            shift: spread::mean(&shifts),
            evidence: convergence::evidence_convergence(&cited),
            agreement: Agreement::of(&answers),
            turned,
            compared,
        };
        for answer in answers {
            self.answers
                .insert(answer.seat.clone(), (round.number, answer));
        }
        let mut history: Vec<Metrics> = self.history();
        history.push(metrics.clone());
        let Some(decision) = convergence::after_round(&history, &self.rules.thresholds) else {
            return;
        };
        self.rounds.push(MeasuredRound {
            number: round.number,
            positions,
            metrics,
            decision,
            measurement,
        });
    }

    /// New to a seat is what others put on the table in the round it last spoke, or later.
    fn explained(
        &self,
        movement: Option<&Movement>,
        turn: &Spoken,
        state: &DebateState,
        spoke_last: u32,
    ) -> Explanation {
        let Some(movement) = movement else {
            return Explanation::NotNeeded;
        };
        let named: Vec<String> = turn.reply.moved_by.iter().map(|id| normal_id(id)).collect();
        let is_new = |id: &str| {
            let claim = state.claim(id);
            let evidence = state.evidence.iter().find(|it| it.id == id);
            claim.is_some_and(|it| {
                it.introduced_by != turn.seat && it.introduced_round >= spoke_last
            }) || evidence.is_some_and(|it| {
                it.added_round >= spoke_last && it.cited_by.iter().any(|by| *by != turn.seat)
            })
        };
        convergence::explanation(movement, &named, is_new, &self.rules.thresholds)
    }

    pub fn history(&self) -> Vec<Metrics> {
        self.rounds.iter().map(|it| it.metrics.clone()).collect()
    }

    /// Where everybody stands, by their last words.
    pub fn answers(&self) -> Vec<Answer> {
        self.answers.values().map(|(_, it)| it.clone()).collect()
    }

    /// What comes now, where nothing of the mode itself stands against it.
    pub(in super::super) fn next(&self, rounds: &[Round], history: &[Figures], cap: u32) -> Next {
        let Some(last) = rounds.last() else {
            return Next::Round;
        };
        if self.objections.iter().any(SecurityObjection::is_open)
            && !self.is_decided(last.number, Matter::SecurityObjection)
        {
            return Next::Escalate(Matter::SecurityObjection);
        }
        match self.rules.ends_by {
            EndsBy::Convergence => self.by_convergence(rounds, last, cap),
            EndsBy::Votes => match votes::after_round(history, cap) {
                None => Next::Round,
                Some(_)
                    if self.is_open_count()
                        && !self.is_decided(last.number, Matter::NoMajority) =>
                {
                    Next::Escalate(Matter::NoMajority)
                }
                Some(exit) => Next::End(exit),
            },
        }
    }

    fn by_convergence(&self, rounds: &[Round], last: &Round, cap: u32) -> Next {
        let Some(measured) = self.rounds.iter().find(|it| it.number == last.number) else {
            return Next::Round;
        };
        let is_early = measured
            .decision
            .warnings
            .contains(&Warning::EarlyConsensus);
        let has_objected = rounds.iter().any(|round| round.kind == Kind::Objection);
        if is_early && !has_objected {
            return Next::Advocate;
        }
        match measured.decision.status {
            status @ (Status::ConsensusReached | Status::ConsensusWithDiverseEvidence) => {
                Next::Converged(status)
            }
            Status::DiminishingReturns
                if !self.is_decided(last.number, Matter::DiminishingReturns) =>
            {
                Next::Escalate(Matter::DiminishingReturns)
            }
            Status::DiminishingReturns | Status::Continue if last.number >= cap => {
                Next::End(votes::Exit::RoundCap)
            }
            Status::DiminishingReturns | Status::Continue => Next::Round,
        }
    }

    fn is_decided(&self, round: u32, matter: Matter) -> bool {
        let mut decisions = self.decisions.iter();
        decisions.any(|it| it.round == round && it.matter == matter)
    }

    /// What the count of answers is worth, where the algorithm counts.
    pub fn count(&self) -> Option<(convergence::Majority, Count)> {
        let rule = self.rules.algorithm.majority.as_ref()?;
        let majority = convergence::majority(&self.answers());
        let count = rule.count(majority.seats.len(), majority.minority.len());
        Some((majority, count))
    }

    fn is_open_count(&self) -> bool {
        matches!(self.count(), Some((_, Count::Open(_))))
    }

    /// What a person is asked.
    pub(in super::super) fn question(&self, matter: Matter) -> Question {
        let groups = convergence::groups(&self.answers());
        match matter {
            Matter::SecurityObjection => {
                let open = self.objections.iter().filter(|it| it.is_open());
                let told: Vec<_> = open.map(|it| (it.seat.clone(), it.text.clone())).collect();
                escalation::over_objection(&told)
            }
            Matter::DiminishingReturns => escalation::among_answers(
                "The debate makes no progress: positions hardly move and there is no consensus. Accept what most stand \
                 for, choose an answer, or let it go on for another round?"
                    .into(),
                &groups,
            ),
            Matter::NoMajority => escalation::among_answers(
                "Too many seats stand apart for a majority. Accept what most stand for, choose an answer, or let the \
                 panel go on for another round?"
                    .into(),
                &groups,
            ),
            Matter::Groupthink => escalation::among_answers(
                "The panel agrees, and a round of critical objections brought no new fact and changed nothing. Is its \
                 agreement good enough, or should it go on?"
                    .into(),
                &[],
            ),
        }
    }

    /// A person has decided. Gives the answer that stands from now on, where that ends the debate.
    pub(in super::super) fn decided(&mut self, decision: PersonDecision) -> Option<Chosen> {
        let round = decision.round;
        let chosen = match decision.choice.as_str() {
            ANOTHER_ROUND => None,
            OVERRIDE if decision.matter == Matter::SecurityObjection => {
                for it in self.objections.iter_mut().filter(|it| it.is_open()) {
                    it.overridden_round = Some(round);
                }
                None
            }
            ACCEPT => Some(Chosen::WhatMostStandFor),
            answer => Some(Chosen::Answer(answer.to_owned())),
        };
        self.decisions.push(decision);
        chosen
    }

    /// Similarity as the thresholds read it, of the last round.
    pub fn last_similarity(&self) -> Option<Similarity> {
        self.rounds.last().and_then(|it| it.metrics.similarity)
    }
}

/// What a person chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Chosen {
    WhatMostStandFor,
    Answer(String),
}
