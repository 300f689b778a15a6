//! `roundtable arena`: which of several casts or models the user prefers, on the user's own questions (B-01).

mod new;

use std::path::Path;
use std::process::ExitCode;

use clap::Subcommand;

use super::display::summary;
use super::output;
use crate::app_context::AppContext;
use crate::arena::{self, Stored};
use crate::failure::Failure;
use crate::format::counted;
use crate::store::Address;

/// Compare casts or models on your own questions by blind preference
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable arena new questions.txt --between panel,openai:gpt-5 --max-cost 3\n  roundtable arena new questions.txt --between panel,panel+mine@quick\n  roundtable serve          # then vote on its page /arenas\n  roundtable arena show questions-1a2b3c4d --json\n\nYou see two answers, A and B, in an order drawn by --seed, and not whose they are. Bradley–Terry turns your votes into strengths."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Let two or more contestants answer a file of questions
    New(Box<new::Args>),
    /// Show the votes so far and what follows from them
    Show(ShowArgs),
    /// List all arenas
    List(ListArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  roundtable arena show questions-1a2b3c4d")]
struct ShowArgs {
    /// The id of the arena
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  roundtable arena list --json")]
struct ListArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    match args.action {
        Action::New(args) => new::run(app, *args).await,
        Action::Show(args) => show(data(app)?, &args),
        Action::List(args) => list(data(app)?, &args),
    }
}

/// Arenas are files in a data folder.
fn data(app: &AppContext) -> Result<&Path, Failure> {
    match app.address()? {
        Address::Folder(folder) => Ok(folder),
        Address::Server(_) => Err(Failure::usage(
            "arenas are kept in a folder, not in a database: name one with --data",
        )),
    }
}

fn show(data: &Path, args: &ShowArgs) -> Result<ExitCode, Failure> {
    let standing = Stored::find(data, &args.id)?.standing();
    if args.json {
        output::json(&standing)?;
    } else {
        summary::print_report(&arena::report(&standing));
    }
    Ok(ExitCode::SUCCESS)
}

fn list(data: &Path, args: &ListArgs) -> Result<ExitCode, Failure> {
    let all: Result<Vec<_>, Failure> = arena::ids(data)
        .iter()
        .map(|id| Ok(Stored::find(data, id)?.standing()))
        .collect();
    let all = all?;
    if args.json {
        output::json(&all)?;
        return Ok(ExitCode::SUCCESS);
    }
    if all.is_empty() {
        output::note("No arena. Create one with roundtable arena new FILE --between A,B");
    }
    for one in all {
        let names: Vec<&str> = one
            .contestants
            .iter()
            .map(|row| row.name.as_str())
            .collect();
        output::line(&format!(
            "{}  {} of {}  {}",
            one.id,
            one.votes,
            counted(one.pairs, "vote"),
            names.join(", ")
        ));
        output::line(&format!("    {}", output::harmless(&one.conclusion)));
    }
    Ok(ExitCode::SUCCESS)
}
