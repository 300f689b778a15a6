//! `roundtable db`: maintenance of the store.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;

use crate::clock;
use crate::format::counted;
use crate::store::{Address, Content, CopyError, Deleted, Keep, Store, StoreError};

use super::rm::confirmed;
use super::{audit, output};
use crate::app_context::AppContext;
use crate::failure::{Code, Failure};

/// Maintain the store: migrate, check, copy, prune
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable db check\n  roundtable db copy ~/.local/share/roundtable postgres://localhost/debates\n  roundtable db prune --older-than 90d --keep-rated --dry-run"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Migrate the store to this version's schema. A data folder is migrated by every command, a PostgreSQL database only
    /// by this one
    #[command(
        after_help = "Example:\n  roundtable db migrate --database postgres://localhost/debates"
    )]
    Migrate,
    /// Read all data, verify all checksums and report errors
    #[command(
        after_help = "Example:\n  roundtable db check\n\nEvery journal entry has a checksum that covers the entry before it, so a changed, removed, inserted or reordered entry is found. With --json, the hash of every table is included: equal stores have equal hashes."
    )]
    Check {
        /// First add a checksum to entries of earlier versions, which have none. They are taken as they are
        #[arg(long)]
        add_checksums: bool,
    },
    /// Copy everything to an empty store, then compare row counts and hashes
    #[command(
        after_help = "Example:\n  roundtable db copy ~/.local/share/roundtable postgres://localhost/debates\n\nThe copy is a snapshot from the start of the command: stop servers and workers first, and point them to the new store afterwards."
    )]
    Copy {
        /// Data folder or postgres:// URL to copy from
        #[arg(value_name = "FROM")]
        source: String,
        /// Data folder or postgres:// URL to copy to; must be empty
        #[arg(value_name = "TO")]
        target: String,
    },
    /// Delete debates that have not changed for a given time, and return their disk space
    #[command(
        after_help = "Example:\n  roundtable db prune --older-than 90d --keep-rated --dry-run"
    )]
    Prune {
        /// Minimum time since the last change, such as 90d, 12h or 1y
        #[arg(long, value_name = "TIME", value_parser = age)]
        older_than: Duration,
        /// Keep debates with a rating and forecasts with a recorded outcome
        #[arg(long)]
        keep_rated: bool,
        /// List the debates, but do not delete them
        #[arg(long)]
        dry_run: bool,
        /// Do not ask for confirmation
        #[arg(long, short)]
        yes: bool,
    },
}

fn age(text: &str) -> Result<Duration, &'static str> {
    humantime::parse_duration(text).map_err(|_| "expected a duration such as 90d, 12h or 1y")
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let as_json = args.json;
    match args.command {
        Command::Migrate => migrate(app, as_json).await,
        Command::Check { add_checksums } => check(app, add_checksums, as_json).await,
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
    let store = Store::migrate(app.address()?).await?;
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

async fn check(app: &AppContext, add_checksums: bool, as_json: bool) -> Result<ExitCode, Failure> {
    let store = app.store().await?;
    if add_checksums {
        let done = store.add_checksums().await?;
        let sealed = counted(done.sealed.len(), "debate");
        output::note(&format!("Added checksums to {sealed}."));
        for id in done.skipped {
            output::note(&format!("Skipped {id}: it is running, or has errors."));
        }
    }
    let report = store.check().await?;
    let place = store.location();
    store.close().await;
    if as_json {
        output::json(&report)?;
    } else {
        let (debates, entries) = (report.debates, report.entries);
        let debates = counted(usize::try_from(debates).unwrap_or(usize::MAX), "debate");
        let ending = if entries == 1 { "y" } else { "ies" };
        output::line(&format!(
            "{place}: {debates} with {entries} journal entr{ending}."
        ));
        if report.without_checksum > 0 {
            output::line(&format!(
                "{} of them have no checksum, because an earlier version wrote them. `roundtable db check --add-checksums` \
                 adds it.",
                report.without_checksum
            ));
        }
        for fault in &report.faults {
            output::line(&format!(
                "{} {}",
                output::painted(output::BAD, "ERROR"),
                output::harmless(fault)
            ));
        }
        if report.faults.is_empty() {
            output::line("No errors found.");
        }
    }
    Ok(if report.faults.is_empty() {
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
        return Err(Failure::usage("FROM and TO are the same store"));
    }
    if let Address::Folder(folder) = &from
        && !folder.join("roundtable.db").exists()
    {
        return Err(Failure::usage(format!(
            "no store in {from}: roundtable.db not found"
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
        "Copied {} to {}; row counts and hashes match.",
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
    const MAX_LISTED: usize = 20;
    if as_json && pruning.consent == Consent::Ask {
        return Err(Failure::usage(
            "--json does not ask for confirmation: add --yes to delete, or --dry-run to list the debates",
        ));
    }
    let store = app.store().await?;
    let old = store.older_than(pruning.cutoff, pruning.keep).await?;
    if !as_json {
        for (id, question) in old.iter().take(MAX_LISTED) {
            output::note(&format!("{id}  {}", output::short(question, 60)));
        }
        if old.len() > MAX_LISTED {
            output::note(&format!("... and {} more", old.len() - MAX_LISTED));
        }
    }
    let is_confirmed = !old.is_empty()
        && match pruning.consent {
            Consent::DryRun => false,
            Consent::Given => true,
            Consent::Ask => confirmed(old.len())?,
        };
    let found: Vec<_> = old.iter().map(|(id, _)| *id).collect();
    let Deleted { deleted, in_use } = if is_confirmed {
        let action = audit::Action {
            name: "debates-pruned",
            subject: &counted(found.len(), "debate"),
            detail: None,
        };
        let deleting = store.delete_all(&found);
        let deleted = audit::recorded(app, &store, action, deleting).await?;
        for id in &deleted.deleted {
            let action = audit::Action {
                name: "debate-deleted",
                subject: &id.to_string(),
                detail: Some("pruned".to_owned()),
            };
            audit::note(app, &store, action).await;
        }
        deleted
    } else {
        Deleted::default()
    };
    let freed = if deleted.is_empty() {
        None
    } else {
        Some(store.compact().await)
    };
    store.close().await;
    if as_json {
        output::json(&json!({
            "older_than": clock::stamp(pruning.cutoff), "found": found, "deleted": deleted, "in_use": in_use,
            "freed_bytes": freed.and_then(Result::ok).flatten(),
        }))?;
    } else if is_confirmed {
        output::note(&format!("Deleted {}.", counted(deleted.len(), "debate")));
        for id in in_use {
            output::note(&format!("Kept {id}: it is running."));
        }
        if let Some(freed) = freed {
            output::note(&freed_space(freed));
        }
    } else if pruning.consent == Consent::DryRun {
        output::note(&format!("Would delete {}.", counted(old.len(), "debate")));
    } else {
        output::note("Nothing deleted.");
    }
    Ok(ExitCode::SUCCESS)
}

fn freed_space(freed: Result<Option<u64>, StoreError>) -> String {
    match freed {
        Ok(Some(bytes)) => format!("The file is {} bytes smaller.", output::grouped(bytes)),
        Ok(None) => "PostgreSQL reuses the space after its next autovacuum. VACUUM FULL journal returns it to the system; \
             debates wait while it runs."
            .to_owned(),
        Err(error) => format!("The file keeps its size, and the space is reused: {error}"),
    }
}
