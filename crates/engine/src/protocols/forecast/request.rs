//! Reads a `DebateRequest` (F-01): reports all faults at once, ignores unknown fields, applies the contract's defaults.

use roundtable_core::bounded::Probability;
use roundtable_core::forecast::{Criteria, CriteriaError, Distribution, DistributionError};
use roundtable_core::format::counted;
use roundtable_core::wording;
use serde_json::Value;

use super::contract::{
    Config, DataSummary, DebateRequest, KeyVariable, Outcome, OutcomeProbability,
    PredictionContext, SimulationSummary, Timeframe,
};
use super::fields::{Field, Need, Reader};

/// One fault of a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, serde::Serialize)]
#[error("{at}: {problem}")]
pub struct Fault {
    /// A JSON pointer: `/prediction_context/outcomes/0/id`.
    pub at: String,
    pub problem: String,
}

pub const MIN_OUTCOMES: usize = 2;
/// Every role gives a probability for every outcome in a short reply.
pub const MAX_OUTCOMES: usize = 20;
pub const MAX_ROUNDS: u32 = 10;
const MIN_ROLES: usize = 2;
const MAX_CRITERIA: usize = 10;
const ARGUMENT_LENGTHS: std::ops::RangeInclusive<u64> = 100..=4000;
/// The tolerance on the sum of a distribution: rounding to two decimals is not a mistake.
pub(super) const SUM_TOLERANCE: f64 = 0.011;

const DEFAULT_ROUNDS: u64 = 3;
/// Tokens of an argument.
pub(super) const DEFAULT_LENGTH: u64 = 500;
const DEFAULT_JUDGE_WEIGHT: Probability = Probability::percent(60);

/// `roles` are those of the cast, in its order; they are also the default.
pub(super) fn read(
    json: &Value,
    roles: &[String],
) -> Result<(DebateRequest, Criteria), Vec<Fault>> {
    let mut reader = Reader::default();
    let root = Field::root(json);
    if !json.is_object() {
        let problem = "must be a JSON object with task_id and prediction_context";
        reader.fault(&root, problem);
        return Err(reader.faults);
    }
    let task_id = reader.required_text(&root.get("task_id"));
    let prediction_context = context(&mut reader, &root.get("prediction_context"));
    let (config, criteria) = config(&mut reader, &root.get("config"), roles);
    if !reader.faults.is_empty() {
        return Err(reader.faults);
    }
    let request = DebateRequest {
        task_id,
        prediction_context,
        config,
    };
    Ok((request, criteria))
}

fn context(reader: &mut Reader, field: &Field<'_>) -> PredictionContext {
    if !reader.is_object(field, Need::Required) {
        return PredictionContext::default();
    }
    let task_field = field.get("task");
    reader.is_object(&task_field, Need::Required);
    let task = task_field.value.and_then(Value::as_object).cloned();
    let mut outcomes = outcomes(reader, &field.get("outcomes"));
    for outcome in &mut outcomes {
        if outcome.boundary_conditions.is_empty() {
            outcome.boundary_conditions = conditions_in(&task_field, &outcome.id);
        }
    }
    let ids: Vec<String> = outcomes.iter().map(|outcome| outcome.id.clone()).collect();
    let mut base_rates = reader.texts(&field.get("base_rates"));
    base_rates.extend(reader.texts(&task_field.get("base_rates")));
    PredictionContext {
        task: task.unwrap_or_default(),
        key_variables: key_variables(reader, field, &task_field),
        base_rates,
        simulation_summary: simulation(reader, &field.get("simulation_summary"), &ids),
        data_summary: data(reader, &field.get("data_summary")),
        outcomes,
    }
}

