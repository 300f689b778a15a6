//! The command line: one subcommand, one file. Answers go to standard output, everything else to standard error.

mod args;
mod ask;
mod backup;
mod calibration;
mod casts;
mod completions;
mod config;
mod db;
mod debate;
mod deciding;
mod display;
mod doctor;
mod export;
mod forecast;
mod input;
mod interview;
mod judge;
mod learning;
mod list;
mod models;
mod modes;
mod output;
mod post_mortem;
mod pull;
mod rate;
mod reading;
mod record;
mod resolve;
mod resume;
mod rm;
mod run;
mod schema;
mod serve;
mod show;
mod templates;
mod token;
mod track;
mod typed;
mod worker;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::app_context::AppContext;
use crate::failure::Failure;
use crate::store::Address;

/// A panel of language models argues a question out before you rely on the answer.
#[derive(Debug, Parser)]
#[command(
    name = "roundtable",
    version,
    after_help = "Examples:\n  roundtable ask \"Should we move the billing service to Rust?\"\n  roundtable ask --model ollama:qwen3:32b --rounds 2..4 - < question.md\n  roundtable resume last"
)]
struct Cli {
    /// The configuration file, instead of the one in the working folder or your configuration folder.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The folder that holds the debates.
    #[arg(
        long,
        global = true,
        value_name = "FOLDER",
        conflicts_with = "database"
    )]
    data: Option<PathBuf>,
    /// The PostgreSQL database that holds the debates, instead of a folder.
    #[arg(long, global = true, value_name = "postgres://…")]
    database: Option<String>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Put a question to a proposer, a skeptic and a synthesizer.
    Ask(Box<ask::Args>),
    /// Have a panel of three to eight seats debate a question in one of seven modes.
    Debate(Box<debate::Args>),
    /// Have five roles argue about what will happen, and get a probability for every outcome.
    Forecast(Box<forecast::Args>),
    /// Have content judged by councils that keep their disagreements; rank several.
    Judge(Box<judge::Args>),
    /// Go on with a debate that was interrupted, killed, cut short or failed.
    Resume(resume::Args),
    /// List debates, the newest first.
    List(list::Args),
    /// Show one debate: its answer, what was settled, what is open, what it cost.
    Show(show::Args),
    /// Write debates as JSON, YAML, Markdown, a self-contained HTML page, or training data.
    Export(export::Args),
    /// The record of an enhanced debate: every round with positions, evidence and measures, and what came out.
    Record(record::Args),
    /// Say how good an answer was, from 1 to 10.
    Rate(rate::Args),
    /// Say what happened, so that a forecast can be scored.
    Resolve(resolve::Args),
    /// How good the forecasts were.
    Calibration(calibration::Args),
    /// Say what became of a decision, event by event.
    Track(Box<track::Args>),
    /// Say how a decision came out, see what the debate was worth, and let the next ones learn from it.
    PostMortem(post_mortem::Args),
    /// What was learned from post-mortems; take it back, move it, forget it.
    Learning(learning::Args),
    /// Delete debates.
    Rm(rm::Args),
    /// Write all debates into one file, while they are in use.
    Backup(backup::Args),
    /// Look after the store: check it, copy it to another database, delete what is old.
    Db(db::Args),
    /// The library of reasoning templates.
    Templates(templates::Args),
    /// The modes of debate: what a panel does, who speaks when, who sees what.
    Modes(modes::Args),
    /// The casts: who sits at the table.
    Casts(casts::Args),
    /// Which models were found, which would be used, and why.
    Models(models::Args),
    /// Fetch the weights of the embedded model and embedder.
    Pull(pull::Args),
    /// Show or change the configuration.
    Config(config::Args),
    /// Check every part with a real small call, and say what to do about what fails.
    Doctor(doctor::Args),
    /// Serve debates over HTTP: an API, live events, and pages.
    Serve(serve::Args),
    /// Run debates that servers have taken, from the database they share.
    Worker(worker::Args),
    /// Service tokens: who may use the server, and for what.
    Token(token::Args),
    /// Print the JSON schema of what `--json` gives.
    Schema(schema::Args),
    /// Print a completion script for a shell.
    Completions(completions::Args),
}

pub(crate) fn main() -> ExitCode {
    let cli = Cli::parse();
    // One thread: the program waits for models, it does not compute. The embedded model has its own.
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return report(&Failure::other(format!("cannot start: {error}"))),
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "whatever the whole program waits for is woken by a look at the network each time; a task is not"
    )]
    let code = match runtime.block_on(async { tokio::spawn(run(cli)).await }) {
        Ok(Ok(code)) => code,
        Ok(Err(failure)) => report(&failure),
        Err(error) => report(&Failure::other(format!("the program failed: {error}"))),
    };
    // A download or a model call that nobody waits for any more must not hold the process.
    runtime.shutdown_background();
    code
}

fn report(failure: &Failure) -> ExitCode {
    output::error(failure.message());
    failure.code().into()
}

async fn run(cli: Cli) -> Result<ExitCode, Failure> {
    // These need nothing of the user's, and work where it is broken.
    if let Command::Completions(args) = &cli.command {
        return completions::run(args);
    }
    if let Command::Schema(args) = &cli.command {
        return schema::run(args);
    }
    let given = match (cli.database, cli.data) {
        (Some(url), _) if Address::is_server(&url) => Some(Address::parse(&url)),
        (Some(_), _) => {
            return Err(Failure::usage(
                "--database takes an address like postgres://user@host/database; a folder is named with --data",
            ));
        }
        (None, Some(folder)) => Some(Address::Folder(folder)),
        (None, None) => None,
    };
    let app = AppContext::open(cli.config.as_deref(), given)?;
    match cli.command {
        Command::Ask(args) => ask::run(&app, *args).await,
        Command::Debate(args) => debate::run(&app, *args).await,
        Command::Forecast(args) => forecast::run(&app, *args).await,
        Command::Resolve(args) => resolve::run(&app, args).await,
        Command::Calibration(args) => calibration::run(&app, args).await,
        Command::Record(args) => record::run(&app, args).await,
        Command::Judge(args) => judge::run(&app, *args).await,
        Command::Resume(args) => resume::run(&app, args).await,
        Command::List(args) => list::run(&app, args).await,
        Command::Show(args) => show::run(&app, args).await,
        Command::Export(args) => export::run(&app, args).await,
        Command::Rate(args) => rate::run(&app, args).await,
        Command::Track(args) => track::run(&app, *args).await,
        Command::PostMortem(args) => post_mortem::run(&app, args).await,
        Command::Learning(args) => learning::run(&app, args).await,
        Command::Rm(args) => rm::run(&app, args).await,
        Command::Backup(args) => backup::run(&app, args).await,
        Command::Db(args) => db::run(&app, args).await,
        Command::Templates(args) => templates::run(&app, args).await,
        Command::Modes(args) => modes::run(&app, &args),
        Command::Casts(args) => casts::run(&app, &args),
        Command::Models(args) => models::run(&app, args).await,
        Command::Pull(args) => pull::run(&app, args).await,
        Command::Config(args) => config::run(&app, args),
        Command::Doctor(args) => doctor::run(&app, args).await,
        Command::Serve(args) => serve::run(app, args).await,
        Command::Worker(args) => worker::run(app, args).await,
        Command::Token(args) => token::run(&app, args).await,
        Command::Schema(args) => schema::run(&args),
        Command::Completions(args) => completions::run(&args),
    }
}
