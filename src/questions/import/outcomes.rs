//! Outcomes from files: resolution sets of `ForecastBench`, and resolved questions in the exports of the platforms.

use serde_json::Value;

use super::{Parsed, day, number, text};
use crate::failure::Failure;
use crate::questions::Kind;

/// The outcomes of a file: the possible ids of a question, and its outcome by label or value.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ResolvedQuestions {
    pub outcomes: Vec<(Vec<String>, String)>,
    /// Who says so.
    pub by: String,
    pub notes: Vec<String>,
}

/// Words for questions without an outcome.
const NONE: [&str; 5] = ["annulled", "ambiguous", "cancel", "mkt", "n/a"];

/// # Errors
/// A message for a file that is no JSON, or has another form.
pub(crate) fn parse(json: &str) -> Result<ResolvedQuestions, Failure> {
    let value: Value = serde_json::from_str(json)
        .map_err(|error| Failure::usage(format!("the file is not valid JSON: {error}")))?;
    if let Some(resolutions) = value.get("resolutions").and_then(Value::as_array) {
        return Ok(of_forecastbench(resolutions));
    }
    Ok(of_questions(super::parse(json, None)?))
}

fn of_forecastbench(resolutions: &[Value]) -> ResolvedQuestions {
    let mut found = ResolvedQuestions {
        by: "ForecastBench".into(),
        ..ResolvedQuestions::default()
    };
    let (mut open, mut partial) = (0, 0);
    for item in resolutions {
        // A combination of two questions.
        let Some(id) = text(item, "id") else {
            continue;
        };
        let is_resolved = item.get("resolved").and_then(Value::as_bool);
        let value = item.get("resolved_to").and_then(number);
        let outcome = match value {
            Some(value) if value >= 1.0 => "Yes",
            Some(value) if value <= 0.0 => "No",
            _ => "",
        };
        if is_resolved != Some(true) {
            open += 1;
            continue;
        }
        // A market can resolve to a share.
        if outcome.is_empty() {
            partial += 1;
            continue;
        }
        // A question about a series is one for each date.
        let date = item.get("resolution_date").and_then(day);
        let of_series = date.map(|date| format!("{id}@{date}"));
        let ids = of_series.into_iter().chain([id]).collect();
        found.outcomes.push((ids, outcome.to_owned()));
    }
    if open > 0 {
        found.notes.push(format!("{open} not resolved yet"));
    }
    if partial > 0 {
        found
            .notes
            .push(format!("{partial} without an outcome: neither 0 nor 1"));
    }
    found
}

fn of_questions(parsed: Parsed) -> ResolvedQuestions {
    let parsed = parsed.without_faults();
    let mut found = ResolvedQuestions {
        notes: Vec::new(),
        by: parsed
            .questions
            .first()
            .map_or_else(String::new, |own| own.source.clone()),
        outcomes: Vec::new(),
    };
    let (mut open, mut annulled) = (0, 0);
    for question in parsed.questions {
        match &question.resolution {
            None => open += 1,
            Some(outcome) if NONE.contains(&outcome.to_lowercase().as_str()) => annulled += 1,
            Some(outcome) => {
                let outcome = match (&question.kind, outcome.as_str()) {
                    (Kind::Binary, "1" | "true") => "Yes".to_owned(),
                    (Kind::Binary, "0" | "false") => "No".to_owned(),
                    _ => outcome.clone(),
                };
                found.outcomes.push((vec![question.id], outcome));
            }
        }
    }
    if open > 0 {
        found.notes.push(format!("{open} not resolved yet"));
    }
    if annulled > 0 {
        found.notes.push(format!(
            "{annulled} without an outcome: annulled or ambiguous"
        ));
    }
    found
}
