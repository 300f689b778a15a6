//! `roundtable config`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use roundtable_engine::algorithm::Algorithm;
use serde_json::json;

use crate::config::{self, Environment, Origin};

use super::{output, programs};
use crate::app_context::AppContext;
use crate::failure::Failure;

/// Show or change the configuration
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable config show\n  roundtable config set tiers.fast ollama:qwen3:8b\n  roundtable config set-algorithm evidence_based_debate\n  roundtable config enable claude\n  roundtable config trust\n  roundtable config path"
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
    /// Allow seats on a command-line agent that is installed here, such as claude or codex
    #[command(
        after_help = "Examples:\n  roundtable config enable claude\n  roundtable ask \"A question?\" --model claude:default\n\nPresets: claude, codex, gemini-cli, llm, ollama-cli, opencode. `roundtable models` shows which are installed."
    )]
    Enable {
        /// Name of the preset, or of its program
        name: String,
        /// Do not ask for confirmation
        #[arg(long, short)]
        yes: bool,
    },
    /// Withdraw what `config enable` has allowed
    #[command(after_help = "Example:\n  roundtable config disable claude")]
    Disable {
        /// Name of the preset, or of its program
        name: String,
    },
    /// Trust the roundtable.toml of a working folder: use all of its sections
    #[command(
        after_help = "Examples:\n  roundtable config trust\n  roundtable config trust ~/work/project\n\nThe trust is in the file as it is now; after a change it has to be trusted again."
    )]
    Trust {
        /// The file, or its folder
        #[arg(default_value = ".")]
        path: PathBuf,
    },
    /// Withdraw the trust in the roundtable.toml of a working folder
    #[command(after_help = "Example:\n  roundtable config untrust")]
    Untrust {
        /// The file, or its folder
        #[arg(default_value = ".")]
        path: PathBuf,
    },
    /// Print the path of the configuration file
    #[command(after_help = "Example:\n  $EDITOR \"$(roundtable config path)\"")]
    Path,
}

/// The commands that work with an invalid file too: `path`, because that is when the path is needed, `trust` and `untrust`.
/// `None` for all others.
pub(crate) fn run_without_file(
    given: Option<&Path>,
    args: &Args,
) -> Option<Result<ExitCode, Failure>> {
    match &args.command {
        Some(Command::Path) => Some(print_path(given, args)),
        Some(Command::Trust { path }) => Some(trust(path, args.json)),
        Some(Command::Untrust { path }) => Some(untrust(path, args.json)),
        None
        | Some(
            Command::Show
            | Command::Enable { .. }
            | Command::Disable { .. }
            | Command::Set { .. }
            | Command::SetAlgorithm { .. }
            | Command::Algorithms,
        ) => None,
    }
}

fn trust(path: &Path, as_json: bool) -> Result<ExitCode, Failure> {
    let path = file_in(path);
    config::trust::trust(&path, &Environment::read())?;
    if as_json {
        output::json(&json!({ "path": path, "trusted": true }))?;
    } else {
        output::note(&format!(
            "Trusted {} as it is now. After a change, trust it again.",
            path.display()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn untrust(path: &Path, as_json: bool) -> Result<ExitCode, Failure> {
    let path = file_in(path);
    let was_trusted = config::trust::untrust(&path, &Environment::read())?;
    if as_json {
        output::json(&json!({ "path": path, "trusted": false, "was_trusted": was_trusted }))?;
    } else {
        let result = if was_trusted {
            "No longer trusted"
        } else {
            "Was not trusted"
        };
        output::note(&format!("{result}: {}", path.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// The configuration file in a folder.
fn file_in(path: &Path) -> PathBuf {
    if path.is_dir() {
        path.join(config::FILE_NAME)
    } else {
        path.to_path_buf()
    }
}

fn print_path(given: Option<&Path>, args: &Args) -> Result<ExitCode, Failure> {
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
            let path = set(app, &key, &value)?;
            output::note(&format!("Set {key} = {value} in {}", path.display()));
        }
        Some(Command::SetAlgorithm { name }) => set_algorithm(app, &name)?,
        Some(Command::Enable { name, yes }) => {
            programs::enable(app, &name, yes, args.json)?;
        }
        Some(Command::Disable { name }) => programs::disable(app, &name, args.json)?,
        Some(Command::Algorithms) => algorithms(app, args.json)?,
        Some(Command::Path | Command::Trust { .. } | Command::Untrust { .. }) => {
            let done = run_without_file(app.config.source.as_deref(), &args);
            return done.unwrap_or(Ok(ExitCode::SUCCESS));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn set_algorithm(app: &AppContext, name: &str) -> Result<(), Failure> {
    let algorithm = Algorithm::load(&app.data, name)?;
    let path = set(app, "debate.algorithm", &algorithm.name)?;
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

/// Changes a setting of the file in use, which stays trusted if it was. Returns its path.
fn set(app: &AppContext, key: &str, value: &str) -> Result<PathBuf, Failure> {
    let path = path(app);
    config::set(&path, key, value, &app.environment)?;
    if app.config.is_from_working_dir && app.config.is_trusted {
        config::trust::trust(&path, &app.environment)?;
    }
    Ok(path)
}

pub(super) fn path(app: &AppContext) -> PathBuf {
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
