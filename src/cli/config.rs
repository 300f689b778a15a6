//! `roundtable config`

use std::path::PathBuf;
use std::process::ExitCode;

use roundtable_engine::algorithm::Algorithm;
use serde_json::json;

use crate::config::{self, Origin};

use super::output;
use crate::app_context::AppContext;
use crate::failure::Failure;

/// Show or change the configuration.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable config show\n  roundtable config set tiers.fast ollama:qwen3:8b\n  roundtable config set-algorithm evidence_based_debate\n  roundtable config path"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Every setting with its value and where that comes from.
    Show,
    /// Change one setting in the file; comments stay.
    Set { key: String, value: String },
    /// Choose how panels decide: an algorithm by name.
    SetAlgorithm { name: String },
    /// The algorithms there are.
    Algorithms,
    /// Which file is used, or would be made.
    Path,
}

pub(crate) fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    match args.command {
        None | Some(Command::Show) => show(app, args.json)?,
        Some(Command::Set { key, value }) => {
            let path = path(app);
            config::set(&path, &key, &value, &app.environment)?;
            output::note(&format!("{key} = {value} in {}", path.display()));
        }
        Some(Command::SetAlgorithm { name }) => set_algorithm(app, &name)?,
        Some(Command::Algorithms) => algorithms(app, args.json)?,
        Some(Command::Path) if args.json => output::json(&json!({ "path": path(app) }))?,
        Some(Command::Path) => output::line(&path(app).display().to_string()),
    }
    Ok(ExitCode::SUCCESS)
}

fn set_algorithm(app: &AppContext, name: &str) -> Result<(), Failure> {
    let algorithm = Algorithm::load(&app.data, name)?;
    let path = path(app);
    config::set(&path, "debate.algorithm", &algorithm.name, &app.environment)?;
    output::note(&format!(
        "Debates are decided by {} from now on ({}): {}",
        algorithm.name,
        path.display(),
        algorithm.summary
    ));
    Ok(())
}

fn algorithms(app: &AppContext, as_json: bool) -> Result<(), Failure> {
    let names = Algorithm::names(&app.data)?;
    let all: Result<Vec<_>, _> = names
        .iter()
        .map(|name| Algorithm::load(&app.data, name))
        .collect();
    let all = all?;
    if as_json {
        return output::json(&all);
    }
    let chosen = app.config.debate.algorithm.as_deref();
    for it in &all {
        let mark = if chosen == Some(it.name.as_str()) {
            "*"
        } else {
            " "
        };
        output::line(&format!("{mark} {:<24} {}", it.name, it.summary));
    }
    Ok(())
}

fn path(app: &AppContext) -> PathBuf {
    app.config
        .source
        .clone()
        .unwrap_or_else(|| config::default_path(&app.environment))
}

fn show(app: &AppContext, as_json: bool) -> Result<(), Failure> {
    let settings = app.config.settings();
    if as_json {
        let all: Vec<_> = settings
            .iter()
            .map(|setting| json!({ "key": setting.key, "value": setting.value, "origin": origin(&setting.origin) }))
            .collect();
        return output::json(&all);
    }
    for setting in settings {
        output::line(&format!(
            "{:<36} {:<30} {}",
            setting.key,
            setting.value.as_deref().unwrap_or("-"),
            output::painted(output::QUIET, &origin(&setting.origin))
        ));
    }
    Ok(())
}

fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Default => "default".into(),
        Origin::File { path, line } => format!("{}:{line}", path.display()),
        Origin::Environment { variable } => format!("environment ({variable})"),
    }
}
