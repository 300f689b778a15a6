//! Forecasts of a set as files for others: a forecast set of `ForecastBench`, and CSV.
//!
//! The file that is written is held in memory, but not the forecasts that it is made of.

use clap::ValueEnum;
use roundtable_core::characters::escape_json;
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

/// A file of forecasts that questions are added to.
pub(crate) struct Submission {
    source: Source,
    missing: usize,
    file: File,
}

enum File {
    Csv(Box<csv::Writer<Vec<u8>>>),
    ForecastBench {
        organization: String,
        model: String,
        question_set: Option<String>,
        forecasts: Vec<Value>,
    },
}

const HEADER: [&str; 8] = [
    "question_id",
    "question",
    "outcome",
    "probability",
    "crowd",
    "resolves",
    "forecast_on",
    "debate_id",
];

fn failed(error: &dyn std::fmt::Display) -> Failure {
    Failure::other(format!("cannot write the file: {error}"))
}

impl Submission {
    pub(crate) fn new(format: Format, source: Source, (organization, model): (&str, &str)) -> Self {
        let file = match format {
            Format::Csv => File::Csv(Box::new(csv::Writer::from_writer(Vec::new()))),
            Format::ForecastBench => File::ForecastBench {
                organization: organization.to_owned(),
                model: model.to_owned(),
                question_set: None,
                forecasts: Vec::new(),
            },
        };
        Self {
            source,
            missing: 0,
            file,
        }
    }

    /// The number of questions without a forecast, or that the file cannot have.
    pub(crate) const fn missing(&self) -> usize {
        self.missing
    }

    /// # Errors
    /// A message if the questions are from several sets of `ForecastBench`.
    pub(crate) fn add(&mut self, result: &QuestionResult) -> Result<(), Failure> {
        let shares = self.source.of(result);
        let is_added = match &mut self.file {
            File::Csv(writer) => match shares {
                Some(shares) => {
                    for record in records(result, shares) {
                        writer
                            .write_record(&record)
                            .map_err(|error| failed(&error))?;
                    }
                    true
                }
                None => false,
            },
            File::ForecastBench {
                question_set,
                forecasts,
                ..
            } => {
                check_set(question_set, result)?;
                let forecast = shares.and_then(|shares| forecast(result, shares));
                let is_added = forecast.is_some();
                forecasts.extend(forecast);
                is_added
            }
        };
        self.missing += usize::from(!is_added);
        Ok(())
    }

    /// The content of the file.
    ///
    /// # Errors
    /// A message if no question came from `ForecastBench`.
    pub(crate) fn finish(self) -> Result<String, Failure> {
        match self.file {
            File::Csv(writer) => {
                let bytes = writer.into_inner().map_err(|error| failed(&error))?;
                let rows = String::from_utf8(bytes).map_err(|error| failed(&error))?;
                Ok(format!("{}\n{rows}", HEADER.join(",")))
            }
            File::ForecastBench {
                organization,
                model,
                question_set: Some(question_set),
                forecasts,
            } => {
                let set = json!({
                    "organization": organization,
                    "model": model,
                    "model_organization": organization,
                    "question_set": question_set,
                    "forecasts": forecasts,
                });
                let text = serde_json::to_string_pretty(&set).map_err(|error| failed(&error))?;
                Ok(escape_json(text) + "\n")
            }
            File::ForecastBench { .. } => Err(Failure::usage(
                "no question of this set is from a question set of ForecastBench; use --format csv",
            )),
        }
    }
}

/// All questions of a submission are from one set.
fn check_set(known: &mut Option<String>, result: &QuestionResult) -> Result<(), Failure> {
    let Some(key) = &result.question.submission else {
        return Ok(());
    };
    match known {
        Some(known) if *known != key.question_set => Err(Failure::usage(format!(
            "the questions are from several sets of ForecastBench ({known} and {}); import each into a set of its own",
            key.question_set
        ))),
        Some(_) => Ok(()),
        None => {
            *known = Some(key.question_set.clone());
            Ok(())
        }
    }
}

fn forecast(result: &QuestionResult, shares: &[f64]) -> Option<Value> {
    let key = result.question.submission.as_ref()?;
    Some(json!({
        "id": key.id,
        "source": result.question.source,
        "forecast": shares.first()?,
        "resolution_date": key.resolution_date,
        "reasoning": null,
    }))
}

/// One row per outcome.
fn records(result: &QuestionResult, shares: &[f64]) -> Vec<[String; 8]> {
    let Some(forecast) = &result.forecast else {
        return Vec::new();
    };
    let day = forecast.made_at.as_deref().and_then(|at| at.get(..10));
    let resolves = result.question.resolves_on.map(|day| day.to_string());
    let outcomes = forecast.outcomes.iter().zip(shares).enumerate();
    let rows = outcomes.map(|(index, (outcome, share))| {
        let crowd = forecast.crowd.as_ref().and_then(|crowd| crowd.get(index));
        [
            result.question.id.clone(),
            result.question.text(),
            outcome.label.clone(),
            share.to_string(),
            crowd.map(f64::to_string).unwrap_or_default(),
            resolves.clone().unwrap_or_default(),
            day.unwrap_or_default().to_owned(),
            result.debate_id.clone().unwrap_or_default(),
        ]
    });
    rows.collect()
}
