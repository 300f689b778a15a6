//! The state of a debate between proposer and skeptic: a fold over their turns.

use minijinja::Value;
use roundtable_core::bounded::OutOfTen;
use roundtable_core::issues::{Issue, Ledger, Severity, Status};
use roundtable_core::stopping::Assessment;
use roundtable_core::usage::Money;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::replies::{Critique, Opening, Review, Revision};
use super::rules::Rules;
use crate::event::{Entry, Event, FinishedStep, Spent, Words};
use crate::prompt::given;
use crate::protocols::replay;
use crate::table::Turn;

/// The state after the turns so far.
///
/// The live debate and everything that reads a journal (report, trace) use this one fold: [`Debate::start_round`] and
/// [`Debate::apply`].
#[derive(Debug, Default)]
pub struct Debate {
    exchanges: Vec<Exchange>,
    past: Vec<PastTurn>,
    ledger: Ledger,
    answer: Option<String>,
    first: Option<FirstAnswer>,
    /// Messages of the person who asked.
    person: Vec<Words>,
    /// The skeptic's assessments of the whole answer, with their rounds.
    assessments: Vec<(u32, Assessment)>,
    /// The skeptic's last turn without its list of issues.
    remarks: Option<String>,
    /// Rules that turns still broke after they were sent back.
    broken_rules: Vec<String>,
}

/// One round as people read it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Exchange {
    pub round: u32,
    pub proposer: Option<String>,
    pub skeptic: Option<String>,
}

/// The blind first answer and its cost.
#[derive(Debug, Clone)]
pub(super) struct FirstAnswer {
    pub(super) answer: String,
    pub(super) spent: Spent,
}

/// A turn as prompts contain it. Rendered once, because every later prompt repeats it.
#[derive(Debug)]
struct PastTurn {
    round: u32,
    context: Value,
}

/// A turn of one of the rounds.
#[derive(Debug)]
pub enum RoundTurn {
    Opening(Turn<Opening>),
    Revision(Turn<Revision>),
    Critique(Turn<Critique>),
    Review(Turn<Review>),
}

impl RoundTurn {
    /// The seat, and the rules that its reply broke.
    fn remarks(&self) -> (&'static str, &[String]) {
        match self {
            Self::Opening(turn) => ("proposer", &turn.remarks),
            Self::Revision(turn) => ("proposer", &turn.remarks),
            Self::Critique(turn) => ("skeptic", &turn.remarks),
            Self::Review(turn) => ("skeptic", &turn.remarks),
        }
    }

    /// `None` for the steps after the rounds.
    fn of_step(step: &FinishedStep) -> Option<Self> {
        match replay::verb(step) {
            "propose" => replay::turn(step).map(Self::Opening),
            "revise" => replay::turn(step).map(Self::Revision),
            "criticise" => replay::turn(step).map(Self::Critique),
            "review" => replay::turn(step).map(Self::Review),
            _ => None,
        }
    }
}

/// An issue as prompts contain it, without its history, which grows with every round.
#[derive(Debug, Serialize)]
pub struct OpenIssue<'a> {
    id: &'a str,
    raised_in: u32,
    severity: Severity,
    status: Status,
    location: &'a str,
    problem: &'a str,
    why_it_matters: &'a str,
    suggested_fix: &'a str,
    is_answered: bool,
    /// Why the skeptic did not accept the last response, or the lack of one.
    last_verdict: Option<&'a str>,
}

impl<'a> OpenIssue<'a> {
    fn of(issue: &'a Issue) -> Self {
        let finding = &issue.finding;
        Self {
            id: &issue.id,
            raised_in: issue.raised_in,
            severity: finding.severity,
            status: issue.status,
            location: &finding.location,
            problem: &finding.problem,
            why_it_matters: &finding.why_it_matters,
            suggested_fix: &finding.suggested_fix,
            is_answered: !issue.answers.is_empty(),
            last_verdict: issue
                .verdicts
                .last()
                .map(|verdict| verdict.what.reason.as_str()),
        }
    }
}

impl Debate {
    /// A debate in which no seat has spoken. An answer of the caller takes the place of the proposer's in round 1.
    pub(super) fn new(rules: &Rules) -> Self {
        let mut debate = Self::default();
        if let Some(own) = &rules.my_answer {
            debate.first = Some(FirstAnswer {
                answer: own.clone(),
                spent: Spent {
                    cost: Some(Money::ZERO),
                    ..Spent::default()
                },
            });
            debate.propose(1, own.clone(), own.clone());
        }
        debate
    }

    /// The debate up to the last entry of its journal.
    pub fn replay(entries: &[Entry]) -> Self {
        let setup = entries.iter().find_map(|entry| entry.event.setup());
        let rules = setup.and_then(|setup| Rules::deserialize(&setup.rules).ok());
        let mut debate = rules.as_ref().map(Self::new).unwrap_or_default();
        for entry in entries {
            if let Event::RoundStarted { round, .. } = &entry.event {
                debate.start_round(*round);
            } else if let Some(step) = entry.event.finished()
                && let Some(turn) = RoundTurn::of_step(step)
            {
                debate.apply(step.call.round, turn);
            }
        }
        debate
    }

