//! Reading a `DebateRequest`: every fault is listed at once, unknown fields are ignored, defaults are the contract's (F-01).

use roundtable_core::bounded::Probability;
use roundtable_core::forecast::{Criteria, CriteriaError, Distribution, DistributionError};
use serde_json::{Map, Value};

use super::contract::{
    Config, DataSummary, DebateRequest, KeyVariable, Outcome, OutcomeProbability,
    PredictionContext, SimulationSummary, Timeframe,
};

/// Something wrong with a request, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, serde::Serialize)]
#[error("{at}: {problem}")]
pub struct Fault {
    /// A JSON pointer: `/prediction_context/outcomes/0/id`.
    pub at: String,
    pub problem: String,
}

pub const LEAST_OUTCOMES: usize = 2;
/// Every role gives every outcome a probability in a short reply; more do not fit.
pub const MOST_OUTCOMES: usize = 20;
pub const MOST_ROUNDS: u32 = 10;
const LEAST_ROLES: usize = 2;
const MOST_CRITERIA: usize = 10;
const ARGUMENT_LENGTHS: std::ops::RangeInclusive<u64> = 100..=4000;
/// How far a given distribution may be from a sum of 1: rounding to two places, not a mistake.
const SUM_TOLERANCE: f64 = 0.011;

const DEFAULT_ROUNDS: u64 = 3;
const DEFAULT_LENGTH: u64 = 500;
const DEFAULT_JUDGE_WEIGHT: Probability = Probability::percent(60);

