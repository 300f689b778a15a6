//! How a `forecast` is ordered: either with a whole request of the contract, or with a question and its outcomes, of which
//! one is made.

use std::collections::BTreeMap;

use roundtable_engine::cast::Cast;
use roundtable_engine::protocols::Protocol;
use roundtable_engine::protocols::forecast::{Before, open};
use serde_json::{Map, Value, json};

use super::{DebateSpec, Embedding, Terms, ValidatedSpec, check_question};
use crate::app_context::AppContext;
use crate::clock;
use crate::failure::{Failure, Fault};

const CAST: &str = "forecast";

/// What may be given beside or instead of a whole request.
const RULES: [&str; 10] = [
    "request",
    "outcomes",
    "rounds",
    "roles",
    "judge_weight",
    "max_argument_length",
    "domain",
    "resolves",
    "context",
    "task_id",
];

pub(super) fn validate(app: &AppContext, spec: DebateSpec) -> Result<ValidatedSpec, Failure> {
    let mut faults = Vec::new();
    for key in spec
        .rules
        .keys()
        .filter(|key| !RULES.contains(&key.as_str()))
    {
        faults.push(Fault::new(
            format!("/rules/{key}"),
            format!("forecast has no rule '{key}'; it has {}", RULES.join(", ")),
        ));
    }
    let limit = app.config.limits.max_question_tokens;
    let context = spec.rules.get("context").and_then(Value::as_str);
    if let Some(context) = context
        && let Some(count) = super::excess(context, limit)
    {
        let message = format!("the notes have {count} tokens; the limit is {limit}");
        faults.push(Fault::new("/rules/context", message));
    }
    let cast = Cast::load(&app.data, spec.cast.as_deref().unwrap_or(CAST));
    if let Err(error) = &cast {
        faults.push(Fault::new("/cast", error.to_string()));
    }
    let request = request(&spec);
    let before = Before {
        context: context.map(str::to_owned),
        history: spec.history,
        now: clock::now(),
    };
    let opened = cast.ok().map(|cast| open(&request, &cast, before));
    let opening = match opened {
        Some(Ok(opening)) => Some(opening),
        Some(Err(found)) => {
            let named = found.into_iter().map(|fault| {
                let message = fault.to_string();
                Fault::new(fault.at, message)
            });
            faults.extend(named);
            None
        }
        None => None,
    };
    if let Some(opening) = &opening {
        faults.extend(check_question(&opening.question, limit).err());
    }
    match opening {
        Some(opening) if faults.is_empty() => Ok(ValidatedSpec {
            protocol: Protocol::Forecast,
            question: opening.question,
            cast: opening.cast,
            models: spec.models,
            configured: BTreeMap::new(),
            terms: Terms::Rules(json!(opening.rules)),
            budget: spec.budget,
            seed: spec.seed,
            embedding: Embedding::Unneeded,
        }),
        _ => Err(Failure::refused(faults)),
    }
}

/// The request that was given, or one made of question and outcomes; what is given beside a request stands over it.
fn request(spec: &DebateSpec) -> Value {
    let rules = &spec.rules;
    let mut request = rules.get("request").cloned().unwrap_or_else(|| made(spec));
    if !request.is_object() {
        return request;
    }
    for name in ["rounds", "roles", "judge_weight", "max_argument_length"] {
        if let Some(value) = rules.get(name) {
            set(&mut request, &["config", name], value);
        }
    }
    let task = ["prediction_context", "task"];
    if let Some(domain) = rules.get("domain") {
        set(&mut request, &[task[0], task[1], "type"], domain);
    }
    if let Some(day) = rules.get("resolves") {
        set(&mut request, &[task[0], task[1], "timeframe", "end"], day);
    }
    request
}

/// Writes a value into nested objects, making those that are missing. What is no object is left for the reader to refuse.
fn set(object: &mut Value, path: &[&str], value: &Value) {
    let Some((last, before)) = path.split_last() else {
        return;
    };
    let mut place = object;
    for name in before {
        let Some(fields) = place.as_object_mut() else {
            return;
        };
        place = fields
            .entry((*name).to_owned())
            .or_insert_with(|| Value::Object(Map::new()));
    }
    if let Some(fields) = place.as_object_mut() {
        fields.insert((*last).to_owned(), value.clone());
    }
}

fn made(spec: &DebateSpec) -> Value {
    let outcomes = spec
        .rules
        .get("outcomes")
        .cloned()
        .unwrap_or_else(|| json!([]));
    let outcomes = match outcomes.as_array() {
        Some(labels) => named(labels),
        None => outcomes,
    };
    let task_id = spec.rules.get("task_id").cloned();
    json!({
        "task_id": task_id.unwrap_or_else(|| json!("question")),
        "prediction_context": {
            "task": { "raw_query": spec.question.trim() },
            "outcomes": outcomes,
        },
    })
}

/// Labels get ids that people can write; whole outcomes keep theirs.
fn named(labels: &[Value]) -> Value {
    let mut ids: Vec<String> = Vec::new();
    let mut outcomes = Vec::new();
    for (number, label) in (1..).zip(labels) {
        let Some(label) = label.as_str() else {
            outcomes.push(label.clone());
            continue;
        };
        let mut id = slug(label);
        if id.is_empty() || ids.contains(&id) {
            id = format!(
                "{id}{}{number}",
                if id.is_empty() { "outcome-" } else { "-" }
            );
        }
        outcomes.push(json!({ "id": id, "label": label.trim() }));
        ids.push(id);
    }
    json!(outcomes)
}

/// `Above 3%` → `above-3`; at most four words.
fn slug(label: &str) -> String {
    let lower = label.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).take(4).collect();
    words.join("-").chars().take(32).collect()
}

#[cfg(test)]
#[path = "forecast_tests.rs"]
mod tests;
