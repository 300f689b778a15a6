//! The input of a forecast: a whole request of the contract, or a question with outcomes, from which a request is built.

use roundtable_core::forecast::Distribution;
use roundtable_core::format::counted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::preview::preview;
use super::prompt_inputs::{size_note, within_context};
use super::request::MAX_ROUNDS;
use super::{Forecast, ForecastContext, Rules, Scale, plan};
use crate::cast::{Cast, CastChoice};
use crate::data::{Data, DataError};
use crate::depth::Depth;
use crate::form::{FieldKind, FormField};
use crate::protocol::{
    Context, Conversation, EmbedderUse, Fault, Plan, Protocol, Request, excess_tokens, no_images,
};
use crate::round_value::ValueRules;

/// The rules of a forecast. Anything given next to `request` replaces the request's own value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "ForecastInput")]
pub struct Input {
    /// A whole request of the forecasting contract.
    #[schemars(schema_with = "object")]
    pub request: Option<Value>,
    /// The outcomes, exactly one of which will happen: labels, or objects of the contract.
    pub outcomes: Option<Vec<Value>>,
    /// The number of rounds.
    pub rounds: Option<u32>,
    /// The roles that take part, by name.
    pub roles: Option<Vec<Value>>,
    /// The judge's weight against the mean of all roles, from 0 to 1.
    pub judge_weight: Option<f64>,
    /// The maximum length of an argument, in tokens.
    pub max_argument_length: Option<u32>,
    /// The field of the question, such as economy. The roles earn weights per domain.
    pub domain: Option<String>,
    /// The day after which the outcome is known, such as 2027-06-30.
    pub resolves: Option<String>,
    /// How often such things have happened, one text each. Every role reads them.
    pub base_rates: Option<Vec<String>>,
    /// The number or date that the question asks for. Its bins are the outcomes.
    pub scale: Option<Scale>,
    /// The probability that a market or a crowd gives to every outcome, in their order; one number is that of the first of two.
    /// The roles do not see it.
    pub crowd: Option<Vec<f64>>,
    /// Notes that every role reads.
    pub context: Option<String>,
    /// Whether every argument is scored by the rubric, and a weak one rewritten once. Defaults to true.
    pub score: Option<bool>,
    /// Stop when another round costs more than this for each change that it is expected to bring, in US dollars.
    #[schemars(range(min = 0))]
    pub stop_by_value: Option<f64>,
    /// The caller's own id for the question.
    pub task_id: Option<String>,
}

fn object(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "object" })
}

/// `quick` is one round, the judge and the summary, without scores. The number of rounds in a whole request stays.
pub(super) fn at_depth(input: Input, depth: Depth) -> Input {
    let (rounds, score) = match depth {
        Depth::Normal => return input,
        Depth::Quick => (1, Some(false)),
        Depth::Deep => (5, None),
    };
    let request = input.request.as_ref();
    let is_given = request.is_some_and(|request| !request["config"]["rounds"].is_null());
    Input {
        rounds: input.rounds.or((!is_given).then_some(rounds)),
        score: input.score.or(score),
        ..input
    }
}

/// Earlier messages become notes that every role reads. A question without outcomes is a yes-or-no question.
pub(super) fn converse(input: Input, said: Conversation) -> Result<(String, Input), Vec<Fault>> {
    if let Some(image) = said.images.first() {
        return Err(vec![no_images(&image.name)]);
    }
    let notes: Vec<String> = input.context.into_iter().chain(said.context).collect();
    let context = (!notes.is_empty()).then(|| notes.join("\n\n"));
    let yes_or_no = || vec!["Yes".into(), "No".into()];
    let outcomes = match input.outcomes {
        None if input.request.is_none() && input.scale.is_none() => Some(yes_or_no()),
        outcomes => outcomes,
    };
    let input = Input {
        outcomes,
        context,
        ..input
    };
    Ok((said.question, input))
}

pub(super) fn form() -> Vec<FormField> {
    vec![
        FormField::new(
            "outcomes",
            "Possible outcomes, one per line",
            FieldKind::Lines,
        )
        .hint("Exactly one of them will happen.")
        .placeholder("Above 3%\n2 to 3%\nBelow 2%")
        .initially("Yes\nNo")
        .essential(),
        FormField::new("resolves", "Known after", FieldKind::Date)
            .hint("The day after which the outcome is known."),
        FormField::new(
            "rounds",
            "Rounds",
            FieldKind::Number {
                least: 1,
                most: MAX_ROUNDS,
            },
        )
        .placeholder("3"),
        FormField::new("domain", "Field", FieldKind::Text)
            .hint("Roles that were right in a field count more in its next forecasts.")
            .placeholder("economy"),
    ]
}

