//! What is given to every role, as short lines: the simulation, the key variables, the data and its gaps. Long lists get
//! shorter lines rather than fewer of them, so that nothing is left out unsaid.

use serde_json::Value;

use super::contract::{DebateRequest, KeyVariable};
use super::text_budget::{clipped, fitting, share};

/// All of it, in about so many tokens.
pub(super) fn facts(request: &DebateRequest, room: u64) -> Vec<String> {
    fitting(room, |cap| lines(request, cap))
}

/// What closings still need beside the points in which the rest has been argued: the simulation's numbers and the gaps.
pub(super) fn brief(request: &DebateRequest, room: u64) -> Vec<String> {
    let lines = |cap| lines(request, cap).into_iter();
    let is_kept = |line: &String| line.starts_with(SIMULATION) || line.starts_with(GAPS);
    fitting(room, |cap| lines(cap).filter(is_kept).collect())
}

const SIMULATION: &str = "Simulation:";
const GAPS: &str = "No data on, so do not assume it:";

fn lines(request: &DebateRequest, cap: usize) -> Vec<String> {
    let context = &request.prediction_context;
    let mut lines = Vec::new();
    let mut line = |title: &str, items: Vec<String>| {
        if !items.is_empty() {
            lines.push(format!("{title} {}", items.join("; ")));
        }
    };
    let clip =
        |items: &[String]| -> Vec<String> { items.iter().map(|item| clipped(item, cap)).collect() };
    if let Some(simulation) = &context.simulation_summary {
        let given = simulation.final_distribution.iter();
        let shares = given.map(|it| format!("{} {}", it.outcome_id, share(it.probability.value())));
        line(SIMULATION, shares.collect());
        line("Simulation found:", clip(&simulation.key_findings));
    }
    let variables = context.key_variables.iter();
    line(
        "Key variables:",
        variables.map(|it| variable(it, cap)).collect(),
    );
    if let Some(data) = &context.data_summary {
        let mut about: Vec<String> = data.region.iter().map(|it| clipped(it, cap)).collect();
        if let Some(timeframe) = &data.timeframe {
            let ends = [&timeframe.start, &timeframe.end].map(|it| it.as_deref().unwrap_or("?"));
            about.push(ends.join(" to "));
        }
        line("Data on:", about);
        line("Economy:", clip(&data.economic_highlights));
        line("Sentiment:", clip(&data.sentiment_highlights));
        line(GAPS, clip(&data.data_gaps));
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
