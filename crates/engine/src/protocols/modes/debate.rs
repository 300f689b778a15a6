//! The state of a debate: a fold over its turns. The protocol plays by it, and a replay of the journal builds the same state.

mod prompt_view;

use roundtable_core::groupthink::{self, Diversity, Trigger};
use roundtable_core::state::{DebateState, Taken};
use roundtable_core::votes::{self, Figures};

use super::enhanced::{EnhancedState, Escalation, Measurement, PersonDecision, PromptEvidence};
use super::panel::Panel;
use super::references::resolved;
use super::replies::{Ballot, Contribution, Evaluation, RiskLevel};
use super::rules::Rules;
use super::verdict::Ending;
use crate::context::{Context, Limits, RoundSummary, Window};
use crate::event::{Setup, Spent, Words};
use crate::mode::Caution;
use crate::safety::{self, Alarm, Withheld};
use crate::table::Turn;

const WITHHELD: &str = crate::withheld::NOTICE;

#[derive(Debug, Clone)]
pub struct Debate {
    pub panel: Panel,
    pub rules: Rules,
    pub question: String,
    seed: u64,
    pub state: DebateState,
    pub rounds: Vec<Round>,
    pub ballots: Vec<BlindVote>,
    pub user_input: Vec<Words>,
    window: Window,
    context: Context,
    /// Passages of the sources, found for seats that cannot search themselves.
    passages: Vec<String>,
    /// The index of the last objection round. Triggers of groupthink ignore the rounds before it.
    since_objection: usize,
    pub alarms: Vec<Alarm>,
    /// Whether the safety evaluator reviews the rounds.
    pub is_watched: bool,
    /// `None` in a plain debate.
    pub enhanced: Option<EnhancedState>,
    /// What an enhanced debate adds to the prompts of this round.
    pub prompt_evidence: Option<PromptEvidence>,
}

/// A blind vote and its cost.
#[derive(Debug, Clone)]
pub struct BlindVote {
    pub seat: String,
    pub ballot: Ballot,
    pub spent: Spent,
}

#[derive(Debug, Clone)]
pub struct Round {
    pub number: u32,
    pub kind: RoundKind,
    pub turns: Vec<SeatTurn>,
    pub changes: Taken,
    /// `None` until the round is over; so is the summary.
    pub figures: Option<Figures>,
    pub summary: Option<RoundSummary>,
    pub diversity: Option<Diversity>,
    pub evaluation: Option<Evaluation>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoundKind {
    Ordinary,
    /// A critical-objection round (M-08).
    Objection,
}

impl RoundKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ordinary => "debate",
            Self::Objection => "objection",
        }
    }

    pub fn from_name(name: &str) -> Self {
        if name == Self::Objection.name() {
            Self::Objection
        } else {
            Self::Ordinary
        }
    }
}

#[derive(Debug, Clone)]
pub struct SeatTurn {
    pub seat: String,
    pub reply: Contribution,
    pub remarks: Vec<String>,
    pub withheld: Vec<Withheld>,
    pub spent: Spent,
    /// Whether the safety evaluator keeps the turn from the other seats.
    pub is_hidden: bool,
}

impl SeatTurn {
    /// Remarks quote the reply, so those of a hidden turn are not shown.
    pub fn shown_remarks(&self) -> &[String] {
        if self.is_hidden { &[] } else { &self.remarks }
    }
}

/// What follows a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextStep {
    Round(RoundKind),
    /// An objection round, because groupthink is suspected.
    Object(Trigger),
    /// A person decides (E-09).
    Ask(Escalation),
    End(Ending),
}

/// Diversity of a round that was not measured: it raises no suspicion of groupthink.
const DIVERSE: Diversity = Diversity {
    sources: usize::MAX,
    premise_overlap: 0.0,
    clusters: usize::MAX,
};

impl Debate {
    pub fn new(setup: &Setup, rules: &Rules) -> Self {
        let panel = Panel::of(setup, &rules.mode);
        let mut alarms = safety::alarms(&setup.question);
        if rules.mode.caution == Caution::Watched {
            alarms.insert(0, Alarm::Mode(rules.mode.name.clone()));
        }
        let limits = if panel.is_small() {
            Limits::SMALL
        } else {
            Limits::FULL
        };
        Self {
            state: DebateState::of(panel.names()),
            window: Window::new(limits),
            question: setup.question.clone(),
            seed: setup.seed,
            rules: rules.clone(),
            panel,
            rounds: Vec::new(),
            ballots: Vec::new(),
            user_input: Vec::new(),
            context: Context::default(),
            passages: Vec::new(),
            since_objection: 0,
            is_watched: !alarms.is_empty(),
            alarms,
            enhanced: rules.enhanced.as_ref().map(EnhancedState::new),
            prompt_evidence: None,
        }
    }

    pub fn start_round(&mut self, number: u32, kind: RoundKind) {
        self.rounds.push(Round {
            number,
            kind,
            turns: Vec::new(),
            changes: Taken::default(),
            figures: None,
            summary: None,
            diversity: None,
            evaluation: None,
        });
    }