pub(super) fn validate(
    input: &Input,
    request: &Request,
    context: Context<'_>,
) -> Result<Plan<Rules>, Vec<Fault>> {
    let mut faults = Vec::new();
    let limit = context.max_question_tokens;
    if let Some(notes) = &input.context
        && let Some(count) = excess_tokens(notes, limit)
    {
        let message = format!("the notes have {count} tokens; the limit is {limit}");
        faults.push(Fault::new("/rules/context", message));
    }
    if input.request.is_none() {
        faults.extend(crate::protocol::check_question(&request.question, limit).err());
    }
    let cast = load_cast(context.data, request.cast.as_ref())
        .map_err(|error| faults.push(Fault::new("/cast", error.to_string())))
        .ok();
    let forecast_context = ForecastContext {
        context: input.context.clone(),
        settings: context.settings(),
        now: context.now,
        history: context.history,
    };
    let contract_request = contract_request(input, &request.question);
    let planned = cast.and_then(|cast| {
        plan(&contract_request, &cast, forecast_context)
            .map_err(|found| faults.extend(found.iter().map(|fault| named(input, fault))))
            .ok()
    });
    if let Some(planned) = planned.as_ref().filter(|_| input.request.is_some()) {
        faults.extend(crate::protocol::check_question(&planned.question, limit).err());
    }
    let count = planned
        .as_ref()
        .map(|planned| planned.rules.outcome_ids().len());
    let asked = scale_and_crowd(input, count)
        .map_err(|found| faults.extend(found))
        .ok();
    let value = ValueRules::new(input.stop_by_value, context.value)
        .map_err(|message| faults.push(Fault::new("/rules/stop_by_value", message)))
        .ok();
    match planned {
        Some(mut planned) if faults.is_empty() => {
            planned.rules.is_scored = input.score.unwrap_or(true);
            planned.rules.value = value;
            (planned.rules.scale, planned.rules.crowd) = asked.unwrap_or_default();
            Ok(Plan::depending_on_models(
                planned.question.clone(),
                planned.cast.clone(),
                EmbedderUse::None,
                move |models, notes| {
                    let contexts = models
                        .values()
                        .filter_map(|seat| seat.model.profile().context_tokens);
                    let limit = &mut planned.rules.max_prompt_tokens;
                    *limit = within_context(*limit, contexts.min().map(u64::from));
                    notes.extend(size_note(&planned.rules, &planned.question));
                    notes.extend(preview(&planned, models));
                    Ok(planned.rules)
                },
            ))
        }
        _ => Err(faults),
    }
}

fn load_cast(data: &Data, choice: Option<&CastChoice>) -> Result<Cast, DataError> {
    let text = Cast::find(data, choice, Forecast::CAST)?;
    let cast = Cast::of(&text)?;
    cast.check_protocol(&text, Forecast::NAME)?;
    Ok(cast)
}

/// The given request, or one built from question and outcomes, with the other inputs written over it.
fn contract_request(input: &Input, question: &str) -> Value {
    let from_question = || {
        json!({
            "task_id": input.task_id.as_deref().unwrap_or("question"),
            "prediction_context": {
                "task": { "raw_query": question.trim() },
                "outcomes": with_ids(&outcomes(input)),
            },
        })
    };
    let mut request = input.request.clone().unwrap_or_else(from_question);
    for (_, pointer, value) in overrides(input) {
        set(&mut request, pointer, value);
    }
    request
}

/// The given outcomes, or the bins of the scale. Faults of a scale are reported on their own.
fn outcomes(input: &Input) -> Vec<Value> {
    match (&input.outcomes, &input.scale) {
        (Some(outcomes), _) => outcomes.clone(),
        (None, None) => Vec::new(),
        (None, Some(scale)) => {
            let labels = scale
                .labels()
                .unwrap_or_else(|_| vec!["low".into(), "high".into()]);
            labels.into_iter().map(Value::from).collect()
        }
    }
}

/// The scale and the crowd's forecast, for as many outcomes.
fn scale_and_crowd(
    input: &Input,
    outcomes: Option<usize>,
) -> Result<(Option<Scale>, Option<Distribution>), Vec<Fault>> {
    let mut faults = Vec::new();
    if let Some(scale) = &input.scale {
        match scale.bins() {
            Err(error) => faults.push(Fault::new("/rules/scale", error.to_string())),
            Ok(_) if input.outcomes.is_some() => faults.push(Fault::new(
                "/rules/scale",
                "a scale makes its own outcomes, so there must be no others",
            )),
            Ok(bins) if outcomes.is_some_and(|count| count != bins.count()) => {
                let message = format!(
                    "the scale has {} bins, not one for each outcome",
                    bins.count()
                );
                faults.push(Fault::new("/rules/scale", message));
            }
            Ok(_) => {}
        }
    }
    let crowd = input.crowd.as_deref().zip(outcomes);
    let crowd = crowd
        .map(|(crowd, outcomes)| crowd_forecast(crowd, outcomes))
        .transpose();
    match crowd {
        Ok(crowd) if faults.is_empty() => Ok((input.scale.clone(), crowd)),
        Ok(_) => Err(faults),
        Err(message) => {
            faults.push(Fault::new("/rules/crowd", message));
            Err(faults)
        }
    }
}