fn outcomes(reader: &mut Reader, field: &Field<'_>) -> Vec<Outcome> {
    let items = reader.list(field, Need::Required);
    let count = items.len();
    if field.is_given() && count < MIN_OUTCOMES {
        let problem = format!(
            "has {}; a forecast needs at least {MIN_OUTCOMES}, such as yes and no",
            counted(count, "outcome")
        );
        reader.fault(field, problem);
    }
    if count > MAX_OUTCOMES {
        let problem = format!(
            "has {count} outcomes; the maximum is {MAX_OUTCOMES}. Combine the least likely ones."
        );
        reader.fault(field, problem);
    }
    let mut outcomes: Vec<Outcome> = Vec::new();
    for item in &items {
        if !reader.is_object(item, Need::Required) {
            continue;
        }
        let id_field = item.get("id");
        let outcome = Outcome {
            id: reader.required_text(&id_field),
            label: reader.required_text(&item.get("label")),
            description: reader.text(&item.get("description")).unwrap_or_default(),
            boundary_conditions: plain(item.get("boundary_conditions").value),
        };
        let is_duplicate = outcomes.iter().any(|other| other.id == outcome.id);
        if is_duplicate && !outcome.id.is_empty() {
            reader.fault(&id_field, format!("'{}' is used twice", outcome.id));
        }
        let spelling = |outcome: &Outcome| wording::one_line(&outcome.label).to_lowercase();
        let label = spelling(&outcome);
        if !label.is_empty() && outcomes.iter().any(|other| spelling(other) == label) {
            let problem = format!(
                "'{}' is used twice; the outcomes must differ",
                outcome.label
            );
            reader.fault(&item.get("label"), problem);
        }
        outcomes.push(outcome);
    }
    outcomes
}

/// Those of the context, then those that only the task names.
fn key_variables(reader: &mut Reader, context: &Field<'_>, task: &Field<'_>) -> Vec<KeyVariable> {
    let mut all: Vec<KeyVariable> = Vec::new();
    for field in [context, task].map(|field| field.get("key_variables")) {
        for item in reader.list(&field, Need::Optional) {
            let variable = key_variable(reader, &item);
            if !all.iter().any(|known| known.name == variable.name) {
                all.push(variable);
            }
        }
    }
    all
}

/// The boundary conditions that the task has for an outcome.
fn conditions_in(task: &Field<'_>, id: &str) -> String {
    let outcomes = task.get("outcomes").value.and_then(Value::as_array);
    let mut outcomes = outcomes.into_iter().flatten();
    let outcome = outcomes.find(|outcome| outcome["id"] == id);
    plain(outcome.and_then(|outcome| outcome.get("boundary_conditions")))
}

/// Any value as one line of text; the items of a list are separated by semicolons.
pub(super) fn plain(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => wording::one_line(text),
        Some(Value::Array(items)) => {
            let items = items.iter().map(|item| plain(Some(item)));
            items.collect::<Vec<_>>().join("; ")
        }
        Some(other) => other.to_string(),
    }
}

fn key_variable(reader: &mut Reader, field: &Field<'_>) -> KeyVariable {
    reader.is_object(field, Need::Required);
    let any = |name| field.get(name).value.cloned().unwrap_or_default();
    KeyVariable {
        name: reader.required_text(&field.get("name")),
        category: any("category"),
        importance: any("importance"),
        current_value: any("current_value"),
    }
}

fn simulation(reader: &mut Reader, field: &Field<'_>, ids: &[String]) -> Option<SimulationSummary> {
    if !reader.is_object(field, Need::Optional) {
        return None;
    }
    let distribution_field = field.get("final_distribution");
    let mut final_distribution: Vec<OutcomeProbability> = Vec::new();
    let mut values = vec![0.0; ids.len()];
    let mut is_whole = true;
    for item in reader.list(&distribution_field, Need::Optional) {
        let id_field = item.get("outcome_id");
        let outcome_id = reader.required_text(&id_field);
        let known = ids.iter().position(|id| *id == outcome_id);
        if known.is_none() && !outcome_id.is_empty() {
            reader.fault(&id_field, format!("unknown outcome '{outcome_id}'"));
        }
        let mut given = final_distribution.iter();
        if given.any(|given| given.outcome_id == outcome_id) {
            reader.fault(&id_field, format!("'{outcome_id}' is given twice"));
        }
        let probability = reader.probability(&item.get("probability"), Need::Required);
        match (known, probability) {
            (Some(known), Some(probability)) => {
                values[known] = probability.value();
                final_distribution.push(OutcomeProbability {
                    outcome_id,
                    probability,
                });
            }
            _ => is_whole = false,
        }
    }
    let is_given = !final_distribution.is_empty();
    if is_given
        && is_whole
        && let Err(improper) = Distribution::summing_to_one(&values, SUM_TOLERANCE)
    {
        reader.fault(&distribution_field, sum_fault(improper));
    }
    Some(SimulationSummary {
        final_distribution,
        key_findings: reader.texts(&field.get("key_findings")),
    })
}

fn sum_fault(improper: DistributionError) -> String {
    if let DistributionError::WrongSum { sum } = improper {
        format!("the probabilities sum to {sum:.2}, not to 1")
    } else {
        improper.to_string()
    }
}

