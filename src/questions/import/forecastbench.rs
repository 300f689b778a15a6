//! Question sets of `ForecastBench`. A question about a data series is one question for each of its dates.

use serde_json::Value;

use super::{Parsed, day, number, text};
use crate::questions::{Kind, Question, SubmissionKey};

/// Sources whose value at the freeze is that of a data series, not a probability.
const SERIES: [&str; 5] = ["acled", "dbnomics", "fred", "wikipedia", "yfinance"];

pub(super) fn parse(set: &Value, parsed: &mut Parsed) {
    let name = text(set, "question_set").unwrap_or_default();
    let due = text(set, "forecast_due_date").unwrap_or_default();
    let questions = set.get("questions").and_then(Value::as_array);
    for (number, item) in (1..).zip(questions.into_iter().flatten()) {
        if item.get("id").is_some_and(Value::is_array) {
            parsed.leave_out("combinations of two questions");
            continue;
        }
        let place = format!("question {number}");
        let source = text(item, "source").unwrap_or_default();
        let dates = item.get("resolution_dates").and_then(Value::as_array);
        let dates: Vec<&str> = dates
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        if !SERIES.contains(&source.as_str()) || dates.is_empty() {
            parsed.add(&place, question(item, (&name, &due), &source, None));
            continue;
        }
        for date in dates {
            let place = format!("{place}, {date}");
            parsed.add(&place, question(item, (&name, &due), &source, Some(date)));
        }
    }
}

fn question(
    item: &Value,
    (set, due): (&str, &str),
    source: &str,
    date: Option<&str>,
) -> Result<Question, String> {
    let id = text(item, "id").ok_or("it has no id")?;
    let asked = text(item, "question").ok_or("it has no question")?;
    let filled = |text: String| {
        let text = text.replace("{forecast_due_date}", due);
        text.replace("{resolution_date}", date.unwrap_or("the resolution date"))
    };
    let is_series = SERIES.contains(&source);
    let value = item.get("freeze_datetime_value");
    let resolves_on = match date {
        Some(date) => {
            Some(day(&Value::from(date)).ok_or_else(|| format!("'{date}' is not a date"))?)
        }
        None => item.get("market_info_close_datetime").and_then(day),
    };
    let criteria = [
        text(item, "resolution_criteria"),
        text(item, "market_info_resolution_criteria"),
    ];
    let criteria: Vec<String> = criteria.into_iter().flatten().map(filled).collect();
    Ok(Question {
        background: text(item, "background").map(filled),
        criteria: (!criteria.is_empty()).then(|| criteria.join("\n")),
        url: text(item, "url"),
        resolves_on,
        domain: Some(source.to_owned()).filter(|source| !source.is_empty()),
        base_rates: series_value(item)
            .filter(|_| is_series)
            .into_iter()
            .collect(),
        crowd: match value.and_then(number) {
            Some(price) if !is_series && (0.0..=1.0).contains(&price) => Some(vec![price]),
            _ => None,
        },
        submission: Some(SubmissionKey {
            question_set: set.to_owned(),
            id: id.clone(),
            resolution_date: date.map(str::to_owned),
        }),
        ..Question::new(
            &date.map_or_else(|| id.clone(), |date| format!("{id}@{date}")),
            source,
            &filled(asked),
            Kind::Binary,
        )
    })
}

/// `Value on 2026-02-19: 3.1 (The latest value.)`
fn series_value(item: &Value) -> Option<String> {
    let value = text(item, "freeze_datetime_value")?;
    let on = item.get("freeze_datetime").and_then(day);
    let on = on.map_or_else(String::new, |day| format!(" on {day}"));
    let meaning = text(item, "freeze_datetime_value_explanation");
    let meaning = meaning.map_or_else(String::new, |meaning| format!(" ({meaning})"));
    Some(format!("Value{on}: {value}{meaning}"))
}
