//! The secret guard: a request with likely secrets is refused before any of it is sent to a provider. The embedded model runs in
//! this process, so a debate that uses nothing else may contain them.

use roundtable_core::secrets::{Finding, find};
use roundtable_core::sources::{Place, Source};
use roundtable_engine::event::Seated;
use serde_json::Value;

use super::DebateSpec;
use crate::embedded;
use crate::failure::{Failure, Fault};

const REMEDY: &str = "Remove it: it would be sent to a model provider. To send it anyway, pass --allow-secrets, or \
                      `allow_secrets` over HTTP if the server permits it";

/// The likely secrets of a request, as faults.
pub(super) fn of_request(spec: &DebateSpec) -> Vec<Fault> {
    let mut faults = of_text("/question", "the question", &spec.question);
    for (index, source) in spec.sources.iter().enumerate() {
        faults.extend(of_source(&format!("/sources/{index}"), source));
    }
    for text in spec
        .parent
        .iter()
        .flat_map(|parent| [&parent.question, &parent.answer])
    {
        faults.extend(of_text(
            "/continue",
            "the debate that it follows up on",
            text,
        ));
    }
    of_value("/rules", &spec.input, &mut faults);
    faults
}

/// The failure of a request with these faults.
pub(super) fn refused(mut faults: Vec<Fault>) -> Failure {
    if let Some(last) = faults.last_mut() {
        last.message = format!("{}. {REMEDY}", last.message);
    }
    Failure::refused(faults)
}

/// Whether anything leaves this process: a seat, the embedder or the fast tier is not an embedded model.
pub(crate) fn are_sent(seated: &[Seated], others: impl IntoIterator<Item = String>) -> bool {
    let is_remote = |name: &str| name.split(':').next() != Some(embedded::PROVIDER);
    seated.iter().any(|seated| is_remote(&seated.model))
        || others.into_iter().any(|name| is_remote(&name))
}

/// Refuses words that a client sends into a running debate.
pub(crate) fn check_words(at: &str, text: &str) -> Result<(), Failure> {
    let faults = of_text(at, "the text", text);
    if faults.is_empty() {
        return Ok(());
    }
    Err(Failure::refused(faults))
}

fn of_text(at: &str, what: &str, text: &str) -> Vec<Fault> {
    let findings = find(text).into_iter();
    findings
        .map(|finding| fault(at, &format!("{what}, line {}", finding.line), &finding))
        .collect()
}

fn fault(at: &str, place: &str, finding: &Finding) -> Fault {
    Fault::new(at, format!("likely secret in {place}: {finding}"))
}

/// The passages of a source are searched together: a key may begin in one and end in the next.
fn of_source(at: &str, source: &Source) -> Vec<Fault> {
    let mut text = String::new();
    let mut starts = Vec::new();
    let mut line = 1;
    for passage in &source.passages {
        starts.push((line, passage));
        text.push_str(&passage.text);
        text.push('\n');
        line += passage.text.matches('\n').count() + 1;
    }
    let findings = find(&text).into_iter();
    findings
        .map(|finding| {
            let before = starts.iter().rev();
            let mut before = before.skip_while(|(line, _)| *line > finding.line);
            let place = before.next().map(|(start, passage)| match passage.place {
                Place::Lines { from, .. } => {
                    let offset = u32::try_from(finding.line - start).unwrap_or_default();
                    format!("line {}", from.saturating_add(offset))
                }
                Place::Rows { .. } | Place::Page { .. } => passage.place.to_string(),
            });
            let place = format!("{}, {}", source.name, place.unwrap_or_default());
            fault(at, &place, &finding)
        })
        .collect()
}

/// Every text of the protocol's input.
fn of_value(at: &str, value: &Value, faults: &mut Vec<Fault>) {
    match value {
        Value::String(text) => {
            let what = at.trim_start_matches("/rules/").replace('/', " ");
            faults.extend(of_text(at, &what, text));
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                of_value(&format!("{at}/{index}"), item, faults);
            }
        }
        Value::Object(fields) => {
            for (name, item) in fields {
                of_value(&format!("{at}/{name}"), item, faults);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