    /// Replaces the messages of the person who asked; `words` has all of them.
    pub fn set_person(&mut self, words: Vec<Words>) {
        self.person = words;
    }

    pub fn person(&self) -> &[Words] {
        &self.person
    }

    pub(super) fn start_round(&mut self, round: u32) {
        self.exchange(round);
    }

    /// Adds a turn. `round` may be before the last one: in a reopened debate, failed steps are retried.
    pub(super) fn apply(&mut self, round: u32, turn: RoundTurn) {
        let (seat, remarks) = turn.remarks();
        let remarks = remarks.iter();
        let remarks = remarks.map(|remark| format!("The {seat} in round {round}: {remark}"));
        self.broken_rules.extend(remarks);
        match turn {
            RoundTurn::Opening(turn) => {
                self.first = Some(FirstAnswer {
                    answer: turn.reply.answer.clone(),
                    spent: turn.spent,
                });
                self.propose(round, turn.reply.answer, turn.text);
            }
            RoundTurn::Revision(turn) => {
                let responses = self.ledger.usable(&turn.reply.responses);
                self.ledger.answer(round, responses);
                self.propose(round, turn.reply.answer, turn.text);
            }
            RoundTurn::Critique(turn) => {
                let assessment = turn.reply.overall();
                self.ledger.raise(round, turn.reply.issues);
                self.criticise(round, assessment, turn.reply.assessment, turn.text);
            }
            RoundTurn::Review(turn) => {
                let assessment = turn.reply.overall();
                self.ledger.judge(round, turn.reply.verdicts);
                self.ledger.raise(round, turn.reply.new_issues);
                self.criticise(round, assessment, turn.reply.assessment, turn.text);
            }
        }
    }

    fn propose(&mut self, round: u32, answer: String, text: String) {
        self.answer = Some(answer);
        self.add_to_history(round, "proposer", &text);
        self.exchange(round).proposer = Some(text);
    }

    fn criticise(&mut self, round: u32, assessment: Assessment, remarks: String, text: String) {
        self.assessments.push((round, assessment));
        self.remarks = Some(remarks);
        self.add_to_history(round, "skeptic", &text);
        self.exchange(round).skeptic = Some(text);
    }

    fn add_to_history(&mut self, round: u32, seat: &'static str, text: &str) {
        let context = given!({ "round": round, "seat": seat, "text": text });
        self.past.push(PastTurn { round, context });
    }

    fn exchange(&mut self, round: u32) -> &mut Exchange {
        let known = self
            .exchanges
            .iter()
            .position(|exchange| exchange.round == round);
        let index = known.unwrap_or_else(|| {
            self.exchanges.push(Exchange {
                round,
                ..Exchange::default()
            });
            self.exchanges.len() - 1
        });
        &mut self.exchanges[index]
    }

    /// The last round in which a seat spoke.
    pub fn rounds(&self) -> u32 {
        self.last_round_with(|exchange| exchange.proposer.is_some() || exchange.skeptic.is_some())
    }

    /// The last round that was started, whether or not a seat spoke in it.
    pub(super) fn last_started(&self) -> u32 {
        self.exchanges.last().map_or(0, |exchange| exchange.round)
    }

    pub(super) fn wants_opening(&self) -> bool {
        self.answer.is_none()
    }

    /// There is a critique that came after the latest proposal.
    pub(super) fn wants_revision(&self) -> bool {
        self.has_critique() && self.last_critique() >= self.last_proposal()
    }

    /// There is a proposal and no critique so far.
    pub(super) fn wants_critique(&self) -> bool {
        self.answer.is_some() && !self.has_critique()
    }

    /// There is a proposal that came after the latest critique.
    pub(super) fn wants_review(&self) -> bool {
        self.has_critique() && self.last_proposal() > self.last_critique()
    }

    /// The number of drafts so far.
    pub(super) fn proposals(&self) -> usize {
        let exchanges = self.exchanges.iter();
        exchanges
            .filter(|exchange| exchange.proposer.is_some())
            .count()
    }

    fn last_proposal(&self) -> u32 {
        self.last_round_with(|exchange| exchange.proposer.is_some())
    }

    fn last_critique(&self) -> u32 {
        self.last_round_with(|exchange| exchange.skeptic.is_some())
    }

    fn has_critique(&self) -> bool {
        self.exchanges
            .iter()
            .any(|exchange| exchange.skeptic.is_some())
    }

    fn last_round_with(&self, wanted: impl Fn(&Exchange) -> bool) -> u32 {
        self.exchanges
            .iter()
            .rev()
            .find(|exchange| wanted(exchange))
            .map_or(0, |exchange| exchange.round)
    }

    /// The number of latest rounds without a critique: nothing was tested in them.
    pub(super) fn idle_rounds(&self) -> usize {
        self.exchanges
            .iter()
            .rev()
            .take_while(|exchange| exchange.skeptic.is_none())
            .count()
    }

