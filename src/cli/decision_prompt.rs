//! Decisions of the user that a debate waits for (E-09): asked on the terminal; otherwise the command to answer with is
//! printed and the debate keeps waiting.

use roundtable_engine::event::Query;
use roundtable_engine::table::{decide, open_question};
use roundtable_engine::transcript::option_label;
use uuid::Uuid;

use crate::store::Store;
use crate::{clock, setup};

use super::args::OutputMode;
use super::display::wrap;
use super::output::{self, BOLD, QUIET, painted};
use super::run::{Debate, interruption};
use super::stdin_lines::StdinLines;
use crate::app_context::AppContext;
use crate::failure::Failure;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UserDecision {
    pub choice: String,
    pub note: Option<String>,
}

/// The question that the debate waits for, if any.
pub(super) async fn pending(store: &Store, id: Uuid) -> Option<Query> {
    let entries = store.entries(id).await.ok()?;
    open_question(&entries).cloned()
}

/// Asks on the terminal. `None` if the user decides later.
pub(super) async fn ask(query: &Query, lines: &mut StdinLines) -> Option<UserDecision> {
    output::note(&format_query(query));
    tokio::select! {
        decision = read_decision(query, lines) => decision,
        () = interruption() => None,
    }
}

async fn read_decision(query: &Query, lines: &mut StdinLines) -> Option<UserDecision> {
    let count = query.options.len();
    let choice = loop {
        output::stream("Number of your choice (empty to decide later): ");
        let line = lines.next().await.filter(|line| !line.is_empty())?;
        match find_option(query, &line) {
            Some(choice) => break choice.clone(),
            None => output::note(&format!("Enter a number from 1 to {count}.")),
        }
    };
    output::stream("Reason (optional): ");
    let note = lines.next().await.filter(|line| !line.is_empty());
    Some(UserDecision { choice, note })
}

/// An option by number, value or label.
fn find_option<'a>(query: &'a Query, line: &str) -> Option<&'a String> {
    let normalized = |text: &str| text.to_lowercase().replace('-', " ");
    let wanted = normalized(line);
    let is_named = |option: &&String| {
        normalized(option) == wanted || normalized(&option_label(option)) == wanted
    };
    if let Some(option) = query.options.iter().find(is_named) {
        return Some(option);
    }
    let number: usize = line.parse().ok()?;
    query.options.get(number.checked_sub(1)?)
}

fn format_query(query: &Query) -> String {
    let width = output::width().min(100);
    let question = wrap::wrap(&output::harmless(&query.question), width, 0);
    let mut lines = vec![String::new(), painted(BOLD, &question)];
    for (number, option) in (1..).zip(&query.options) {
        let label = output::harmless(&option_label(option));
        lines.push(format!("  {number}  {label}"));
    }
    lines.join("\n")
}

/// The question and the command that answers it.
pub(super) fn instructions(query: &Query, id: Uuid) -> String {
    let options: Vec<String> = query
        .options
        .iter()
        .map(|option| format!("\"{option}\""))
        .collect();
    let hint = format!(
        "The debate waits for your decision. Answer with `roundtable resume {id} --decide CHOICE`, one of: {}",
        options.join(", ")
    );
    format!(
        "\n{}\n{}",
        output::harmless(&query.question),
        painted(QUIET, &output::harmless(&hint))
    )
}

/// Records the decision and prepares the debate to continue.
pub(super) async fn apply(
    app: &AppContext,
    store: &Store,
    id: Uuid,
    decision: UserDecision,
    mode: &OutputMode,
) -> Result<Debate, Failure> {
    let lease = store.lease_or_wait(id).await?;
    let UserDecision { choice, note } = decision;
    decide(lease.journal().as_ref(), clock::now(), choice, None, note)
        .await
        .map_err(|error| Failure::usage(error.to_string()))?;
    let setup = lease.setup().clone();
    let past = store.entries(id).await?;
    let budget = setup.budget;
    let prepared = setup::prepare_resume(app, setup, budget, &mode.progress_sink()).await?;
    Ok(Debate {
        lease,
        prepared,
        past,
    })
}

#[cfg(test)]
#[path = "decision_prompt_tests.rs"]
mod tests;
