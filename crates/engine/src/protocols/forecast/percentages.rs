//! Probabilities that a model wrote in percent: `70`, `20`, `10` or `"70%"`. Only what can have no other meaning is converted.

use serde_json::{Value, json};

/// Rounded percentages may miss 100 by this much.
const TOLERANCE: f64 = 1.0;

/// Converts the `probabilities` of a reply if they sum to about 100, and then its `confidence` too if that is above 1.
pub(super) fn rewrite(reply: &mut Value) {
    let Some(fields) = reply["probabilities"].as_object() else {
        return;
    };
    let numbers: Option<Vec<(String, f64)>> = fields
        .iter()
        .map(|(id, value)| Some((id.clone(), number(value)?)))
        .collect();
    let Some(numbers) = numbers else {
        return;
    };
    let sum: f64 = numbers.iter().map(|(_, value)| value).sum();
    let is_percent = (sum - 100.0).abs() <= TOLERANCE;
    if !is_percent || numbers.iter().any(|(_, value)| *value < 0.0) {
        return;
    }
    for (id, value) in numbers {
        reply["probabilities"][id] = json!(value / 100.0);
    }
    let confidence = reply.get("confidence").and_then(number);
    if let Some(confidence) = confidence.filter(|value| *value > 1.0 && *value <= 100.0) {
        reply["confidence"] = json!(confidence / 100.0);
    }
}

/// A number, or a text such as `70%`.
fn number(value: &Value) -> Option<f64> {
    let in_text = || {
        value
            .as_str()?
            .trim()
            .strip_suffix('%')?
            .trim()
            .parse()
            .ok()
    };
    let number: f64 = value.as_f64().or_else(in_text)?;
    number.is_finite().then_some(number)
}

#[cfg(test)]
#[path = "percentages_tests.rs"]
mod tests;
