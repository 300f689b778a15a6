//! JSON schemas of reply types, in the form that every provider accepts: self-contained, objects closed, properties required.

use std::any::TypeId;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock, OnceLock, PoisonError, RwLock};

use jsonschema::{Draft, ValidationError, Validator};
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::faults::Fault;
use super::{Reply, prose, schema_templates};
use crate::model::{Ability, RawJson, Schema};

/// Restrictions of a schema that are known only per call, such as which ids exist.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refinement {
    /// Allowed values of properties of this name, at any depth; for a list, of its items.
    pub choices: Vec<(&'static str, Vec<String>)>,
    /// Properties of this name are objects with exactly these keys.
    pub keys: Vec<(&'static str, Vec<String>)>,
    /// Top-level properties to leave out; their type needs a default.
    pub omitted: Vec<&'static str>,
    /// Exact length of lists of this name, at any depth.
    pub items: Vec<(&'static str, usize)>,
}

/// Key in a property's schema whose value is sent instead: the type accepts more than is requested.
const SENT: &str = "x-sent";

pub(super) struct Derived {
    validator: Option<Validator>,
    /// The schema that replies are validated against.
    accepted: Value,
    /// The schema that is sent.
    json: Arc<RawJson>,
    /// The schema that is sent to small models.
    bounded: OnceLock<Arc<RawJson>>,
}

static DERIVED: LazyLock<RwLock<HashMap<TypeId, Arc<Derived>>>> = LazyLock::new(RwLock::default);

/// The schema and validator of a type, cached for the process. Building a validator takes 10 to 120 µs, validating 0.2 to 1 µs.
pub(super) fn derived<T: Reply>() -> Arc<Derived> {
    let id = TypeId::of::<T>();
    let known = DERIVED
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .get(&id)
        .cloned();
    known.unwrap_or_else(|| {
        let derived = Arc::new(Derived::of::<T>());
        DERIVED
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(id, Arc::clone(&derived));
        derived
    })
}

/// The values of all enumerations of a type, which are words of the schema and not of the model, and the upper ends of its scales.
pub(super) fn vocabulary<T: Reply>() -> (HashSet<String>, Vec<f64>) {
    fn collect(schema: &Value, choices: &mut HashSet<String>, maxima: &mut Vec<f64>) {
        if let Some(object) = schema.as_object() {
            let constant = object.get("const").into_iter();
            let values = object.get("enum").and_then(Value::as_array).into_iter();
            let all = constant.chain(values.flatten()).filter_map(Value::as_str);
            choices.extend(all.map(str::to_owned));
            maxima.extend(object.get("maximum").and_then(Value::as_f64));
            for inner in object.values() {
                collect(inner, choices, maxima);
            }
        }
        for inner in schema.as_array().into_iter().flatten() {
            collect(inner, choices, maxima);
        }
    }
    let (mut choices, mut maxima) = (HashSet::new(), Vec::new());
    collect(&derived::<T>().json, &mut choices, &mut maxima);
    (choices, maxima)
}

/// The schema that a reply is validated against.
fn accepted<T: Reply>() -> Value {
    let mut accepted = SchemaSettings::draft2020_12()
        .with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        })
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    tidy(&mut accepted);
    accepted
}

impl Derived {
    fn of<T: Reply>() -> Self {
        let accepted = accepted::<T>();
        let mut json = accepted.clone();
        demand(&mut json);
        Self {
            // The schemas have no keyword that is newer than draft 7, whose meta-schema is built in a third of the time.
            validator: jsonschema::options()
                .with_draft(Draft::Draft7)
                .build(&accepted)
                .ok(),
            accepted,
            json: Arc::new(json.into()),
            bounded: OnceLock::new(),
        }
    }

    fn bounded(&self, main: &str) -> &Arc<RawJson> {
        self.bounded.get_or_init(|| {
            let mut bounded = (**self.json).clone();
            each_property(&mut bounded, &mut |name, schema| {
                shorten(schema, name == main);
            });
            Arc::new(bounded.into())
        })
    }

    /// The first `max` violations of the schema.
    pub(super) fn faults(&self, value: &Value, max: usize) -> Vec<Fault> {
        let errors = self.validator.iter().flat_map(|v| v.iter_errors(value));
        let fault = |error: ValidationError<'_>| Fault::of(&error, &self.accepted);
        errors.take(max).map(fault).collect()
    }
}

