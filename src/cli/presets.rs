//! `roundtable presets`: debates under a name, for clients that choose a model.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use roundtable_engine::cast::CastChoice;
use roundtable_engine::data::{DataError, DataKind, Origin, Text};
use roundtable_engine::preset::{Preset, SKELETON};
use roundtable_engine::protocol::{Conversation, Request};
use serde_json::{Value, json};

use super::output;
use super::own_files::{self, Listed};
use crate::app_context::AppContext;
use crate::failure::Failure;

/// List, show and create presets: a protocol with its cast, models, rules and budget under one name
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable presets list\n  roundtable presets show second-opinion\n  roundtable presets new careful\n  roundtable presets check careful.toml\n\n`roundtable serve` offers every preset as the model roundtable/NAME of its OpenAI-compatible API. Your own presets are in the folder `presets` of your configuration folder, or next to the configuration file in use; one with the name of a built-in one replaces it."
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
    /// List all presets
    #[command(after_help = "Example:\n  roundtable presets list --json")]
    List,
    /// Show a preset
    #[command(after_help = "Example:\n  roundtable presets show second-opinion")]
    Show {
        /// Name of a preset
        name: String,
    },
    /// Check a preset file, and report errors with their line
    #[command(after_help = "Example:\n  roundtable presets check careful.toml")]
    Check {
        /// The file
        file: PathBuf,
    },
    /// Create a preset as a copy of the built-in preset second-opinion
    #[command(after_help = "Example:\n  roundtable presets new careful")]
    New {
        /// Name of the new preset: lower-case letters, digits and dashes
        name: String,
    },
}

pub(crate) fn run(app: &AppContext, args: &Args) -> Result<ExitCode, Failure> {
    match &args.command {
        None | Some(Command::List) => return list(app, args.json),
        Some(Command::Show { name }) => show(app, name, args.json)?,
        Some(Command::Check { file }) => check(app, file, args.json)?,
        Some(Command::New { name }) => new(app, name)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(app: &AppContext, as_json: bool) -> Result<ExitCode, Failure> {
    own_files::list(app, DataKind::Presets, as_json, |text| {
        let preset = Preset::parse(text)?;
        Ok(Listed {
            name: format!("{:<18}", preset.name),
            json: json!({ "name": preset.name, "summary": preset.summary, "protocol": preset.protocol }),
            summary: preset.summary,
        })
    })
}

fn show(app: &AppContext, name: &str, as_json: bool) -> Result<(), Failure> {
    let text = app.data.named(DataKind::Presets, "preset", name)?;
    let preset = Preset::parse(&text)?;
    if as_json {
        return output::json(&preset);
    }
    output::line(text.content.trim_end());
    Ok(())
}

fn check(app: &AppContext, file: &Path, as_json: bool) -> Result<(), Failure> {
    let preset = checked(app, &named_like_its_file(Text::read(file)?))?;
    if as_json {
        return output::json(&preset);
    }
    output::note(&format!(
        "{} is valid: preset '{}', {}",
        file.display(),
        preset.name,
        preset.summary
    ));
    Ok(())
}

fn named_like_its_file(text: Text) -> Text {
    let file = Path::new(&text.name).file_name();
    let name = file.map(|name| name.to_string_lossy().into_owned());
    Text {
        name: name.unwrap_or_default(),
        ..text
    }
}

/// The errors of a preset that its protocol would report when a debate starts. The models are not asked for.
fn checked(app: &AppContext, text: &Text) -> Result<Preset, DataError> {
    let preset = Preset::parse(text)?;
    let Some(protocol) = preset.protocol() else {
        return Ok(preset);
    };
    let said = Conversation {
        question: "Is this preset valid?".into(),
        ..Conversation::default()
    };
    let valid = protocol.converse(Value::Object(preset.rules.clone()), said);
    let valid = valid.and_then(|(question, rules)| {
        let request = Request {
            question,
            cast: preset.cast.clone().map(CastChoice::Named),
            sources: Vec::new(),
            depth: preset.depth,
        };
        let context = own_files::context(app, protocol);
        protocol.validate(rules, request, context).map(drop)
    });
    match valid.err().and_then(|faults| faults.into_iter().next()) {
        Some(fault) => {
            let key = fault.at.rsplit('/').next().unwrap_or_default();
            Err(text.broken(text.line_of_key(key), fault.message))
        }
        None => Ok(preset),
    }
}

/// The errors of the user's presets.
pub(super) fn problems(app: &AppContext) -> Result<Vec<DataError>, DataError> {
    own_files::problems(app, DataKind::Presets, |text| checked(app, text))
}

fn new(app: &AppContext, name: &str) -> Result<(), Failure> {
    let file = format!("{name}.toml");
    let target = own_files::path(app, DataKind::Presets, &file, "Set HOME")?;
    let content = SKELETON.replacen("name = \"second-opinion\"", &format!("name = {name:?}"), 1);
    // Checks the name with the rules for files.
    Preset::parse(&Text {
        name: file,
        origin: Origin::File(target.clone()),
        content: content.clone(),
    })?;
    own_files::check_is_new(&target, "edit it, or choose another name")?;
    own_files::write(&target, &content)?;
    output::note(&format!(
        "Created {} as a copy of 'second-opinion'. Edit it, then use it as the model roundtable/{name} of `roundtable serve`.",
        target.display()
    ));
    Ok(())
}
