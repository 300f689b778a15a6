//! `roundtable rm`

use std::process::ExitCode;

use super::stdin_lines::confirm;
use super::{audit, output};
use crate::app_context::AppContext;
use crate::failure::Failure;
use crate::format::counted;
use crate::store::DebateRow;

/// Delete debates
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  roundtable rm 3f2a 91c0 --yes")]
pub(crate) struct Args {
    /// Ids of debates, unambiguous prefixes of them, or `last`
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let store = app.store().await?;
    // All ids are checked before anything is deleted.
    let mut rows = Vec::new();
    for id in &args.ids {
        let row = store.find(id).await?;
        if !rows.iter().any(|known: &DebateRow| known.id == row.id) {
            rows.push(row);
        }
    }
    for row in &rows {
        output::note(&format!("{}  {}", row.id, output::short(&row.question, 60)));
    }
    if !args.yes && !confirmed(rows.len())? {
        output::note("Nothing deleted.");
        return Ok(ExitCode::SUCCESS);
    }
    for row in &rows {
        let action = audit::Action {
            name: "debate-deleted",
            subject: &row.id.to_string(),
            detail: None,
        };
        audit::recorded(app, &store, action, store.delete(row.id)).await?;
    }
    store.close().await;
    output::note(&format!("Deleted {}.", counted(rows.len(), "debate")));
    Ok(ExitCode::SUCCESS)
}

pub(super) fn confirmed(count: usize) -> Result<bool, Failure> {
    let debates = counted(count, "debate");
    let question = format!("Delete {debates}? This cannot be undone.");
    confirm(&question, "delete")
}