    /// Adds the turns of a group of seats that spoke without hearing each other. Absent seats have none.
    pub fn add_turns(
        &mut self,
        turns: impl IntoIterator<Item = (String, Option<Turn<Contribution>>)>,
    ) {
        let Some(round) = self.rounds.last_mut() else {
            return;
        };
        let group: Vec<(String, Turn<Contribution>)> = turns
            .into_iter()
            .filter_map(|(seat, turn)| turn.map(|turn| (seat, turn)))
            .collect();
        let moves: Vec<_> = group
            .iter()
            .map(|(seat, turn)| {
                let stance = self.panel.seat(seat).and_then(|seat| seat.stance);
                let mut moves = turn.reply.moves(stance);
                if let Some(enhanced) = &self.enhanced {
                    enhanced.apply_critiques(&mut moves, &turn.reply);
                }
                (seat.clone(), resolved(moves, &self.rules.sources).0)
            })
            .collect();
        let changes = self.state.take(round.number, &moves);
        if let Some(enhanced) = &mut self.enhanced {
            enhanced.add_turns(round.number, &group, &self.state, &self.rules.sources);
        }
        merge(&mut round.changes, changes);
        for (seat, turn) in group {
            for withheld in &turn.withheld {
                self.is_watched = true;
                let alarm = Alarm::Intent(withheld.rule.clone());
                if !self.alarms.contains(&alarm) {
                    self.alarms.push(alarm);
                }
            }
            round.turns.push(SeatTurn {
                seat,
                reply: turn.reply,
                remarks: turn.remarks,
                withheld: turn.withheld,
                spent: turn.spent,
                is_hidden: false,
            });
        }
    }

    /// Applies the safety evaluator's reply. Harmful turns are hidden from now on; a clear round ends the evaluation.
    pub fn apply_evaluation(&mut self, evaluation: Evaluation) {
        let Some(round) = self.rounds.last_mut() else {
            return;
        };
        match evaluation.risk {
            RiskLevel::Clear => self.is_watched = false,
            RiskLevel::Watch => {}
            RiskLevel::Harmful => {
                for turn in &mut round.turns {
                    if evaluation.withhold.contains(&turn.seat) {
                        turn.is_hidden = true;
                        self.state.redact(round.number, &turn.seat, WITHHELD);
                        if let Some(enhanced) = &mut self.enhanced {
                            enhanced.redact(round.number, &turn.seat, WITHHELD);
                        }
                    }
                }
            }
        }
        round.evaluation = Some(evaluation);
    }

    pub fn finish_round(&mut self, diversity: Option<Diversity>, measured: Option<Measurement>) {
        if let Some(round) = self.rounds.last_mut() {
            let figures = self
                .state
                .figures(round.number, round.changes.new_facts.len());
            round.summary = Some(RoundSummary::of(&self.state, &round.changes, &figures));
            round.figures = Some(figures);
            round.diversity = diversity;
            if round.kind == RoundKind::Objection {
                self.since_objection = self.rounds.len() - 1;
            }
        }
        if let (Some(enhanced), Some(round), Some(measured)) =
            (&mut self.enhanced, self.rounds.last(), measured)
        {
            enhanced.finish_round(round, &self.state, measured);
        }
    }

    pub fn add_decision(&mut self, decision: PersonDecision) {
        if let Some(enhanced) = &mut self.enhanced {
            enhanced.add_decision(decision);
        }
    }

    pub fn history(&self) -> Vec<Figures> {
        self.rounds
            .iter()
            .filter_map(|round| round.figures.clone())
            .collect()
    }

    /// The next step after the last round. A panel that agrees too easily plays an objection round before it may end (M-08).
    pub fn next_step(&self, max_rounds: u32) -> NextStep {
        let history = self.history();
        let Some(last) = self.rounds.last() else {
            return NextStep::Round(RoundKind::Ordinary);
        };
        match (last.kind, history.as_slice()) {
            (RoundKind::Objection, [.., before, after])
                if groupthink::objection_failed(before, after)
                    && !self.is_decided(last.number, Escalation::Groupthink) =>
            {
                return NextStep::Ask(Escalation::Groupthink);
            }
            (RoundKind::Objection, _) => {}
            (RoundKind::Ordinary, _) => {
                let since = history.get(self.since_objection..).unwrap_or_default();
                let diversity = last.diversity.unwrap_or(DIVERSE);
                if let Some(trigger) = groupthink::after_round(since, &diversity) {
                    return NextStep::Object(trigger);
                }
            }
        }
        match &self.enhanced {
            Some(enhanced) => enhanced.next_step(&self.rounds, &history, max_rounds),
            None => match votes::after_round(&history, max_rounds) {
                Some(exit) => NextStep::End(Ending::Exit(exit)),
                None => NextStep::Round(RoundKind::Ordinary),
            },
        }
    }

    fn is_decided(&self, round: u32, escalation: Escalation) -> bool {
        let enhanced = self.enhanced.as_ref();
        enhanced.is_some_and(|enhanced| enhanced.is_decided(round, escalation))
    }

    /// Whether no seat spoke in the last two rounds.
    pub fn is_silent(&self) -> bool {
        let mut last = self.rounds.iter().rev().take(2);
        self.rounds.len() >= 2 && last.all(|round| round.turns.is_empty())
    }

    pub fn last_position(&self, seat: &str) -> Option<&str> {
        let turns = self.rounds.iter().rev().flat_map(|round| &round.turns);
        let mut own = turns.filter(|turn| turn.seat == seat);
        own.next().map(|turn| turn.reply.position.as_str())
    }

    /// A seat's last position before this round, without hidden turns.
    pub fn position_before(&self, seat: &str, round: u32) -> Option<String> {
        let earlier = self.rounds.iter().rev().filter(|past| past.number < round);
        let mut own = earlier
            .flat_map(|past| &past.turns)
            .filter(|turn| turn.seat == seat && !turn.is_hidden);
        own.next().map(|turn| turn.reply.position.clone())
    }
}

fn merge(all: &mut Taken, more: Taken) {
    all.new_claims.extend(more.new_claims);
    all.new_facts.extend(more.new_facts);
    all.new_evidence.extend(more.new_evidence);
    all.new_decisions.extend(more.new_decisions);
    all.touched.extend(more.touched);
    all.unknown.extend(more.unknown);
}
