//! The facts of the request as short lines for every role: simulation, key variables, data and its gaps.
//!
//! Long lists get shorter lines, not fewer, so that nothing is left out silently.

use roundtable_core::format::percent;
use serde_json::Value;

use super::contract::{DebateRequest, KeyVariable};
use super::text_budget::{clipped, fit_lines};

/// All facts, in about `max_tokens` tokens.
pub(super) fn facts(request: &DebateRequest, max_tokens: u64) -> Vec<String> {
    fit_lines(max_tokens, |cap| lines(request, Detail::All, cap))
}

/// The facts that closings need in addition to the points: the simulation's probabilities and the data gaps.
pub(super) fn brief(request: &DebateRequest, max_tokens: u64) -> Vec<String> {
    fit_lines(max_tokens, |cap| lines(request, Detail::Brief, cap))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    All,
    Brief,
}

fn lines(request: &DebateRequest, detail: Detail, cap: usize) -> Vec<String> {
    let context = &request.prediction_context;
    let is_full = detail == Detail::All;
    let mut lines = Vec::new();
    let mut line = |title: &str, items: Vec<String>| {
        if !items.is_empty() {
            lines.push(format!("{title} {}", items.join("; ")));
        }
    };
    let clip =
        |items: &[String]| -> Vec<String> { items.iter().map(|item| clipped(item, cap)).collect() };
    if let Some(simulation) = &context.simulation_summary {
        let outcomes = simulation.final_distribution.iter();
        let shares = outcomes.map(|outcome| {
            let probability = percent(outcome.probability.value());
            format!("{} {probability}", outcome.outcome_id)
        });
        line("Simulation:", shares.collect());
        if is_full {
            line("Simulation found:", clip(&simulation.key_findings));
        }
    }
    if is_full {
        let variables = context.key_variables.iter();
        let variables = variables.map(|known| variable(known, cap));
        line("Key variables:", variables.collect());
    }
    if let Some(data) = &context.data_summary {
        if is_full {
            let mut about = clip(data.region.as_slice());
            if let Some(timeframe) = &data.timeframe {
                let ends = [&timeframe.start, &timeframe.end];
                let ends = ends.map(|date| date.as_deref().unwrap_or("?"));
                about.push(ends.join(" to "));
            }
            line("Data on:", about);
            line("Economy:", clip(&data.economic_highlights));
            line("Sentiment:", clip(&data.sentiment_highlights));
        }
        line("No data on, so do not assume it:", clip(&data.data_gaps));
    }
    lines
}

fn variable(variable: &KeyVariable, cap: usize) -> String {
    let mut text = clipped(&variable.name, cap);
    let value = plain(&variable.current_value);
    if !value.is_empty() {
        text = format!("{text} = {}", clipped(&value, cap));
    }
    let importance = plain(&variable.importance);
    if !importance.is_empty() {
        text = format!("{text} ({})", clipped(&importance, cap));
    }
    text
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}
