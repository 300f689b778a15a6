//! The command line, one file per subcommand. Results go to standard output, everything else to standard error.

mod arena;
mod args;
mod ask;
mod assessment_prompt;
mod audit;
mod backup;
mod bench;
mod browser;
mod calibration;
mod casts;
mod completions;
mod config;
mod db;
mod debate;
mod decision_prompt;
mod display;
mod doctor;
mod ensemble;
mod estimates;
mod export;
mod forecast;
mod help;
mod init;
mod input;
mod judge;
mod learning;
mod list;
mod mcp;
mod models;
mod modes;
mod output;
mod own_files;
mod pager;
mod panel;
mod pool;
mod pool_history;
mod post_mortem;
mod presets;
mod programs;
mod prompts;
mod pull;
mod questions;
mod rate;
mod record;
mod resolve;
mod resume;
mod rm;
mod run;
mod schema;
mod serve;
mod show;
mod simulate;
mod stdin_lines;
mod stored_debate;
mod templates;
mod token;
mod token_change;
mod token_life;
mod track;
mod update;
mod usage;
mod worker;

use std::num::NonZero;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use tokio::runtime::Builder;

use crate::app_context::AppContext;
use crate::failure::Failure;
use crate::sources::pdf;
use crate::store::Address;

/// The heading of the options that every command has.
const GLOBAL: &str = "Global options";

/// Have a panel of language models debate a question before you rely on the answer
#[derive(Debug, Parser)]
#[command(
    name = "roundtable",
    version,
    after_help = "Examples:\n  roundtable ask \"Should we move the billing service to Rust?\"\n  roundtable ask --model ollama:qwen3:32b --rounds 2..4 - < question.md\n  roundtable resume last"
)]
struct Cli {
    /// Configuration file; otherwise roundtable.toml in the working folder or in your configuration folder
    #[arg(long, global = true, value_name = "FILE", help_heading = GLOBAL)]
    config: Option<PathBuf>,
    /// Folder of the stored debates
    #[arg(
        long,
        global = true,
        value_name = "FOLDER",
        help_heading = GLOBAL,
        conflicts_with = "database"
    )]
    data: Option<PathBuf>,
    /// PostgreSQL database of the stored debates, instead of a folder
    #[arg(long, global = true, value_name = "URL", help_heading = GLOBAL)]
    database: Option<String>,
    /// When to use colours: `auto` for terminals without `NO_COLOR`
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = GLOBAL)]
    color: output::Color,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Answer a question, after a skeptic has attacked the answer
    Ask(Box<ask::Args>),
    /// Debate a question with a panel of 3 to 8 seats that vote
    Debate(Box<debate::Args>),
    /// Have several models answer blind and rank each other
    Panel(Box<panel::Args>),
    /// Forecast the probability of every outcome with five roles
    Forecast(Box<forecast::Args>),
    /// Score a text with expert councils, or rank several texts
    Judge(Box<judge::Args>),
    /// Resume an unfinished debate
    Resume(resume::Args),
    /// List debates, newest first
    List(list::Args),
    /// Show a debate: the verdict, the rounds or the full record
    Show(show::Args),
    /// Export debates as JSON, YAML, Markdown, HTML or training data
    Export(export::Args),
    /// Print the record of an enhanced debate as YAML
    Record(record::Args),
    /// Rate an answer from 1 to 10
    Rate(rate::Args),
    /// Record the outcome of a forecast, so that it can be scored
    #[command(alias = "outcome")]
    Resolve(resolve::Args),
    /// Import questions, list what is due, record outcomes, export
    Questions(questions::Args),
    /// Show how accurate past forecasts were
    Calibration(calibration::Args),
    /// Combine recorded forecasts, learning whom to follow
    Pool(pool::Args),
    /// Simulate what more seats, families and rounds would bring
    Simulate(Box<simulate::Args>),
    /// Compare debates with single calls, on questions with answers
    Bench(Box<bench::Args>),
    /// Compare casts or models on your own questions by blind preference
    Arena(arena::Args),
    /// Combine the probabilities of several forecasting engines
    Ensemble(ensemble::Args),
    /// Show how many of the last 50 debates used what was estimated
    Estimates(estimates::Args),
    /// Log what happened after a decision
    Track(Box<track::Args>),
    /// Assess how a decision turned out, and learn from it
    PostMortem(post_mortem::Args),
    /// Show, undo, export or import lessons of post-mortems
    Learning(learning::Args),
    /// Delete debates
    Rm(rm::Args),
    /// Back up all debates to one file, also while they are in use
    Backup(backup::Args),
    /// Maintain the store: migrate, check, copy, prune
    Db(db::Args),
    /// List, search and add reasoning templates
    Templates(templates::Args),
    /// List, show and create debate modes
    Modes(modes::Args),
    /// List, show and create casts: who takes part
    Casts(casts::Args),
    /// List, show and create presets: debates that have a name
    Presets(presets::Args),
    /// List and print prompts: what the models are told
    Prompts(prompts::Args),
    /// List available models, and which ones would be used
    Models(models::Args),
    /// Download the embedded model and embedder
    Pull(pull::Args),
    /// Show or change the configuration
    Config(config::Args),
    /// Set up: find models, choose one and test it
    Init(init::Args),
    /// Check the setup, with a small call to each model
    Doctor(doctor::Args),
    /// Serve debates over HTTP: API, live events and pages
    Serve(serve::Args),
    /// Serve agents over the Model Context Protocol
    Mcp(mcp::Args),
    /// Run the debates of servers that share a database
    Worker(worker::Args),
    /// Manage service tokens for the server
    Token(token::Args),
    /// Show the audit log: who did what, when, and from where
    Audit(audit::Args),
    /// Print the JSON schema of a record that `--json` prints
    Schema(schema::Args),
    /// Check for a newer release; nothing is downloaded
    Update(update::Args),
    /// Print a shell completion script
    Completions(completions::Args),
    /// The process that parses a PDF source
    #[command(name = pdf::SUBCOMMAND, hide = true)]
    ReadPdf,
}

