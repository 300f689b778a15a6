//! The results of a set. Each is printed as it is read, so memory does not grow with the set.

use std::pin::pin;

use futures::{StreamExt, TryStreamExt};
use roundtable_engine::report::{Cell, Report};

use super::super::display::summary;
use super::super::output::JsonArray;
use crate::clock;
use crate::failure::Failure;
use crate::questions::results::{self, SetTotals, unknown_set};
use crate::store::Store;

/// Rows of a table; a larger set has several.
const ROWS: usize = 100;

/// Prints the questions of a set with their forecasts, the first `limit` of them.
///
/// # Errors
/// A [`Failure`] if the set is unknown.
pub(in crate::cli) async fn show(
    store: &Store,
    set: &str,
    limit: Option<usize>,
    json: bool,
) -> Result<(), Failure> {
    let found = results::results(store, set, clock::now());
    let mut found = pin!(found.take(limit.unwrap_or(usize::MAX)));
    let mut totals = SetTotals::default();
    let mut array = JsonArray::default();
    let mut rows = Vec::new();
    while let Some(result) = found.try_next().await? {
        totals.add(&result);
        if json {
            array.push(&result)?;
            continue;
        }
        rows.push(results::row(&result));
        if rows.len() == ROWS {
            print(totals.questions, std::mem::take(&mut rows));
        }
    }
    if totals.questions == 0 {
        return Err(unknown_set(store, set).await?);
    }
    if json {
        return array.end();
    }
    if !rows.is_empty() {
        print(totals.questions, rows);
    }
    summary::print_report(&Report {
        facts: totals.facts(set),
        ..Report::default()
    });
    Ok(())
}

fn print(last: usize, rows: Vec<Vec<Cell>>) {
    let title = match last - rows.len() {
        0 => "Questions".to_owned(),
        before => format!("Questions from {}", before + 1),
    };
    summary::print_report(&Report {
        sections: vec![results::table(&title, rows)],
        ..Report::default()
    });
}
