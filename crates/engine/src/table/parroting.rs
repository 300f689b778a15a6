//! Repetition by small models: they answer in the words of their prompt, of the text they were given or of its example (C-05).

use roundtable_core::wording::parrots;
use serde_json::Value;

/// The texts a small model saw and must not repeat.
pub(super) struct Told {
    /// The prompt without its quotes. A conclusion may repeat what a seat said.
    pub(super) prompt: String,
    /// The reply of its example.
    pub(super) example: String,
}

impl Told {
    /// The remark on a reply that repeats what it was given: in its main text, or any of its texts for the example.
    pub(super) fn remark(&self, main: &str, subject: &str, json: &Value) -> Option<String> {
        let repeated = if parrots(main, &self.prompt) {
            "the prompt"
        } else if parrots(main, subject) {
            "the text that it is about"
        } else if contains_parroted(json, &self.example) {
            "the example"
        } else {
            return None;
        };
        Some(format!(
            "echo: the reply repeats {repeated}. Say something of your own."
        ))
    }

    /// The reply without the list items that repeat the example, and their number; `None` if there are none.
    pub(super) fn without_example(&self, json: &Value) -> Option<(Value, usize)> {
        let mut kept = json.clone();
        let dropped = drop_parroted(&mut kept, &self.example);
        (dropped > 0).then_some((kept, dropped))
    }
}

/// Whether a text of the reply mostly repeats the example, such as the reason of an objection.
fn contains_parroted(json: &Value, example: &str) -> bool {
    match json {
        Value::String(text) => parrots(text, example),
        Value::Array(items) => items.iter().any(|item| contains_parroted(item, example)),
        Value::Object(fields) => fields
            .values()
            .any(|value| contains_parroted(value, example)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn drop_parroted(json: &mut Value, example: &str) -> usize {
    match json {
        Value::Array(items) => {
            let before = items.len();
            items.retain(|item| !contains_parroted(item, example));
            before - items.len()
        }
        Value::Object(fields) => fields
            .values_mut()
            .map(|value| drop_parroted(value, example))
            .sum(),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}
