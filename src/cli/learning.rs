//! `roundtable learning`

use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use roundtable_core::learning::{
    Audit, Change, Domain, Export, FORMAT, HalfLife, ImportError, Knowledge, UndoError, domains,
    import, in_force, lessons, record, undo,
};
use roundtable_engine::report::{Block, Report, Section};
use roundtable_engine::retrospective::{history_table, knowledge_report};
use serde_json::{Value, json};

use crate::store::{LearningError, Store};
use crate::{clock, export};

use super::args::domain;
use super::display::closing;
use super::output;
use crate::app_context::AppContext;
use crate::failure::Failure;

/// What was learned from post-mortems, and how it can be taken back, moved and forgotten.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable learning show --domain \"api design\"\n  roundtable learning history\n  roundtable learning undo 3\n  roundtable learning export -o learned.json\n  roundtable learning import learned.json"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// What is known: weights with intervals, agents, questions, skills, rounds.
    #[command(
        after_help = "Example:\n  roundtable learning show --domain \"api design\" --html learned.html"
    )]
    Show {
        #[command(flatten)]
        of: Of,
        /// Write it as one self-contained HTML file.
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
    },
    /// Every change: old, new, why, from how many projects.
    #[command(after_help = "Example:\n  roundtable learning history --json")]
    History {
        #[command(flatten)]
        of: Of,
    },
    /// Take back an entry, or the last one; what was known before is restored exactly.
    #[command(
        after_help = "Example:\n  roundtable learning undo 3\n\nTaking back an entry that took something back restores that."
    )]
    Undo {
        /// The entry's number in the history.
        entry: Option<u64>,
        #[command(flatten)]
        of: Of,
    },
    /// Forget a domain, or everything. It can be taken back.
    #[command(after_help = "Example:\n  roundtable learning reset --domain \"api design\"")]
    Reset {
        #[command(flatten)]
        of: Of,
        /// Every domain.
        #[arg(long, conflicts_with = "domain")]
        all: bool,
    },
    /// Write what was learned as JSON, to take it elsewhere.
    #[command(
        after_help = "Example:\n  roundtable learning export --domain \"api design\" -o learned.json"
    )]
    Export {
        #[command(flatten)]
        of: Of,
        /// Write to this file instead of standard output.
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Learn what was exported elsewhere. Projects that are known already are left out.
    #[command(after_help = "Example:\n  roundtable learning import learned.json")]
    Import {
        /// The file, or - for standard input.
        file: PathBuf,
        #[command(flatten)]
        of: Of,
    },
}

#[derive(Debug, Clone, clap::Args)]
struct Of {
    /// Only this domain.
    #[arg(long, value_parser = domain)]
    domain: Option<Domain>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let store = app.store().await?;
    let half_life = app.config.learning.half_life;
    let done = match args.command {
        Command::Show { of, html } => show(&store, half_life, &of, html).await,
        Command::History { of } => history(&store, &of).await,
        Command::Undo { entry, of } => take_back(&store, half_life, entry, &of).await,
        Command::Reset { of, all } => reset(&store, half_life, &of, all).await,
        Command::Export { of, output } => export_to(&store, half_life, &of, output).await,
        Command::Import { file, of } => import_from(&store, half_life, file, &of).await,
    };
    store.close().await;
    done?;
    Ok(ExitCode::SUCCESS)
}

/// The domains asked for: one, or all that hold anything.
fn chosen(audit: &[Audit], of: &Of) -> Vec<Domain> {
    match &of.domain {
        Some(domain) => vec![domain.clone()],
        None => domains(audit)
            .into_iter()
            .filter(|domain| !lessons(audit, domain).is_empty())
            .collect(),
    }
}

async fn show(
    store: &Store,
    half_life: HalfLife,
    of: &Of,
    html: Option<PathBuf>,
) -> Result<(), Failure> {
    let audit = store.audit().await?;
    let now = clock::now();
    let chosen = chosen(&audit, of);
    if of.json {
        let known: Vec<Knowledge> = chosen
            .iter()
            .map(|domain| Knowledge::from_audit(&audit, domain, half_life, now))
            .collect();
        return output::json(&known);
    }
    if chosen.is_empty() {
        output::note(
            "Nothing was learned yet; `roundtable post-mortem` says how a decision came out.",
        );
    }
    let mut reports = chosen
        .iter()
        .map(|domain| knowledge_report(&audit, domain, half_life, now));
    if let Some(path) = html {
        let mut all = Report::default();
        for report in reports {
            all.facts.extend(report.facts);
            all.sections.extend(report.sections);
        }
        return written(&path, export::report_html("Learning", &all));
    }
    reports.by_ref().for_each(|report| {
        for line in closing::report(&report) {
            output::line(&line);
        }
    });
    Ok(())
}

async fn history(store: &Store, of: &Of) -> Result<(), Failure> {
    let audit = store.audit().await?;
    let force = in_force(&audit);
    let is_meant = |entry: &Audit| of.domain.as_ref().is_none_or(|it| entry.domain == *it);
    if of.json {
        let entries = audit.iter().zip(force).filter(|(entry, _)| is_meant(entry));
        let entries: Vec<Value> = entries
            .map(|(entry, holds)| {
                let mut value = json!(entry);
                value["in_force"] = json!(holds);
                value
            })
            .collect();
        return output::json(&entries);
    }
    let own: Vec<Audit> = audit.into_iter().filter(is_meant).collect();
    if own.is_empty() {
        output::note("Nothing was learned yet.");
        return Ok(());
    }
    tell(vec![Section::main(
        "Every change",
        vec![Block::Table(history_table(&own))],
    )]);
    Ok(())
}

