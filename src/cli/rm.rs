//! `roundtable rm`

use std::io::{BufRead, IsTerminal};
use std::process::ExitCode;

use super::output;
use crate::app_context::AppContext;
use crate::failure::Failure;

/// Delete debates.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  roundtable rm 3f2a 91c0 --yes")]
pub(crate) struct Args {
    /// Ids, or any unambiguous beginnings of them.
    #[arg(required = true)]
    ids: Vec<String>,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let store = app.store().await?;
    // All are looked up before any is deleted: a slip in the third id must not cost the first two.
    let mut rows = Vec::new();
    for id in &args.ids {
        rows.push(store.find(id).await?);
    }
    for row in &rows {
        output::note(&format!("{}  {}", row.id, output::short(&row.question, 60)));
    }
    if !args.yes && !confirmed(rows.len())? {
        output::note("Nothing was deleted.");
        return Ok(ExitCode::SUCCESS);
    }
    for row in rows {
        store.delete(row.id).await?;
    }
    store.close().await;
    output::note("Deleted.");
    Ok(ExitCode::SUCCESS)
}

pub(super) fn confirmed(count: usize) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage(
            "deleting needs a yes; there is no terminal to ask on, so give --yes",
        ));
    }
    output::stream(&format!("Delete {count}? This cannot be undone. [y/N] "));
    let mut answer = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(|error| Failure::other(format!("cannot read the answer: {error}")))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