/// `roles` are those of the cast, in its order; they are also the default.
pub(super) fn read(
    json: &Value,
    roles: &[String],
) -> Result<(DebateRequest, Criteria), Vec<Fault>> {
    let mut reader = Reader::default();
    let root = Place::root(json);
    if !json.is_object() {
        reader.fault(
            &root,
            "must be a JSON object with task_id and prediction_context",
        );
        return Err(reader.faults);
    }
    let task_id = reader.required_text(&root.field("task_id"));
    let prediction_context = context(&mut reader, &root.field("prediction_context"));
    let (config, criteria) = config(&mut reader, &root.field("config"), roles);
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

fn context(reader: &mut Reader, place: &Place<'_>) -> PredictionContext {
    if !reader.is_object(place, Need::Required) {
        return PredictionContext {
            task: Map::new(),
            outcomes: Vec::new(),
            key_variables: Vec::new(),
            simulation_summary: None,
            data_summary: None,
        };
    }
    let task_place = place.field("task");
    reader.is_object(&task_place, Need::Required);
    let task = task_place.value.and_then(Value::as_object).cloned();
    let outcomes = outcomes(reader, &place.field("outcomes"));
    let ids: Vec<String> = outcomes.iter().map(|outcome| outcome.id.clone()).collect();
    PredictionContext {
        task: task.unwrap_or_default(),
        key_variables: reader
            .list(&place.field("key_variables"), Need::Optional)
            .iter()
            .map(|place| key_variable(reader, place))
            .collect(),
        simulation_summary: simulation(reader, &place.field("simulation_summary"), &ids),
        data_summary: data(reader, &place.field("data_summary")),
        outcomes,
    }
}

fn outcomes(reader: &mut Reader, place: &Place<'_>) -> Vec<Outcome> {
    let items = reader.list(place, Need::Required);
    if place.is_given() && items.len() < LEAST_OUTCOMES {
        reader.fault(
            place,
            format!(
                "has {} outcome(s); a forecast needs at least {LEAST_OUTCOMES}, such as one that it happens and one that it does not",
                items.len()
            ),
        );
    }
    if items.len() > MOST_OUTCOMES {
        reader.fault(
            place,
            format!(
                "has {} outcomes; at most {MOST_OUTCOMES} can be argued about. Put the least likely ones together.",
                items.len()
            ),
        );
    }
    let mut outcomes: Vec<Outcome> = Vec::new();
    for item in &items {
        if !reader.is_object(item, Need::Required) {
            continue;
        }
        let id_place = item.field("id");
        let outcome = Outcome {
            id: reader.required_text(&id_place),
            label: reader.required_text(&item.field("label")),
            description: reader.text(&item.field("description")).unwrap_or_default(),
        };
        let is_double = outcomes.iter().any(|other| other.id == outcome.id);
        if is_double && !outcome.id.is_empty() {
            reader.fault(&id_place, format!("'{}' is used twice", outcome.id));
        }
        outcomes.push(outcome);
    }
    outcomes
}

fn key_variable(reader: &mut Reader, place: &Place<'_>) -> KeyVariable {
    reader.is_object(place, Need::Required);
    let any = |name| place.field(name).value.cloned().unwrap_or_default();
    KeyVariable {
        name: reader.required_text(&place.field("name")),
        category: any("category"),
        importance: any("importance"),
        current_value: any("current_value"),
    }
}

fn simulation(reader: &mut Reader, place: &Place<'_>, ids: &[String]) -> Option<SimulationSummary> {
    if !reader.is_object(place, Need::Optional) {
        return None;
    }
    let distribution_place = place.field("final_distribution");
    let mut final_distribution: Vec<OutcomeProbability> = Vec::new();
    let mut values = vec![0.0; ids.len()];
    let mut is_whole = true;
    for item in reader.list(&distribution_place, Need::Optional) {
        let id_place = item.field("outcome_id");
        let outcome_id = reader.required_text(&id_place);
        let known = ids.iter().position(|id| *id == outcome_id);
        if known.is_none() && !outcome_id.is_empty() {
            reader.fault(&id_place, format!("there is no outcome '{outcome_id}'"));
        }
        if final_distribution
            .iter()
            .any(|it| it.outcome_id == outcome_id)
        {
            reader.fault(&id_place, format!("'{outcome_id}' is given twice"));
        }
        let probability = reader.share(&item.field("probability"), Need::Required);
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
        reader.fault(&distribution_place, sum_fault(improper));
    }
    Some(SimulationSummary {
        final_distribution,
        key_findings: reader.texts(&place.field("key_findings")),
    })
}

fn sum_fault(improper: DistributionError) -> String {
    match improper {
        DistributionError::WrongSum { sum } => {
            format!("the probabilities sum to {sum:.2}, not to 1")
        }
        DistributionError::Empty
        | DistributionError::NotANumber { .. }
        | DistributionError::Negative { .. }
        | DistributionError::AboveOne { .. }
        | DistributionError::ZeroSum
        | DistributionError::WrongCount { .. } => improper.to_string(),
    }
}

fn data(reader: &mut Reader, place: &Place<'_>) -> Option<DataSummary> {
    if !reader.is_object(place, Need::Optional) {
        return None;
    }
    let timeframe_place = place.field("timeframe");
    let has_timeframe = reader.is_object(&timeframe_place, Need::Optional);
    Some(DataSummary {
        region: reader.text(&place.field("region")),
        timeframe: has_timeframe.then(|| Timeframe {
            start: reader.text(&timeframe_place.field("start")),
            end: reader.text(&timeframe_place.field("end")),
        }),
        economic_highlights: reader.texts(&place.field("economic_highlights")),
        sentiment_highlights: reader.texts(&place.field("sentiment_highlights")),
        data_gaps: reader.texts(&place.field("data_gaps")),
    })
}

fn config(reader: &mut Reader, place: &Place<'_>, known: &[String]) -> (Config, Criteria) {
    reader.is_object(place, Need::Optional);
    let rounds = reader.whole(
        &place.field("rounds"),
        1..=u64::from(MOST_ROUNDS),
        DEFAULT_ROUNDS,
    );
    let length_place = place.field("max_argument_length");
    let length = reader.whole(&length_place, ARGUMENT_LENGTHS, DEFAULT_LENGTH);
    let weight = reader.share(&place.field("judge_weight"), Need::Optional);
    let criteria = criteria(reader, place);
    let config = Config {
        rounds: u32::try_from(rounds).unwrap_or(MOST_ROUNDS),
        roles: roles(reader, &place.field("roles"), known),
        max_argument_length: u32::try_from(length).unwrap_or(u32::MAX),
        scoring_criteria: criteria.names(),
        judge_weight: weight.unwrap_or(DEFAULT_JUDGE_WEIGHT),
    };
    (config, criteria)
}

fn roles(reader: &mut Reader, place: &Place<'_>, known: &[String]) -> Vec<String> {
    if !place.is_given() {
        return known.to_vec();
    }
    let mut roles: Vec<String> = Vec::new();
    for item in reader.list(place, Need::Optional) {
        let role = reader.required_text(&item);
        if role.is_empty() {
            continue;
        }
        if !known.contains(&role) {
            let known = known.join(", ");
            reader.fault(
                &item,
                format!("there is no role '{role}'; there are: {known}"),
            );
        } else if roles.contains(&role) {
            reader.fault(&item, format!("the role '{role}' is given twice"));
        }
        roles.push(role);
    }
    if roles.len() < LEAST_ROLES {
        reader.fault(
            place,
            format!(
                "has {} role(s); a debate needs at least {LEAST_ROLES}",
                roles.len()
            ),
        );
    }
    roles
}

/// `scoring_weights` beside the contract's `scoring_criteria`, as an object from criterion to number, is ours.
fn criteria(reader: &mut Reader, place: &Place<'_>) -> Criteria {
    let names_place = place.field("scoring_criteria");
    let names = if names_place.is_given() {
        reader.texts(&names_place)
    } else {
        Criteria::standard().names()
    };
    if names.len() > MOST_CRITERIA {
        let count = names.len();
        reader.fault(
            &names_place,
            format!("has {count} criteria; at most {MOST_CRITERIA} can be scored"),
        );
    }
    if names.iter().any(|name| name == "composite") {
        reader.fault(&names_place, "'composite' is the name of the weighted mean");
    }
    let weights_place = place.field("scoring_weights");
    let given = reader.is_object(&weights_place, Need::Optional);
    let made = if given {
        weighted(reader, &names, &weights_place)
    } else {
        Criteria::named(&names)
    };
    made.unwrap_or_else(|error| {
        reader.fault(&names_place, error.to_string());
        Criteria::standard()
    })
}

fn weighted(
    reader: &mut Reader,
    names: &[String],
    place: &Place<'_>,
) -> Result<Criteria, CriteriaError> {
    let mut weighted = Vec::new();
    for name in names {
        let place = place.field(name);
        let number = place.value.and_then(Value::as_f64);
        if place.is_given() && number.is_none() {
            reader.fault(&place, "must be a number");
        }
        let weight = number.ok_or_else(|| CriteriaError::NoWeight { name: name.clone() })?;
        weighted.push((name.clone(), weight));
    }
    Criteria::weighted(weighted)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Required,
    Optional,
}

/// A value that may be there, and where it would be.
struct Place<'a> {
    at: String,
    value: Option<&'a Value>,
}

