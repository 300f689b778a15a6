//! `roundtable learning`

use std::fmt::Display;
use std::path::{Path, PathBuf};
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
use super::display::summary;
use super::input::{read_file, read_stdin};
use super::{audit, output};
use crate::app_context::AppContext;
use crate::failure::Failure;

/// Show, undo, export or import what was learned from post-mortems
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
    /// Show what was learned: evidence weights, agents, questions, skills, rounds
    #[command(
        after_help = "Example:\n  roundtable learning show --domain \"api design\" --html learned.html"
    )]
    Show {
        #[command(flatten)]
        scope: ScopeArgs,
        /// Write a self-contained HTML page to this file
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
    },
    /// List every change: old value, new value, reason, number of projects
    #[command(after_help = "Example:\n  roundtable learning history --json")]
    History {
        #[command(flatten)]
        scope: ScopeArgs,
    },
    /// Undo a change exactly; without a number, the last one
    #[command(
        after_help = "Example:\n  roundtable learning undo 3\n\nUndoing an undo restores the change."
    )]
    Undo {
        /// Number of the change in the history
        entry: Option<u64>,
        #[command(flatten)]
        scope: ScopeArgs,
    },
    /// Forget a domain, or everything; can be undone
    #[command(after_help = "Example:\n  roundtable learning reset --domain \"api design\"")]
    Reset {
        #[command(flatten)]
        scope: ScopeArgs,
        /// Forget every domain
        #[arg(long, conflicts_with = "domain")]
        all: bool,
    },
    /// Export what was learned as JSON
    #[command(
        after_help = "Example:\n  roundtable learning export --domain \"api design\" -o learned.json"
    )]
    Export {
        #[command(flatten)]
        scope: ScopeArgs,
        /// Write to this file instead of standard output
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Import what was exported elsewhere; projects that are already known are skipped
    #[command(after_help = "Example:\n  roundtable learning import learned.json")]
    Import {
        /// The file, or - for standard input
        file: PathBuf,
        #[command(flatten)]
        scope: ScopeArgs,
    },
}

#[derive(Debug, Clone, clap::Args)]
struct ScopeArgs {
    /// Only this domain
    #[arg(long, value_parser = domain)]
    domain: Option<Domain>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let store = app.store().await?;
    let half_life = app.config.learning.half_life;
    let change = args.command.change();
    let work = async {
        match args.command {
            Command::Show { scope, html } => show(&store, half_life, &scope, html).await,
            Command::History { scope } => history(&store, &scope).await,
            Command::Undo { entry, scope } => undo_change(&store, half_life, entry, &scope).await,
            Command::Reset { scope, all } => reset(&store, half_life, &scope, all).await,
            Command::Export { scope, output } => export_to(&store, half_life, &scope, output).await,
            Command::Import { file, scope } => import_from(&store, half_life, &file, &scope).await,
        }
    };
    let result = match change {
        Some((change, domain)) => {
            let action = audit::Action {
                name: "learning-changed",
                subject: domain.as_ref().map_or("all domains", Domain::name),
                detail: Some(change),
            };
            audit::recorded(app, &store, action, work).await
        }
        None => work.await,
    };
    store.close().await;
    result?;
    Ok(ExitCode::SUCCESS)
}

impl Command {
    /// The change that a command makes, and its scope, for the audit log.
    fn change(&self) -> Option<(String, Option<Domain>)> {
        let (change, scope) = match self {
            Self::Undo { entry, scope } => match entry {
                Some(entry) => (format!("undo of entry {entry}"), scope),
                None => ("undo of the last entry".to_owned(), scope),
            },
            Self::Reset { scope, .. } => ("reset".to_owned(), scope),
            Self::Import { file, scope } => (format!("import of {}", file.display()), scope),
            Self::Show { .. } | Self::History { .. } | Self::Export { .. } => return None,
        };
        Some((change, scope.domain.clone()))
    }
}

