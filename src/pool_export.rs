//! Resolved questions with the forecasts of their whole panels, as a file (B-09): what the pool learns from, to keep or to
//! move to another store.

use roundtable_core::forecast::{Distribution, Question, Seat};
use serde::{Deserialize, Serialize};

use crate::clock;
use crate::failure::Failure;
use crate::recorded_forecasts::RecordedForecasts;

const FORMAT: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    roundtable_pool: u32,
    questions: Vec<Resolved>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "the keys of the file")]
struct Resolved {
    id: String,
    /// Questions of one cluster are resampled together.
    cluster: String,
    domain: Option<String>,
    forecast_at: String,
    resolved_at: String,
    /// The index of the outcome that happened.
    outcome: usize,
    forecasts: Vec<Forecast>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Forecast {
    agent: String,
    group: Option<String>,
    probabilities: Vec<f64>,
}

pub(crate) fn to_json(questions: &[Question]) -> Result<String, Failure> {
    let stamp = |at: i64| clock::stamp(u64::try_from(at).unwrap_or(0));
    let questions = questions.iter().map(|question| Resolved {
        id: question.id.clone(),
        cluster: question.cluster.clone(),
        domain: question.domain.clone(),
        forecast_at: stamp(question.forecast_at),
        resolved_at: stamp(question.resolved_at),
        outcome: question.outcome,
        forecasts: question
            .forecasts
            .iter()
            .map(|(seat, forecast)| Forecast {
                agent: seat.agent.clone(),
                group: seat.group.clone(),
                probabilities: forecast.values().to_vec(),
            })
            .collect(),
    });
    let file = File {
        roundtable_pool: FORMAT,
        questions: questions.collect(),
    };
    serde_json::to_string_pretty(&file)
        .map_err(|error| Failure::other(format!("cannot write the questions as JSON: {error}")))
}

/// Whether a file is an export and not a table.
pub(crate) fn is_export(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

pub(crate) fn parse(text: &str) -> Result<RecordedForecasts, Failure> {
    let file: File = serde_json::from_str(text)
        .map_err(|error| Failure::usage(format!("not an export of `roundtable pool`: {error}")))?;
    if file.roundtable_pool > FORMAT {
        return Err(Failure::usage(format!(
            "the export has format {}; this version reads up to {FORMAT}. Update roundtable",
            file.roundtable_pool
        )));
    }
    let questions: Result<Vec<Question>, Failure> =
        file.questions.into_iter().map(question).collect();
    let questions = questions?;
    if questions.is_empty() {
        return Err(Failure::usage("the export has no questions"));
    }
    Ok(RecordedForecasts {
        questions,
        has_dates: true,
    })
}

fn question(resolved: Resolved) -> Result<Question, Failure> {
    let Resolved { id, outcome, .. } = resolved;
    let fault = |what: &str| Failure::usage(format!("question {id}: {what}"));
    let at = |text: &str| {
        let at = clock::time(text).and_then(|at| i64::try_from(at).ok());
        at.ok_or_else(|| fault(&format!("'{text}' is not a time")))
    };
    let mut forecasts: Vec<(Seat, Distribution)> = Vec::new();
    for forecast in resolved.forecasts {
        let distribution = Distribution::normalised(&forecast.probabilities)
            .map_err(|error| fault(&format!("{}: {error}", forecast.agent)))?;
        let count = forecasts
            .first()
            .map_or(distribution.outcomes(), |(_, first)| first.outcomes());
        if distribution.outcomes() != count || outcome >= count {
            return Err(fault("the forecasts and the outcome do not fit together"));
        }
        let seat = Seat {
            agent: forecast.agent,
            group: forecast.group,
        };
        forecasts.push((seat, distribution));
    }
    if forecasts.is_empty() {
        return Err(fault("there is no forecast"));
    }
    let (forecast_at, resolved_at) = (at(&resolved.forecast_at)?, at(&resolved.resolved_at)?);
    Ok(Question {
        id: id.clone(),
        domain: resolved.domain,
        cluster: resolved.cluster,
        forecasts,
        forecast_at,
        resolved_at,
        outcome,
    })
}
