//! `roundtable prompts`

use std::process::ExitCode;

use roundtable_engine::data::{DataKind, Text, closest};
use roundtable_engine::prompt::Prompts;
use serde_json::json;

use super::{output, own_files};
use crate::app_context::AppContext;
use crate::failure::Failure;

/// List and print prompts: what the models are told
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable prompts list\n  roundtable prompts show dialectic/propose\n\nTo change a prompt, save it under the same name in the folder `prompts` of your configuration folder, or next to the configuration file in use. It can use the variables of the built-in prompts in its folder."
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
    /// List all prompts
    #[command(after_help = "Example:\n  roundtable prompts list --json")]
    List,
    /// Print a prompt
    #[command(after_help = "Example:\n  roundtable prompts show dialectic/propose > propose.md")]
    Show {
        /// Name of a prompt, such as dialectic/propose
        name: String,
    },
}

pub(crate) fn run(app: &AppContext, args: &Args) -> Result<ExitCode, Failure> {
    match &args.command {
        None | Some(Command::List) => list(app, args.json)?,
        Some(Command::Show { name }) => show(app, name, args.json)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(app: &AppContext, as_json: bool) -> Result<(), Failure> {
    let all = app.data.all(DataKind::Prompts)?;
    let rows = all
        .iter()
        .map(|(file, text)| (name_of(file), own_files::shown(&text.origin)));
    if as_json {
        let rows = rows.map(|(name, origin)| json!({ "name": name, "origin": origin }));
        output::json(&rows.collect::<Vec<_>>())?;
    } else {
        for (name, origin) in rows {
            output::line(&format!("{name:<32} {origin}"));
        }
    }
    // Reports an invalid prompt after the list, which still helps to find it.
    Prompts::load(&app.data)?;
    Ok(())
}

fn show(app: &AppContext, name: &str, as_json: bool) -> Result<(), Failure> {
    let wanted = name_of(name);
    let Some(text) = app.data.one(DataKind::Prompts, &format!("{wanted}.md"))? else {
        return Err(unknown(app, wanted));
    };
    let Text {
        content, origin, ..
    } = &text;
    if as_json {
        return output::json(
            &json!({ "name": wanted, "origin": own_files::shown(origin), "text": content }),
        );
    }
    output::print(content);
    Ok(())
}

fn unknown(app: &AppContext, name: &str) -> Failure {
    let all = match app.data.all(DataKind::Prompts) {
        Ok(all) => all,
        Err(error) => return error.into(),
    };
    let hint = closest(name, all.keys().map(|file| name_of(file))).map_or_else(
        || "`roundtable prompts list` lists them".to_owned(),
        |close| format!("did you mean '{close}'?"),
    );
    Failure::usage(format!("unknown prompt '{name}'; {hint}"))
}

fn name_of(file: &str) -> &str {
    file.strip_suffix(".md").unwrap_or(file)
}
