//! `roundtable questions`: what is due among the forecasts of the store, and outcomes in bulk.

use std::collections::HashSet;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use jiff::ToSpan;
use jiff::civil::Date;
use roundtable_engine::protocol::Protocol;
use roundtable_engine::protocols::Forecast;
use roundtable_engine::protocols::forecast::{Rules, resolution_of};
use roundtable_engine::report::{Block, Cell, Report, Section, Table};
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::display::summary;
use super::resolve::find_outcome;
use super::{audit, input, output};
use crate::app_context::AppContext;
use crate::clock;
use crate::failure::Failure;
use crate::format::counted;
use crate::store::{Filter, Resolution, Store};

/// List forecasts that are due, and record outcomes in bulk
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable questions due\n  roundtable questions due --within 7 --older-than 30 --json\n  roundtable questions resolve outcomes.csv"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List forecasts whose deadline has passed without an outcome, and those to make again
    #[command(
        after_help = "Example, for cron:\n  roundtable questions due || mail -s \"Forecasts are due\" me\n\nExit code: 0 if nothing is due, 3 if something is."
    )]
    Due {
        /// Also those whose deadline is at most this many days ahead
        #[arg(long, value_name = "DAYS", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=3650))]
        within: u16,
        /// Also open questions whose newest forecast is older than this many days, to forecast them again
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u16).range(1..=3650))]
        older_than: Option<u16>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Record the outcomes of a CSV file
    #[command(
        after_help = "Example:\n  roundtable questions resolve outcomes.csv\n\nColumns: question, outcome; optional: by. The question is the id of a forecast, or the task_id of its request; then all\nforecasts with it are resolved. The outcome is an id or a label. Nothing is recorded if a row is wrong."
    )]
    Resolve {
        /// CSV file with a header; `-` is standard input
        file: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let store = app.store().await?;
    let done = match args.command {
        Command::Due {
            within,
            older_than,
            json,
        } => {
            let due = due(&known(&store).await?, today(), within, older_than);
            show(&due, json)
        }
        Command::Resolve { file, json } => resolve_all(app, &store, &file, json).await,
    };
    store.close().await;
    done
}

/// A forecast of the store.
struct Known {
    id: Uuid,
    made_on: Option<Date>,
    has_ended: bool,
    question: String,
    rules: Rules,
    outcome: Option<String>,
}

/// All forecasts, newest first.
async fn known(store: &Store) -> Result<Vec<Known>, Failure> {
    let resolved = store.resolved_debates(None).await?.into_iter();
    let resolved: HashSet<Uuid> = resolved.map(|(id, _)| id).collect();
    let filter = Filter {
        protocol: Some(Forecast::NAME.to_owned()),
        ..Filter::default()
    };
    let mut all = Vec::new();
    for row in store.list_uncounted(&filter).await? {
        let Some(setup) = store.setup(row.id).await? else {
            continue;
        };
        // A forecast of a version that this one cannot read is not due here.
        let Ok(rules) = Rules::deserialize(&setup.rules) else {
            continue;
        };
        let resolution = if resolved.contains(&row.id) {
            resolution_of(&store.entries(row.id).await?)
        } else {
            None
        };
        all.push(Known {
            id: row.id,
            made_on: day_of(&clock::stamp(row.created_at)),
            has_ended: row.ended_at.is_some(),
            question: setup.question,
            rules,
            outcome: resolution.map(|resolution| resolution.outcome),
        });
    }
    Ok(all)
}

fn day_of(stamp: &str) -> Option<Date> {
    stamp.get(..10)?.parse().ok()
}

