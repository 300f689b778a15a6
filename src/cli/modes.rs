//! `roundtable modes`: the modes of debate, built in and the user's own.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use roundtable_core::verification::{HIGH_STAKES, UNIVERSAL};
use roundtable_engine::data::{DataKind, Origin, Text};
use roundtable_engine::mode::{Mode, SKELETON, Section, SpeakingOrder, Visibility};
use serde_json::json;

use super::output;
use crate::app_context::AppContext;
use crate::failure::Failure;

/// The modes of debate: what a panel does, who speaks when, who sees what.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable modes list\n  roundtable modes show delphi\n  roundtable modes new premortem\n  roundtable modes check premortem.toml\n\nYour own go into the folder `modes` beside your configuration file; one of the same name replaces the built-in one."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// All modes.
    List,
    /// One mode with its four layers.
    Show { name: String },
    /// Check a mode file: what is wrong, and in which line.
    Check { file: PathBuf },
    /// Start a mode of your own from a working one.
    New { name: String },
}

pub(crate) fn run(app: &AppContext, args: &Args) -> Result<ExitCode, Failure> {
    match &args.command {
        None | Some(Command::List) => list(app, args.json)?,
        Some(Command::Show { name }) => show(app, name, args.json)?,
        Some(Command::Check { file }) => check(file, args.json)?,
        Some(Command::New { name }) => new(app, name)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(app: &AppContext, as_json: bool) -> Result<(), Failure> {
    let mut modes = Vec::new();
    for text in app.data.all(DataKind::Modes)?.into_values() {
        let origin = match &text.origin {
            Origin::BuiltIn => "built in".to_owned(),
            Origin::File(path) => path.display().to_string(),
        };
        modes.push((Mode::parse(&text)?, origin));
    }
    if as_json {
        let all: Vec<_> = modes
            .iter()
            .map(|(mode, origin)| {
                json!({ "name": mode.name, "summary": mode.summary, "order": mode.order,
                        "visibility": mode.visibility, "origin": origin })
            })
            .collect();
        return output::json(&all);
    }
    for (mode, origin) in modes {
        output::line(&format!(
            "{}  {} ({origin})",
            output::painted(output::BOLD, &format!("{:<18}", mode.name)),
            mode.summary
        ));
    }
    Ok(())
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
        "{} is in order: mode '{}', {}",
        file.display(),
        mode.name,
        mode.summary
    ));
    Ok(())
}

fn new(app: &AppContext, name: &str) -> Result<(), Failure> {
    let folders = app.environment.folders.as_ref();
    let folders = folders
        .ok_or_else(|| Failure::usage("there is no home folder to keep your modes in; set HOME"))?;
    let folder = folders.config.join(DataKind::Modes.folder());
    let target = folder.join(format!("{name}.toml"));
    let content = SKELETON.replacen("name = \"collaborative\"", &format!("name = {name:?}"), 1);
    // A name that is none is refused like one in a file.
    Mode::parse(&Text {
        name: format!("{name}.toml"),
        origin: Origin::File(target.clone()),
        content: content.clone(),
    })?;
    if target.exists() {
        return Err(Failure::usage(format!(
            "{} is there already",
            target.display()
        )));
    }
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(&target, content))
        .map_err(|error| Failure::other(format!("cannot write {}: {error}", target.display())))?;
    output::note(&format!(
        "{} is a copy of 'collaborative' for you to change. Then: roundtable debate \"…\" --mode {name}",
        target.display()
    ));
    Ok(())
}

fn as_markdown(mode: &Mode) -> String {
    let order = match mode.order {
        SpeakingOrder::Parallel => "all at once",
        SpeakingOrder::Sequence => "one after the other, each having heard those before",
        SpeakingOrder::RedThenBlue => {
            "the red team at once, then the blue team at once, having heard red"
        }
    };
    let visibility = match mode.visibility {
        Visibility::Named => "by name",
        Visibility::Anonymous => {
            "anonymous: no seat can tell who said what, numbers come as median and quartiles"
        }
    };
    let role = &mode.role;
    let contract = &mode.contract;
    let mut text = format!(
        "# {}\n\n{}\n\n* Who speaks when: {order}\n* What they see of each other: {visibility}\n\n## 1. Role anchor\n\n{}\n\n{}\n\n{}\n\n{}\n\n## 2. Behavioural contract\n\n**Must**\n\n{}\n**Must not**\n\n{}\n**Priorities**\n\n{}\n**Failure:** {}\n\n## 3. Required structure\n\n**First round**\n\n{}\n**Later rounds**\n\n{}",
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
    let stakes = format!("At high stakes: {HIGH_STAKES}");
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
