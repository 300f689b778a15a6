//! Reads a table of recorded forecasts with their outcomes (B-09): one row per forecast.

use std::collections::{BTreeMap, HashMap};

use roundtable_core::forecast::{Distribution, Question, Seat};

use crate::clock;
use crate::failure::Failure;

/// The questions of a table, and what it leaves out.
#[derive(Debug)]
pub(crate) struct RecordedForecasts {
    pub(crate) questions: Vec<Question>,
    /// Whether the rows say when forecasts were made and outcomes became known.
    pub(crate) has_dates: bool,
}

const REQUIRED: [&str; 4] = ["question_id", "agent", "probability", "outcome"];

/// The indexes of the columns; optional ones may be missing.
struct Columns(HashMap<String, usize>);

/// A row, for reading its cells and for naming it in errors.
struct Row<'a> {
    columns: &'a Columns,
    cells: &'a csv::StringRecord,
    number: u64,
}

impl Columns {
    fn of(header: &csv::StringRecord) -> Result<Self, Failure> {
        let names = header.iter().enumerate();
        let columns: HashMap<String, usize> = names
            .map(|(place, name)| (name.trim().to_lowercase(), place))
            .collect();
        let missing: Vec<&str> = REQUIRED
            .into_iter()
            .filter(|name| !columns.contains_key(*name))
            .collect();
        if missing.is_empty() {
            return Ok(Self(columns));
        }
        Err(Failure::usage(format!(
            "the first line has no column {}. Columns: question_id, agent, probability, outcome; optional: domain, group, cluster, \
             forecast_date, resolved_date",
            missing.join(", ")
        )))
    }
}

impl Row<'_> {
    fn cell(&self, name: &str) -> Option<&str> {
        let cell = self.cells.get(*self.columns.0.get(name)?)?.trim();
        (!cell.is_empty()).then_some(cell)
    }

    fn required(&self, name: &str) -> Result<&str, Failure> {
        self.cell(name)
            .ok_or_else(|| self.fault(name, "it is empty"))
    }

    fn fault(&self, column: &str, what: &str) -> Failure {
        Failure::usage(format!("row {}, column {column}: {what}", self.number))
    }

    fn probability(&self) -> Result<f64, Failure> {
        let text = self.required("probability")?;
        let value = text.parse::<f64>().ok();
        value
            .filter(|value| (0.0..=1.0).contains(value))
            .ok_or_else(|| {
                self.fault(
                    "probability",
                    &format!("'{text}' is not a number from 0 to 1"),
                )
            })
    }

    fn outcome(&self) -> Result<usize, Failure> {
        match self.required("outcome")? {
            "0" | "0.0" | "false" | "no" => Ok(0),
            "1" | "1.0" | "true" | "yes" => Ok(1),
            other => Err(self.fault("outcome", &format!("'{other}' is not 0 or 1"))),
        }
    }

    fn date(&self, column: &str) -> Result<Option<i64>, Failure> {
        let Some(text) = self.cell(column) else {
            return Ok(None);
        };
        let at = clock::time(text).and_then(|at| i64::try_from(at).ok());
        at.map(Some).ok_or_else(|| {
            self.fault(
                column,
                &format!("'{text}' is not a date such as 2026-11-16"),
            )
        })
    }
}

/// Parses a CSV file with a header.
pub(crate) fn parse(text: &str) -> Result<RecordedForecasts, Failure> {
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .from_reader(text.as_bytes());
    let unreadable = |error: csv::Error| Failure::usage(format!("not a CSV table: {error}"));
    let columns = Columns::of(reader.headers().map_err(unreadable)?)?;
    let mut table = Table::default();
    for (number, cells) in (2..).zip(reader.records()) {
        let cells = cells.map_err(unreadable)?;
        table.add(&Row {
            columns: &columns,
            cells: &cells,
            number,
        })?;
    }
    table.finish()
}

#[derive(Default)]
struct Table {
    questions: BTreeMap<String, Question>,
    /// The first row without dates, and the first with them.
    undated: Option<u64>,
    dated: Option<u64>,
}

impl Table {
    fn add(&mut self, row: &Row<'_>) -> Result<(), Failure> {
        let (outcome, probability) = (row.outcome()?, row.probability()?);
        let forecast = Distribution::normalised(&[1.0 - probability, probability])
            .map_err(|error| row.fault("probability", &error.to_string()))?;
        let dates = match (row.date("forecast_date")?, row.date("resolved_date")?) {
            (Some(forecast), Some(resolved)) if resolved < forecast => {
                return Err(row.fault("resolved_date", "it is before the forecast"));
            }
            (Some(forecast), Some(resolved)) => {
                self.dated.get_or_insert(row.number);
                (forecast, resolved)
            }
            _ => {
                self.undated.get_or_insert(row.number);
                (0, 0)
            }
        };
        let id = row.required("question_id")?;
        let seat = Seat {
            agent: row.required("agent")?.to_owned(),
            group: row.cell("group").map(str::to_owned),
        };
        let domain = row.cell("domain").map(str::to_owned);
        let question = self
            .questions
            .entry(id.to_owned())
            .or_insert_with(|| Question {
                id: id.to_owned(),
                domain: domain.clone(),
                cluster: row.cell("cluster").unwrap_or(id).to_owned(),
                forecasts: Vec::new(),
                forecast_at: dates.0,
                resolved_at: dates.1,
                outcome,
            });
        if question.outcome != outcome {
            return Err(row.fault("outcome", &format!("question {id} has another one above")));
        }
        if question.domain != domain {
            return Err(row.fault("domain", &format!("question {id} has another one above")));
        }
        if question.resolved_at != dates.1 {
            let what = format!("question {id} has another one above");
            return Err(row.fault("resolved_date", &what));
        }
        if question.forecasts.iter().any(|(other, _)| *other == seat) {
            let what = format!("{} has two forecasts of question {id}", seat.agent);
            return Err(row.fault("agent", &what));
        }
        question.forecast_at = question.forecast_at.max(dates.0);
        question.forecasts.push((seat, forecast));
        Ok(())
    }

    fn finish(self) -> Result<RecordedForecasts, Failure> {
        if let (Some(_), Some(row)) = (self.dated, self.undated) {
            return Err(Failure::usage(format!(
                "row {row} has no forecast_date and resolved_date, while other rows have them: add them, or leave them out everywhere"
            )));
        }
        if self.questions.is_empty() {
            return Err(Failure::usage("the table has no forecasts"));
        }
        Ok(RecordedForecasts {
            questions: self.questions.into_values().collect(),
            has_dates: self.dated.is_some(),
        })
    }
}

#[cfg(test)]
#[path = "recorded_forecasts_tests.rs"]
mod tests;