    /// The seat without which the latest rounds were idle.
    pub(super) fn absent_seat(&self) -> &'static str {
        if self.wants_opening() || self.wants_revision() {
            "proposer"
        } else {
            "skeptic"
        }
    }

    /// The skeptic's assessment in this round.
    pub fn assessment(&self, round: u32) -> Option<Assessment> {
        let (last, assessment) = self.assessments.last()?;
        (*last == round).then_some(*assessment)
    }

    /// The skeptic's quality scores, with their rounds.
    pub fn quality_scores(&self) -> impl Iterator<Item = (u32, OutOfTen)> {
        let assessments = self.assessments.iter();
        assessments.map(|(round, assessment)| (*round, assessment.quality))
    }

    pub fn open_critical(&self) -> usize {
        self.ledger.open_count(Severity::Critical)
    }

    pub fn last_quality(&self) -> Option<OutOfTen> {
        self.quality_scores().last().map(|(_, quality)| quality)
    }

    pub(super) fn into_ledger(self) -> Ledger {
        self.ledger
    }

    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The rounds up to the last one in which a seat spoke.
    pub fn exchanges(&self) -> &[Exchange] {
        let spoken = self.rounds();
        let played = self.exchanges.iter().position(|e| e.round > spoken);
        &self.exchanges[..played.unwrap_or(self.exchanges.len())]
    }

    /// Rules that turns of the rounds still broke after they were sent back.
    pub(super) fn broken_rules(&self) -> &[String] {
        &self.broken_rules
    }

    pub(super) fn first(&self) -> Option<&FirstAnswer> {
        self.first.as_ref()
    }

    pub fn open_issues(&self) -> Vec<OpenIssue<'_>> {
        self.ledger.open().into_iter().map(OpenIssue::of).collect()
    }

    pub fn open_ids(&self) -> Vec<String> {
        ids(&self.ledger.open())
    }

    /// Faults in the proposer's answers to the issues.
    pub(super) fn faults_of_revision(&self, reply: &Revision) -> Vec<String> {
        let named = reply.responses.iter().map(|response| &response.issue);
        let mut faults = self.unknown_issues(named.clone());
        faults.extend(self.none_named(named, "answered"));
        let contradicted = self.ledger.contradicted(&reply.responses).into_iter();
        faults.extend(contradicted.map(|id| format!("{id} is both accepted and defended.")));
        faults
    }

    /// Faults in the skeptic's verdicts on its earlier issues.
    pub(super) fn faults_of_review(&self, reply: &Review) -> Vec<String> {
        let named = reply.verdicts.iter().map(|verdict| &verdict.issue);
        let mut faults = self.unknown_issues(named.clone());
        faults.extend(self.none_named(named, "judged"));
        faults
    }

    /// A message if issues are open and a reply names none of those that exist.
    fn none_named<'a>(
        &self,
        mut named: impl Iterator<Item = &'a String>,
        what: &str,
    ) -> Option<String> {
        let open = self.open_ids();
        let is_none = !open.is_empty() && !named.any(|id| self.ledger.has(id));
        is_none.then(|| format!("None of the open issues is {what}: {}.", open.join(", ")))
    }

    /// The messages about issue ids in a reply that do not exist.
    fn unknown_issues<'a>(&self, named: impl Iterator<Item = &'a String>) -> Vec<String> {
        let known: Vec<_> = self
            .ledger
            .all()
            .iter()
            .map(|issue| issue.id.as_str())
            .collect();
        named
            .filter(|id| !self.ledger.has(id))
            .map(|id| format!("There is no issue '{id}'; there are: {}.", known.join(", ")))
            .collect()
    }

    pub fn unanswered_in(&self, round: u32) -> Vec<String> {
        ids(&self.ledger.unanswered(round))
    }

    /// Open issues that the proposer did not answer in its last turn before this round.
    pub fn neglected_before(&self, round: u32) -> Vec<String> {
        let last = self.last_round_with(|exchange| {
            exchange.proposer.is_some() && exchange.round < round && exchange.round > 1
        });
        if last == 0 {
            Vec::new()
        } else {
            self.unanswered_in(last)
        }
    }

    pub fn latest_answer(&self) -> Option<&str> {
        self.answer.as_deref()
    }

    pub fn latest_proposal(&self) -> Option<&str> {
        self.exchanges
            .iter()
            .rev()
            .find_map(|exchange| exchange.proposer.as_deref())
    }

    /// The round of the latest critique, and its assessment of the answer as a whole.
    pub fn latest_critique(&self) -> (u32, Option<&str>) {
        (self.last_critique(), self.remarks.as_deref())
    }

    /// All turns, in order.
    pub fn history(&self) -> Vec<&Value> {
        self.history_before(u32::MAX)
    }

    /// The turns of the rounds before this one.
    pub fn history_before(&self, round: u32) -> Vec<&Value> {
        let before = self.past.iter().filter(|turn| turn.round < round);
        before.map(|turn| &turn.context).collect()
    }
}

fn ids(issues: &[&Issue]) -> Vec<String> {
    issues.iter().map(|issue| issue.id.clone()).collect()
}