async fn take_back(
    store: &Store,
    half_life: HalfLife,
    entry: Option<u64>,
    of: &Of,
) -> Result<(), Failure> {
    let plan = |audit: &[Audit]| {
        let (domain, change) = undo(audit, entry, of.domain.as_ref())?;
        let why = match change {
            Change::Undone { entry } => format!("took back entry {entry}"),
            Change::Learned { .. } | Change::Imported { .. } | Change::Reset => String::new(),
        };
        let now = clock::now();
        Ok::<_, UndoError>(vec![record(audit, domain, change, why, half_life, now)])
    };
    let done = store.learn(plan).await.map_err(refused)?;
    told(&done, of)
}

async fn reset(store: &Store, half_life: HalfLife, of: &Of, all: bool) -> Result<(), Failure> {
    if of.domain.is_none() && !all {
        return Err(Failure::usage(
            "say which domain to forget with --domain, or --all",
        ));
    }
    let plan = |audit: &[Audit]| {
        let mut new: Vec<Audit> = Vec::new();
        for domain in chosen(audit, of) {
            if lessons(audit, &domain).is_empty() {
                continue;
            }
            let known: Vec<Audit> = audit.iter().chain(&new).cloned().collect();
            let why = "forgotten on request".to_owned();
            let now = clock::now();
            new.push(record(&known, domain, Change::Reset, why, half_life, now));
        }
        if new.is_empty() {
            Err(UndoError::Nothing)
        } else {
            Ok(new)
        }
    };
    let done = store.learn(plan).await.map_err(|error| match error {
        LearningError::Refused(_) => Failure::usage("there is nothing to forget"),
        LearningError::Lease(error) => error.into(),
    })?;
    told(&done, of)
}

async fn export_to(
    store: &Store,
    half_life: HalfLife,
    of: &Of,
    output: Option<PathBuf>,
) -> Result<(), Failure> {
    let audit = store.audit().await?;
    let export = Export::of(&audit, of.domain.as_ref(), half_life, clock::now());
    match output {
        None => output::json(&export),
        Some(path) => {
            let text = serde_json::to_string_pretty(&export)
                .map_err(|error| Failure::other(format!("cannot write JSON: {error}")))?;
            written(&path, text + "\n")
        }
    }
}

async fn import_from(
    store: &Store,
    half_life: HalfLife,
    file: PathBuf,
    of: &Of,
) -> Result<(), Failure> {
    let name = file.display().to_string();
    let unreadable = |error: std::io::Error| Failure::usage(format!("cannot read {name}: {error}"));
    let text = if name == "-" {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .map_err(unreadable)?;
        text
    } else {
        std::fs::read_to_string(&file).map_err(unreadable)?
    };
    let mut export = parsed(&name, &text)?;
    if let Some(domain) = &of.domain {
        export.domains.retain(|it| it.domain == *domain);
    }
    let plan = |audit: &[Audit]| {
        let mut new: Vec<Audit> = Vec::new();
        for (domain, change) in import(audit, &export)? {
            let known: Vec<Audit> = audit.iter().chain(&new).cloned().collect();
            let why = format!("imported from {name}");
            new.push(record(&known, domain, change, why, half_life, clock::now()));
        }
        Ok::<_, ImportError>(new)
    };
    let done = store.learn(plan).await.map_err(|error| match error {
        LearningError::Refused(error) => Failure::usage(format!("{name}: {error}")),
        LearningError::Lease(error) => error.into(),
    })?;
    told(&done, of)
}

/// Its version first: what a newer program wrote may hold what this one does not know.
fn parsed(name: &str, text: &str) -> Result<Export, Failure> {
    let wrong = |error: serde_json::Error| {
        Failure::usage(format!(
            "{name}:{}: {}",
            error.line(),
            without_place(&error)
        ))
    };
    let value: Value = serde_json::from_str(text).map_err(wrong)?;
    let found = value["roundtable_learning"].as_u64();
    let Some(found) = found else {
        return Err(Failure::usage(format!(
            "{name} was not written by `roundtable learning export`: it has no 'roundtable_learning'"
        )));
    };
    if found > u64::from(FORMAT) {
        let found = u32::try_from(found).unwrap_or(u32::MAX);
        let error = ImportError::Newer { found };
        return Err(Failure::usage(format!("{name}: {error}")));
    }
    serde_json::from_str(text).map_err(wrong)
}

fn without_place(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let end = message.rfind(" at line ").unwrap_or(message.len());
    message[..end].to_owned()
}

fn refused(error: LearningError<UndoError>) -> Failure {
    match error {
        LearningError::Refused(error) => Failure::usage(error.to_string()),
        LearningError::Lease(error) => error.into(),
    }
}

/// What was done, as it now stands in the history.
fn told(done: &[Audit], of: &Of) -> Result<(), Failure> {
    if of.json {
        return output::json(&done);
    }
    tell(vec![Section::main(
        "Done",
        vec![Block::Table(history_table(done))],
    )]);
    Ok(())
}

fn tell(sections: Vec<Section>) {
    let report = Report {
        sections,
        ..Report::default()
    };
    for line in closing::report(&report) {
        output::line(&line);
    }
}

fn written(path: &PathBuf, text: String) -> Result<(), Failure> {
    std::fs::write(path, text)
        .map_err(|error| Failure::other(format!("cannot write {}: {error}", path.display())))?;
    output::note(&format!("Wrote {}", path.display()));
    Ok(())
}
