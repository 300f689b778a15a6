//! Decisions of the user that a debate waits for (E-09): asked on the terminal; otherwise the command to answer with is
//! printed and the debate keeps waiting.

use roundtable_engine::budget::Budget;
use roundtable_engine::event::Query;
use roundtable_engine::table::decide;
use roundtable_engine::transcript::option_label;
use uuid::Uuid;

use crate::models::ModelPolicy;
use crate::setup::limits;
use crate::store::Store;
use crate::{clock, setup};

use super::args::OutputMode;
use super::audit;
use super::display::wrap;
use super::output::{self, BOLD, painted, short_id};
use super::run::{Debate, interruption};
use super::stdin_lines::StdinLines;
use crate::app_context::AppContext;
use crate::failure::Failure;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UserDecision {
    pub choice: String,
    pub note: Option<String>,
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

/// The question, the choices and the command that answers it.
pub(super) fn instructions(query: &Query, id: &str) -> String {
    let choices: Vec<String> = query.options.iter().map(|option| quoted(option)).collect();
    let width = choices.iter().map(String::len).max().unwrap_or(0);
    let mut lines = vec![format!(
        "{} {}",
        painted(BOLD, "Waiting for your decision:"),
        output::harmless(&query.question)
    )];
    for (choice, option) in choices.iter().zip(&query.options) {
        let label = output::harmless(&option_label(option));
        let label = if *option == label { "" } else { &label };
        lines.push(format!("  {choice:<width$}  {label}").trim_end().to_owned());
    }
    let first = choices.first().map_or("CHOICE", String::as_str);
    lines.push("Answer with one of them, for example:".into());
    lines.push(format!(
        "  roundtable resume {} --decide {first}",
        short_id(id)
    ));
    lines.join("\n")
}

/// As a shell reads it as one word.
fn quoted(option: &str) -> String {
    let option = output::harmless(option);
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !option.is_empty() && option.chars().all(is_word) {
        return option;
    }
    format!("'{}'", option.replace('\'', "'\\''"))
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
    let action = audit::Action {
        name: "decision",
        subject: &id.to_string(),
        detail: Some(format!("choice '{choice}'")),
    };
    let journal = lease.journal();
    let deciding = async {
        let decided = decide(journal.as_ref(), clock::now(), choice, None, note).await;
        decided.map_err(|error| Failure::usage(error.to_string()))
    };
    audit::recorded(app, store, action, deciding).await?;
    let setup = lease.setup().clone();
    let past = store.entries(id).await?;
    let own = store.budget(id).await?.unwrap_or(setup.budget);
    let budget = limits::resumed(own, Budget::default(), app.config.limits.budget());
    let prepared = setup::prepare_resume(
        app,
        setup,
        budget,
        ModelPolicy::default(),
        &mode.progress_sink(),
    )
    .await?;
    Ok(Debate {
        lease,
        prepared,
        past,
    })
}

#[cfg(test)]
#[path = "decision_prompt_tests.rs"]
mod tests;
