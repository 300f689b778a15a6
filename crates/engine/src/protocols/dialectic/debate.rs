//! The state of a debate between proposer and skeptic: a fold over their turns, kept by the program.

use minijinja::Value;
use roundtable_core::bounded::OutOfTen;
use roundtable_core::issues::{Issue, Ledger, Severity, Status};
use roundtable_core::stopping::Assessment;
use serde::Serialize;

use super::replies::{Critique, Opening, Review, Revision};
use crate::event::Words;
use crate::prompt::given;
use crate::table::Turn;

#[derive(Debug, Default)]
pub struct Debate {
    exchanges: Vec<Exchange>,
    past: Vec<PastTurn>,
    ledger: Ledger,
    answer: Option<String>,
    first: Option<First>,
    person: Vec<Words>,
    /// What the skeptic said of the answer as a whole in this round.
    assessment: Option<Assessment>,
    last_quality: Option<OutOfTen>,
    /// The skeptic's last turn without its list of issues.
    remarks: Option<String>,
}

/// One round as people read it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Exchange {
    pub round: u32,
    pub proposer: Option<String>,
    pub skeptic: Option<String>,
}

/// The blind first answer and what it cost.
#[derive(Debug, Clone)]
pub(super) struct First {
    pub(super) answer: String,
    pub(super) spent: crate::event::Spent,
}

/// A turn as prompts are given it. It is made once: all that follow tell it again.
#[derive(Debug)]
struct PastTurn {
    round: u32,
    told: Value,
}

/// An issue as prompts are given it: not with all that was ever said of it, which grows with every round.
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
    /// Why the last answer to it did not do.
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
            last_verdict: issue.verdicts.last().map(|it| it.what.reason.as_str()),
        }
    }
}

impl Debate {
    /// All that the person who asked has said so far.
    pub fn hear(&mut self, words: Vec<Words>) {
        self.person = words;
    }

    pub fn person(&self) -> &[Words] {
        &self.person
    }

    pub(super) fn begin(&mut self, round: u32) {
        self.assessment = None;
        self.exchanges.push(Exchange {
            round,
            ..Exchange::default()
        });
    }

    pub(super) fn open(&mut self, turn: Turn<Opening>) {
        self.first = Some(First {
            answer: turn.reply.answer.clone(),
            spent: turn.spent,
        });
        self.answer = Some(turn.reply.answer);
        self.spoke("proposer", &turn.text);
        self.current().proposer = Some(turn.text);
    }

    pub(super) fn revise(&mut self, turn: Turn<Revision>) {
        let round = self.rounds();
        self.ledger.answer(round, turn.reply.responses);
        self.answer = Some(turn.reply.answer);
        self.spoke("proposer", &turn.text);
        self.current().proposer = Some(turn.text);
    }

    pub(super) fn criticise(&mut self, turn: Turn<Critique>) {
        let round = self.rounds();
        self.assess(turn.reply.overall());
        self.remarks = Some(turn.reply.assessment);
        self.ledger.raise(round, turn.reply.issues);
        self.spoke("skeptic", &turn.text);
        self.current().skeptic = Some(turn.text);
    }

    pub(super) fn review(&mut self, turn: Turn<Review>) {
        let round = self.rounds();
        self.assess(turn.reply.overall());
        self.remarks = Some(turn.reply.assessment);
        self.ledger.judge(round, turn.reply.verdicts);
        self.ledger.raise(round, turn.reply.new_issues);
        self.spoke("skeptic", &turn.text);
        self.current().skeptic = Some(turn.text);
    }

    fn assess(&mut self, said: Assessment) {
        self.last_quality = Some(said.quality);
        self.assessment = Some(said);
    }

    fn spoke(&mut self, seat: &'static str, text: &str) {
        let round = self.current().round;
        let told = given!({ "round": round, "seat": seat, "text": text });
        self.past.push(PastTurn { round, told });
    }

    fn current(&mut self) -> &mut Exchange {
        if self.exchanges.is_empty() {
            self.begin(1);
        }
        let last = self.exchanges.len() - 1;
        &mut self.exchanges[last]
    }

    pub fn rounds(&self) -> u32 {
        self.exchanges.last().map_or(0, |exchange| exchange.round)
    }

    pub(super) fn wants_opening(&self) -> bool {
        self.answer.is_none()
    }

    /// There is a critique that came after the latest proposal.
    pub(super) fn wants_revision(&self) -> bool {
        self.has_critique() && self.last_critique() >= self.last_proposal()
    }

    /// There is a proposal, and nobody has attacked any so far.
    pub(super) fn wants_critique(&self) -> bool {
        self.answer.is_some() && !self.has_critique()
    }

    /// There is a proposal that came after the latest critique.
    pub(super) fn wants_review(&self) -> bool {
        self.has_critique() && self.last_proposal() > self.last_critique()
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

    /// How many of the latest rounds ended without a critique: whoever was absent, nothing was tested in them.
    pub(super) fn idle_rounds(&self) -> usize {
        self.exchanges
            .iter()
            .rev()
            .take_while(|exchange| exchange.skeptic.is_none())
            .count()
    }

    pub fn assessment(&self) -> Option<Assessment> {
        self.assessment
    }

    pub fn open_critical(&self) -> usize {
        self.ledger.open_count(Severity::Critical)
    }

    pub fn last_quality(&self) -> Option<OutOfTen> {
        self.last_quality
    }

    pub(super) fn into_ledger(self) -> Ledger {
        self.ledger
    }

    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub fn exchanges(&self) -> &[Exchange] {
        &self.exchanges
    }

    pub(super) fn first(&self) -> Option<&First> {
        self.first.as_ref()
    }

    pub fn open_issues(&self) -> Vec<OpenIssue<'_>> {
        self.ledger.open().into_iter().map(OpenIssue::of).collect()
    }

    pub fn open_ids(&self) -> Vec<String> {
        ids(&self.ledger.open())
    }

    /// What to say about ids that a reply names and that do not exist.
    pub(super) fn unknown_issues<'a>(
        &self,
        named: impl Iterator<Item = &'a String>,
    ) -> Vec<String> {
        let known: Vec<_> = self.ledger.all().iter().map(|it| it.id.as_str()).collect();
        named
            .filter(|id| !self.ledger.has(id))
            .map(|id| format!("There is no issue '{id}'; there are: {}.", known.join(", ")))
            .collect()
    }

    pub fn unanswered_in(&self, round: u32) -> Vec<String> {
        ids(&self.ledger.unanswered(round))
    }

    /// Open issues that the proposer passed over in its last turn.
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

    /// The round of the latest critique, and what it says of the answer as a whole.
    pub fn latest_critique(&self) -> (u32, Option<&str>) {
        (self.last_critique(), self.remarks.as_deref())
    }

    /// All turns, in order.
    pub fn history(&self) -> Vec<&Value> {
        self.history_before(u32::MAX)
    }

    /// Those of the rounds before this one.
    pub fn history_before(&self, round: u32) -> Vec<&Value> {
        let before = self.past.iter().filter(|turn| turn.round < round);
        before.map(|turn| &turn.told).collect()
    }
}

fn ids(issues: &[&Issue]) -> Vec<String> {
    issues.iter().map(|issue| issue.id.clone()).collect()
}
