//! The state of a forecast: arguments and scores by round. One fold over the turns, live and from the journal.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use roundtable_core::bounded::Probability;
use roundtable_core::forecast::{Distribution, Seat, composite};
use roundtable_core::format::percent;
use serde::{Deserialize, Serialize};

use super::checks;
use super::contract::{Phase, Precedent};
use super::facts::Facts;
use super::prompt_inputs::{known_facts, with_evidence};
use super::remarks;
use super::replies::{Argument, Scoring, Synthesis};
use super::rules::{Rules, argues};
use super::text_budget::{fit_lines, shortened};
use crate::cast::Duty;
use crate::event::{FinishedStep, Seated, Spent, Words};
use crate::table::Turn;

/// The number of dated precedents that a role with that duty must give (F-12).
pub(super) const REQUIRED_PRECEDENTS: usize = 2;

#[derive(Debug)]
pub struct Debate<'r> {
    rules: &'r Rules,
    outcomes: Vec<String>,
    roles: Vec<Role>,
    rounds: BTreeMap<u32, BTreeMap<String, Slot>>,
    synthesis: Option<Synthesis>,
    remarks: Vec<String>,
    /// Messages of the person who asked.
    person: Vec<Words>,
    /// The same in all prompts.
    facts: OnceLock<Facts>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    pub name: String,
    pub duty: Option<Duty>,
    pub model: String,
}

impl Role {
    /// The role as the pool that learns knows it.
    pub(super) fn seat(&self) -> Seat {
        Seat {
            agent: self.model.clone(),
            group: Some(self.name.clone()),
        }
    }
}

/// An argument and its rewrite, if it was too weak.
#[derive(Debug, Default)]
struct Slot {
    first: Option<ArgumentTurn>,
    rewrite: Option<ArgumentTurn>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    First,
    /// The first was too weak (F-06).
    Rewrite,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ArgumentTurn {
    pub reply: Argument,
    pub distribution: Distribution,
    pub scores: Option<RubricScores>,
    pub spent: Spent,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RubricScores {
    pub scores: BTreeMap<String, Probability>,
    pub composite: f64,
    pub reason: String,
}

/// The better version of an argument, with its role and round.
#[derive(Debug, Clone, Copy)]
pub struct CountedArgument<'d> {
    pub round: u32,
    pub role: &'d str,
    pub turn: &'d ArgumentTurn,
    pub version: Version,
}

impl<'d> CountedArgument<'d> {
    pub fn id(&self) -> String {
        point_id(self.role, self.round)
    }

    pub(super) fn scores(&self) -> Option<&'d RubricScores> {
        self.turn.scores.as_ref()
    }
}

pub(super) fn distributions<'d>(arguments: &[CountedArgument<'d>]) -> Vec<&'d Distribution> {
    let arguments = arguments.iter();
    arguments
        .map(|argument| &argument.turn.distribution)
        .collect()
}

/// `historian-2`: the historian's point of round 2.
pub fn point_id(role: &str, round: u32) -> String {
    format!("{role}-{round}")
}

impl Slot {
    /// The version with the higher score. The first if the rewrite has none.
    fn better(&self) -> Option<(&ArgumentTurn, Version)> {
        let composite = |turn: &ArgumentTurn| turn.scores.as_ref().map(|scores| scores.composite);
        match (&self.first, &self.rewrite) {
            (Some(first), Some(rewrite)) if composite(rewrite) > composite(first) => {
                Some((rewrite, Version::Rewrite))
            }
            (Some(first), _) => Some((first, Version::First)),
            (None, Some(rewrite)) => Some((rewrite, Version::Rewrite)),
            (None, None) => None,
        }
    }
}

impl RubricScores {
    pub fn of(scoring: &Scoring, rules: &Rules) -> Option<Self> {
        let score = |name: &str| scoring.scores.get(name).map(|score| score.value());
        Some(Self {
            composite: composite(&rules.criteria, score)?,
            scores: scoring.scores.clone(),
            reason: scoring.reason.clone(),
        })
    }
}

impl<'r> Debate<'r> {
    pub fn new(rules: &'r Rules, seats: &[Seated]) -> Self {
        let roles = seats.iter().filter(|seated| argues(&seated.seat));
        Self {
            rules,
            outcomes: rules.outcome_ids(),
            roles: roles
                .map(|seated| Role {
                    name: seated.seat.name.clone(),
                    duty: seated.seat.duty,
                    model: seated.model.clone(),
                })
                .collect(),
            rounds: BTreeMap::new(),
            synthesis: None,
            remarks: Vec::new(),
            person: Vec::new(),
            facts: OnceLock::new(),
        }
    }

    /// The facts in every prompt.
    pub(super) fn facts(&self, question: &str) -> &Facts {
        self.facts.get_or_init(|| known_facts(self.rules, question))
    }

