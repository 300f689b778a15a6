//! `roundtable questions`: sets of questions, what is due, outcomes in bulk, and files for others.

mod due;
mod history;
mod resolve;
mod sets;
pub(in crate::cli) mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;

use crate::app_context::AppContext;
use crate::failure::Failure;
use crate::questions::{import, submission};

/// Import questions, list what is due, record outcomes, and export forecasts
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable questions import 2026-11-01-llm.json --set november\n  roundtable forecast --set november --max-cost 20\n  roundtable questions list --set november\n  roundtable questions due --within 7 --older-than 30 --json\n  roundtable questions resolve outcomes.csv"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Import the questions of a file into a set
    #[command(
        after_help = "Examples:\n  roundtable questions import questions.csv --set mine\n  roundtable questions import 2026-11-01-llm.json --set november\n  curl -s https://api.manifold.markets/v0/markets > markets.json\n  roundtable questions import markets.json --set manifold\n\nCSV columns: question; optional: id, background, criteria, url, resolves (2027-06-30), outcomes (a|b|c), edges (0|1|2 or dates; ! at an end: nothing beyond it), unit, crowd (0.3, 30%, 0.3|0.5|0.2, or quantiles 5%:1|50%:2|95%:4), domain, base_rate, condition (makes two questions: given that it happens, and that it does not). Without outcomes and edges: yes or no.\n\nJSON: a question set of ForecastBench, or what the APIs of Metaculus, Manifold and Polymarket (Gamma) return.\n\nNothing is imported if an item is wrong. Importing a file again changes nothing."
    )]
    Import {
        /// The file; `-` is standard input
        file: PathBuf,
        /// The name of the set; otherwise that of the file
        #[arg(long, value_name = "NAME")]
        set: Option<String>,
        /// The format, if the content does not show it
        #[arg(long, value_name = "FORMAT")]
        format: Option<import::Format>,
        /// Leave out items with faults instead of refusing the file
        #[arg(long)]
        skip_invalid: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the sets, or the questions of one with their forecasts next to the crowd's
    #[command(
        after_help = "Examples:\n  roundtable questions list\n  roundtable questions list --set november --json"
    )]
    List {
        /// The set
        #[arg(long, value_name = "NAME")]
        set: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a set; its forecasts stay
    #[command(after_help = "Example:\n  roundtable questions remove november")]
    Remove {
        /// The set
        set: String,
    },
    /// Write the newest forecasts of a set as a file for others
    #[command(
        after_help = "Examples:\n  roundtable questions export --set november --format forecastbench -o file.json\n  roundtable questions export --set mine --format csv --from pool"
    )]
    Export {
        /// The set
        #[arg(long, value_name = "NAME")]
        set: String,
        /// The format
        #[arg(long, value_name = "FORMAT", default_value = "csv")]
        format: submission::Format,
        /// Which probabilities
        #[arg(long = "from", value_name = "SOURCE", default_value = "debate")]
        source: submission::Source,
        /// Your organization, as a submission names it
        #[arg(long, value_name = "NAME", default_value = "unknown")]
        organization: String,
        /// Your forecaster, as a submission names it
        #[arg(long, value_name = "NAME", default_value = "roundtable")]
        model: String,
        /// Write to this file instead of standard output
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Show how the forecasts of a question changed
    #[command(
        after_help = "Examples:\n  roundtable questions history last\n  roundtable questions history 3f2a --html history.html\n\nForecasts are made again with: roundtable forecast --update ID --context news.md"
    )]
    History {
        /// A forecast of the question: its id, a prefix of it, or `last`
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Write a self-contained HTML page to this file
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
    },
    /// List forecasts whose deadline has passed without an outcome, and those to make again
    #[command(
        after_help = "Example, for cron:\n  roundtable questions due || mail -s \"Forecasts are due\" me\n\nExit code: 0 if nothing is due, 3 if something is."
    )]
    Due {
        /// Also those whose deadline is at most this many days ahead
        #[arg(long, value_name = "DAYS", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=3650))]
        within: u16,
        /// Also open questions whose newest forecast is older than this many days, to forecast them again
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u16).range(1..=3650))]
        older_than: Option<u16>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Record the outcomes of a file
    #[command(
        after_help = "Examples:\n  roundtable questions resolve outcomes.csv\n  roundtable questions resolve 2026-11-01_resolution_set.json\n\nCSV columns: question, outcome; optional: by. The question is the id of a forecast, or the task_id of its request (the id of the question in its set); then all forecasts with it are resolved. The outcome is an id, a label, or a number or date. JSON: a resolution set of ForecastBench, or what the APIs of Metaculus, Manifold and Polymarket return. Nothing is recorded if a row is wrong."
    )]
    Resolve {
        /// The file; `-` is standard input
        file: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let store = app.store().await?;
    let done = match args.command {
        Command::Import {
            file,
            set,
            format,
            skip_invalid,
            json,
        } => {
            let wanted = sets::Wanted {
                set,
                format,
                skip_invalid,
                json,
            };
            sets::import(&store, &file, wanted).await
        }
        Command::List { set: None, json } => sets::list(&store, json).await,
        Command::List {
            set: Some(set),
            json,
        } => table::show(&store, &set, None, json)
            .await
            .map(|()| ExitCode::SUCCESS),
        Command::Remove { set } => sets::remove(&store, &set).await,
        Command::Export {
            set,
            format,
            source,
            organization,
            model,
            output,
        } => {
            let names = (organization.as_str(), model.as_str());
            sets::export(&store, &set, (format, source), names, output.as_deref()).await
        }
        Command::History { id, json, html } => {
            history::show(&store, &id, json, html.as_deref()).await
        }
        Command::Due {
            within,
            older_than,
            json,
        } => {
            let known = due::known(&store).await?;
            due::show(&due::due(&known, due::today(), within, older_than), json)
        }
        Command::Resolve { file, json } => resolve::resolve_all(app, &store, &file, json).await,
    };
    store.close().await;
    done
}