fn today() -> Option<Date> {
    day_of(&clock::stamp(clock::now()))
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Due {
    id: Uuid,
    task_id: String,
    question: String,
    resolves_on: Option<Date>,
    forecast_on: Option<Date>,
    what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum What {
    Resolve,
    ForecastAgain,
}

fn due(all: &[Known], today: Option<Date>, within: u16, older_than: Option<u16>) -> Vec<Due> {
    let Some(today) = today else {
        return Vec::new();
    };
    let deadline = today.saturating_add(i32::from(within).days());
    let oldest = older_than.map(|days| today.saturating_sub(i32::from(days).days()));
    let mut seen: HashSet<(&str, &str)> = HashSet::new();
    let mut found = Vec::new();
    for forecast in all {
        let key = (
            forecast.rules.request.task_id.as_str(),
            forecast.question.as_str(),
        );
        let is_newest = seen.insert(key);
        let is_open = forecast.outcome.is_none() && forecast.has_ended;
        let ends = forecast.rules.resolves_on;
        let what = match ends {
            _ if !is_open => continue,
            Some(end) if end < deadline => What::Resolve,
            _ if is_newest && forecast.made_on < oldest => What::ForecastAgain,
            _ => continue,
        };
        found.push(Due {
            id: forecast.id,
            task_id: forecast.rules.request.task_id.clone(),
            question: forecast.question.clone(),
            resolves_on: ends,
            forecast_on: forecast.made_on,
            what,
        });
    }
    found.sort_by_key(|due| (due.resolves_on.is_none(), due.resolves_on));
    found
}

fn show(due: &[Due], json: bool) -> Result<ExitCode, Failure> {
    if json {
        output::json(&due)?;
    } else if due.is_empty() {
        output::note("Nothing is due.");
    } else {
        let day = |day: Option<Date>| day.map_or_else(|| "–".to_owned(), |day| day.to_string());
        let rows = due.iter().map(|due| {
            let what = match due.what {
                What::Resolve => "resolve",
                What::ForecastAgain => "forecast again",
            };
            vec![
                Cell::new(what),
                Cell::new(day(due.resolves_on)),
                Cell::new(day(due.forecast_on)),
                Cell::new(due.question.clone()),
                Cell::new(due.id.to_string()),
            ]
        });
        let columns = ["", "deadline", "forecast", "question", "id"];
        let table = Table::of(&counted(due.len(), "forecast"), &columns, rows);
        summary::print_report(&Report {
            sections: vec![Section::main("Due", vec![Block::Table(table)])],
            ..Report::default()
        });
    }
    Ok(ExitCode::from(if due.is_empty() { 0 } else { 3 }))
}

/// A row of the file.
#[derive(Debug, Deserialize)]
struct Row {
    question: String,
    outcome: String,
    #[serde(default)]
    by: Option<String>,
}

async fn resolve_all(
    app: &AppContext,
    store: &Store,
    file: &std::path::Path,
    json: bool,
) -> Result<ExitCode, Failure> {
    let text = if file == std::path::Path::new("-") {
        input::read_stdin()?
    } else {
        input::read_file(file)?
    };
    let known = known(store).await?;
    let resolutions = resolutions(&text, &known)?;
    for (id, resolution) in &resolutions {
        let outcome = resolution.outcome.as_deref().unwrap_or_default();
        let action = audit::Action {
            name: "resolution",
            subject: &id.to_string(),
            detail: Some(format!("outcome '{outcome}'")),
        };
        let resolving = store.resolve(*id, resolution.clone(), clock::now());
        audit::recorded(app, store, action, resolving).await?;
    }
    if json {
        let recorded = resolutions.iter();
        let recorded = recorded.map(|(id, own)| json!({ "id": id, "outcome": own.outcome }));
        output::json(&recorded.collect::<Vec<_>>())?;
    } else {
        let count = counted(resolutions.len(), "outcome");
        output::line(&format!("Recorded {count}. Scores: roundtable calibration"));
    }
    Ok(ExitCode::SUCCESS)
}

/// The outcomes to record. All faults of the file at once.
fn resolutions(text: &str, known: &[Known]) -> Result<Vec<(Uuid, Resolution)>, Failure> {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let mut faults = Vec::new();
    let mut found: Vec<(Uuid, Resolution)> = Vec::new();
    for (number, row) in (2..).zip(reader.deserialize::<Row>()) {
        let rows = row
            .map_err(|error| format!("not a row with the columns question and outcome: {error}"))
            .and_then(|row| of_row(&row, known));
        match rows {
            Err(fault) => faults.push(format!("row {number}: {fault}")),
            Ok(rows) => {
                for (id, resolution) in rows {
                    if found
                        .iter()
                        .any(|(other, own)| *other == id && *own != resolution)
                    {
                        faults.push(format!(
                            "row {number}: forecast {id} has another outcome above"
                        ));
                    }
                    found.push((id, resolution));
                }
            }
        }
    }
    if found.is_empty() && faults.is_empty() {
        faults.push("the file has no rows".to_owned());
    }
    found.dedup();
    if faults.is_empty() {
        Ok(found)
    } else {
        Err(Failure::usage(faults.join("\n")))
    }
}

fn of_row(row: &Row, known: &[Known]) -> Result<Vec<(Uuid, Resolution)>, String> {
    let is_named = |forecast: &&Known| {
        let id = forecast.id.to_string();
        let is_prefix = row.question.len() >= 4 && id.starts_with(&row.question);
        is_prefix || forecast.rules.request.task_id == row.question
    };
    let named: Vec<&Known> = known.iter().filter(is_named).collect();
    if named.is_empty() {
        return Err(format!(
            "no forecast has the id or task_id '{}'",
            row.question
        ));
    }
    let resolutions = named.into_iter().map(|forecast| {
        let outcomes = &forecast.rules.request.prediction_context.outcomes;
        let outcome = find_outcome(&row.outcome, outcomes);
        let outcome = outcome.map_err(|failure| failure.message().to_owned())?;
        let resolution = Resolution {
            outcome: Some(outcome.id.clone()),
            by: row.by.clone().filter(|by| !by.is_empty()),
        };
        Ok((forecast.id, resolution))
    });
    resolutions.collect()
}