    pub(super) fn set_person(&mut self, words: Vec<Words>) {
        self.person = words;
    }

    pub(super) fn person(&self) -> &[Words] {
        &self.person
    }

    pub fn rules(&self) -> &'r Rules {
        self.rules
    }

    pub fn outcomes(&self) -> &[String] {
        &self.outcomes
    }

    pub fn roles(&self) -> &[Role] {
        &self.roles
    }

    pub fn role_names(&self) -> Vec<String> {
        self.roles.iter().map(|role| role.name.clone()).collect()
    }

    pub fn judge(&self) -> Option<&Role> {
        let mut roles = self.roles.iter();
        roles.find(|role| role.duty == Some(Duty::Judge))
    }

    /// All roles at once; in the last round the judge waits for the others.
    pub fn speakers(&self, round: u32) -> Vec<Role> {
        let mut roles = self.roles.clone();
        roles.retain(|role| round != self.rules.rounds || role.duty != Some(Duty::Judge));
        roles
    }

    /// `yes 70%, no 30%`
    pub(super) fn shares(&self, distribution: &Distribution) -> String {
        let pairs = self.outcomes.iter().zip(distribution.values());
        let shares: Vec<_> = pairs
            .map(|(id, value)| format!("{id} {}", percent(*value)))
            .collect();
        shares.join(", ")
    }

    pub(super) fn add_turn(
        &mut self,
        round: u32,
        role: &str,
        version: Version,
        turn: Turn<Argument>,
    ) {
        self.add_remarks(round, role, &turn.remarks);
        self.add_argument(round, role, version, turn.reply, turn.spent);
    }

    fn add_argument(
        &mut self,
        round: u32,
        role: &str,
        version: Version,
        reply: Argument,
        spent: Spent,
    ) {
        // The live table rejects other replies; a journal may contain one.
        let Ok(distribution) = reply.distribution(&self.outcomes) else {
            return;
        };
        let turn = ArgumentTurn {
            reply,
            distribution,
            scores: None,
            spent,
        };
        *self.slot(round, role, version) = Some(turn);
    }

    fn add_remarks(&mut self, round: u32, role: &str, remarks: &[String]) {
        let id = point_id(role, round);
        // Those that several arguments may share are one line each, see `remarks`.
        let own = remarks.iter().filter(|remark| !checks::is_common(remark));
        let named = own.map(|remark| format!("{id}: {remark}"));
        self.remarks.extend(named);
    }

    pub(super) fn add_scores(
        &mut self,
        round: u32,
        role: &str,
        version: Version,
        scoring: &Scoring,
    ) {
        let scores = RubricScores::of(scoring, self.rules);
        if let Some(turn) = self.slot(round, role, version) {
            turn.scores = scores;
        }
    }

    pub(super) fn set_synthesis(&mut self, synthesis: Synthesis) {
        self.synthesis = Some(synthesis);
    }

    /// Adds a step of the journal.
    pub(super) fn apply(&mut self, step: &FinishedStep) {
        let call = &step.call;
        let verb = call.step.rsplit('/').next().unwrap_or_default();
        let reply = || step.reply.clone();
        let version = if verb == "rewrite" || verb.starts_with("rescore-") {
            Version::Rewrite
        } else {
            Version::First
        };
        if verb == "argue" || verb == "rewrite" {
            if let Ok(argument) = serde_json::from_value(reply()) {
                self.add_argument(call.round, &call.seat, version, argument, call.spent);
                self.add_remarks(call.round, &call.seat, &step.remarks);
            }
        } else if verb == "synthesise" {
            self.synthesis = serde_json::from_value(reply()).ok();
        } else if let Some(role) = verb
            .strip_prefix("score-")
            .or_else(|| verb.strip_prefix("rescore-"))
            && let Ok(scoring) = serde_json::from_value(reply())
        {
            self.add_scores(call.round, role, version, &scoring);
        }
    }

    fn slot(&mut self, round: u32, role: &str, version: Version) -> &mut Option<ArgumentTurn> {
        let round = self.rounds.entry(round).or_default();
        let slot = round.entry(role.to_owned()).or_default();
        match version {
            Version::First => &mut slot.first,
            Version::Rewrite => &mut slot.rewrite,
        }
    }

    /// The arguments that count in a round, in the order of the roles.
    pub fn arguments_in(&self, round: u32) -> Vec<CountedArgument<'_>> {
        let arguments = self.roles.iter().filter_map(|role| {
            let slot = self.rounds.get(&round)?.get(&role.name)?;
            let (turn, version) = slot.better()?;
            Some(CountedArgument {
                round,
                role: &role.name,
                turn,
                version,
            })
        });
        arguments.collect()
    }

    pub fn arguments(&self) -> Vec<CountedArgument<'_>> {
        let rounds = self.rounds.keys();
        rounds.flat_map(|round| self.arguments_in(*round)).collect()
    }

    /// The first version of an argument, for the scorer.
    pub(super) fn first_version(&self, round: u32, role: &str) -> Option<&ArgumentTurn> {
        self.rounds.get(&round)?.get(role)?.first.as_ref()
    }

    /// Each role's last argument, in the order of the roles.
    pub fn latest_arguments(&self) -> Vec<CountedArgument<'_>> {
        let arguments = self.arguments();
        let latest = self.roles.iter().filter_map(|role| {
            let mut latest = arguments.iter().rev();
            latest.find(|argument| argument.role == role.name).copied()
        });
        latest.collect()
    }

    pub fn last_round(&self) -> u32 {
        self.rounds.keys().copied().max().unwrap_or(0)
    }

    pub fn phase(&self, round: u32) -> Phase {
        Phase::of(round, self.rules.rounds)
    }

    pub fn synthesis(&self) -> Option<&Synthesis> {
        self.synthesis.as_ref()
    }

    /// The remarks of single arguments, then those about several of them, one line each.
    pub fn remarks(&self) -> Vec<String> {
        let arguments = self.arguments();
        let common = remarks::common(&arguments, &self.outcomes, &self.role_names());
        self.remarks.iter().cloned().chain(common).collect()
    }

    pub fn precedents(&self) -> Vec<&Precedent> {
        let slots = self.rounds.values().flat_map(BTreeMap::values);
        let turns = slots
            .flat_map(|slot| [&slot.first, &slot.rewrite])
            .flatten();
        let mut all: Vec<&Precedent> = Vec::new();
        // The precedents of a replaced argument count too.
        for precedent in turns.flat_map(|turn| &turn.reply.precedents) {
            if !all.iter().any(|known| known.event == precedent.event) {
                all.push(precedent);
            }
        }
        all
    }

    /// Whether this role still owes precedents.
    pub fn owes_precedents(&self, role: &Role) -> bool {
        role.duty == Some(Duty::Precedents) && self.dated_precedents() < REQUIRED_PRECEDENTS
    }

    pub(super) fn dated_precedents(&self) -> usize {
        let precedents = self.precedents().into_iter();
        precedents.filter(|precedent| precedent.is_dated()).count()
    }

    pub fn point_ids(&self, before: u32) -> Vec<String> {
        let arguments = self.arguments().into_iter();
        arguments
            .filter(|argument| argument.round < before)
            .map(|argument| argument.id())
            .collect()
    }

    /// The points of earlier rounds, as lines of about `max_tokens` tokens. None is left out: with more points, each is shorter.
    pub(super) fn points(&self, round: u32, max_tokens: u64) -> Vec<String> {
        let mut earlier = self.arguments();
        earlier.retain(|argument| argument.round < round);
        fit_lines(max_tokens, |cap| self.by_role(&earlier, round, cap))
    }

    /// The other roles' arguments of the last round, whole, for the judge.
    pub(super) fn closings(&self, round: u32) -> Vec<Closing> {
        let judge = self.judge().map(|judge| judge.name.as_str());
        let mut closings = self.arguments_in(round);
        closings.retain(|argument| Some(argument.role) != judge);
        closings
            .iter()
            .map(|argument| {
                let text = with_evidence(&argument.turn.reply);
                let shares = self.shares(&argument.turn.distribution);
                Closing {
                    by: argument.id(),
                    text: format!("{text}\nForecast: {shares}"),
                }
            })
            .collect()
    }

    /// A line for each role: `optimist 1: gist; 2 (within 70%): gist`.
    fn by_role(&self, arguments: &[CountedArgument<'_>], round: u32, cap: usize) -> Vec<String> {
        let lines = self.roles.iter().filter_map(|role| {
            let own = arguments.iter().filter(|own| own.role == role.name);
            let points: Vec<String> = own.map(|own| self.point(own, round, cap)).collect();
            (!points.is_empty()).then(|| format!("{} {}", role.name, points.join("; ")))
        });
        lines.collect()
    }

    /// A recent point has the supported outcome and its probability, an older one only the gist. In the last round, which has
    /// the most points, only the closings have a probability.
    fn point(&self, argument: &CountedArgument<'_>, round: u32, cap: usize) -> String {
        let reply = &argument.turn.reply;
        let gist = shortened(&reply.gist, cap);
        let is_last = round == self.rules.rounds;
        if argument.round + 1 < round || (is_last && argument.round < round) {
            return format!("{}: {gist}", argument.round);
        }
        let index = self.outcomes.iter().position(|id| *id == reply.supports);
        let probability = index.and_then(|index| argument.turn.distribution.get(index));
        let probability = percent(probability.unwrap_or_default());
        format!(
            "{} ({} {probability}): {gist}",
            argument.round, reply.supports
        )
    }
}

/// An argument of the last round as the judge reads it.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Closing {
    by: String,
    text: String,
}
