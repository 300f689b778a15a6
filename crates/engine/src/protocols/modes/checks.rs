//! The rules that the program checks a reply against (M-03 … M-10). A reply that breaks one is sent back once; if it still does,
//! it is kept with a remark and counted. Each remark begins with the name of its rule. The texts are sent to models.

use std::collections::BTreeMap;

use roundtable_core::evidence::Ledger;
use roundtable_core::format;
use roundtable_core::labels;
use roundtable_core::language;
use roundtable_core::sources::Sources;
use roundtable_core::stance;
use roundtable_core::state::{self, DebateState};
use roundtable_core::verification::{ALTERNATIVES, RISKS, Stakes};
use roundtable_core::votes::Vote;
use roundtable_core::wording;

use super::debate::RoundKind;
use super::enhanced;
use super::panel::Panelist;
use super::references::resolved;
use super::replies::Contribution;
use crate::mode::{Estimates, Mitigations, Mode, Stances, Visibility};
use crate::model::Ability;
use crate::table::Turn;
use crate::tokens;

/// The prompt asks for 350 words; this is the limit for sending a reply back.
const MAX_WORDS: usize = 600;
/// The share of an argument that may repeat another seat's word for word.
const MAX_ECHO: f64 = 0.6;
/// A claim is a single statement of at most this length; a longer one is cut.
const MAX_CLAIM_TOKENS: u64 = 30;
/// Faults of one rule that are listed; the rest is only counted.
const MAX_LISTED: usize = 4;

/// Checks the reply of one seat in one round.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReplyChecker<'a> {
    pub(super) mode: &'a Mode,
    pub(super) question: &'a str,
    pub(super) stakes: Stakes,
    pub(super) round: u32,
    pub(super) kind: RoundKind,
    pub(super) seat: &'a Panelist,
    pub(super) state: &'a DebateState,
    pub(super) sources: &'a Sources,
    /// Recent arguments of other seats, with the seat's name.
    pub(super) peers: &'a [(String, String)],
    /// `None` if claims need no evidence.
    pub(super) evidence: Option<&'a Ledger>,
}

impl ReplyChecker<'_> {
    pub(super) fn faults(&self, reply: &Contribution) -> Vec<String> {
        let moves = reply.moves(self.seat.stance);
        let mut faults = Faults::default();
        for fault in moves.faults(&reply.argument) {
            let rule = match fault {
                state::Fault::Label(_) => "labels",
                state::Fault::Citation(_) => "citations",
            };
            faults.add(rule, fault.to_string());
        }
        let cited = reply.cited_numbers();
        for reference in reply
            .references
            .iter()
            .filter(|r| !cited.contains(&r.number))
        {
            let number = reference.number;
            faults.add(
                "citations",
                format!("reference [{number}] is listed but never cited: cite it or leave it out."),
            );
        }
        for claim in reply
            .claims
            .iter()
            .filter(|claim| labels::has_tag(&claim.text))
        {
            faults.add(
                "labels",
                format!(
                    "\"{}\" has a label in its text: a claim has one label, in `label`.",
                    wording::one_line(&claim.text)
                ),
            );
        }
        for id in self.unknown_ids(reply) {
            faults.add("ids", format!("there is no '{id}' on the table."));
        }
        // Small models are not asked for their stance.
        let is_asked = self.seat.ability == Ability::Full || reply.stance.is_some();
        if let Some(fault) = stance::check(self.seat.stance, reply.stance).filter(|_| is_asked) {
            faults.add("stance", format!("{fault}."));
        }
        // Small models are not asked for the reason of their vote.
        let is_asked = self.seat.ability == Ability::Full;
        if is_asked && reply.vote == Vote::Blocker && is_blank(reply.blocker.as_deref()) {
            faults.add(
                "vote",
                "the BLOCKER does not say what must change first. Say it in `blocker`.".into(),
            );
        }
        self.length_and_echo(reply, &mut faults);
        if let Some(ledger) = self.evidence {
            for (rule, fault) in
                enhanced::evidence_faults(&self.seat.name, reply, self.state, ledger)
            {
                faults.add(rule, fault);
            }
        }
        if self.seat.ability == Ability::Full {
            self.language(reply, &mut faults);
            self.typed_answer(reply, &mut faults);
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
        faults.into_remarks()
    }

    fn unknown_ids(&self, reply: &Contribution) -> Vec<String> {
        let moves = reply.moves(self.seat.stance);
        let mut unknown = self.state.unknown(&moves);
        unknown.extend(resolved(moves, self.sources).1);
        let moved_by = reply.moved_by.iter().map(|id| state::shown_id(id));
        unknown.extend(moved_by.filter(|id| !self.state.has(id)));
        unknown.into_iter().collect()
    }

    fn length_and_echo(&self, reply: &Contribution, faults: &mut Faults) {
        let words = reply.argument.split_whitespace().count();
        if words > MAX_WORDS {
            faults.add("length", format!("the argument has {words} words; 350 are asked for, and {MAX_WORDS} are the most."));
        }
        let echoed = self
            .peers
            .iter()
            .find(|(_, argument)| wording::echo(&reply.argument, argument) >= MAX_ECHO);
        if let Some((peer, _)) = echoed {
            faults.add(
                "echo",
                format!("the argument repeats what {peer} said. Say something of your own."),
            );
        }
    }

    /// All replies are in the language of the question, so that every seat can read them.
    fn language(&self, reply: &Contribution, faults: &mut Faults) {
        if let Some((asked, answered)) = language::differs(self.question, &reply.argument) {
            faults.add(
                "language",
                format!("the question is in {asked}, the argument in {answered}. Write in the language of the question."),
            );
        }
    }

    /// An answer that can be compared with those of others: a few words, a stance or an estimate (E-22).
    fn typed_answer(&self, reply: &Contribution, faults: &mut Faults) {
        let is_estimated = self.mode.estimates != Estimates::None && reply.estimate.is_some();
        let has_stance = self.mode.stances == Stances::Assigned;
        if is_blank(reply.debate_alignment.as_deref()) && !is_estimated && !has_stance {
            faults.add(
                "answer",
                "name the answer you stand for in `debate_alignment`, in at most six words.".into(),
            );
        }
    }

    fn headings(&self, reply: &Contribution, faults: &mut Faults) {
        for section in self.mode.structure_of(self.round) {
            if !has_heading(&reply.argument, &section.heading) {
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

    /// M-07, and the demands of a critical-objection round (M-08).
    fn conformity(&self, reply: &Contribution, faults: &mut Faults) {
        if reply.objects() && is_blank(reply.steelman.as_deref()) {
            faults.add(
                "steelman",
                "it objects without the strongest form of the view. Restate that in `steelman` first."
                    .into(),
            );
        }
        let is_agreeing = self.round > 1 && reply.vote.agrees();
        if is_agreeing {
            let concern = reply.concern.as_deref().unwrap_or_default();
            if concern.trim().is_empty() {
                faults.add(
                    "conformity",
                    "it agrees without a concern. Raise in `concern` one that nobody has raised."
                        .into(),
                );
            } else if let Some(known) = self.state.known_concern(concern) {
                let known = match self.mode.visibility {
                    Visibility::Named => format!(": \"{}\"", format::truncated(&known.text, 160)),
                    // Its author may say in it who they are.
                    Visibility::Anonymous => ".".to_owned(),
                };
                faults.add(
                    "conformity",
                    format!("the concern has been raised before{known}"),
                );
            }
            if reply.alternatives.is_empty() {
                faults.add(
                    "conformity",
                    "it agrees without an alternative. Name one.".into(),
                );
            }
        }
        if self.kind == RoundKind::Objection {
            if !reply.objects() && !self.state.claims.is_empty() {
                faults.add(
                    "objection",
                    "it objects to no claim. This round is for counter-arguments: object to at least one claim.".into(),
                );
            }
            if reply.alternatives.is_empty() {
                faults.add(
                    "objection",
                    "it names no alternative. This round is for counter-arguments: name at least one.".into(),
                );
            }
        }
    }

    /// The seat's own answers, compared with what the program can count itself (M-10).
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
                    "by its own answers these checks fail: {}. Revise until they hold.",
                    failed.join(", ")
                ),
            );
        }
        let rejected = reply
            .alternatives
            .iter()
            .filter(|alternative| !alternative.rejected_because.trim().is_empty())
            .count();
        if answers.alternatives && rejected < ALTERNATIVES {
            faults.add("verification", format!("it gives {rejected} of {ALTERNATIVES} alternatives with the reason they are rejected."));
        }
        let mitigated = reply
            .risks
            .iter()
            .filter(|risk| !risk.mitigation.trim().is_empty())
            .count();
        if answers.risks && mitigated < RISKS {
            faults.add(
                "verification",
                format!("it gives {mitigated} of the {RISKS} gravest risks with a mitigation."),
            );
        }
        if answers.uncertainty && is_blank(reply.uncertainty.as_deref()) {
            faults.add(
                "verification",
                "it does not say what remains uncertain. Say it in `uncertainty`.".into(),
            );
        }
    }
}