fn data(reader: &mut Reader, field: &Field<'_>) -> Option<DataSummary> {
    if !reader.is_object(field, Need::Optional) {
        return None;
    }
    let timeframe_field = field.get("timeframe");
    let has_timeframe = reader.is_object(&timeframe_field, Need::Optional);
    Some(DataSummary {
        region: reader.text(&field.get("region")),
        timeframe: has_timeframe.then(|| Timeframe {
            start: reader.text(&timeframe_field.get("start")),
            end: reader.text(&timeframe_field.get("end")),
        }),
        economic_highlights: reader.texts(&field.get("economic_highlights")),
        sentiment_highlights: reader.texts(&field.get("sentiment_highlights")),
        data_gaps: reader.texts(&field.get("data_gaps")),
    })
}

fn config(reader: &mut Reader, field: &Field<'_>, known: &[String]) -> (Config, Criteria) {
    reader.is_object(field, Need::Optional);
    let rounds_range = 1..=u64::from(MAX_ROUNDS);
    let rounds = reader.integer(&field.get("rounds"), rounds_range, DEFAULT_ROUNDS);
    let length_field = field.get("max_argument_length");
    let length = reader.integer(&length_field, ARGUMENT_LENGTHS, DEFAULT_LENGTH);
    let weight = reader.probability(&field.get("judge_weight"), Need::Optional);
    let criteria = criteria(reader, field);
    let config = Config {
        rounds: u32::try_from(rounds).unwrap_or(MAX_ROUNDS),
        roles: roles(reader, &field.get("roles"), known),
        max_argument_length: u32::try_from(length).unwrap_or(u32::MAX),
        scoring_criteria: criteria.names(),
        judge_weight: weight.unwrap_or(DEFAULT_JUDGE_WEIGHT),
    };
    (config, criteria)
}

fn roles(reader: &mut Reader, field: &Field<'_>, known: &[String]) -> Vec<String> {
    if !field.is_given() {
        return known.to_vec();
    }
    let mut roles: Vec<String> = Vec::new();
    for item in reader.list(field, Need::Optional) {
        let role = reader.required_text(&item);
        if role.is_empty() {
            continue;
        }
        if !known.contains(&role) {
            let known = known.join(", ");
            reader.fault(&item, format!("unknown role '{role}'; known: {known}"));
        } else if roles.contains(&role) {
            reader.fault(&item, format!("the role '{role}' is given twice"));
        }
        roles.push(role);
    }
    let count = roles.len();
    if count < MIN_ROLES {
        let problem = format!("has {count} role(s); a debate needs at least {MIN_ROLES}");
        reader.fault(field, problem);
    }
    roles
}

/// `scoring_weights`, an object from criterion to number, is our addition to the contract's `scoring_criteria`.
fn criteria(reader: &mut Reader, field: &Field<'_>) -> Criteria {
    let names_field = field.get("scoring_criteria");
    let names = if names_field.is_given() {
        reader.texts(&names_field)
    } else {
        Criteria::standard().names()
    };
    if names.len() > MAX_CRITERIA {
        let count = names.len();
        let problem = format!("has {count} criteria; the maximum is {MAX_CRITERIA}");
        reader.fault(&names_field, problem);
    }
    if names.iter().any(|name| name == "composite") {
        let problem = "'composite' is reserved for the weighted mean";
        reader.fault(&names_field, problem);
    }
    let weights_field = field.get("scoring_weights");
    let given = reader.is_object(&weights_field, Need::Optional);
    let criteria = if given {
        weighted(reader, &names, &weights_field)
    } else {
        Criteria::named(&names)
    };
    criteria.unwrap_or_else(|error| {
        reader.fault(&names_field, error.to_string());
        Criteria::standard()
    })
}

fn weighted(
    reader: &mut Reader,
    names: &[String],
    field: &Field<'_>,
) -> Result<Criteria, CriteriaError> {
    let mut weighted = Vec::new();
    for name in names {
        let field = field.get(name);
        let number = field.value.and_then(Value::as_f64);
        if field.is_given() && number.is_none() {
            reader.fault(&field, "must be a number");
        }
        let weight = number.ok_or_else(|| CriteriaError::NoWeight { name: name.clone() })?;
        weighted.push((name.clone(), weight));
    }
    Criteria::weighted(weighted)
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
