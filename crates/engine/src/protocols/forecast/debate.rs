//! The state of a forecasting debate: who said what in which round and what it was worth. A fold over the turns, the same
//! whether they come from the table or from the journal.

use std::collections::BTreeMap;

use roundtable_core::bounded::Probability;
use roundtable_core::forecast::{Distribution, composite};
use serde::{Deserialize, Serialize};

use super::contract::{Phase, Precedent};
use super::replies::{Argument, Scoring, Synthesis};
use super::rules::{Rules, argues};
use super::text_budget::{clipped, fitting, share, weight};
use crate::cast::Duty;
use crate::event::{FinishedStep, Seated, Spent, Words};

/// How many precedents with a date are owed (F-12).
pub(super) const PRECEDENTS: usize = 2;

#[derive(Debug)]
pub struct Debate<'r> {
    rules: &'r Rules,
    outcomes: Vec<String>,
    roles: Vec<Role>,
    rounds: BTreeMap<u32, BTreeMap<String, Slot>>,
    synthesis: Option<Synthesis>,
    remarks: Vec<String>,
    /// What the person who asked has said meanwhile.
    person: Vec<Words>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    pub name: String,
    pub duty: Option<Duty>,
}

/// An argument, and the one written in its stead where it was too weak.
#[derive(Debug, Default)]
struct Slot {
    first: Option<Spoken>,
    again: Option<Spoken>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    First,
    /// Written again, because the first was too weak (F-06).
    Again,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Spoken {
    pub reply: Argument,
    pub distribution: Distribution,
    pub marks: Option<Marks>,
    pub spent: Spent,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Marks {
    pub scores: BTreeMap<String, Probability>,
    pub composite: f64,
    pub reason: String,
}

/// An argument that counts, with its place in the debate.
#[derive(Debug, Clone, Copy)]
pub struct Heard<'d> {
    pub round: u32,
    pub role: &'d str,
    pub spoken: &'d Spoken,
    pub version: Version,
}

impl Heard<'_> {
    pub fn id(&self) -> String {
        point_id(self.role, self.round)
    }
}

/// `historian-2`: the historian's point of round 2.
pub fn point_id(role: &str, round: u32) -> String {
    format!("{role}-{round}")
}

impl Slot {
    /// The better one; where only one is scored, that one.
    fn kept(&self) -> Option<(&Spoken, Version)> {
        let worth = |spoken: &Spoken| spoken.marks.as_ref().map(|marks| marks.composite);
        match (&self.first, &self.again) {
            (Some(first), Some(again)) if worth(again) > worth(first) => {
                Some((again, Version::Again))
            }
            (Some(first), _) => Some((first, Version::First)),
            (None, Some(again)) => Some((again, Version::Again)),
            (None, None) => None,
        }
    }
}

impl Marks {
    pub fn of(scoring: &Scoring, rules: &Rules) -> Option<Self> {
        let score = |name: &str| scoring.scores.get(name).map(|it| it.value());
        Some(Self {
            composite: composite(&rules.criteria, score)?,
            scores: scoring.scores.clone(),
            reason: scoring.reason.clone(),
        })
    }
}

impl<'r> Debate<'r> {
    pub fn new(rules: &'r Rules, seats: &[Seated]) -> Self {
        let roles = seats.iter().filter(|it| argues(&it.seat));
        Self {
            rules,
            outcomes: rules.outcome_ids(),
            roles: roles
                .map(|it| Role {
                    name: it.seat.name.clone(),
                    duty: it.seat.duty,
                })
                .collect(),
            rounds: BTreeMap::new(),
            synthesis: None,
            remarks: Vec::new(),
            person: Vec::new(),
        }
    }

    pub(super) fn listen(&mut self, words: Vec<Words>) {
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
        self.roles
            .iter()
            .find(|role| role.duty == Some(Duty::Judge))
    }

