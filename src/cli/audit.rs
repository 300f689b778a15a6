//! `roundtable audit`: the audit log. Also records what the other commands do.

use std::process::ExitCode;

use uuid::Uuid;

use crate::clock;
use crate::store::{AuditEntry, AuditOutcome, AuditRecord, AuditSelection, Store, Via};

use super::output;
use crate::app_context::AppContext;
use crate::failure::Failure;

/// Show the audit log: who did what, when, and from where
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable audit --since 2026-03-01\n  roundtable audit --json | jq 'select(.outcome == \"refused\")'\n\nRecorded are sign-ins, tokens, deletions, decisions, outcomes of forecasts, raised budgets and changes of what was learned. Oldest first."
)]
pub(crate) struct Args {
    /// Only entries of this day (UTC) or time and later, such as 2026-03-01
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<u64>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

fn time(text: &str) -> Result<u64, &'static str> {
    clock::time(text)
        .ok_or("expected a day such as 2026-03-01 or a time such as 2026-03-01T12:00:00Z")
}

/// The number of entries read at once.
const BATCH: u32 = 1000;

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let store = app.store().await?;
    let mut entries: Vec<AuditEntry> = Vec::new();
    loop {
        let selection = AuditSelection {
            since: args.since.unwrap_or(0),
            before: entries.last().map(|last| last.number),
            limit: BATCH,
        };
        let batch = store.audit_log(selection).await?;
        let is_last = batch.len() < BATCH as usize;
        entries.extend(batch);
        if is_last {
            break;
        }
    }
    store.close().await;
    if entries.is_empty() && !args.json {
        output::note("The audit log has no entries.");
    }
    for entry in entries.iter().rev() {
        if args.json {
            output::json_line(entry)?;
        } else {
            output::line(&text(entry));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn text(entry: &AuditEntry) -> String {
    let record = &entry.record;
    let who = record.who.as_deref().unwrap_or("-");
    let mut parts = vec![
        clock::stamp(record.at),
        record.action.clone(),
        record.outcome.name().to_owned(),
        format!("by {who} ({})", record.via.name()),
    ];
    parts.extend(record.subject.clone());
    parts.extend(record.address.as_ref().map(|from| format!("from {from}")));
    parts.extend(record.detail.clone());
    output::harmless(&parts.join("  "))
}

/// The action of a command, for the audit log.
pub(super) struct Action<'a> {
    pub name: &'static str,
    pub subject: &'a str,
    pub detail: Option<String>,
}

impl Action<'_> {
    fn record(&self, app: &AppContext, id: Uuid) -> AuditRecord {
        AuditRecord {
            at: clock::now(),
            who: Some(app.environment.user()),
            via: Via::CommandLine,
            action: self.name.to_owned(),
            subject: Some(self.subject.to_owned()),
            outcome: AuditOutcome::Started,
            address: None,
            request_id: Some(id.to_string()),
            detail: self.detail.clone(),
        }
    }
}

/// Does something that the audit log records: its start before anything is changed, and then its outcome.
pub(super) async fn recorded<T, E: Into<Failure>>(
    app: &AppContext,
    store: &Store,
    action: Action<'_>,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, Failure> {
    let mut record = action.record(app, Uuid::new_v4());
    store.append_audit(&record).await.map_err(|error| {
        Failure::other(format!(
            "cannot write the audit log, so nothing was changed: {error}"
        ))
    })?;
    let done = work.await.map_err(Into::into);
    record.at = clock::now();
    record.outcome = AuditOutcome::Done;
    if let Err(failure) = &done {
        record.outcome = AuditOutcome::Failed;
        record.detail = Some(failure.message().to_owned());
    }
    finish(store, &record).await;
    done
}

/// Records one more thing that the work of [`recorded`] has done.
pub(super) async fn note(app: &AppContext, store: &Store, action: Action<'_>) {
    let mut record = action.record(app, Uuid::new_v4());
    record.outcome = AuditOutcome::Done;
    finish(store, &record).await;
}

/// It is done already, and its start is recorded, so the command does not fail.
async fn finish(store: &Store, record: &AuditRecord) {
    if let Err(error) = store.append_audit(record).await {
        output::note(&format!("Cannot write the audit log: {error}"));
    }
}