pub(crate) fn main() -> ExitCode {
    let given = usage::with_default_command(std::env::args_os().collect());
    // Like everything else, at most as wide as is comfortable to read.
    let command = Cli::command().term_width(output::width().min(100));
    let command = help::with_groups(command, &given);
    let parsed = command.try_get_matches_from(given).and_then(|matches| {
        let (_, command) = matches.subcommand().unzip();
        let quiet = command.and_then(|command| command.try_get_one::<bool>("quiet").ok()?);
        let is_quiet = quiet.copied().unwrap_or_default();
        Ok((Cli::from_arg_matches(&matches)?, is_quiet))
    });
    let (cli, is_quiet) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return usage::report(&error),
    };
    cli.color.apply();
    if matches!(cli.command, Command::ReadPdf) {
        return match pdf::answer_on_stdout() {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    let runtime = match runtime(&cli.command).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            return report(&Failure::other(format!(
                "cannot start the async runtime: {error}"
            )));
        }
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "the future of `block_on` is polled after every I/O event, a spawned task only when it is woken"
    )]
    let code = match runtime.block_on(async { tokio::spawn(run(cli, is_quiet)).await }) {
        Ok(Ok(code)) => match output::write_failure() {
            None => code,
            Some(failure) => report(&failure),
        },
        Ok(Err(failure)) => report(&failure),
        Err(error) => report(&Failure::other(format!("internal error: {error}"))),
    };
    runtime.block_on(crate::models::end_programs());
    // An abandoned download or model call must not delay the exit.
    runtime.shutdown_background();
    code
}

/// For a command one thread is enough: it waits for models, and the embedded model has threads of its own. A set of questions has many
/// debates at once. In a server, the work for one request must not hold up all others: even on one core it has two threads. More than four would only cost memory.
fn runtime(command: &Command) -> Builder {
    let runs_many = match command {
        Command::Forecast(args) => args.is_of_set(),
        Command::Serve(_) | Command::Worker(_) => true,
        _ => false,
    };
    if !runs_many {
        return Builder::new_current_thread();
    }
    let cores = std::thread::available_parallelism().map_or(2, NonZero::get);
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(cores.clamp(2, 4));
    builder
}