    /// All roles at once; in the last round the judge waits for the others.
    pub fn speakers(&self, round: u32) -> Vec<&Role> {
        let waits = |role: &Role| round == self.rules.rounds && role.duty == Some(Duty::Judge);
        self.roles.iter().filter(|role| !waits(role)).collect()
    }

    pub(super) fn hear(
        &mut self,
        round: u32,
        role: &str,
        version: Version,
        reply: Argument,
        spent: Spent,
    ) {
        // The table lets no other reply through; a journal of another making might hold one.
        let Ok(distribution) = reply.distribution(&self.outcomes) else {
            return;
        };
        let sum: f64 = reply.probabilities.values().map(|it| it.value()).sum();
        if (sum - 1.0).abs() > 0.02 {
            self.remarks.push(format!(
                "{}: the probabilities summed to {sum:.2} and were scaled to 1",
                point_id(role, round)
            ));
        }
        let spoken = Spoken {
            reply,
            distribution,
            marks: None,
            spent,
        };
        let slot = self.slot(round, role);
        match version {
            Version::First => slot.first = Some(spoken),
            Version::Again => slot.again = Some(spoken),
        }
    }

    pub(super) fn remark(&mut self, round: u32, role: &str, remarks: &[String]) {
        let id = point_id(role, round);
        let named = remarks.iter().map(|remark| format!("{id}: {remark}"));
        self.remarks.extend(named);
    }

    pub(super) fn mark(&mut self, round: u32, role: &str, version: Version, scoring: &Scoring) {
        let marks = Marks::of(scoring, self.rules);
        let slot = self.slot(round, role);
        let spoken = match version {
            Version::First => &mut slot.first,
            Version::Again => &mut slot.again,
        };
        if let Some(spoken) = spoken {
            spoken.marks = marks;
        }
    }

    pub(super) fn sum_up(&mut self, synthesis: Synthesis) {
        self.synthesis = Some(synthesis);
    }

    /// The same from the journal.
    pub(super) fn take_up(&mut self, step: &FinishedStep) {
        let call = &step.call;
        let verb = call.step.rsplit('/').next().unwrap_or_default();
        let reply = || step.reply.clone();
        let version = if verb == "rewrite" || verb.starts_with("rescore-") {
            Version::Again
        } else {
            Version::First
        };
        if verb == "argue" || verb == "rewrite" {
            if let Ok(argument) = serde_json::from_value(reply()) {
                self.hear(call.round, &call.seat, version, argument, call.spent);
                self.remark(call.round, &call.seat, &step.remarks);
            }
        } else if verb == "synthesise" {
            self.synthesis = serde_json::from_value(reply()).ok();
        } else if let Some(role) = verb
            .strip_prefix("score-")
            .or_else(|| verb.strip_prefix("rescore-"))
            && let Ok(scoring) = serde_json::from_value(reply())
        {
            self.mark(call.round, role, version, &scoring);
        }
    }

    fn slot(&mut self, round: u32, role: &str) -> &mut Slot {
        let round = self.rounds.entry(round).or_default();
        round.entry(role.to_owned()).or_default()
    }

