//! Remarks on replies that break a rule, for people.
//!
//! A remark is sent back to the model: first what is wrong, then, in further sentences, what to do. People read only the first
//! sentence, because the rest is addressed to the model.

use roundtable_core::format::truncated;
use roundtable_core::wording::one_line;

use crate::event::unanswered;
use crate::table::Missing;

/// Length of a reason that people read, in characters.
const MAX_REASON: usize = 160;

/// The first sentence of a remark. Full stops in quoted text do not end it.
pub fn for_people(remark: &str) -> &str {
    let mut is_quoted = false;
    let mut previous = ' ';
    for (at, c) in remark.char_indices() {
        if c == '"' {
            is_quoted = !is_quoted;
        }
        let ends = c == ' ' && previous == '.' && !is_quoted;
        if ends && remark[at..].trim_start().starts_with(char::is_uppercase) {
            return &remark[..at];
        }
        previous = c;
    }
    remark
}

/// Why a call is repeated or a seat is absent, for people: what was written for the model and the validator is left out.
pub fn plain_reason(reason: &str) -> String {
    if let Some(detail) = skipped(reason) {
        let (provider, _) = detail.split_once(';').unwrap_or((detail, ""));
        return format!("not asked: {provider}");
    }
    let sent_back = reason.strip_prefix("sent back: ");
    let text = sent_back.unwrap_or(reason);
    let known = [
        ("The reply was empty", "the reply was empty"),
        (
            "The reply was cut off",
            "the reply was cut off at the token limit",
        ),
        (
            "The reply is prose",
            "the model answered in prose instead of the required form",
        ),
        (
            "The reply is not a JSON object",
            "the model answered in prose instead of the required form",
        ),
        (
            "The reply does not fit the schema",
            "the reply does not have the required form",
        ),
        (
            "The reply cannot be used",
            "the reply does not have the required form",
        ),
    ];
    let known = known.iter().find(|(start, _)| text.starts_with(start));
    match (known, sent_back) {
        (Some((_, plain)), _) => (*plain).to_owned(),
        (None, Some(remarks)) => {
            let rule = rule_of(remarks).unwrap_or_default();
            format!("the reply was sent back: {}", plain_rule(rule))
        }
        (None, None) => truncated(&one_line(text), MAX_REASON),
    }
}

impl Missing {
    /// `No answer from the skeptic in round 1: cannot reach the server.`
    pub(crate) fn sentence(&self) -> String {
        let reason = plain_reason(&self.reason);
        let reason = reason.trim_end_matches('.');
        format!("{}: {reason}.", unanswered(&self.step))
    }
}

/// The detail of a call that the circuit breaker of its provider did not let through: an earlier failure is the real reason.
pub fn skipped(reason: &str) -> Option<&str> {
    let detail = reason.strip_prefix("skipped: circuit breaker open (")?;
    Some(detail.trim_end_matches(')'))
}

/// `evidence: N1 rests on nothing` → `evidence`
pub fn rule_of(remark: &str) -> Option<&str> {
    let (rule, _) = remark.split_once(": ")?;
    let is_name = rule
        .chars()
        .all(|c| c.is_ascii_lowercase() || c == '_' || c == '-');
    (is_name && !rule.is_empty()).then_some(rule)
}

/// What a reply that breaks this rule does wrong.
pub fn plain_rule(rule: &str) -> &'static str {
    match rule {
        "answer" => "it names no answer",
        "citation" | "citations" => "a citation is missing or leads nowhere",
        "claims" | "ids" => "it refers to a point that does not exist",
        "confidence" => "its confidence is not supported",
        "conformity" => "it agrees without anything of its own",
        "echo" => "it repeats another text",
        "evidence" => "a claim has no evidence",
        "labels" => "a claim has no valid label",
        "language" => "it is not in the language of the question",
        "length" => "it is too long",
        "mitigation" => "a risk has no mitigation",
        "objection" | "critique" => "an objection or an alternative is missing",
        "stance" => "its stance contradicts its vote or its answer",
        "vote" => "a BLOCKER does not say what must change",
        "steelman" => "it objects without stating the other view first",
        "structure" => "a part of it is missing",
        "verification" => "it fails its own checks",
        _ => "it breaks a rule of the debate",
    }
}

#[cfg(test)]
#[path = "remarks_tests.rs"]
mod tests;