/// A file found in the working folder may be unexpected there, so it is named. Its untrusted parts are always reported.
fn name_file_in_use(app: &AppContext, is_quiet: bool) {
    if let Some(note) = app.config.untrusted_note() {
        let warning = output::painted(output::WARN, "warning:");
        output::note(&format!("{warning} {note}"));
    } else if let Some(path) = &app.config.source
        && app.config.is_from_working_dir
        && !is_quiet
    {
        output::note(&format!(
            "Configuration: {} of the working folder",
            path.display()
        ));
    }
}

fn report(failure: &Failure) -> ExitCode {
    output::error(failure.message());
    failure.code().into()
}

async fn run(cli: Cli, is_quiet: bool) -> Result<ExitCode, Failure> {
    // Independent of the configuration, so they work even if it is invalid.
    if let Command::Completions(args) = &cli.command {
        return completions::run(args);
    }
    if let Command::Schema(args) = &cli.command {
        return schema::run(args);
    }
    if let Command::Pool(args) = &cli.command
        && let Some(done) = pool::run_with_file(args)
    {
        return done;
    }
    if let Command::Bench(args) = &cli.command
        && let Some(done) = bench::run_records(args)
    {
        return done;
    }
    if let Command::Config(args) = &cli.command
        && let Some(done) = config::run_without_file(cli.config.as_deref(), args)
    {
        return done;
    }
    let given = match (cli.database, cli.data) {
        (Some(url), _) if Address::is_server(&url) => Some(Address::parse(&url)),
        (Some(_), _) => {
            return Err(Failure::usage(
                "invalid --database: expected a URL such as postgres://user@host/database. Pass a folder with --data",
            ));
        }
        (None, Some(folder)) => Some(Address::Folder(folder)),
        (None, None) => None,
    };
    let app = AppContext::open(cli.config.as_deref(), given)?;
    if let Some(warning) = app.store_warning() {
        output::note(&format!("warning: {warning}"));
    }
    name_file_in_use(&app, is_quiet);
    match cli.command {
        Command::Ask(args) => ask::run(&app, *args).await,
        Command::Debate(args) => debate::run(&app, *args).await,
        Command::Panel(args) => Box::pin(panel::run(&app, *args)).await,
        Command::Forecast(args) => Box::pin(forecast::run(&app, *args)).await,
        Command::Resolve(args) => resolve::run(&app, args).await,
        Command::Questions(args) => questions::run(&app, args).await,
        Command::Calibration(args) => calibration::run(&app, args).await,
        Command::Bench(args) => Box::pin(bench::run(&app, *args)).await,
        Command::Arena(args) => Box::pin(arena::run(&app, args)).await,
        Command::Ensemble(args) => ensemble::run(&app, args).await,
        Command::Estimates(args) => estimates::run(&app, args).await,
        Command::Record(args) => record::run(&app, args).await,
        Command::Judge(args) => Box::pin(judge::run(&app, *args)).await,
        Command::Resume(args) => Box::pin(resume::run(&app, args)).await,
        Command::List(args) => list::run(&app, args).await,
        Command::Show(args) => show::run(&app, args).await,
        Command::Simulate(args) => simulate::run(&app, &args),
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
        Command::Presets(args) => presets::run(&app, &args),
        Command::Casts(args) => casts::run(&app, &args),
        Command::Prompts(args) => prompts::run(&app, &args),
        Command::Models(args) => models::run(&app, args).await,
        Command::Pull(args) => pull::run(&app, args).await,
        Command::Config(args) => config::run(&app, args),
        Command::Init(args) => Box::pin(init::run(&app, args, cli.config.as_deref())).await,
        Command::Doctor(args) => doctor::run(&app, args).await,
        Command::Serve(args) => serve::run(app, args).await,
        Command::Mcp(args) => mcp::run(app, args).await,
        Command::Worker(args) => worker::run(app, args).await,
        Command::Token(args) => token::run(&app, args).await,
        Command::Audit(args) => audit::run(&app, args).await,
        Command::Update(args) => update::run(&app, args).await,
        Command::Pool(args) => pool::run(&app, &args).await,
        Command::Schema(args) => schema::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::ReadPdf => Ok(ExitCode::SUCCESS),
    }
}
