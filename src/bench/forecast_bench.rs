//! Reads a question set of ForecastBench together with its resolution set: the questions that have resolved, with the price that
//! their market had when the set was frozen.
//!
//! Questions about a series of data are asked once for every date; they form a cluster. Combinations of two questions, and
//! resolutions that are not 0 or 1, are left out.

use std::collections::HashMap;
use std::fmt::Write;

use roundtable_core::bench::{Key, Question};
use serde::Deserialize;
use serde_json::Value;

use super::questions::{BenchQuestion, asked};
use crate::failure::Failure;

/// The sources whose frozen value is a probability.
const MARKETS: [&str; 4] = ["manifold", "metaculus", "polymarket", "infer"];

#[derive(Deserialize)]
struct QuestionSet {
    forecast_due_date: String,
    questions: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    /// A list for a combination.
    id: Value,
    source: String,
    question: String,
    #[serde(default)]
    resolution_criteria: String,
    #[serde(default)]
    background: String,
    #[serde(default)]
    freeze_datetime: String,
    #[serde(default)]
    freeze_datetime_value: Value,
    #[serde(default)]
    freeze_datetime_value_explanation: String,
}

#[derive(Deserialize)]
struct ResolutionSet {
    question_set: String,
    resolutions: Vec<Resolution>,
}

#[derive(Deserialize)]
struct Resolution {
    id: Value,
    source: String,
    #[serde(rename = "resolution_date")]
    date: String,
    resolved_to: Option<f64>,
    resolved: bool,
}

/// Whether a file is a question set.
pub(crate) fn is_set(text: &str) -> bool {
    let head = text.get(..2_000).unwrap_or(text);
    text.trim_start().starts_with('{') && head.contains("\"forecast_due_date\"")
}

/// The resolved questions of a set.
pub(crate) fn parse(set: &str, resolutions: &str) -> Result<Vec<BenchQuestion>, Failure> {
    let invalid = |what: &str, error: &serde_json::Error| {
        Failure::usage(format!("not a {what} set of ForecastBench: {error}"))
    };
    let set: QuestionSet =
        serde_json::from_str(set).map_err(|error| invalid("question", &error))?;
    let known: ResolutionSet =
        serde_json::from_str(resolutions).map_err(|error| invalid("resolution", &error))?;
    let mut listed: HashMap<(&str, &str), &Listed> = HashMap::new();
    for question in &set.questions {
        if let Some(id) = question.id.as_str()
            && listed.insert((&question.source, id), question).is_some()
        {
            return Err(Failure::usage(format!("the id '{id}' is there twice")));
        }
    }
    let resolved = known.resolutions.iter().filter(|one| one.resolved);
    let found: Vec<BenchQuestion> = resolved
        .filter_map(|one| {
            let question = listed.get(&(one.source.as_str(), one.id.as_str()?))?;
            Some(read(question, one, &set.forecast_due_date, outcome(one)?))
        })
        .collect();
    if found.is_empty() {
        return Err(Failure::usage(format!(
            "none of the {} questions is resolved in --resolutions, which is about the set {}",
            set.questions.len(),
            known.question_set
        )));
    }
    Ok(found)
}

fn outcome(resolution: &Resolution) -> Option<bool> {
    let value = resolution.resolved_to?;
    let is = |expected: f64| (value - expected).abs() < 1e-9;
    (is(0.0) || is(1.0)).then(|| is(1.0))
}

fn read(listed: &Listed, resolution: &Resolution, due: &str, happened: bool) -> BenchQuestion {
    let id = listed.id.as_str().unwrap_or_default();
    let price = price(listed);
    let date = &resolution.date;
    let filled = |text: &str| {
        text.replace("{resolution_date}", date)
            .replace("{forecast_due_date}", due)
    };
    let mut text = filled(&listed.question);
    // Writing to a String cannot fail.
    let _ = write!(text, "\n\nToday is {due}.");
    if price.is_none() {
        let _ = write!(text, " The question resolves on {date}.");
    }
    for (title, part) in [
        ("Resolution", &listed.resolution_criteria),
        ("Background", &listed.background),
    ] {
        if !part.is_empty() && part != "N/A" {
            let _ = write!(text, "\n\n{title}: {}", filled(part));
        }
    }
    if let (None, Some(value)) = (price, listed.freeze_datetime_value.as_str())
        && value != "N/A"
    {
        let day = listed.freeze_datetime.get(..10).unwrap_or_default();
        let meaning = &listed.freeze_datetime_value_explanation;
        let _ = write!(text, "\n\nValue on {day}: {value} ({meaning})");
    }
    let key = Key::Probability { happened };
    BenchQuestion {
        text: asked(&text, &key),
        question: Question {
            id: format!("{}/{id}/{date}", listed.source),
            cluster: format!("{}/{id}", listed.source),
            domain: Some(listed.source.clone()),
        },
        key,
        price,
    }
}

/// The market's probability at the freeze; `None` for questions without a market.
fn price(listed: &Listed) -> Option<f64> {
    let is_market = MARKETS.contains(&listed.source.as_str());
    let value = listed.freeze_datetime_value.as_str()?.parse::<f64>().ok()?;
    (is_market && (0.0..=1.0).contains(&value)).then_some(value)
}

#[cfg(test)]
#[path = "forecast_bench_tests.rs"]
mod tests;
