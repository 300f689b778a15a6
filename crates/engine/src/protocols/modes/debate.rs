//! A debate of the modes as it stands: a fold over turns, kept by the program. The protocol plays by it, and whoever
//! follows the journal folds the same entries into the same.

use roundtable_core::convergence::Status;
use roundtable_core::groupthink::{self, Diversity, Trigger};
use roundtable_core::state::{DebateState, Taken};
use roundtable_core::votes::{self, Exit, Figures};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::checks::Kind;
use super::enhanced::{Chosen, Matter, Measurement, PersonDecision, Play, PromptEvidence};
use super::panel::{Panel, Panelist};
use super::references::resolved;
use super::replies::{Ballot, Contribution, Evaluation, RiskLevel};
use super::rules::Rules;
use crate::context::{Context, Fixed, Limits, Material, PastTurn, RoundSummary, Shown, Window};
use crate::event::{Setup, Spent, Words};
use crate::mode::{Caution, SpeakingOrder, Visibility};
use crate::safety::{self, Alarm, Withheld};
use crate::table::Turn;
use crate::tokens;
use crate::tools::{self, Toolbox};

/// What the templates take beside the texts of the mode, in tokens.
const TEMPLATE: u64 = 1100;
/// How much of what a person said is passed on, the newest first.
const PERSON: u64 = 600;
/// What passages of the user's sources may take where a seat cannot search them itself.
const PASSAGES: u64 = 1200;
const PASSAGES_SMALL: u64 = 250;
const MOST_PASSAGES: usize = 8;
/// How long a position or a demand is told to others.
const HEAD_WORDS: u64 = 60;

#[derive(Debug, Clone)]
pub struct Debate {
    pub panel: Panel,
    pub rules: Rules,
    pub question: String,
    seed: u64,
    pub state: DebateState,
    pub rounds: Vec<Round>,
    pub ballots: Vec<BlindVote>,
    pub person: Vec<Words>,
    window: Window,
    context: Context,
    /// What the program found in the sources for seats that cannot search themselves.
    passages: Vec<String>,
    /// Rounds before this place do not count for the triggers of groupthink any more.
    since_objection: usize,
    pub alarms: Vec<Alarm>,
    pub watch: Watch,
    /// `None` in a plain debate.
    pub enhanced: Option<Play>,
    /// What an enhanced debate adds to the prompts of this round.
    pub told: Option<PromptEvidence>,
}

/// Whether the safety evaluator sits at the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Watch {
    Away,
    Present,
}

/// A blind vote and what it cost.
#[derive(Debug, Clone)]
pub struct BlindVote {
    pub seat: String,
    pub ballot: Ballot,
    pub spent: Spent,
}

#[derive(Debug, Clone)]
pub struct Round {
    pub number: u32,
    pub kind: Kind,
    pub turns: Vec<Spoken>,
    pub taken: Taken,
    /// Once the round is over.
    pub figures: Option<Figures>,
    pub summary: Option<RoundSummary>,
    pub diversity: Option<Diversity>,
    pub evaluation: Option<Evaluation>,
}

#[derive(Debug, Clone)]
pub struct Spoken {
    pub seat: String,
    pub reply: Contribution,
    pub remarks: Vec<String>,
    pub withheld: Vec<Withheld>,
    pub spent: Spent,
    pub hidden: Hidden,
}

/// Whether the safety evaluator keeps a turn from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hidden {
    No,
    Yes,
}

/// What comes after a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    Round,
    Objection(Trigger),
    /// The critical objections came to nothing: a person decides.
    Person,
    End(Exit),
    /// The panel agrees too early: a round of objections before anything may end (E-08).
    Advocate,
    /// What was measured is a consensus (E-08).
    Converged(Status),
    /// A person decides (E-09).
    Escalate(Matter),
}

