//! Values of a reply by the name of their property.

use roundtable_core::random::SplitMix64;
use serde_json::{Map, Value, json};

use super::opinion::hash;
use super::reply::Writer;
use super::texts::{self, Subject};

/// Lists that stay empty if they may: what they report has not happened.
const EMPTY: [&str; 11] = [
    "changes",
    "critiques",
    "decisions",
    "disputes",
    "moved_by",
    "moves",
    "new_issues",
    "opposes",
    "references",
    "retracts",
    "withhold",
];

/// Texts that stay null if they may.
const NULL: [&str; 5] = [
    "blocker",
    "concession",
    "counter",
    "security_objection",
    "url",
];

impl Writer {
    pub(super) fn is_null(&self, name: &str) -> bool {
        NULL.contains(&name) && !(name == "blocker" && self.blocks())
    }

    fn blocks(&self) -> bool {
        self.vote() == "BLOCKER"
    }

    /// An opinion of the outcomes that all seats share, with a little noise of their own.
    pub(super) fn probabilities(&mut self, outcomes: &Map<String, Value>) -> Value {
        let mut shared = SplitMix64::new(self.about);
        let odds: Vec<f64> = outcomes
            .keys()
            .map(|_| (1.25 * shared.normal() + 0.5 * self.random.normal()).exp())
            .collect();
        let sum: f64 = odds.iter().sum();
        let mut left: i64 = 1000;
        let mut values = Map::new();
        for (index, (outcome, odds)) in outcomes.keys().zip(&odds).enumerate() {
            let rest = i64::try_from(outcomes.len() - index - 1).unwrap_or_default();
            // In thousandths; the last outcome gets the rest, so that the sum is 1.
            let own = if index + 1 == outcomes.len() {
                left
            } else {
                whole(1000.0 * odds / sum).max(1).min(left - rest)
            };
            left -= own;
            values.insert(outcome.clone(), json!(thousandths(own)));
        }
        let largest = |a: &(&String, &Value), b: &(&String, &Value)| {
            let of = |value: &Value| value.as_f64().unwrap_or_default();
            of(a.1).total_cmp(&of(b.1))
        };
        let likeliest = values
            .iter()
            .max_by(largest)
            .map(|(outcome, _)| outcome.clone());
        self.opinion.answer = likeliest.unwrap_or_default();
        Value::Object(values)
    }

    pub(super) fn choice(&mut self, name: &str, choices: &[Value]) -> Value {
        let wanted = match name {
            "vote" => self.vote(),
            "label" => "INFER",
            "action" => "accept",
            "status" => "resolved",
            "decision" => "rejected",
            "risk" => "clear",
            "change" => "refined",
            "type" => "LOGICAL",
            "supports" => self.opinion.answer.as_str(),
            "stance" => self.stance.as_str(),
            _ => "",
        };
        let foreign: Vec<Value> = match name {
            "claim" => self.of_others(choices),
            _ => Vec::new(),
        };
        let choices = if foreign.is_empty() {
            choices
        } else {
            &foreign
        };
        if let Some(found) = choices.iter().find(|choice| *choice == wanted) {
            return found.clone();
        }
        let drawn = choices.get(self.random.below(choices.len().max(1)));
        drawn.cloned().unwrap_or_default()
    }

    /// The ids of claims whose line in the prompt does not name this seat.
    fn of_others(&self, ids: &[Value]) -> Vec<Value> {
        let is_own = |id: &str| {
            let mut lines = self.prompt.lines();
            let line = lines.find(|line| line.starts_with(&format!("{id} ")));
            line.is_some_and(|line| line.to_lowercase().contains(&self.title))
        };
        let ids = ids
            .iter()
            .filter(|id| !is_own(id.as_str().unwrap_or_default()));
        ids.cloned().collect()
    }

