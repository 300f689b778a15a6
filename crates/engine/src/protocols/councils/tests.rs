//! Whole debates of councils with scripted models.

mod checks;
mod failures;
mod prompts;
mod runs;
mod scores;

use std::sync::Arc;

use serde_json::{Value, json};

use super::test_support::{ScriptedModels, cast, good, run, run_with, setup};
use super::*;
use crate::event::State;
use crate::journal::MemoryJournal;
use crate::model::{Ability, ModelError};
use crate::scripted::name;
use crate::table::Budget;

fn result_of(record: &Record) -> &Verdict {
    record.result.as_ref().unwrap()
}

fn dimension<'a>(record: &'a Record, name: &str) -> &'a DimensionResult {
    let all = &result_of(record).dimensions;
    all.iter().find(|result| result.dimension == name).unwrap()
}

/// Models of which one seat gives another reply of one kind.
fn except(
    seat: &'static str,
    kind: &'static str,
    change: impl Fn(Value, usize) -> Result<Value, ModelError> + Send + Sync + 'static,
) -> Arc<ScriptedModels> {
    ScriptedModels::new(move |who, request, before| {
        let said = good(who, request);
        if who == seat && name(request) == kind {
            return change(said, before).map(|reply| reply.to_string());
        }
        Ok(said.to_string())
    })
}
