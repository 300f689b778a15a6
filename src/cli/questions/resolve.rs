//! `roundtable questions resolve`: outcomes in bulk.

use std::process::ExitCode;

use roundtable_engine::protocols::forecast::Edge;
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use super::super::resolve::find_outcome;
use super::super::{audit, input, output};
use super::due::{Known, known};
use crate::app_context::AppContext;
use crate::clock;
use crate::failure::Failure;
use crate::format::counted;
use crate::questions::import::outcomes;
use crate::store::{Resolution, Store};

/// A row of the file.
#[derive(Debug, Deserialize)]
struct Row {
    question: String,
    outcome: String,
    #[serde(default)]
    by: Option<String>,
}

pub(super) async fn resolve_all(
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
    let (resolutions, notes) = if text.trim_start().starts_with(['{', '[']) {
        of_json(&text, &known)?
    } else {
        (resolutions(&text, &known)?, Vec::new())
    };
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
        for note in notes {
            output::note(&note);
        }
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
        let found = find_outcome(&row.outcome, &forecast.rules);
        let (outcome, value) = found.map_err(|failure| failure.message().to_owned())?;
        let resolution = Resolution {
            outcome: Some(outcome.id.clone()),
            by: row.by.clone().filter(|by| !by.is_empty()),
            value: value.map(Edge::recorded),
        };
        Ok((forecast.id, resolution))
    });
    resolutions.collect()
}

/// What was recorded for which forecast.
type Resolutions = Vec<(Uuid, Resolution)>;

/// The outcomes of a JSON file, of those questions that have a forecast; one that is recorded already is left out.
fn of_json(text: &str, known: &[Known]) -> Result<(Resolutions, Vec<String>), Failure> {
    let outcomes = outcomes::parse(text)?;
    let mut notes = outcomes.notes;
    let (mut found, mut faults, mut unknown) = (Resolutions::new(), Vec::new(), 0);
    for (ids, outcome) in outcomes.outcomes {
        let is_known = |id: &String| known.iter().any(|own| own.rules.request.task_id == *id);
        let Some(question) = ids.into_iter().find(is_known) else {
            unknown += 1;
            continue;
        };
        let row = Row {
            question,
            outcome,
            by: Some(outcomes.by.clone()),
        };
        match of_row(&row, known) {
            Ok(rows) => found.extend(rows),
            Err(fault) => faults.push(format!("{}: {fault}", row.question)),
        }
    }
    if !faults.is_empty() {
        return Err(Failure::usage(faults.join("\n")));
    }
    let is_new = |(id, resolution): &(Uuid, Resolution)| {
        !known.iter().any(|own| {
            let same_value = resolution.value.is_none() || own.value == resolution.value;
            own.id == *id && own.outcome == resolution.outcome && same_value
        })
    };
    let all = found.len();
    found.retain(is_new);
    if unknown > 0 {
        notes.push(format!(
            "{} of questions without a forecast",
            counted(unknown, "outcome")
        ));
    }
    if all > found.len() {
        notes.push(format!(
            "{} recorded before",
            counted(all - found.len(), "outcome")
        ));
    }
    Ok((found, notes))
}