/// Removes titles and number formats, which some servers reject, and line breaks in descriptions.
fn tidy(schema: &mut Value) {
    if let Some(object) = schema.as_object_mut() {
        let is_schema = object.contains_key("type") || object.contains_key("anyOf");
        if is_schema {
            object.remove("title");
            object.remove("format");
        }
        if let Some(description) = object.get_mut("description")
            && let Some(text) = description.as_str()
        {
            *description = json!(text.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        object.values_mut().for_each(tidy);
    } else if let Some(items) = schema.as_array_mut() {
        items.iter_mut().for_each(tidy);
    }
}

/// The schema to send with one call.
pub fn schema_for<T: Reply>(refinement: &Refinement, ability: Ability) -> Schema {
    let derived = derived::<T>();
    let json = match ability {
        Ability::Full => &derived.json,
        Ability::Small => derived.bounded(T::MAIN),
    };
    Schema {
        name: T::NAME.to_owned(),
        json: if *refinement == Refinement::default() {
            Arc::clone(json)
        } else {
            schema_templates::refined(TypeId::of::<T>(), ability, json, refinement)
        },
    }
}

pub(super) fn refine(json: &mut Value, refinement: &Refinement) {
    if let Some(properties) = json["properties"].as_object_mut() {
        properties.retain(|name, _| !refinement.omitted.contains(&name.as_str()));
    }
    for (property, values) in &refinement.choices {
        each_property(json, &mut |name, schema| {
            let is_list = schema["type"] == "array";
            if name == *property && is_list && values.is_empty() {
                schema["maxItems"] = json!(0);
            } else if name == *property && is_list {
                schema["items"] = json!({ "type": "string", "enum": values });
            } else if name == *property && !values.is_empty() {
                *schema = json!({ "type": "string", "enum": values });
            }
            // A list of objects with a property that has no choices must be empty.
            if values.is_empty() && schema["items"]["properties"].get(property).is_some() {
                schema["maxItems"] = json!(0);
            }
        });
    }
    for (property, count) in &refinement.items {
        each_property(json, &mut |name, schema| {
            if name == *property {
                schema["minItems"] = json!(count);
                schema["maxItems"] = json!(count);
            }
        });
    }
    // Last, because keys are user input and may equal property names.
    for (property, keys) in &refinement.keys {
        each_property(json, &mut |name, schema| {
            if name == *property {
                *schema = closed_object(&schema["additionalProperties"], keys);
            }
        });
    }
    let is_reshaped = !refinement.omitted.is_empty() || !refinement.keys.is_empty();
    if is_reshaped {
        demand(json);
    }
}

fn closed_object(value: &Value, keys: &[String]) -> Value {
    let properties: serde_json::Map<String, Value> = keys
        .iter()
        .map(|key| (key.clone(), value.clone()))
        .collect();
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

/// Turns the accepted schema into the one that is sent: all properties required, although a reply without some is accepted.
fn demand(schema: &mut Value) {
    if let Some(sent) = schema.get(SENT) {
        let mut sent = sent.clone();
        if let Some(description) = schema.get("description") {
            sent["description"] = description.clone();
        }
        *schema = sent;
    }
    if let Some(object) = schema.as_object_mut() {
        object.remove("default");
    }
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(demand);
        let all: Vec<String> = properties.keys().cloned().collect();
        schema["required"] = json!(all);
    }
    if let Some(items) = schema.get_mut("items") {
        demand(items);
    }
}

/// Bound of numbers for small models, which otherwise write digits without end.
const MAX_NUMBER: f64 = 1e12;

/// Bounds strings, lists and numbers for small models, which otherwise write until the token limit.
fn shorten(schema: &mut Value, is_main: bool) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    let at_most = |object: &mut serde_json::Map<String, Value>, key: &str, bound: u64| {
        let bound = object
            .get(key)
            .and_then(Value::as_u64)
            .map_or(bound, |old| old.min(bound));
        object.insert(key.to_owned(), json!(bound));
    };
    let is_number = |kind: &Value| kind == "number";
    let may_be_number = object.get("type").is_some_and(|kind| {
        is_number(kind) || kind.as_array().is_some_and(|all| all.iter().any(is_number))
    });
    if may_be_number && !object.contains_key("minimum") && !object.contains_key("maximum") {
        object.insert("minimum".to_owned(), json!(-MAX_NUMBER));
        object.insert("maximum".to_owned(), json!(MAX_NUMBER));
    }
    match object.get("type").and_then(Value::as_str) {
        Some("string") if !object.contains_key("enum") => {
            let length = |key| object.get(key).and_then(Value::as_u64);
            let longest = length("maxLength").unwrap_or(prose::MAX_MAIN);
            let pattern = if is_main && longest >= prose::MAX_MAIN {
                prose::sentences()
            } else {
                let least = length("minLength").unwrap_or(0);
                prose::phrase(least, longest.min(prose::MAX_OTHER))
            };
            // The pattern bounds the length. llguidance cannot intersect it with a second bound.
            object.remove("minLength");
            object.remove("maxLength");
            object.insert("pattern".to_owned(), json!(pattern));
        }
        Some("array") => {
            at_most(object, "maxItems", 2);
            if let Some(items) = object.get_mut("items") {
                shorten(items, false);
            }
        }
        _ => {}
    }
}

fn each_property(schema: &mut Value, change: &mut impl FnMut(&str, &mut Value)) {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        for (name, property) in properties {
            change(name, property);
            each_property(property, change);
        }
    }
    if let Some(items) = schema.get_mut("items") {
        each_property(items, change);
    }
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
