//! `roundtable questions due`: forecasts without an outcome after their deadline, and forecasts to make again.

use std::collections::HashSet;
use std::process::ExitCode;

use jiff::ToSpan;
use jiff::civil::Date;
use roundtable_engine::protocol::Protocol;
use roundtable_engine::protocols::Forecast;
use roundtable_engine::protocols::forecast::{Rules, resolution_of};
use roundtable_engine::report::{Block, Cell, Report, Section, Table};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::super::display::summary;
use super::super::output;
use crate::clock;
use crate::failure::Failure;
use crate::format::counted;
use crate::store::{Filter, Store};

/// A forecast of the store.
pub(super) struct Known {
    pub(super) id: Uuid,
    made_on: Option<Date>,
    has_ended: bool,
    pub(super) question: String,
    pub(super) rules: Rules,
    pub(super) outcome: Option<String>,
    /// The number or date that was recorded.
    pub(super) value: Option<String>,
}

/// All forecasts, newest first.
pub(super) async fn known(store: &Store) -> Result<Vec<Known>, Failure> {
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
        let (outcome, value) = match resolution {
            Some(resolution) => (Some(resolution.outcome), resolution.value),
            None => (None, None),
        };
        all.push(Known {
            id: row.id,
            made_on: day_of(&clock::stamp(row.created_at)),
            has_ended: row.ended_at.is_some(),
            question: setup.question,
            rules,
            outcome,
            value,
        });
    }
    Ok(all)
}

fn day_of(stamp: &str) -> Option<Date> {
    stamp.get(..10)?.parse().ok()
}

pub(super) fn today() -> Option<Date> {
    day_of(&clock::stamp(clock::now()))
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Due {
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

pub(super) fn due(
    all: &[Known],
    today: Option<Date>,
    within: u16,
    older_than: Option<u16>,
) -> Vec<Due> {
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

pub(super) fn show(due: &[Due], json: bool) -> Result<ExitCode, Failure> {
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
