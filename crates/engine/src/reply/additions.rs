//! The parts of a reply that its author has not said. A model that puts a seat's words into the schema must add nothing (C-05).

use std::collections::HashSet;

use serde_json::Value;

use super::read::object_in;
use super::{Reply, schema};
use crate::model::Finish;

/// The words and numbers of `reply` that occur in none of the texts in `said`. Values of the schema's own enumerations are not
/// compared: a seat may grade an issue as critical in other words. Ids and names that are only known per call are.
pub(crate) fn additions<T: Reply>(reply: &str, said: &[String]) -> Vec<String> {
    let Ok(reply) = object_in(reply, Finish::Stop) else {
        return vec!["no JSON object".to_owned()];
    };
    let (choices, maxima) = schema::vocabulary::<T>();
    let mut known = Said {
        choices,
        maxima,
        ..Said::default()
    };
    for text in said {
        known.add_text(&text.replace("\\n", " ").replace("\\t", " "));
        if let Ok(object) = object_in(text, Finish::Stop) {
            known.add(&object);
        }
    }
    let mut added = Vec::new();
    known.compare(&reply, &mut added);
    added
}

#[derive(Default)]
struct Said {
    words: HashSet<String>,
    numbers: Vec<f64>,
    /// The values of the schema's enumerations.
    choices: HashSet<String>,
    /// The upper ends of the schema's scales.
    maxima: Vec<f64>,
}

impl Said {
    fn add(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.add_text(text),
            Value::Number(number) => self.add_text(&number.to_string()),
            Value::Array(items) => items.iter().for_each(|item| self.add(item)),
            Value::Object(fields) => fields.values().for_each(|field| self.add(field)),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn add_text(&mut self, text: &str) {
        self.words.extend(words(text));
        self.numbers.extend(numbers(text, &self.maxima));
    }

    fn compare(&self, value: &Value, added: &mut Vec<String>) {
        match value {
            Value::String(text) if self.choices.contains(text) => {}
            Value::String(text) => {
                added.extend(words(text).filter(|word| !self.words.contains(word)));
            }
            Value::Number(number) => {
                let is_said = number.as_f64().is_some_and(|number| self.has(number));
                if !is_said {
                    added.push(number.to_string());
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.compare(item, added)),
            Value::Object(fields) => fields.values().for_each(|field| self.compare(field, added)),
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// `0.7` is also said by `70%`, and the other way round.
    fn has(&self, number: f64) -> bool {
        let is = |said: f64| (said - number.abs()).abs() < 1e-9;
        self.numbers
            .iter()
            .any(|&said| is(said) || is(said / 100.0) || is(said * 100.0))
    }
}

/// The words in lower case; a number counts as a word of its digits.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

/// The numbers in a text. Of `7/10` the 7 counts only if the schema has a property that goes up to 10: on another scale it would
/// be another number.
fn numbers(text: &str, maxima: &[f64]) -> Vec<f64> {
    let mut numbers = Vec::new();
    let tokens = text.split(|c: char| !c.is_ascii_digit() && c != '.' && c != '/');
    for token in tokens {
        let number = |digits: &str| digits.trim_matches('.').parse::<f64>().ok();
        match token.split_once('/') {
            Some((part, whole)) if !whole.is_empty() && !part.is_empty() => {
                let known = |whole: &f64| maxima.iter().any(|max| (max - whole).abs() < 1e-9);
                if number(whole).is_some_and(|whole| known(&whole)) {
                    numbers.extend(number(part));
                }
            }
            _ => numbers.extend(token.split('/').filter_map(number)),
        }
    }
    numbers
}

#[cfg(test)]
#[path = "additions_tests.rs"]
mod tests;