impl<'a> Place<'a> {
    fn root(value: &'a Value) -> Self {
        Self {
            at: String::new(),
            value: Some(value),
        }
    }

    fn field(&self, name: &str) -> Self {
        Self {
            at: format!("{}/{name}", self.at),
            value: self.value.and_then(|value| value.get(name)),
        }
    }

    /// A null is as good as nothing.
    fn is_given(&self) -> bool {
        self.value.is_some_and(|value| !value.is_null())
    }
}

#[derive(Default)]
struct Reader {
    faults: Vec<Fault>,
}

impl Reader {
    fn fault(&mut self, place: &Place<'_>, problem: impl Into<String>) {
        self.faults.push(Fault {
            at: if place.at.is_empty() {
                "/".into()
            } else {
                place.at.clone()
            },
            problem: problem.into(),
        });
    }

    /// Says what is wrong with a value that should be of another kind.
    fn misfit(&mut self, place: &Place<'_>, need: Need, kind: &str) {
        if place.is_given() {
            self.fault(place, format!("must be {kind}"));
        } else if need == Need::Required {
            self.fault(place, "is missing");
        }
    }

    fn is_object(&mut self, place: &Place<'_>, need: Need) -> bool {
        let is_object = place.value.is_some_and(Value::is_object);
        if !is_object {
            self.misfit(place, need, "an object");
        }
        is_object
    }

    fn list<'a>(&mut self, place: &Place<'a>, need: Need) -> Vec<Place<'a>> {
        let Some(items) = place.value.and_then(Value::as_array) else {
            self.misfit(place, need, "a list");
            return Vec::new();
        };
        let numbered = items.iter().enumerate();
        numbered
            .map(|(number, item)| Place {
                at: format!("{}/{number}", place.at),
                value: Some(item),
            })
            .collect()
    }

    fn text(&mut self, place: &Place<'_>) -> Option<String> {
        let text = place.value.and_then(Value::as_str);
        if text.is_none() {
            self.misfit(place, Need::Optional, "a text");
        }
        text.map(|text| text.trim().to_owned())
    }

    /// Empty where it is missing; the fault is noted.
    fn required_text(&mut self, place: &Place<'_>) -> String {
        let text = place.value.and_then(Value::as_str);
        match text.map(str::trim) {
            None => self.misfit(place, Need::Required, "a text"),
            Some("") => self.fault(place, "is empty"),
            Some(_) => {}
        }
        text.unwrap_or_default().trim().to_owned()
    }

    fn texts(&mut self, place: &Place<'_>) -> Vec<String> {
        let items = self.list(place, Need::Optional);
        items.iter().map(|item| self.required_text(item)).collect()
    }

    fn share(&mut self, place: &Place<'_>, need: Need) -> Option<Probability> {
        let Some(number) = place.value.and_then(Value::as_f64) else {
            self.misfit(place, need, "a number from 0 to 1");
            return None;
        };
        let share = Probability::new(number).ok();
        if share.is_none() {
            self.fault(place, format!("is {number}; it must be from 0 to 1"));
        }
        share
    }

    fn whole(
        &mut self,
        place: &Place<'_>,
        range: std::ops::RangeInclusive<u64>,
        default: u64,
    ) -> u64 {
        if !place.is_given() {
            return default;
        }
        let number = place.value.and_then(Value::as_u64);
        number.filter(|it| range.contains(it)).unwrap_or_else(|| {
            let (low, high) = (range.start(), range.end());
            let problem = format!("must be a whole number from {low} to {high}");
            self.fault(place, problem);
            default
        })
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
