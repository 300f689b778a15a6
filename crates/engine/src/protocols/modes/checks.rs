//! The rules that the program holds a reply to (M-03 … M-10). What breaks one is sent back once; what still does is kept
//! with a remark and counted. Each remark begins with the name of its rule.

use std::collections::BTreeMap;

use roundtable_core::evidence::Ledger;
use roundtable_core::language;
use roundtable_core::sources::Sources;
use roundtable_core::stance;
use roundtable_core::state::DebateState;
use roundtable_core::verification::{ALTERNATIVES, RISKS, Stakes};
use roundtable_core::votes::Vote;
use roundtable_core::wording;

use super::enhanced;
use super::panel::Panelist;
use super::references::resolved;
use super::replies::Contribution;
use crate::mode::{Mitigations, Mode};
use crate::model::Ability;

/// An argument is asked for in 350 words; this is where it stops being one.
const MOST_WORDS: usize = 600;
/// So much of an argument taken over word for word is no contribution.
const MOST_ECHO: f64 = 0.6;
/// So many faults of one rule are told at once.
const TOLD: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Ordinary,
    /// A critical-objection round (M-08).
    Objection,
}

/// What a reply is checked against.
#[derive(Debug, Clone, Copy)]
pub(super) struct Against<'a> {
    pub(super) mode: &'a Mode,
    pub(super) question: &'a str,
    pub(super) stakes: Stakes,
    pub(super) round: u32,
    pub(super) kind: Kind,
    pub(super) seat: &'a Panelist,
    pub(super) state: &'a DebateState,
    pub(super) sources: &'a Sources,
    /// What others have said lately: name and argument.
    pub(super) peers: &'a [(String, String)],
    /// Where every claim carries evidence.
    pub(super) evidence: Option<&'a Ledger>,
}