/// The given domain, or all with lessons.
fn selected_domains(audit: &[Audit], scope: &ScopeArgs) -> Vec<Domain> {
    match &scope.domain {
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
    scope: &ScopeArgs,
    html: Option<PathBuf>,
) -> Result<(), Failure> {
    let audit = store.audit().await?;
    let now = clock::now();
    let domains = selected_domains(&audit, scope);
    if scope.json {
        let known: Vec<Knowledge> = domains
            .iter()
            .map(|domain| Knowledge::from_audit(&audit, domain, half_life, now))
            .collect();
        return output::json(&known);
    }
    if domains.is_empty() {
        output::note("Nothing learned yet. Assess a decision with `roundtable post-mortem`.");
    }
    let reports = domains
        .iter()
        .map(|domain| knowledge_report(&audit, domain, half_life, now));
    if let Some(path) = html {
        let mut all = Report::default();
        for report in reports {
            all.facts.extend(report.facts);
            all.sections.extend(report.sections);
        }
        return output::write_to(Some(&path), &export::report_html("Learning", &all));
    }
    for report in reports {
        summary::print_report(&report);
    }
    Ok(())
}

async fn history(store: &Store, scope: &ScopeArgs) -> Result<(), Failure> {
    let audit = store.audit().await?;
    let is_selected = |entry: &Audit| {
        let domain = scope.domain.as_ref();
        domain.is_none_or(|domain| entry.domain == *domain)
    };
    if scope.json {
        let entries = audit.iter().zip(in_force(&audit));
        let entries: Vec<Value> = entries
            .filter(|(entry, _)| is_selected(entry))
            .map(|(entry, is_in_force)| {
                let mut value = json!(entry);
                value["in_force"] = json!(is_in_force);
                value
            })
            .collect();
        return output::json(&entries);
    }
    let selected: Vec<Audit> = audit.into_iter().filter(is_selected).collect();
    if selected.is_empty() {
        output::note("Nothing learned yet.");
        return Ok(());
    }
    print_changes("Every change", &selected);
    Ok(())
}

async fn undo_change(
    store: &Store,
    half_life: HalfLife,
    entry: Option<u64>,
    scope: &ScopeArgs,
) -> Result<(), Failure> {
    let plan = |audit: &[Audit]| {
        let (domain, change) = undo(audit, entry, scope.domain.as_ref())?;
        let why = match change {
            Change::Undone { entry } => format!("took back entry {entry}"),
            Change::Learned { .. } | Change::Imported { .. } | Change::Reset => String::new(),
        };
        let now = clock::now();
        Ok::<_, UndoError>(vec![record(audit, domain, change, why, half_life, now)])
    };
    let changes = store.learn(plan).await?;
    report_changes(&changes, scope)
}

async fn reset(
    store: &Store,
    half_life: HalfLife,
    scope: &ScopeArgs,
    all: bool,
) -> Result<(), Failure> {
    if scope.domain.is_none() && !all {
        return Err(Failure::usage(
            "nothing selected: pass --domain NAME, or --all to forget every domain",
        ));
    }
    let plan = |audit: &[Audit]| {
        let mut new: Vec<Audit> = Vec::new();
        for domain in selected_domains(audit, scope) {
            if lessons(audit, &domain).is_empty() {
                continue;
            }
            let known: Vec<Audit> = audit.iter().chain(&new).cloned().collect();
            let why = "forgotten on request".to_owned();
            let now = clock::now();
            new.push(record(&known, domain, Change::Reset, why, half_life, now));
        }
        if new.is_empty() {
            Err("nothing to forget")
        } else {
            Ok(new)
        }
    };
    let changes = store.learn(plan).await?;
    report_changes(&changes, scope)
}

async fn export_to(
    store: &Store,
    half_life: HalfLife,
    scope: &ScopeArgs,
    output: Option<PathBuf>,
) -> Result<(), Failure> {
    let audit = store.audit().await?;
    let export = Export::of(&audit, scope.domain.as_ref(), half_life, clock::now());
    output::write_to(output.as_deref(), &output::json_text(&export)?)
}

async fn import_from(
    store: &Store,
    half_life: HalfLife,
    file: &Path,
    scope: &ScopeArgs,
) -> Result<(), Failure> {
    let name = file.display().to_string();
    let text = if name == "-" {
        read_stdin()?
    } else {
        read_file(file)?
    };
    let mut export = parse_export(&name, &text)?;
    if let Some(domain) = &scope.domain {
        export.domains.retain(|exported| exported.domain == *domain);
    }
    let plan = |audit: &[Audit]| {
        let mut new: Vec<Audit> = Vec::new();
        let changes = import(audit, &export).map_err(|error| format!("{name}: {error}"))?;
        for (domain, change) in changes {
            let known: Vec<Audit> = audit.iter().chain(&new).cloned().collect();
            let why = format!("imported from {name}");
            new.push(record(&known, domain, change, why, half_life, clock::now()));
        }
        Ok::<_, String>(new)
    };
    let changes = store.learn(plan).await?;
    report_changes(&changes, scope)
}

/// Checks the version first: a newer export may have fields that this version does not know.
fn parse_export(name: &str, text: &str) -> Result<Export, Failure> {
    let invalid = |error: serde_json::Error| {
        let message = error.to_string();
        let end = message.rfind(" at line ").unwrap_or(message.len());
        Failure::usage(format!("{name}:{}: {}", error.line(), &message[..end]))
    };
    let value: Value = serde_json::from_str(text).map_err(invalid)?;
    let Some(found) = value["roundtable_learning"].as_u64() else {
        return Err(Failure::usage(format!(
            "{name} is not a `roundtable learning export`: it has no 'roundtable_learning'"
        )));
    };
    if found > u64::from(FORMAT) {
        let found = u32::try_from(found).unwrap_or(u32::MAX);
        let error = ImportError::Newer { found };
        return Err(Failure::usage(format!("{name}: {error}")));
    }
    serde_json::from_str(text).map_err(invalid)
}

impl<E: Display> From<LearningError<E>> for Failure {
    fn from(error: LearningError<E>) -> Self {
        match error {
            LearningError::Refused(error) => Self::usage(error.to_string()),
            LearningError::Lease(error) => error.into(),
        }
    }
}

fn report_changes(changes: &[Audit], scope: &ScopeArgs) -> Result<(), Failure> {
    if scope.json {
        return output::json(&changes);
    }
    print_changes("Done", changes);
    Ok(())
}

fn print_changes(title: &str, changes: &[Audit]) {
    let table = Block::Table(history_table(changes));
    summary::print_report(&Report {
        sections: vec![Section::main(title, vec![table])],
        ..Report::default()
    });
}
