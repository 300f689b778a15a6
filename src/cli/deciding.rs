//! A debate that waits for a person (E-09): whoever sits at the terminal is asked, and it goes on; elsewhere it is said what is
//! asked and how to answer, and it waits.

use roundtable_engine::event::Query;
use roundtable_engine::protocols::modes::ANOTHER_ROUND;
use roundtable_engine::table::{CONTINUE, STOP, decide, open_question};
use roundtable_engine::transcript::capital;
use uuid::Uuid;

use crate::store::Store;
use crate::{clock, setup};

use super::args::OutputMode;
use super::display::flow;
use super::output::{self, BOLD, QUIET, painted};
use super::run::{Debate, interruption};
use super::typed::Typed;
use crate::app_context::AppContext;
use crate::failure::Failure;

/// What somebody decided, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verdict {
    pub choice: String,
    pub note: Option<String>,
}

/// What the debate waits for, where it waits for anything and that can be read.
pub(super) async fn waiting(store: &Store, id: Uuid) -> Option<Query> {
    let entries = store.entries(id).await.ok()?;
    open_question(&entries).cloned()
}

/// `None` where it is to be decided later.
pub(super) async fn ask(query: &Query, typed: &mut Typed) -> Option<Verdict> {
    output::note(&told(query));
    let asked = answered(query, typed);
    tokio::select! {
        verdict = asked => verdict,
        () = interruption() => None,
    }
}

async fn answered(query: &Query, typed: &mut Typed) -> Option<Verdict> {
    let most = query.options.len();
    let choice = loop {
        output::stream("Your choice, by its number (nothing: decide later): ");
        let line = typed.line().await.filter(|line| !line.is_empty())?;
        match chosen(query, &line) {
            Some(choice) => break choice.clone(),
            None => output::note(&format!("One of 1 to {most}, please.")),
        }
    };
    output::stream("Your reason, if you like: ");
    let note = typed.line().await.filter(|line| !line.is_empty());
    Some(Verdict { choice, note })
}

/// By its number, or in its own words.
fn chosen<'a>(query: &'a Query, line: &str) -> Option<&'a String> {
    let words = |text: &str| text.to_lowercase().replace('-', " ");
    let mut options = query.options.iter();
    if let Some(option) = options.find(|option| words(option) == words(line)) {
        return Some(option);
    }
    let number: usize = line.parse().ok()?;
    query.options.get(number.checked_sub(1)?)
}

fn told(query: &Query) -> String {
    let width = output::width().min(100);
    let question = flow::wrapped(&output::harmless(&query.question), width, 0);
    let mut lines = vec![String::new(), painted(BOLD, &question)];
    for (number, option) in (1..).zip(&query.options) {
        lines.push(format!("  {number}  {}", output::harmless(&label(option))));
    }
    lines.join("\n")
}

fn label(option: &str) -> String {
    match option {
        CONTINUE => "Go on".to_owned(),
        STOP => "End it here".to_owned(),
        ANOTHER_ROUND => "Another round".to_owned(),
        other => capital(other),
    }
}

/// For whoever cannot be asked here: what is asked, and how to answer.
pub(super) fn instructions(query: &Query, id: Uuid) -> String {
    let options: Vec<String> = query.options.iter().map(|it| format!("\"{it}\"")).collect();
    format!(
        "\n{}\n{}",
        output::harmless(&query.question),
        painted(
            QUIET,
            &output::harmless(&format!(
                "It waits. Decide with `roundtable resume {id} --decide CHOICE`, one of: {}",
                options.join(", ")
            ))
        )
    )
}

/// The debate with the decision in its journal, to be played on.
pub(super) async fn decided(
    app: &AppContext,
    store: &Store,
    id: Uuid,
    verdict: Verdict,
    output: &OutputMode,
) -> Result<Debate, Failure> {
    let lease = store.lease_or_wait(id).await?;
    let Verdict { choice, note } = verdict;
    decide(lease.journal().as_ref(), clock::now(), choice, None, note)
        .await
        .map_err(|error| Failure::usage(error.to_string()))?;
    let setup = lease.setup().clone();
    let past = store.entries(id).await?;
    let budget = setup.budget;
    let prepared = setup::prepare_resume(app, setup, budget, &output.progress_sink()).await?;
    Ok(Debate {
        lease,
        prepared,
        past,
    })
}

#[cfg(test)]
#[path = "deciding_tests.rs"]
mod tests;
