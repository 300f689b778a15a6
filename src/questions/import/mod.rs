//! Questions from files: CSV, and saved exports of `ForecastBench`, Metaculus, Manifold and Polymarket.
//!
//! Every fault names its row or item, and all faults are reported at once. Items that no forecast can be made of are left out and counted.

mod csv;
mod forecastbench;
mod manifold;
mod metaculus;
pub(crate) mod outcomes;
mod polymarket;

use std::collections::{BTreeMap, HashMap};

use clap::ValueEnum;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use roundtable_engine::protocols::forecast::{MAX_OUTCOMES, MIN_OUTCOMES, crowd_forecast};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Condition, Kind, Question};
use crate::failure::Failure;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// CSV with a header
    Csv,
    /// A question set of the benchmark
    #[value(name = "forecastbench")]
    ForecastBench,
    /// Posts of the API of Metaculus
    Metaculus,
    /// Markets of the API of Manifold
    Manifold,
    /// Markets or events of the Gamma API of Polymarket
    Polymarket,
}

/// What a file has.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    pub questions: Vec<Question>,
    /// With the row or item.
    faults: Vec<String>,
    /// Items without a question that can be forecast, by reason.
    left_out: BTreeMap<String, usize>,
}

/// The longest id and question, in characters.
const MAX_ID: usize = 200;
const MAX_QUESTION: usize = 20_000;
/// More faults are counted.
const MAX_FAULTS: usize = 50;

impl Parsed {
    fn leave_out(&mut self, why: &str) {
        *self.left_out.entry(why.to_owned()).or_default() += 1;
    }

    fn add(&mut self, place: &str, question: Result<Question, String>) {
        match question.and_then(check) {
            Ok(question) => self.questions.push(question),
            Err(fault) => self.faults.push(format!("{place}: {fault}")),
        }
    }

    fn check_ids(&mut self) {
        let mut first: HashMap<&str, usize> = HashMap::new();
        let mut faults = Vec::new();
        for (number, question) in (1..).zip(&self.questions) {
            if let Some(earlier) = first.insert(&question.id, number) {
                faults.push(format!(
                    "question {number}: the id '{}' is that of question {earlier} too",
                    question.id
                ));
            }
        }
        self.faults.extend(faults);
    }

    /// The questions, or all faults.
    pub(crate) fn finish(mut self) -> Result<Self, Failure> {
        self.check_ids();
        if self.questions.is_empty() && self.faults.is_empty() {
            let left_out = self.notes().join("; ");
            let why = if left_out.is_empty() {
                String::new()
            } else {
                format!(" ({left_out})")
            };
            return Err(Failure::usage(format!(
                "the file has no questions to forecast{why}"
            )));
        }
        if self.faults.is_empty() {
            return Ok(self);
        }
        let more = self.faults.len().saturating_sub(MAX_FAULTS);
        let mut faults = self.faults;
        faults.truncate(MAX_FAULTS);
        if more > 0 {
            faults.push(format!("and {more} more"));
        }
        Err(Failure::usage(faults.join("\n")))
    }

    /// Without the items that have faults; these are counted as left out.
    pub(crate) fn without_faults(mut self) -> Self {
        for fault in std::mem::take(&mut self.faults) {
            self.leave_out(&fault);
        }
        let mut seen = std::collections::HashSet::new();
        self.questions
            .retain(|question| seen.insert(question.id.clone()));
        self
    }

    /// `3 left out: resolved`
    pub(crate) fn notes(&self) -> Vec<String> {
        let reasons = self.left_out.iter();
        reasons
            .map(|(why, count)| format!("{count} left out: {why}"))
            .collect()
    }
}

/// Reads a file in the given format, or in the one that its content shows.
pub(crate) fn parse(text: &str, format: Option<Format>) -> Result<Parsed, Failure> {
    let text = text.trim_start_matches('\u{feff}');
    let looks_like_json = text.trim_start().starts_with(['{', '[']);
    if format == Some(Format::Csv) || (format.is_none() && !looks_like_json) {
        return csv::parse(text);
    }
    let json: Value = serde_json::from_str(text)
        .map_err(|error| Failure::usage(format!("the file is not valid JSON: {error}")))?;
    let format = match format {
        Some(format) => format,
        None => detect(&json)?,
    };
    let mut parsed = Parsed::default();
    match format {
        Format::ForecastBench => forecastbench::parse(&json, &mut parsed),
        Format::Metaculus => metaculus::parse(&json, &mut parsed),
        Format::Manifold => manifold::parse(&json, &mut parsed),
        Format::Polymarket => polymarket::parse(&json, &mut parsed),
        Format::Csv => {}
    }
    Ok(parsed)
}

/// The objects of a file: an array, an array under `results` or `data`, or the only object.
fn items(json: &Value) -> Vec<&Value> {
    let listed = ["results", "data", "markets", "posts"];
    let inner = listed.iter().find_map(|name| json.get(*name)?.as_array());
    match json.as_array().or(inner) {
        Some(items) => items.iter().collect(),
        None => vec![json],
    }
}