const WITHHELD: &str = "[withheld by the safety evaluator]";

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
            person: Vec::new(),
            context: Context::default(),
            passages: Vec::new(),
            since_objection: 0,
            watch: if alarms.is_empty() {
                Watch::Away
            } else {
                Watch::Present
            },
            alarms,
            enhanced: rules.enhanced.as_ref().map(Play::new),
            told: None,
        }
    }

    /// What the person who asked has said; of very much, the newest.
    pub fn hear(&mut self, words: Vec<Words>) {
        let mut left = PERSON;
        let mut kept: Vec<Words> = Vec::new();
        for mut said in words.into_iter().rev() {
            if left < 8 {
                break;
            }
            said.text = tokens::shorten(&said.text, left);
            left = left.saturating_sub(tokens::count(&said.text));
            kept.insert(0, said);
        }
        self.person = kept;
    }

    /// Settles what the seats of this round are given to read, once for all of them.
    pub fn compose(&mut self, round: u32) {
        let play = self.enhanced.as_ref();
        self.told = play.map(|play| PromptEvidence::of(play, &self.state));
        self.passages = self.looked_up(round);
        self.context = self.composed(round);
    }

    /// The best passages for the question, the focus and what was claimed last, within their room.
    fn looked_up(&self, round: u32) -> Vec<String> {
        let sources = &self.rules.sources;
        let everyone_searches = self
            .panel
            .seats
            .iter()
            .all(|seat| self.rules.tool_seats.contains(&seat.name));
        if sources.is_empty() || everyone_searches {
            return Vec::new();
        }
        let last = self.rounds.last().map_or(0, |round| round.number);
        let claims = self.state.claims.iter();
        let claims = claims.filter(|claim| last > 0 && claim.last_updated_round == last);
        let words: Vec<&str> = std::iter::once(self.question.as_str())
            .chain(self.rules.focus.get(&round).map(String::as_str))
            .chain(claims.map(|claim| claim.text.as_str()))
            .collect();
        let mut left = if self.panel.is_small() {
            PASSAGES_SMALL
        } else {
            PASSAGES
        };
        let mut told = Vec::new();
        for passage in sources.search(&words.join(" "), MOST_PASSAGES) {
            let quoted = tools::quoted(passage, left);
            let takes = tokens::count(&quoted);
            if takes > left {
                break;
            }
            left -= takes;
            told.push(quoted);
        }
        told
    }

    /// What is found for a seat that cannot search itself.
    pub fn passages_for(&self, seat: &str) -> &[String] {
        if self.rules.tool_seats.contains(seat) {
            &[]
        } else {
            &self.passages
        }
    }

    /// What a seat may search and calculate with.
    pub fn toolbox_of(&self, seat: &str) -> Option<Toolbox> {
        let may = self.rules.tool_seats.contains(seat);
        may.then(|| Toolbox::new(self.rules.sources.clone()))
    }

    pub fn begin(&mut self, number: u32, kind: Kind) {
        self.rounds.push(Round {
            number,
            kind,
            turns: Vec::new(),
            taken: Taken::default(),
            figures: None,
            summary: None,
            diversity: None,
            evaluation: None,
        });
    }

    fn composed(&mut self, round: u32) -> Context {
        let previous = self
            .rounds
            .last()
            .map_or_else(Vec::new, |round| self.past_turns(round, Claims::ById));
        let summaries: Vec<RoundSummary> = self
            .rounds
            .iter()
            .filter_map(|round| round.summary.clone())
            .collect();
        // Before anybody has spoken there is nothing that could give way.
        let fixed = if self.rounds.is_empty() {
            Fixed::default()
        } else {
            self.fixed(round)
        };
        let material = Material {
            round,
            state: &self.state,
            summaries: &summaries,
            previous: &previous,
            visibility: self.rules.mode.visibility,
            fixed: &fixed,
        };
        let mut window = self.window.clone();
        let context = window.compose(&material);
        self.window = window;
        Context {
            state: self.unnamed(&context.state),
            summaries: context
                .summaries
                .into_iter()
                .map(|it| Shown {
                    text: self.unnamed(&it.text),
                    ..it
                })
                .collect(),
            ..context
        }
    }

    /// Everything in a prompt that is not the debate itself.
    fn fixed(&self, round: u32) -> Fixed<'_> {
        let person = self.person.iter().map(|words| words.text.as_str());
        let focus = self.rules.focus.get(&round).map(String::as_str);
        let passages = self.passages.iter().map(String::as_str);
        let current = match self.rules.mode.order {
            SpeakingOrder::Parallel => 0,
            SpeakingOrder::Sequence | SpeakingOrder::RedThenBlue => Limits::FULL.current,
        };
        let told = self.told.as_ref().map_or(0, PromptEvidence::tokens);
        Fixed {
            texts: self
                .rules
                .mode
                .texts()
                .chain(person)
                .chain(focus)
                .chain(passages)
                .chain([self.question.as_str()])
                .collect(),
            others: TEMPLATE + current + told,
        }
    }

    /// What every seat of this round reads of the debate.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// What the chair reads at the end.
    pub fn closing_context(&mut self) -> Context {
        let next = self.rounds.last().map_or(1, |round| round.number + 1);
        self.composed(next)
    }

    /// What those before a seat have said in this round. Nobody hears anybody of the own group.
    pub fn current(&self) -> Vec<Shown> {
        let turns = self
            .rounds
            .last()
            .map_or_else(Vec::new, |round| self.past_turns(round, Claims::InFull));
        self.window.current(&turns)
    }

    /// This round for the safety evaluator, who has to name seats whatever the others may know.
    pub fn for_evaluation(&self) -> Vec<Shown> {
        let turns = self.rounds.last().map_or_else(Vec::new, |round| {
            let turns = round.turns.iter();
            let past = turns.map(|turn| PastTurn {
                by: turn.seat.clone(),
                head: self.head(round, turn, Claims::InFull),
                argument: turn.reply.argument.clone(),
            });
            past.collect()
        });
        self.window.in_full(&turns)
    }

    /// What a seat said of its position last.
    pub fn last_position(&self, seat: &str) -> Option<&str> {
        let turns = self.rounds.iter().rev().flat_map(|round| &round.turns);
        let mut own = turns.filter(|turn| turn.seat == seat);
        own.next().map(|turn| turn.reply.position.as_str())
    }

    /// What a seat said of its position last before this round, where others may hear it.
    pub fn position_before(&self, seat: &str, round: u32) -> Option<String> {
        let earlier = self.rounds.iter().rev().filter(|it| it.number < round);
        let mut own = earlier
            .flat_map(|it| &it.turns)
            .filter(|turn| turn.seat == seat && turn.hidden == Hidden::No);
        own.next().map(|turn| turn.reply.position.clone())
    }

    /// Arguments of the others in this round and the one before, to tell who repeats whom.
    pub fn peers_of(&self, seat: &str) -> Vec<(String, String)> {
        let rounds = self.rounds.iter().rev().take(2);
        let turns = rounds
            .flat_map(|round| &round.turns)
            .filter(|turn| turn.seat != seat);
        turns
            .map(|turn| {
                let who = match self.rules.mode.visibility {
                    Visibility::Named => turn.seat.clone(),
                    Visibility::Anonymous => "another participant".to_owned(),
                };
                (who, turn.reply.argument.clone())
            })
            .collect()
    }

    /// Ids that can be named now: claims, and claims with decisions.
    pub fn claim_ids(&self) -> Vec<String> {
        const MOST: usize = 80;
        let skipped = self.state.claims.len().saturating_sub(MOST);
        let is_kept = |(index, claim): &(usize, &roundtable_core::state::Claim)| {
            *index >= skipped || claim.status == roundtable_core::state::ClaimStatus::Contested
        };
        let claims = self.state.claims.iter().enumerate().filter(is_kept);
        claims.map(|(_, claim)| claim.id.clone()).collect()
    }

    pub fn supportable_ids(&self) -> Vec<String> {
        let decisions = self.state.decisions.iter().map(|it| it.id.clone());
        self.claim_ids().into_iter().chain(decisions).collect()
    }

    /// Takes up what a group of seats said without having heard each other.
    pub fn take(&mut self, group: Vec<(String, Turn<Contribution>)>) {
        let Some(round) = self.rounds.last_mut() else {
            return;
        };
        let moves: Vec<_> = group
            .iter()
            .map(|(seat, turn)| {
                let stance = self.panel.seat(seat).and_then(|it| it.stance);
                let mut moves = turn.reply.moves(stance);
                if let Some(play) = &self.enhanced {
                    play.amend(&mut moves, &turn.reply);
                }
                (seat.clone(), resolved(moves, &self.rules.sources).0)
            })
            .collect();
        let taken = self.state.take(round.number, &moves);
        if let Some(play) = &mut self.enhanced {
            play.take(round.number, &group, &self.state, &self.rules.sources);
        }
        merge(&mut round.taken, taken);
        for (seat, turn) in group {
            let rules = turn
                .withheld
                .iter()
                .map(|it| Alarm::Intent(it.rule.clone()));
            for alarm in rules {
                self.watch = Watch::Present;
                if !self.alarms.contains(&alarm) {
                    self.alarms.push(alarm);
                }
            }
            round.turns.push(Spoken {
                seat,
                reply: turn.reply,
                remarks: turn.remarks,
                withheld: turn.withheld,
                spent: turn.spent,
                hidden: Hidden::No,
            });
        }
    }

    /// What the safety evaluator said: harmful turns are kept from everybody from now on; when all is clear it leaves.
    pub fn heed(&mut self, evaluation: Evaluation) {
        let Some(round) = self.rounds.last_mut() else {
            return;
        };
        match evaluation.risk {
            RiskLevel::Clear => self.watch = Watch::Away,
            RiskLevel::Watch => {}
            RiskLevel::Harmful => {
                for turn in &mut round.turns {
                    if evaluation.withhold.contains(&turn.seat) {
                        turn.hidden = Hidden::Yes;
                        self.state.redact(round.number, &turn.seat, WITHHELD);
                        if let Some(play) = &mut self.enhanced {
                            play.redact(round.number, &turn.seat, WITHHELD);
                        }
                    }
                }
            }
        }
        round.evaluation = Some(evaluation);
    }

    /// The round is over.
    pub fn close(&mut self, diversity: Option<Diversity>, measured: Option<Measurement>) {
        if let Some(round) = self.rounds.last_mut() {
            let figures = self
                .state
                .figures(round.number, round.taken.new_facts.len());
            round.summary = Some(RoundSummary::of(&self.state, &round.taken, &figures));
            round.figures = Some(figures);
            round.diversity = diversity;
            if round.kind == Kind::Objection {
                self.since_objection = self.rounds.len() - 1;
            }
        }
        if let (Some(play), Some(round), Some(measured)) =
            (&mut self.enhanced, self.rounds.last(), measured)
        {
            play.close(round, &self.state, measured);
        }
    }

    /// A person has decided. Gives what the debate ends with, if that ends it.
    pub(super) fn decided(&mut self, decision: PersonDecision) -> Option<Chosen> {
        self.enhanced.as_mut()?.decided(decision)
    }

    pub fn history(&self) -> Vec<Figures> {
        self.rounds
            .iter()
            .filter_map(|round| round.figures.clone())
            .collect()
    }

    /// What comes now. A panel that agrees too easily is not let go before it has tried to object (M-08).
    pub fn next(&self, cap: u32) -> Next {
        let history = self.history();
        let Some(last) = self.rounds.last() else {
            return Next::Round;
        };
        match (last.kind, history.as_slice()) {
            (Kind::Objection, [.., before, after])
                if groupthink::objection_failed(before, after)
                    && !self.has_decided(last.number) =>
            {
                return Next::Person;
            }
            (Kind::Objection, _) => {}
            (Kind::Ordinary, _) => {
                let since = history.get(self.since_objection..).unwrap_or_default();
                let diversity = last.diversity.unwrap_or(DIVERSE);
                if let Some(trigger) = groupthink::after_round(since, &diversity) {
                    return Next::Objection(trigger);
                }
            }
        }
        match &self.enhanced {
            Some(play) => play.next(&self.rounds, &history, cap),
            None => votes::after_round(&history, cap).map_or(Next::Round, Next::End),
        }
    }

    /// Whether a person has said already what they think of objections that came to nothing.
    fn has_decided(&self, round: u32) -> bool {
        let decisions = self.enhanced.iter().flat_map(|play| &play.decisions);
        let mut here = decisions.filter(|it| it.round == round);
        here.any(|it| it.matter == Matter::Groupthink)
    }

    /// Two rounds running nobody had anything to say.
    pub fn is_silent(&self) -> bool {
        let mut last = self.rounds.iter().rev().take(2);
        self.rounds.len() >= 2 && last.all(|round| round.turns.is_empty())
    }

    /// The turns of a round as others read them.
    fn past_turns(&self, round: &Round, claims: Claims) -> Vec<PastTurn> {
        let mut turns: Vec<PastTurn> = round
            .turns
            .iter()
            .map(|turn| self.past_turn(round, turn, claims))
            .collect();
        if self.rules.mode.visibility == Visibility::Anonymous {
            // Neither names nor an order that stays the same from round to round may tell who is who.
            let key = |turn: &PastTurn| {
                Sha256::digest(format!("{}/{}/{}", self.seed, round.number, turn.argument)).to_vec()
            };
            turns.sort_by_cached_key(key);
        }
        turns
    }

    fn past_turn(&self, round: &Round, turn: &Spoken, claims: Claims) -> PastTurn {
        let by = match self.rules.mode.visibility {
            Visibility::Named => format!("{}, round {}", self.named(&turn.seat), round.number),
            Visibility::Anonymous => "a participant".to_owned(),
        };
        if turn.hidden == Hidden::Yes {
            return PastTurn {
                by,
                head: WITHHELD.to_owned(),
                argument: String::new(),
            };
        }
        let head = self.head(round, turn, claims);
        PastTurn {
            by,
            head: self.unnamed(&head),
            argument: self.unnamed(&turn.reply.argument),
        }
    }

    fn named(&self, seat: &str) -> String {
        match self.panel.seat(seat) {
            Some(Panelist {
                team: Some(team), ..
            }) => format!("{seat} of the {} team", team.name()),
            Some(Panelist {
                stance: Some(stance),
                ..
            }) => format!("{seat}, for {}", stance.name()),
            Some(_) | None => seat.to_owned(),
        }
    }

    fn head(&self, round: &Round, turn: &Spoken, claims: Claims) -> String {
        let reply = &turn.reply;
        let mut lines = vec![
            format!(
                "{}, confidence {:.2}",
                reply.vote.name(),
                reply.confidence.value()
            ),
            format!("Position: {}", tokens::shorten(&reply.position, HEAD_WORDS)),
        ];
        let blocker = reply
            .blocker
            .as_deref()
            .filter(|text| !reply.vote.agrees() && !text.trim().is_empty());
        lines.extend(blocker.map(|text| format!("BLOCKER: {}", tokens::shorten(text, HEAD_WORDS))));
        if let Some(touched) = round.taken.touched.get(&turn.seat) {
            for (verb, ids) in [
                ("New", &touched.introduced),
                ("Supports", &touched.reinforced),
                ("Challenges", &touched.challenged),
                ("Retracts", &touched.retracted),
            ] {
                if !ids.is_empty() {
                    lines.push(format!("{verb}: {}", ids.join(", ")));
                }
            }
            if claims == Claims::InFull {
                let new = touched
                    .introduced
                    .iter()
                    .filter_map(|id| self.state.claim(id));
                lines.extend(
                    new.map(|it| {
                        format!("{} {} {}", it.id, it.tag(), tokens::shorten(&it.text, 30))
                    }),
                );
            }
        }
        lines.join("\n")
    }

    /// In an anonymous debate a seat that names itself, or another, is not heard doing so.
    fn unnamed(&self, text: &str) -> String {
        match self.rules.mode.visibility {
            Visibility::Named => text.to_owned(),
            Visibility::Anonymous => self.panel.seats.iter().fold(text.to_owned(), |text, seat| {
                let names = [seat.name.as_str(), seat.title.as_str(), seat.anchor.name()];
                names
                    .into_iter()
                    .fold(text, |text, name| without(&text, name))
            }),
        }
    }
}