/// A crowd's probabilities, also in percent. Markets with an outcome each do not sum to 1 exactly.
///
/// # Errors
/// A message for numbers that are no forecast of this many outcomes.
pub fn crowd_forecast(crowd: &[f64], outcomes: usize) -> Result<Distribution, String> {
    const TOLERANCE: f64 = 0.1;
    let is_percent =
        crowd.iter().any(|value| *value > 1.0) && crowd.iter().all(|value| *value <= 100.0);
    let shares = crowd
        .iter()
        .map(|value| if is_percent { value / 100.0 } else { *value });
    let mut shares: Vec<f64> = shares.collect();
    if let (&[first], 2) = (shares.as_slice(), outcomes) {
        shares.push(1.0 - first);
    }
    if shares.len() != outcomes {
        return Err(format!(
            "{} for {outcomes} outcomes: expected a probability for each",
            counted(crowd.len(), "number")
        ));
    }
    Distribution::summing_to_one(&shares, TOLERANCE).map_err(|error| error.to_string())
}

/// The inputs that replace values of the request: name, pointer into the request, value.
fn overrides(input: &Input) -> Vec<(&'static str, &'static str, Value)> {
    let mut overrides = vec![
        ("rounds", "/config/rounds", json!(input.rounds)),
        ("roles", "/config/roles", json!(input.roles)),
        (
            "judge_weight",
            "/config/judge_weight",
            json!(input.judge_weight),
        ),
        (
            "max_argument_length",
            "/config/max_argument_length",
            json!(input.max_argument_length),
        ),
        (
            "base_rates",
            "/prediction_context/base_rates",
            json!(input.base_rates),
        ),
        (
            "domain",
            "/prediction_context/task/type",
            json!(input.domain),
        ),
        (
            "resolves",
            "/prediction_context/task/timeframe/end",
            json!(input.resolves),
        ),
    ];
    overrides.retain(|(_, _, value)| !value.is_null());
    overrides
}

/// A fault of the contract's request, as a fault of the input that the request was made from.
fn named(input: &Input, fault: &super::Fault) -> Fault {
    let at = pointer(input, &fault.at);
    // These problems are predicates: they need their subject.
    let is_predicate = ["is ", "has ", "must "]
        .iter()
        .any(|verb| fault.problem.starts_with(verb));
    let name = at.trim_start_matches("/rules/request/");
    let name = name.trim_start_matches("/rules/").trim_matches('/');
    if fault.at.starts_with('/') && (!is_predicate || name.is_empty()) {
        Fault::new(at, fault.problem.clone())
    } else if fault.at.starts_with('/') {
        Fault::new(at.as_str(), format!("{name} {}", fault.problem))
    } else {
        Fault::new("/cast", fault.to_string())
    }
}

/// The position in the caller's request of the value at this pointer of the contract's request.
fn pointer(input: &Input, at: &str) -> String {
    let below = |pointer: &str| {
        let rest = at.strip_prefix(pointer)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| rest.to_owned())
    };
    let mut overrides = overrides(input).into_iter();
    let replaced =
        overrides.find_map(|(name, pointer, _)| Some(format!("/rules/{name}{}", below(pointer)?)));
    let from_question = || {
        let outcomes = below("/prediction_context/outcomes");
        let outcomes = outcomes.map(|rest| format!("/rules/outcomes{rest}"));
        outcomes.unwrap_or_else(|| format!("/rules{at}"))
    };
    replaced.unwrap_or_else(|| match &input.request {
        Some(_) => format!("/rules/request{}", at.trim_end_matches('/')),
        None => from_question(),
    })
}

/// Writes a value into nested objects and creates missing ones. Anything that is not an object is left for the reader of
/// the request to reject.
fn set(object: &mut Value, pointer: &str, value: Value) {
    let Some((parents, last)) = pointer.rsplit_once('/') else {
        return;
    };
    let mut target = object;
    for name in parents.split('/').skip(1) {
        let Some(fields) = target.as_object_mut() else {
            return;
        };
        target = fields
            .entry(name.to_owned())
            .or_insert_with(|| Value::Object(Map::new()));
    }
    if let Some(fields) = target.as_object_mut() {
        fields.insert(last.to_owned(), value);
    }
}

/// Gives labels an id that people can type; objects keep theirs.
fn with_ids(outcomes: &[Value]) -> Value {
    let mut ids: Vec<String> = Vec::new();
    let mut all = Vec::new();
    for (number, outcome) in (1..).zip(outcomes) {
        let Some(label) = outcome.as_str() else {
            all.push(outcome.clone());
            continue;
        };
        let mut id = slug(label);
        if id.is_empty() || ids.contains(&id) {
            let prefix = if id.is_empty() { "outcome-" } else { "-" };
            id = format!("{id}{prefix}{number}");
        }
        all.push(json!({ "id": id, "label": label.trim() }));
        ids.push(id);
    }
    Value::Array(all)
}

/// `Above 3%` → `above-3`; at most four words.
fn slug(label: &str) -> String {
    let lower = label.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).take(4).collect();
    words.join("-").chars().take(32).collect()
}

#[cfg(test)]
#[path = "input_tests.rs"]
mod tests;