fn detect(json: &Value) -> Result<Format, Failure> {
    if json.get("questions").is_some_and(Value::is_array) {
        return Ok(Format::ForecastBench);
    }
    let items = items(json);
    let has = |names: &[&str]| {
        items
            .iter()
            .take(20)
            .any(|item| names.iter().any(|name| item.get(*name).is_some()))
    };
    if has(&["outcomeType"]) {
        Ok(Format::Manifold)
    } else if has(&["outcomePrices", "conditionId", "markets"]) || json.get("markets").is_some() {
        Ok(Format::Polymarket)
    } else if has(&[
        "question",
        "group_of_questions",
        "conditional",
        "possibilities",
    ]) {
        Ok(Format::Metaculus)
    } else {
        Err(Failure::usage(
            "unknown JSON: expected a question set of ForecastBench, or markets or posts of the APIs of Metaculus, Manifold or Polymarket; \
             name the format with --format",
        ))
    }
}

/// The rules of every question, whatever file it is from.
fn check(mut question: Question) -> Result<Question, String> {
    if question.question.is_empty() {
        return Err("the question is empty".into());
    }
    if question.question.chars().count() > MAX_QUESTION {
        return Err(format!(
            "the question is longer than {MAX_QUESTION} characters"
        ));
    }
    if question.id.is_empty() || question.id.chars().count() > MAX_ID {
        return Err(format!("the id must have 1 to {MAX_ID} characters"));
    }
    if question.id.chars().any(char::is_control) {
        return Err("the id has a control character".into());
    }
    let labels = match &question.kind {
        Kind::Scale { scale } => scale.labels().map_err(|error| error.to_string())?,
        Kind::Binary | Kind::MultipleChoice { .. } => question.labels(),
    };
    if !(MIN_OUTCOMES..=MAX_OUTCOMES).contains(&labels.len()) {
        let count = labels.len();
        return Err(format!(
            "{count} outcomes: expected {MIN_OUTCOMES} to {MAX_OUTCOMES}"
        ));
    }
    let mut seen = std::collections::BTreeSet::new();
    for label in &labels {
        let spelling = label.trim().to_lowercase();
        if spelling.is_empty() {
            return Err("an outcome is empty".into());
        }
        if !seen.insert(spelling) {
            return Err(format!("the outcome '{label}' is given twice"));
        }
    }
    if let Some(crowd) = &question.crowd {
        let crowd = crowd_forecast(crowd, labels.len());
        let crowd = crowd.map_err(|error| format!("the crowd's forecast: {error}"))?;
        question.crowd = Some(crowd.values().to_vec());
    }
    Ok(question)
}

/// Both questions of a conditional pair.
fn pair(question: &Question, condition: &str) -> [Question; 2] {
    let ids = [("if", true), ("if-not", false)];
    let id_of = |suffix: &str| format!("{}/{suffix}", question.id);
    ids.map(|(suffix, holds)| {
        let other = if holds { "if-not" } else { "if" };
        Question {
            id: id_of(suffix),
            condition: Some(Condition {
                text: condition.trim().to_owned(),
                holds,
                other: id_of(other),
            }),
            ..question.clone()
        }
    })
}

/// A text field without surrounding space; numbers as text. Empty, `null` and `N/A` are `None`.
fn text(item: &Value, name: &str) -> Option<String> {
    let value = item.get(name)?;
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    (!text.is_empty() && text != "N/A").then_some(text)
}

/// A number, or a text that is one.
fn number(value: &Value) -> Option<f64> {
    let in_text = || value.as_str()?.trim().parse().ok();
    value
        .as_f64()
        .or_else(in_text)
        .filter(|number: &f64| number.is_finite())
}

/// The day of a date, of a date with a time, or of a time in seconds or milliseconds since 1970.
fn day(value: &Value) -> Option<Date> {
    match value {
        Value::String(text) => text.trim().get(..10)?.parse().ok(),
        Value::Number(number) => {
            let number = number.as_f64()?;
            // Seconds reach this in the year 5138, milliseconds in 1973.
            let milliseconds = if number.abs() < 1e11 {
                number * 1000.0
            } else {
                number
            };
            day_of(milliseconds)
        }
        _ => None,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "within the range of times")]
fn day_of(milliseconds: f64) -> Option<Date> {
    let at = Timestamp::from_millisecond(milliseconds as i64).ok()?;
    Some(at.to_zoned(TimeZone::UTC).date())
}

/// A stable id for a question without one.
fn id_of(question: &str) -> String {
    let hash = Sha256::digest(question.as_bytes());
    roundtable_core::hex::encode(hash.get(..6).unwrap_or_default())
}

#[cfg(test)]
#[path = "import_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "platform_tests.rs"]
mod platform_tests;