    /// The arguments that count in a round, in the order of the roles.
    pub fn heard_in(&self, round: u32) -> Vec<Heard<'_>> {
        let Some(slots) = self.rounds.get(&round) else {
            return Vec::new();
        };
        let heard = self.roles.iter().filter_map(|role| {
            let (spoken, version) = slots.get(&role.name)?.kept()?;
            Some(Heard {
                round,
                role: &role.name,
                spoken,
                version,
            })
        });
        heard.collect()
    }

    pub fn heard(&self) -> Vec<Heard<'_>> {
        let rounds = self.rounds.keys();
        rounds.flat_map(|round| self.heard_in(*round)).collect()
    }

    /// What was written at first, for whoever scores it.
    pub(super) fn first_of(&self, round: u32, role: &str) -> Option<&Spoken> {
        self.rounds.get(&round)?.get(role)?.first.as_ref()
    }

    /// What a role said last.
    pub fn latest_of(&self, role: &str) -> Option<Heard<'_>> {
        let mut heard = self.heard();
        heard.retain(|it| it.role == role);
        heard.pop()
    }

    /// The roles' last words, in the order of the roles.
    pub fn standing(&self) -> Vec<Heard<'_>> {
        let roles = self.roles.iter();
        roles
            .filter_map(|role| self.latest_of(&role.name))
            .collect()
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

    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    pub fn precedents(&self) -> Vec<&Precedent> {
        let slots = self.rounds.values().flat_map(BTreeMap::values);
        let spoken = slots.flat_map(|slot| [&slot.first, &slot.again]).flatten();
        let mut all: Vec<&Precedent> = Vec::new();
        // A weaker argument may be replaced; the precedents it cited were cited.
        for it in spoken.flat_map(|spoken| &spoken.reply.precedents) {
            if !all.iter().any(|known| known.event == it.event) {
                all.push(it);
            }
        }
        all
    }

    /// Whether this role still owes precedents.
    pub fn owes_precedents(&self, role: &Role) -> bool {
        let dated = self.precedents().into_iter().filter(|it| it.is_dated());
        role.duty == Some(Duty::Precedents) && dated.count() < PRECEDENTS
    }

    pub fn point_ids(&self, before: u32) -> Vec<String> {
        let heard = self.heard().into_iter();
        heard
            .filter(|it| it.round < before)
            .map(|it| it.id())
            .collect()
    }

    /// The points of the rounds before this one, in lines that fit into about so many tokens. Nobody is left out; with more
    /// of them each gets fewer words.
    pub(super) fn points(&self, round: u32, room: u64) -> Points {
        let heard = self.heard();
        let waiting = if round == self.rules.rounds && self.judge().is_some() {
            // The judge will see the others' closings beside these.
            self.roles.len().saturating_sub(1)
        } else {
            0
        };
        let (earlier, latest): (Vec<_>, Vec<_>) = heard
            .into_iter()
            .filter(|it| it.round <= round)
            .partition(|it| it.round < round);
        let all = (earlier.len() + waiting).max(1) as u64;
        let judge = self.judge().map(|judge| judge.name.as_str());
        let latest: Vec<_> = latest
            .into_iter()
            .filter(|it| Some(it.role) != judge)
            .collect();
        let earlier = fitting(room * earlier.len() as u64 / all, |cap| {
            self.by_role(&earlier, round, cap)
        });
        let taken: u64 = earlier.iter().map(|line| weight(line) + 1).sum();
        let latest = fitting(room.saturating_sub(taken), |cap| {
            self.by_role(&latest, round, cap)
        });
        Points { earlier, latest }
    }

    /// A line for each role: `optimist 1: gist; 2 (within 70%): gist`.
    fn by_role(&self, heard: &[Heard<'_>], round: u32, cap: usize) -> Vec<String> {
        let roles = self.roles.iter();
        let lines = roles.filter_map(|role| {
            let own = heard.iter().filter(|it| it.role == role.name);
            let points: Vec<String> = own.map(|it| self.point(it, round, cap)).collect();
            (!points.is_empty()).then(|| format!("{} {}", role.name, points.join("; ")))
        });
        lines.collect()
    }

    /// A recent point tells what it supports and how surely, an older one only what it says; in the last round, which has
    /// the most to show, only the closings do.
    fn point(&self, heard: &Heard<'_>, round: u32, cap: usize) -> String {
        let reply = &heard.spoken.reply;
        let gist = clipped(&reply.gist, cap);
        let is_last = round == self.rules.rounds;
        if heard.round + 1 < round || (is_last && heard.round < round) {
            return format!("{}: {gist}", heard.round);
        }
        let place = self.outcomes.iter().position(|id| *id == reply.supports);
        let probability = place.and_then(|place| heard.spoken.distribution.get(place));
        let probability = share(probability.unwrap_or_default());
        format!("{} ({} {probability}): {gist}", heard.round, reply.supports)
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Points {
    pub(super) earlier: Vec<String>,
    pub(super) latest: Vec<String>,
}