/// Whether a turn's new claims are told by their ids or in full: in the round itself they are not in the state yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Claims {
    ById,
    InFull,
}

/// Where nothing is measured, nothing is suspected.
const DIVERSE: Diversity = Diversity {
    sources: usize::MAX,
    premise_overlap: 0.0,
    clusters: usize::MAX,
};

/// A text with every mention of a name, in whatever case, exchanged for nobody in particular.
fn without(text: &str, name: &str) -> String {
    let lower = text.to_lowercase();
    let name = name.to_lowercase();
    // Small letters of another length would shift every place: such a text has no Latin name to hide anyway.
    if name.is_empty() || lower.len() != text.len() || !lower.contains(&name) {
        return text.to_owned();
    }
    let mut clean = String::with_capacity(text.len());
    let mut from = 0;
    for (at, found) in lower.match_indices(&name) {
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let is_whole = !is_word(lower[..at].chars().next_back())
            && !is_word(lower[at + found.len()..].chars().next());
        if is_whole && at >= from {
            clean.push_str(&text[from..at]);
            clean.push_str("a participant");
            from = at + found.len();
        }
    }
    clean.push_str(&text[from..]);
    clean
}

fn merge(all: &mut Taken, more: Taken) {
    all.new_claims.extend(more.new_claims);
    all.new_facts.extend(more.new_facts);
    all.new_evidence.extend(more.new_evidence);
    all.new_decisions.extend(more.new_decisions);
    all.touched.extend(more.touched);
    all.unknown.extend(more.unknown);
}
