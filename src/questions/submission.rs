//! Forecasts of a set as files for others: a forecast set of `ForecastBench`, and CSV.

use clap::ValueEnum;
use serde_json::{Value, json};

use super::results::QuestionResult;
use crate::failure::Failure;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One row per outcome
    Csv,
    /// A forecast set for the benchmark
    #[value(name = "forecastbench")]
    ForecastBench,
}

/// Which probabilities are submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Source {
    /// Judge and roles, as a result shows them first
    #[default]
    Debate,
    /// The accuracy pool, which learns from outcomes
    Pool,
}

impl Source {
    fn of(self, result: &QuestionResult) -> Option<&Vec<f64>> {
        let forecast = result.forecast.as_ref()?;
        match self {
            Self::Debate => Some(&forecast.debate),
            Self::Pool => forecast.accuracy_pool.as_ref(),
        }
    }
}

/// # Errors
/// A message if no question came from `ForecastBench`, or if they are from several of its sets.
pub(crate) fn forecastbench(
    results: &[QuestionResult],
    source: Source,
    (organization, model): (&str, &str),
) -> Result<(Value, usize), Failure> {
    let keyed = results
        .iter()
        .filter_map(|own| Some((own, own.question.submission.as_ref()?)));
    let keyed: Vec<_> = keyed.collect();
    let Some((_, first)) = keyed.first() else {
        return Err(Failure::usage(
            "no question of this set is from a question set of ForecastBench; use --format csv",
        ));
    };
    if let Some((_, other)) = keyed
        .iter()
        .find(|(_, key)| key.question_set != first.question_set)
    {
        return Err(Failure::usage(format!(
            "the questions are from several sets of ForecastBench ({} and {}); import each into a set of its own",
            first.question_set, other.question_set
        )));
    }
    let forecasts = keyed.iter().filter_map(|(own, key)| {
        let yes = source.of(own)?.first()?;
        Some(json!({
            "id": key.id,
            "source": own.question.source,
            "forecast": yes,
            "resolution_date": key.resolution_date,
            "reasoning": null,
        }))
    });
    let forecasts: Vec<Value> = forecasts.collect();
    let missing = results.len() - forecasts.len();
    let set = json!({
        "organization": organization,
        "model": model,
        "model_organization": organization,
        "question_set": first.question_set,
        "forecasts": forecasts,
    });
    Ok((set, missing))
}

/// `question_id,question,outcome,probability,crowd,resolves,forecast_on,debate_id`, and the number of questions without a forecast.
///
/// # Errors
/// If a row cannot be written.
pub(crate) fn csv(results: &[QuestionResult], source: Source) -> Result<(String, usize), Failure> {
    let failed =
        |error: &dyn std::fmt::Display| Failure::other(format!("cannot write CSV: {error}"));
    let mut writer = csv::Writer::from_writer(Vec::new());
    let header = [
        "question_id",
        "question",
        "outcome",
        "probability",
        "crowd",
        "resolves",
        "forecast_on",
        "debate_id",
    ];
    writer
        .write_record(header)
        .map_err(|error| failed(&error))?;
    let mut missing = 0;
    for own in results {
        let Some((forecast, shares)) = own.forecast.as_ref().zip(source.of(own)) else {
            missing += 1;
            continue;
        };
        for (index, (outcome, share)) in forecast.outcomes.iter().zip(shares).enumerate() {
            let crowd = forecast.crowd.as_ref().and_then(|crowd| crowd.get(index));
            let record = [
                own.question.id.clone(),
                own.question.text(),
                outcome.label.clone(),
                share.to_string(),
                crowd.map(f64::to_string).unwrap_or_default(),
                own.question
                    .resolves_on
                    .map(|day| day.to_string())
                    .unwrap_or_default(),
                forecast
                    .made_at
                    .as_deref()
                    .and_then(|stamp| stamp.get(..10))
                    .unwrap_or_default()
                    .to_owned(),
                own.debate_id.clone().unwrap_or_default(),
            ];
            writer
                .write_record(&record)
                .map_err(|error| failed(&error))?;
        }
    }
    let bytes = writer.into_inner().map_err(|error| failed(&error))?;
    let text = String::from_utf8(bytes).map_err(|error| failed(&error))?;
    Ok((text, missing))
}