/// A line of its own, with or without Markdown, or the start of a line before a colon.
fn has_heading(argument: &str, heading: &str) -> bool {
    let heading = wording::normal(heading);
    argument.lines().any(|line| {
        let line = line.trim();
        let is_marked = line.starts_with(['#', '*', '_']);
        let form = wording::normal(line);
        let before_colon = line.split_once(':').map(|(head, _)| wording::normal(head));
        form == heading
            || before_colon.as_ref() == Some(&heading)
            || is_marked && form.starts_with(&heading)
    })
}

/// The turn as the state takes it: labels are removed from the texts of claims, and claims that are too long are cut, with a
/// remark.
pub(super) fn tidied(mut turn: Turn<Contribution>) -> Turn<Contribution> {
    for claim in &mut turn.reply.claims {
        let text = labels::without_tags(&claim.text);
        let cut = tokens::shorten(&text, MAX_CLAIM_TOKENS);
        if cut != text {
            turn.remarks.push(format!(
                "claims: \"{cut}\" was cut to {MAX_CLAIM_TOKENS} tokens."
            ));
        }
        claim.text = cut;
    }
    turn
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

    fn into_remarks(self) -> Vec<String> {
        let remarks = self.by_rule.into_iter().flat_map(|(rule, faults)| {
            let more = faults.len().saturating_sub(MAX_LISTED);
            let rest = (more > 0).then(|| format!("{rule}: and {more} more of the same."));
            let listed = faults
                .into_iter()
                .take(MAX_LISTED)
                .map(move |fault| format!("{rule}: {fault}"));
            listed.chain(rest).collect::<Vec<_>>()
        });
        remarks.collect()
    }
}

/// Counts faults by their rule; a remark that only counts further faults counts as that many.
pub(super) fn count_by_rule<'a>(
    remarks: impl IntoIterator<Item = &'a String>,
) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for remark in remarks {
        let (rule, text) = remark.split_once(':').unwrap_or((remark, ""));
        let more = text
            .strip_prefix(" and ")
            .and_then(|rest| rest.strip_suffix(" more of the same."))
            .and_then(|more| more.parse().ok());
        *counts.entry(rule.to_owned()).or_insert(0) += more.unwrap_or(1);
    }
    counts
}
