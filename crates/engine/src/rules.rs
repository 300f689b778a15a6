//! Fields of a debate's rules that are read without knowing the protocol.
//!
//! [`Setup::rules`] is JSON, serialized from the protocol's own type. Code for all protocols reads it only through this
//! module, and reads a missing or invalid field as absent:
//!
//! - `max_rounds` or `rounds`, and `min_rounds`: the number of rounds.
//! - `focus`: the question of a round.
//! - `learned`, `domain` and `required_questions`: the input from earlier post-mortems. Enhanced debates have them in the
//!   object `enhanced`, others at the top level.

use roundtable_core::learning::Learned;
use serde::Serialize;
use serde_json::Value;

use crate::event::Setup;

/// How many rounds a debate may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Planned {
    pub least: u32,
    pub most: u32,
}

impl Planned {
    /// `None` if the protocol has no rounds.
    pub fn of(setup: &Setup) -> Option<Self> {
        let number = |key: &str| u32::try_from(setup.rules[key].as_u64()?).ok();
        let most = number("max_rounds").or_else(|| number("rounds"))?;
        Some(Self {
            least: number("min_rounds").unwrap_or(most),
            most,
        })
    }
}

/// The question on which a round is to focus (M-14).
pub(crate) fn focus(setup: &Setup, round: u32) -> Option<String> {
    let focus = setup.rules["focus"][round.to_string().as_str()].as_str()?;
    Some(focus.to_owned())
}

/// The knowledge from earlier post-mortems that a debate was given (E-15).
#[derive(Debug, Clone, Copy)]
pub(crate) struct LearningInput<'a>(&'a Value);

impl<'a> LearningInput<'a> {
    pub(crate) fn of(setup: &'a Setup) -> Self {
        let enhanced = setup.rules.get("enhanced").filter(|part| part.is_object());
        Self(enhanced.unwrap_or(&setup.rules))
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0["learned"].is_null() && self.required_questions().is_empty()
    }

    pub(crate) fn learned(self) -> Option<Learned> {
        serde_json::from_value(self.0.get("learned")?.clone()).ok()
    }

    pub(crate) fn domain(self) -> Option<&'a str> {
        let fields = [&self.0["learned"]["domain"], &self.0["domain"]];
        fields.into_iter().find_map(Value::as_str)
    }

    /// The questions put to the seats before round 1.
    pub(crate) fn required_questions(self) -> Vec<String> {
        let fields = [
            &self.0["required_questions"],
            &self.0["learned"]["questions"],
        ];
        let questions = fields.into_iter().find_map(Value::as_array);
        let texts = questions.into_iter().flatten().filter_map(|question| {
            let text = question
                .as_str()
                .or_else(|| question["question"].as_str())?;
            Some(text.to_owned())
        });
        texts.collect()
    }
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
