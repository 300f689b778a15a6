//! `roundtable db`: looking after the store.

use std::process::ExitCode;

use serde_json::json;

use crate::clock;
use crate::format::counted;
use crate::store::{Address, Content, CopyError, Keep, LeaseError, Store};

use super::output;
use super::rm::confirmed;
use crate::app_context::AppContext;
use crate::failure::{Code, Failure};

/// Look after the store: bring it up to date, check it, copy it to another database, delete what is old.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable db check\n  roundtable db copy ~/.local/share/roundtable postgres://localhost/debates\n  roundtable db prune --older-than 90d --keep-rated --dry-run"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Bring the store to this version of the program. Every command does that by itself; this does nothing else.
    Migrate,
    /// Read everything and say what is not as it should be.
    Check,
    /// Copy everything into another, empty store, and compare counts and hashes.
    ///
    /// Each is a data folder or postgres://…; what is copied is the store as it is when the copying begins, so end servers and
    /// workers that use it first, and point them to the new one after.
    Copy {
        #[arg(value_name = "FROM")]
        source: String,
        #[arg(value_name = "TO")]
        target: String,
    },
    /// Delete debates that have not changed for a long time.
    Prune {
        /// How long: 90d, 12h, 1y.
        #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
        older_than: std::time::Duration,
        /// Keep what was rated, and forecasts of which somebody has said what happened.
        #[arg(long)]
        keep_rated: bool,
        /// Only say what would be deleted.
        #[arg(long)]
        dry_run: bool,
        /// Do not ask.
        #[arg(long, short)]
        yes: bool,
    },
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let as_json = args.json;
    match args.command {
        Command::Migrate => migrate(app, as_json).await,
        Command::Check => check(app, as_json).await,
        Command::Copy { source, target } => copy(&source, &target, as_json).await,
        Command::Prune {
            older_than,
            keep_rated,
            dry_run,
            yes,
        } => {
            let age = u64::try_from(older_than.as_millis()).unwrap_or(u64::MAX);
            let pruning = Pruning {
                cutoff: clock::now().saturating_sub(age),
                keep: if keep_rated {
                    Keep::Rated
                } else {
                    Keep::Nothing
                },
                consent: match (dry_run, yes) {
                    (true, _) => Consent::DryRun,
                    (false, true) => Consent::Given,
                    (false, false) => Consent::Ask,
                },
            };
            prune(app, &pruning, as_json).await
        }
    }
}

async fn migrate(app: &AppContext, as_json: bool) -> Result<ExitCode, Failure> {
    let store = app.store().await?;
    store.set_up_queue().await?;
    let version = store.version().await?;
    let place = store.location();
    store.close().await;
    if as_json {
        output::json(&json!({ "database": place, "version": version }))?;
    } else {
        output::line(&format!("{place} is up to date (version {version})."));
    }
    Ok(ExitCode::SUCCESS)
}

async fn check(app: &AppContext, as_json: bool) -> Result<ExitCode, Failure> {
    let store = app.store().await?;
    let found = store.check().await?;
    let place = store.location();
    store.close().await;
    if as_json {
        output::json(&found)?;
    } else {
        let (debates, entries) = (found.debates, found.entries);
        let debates = counted(usize::try_from(debates).unwrap_or(usize::MAX), "debate");
        let ending = if entries == 1 { "y" } else { "ies" };
        output::line(&format!("{place}: {debates} with {entries} entr{ending}."));
        for fault in &found.faults {
            output::line(&format!(
                "{} {}",
                output::painted(output::BAD, "FAULT"),
                output::harmless(fault)
            ));
        }
        if found.faults.is_empty() {
            output::line("All is as it should be.");
        }
    }
    Ok(if found.faults.is_empty() {
        ExitCode::SUCCESS
    } else {
        Code::Other.into()
    })
}

impl From<CopyError> for Failure {
    fn from(error: CopyError) -> Self {
        match error {
            CopyError::NotEmpty { .. } => Self::usage(error.to_string()),
            CopyError::Differs { .. } => Self::other(error.to_string()),
            CopyError::Store(error) => error.into(),
        }
    }
}

async fn copy(source: &str, target: &str, as_json: bool) -> Result<ExitCode, Failure> {
    let (from, to) = (Address::parse(source), Address::parse(target));
    if from == to {
        return Err(Failure::usage("FROM and TO are the same"));
    }
    if let Address::Folder(folder) = &from
        && !folder.join("roundtable.db").exists()
    {
        return Err(Failure::usage(format!(
            "there is no store in {from}: roundtable.db is not there"
        )));
    }
    let from = Store::at(&from).await?;
    let to = Store::at(&to).await?;
    let copied = from.copy_into(&to).await?;
    let places = (from.location(), to.location());
    from.close().await;
    to.close().await;
    if as_json {
        output::json(&json!({ "from": places.0, "to": places.1, "tables": copied }))?;
        return Ok(ExitCode::SUCCESS);
    }
    for Content {
        table,
        rows,
        sha256,
    } in &copied
    {
        output::line(&format!("{table:<10} {rows:>10} rows  sha256 {sha256}"));
    }
    output::line(&format!(
        "All of {} is in {}, and was compared.",
        places.0, places.1
    ));
    Ok(ExitCode::SUCCESS)
}

struct Pruning {
    cutoff: u64,
    keep: Keep,
    consent: Consent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Consent {
    DryRun,
    Given,
    Ask,
}

async fn prune(app: &AppContext, pruning: &Pruning, as_json: bool) -> Result<ExitCode, Failure> {
    const SHOWN: usize = 20;
    if as_json && pruning.consent == Consent::Ask {
        return Err(Failure::usage(
            "with --json nothing is asked: give --yes, or --dry-run to see what would go",
        ));
    }
    let store = app.store().await?;
    let old = store.older_than(pruning.cutoff, pruning.keep).await?;
    if !as_json {
        for (id, question) in old.iter().take(SHOWN) {
            output::note(&format!("{id}  {}", output::short(question, 60)));
        }
        if old.len() > SHOWN {
            output::note(&format!("and {} more", old.len() - SHOWN));
        }
    }
    let goes_ahead = !old.is_empty()
        && match pruning.consent {
            Consent::DryRun => false,
            Consent::Given => true,
            Consent::Ask => confirmed(old.len())?,
        };
    let (mut deleted, mut in_use) = (Vec::new(), Vec::new());
    if goes_ahead {
        for (id, _) in &old {
            match store.delete(*id).await {
                Ok(()) => deleted.push(*id),
                // Somebody else was quicker.
                Err(LeaseError::NotFound { .. }) => {}
                Err(LeaseError::Held { .. }) => in_use.push(*id),
                Err(LeaseError::Store(error)) => return Err(error.into()),
            }
        }
    }
    store.close().await;
    if as_json {
        let found: Vec<_> = old.iter().map(|(id, _)| id).collect();
        output::json(&json!({
            "older_than": clock::stamp(pruning.cutoff), "found": found, "deleted": deleted, "in_use": in_use,
        }))?;
    } else if goes_ahead {
        output::note(&format!("Deleted {}.", deleted.len()));
        for id in in_use {
            output::note(&format!("{id} is being run, and stays."));
        }
    } else if pruning.consent == Consent::DryRun {
        output::note(&format!("{} would be deleted.", old.len()));
    } else {
        output::note("Nothing was deleted.");
    }
    Ok(ExitCode::SUCCESS)
}
