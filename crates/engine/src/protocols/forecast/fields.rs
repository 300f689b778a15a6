//! Reads fields of a JSON request and collects their faults, each with its JSON pointer.

use roundtable_core::bounded::Probability;
use serde_json::Value;

use super::request::Fault;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Required,
    Optional,
}

/// A value of the request, if present, and its JSON pointer.
pub(super) struct Field<'a> {
    pub(super) at: String,
    pub(super) value: Option<&'a Value>,
}

impl<'a> Field<'a> {
    pub(super) fn root(value: &'a Value) -> Self {
        Self {
            at: String::new(),
            value: Some(value),
        }
    }

    pub(super) fn get(&self, name: &str) -> Self {
        Self {
            at: format!("{}/{name}", self.at),
            value: self.value.and_then(|value| value.get(name)),
        }
    }

    /// `null` counts as missing.
    pub(super) fn is_given(&self) -> bool {
        self.value.is_some_and(|value| !value.is_null())
    }
}

#[derive(Default)]
pub(super) struct Reader {
    pub(super) faults: Vec<Fault>,
}

impl Reader {
    pub(super) fn fault(&mut self, field: &Field<'_>, problem: impl Into<String>) {
        // Longer messages are not read, and a list can have hundreds of thousands of items.
        const MAX_FAULTS: usize = 100;
        if self.faults.len() >= MAX_FAULTS {
            return;
        }
        let at = if field.at.is_empty() { "/" } else { &field.at };
        self.faults.push(Fault {
            at: at.to_owned(),
            problem: problem.into(),
        });
    }

    /// Adds a fault for a value of the wrong type, or for a missing required value.
    pub(super) fn wrong_type(&mut self, field: &Field<'_>, need: Need, kind: &str) {
        if field.is_given() {
            self.fault(field, format!("must be {kind}"));
        } else if need == Need::Required {
            self.fault(field, "is missing");
        }
    }

    pub(super) fn is_object(&mut self, field: &Field<'_>, need: Need) -> bool {
        let is_object = field.value.is_some_and(Value::is_object);
        if !is_object {
            self.wrong_type(field, need, "an object");
        }
        is_object
    }

    pub(super) fn list<'a>(&mut self, field: &Field<'a>, need: Need) -> Vec<Field<'a>> {
        let Some(items) = field.value.and_then(Value::as_array) else {
            self.wrong_type(field, need, "a list");
            return Vec::new();
        };
        let numbered = items.iter().enumerate().map(|(number, item)| Field {
            at: format!("{}/{number}", field.at),
            value: Some(item),
        });
        numbered.collect()
    }

    pub(super) fn text(&mut self, field: &Field<'_>) -> Option<String> {
        let text = field.value.and_then(Value::as_str);
        if text.is_none() {
            self.wrong_type(field, Need::Optional, "a text");
        }
        text.map(|text| text.trim().to_owned())
    }

    /// Empty if it is missing; that is a fault.
    pub(super) fn required_text(&mut self, field: &Field<'_>) -> String {
        let text = field.value.and_then(Value::as_str);
        match text.map(str::trim) {
            None => self.wrong_type(field, Need::Required, "a text"),
            Some("") => self.fault(field, "is empty"),
            Some(_) => {}
        }
        text.unwrap_or_default().trim().to_owned()
    }

    pub(super) fn texts(&mut self, field: &Field<'_>) -> Vec<String> {
        let items = self.list(field, Need::Optional);
        items.iter().map(|item| self.required_text(item)).collect()
    }

    pub(super) fn probability(&mut self, field: &Field<'_>, need: Need) -> Option<Probability> {
        let Some(number) = field.value.and_then(Value::as_f64) else {
            self.wrong_type(field, need, "a number from 0 to 1");
            return None;
        };
        let share = Probability::new(number).ok();
        if share.is_none() {
            self.fault(field, format!("is {number}; expected a number from 0 to 1"));
        }
        share
    }

    pub(super) fn integer(
        &mut self,
        field: &Field<'_>,
        range: std::ops::RangeInclusive<u64>,
        default: u64,
    ) -> u64 {
        if !field.is_given() {
            return default;
        }
        let number = field.value.and_then(whole_number);
        if let Some(number) = number.filter(|number| range.contains(number)) {
            return number;
        }
        let (low, high) = range.into_inner();
        let problem = format!("must be a whole number from {low} to {high}");
        self.fault(field, problem);
        default
    }
}

/// JSON Schema counts `3.0` as an integer.
fn whole_number(value: &Value) -> Option<u64> {
    let whole = || {
        let number = value.as_f64()?;
        let is_whole = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a whole number within the range of u32"
        )]
        is_whole.then_some(number as u64)
    };
    value.as_u64().or_else(whole)
}
