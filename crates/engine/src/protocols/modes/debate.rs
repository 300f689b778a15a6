//! The state of a debate: a fold over its turns. The protocol plays by it, and a replay of the journal builds the same state.

mod prompt_view;
mod turn_view;

use roundtable_core::groupthink::{self, Diversity, Trigger};
use roundtable_core::state::{DebateState, Moves, Taken};
use roundtable_core::votes::{self, Exit, Figures};
use sha2::{Digest, Sha256};

use super::checks;
use super::decision::PanelDecision;
use super::enhanced::{EnhancedState, Escalation, Measurement, PersonDecision, PromptEvidence};
use super::panel::Panel;
use super::references::resolved;
use super::replies::{Ballot, Contribution, Evaluation, RiskLevel};
use super::rules::{Edition, EscalationPolicy, Numbering, Rules};
use super::verdict::Ending;
use crate::algorithm::EndsBy;
use crate::context::{Context, Limits, RoundSummary, Window};
use crate::event::{Setup, Spent, Words};
use crate::mode::{Caution, Estimates, Stances};
use crate::safety::{self, Alarm, Withheld};
use crate::table::Turn;

const WITHHELD: &str = crate::withheld::NOTICE;

#[derive(Debug, Clone)]
pub struct Debate {
    pub panel: Panel,
    pub rules: Rules,
    pub question: String,
    seed: u64,
    /// The share of every prompt that the parent of a follow-up uses.
    parent_tokens: u64,
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
    /// The additions of an enhanced debate to the prompts of this round.
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
    /// As said.
    pub reply: Contribution,
    /// As others read it: citing ids of evidence in place of the numbers of its own list.
    pub heard: Contribution,
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

/// The step after a round.
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
        let panel = Panel::of(setup, rules);
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
            parent_tokens: setup.parent.as_ref().map_or(0, |parent| parent.tokens()),
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
            .filter_map(|(seat, turn)| turn.map(|turn| (seat, checks::tidied(turn))))
            .collect();
        let moves: Vec<(String, Moves)> = group
            .iter()
            .map(|(seat, turn)| {
                let stance = self.panel.seat(seat).and_then(|seat| seat.stance);
                let mut moves = turn.reply.moves(stance);
                if let Some(enhanced) = &self.enhanced {
                    enhanced.apply_critiques(&mut moves, seat, &turn.reply, &self.state);
                }
                (seat.clone(), resolved(moves, &self.rules.sources).0)
            })
            .collect();
        let changes = match self.rules.numbering {
            Numbering::BySeat => self.state.take(round.number, &moves),
            Numbering::Shuffled => {
                let mut shuffled: Vec<&(String, Moves)> = moves.iter().collect();
                let key = |seat: &str| {
                    Sha256::digest(format!("{}/{}/{seat}", self.seed, round.number)).to_vec()
                };
                shuffled.sort_by_cached_key(|(seat, _)| key(seat));
                self.state.take_in_order(round.number, &shuffled)
            }
        };
        if let Some(enhanced) = &mut self.enhanced {
            enhanced.add_turns(
                round.number,
                &group,
                &changes,
                &self.state,
                &self.rules.sources,
            );
        }
        let registered = changes.registered.clone();
        merge(&mut round.changes, changes);
        for (seat, turn) in group {
            let ids = registered.get(&seat).cloned().unwrap_or_default();
            for withheld in &turn.withheld {
                self.is_watched = true;
                let alarm = Alarm::Intent(withheld.rule.clone());
                if !self.alarms.contains(&alarm) {
                    self.alarms.push(alarm);
                }
            }
            round.turns.push(SeatTurn {
                heard: turn.reply.clone().citing(&ids.references),
                reply: turn.reply,
                seat,
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
            let mut figures = self
                .state
                .figures(round.number, round.changes.new_facts.len());
            if self.rules.edition == Edition::First {
                figures.silent = 0;
            }
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

    /// The next step after the last round. A panel that settles too early plays an objection round before it may end (M-08).
    pub fn next_step(&self, max_rounds: u32) -> NextStep {
        let history = self.history();
        let Some(last) = self.rounds.last() else {
            return NextStep::Round(RoundKind::Ordinary);
        };
        match (last.kind, history.as_slice()) {
            (RoundKind::Objection, [.., before, after])
                if groupthink::objection_failed(before, after)
                    && self.asks_person()
                    // Small models seldom find an objection, so its absence is not worth a person's decision.
                    && !self.panel.is_small()
                    && !self.is_decided(last.number, Escalation::Groupthink) =>
            {
                return NextStep::Ask(Escalation::Groupthink);
            }
            (RoundKind::Objection, _) => {}
            (RoundKind::Ordinary, _) if self.rules.brief => {}
            (RoundKind::Ordinary, _) => {
                let since = history.get(self.since_objection..).unwrap_or_default();
                let diversity = last.diversity.unwrap_or(DIVERSE);
                if let Some(trigger) = groupthink::after_round(since, &diversity) {
                    return NextStep::Object(trigger);
                }
            }
        }
        match &self.enhanced {
            Some(enhanced) if enhanced.is_vetoed(last.number) => {
                NextStep::Ask(Escalation::SecurityObjection)
            }
            Some(enhanced) if enhanced.rules.ends_by == EndsBy::Convergence => {
                enhanced.after_convergence(&self.rounds, max_rounds, &self.rules)
            }
            Some(_) | None => self.after_votes(&history, max_rounds),
        }
    }

    /// Ends by votes (M-05). Contradicting answers are counted, and without a sufficient majority a person decides (E-21).
    fn after_votes(&self, history: &[Figures], max_rounds: u32) -> NextStep {
        let exit = votes::after_round(history, max_rounds);
        let (Some(last), Some(decision)) = (history.last(), self.panel_decision()) else {
            return exit.map_or(NextStep::Round(RoundKind::Ordinary), |exit| {
                NextStep::End(Ending::Exit(exit))
            });
        };
        let is_majority = decision.ends_rounds(last);
        // Assigned stances differ by design, estimates are summed up by their median, and small models are not asked for a typed
        // answer: none of them needs a person.
        let mode = &self.rules.mode;
        let is_estimated = mode.estimates != Estimates::None && decision.answers.len() < 2;
        let is_settled = mode.stances == Stances::Assigned || is_estimated || self.panel.is_small();
        match exit {
            Some(Exit::Consensus) => NextStep::End(Ending::Exit(Exit::Consensus)),
            _ if is_majority => NextStep::End(Ending::Exit(Exit::Majority)),
            None => NextStep::Round(RoundKind::Ordinary),
            Some(exit) => {
                let is_asked = self.asks_person()
                    && !is_settled
                    && !self.is_decided(last.round, Escalation::NoMajority);
                // Absent seats make a result partial; the debate does not wait for them.
                if decision.contested && is_asked {
                    NextStep::Ask(Escalation::NoMajority)
                } else {
                    NextStep::End(Ending::Exit(exit))
                }
            }
        }
    }

    fn asks_person(&self) -> bool {
        self.rules.escalation == EscalationPolicy::Ask
    }

    /// The majority after the last finished round; `None` if the algorithm does not count answers.
    pub fn panel_decision(&self) -> Option<PanelDecision> {
        let rule = self.rules.majority_rule()?;
        let last = self
            .rounds
            .iter()
            .rev()
            .find_map(|round| round.figures.as_ref());
        last.map(|figures| PanelDecision::of(figures, rule))
    }

    /// Why the debate ended, and how the panel is split if it is.
    pub fn explained(&self, ending: &Ending) -> String {
        let reason = ending.explanation();
        match (ending, self.panel_decision()) {
            (Ending::Exit(exit), Some(decision)) if *exit != Exit::Consensus => {
                let split = decision.split();
                if decision.answers.is_empty() {
                    // Small models are not asked for a typed answer.
                    reason
                } else if !decision.carried {
                    format!("{reason}; no consensus: {split}")
                } else if decision.minority.is_empty() && decision.silent == 0 {
                    reason
                } else {
                    format!("{reason}; {split}")
                }
            }
            _ => reason,
        }
    }

    /// Notes for the user about the debate as a whole.
    pub fn remarks(&self) -> Vec<String> {
        let played = self.rounds.last().map_or(0, |round| round.number);
        let unplayed = self.rules.focus.range(played + 1..);
        unplayed
            .map(|(round, focus)| {
                format!("The focus of round {round} was not debated, because the debate ended after round {played}: {focus}")
            })
            .collect()
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
    all.registered.extend(more.registered);
    all.unknown.extend(more.unknown);
}
