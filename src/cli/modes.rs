//! `roundtable modes`: debate modes, built in and your own.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use roundtable_core::verification::{HIGH_STAKES, UNIVERSAL};
use roundtable_engine::data::{DataKind, Origin, Text};
use roundtable_engine::mode::{Mode, Section, SpeakingOrder, Visibility};
use serde_json::json;

use super::output;
use super::own_files::{self, Listed};
use crate::app_context::AppContext;
use crate::failure::Failure;

/// List, show and create debate modes
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable modes list\n  roundtable modes show delphi\n  roundtable modes new premortem\n  roundtable modes check premortem.toml\n\nYour own modes are in the folder `modes` of your configuration folder, or next to the configuration file in use; one with the name of a built-in mode replaces it."
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
    /// List all modes
    #[command(after_help = "Example:\n  roundtable modes list --json")]
    List,
    /// Show a mode: role, contract, structure and verification
    #[command(after_help = "Example:\n  roundtable modes show delphi")]
    Show {
        /// Name of a mode
        name: String,
    },
    /// Check a mode file, and report errors with their line
    #[command(after_help = "Example:\n  roundtable modes check premortem.toml")]
    Check {
        /// The file
        file: PathBuf,
    },
    /// Create a mode as a copy of another one
    #[command(after_help = "Example:\n  roundtable modes new premortem --from red-team-blue-team")]
    New {
        /// Name of the new mode: lower-case letters, digits and dashes
        name: String,
        /// The mode to copy
        #[arg(long, default_value = "collaborative", value_name = "NAME")]
        from: String,
    },
}

pub(crate) fn run(app: &AppContext, args: &Args) -> Result<ExitCode, Failure> {
    match &args.command {
        None | Some(Command::List) => return list(app, args.json),
        Some(Command::Show { name }) => show(app, name, args.json)?,
        Some(Command::Check { file }) => check(file, args.json)?,
        Some(Command::New { name, from }) => new(app, name, from)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(app: &AppContext, as_json: bool) -> Result<ExitCode, Failure> {
    own_files::list(app, DataKind::Modes, as_json, |text| {
        let mode = Mode::parse(text)?;
        Ok(Listed {
            name: format!("{:<18}", mode.name),
            json: json!({ "name": mode.name, "summary": mode.summary, "order": mode.order, "visibility": mode.visibility }),
            summary: mode.summary,
        })
    })
}

fn show(app: &AppContext, name: &str, as_json: bool) -> Result<(), Failure> {
    let mode = Mode::load(&app.data, name)?;
    if as_json {
        return output::json(&mode);
    }
    output::markdown(&as_markdown(&mode));
    Ok(())
}

fn check(file: &Path, as_json: bool) -> Result<(), Failure> {
    let mode = Mode::parse(&Text::read(file)?)?;
    if as_json {
        return output::json(&mode);
    }
    output::note(&format!(
        "{} is valid: mode '{}', {}",
        file.display(),
        mode.name,
        mode.summary
    ));
    Ok(())
}

/// Writes a copy under another name.
fn new(app: &AppContext, name: &str, from: &str) -> Result<(), Failure> {
    let target = own_files::path(app, DataKind::Modes, &format!("{name}.toml"), "Set HOME")?;
    let original = app.data.named(DataKind::Modes, "mode", from)?;
    let mut document: toml_edit::DocumentMut = original
        .content
        .parse()
        .map_err(|error| Failure::other(format!("{}: {error}", original.file())))?;
    document["name"] = toml_edit::value(name);
    let content = document.to_string();
    // Checks the name with the rules for files.
    Mode::parse(&Text {
        name: format!("{name}.toml"),
        origin: Origin::File(target.clone()),
        content: content.clone(),
    })?;
    own_files::check_is_not_built_in(DataKind::Modes, "mode", name)?;
    own_files::check_is_new(&target, "edit it, or choose another name")?;
    own_files::write(&target, &content)?;
    output::note(&format!(
        "Created {} as a copy of '{from}'. Edit it, then use it with `roundtable debate \"…\" --mode {name}`.",
        target.display()
    ));
    Ok(())
}

fn as_markdown(mode: &Mode) -> String {
    let order = match mode.order {
        SpeakingOrder::Parallel => "all seats in parallel",
        SpeakingOrder::Sequence => "one seat after the other; each sees the earlier turns",
        SpeakingOrder::RedThenBlue => {
            "the red team in parallel, then the blue team, which sees the red turns"
        }
    };
    let visibility = match mode.visibility {
        Visibility::Named => "by name",
        Visibility::Anonymous => {
            "anonymous: seats do not see who said what; numbers appear as median and quartiles"
        }
    };
    let role = &mode.role;
    let contract = &mode.contract;
    let mut text = format!(
        "# {}\n\n{}\n\n* Speaking order: {order}\n* Visibility: {visibility}\n\n## 1. Role anchor\n\n{}\n\n{}\n\n{}\n\n{}\n\n## 2. Behavioural contract\n\n**Must**\n\n{}\n**Must not**\n\n{}\n**Priorities**\n\n{}\n**Failure:** {}\n\n## 3. Required structure\n\n**First round**\n\n{}\n**Later rounds**\n\n{}",
        mode.name,
        mode.summary,
        role.identity,
        role.mission,
        role.persistence,
        role.helpful,
        points(contract.must.iter().cloned()),
        points(contract.must_not.iter().cloned()),
        points(contract.priorities.iter().cloned()),
        contract.failure,
        sections(&mode.structure.first),
        sections(&mode.structure.later),
    );
    let universal = UNIVERSAL.iter().map(|(_, question)| (*question).to_owned());
    let own = [
        mode.verification.first.clone(),
        mode.verification.second.clone(),
    ];
    let stakes = format!("With high stakes: {HIGH_STAKES}");
    let all = universal.chain(own).chain([stakes]);
    let _ = write!(text, "\n## 4. Verification loop\n\n{}", points(all));
    for (name, variant) in &mode.variants {
        let must = variant.must.iter().map(|item| format!("Must: {item}"));
        let must_not = variant
            .must_not
            .iter()
            .map(|item| format!("Must not: {item}"));
        let _ = write!(
            text,
            "\n## {name}\n\n{}\n\n{}",
            variant.role,
            points(must.chain(must_not))
        );
    }
    text
}

fn sections(sections: &[Section]) -> String {
    points(
        sections
            .iter()
            .map(|section| format!("{}: {}", section.heading, section.what)),
    )
}

fn points(items: impl Iterator<Item = String>) -> String {
    items.fold(String::new(), |list, item| list + "* " + &item + "\n")
}