impl Against<'_> {
    pub(super) fn faults(&self, reply: &Contribution) -> Vec<String> {
        let moves = reply.moves(self.seat.stance);
        let mut faults = Faults::default();
        for fault in moves.faults(&reply.argument) {
            let rule = match fault {
                roundtable_core::state::Fault::Label(_) => "labels",
                roundtable_core::state::Fault::Citation(_) => "citations",
            };
            faults.add(rule, fault.to_string());
        }
        for id in self.unknown_ids(reply) {
            faults.add("ids", format!("there is no '{id}' on the table."));
        }
        if let Some(fault) = stance::check(self.seat.stance, reply.stance) {
            faults.add("stance", format!("{fault}."));
        }
        if reply.vote == Vote::Blocker && is_blank(reply.blocker.as_deref()) {
            faults.add(
                "vote",
                "a BLOCKER says in `blocker` what must change first.".into(),
            );
        }
        self.length_and_echo(reply, &mut faults);
        if let Some(ledger) = self.evidence {
            for (rule, fault) in enhanced::faults(&self.seat.name, reply, self.state, ledger) {
                faults.add(rule, fault);
            }
        }
        if self.seat.ability == Ability::Full {
            self.language(reply, &mut faults);
            self.headings(reply, &mut faults);
            self.conformity(reply, &mut faults);
            self.verification(reply, &mut faults);
        }
        if self.mode.mitigations == Mitigations::Required {
            let bare = reply
                .risks
                .iter()
                .filter(|risk| risk.mitigation.trim().is_empty());
            for risk in bare {
                faults.add(
                    "mitigation",
                    format!(
                        "\"{}\" has no mitigation.",
                        wording::one_line(&risk.failure)
                    ),
                );
            }
        }
        faults.told()
    }

    fn unknown_ids(&self, reply: &Contribution) -> Vec<String> {
        let moves = reply.moves(self.seat.stance);
        let mut unknown = self.state.unknown(&moves);
        unknown.extend(resolved(moves, self.sources).1);
        let moved_by = reply
            .moved_by
            .iter()
            .map(|id| roundtable_core::state::normal_id(id));
        unknown.extend(moved_by.filter(|id| !self.state.has(id)));
        unknown.into_iter().collect()
    }

    fn length_and_echo(&self, reply: &Contribution, faults: &mut Faults) {
        let words = reply.argument.split_whitespace().count();
        if words > MOST_WORDS {
            faults.add("length", format!("the argument has {words} words; 350 are asked for, and {MOST_WORDS} are the most."));
        }
        let echoed = self
            .peers
            .iter()
            .find(|(_, argument)| wording::echo(&reply.argument, argument) >= MOST_ECHO);
        if let Some((peer, _)) = echoed {
            faults.add(
                "echo",
                format!("the argument repeats what {peer} said; say something of your own."),
            );
        }
    }

    /// A debate is held in the language of its question: else the seats that do not speak the other hear nothing.
    fn language(&self, reply: &Contribution, faults: &mut Faults) {
        if let Some((asked, answered)) = language::differs(self.question, &reply.argument) {
            faults.add(
                "language",
                format!("the question is in {asked}, the argument in {answered}; write in the language of the question."),
            );
        }
    }

    fn headings(&self, reply: &Contribution, faults: &mut Faults) {
        let argument = wording::normal(&reply.argument);
        for section in self.mode.structure_of(self.round) {
            if !argument.contains(&wording::normal(&section.heading)) {
                faults.add(
                    "structure",
                    format!(
                        "the heading \"{}\" is missing in the argument.",
                        section.heading
                    ),
                );
            }
        }
    }

    /// M-07, and what a critical-objection round demands (M-08).
    fn conformity(&self, reply: &Contribution, faults: &mut Faults) {
        if reply.objects() && is_blank(reply.steelman.as_deref()) {
            faults.add(
                "steelman",
                "restate the strongest form of the view in `steelman` before you object to it."
                    .into(),
            );
        }
        let is_agreeing = self.round > 1 && reply.vote.agrees();
        if is_agreeing {
            let concern = reply.concern.as_deref().unwrap_or_default();
            if concern.trim().is_empty() {
                faults.add(
                    "conformity",
                    "before you agree, raise in `concern` one concern that nobody has raised."
                        .into(),
                );
            } else if !self.state.is_new_concern(concern) {
                faults.add(
                    "conformity",
                    "the concern you raise has been raised before.".into(),
                );
            }
            if reply.alternatives.is_empty() {
                faults.add(
                    "conformity",
                    "before you agree, name one alternative.".into(),
                );
            }
        }
        if self.kind == Kind::Objection {
            if !reply.objects() && !self.state.claims.is_empty() {
                faults.add(
                    "objection",
                    "this round is for counter-arguments: object to at least one claim.".into(),
                );
            }
            if reply.alternatives.is_empty() {
                faults.add(
                    "objection",
                    "this round is for counter-arguments: name at least one alternative.".into(),
                );
            }
        }
    }

    /// The seat's own answers, and what the program can see for itself (M-10).
    fn verification(&self, reply: &Contribution, faults: &mut Faults) {
        let Some(answers) = &reply.verification else {
            faults.add(
                "verification",
                "the questions of verification are not answered.".into(),
            );
            return;
        };
        let failed = answers.failed(self.stakes);
        if !failed.is_empty() {
            faults.add(
                "verification",
                format!(
                    "by your own answers these checks fail: {}; revise until they hold.",
                    failed.join(", ")
                ),
            );
        }
        let rejected = reply
            .alternatives
            .iter()
            .filter(|it| !it.rejected_because.trim().is_empty())
            .count();
        if answers.alternatives && rejected < ALTERNATIVES {
            faults.add("verification", format!("{ALTERNATIVES} alternatives with the reason they are rejected are needed; there are {rejected}."));
        }
        let mitigated = reply
            .risks
            .iter()
            .filter(|it| !it.mitigation.trim().is_empty())
            .count();
        if answers.risks && mitigated < RISKS {
            faults.add("verification", format!("the {RISKS} gravest risks with a mitigation each are needed; there are {mitigated}."));
        }
        if answers.uncertainty && is_blank(reply.uncertainty.as_deref()) {
            faults.add(
                "verification",
                "say in `uncertainty` what remains uncertain.".into(),
            );
        }
    }
}

fn is_blank(text: Option<&str>) -> bool {
    text.is_none_or(|text| text.trim().is_empty())
}

#[derive(Default)]
struct Faults {
    by_rule: Vec<(&'static str, Vec<String>)>,
}

impl Faults {
    fn add(&mut self, rule: &'static str, fault: String) {
        match self.by_rule.iter_mut().find(|(name, _)| *name == rule) {
            Some((_, faults)) => faults.push(fault),
            None => self.by_rule.push((rule, vec![fault])),
        }
    }

    fn told(self) -> Vec<String> {
        let all = self.by_rule.into_iter().flat_map(|(rule, faults)| {
            let more = faults.len().saturating_sub(TOLD);
            let rest = (more > 0).then(|| format!("{rule}: and {more} more of the same."));
            let told = faults
                .into_iter()
                .take(TOLD)
                .map(move |fault| format!("{rule}: {fault}"));
            told.chain(rest).collect::<Vec<_>>()
        });
        all.collect()
    }
}

/// Remarks counted by the rule that each of them names.
pub(super) fn counted<'a>(
    remarks: impl IntoIterator<Item = &'a String>,
) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for remark in remarks {
        let rule = remark.split(':').next().unwrap_or_default();
        *counts.entry(rule.to_owned()).or_insert(0) += 1;
    }
    counts
}
