//! The rules of an argument beyond its schema. An argument that breaks one is sent back once, then kept with a remark.

use roundtable_core::forecast::Distribution;

use super::contract::Phase;
use super::debate::REQUIRED_PRECEDENTS;
use super::replies::Argument;
use crate::tokens;

pub(super) fn too_long(argument: &str, max_tokens: u64) -> Vec<String> {
    // A token has at least one byte, so a short text needs no counting.
    if argument.len() as u64 <= max_tokens {
        return Vec::new();
    }
    let count = tokens::count(argument);
    if count <= max_tokens {
        return Vec::new();
    }
    vec![format!(
        "The argument has {count} tokens; at most {max_tokens} are allowed."
    )]
}

pub(super) fn wrong_rebuttals(reply: &Argument, others: &[String]) -> Vec<String> {
    let known = others.join(", ");
    let wrong = reply.rebuts.iter().filter(|role| !others.contains(role));
    wrong
        .map(|role| format!("'{role}' cannot be rebutted; the other roles are: {known}."))
        .collect()
}

/// F-04: from round 2 an argument answers at least one other.
pub(super) fn no_rebuttal(reply: &Argument, others: &[String], phase: Phase) -> Vec<String> {
    let rebuts = reply.rebuts.iter().any(|role| others.contains(role));
    if phase == Phase::Opening || others.is_empty() || rebuts {
        return Vec::new();
    }
    vec![NO_REBUTTAL.to_owned()]
}

/// F-04: an argument supports the outcome that its own probabilities favour. A tie is fine.
pub(super) fn contradiction(reply: &Argument, outcomes: &[String]) -> Vec<String> {
    match reply.distribution(outcomes) {
        Ok(own) if !favours(&own, outcomes, &reply.supports) => vec![CONTRADICTION.to_owned()],
        Ok(_) | Err(_) => Vec::new(),
    }
}

/// Whether no other outcome is more probable.
pub(super) fn favours(own: &Distribution, outcomes: &[String], outcome: &str) -> bool {
    let index = outcomes.iter().position(|id| id == outcome);
    let value = index.and_then(|index| own.get(index));
    value.is_some_and(|value| own.values().iter().all(|other| *other <= value))
}

const NO_REBUTTAL: &str =
    "'rebuts' is empty: name at least one role whose argument this one contradicts, and answer it.";
const CONTRADICTION: &str = "'supports' names an outcome to which 'probabilities' gives less than to another one: argue for the \
                             outcome you consider the most probable, or change the probabilities.";

/// Whether a remark is summed up for all arguments.
pub(super) fn is_common(remark: &str) -> bool {
    [NO_REBUTTAL, CONTRADICTION].contains(&remark)
}

/// F-13: a closing must refer to an earlier point.
pub(super) fn wrong_references(reply: &Argument, ids: &[String], phase: Phase) -> Vec<String> {
    let wrong = reply.refers_to.iter().filter(|id| !ids.contains(id));
    let mut broken: Vec<String> = wrong
        .map(|id| format!("There is no point '{id}'."))
        .collect();
    let refers = reply.refers_to.iter().any(|id| ids.contains(id));
    if phase == Phase::Closing && !refers && !ids.is_empty() {
        let rule =
            "A closing argument names in 'refers_to' the ids of earlier points it builds on.";
        broken.push(rule.into());
    }
    broken
}

/// F-12
pub(super) fn too_few_precedents(reply: &Argument) -> Vec<String> {
    let precedents = reply.precedents.iter();
    let dated = precedents.filter(|precedent| precedent.is_dated()).count();
    if dated >= REQUIRED_PRECEDENTS {
        return Vec::new();
    }
    vec![format!(
        "{dated} of at least {REQUIRED_PRECEDENTS} required precedents are past events with a date and an outcome."
    )]
}
