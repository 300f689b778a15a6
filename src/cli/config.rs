//! `roundtable config`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use roundtable_engine::algorithm::Algorithm;
use serde_json::json;

use crate::config::{self, Environment, Origin};

use super::output;
use crate::app_context::AppContext;
use crate::failure::Failure;

/// Show or change the configuration
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable config show\n  roundtable config set tiers.fast ollama:qwen3:8b\n  roundtable config set-algorithm evidence_based_debate\n  roundtable config path"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List all settings with value and origin
    #[command(after_help = "Example:\n  roundtable config show --json")]
    Show,
    /// Change a setting in the configuration file; comments are kept
    #[command(after_help = "Example:\n  roundtable config set tiers.fast ollama:qwen3:8b")]
    Set {
        /// Key of the setting, such as tiers.fast
        key: String,
        /// New value
        value: String,
    },
    /// Choose the algorithm by which panels decide
    #[command(after_help = "Example:\n  roundtable config set-algorithm evidence_based_debate")]
    SetAlgorithm {
        /// Name of an algorithm; `roundtable config algorithms` lists them
        name: String,
    },
    /// List the algorithms; the configured one is marked with *
    #[command(after_help = "Example:\n  roundtable config algorithms")]
    Algorithms,
    /// Print the path of the configuration file
    #[command(after_help = "Example:\n  $EDITOR \"$(roundtable config path)\"")]
    Path,
}

impl Args {
    pub(crate) fn is_path(&self) -> bool {
        matches!(self.command, Some(Command::Path))
    }
}

/// `config path`, which works with an invalid file too: that is when the path is needed.
pub(crate) fn print_path(given: Option<&Path>, args: &Args) -> Result<ExitCode, Failure> {
    let path = config::path_in_use(given, &Environment::read())?;
    if args.json {
        output::json(&json!({ "path": path }))?;
    } else {
        output::line(&path.display().to_string());
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    match args.command {
        None | Some(Command::Show) => show(app, args.json)?,
        Some(Command::Set { key, value }) => {
            let path = path(app);
            config::set(&path, &key, &value, &app.environment)?;
            output::note(&format!("Set {key} = {value} in {}", path.display()));
        }
        Some(Command::SetAlgorithm { name }) => set_algorithm(app, &name)?,
        Some(Command::Algorithms) => algorithms(app, args.json)?,
        Some(Command::Path) => return print_path(app.config.source.as_deref(), &args),
    }
    Ok(ExitCode::SUCCESS)
}

fn set_algorithm(app: &AppContext, name: &str) -> Result<(), Failure> {
    let algorithm = Algorithm::load(&app.data, name)?;
    let path = path(app);
    config::set(&path, "debate.algorithm", &algorithm.name, &app.environment)?;
    output::note(&format!(
        "Set debate.algorithm = {} in {}: {}",
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
    let configured = app.config.debate.algorithm.as_deref();
    for algorithm in &all {
        let mark = if configured == Some(algorithm.name.as_str()) {
            "*"
        } else {
            " "
        };
        output::line(&format!(
            "{mark} {:<24} {}",
            algorithm.name, algorithm.summary
        ));
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
