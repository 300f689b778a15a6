//! The form fields that protocols add to the home page. Rendering and reading them is the same for every protocol.

use std::collections::BTreeMap;

use roundtable_engine::data::Data;
use roundtable_engine::form::{FieldKind, FormField};
use roundtable_engine::protocol::AnyProtocol;
use roundtable_engine::transcript::capital;
use serde_json::{Map, Value, json};

use crate::failure::Fault;
use crate::format::short;

/// Submitted values by `PROTOCOL.FIELD`.
pub(crate) type FieldValues = BTreeMap<String, String>;

/// The fields of one protocol, shown while a cast of the protocol is chosen.
#[derive(Debug, Clone)]
pub(crate) struct FieldGroup {
    pub protocol: &'static str,
    pub fields: Vec<FieldView>,
}

#[derive(Debug, Clone)]
pub(crate) struct FieldView {
    pub id: String,
    pub name: String,
    pub label: &'static str,
    pub hint: &'static str,
    pub is_essential: bool,
    pub placeholder: &'static str,
    pub control: Control,
}

#[derive(Debug, Clone)]
pub(crate) enum Control {
    Text(String),
    Date(String),
    Number {
        value: String,
        least: u32,
        most: u32,
    },
    Lines(String),
    Checkbox(bool),
    Select(Vec<SelectOption>),
}

#[derive(Debug, Clone)]
pub(crate) struct SelectOption {
    pub value: String,
    pub label: String,
    pub summary: String,
    pub is_chosen: bool,
}

impl FieldGroup {
    /// The fields of a protocol, filled in with the submitted values.
    pub(crate) fn of(protocol: &dyn AnyProtocol, data: &Data, values: &FieldValues) -> Self {
        let fields = protocol.form(data).into_iter();
        Self {
            protocol: protocol.name(),
            fields: fields
                .map(|field| FieldView::new(protocol.name(), field, values))
                .collect(),
        }
    }

    /// The fields next to the question.
    pub(crate) fn essential(&self) -> impl Iterator<Item = &FieldView> {
        self.fields.iter().filter(|field| field.is_essential)
    }

    /// The fields among the options.
    pub(crate) fn further(&self) -> impl Iterator<Item = &FieldView> {
        self.fields.iter().filter(|field| !field.is_essential)
    }
}

impl FieldView {
    fn new(protocol: &str, field: FormField, values: &FieldValues) -> Self {
        let name = form_name(protocol, field.name);
        let value = values.get(&name).cloned();
        let value = value.unwrap_or_else(|| field.initial.to_owned());
        Self {
            id: format!("{protocol}-{}", field.name),
            name,
            label: field.label,
            hint: field.hint,
            is_essential: field.is_essential,
            placeholder: field.placeholder,
            control: match field.kind {
                FieldKind::Text => Control::Text(value),
                FieldKind::Date => Control::Date(value),
                FieldKind::Number { least, most } => Control::Number { value, least, most },
                FieldKind::Lines => Control::Lines(value),
                FieldKind::Checkbox => Control::Checkbox(!value.is_empty()),
                FieldKind::Choice(choices) => {
                    let options = choices.into_iter().map(|choice| SelectOption {
                        is_chosen: choice.value == value,
                        label: option_label(&choice.value, &choice.summary),
                        value: choice.value,
                        summary: choice.summary,
                    });
                    Control::Select(options.collect())
                }
            },
        }
    }
}

/// The protocol's input: submitted values of its fields, without empty ones.
pub(crate) fn protocol_input(
    protocol: &dyn AnyProtocol,
    data: &Data,
    values: &FieldValues,
    faults: &mut Vec<Fault>,
) -> Map<String, Value> {
    let mut input = Map::new();
    for field in protocol.form(data) {
        let value = values.get(&form_name(protocol.name(), field.name));
        let Some(text) = value
            .map(|text| text.trim())
            .filter(|text| !text.is_empty())
        else {
            continue;
        };
        let value = match field.kind {
            FieldKind::Text | FieldKind::Date | FieldKind::Choice(_) => json!(text),
            FieldKind::Number { least, most } => match text.parse::<u32>() {
                Ok(number) if (least..=most).contains(&number) => json!(number),
                _ => {
                    let (label, text) = (field.label, short(text, 40));
                    let message = format!("invalid {label} '{text}': expected {least} to {most}");
                    faults.push(Fault::new(format!("/rules/{}", field.name), message));
                    continue;
                }
            },
            FieldKind::Lines => {
                let lines = text.lines().map(str::trim);
                lines.filter(|line| !line.is_empty()).collect()
            }
            // Browsers leave out a checkbox that is not checked, so the configured default applies.
            FieldKind::Checkbox => json!(true),
        };
        input.insert(field.name.to_owned(), value);
    }
    input
}

fn form_name(protocol: &str, field: &str) -> String {
    format!("{protocol}.{field}")
}

/// `red-team-blue-team` → `Red team blue team`; the summary for the empty value.
fn option_label(value: &str, summary: &str) -> String {
    if value.is_empty() {
        summary.to_owned()
    } else {
        capital(&value.replace(['-', '_'], " "))
    }
}