    /// Sure seats accept; a seat that disagrees with most others blocks if it is sure.
    fn vote(&self) -> &'static str {
        let confidence = self.opinion.confidence;
        match self.opinion.agrees {
            Some(false) if confidence >= 0.5 => "BLOCKER",
            Some(true) => "ACCEPT",
            None if confidence >= 0.7 => "ACCEPT",
            Some(false) | None => "MINOR",
        }
    }

    pub(super) fn length(&self, name: &str) -> usize {
        match name {
            "opposes" | "critiques" if self.must_object => 1,
            name if EMPTY.contains(&name) => 0,
            "risks" => 3,
            "alternatives" | "precedents" | "issues" => 2,
            _ => 1,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "rounds and bounds are small")]
    pub(super) fn number(&mut self, name: &str, schema: &Value) -> f64 {
        let low = schema["minimum"].as_f64();
        let high = schema["maximum"].as_f64();
        let share = match name {
            "confidence" if high.is_none_or(|high| high <= 1.0) => {
                return self.confidence(schema);
            }
            "round" | "number" => return low.unwrap_or(1.0).max(self.round as f64),
            "confidence_adjustment" => return 0.0,
            // Good, with something left to mend.
            "quality_score" => return 7.0,
            // All seats judge the same thing, and each one keeps its number.
            "score" | "estimate" => {
                let shared = self.about ^ hash(&[&self.item]);
                let own = shared ^ hash(&[&self.title]);
                let part = |seed: u64| SplitMix64::new(seed).uniform();
                0.8 * part(shared) + 0.2 * part(own)
            }
            _ => self.random.uniform(),
        };
        match (low, high) {
            // Rather good than bad: a score in the upper half.
            (Some(low), Some(high)) => {
                let value = low + (high - low) * (0.5 + 0.4 * share);
                if high <= 1.0 {
                    (100.0 * value).round() / 100.0
                } else {
                    value.round()
                }
            }
            (Some(low), None) => low,
            (None, Some(high)) => high,
            (None, None) => (100.0 * share).round(),
        }
    }

    /// Of a claim that rests on reasons alone, as much as those allow.
    fn confidence(&self, schema: &Value) -> f64 {
        let high = schema["maximum"].as_f64().unwrap_or(1.0);
        let low = schema["minimum"].as_f64().unwrap_or(0.0);
        let stated = if self.claims > 0 {
            0.5
        } else {
            self.opinion.confidence
        };
        stated.clamp(low, high)
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        match name {
            "resolved" | "would_benefit_from_finetune" => false,
            // In a review, which has a verdict on each issue.
            "ready_for_synthesis" => !self.item.is_empty(),
            _ => true,
        }
    }

    /// The text of a property, within its length.
    pub(super) fn limited(&mut self, name: &str, schema: &Value) -> String {
        let text = self.string(name);
        let most = schema["maxLength"]
            .as_u64()
            .and_then(|most| usize::try_from(most).ok());
        text.chars().take(most.unwrap_or(usize::MAX)).collect()
    }

    pub(super) fn string(&mut self, name: &str) -> String {
        if name == "of" {
            self.claims += 1;
            return format!("N{}", self.claims);
        }
        let subject = Subject {
            answer: &self.opinion.answer,
            other: &self.opinion.other,
            seat: &self.title,
            round: self.round,
        };
        if name != "argument" {
            return texts::of_property(name, &subject, &mut self.random);
        }
        if self.headings.is_empty() {
            return texts::paragraph(&subject, &mut self.random);
        }
        let sections = self.headings.iter().map(|heading| {
            let text = texts::paragraph(&subject, &mut self.random);
            format!("## {heading}\n\n{text}")
        });
        sections.collect::<Vec<_>>().join("\n\n")
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "bounds of schemas and thousandths are small"
)]
pub(super) fn whole(value: f64) -> i64 {
    value.round() as i64
}

#[expect(clippy::cast_precision_loss, reason = "at most 1000")]
fn thousandths(count: i64) -> f64 {
    count as f64 / 1000.0
}
