//! The form fields that protocols add to the home page. Rendering and reading them is the same for every protocol.

use std::collections::BTreeMap;

use roundtable_engine::data::Data;
use roundtable_engine::protocol::{AnyProtocol, FieldKind, FormField};
use roundtable_engine::protocols;
use roundtable_engine::transcript::capital;
use serde_json::{Map, Value, json};

/// Submitted values by `PROTOCOL.FIELD`.
pub(crate) type FieldValues = BTreeMap<String, String>;

/// The fields of one protocol, shown while a cast of the protocol is chosen.
#[derive(Debug, Clone)]
pub(crate) struct FieldGroup {
    pub protocol: &'static str,
    pub title: &'static str,
    pub fields: Vec<FieldView>,
}

#[derive(Debug, Clone)]
pub(crate) struct FieldView {
    pub id: String,
    pub name: String,
    pub label: &'static str,
    pub hint: &'static str,
    pub placeholder: &'static str,
    pub control: Control,
}

#[derive(Debug, Clone)]
pub(crate) enum Control {
    Text(String),
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
    /// The groups of all protocols that have fields, filled in with the submitted values.
    pub(crate) fn all(data: &Data, values: &FieldValues) -> Vec<Self> {
        let groups = protocols::ALL.iter().map(|protocol| {
            let fields = protocol.form(data).into_iter();
            Self {
                protocol: protocol.name(),
                title: protocol.title(),
                fields: fields
                    .map(|field| FieldView::new(protocol.name(), field, values))
                    .collect(),
            }
        });
        groups.filter(|group| !group.fields.is_empty()).collect()
    }
}

impl FieldView {
    fn new(protocol: &str, field: FormField, values: &FieldValues) -> Self {
        let name = form_name(protocol, field.name);
        let value = values.get(&name).cloned().unwrap_or_default();
        Self {
            id: format!("{protocol}-{}", field.name),
            name,
            label: field.label,
            hint: field.hint,
            placeholder: field.placeholder,
            control: match field.kind {
                FieldKind::Text => Control::Text(value),
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
            FieldKind::Text | FieldKind::Choice(_) => json!(text),
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
