//! `roundtable bench`: whether debates help, measured (B-01).

mod compare;
mod inputs;
mod list;
mod manifest;
mod run;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Subcommand, ValueEnum};
use roundtable_core::bench::{Record, Ties};
use roundtable_core::hex;
use roundtable_engine::data::read_regular;
use roundtable_engine::report::Report;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::args::ModelArgs;
use super::display::summary;
use super::{input, output};
use crate::app_context::AppContext;
use crate::bench::recorded_answers::{self, Layout};
use crate::bench::{self, BenchReport};
use crate::export;
use crate::failure::Failure;

/// Compare debates with single calls, on questions with answers
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:\n  roundtable bench q.jsonl --arms one,consistency,panel --limit 50 --max-cost 5\n  roundtable bench q.csv --arms one,debate-delphi@quick --format html -o q.html\n  roundtable bench --records answers.csv.gz --baseline \"best seat\"\n  roundtable bench --records votes.csv --wide --column correct=key --best 5\n  roundtable bench open.csv --arms one,panel --judge openai:gpt-5 --graded g.csv\n  roundtable bench compare before.json after.json\n\nArms: one (one call), long (one long call), consistency (the vote of as many calls as each debate costs), models (the vote of --models), noise (every debate again, with blind answers to another question), and any debate or preset, such as ask, panel, debate-delphi or panel@quick. Each debate also gives its blind first round and its best seat.\n\nQuestions: CSV or JSON lines with question and answer; optional: options, id, domain, cluster, tolerance. Open questions have a rubric instead of an answer and need --judge. The files of MMLU-Pro, GSM8K, MMLU and TruthfulQA are read as they are, and question sets of ForecastBench with --resolutions. A bench that is run again continues where it stopped.\n\nRecorded answers (CSV or JSON lines, also with gzip): question, agent, correct, and answer or probability; optional: round, tokens, cost, seconds, family, domain, cluster. Without answers, a probability is that of the outcome 1."
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    /// Questions with answers
    #[arg(required_unless_present = "records", conflicts_with = "records")]
    file: Option<PathBuf>,
    /// The arms that answer, separated by commas: one, long, consistency, models, noise, and debates or presets as NAME, NAME+CAST or NAME@DEPTH
    #[arg(
        long,
        value_name = "ARMS",
        value_delimiter = ',',
        default_value = "one,consistency,panel"
    )]
    arms: Vec<String>,
    /// The outcomes of a question set of ForecastBench: its resolution set
    #[arg(long, value_name = "FILE", requires = "file")]
    resolutions: Option<PathBuf>,
    /// The judge of open questions, as provider:model; no arm may use it or a model of its family
    #[arg(long, value_name = "MODEL", requires = "file")]
    judge: Option<String>,
    /// Answers that a person has graded, to check the judge: question, answer and grade from 0 to 1
    #[arg(long, value_name = "FILE", requires = "judge")]
    graded: Option<PathBuf>,
    /// The models of the arm `models`, as provider:model, separated by commas
    #[arg(long, value_name = "MODELS", value_delimiter = ',')]
    models: Vec<String>,
    #[command(flatten)]
    seats_and_models: ModelArgs,
    /// Only the first questions
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Only one part of the questions: 2/8 is the second of eight parts
    #[arg(long, value_name = "PART/PARTS")]
    shard: Option<String>,
    /// Stop when the whole bench has cost this many US dollars
    #[arg(long, value_name = "DOLLARS", allow_negative_numbers = true)]
    max_cost: Option<String>,
    /// Debates and calls that run at the same time
    #[arg(long, value_name = "NUMBER", default_value = "4", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
    /// Seed of the random numbers; the same seed sends the same requests
    #[arg(long, value_name = "NUMBER", default_value = "1", value_parser = clap::value_parser!(u64).range(..=0xffff_ffff))]
    seed: u64,
    /// Folder of the bench's debates; by default a folder for this file next to the stored debates
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Use what is finished in this folder of the same bench, such as a shard of another machine; can be repeated
    #[arg(long, value_name = "FOLDER")]
    also: Vec<PathBuf>,
    /// Let the workers of the PostgreSQL database run the debates, which are then in that database; needs --folder
    #[arg(long, requires = "file")]
    on_workers: bool,
    /// Print what one question will use, and stop
    #[arg(long)]
    estimate: bool,
    /// Send text to providers even if it contains likely secrets, such as keys and tokens
    #[arg(long)]
    allow_secrets: bool,
    /// Print no progress
    #[arg(long, short)]
    quiet: bool,
    /// Recorded answers with the right ones instead of questions; - is standard input
    #[arg(long, value_name = "FILE", help_heading = RECORDS)]
    records: Option<PathBuf>,
    /// The meaning of a column: NAME=COLUMN; A+B joins columns, A,B are rounds 1 and 2; ignore=COLUMN. Can be repeated
    #[arg(long = "column", value_name = "NAME=COLUMN", requires = "records", help_heading = RECORDS)]
    columns: Vec<String>,
    /// Read only rows with this value, in which * stands for any text; can be repeated
    #[arg(long = "where", value_name = "COLUMN=VALUE", requires = "records", help_heading = RECORDS)]
    filters: Vec<String>,
    /// One row per question: every column without a meaning holds the answers of a seat
    #[arg(long, requires = "records", help_heading = RECORDS)]
    wide: bool,
    /// Only these seats, separated by commas; the first one wins ties under --ties first
    #[arg(long, value_name = "SEATS", value_delimiter = ',', conflicts_with = "best", requires = "records", help_heading = RECORDS)]
    only: Vec<String>,
    /// Only the most accurate seats
    #[arg(long, value_name = "NUMBER", requires = "records", help_heading = RECORDS, value_parser = clap::value_parser!(u16).range(1..))]
    best: Option<u16>,
    /// Score of a tie in a vote
    #[arg(long, value_name = "RULE", default_value = "shared", help_heading = RECORDS)]
    ties: TieRule,
    /// The arm that all others are compared with; by default the first
    #[arg(long, value_name = "ARM")]
    baseline: Option<String>,
    /// Print JSON
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// The form of the result
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Compare two benches on the same questions, arm by arm
    Compare(compare::Args),
    /// List finished benches, newest first
    List(list::Args),
}

/// The heading of the options for recorded answers.
const RECORDS: &str = "Record options";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TieRule {
    /// Tied answers share the credit
    Shared,
    /// The answer of the first seat wins
    First,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Tables for the terminal
    Text,
    /// Markdown
    Md,
    /// One row per arm
    Csv,
    /// One self-contained file
    Html,
    /// Everything, for programs
    Json,
}

/// The title of documents.
const TITLE: &str = "Bench";

/// Far more than any published record.
const MAX_BYTES: u64 = 500_000_000;

/// Recorded answers need neither a configuration nor a store. `None` for a file of questions.
pub(crate) fn run_records(args: &Args) -> Option<Result<ExitCode, Failure>> {
    let records = args.records.as_deref()?;
    let done = of_records(args, records).and_then(|bench| {
        args.write(&bench)?;
        Ok(ExitCode::SUCCESS)
    });
    Some(done)
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    match (&args.action, &args.file) {
        (Some(Action::Compare(args)), _) => compare::run(app, args),
        (Some(Action::List(args)), _) => list::run(app, args),
        (None, Some(file)) => Box::pin(run::questions(app, &args, file)).await,
        (None, None) => Err(Failure::usage(
            "name a file of questions, or --records FILE",
        )),
    }
}

impl Args {
    fn write(&self, bench: &BenchReport) -> Result<(), Failure> {
        let format = if self.json { Format::Json } else { self.format };
        write(bench, format, self.output.as_deref())
    }
}

/// The text of a file, decompressed, with the hash of its bytes; `-` is standard input.
pub(super) fn read(path: &Path) -> Result<(String, String), Failure> {
    let name = path.display().to_string();
    let bytes = if path == Path::new("-") {
        input::stdin_bytes()?
    } else {
        read_regular(path, MAX_BYTES)
            .map_err(|error| Failure::usage(format!("cannot read {name}: {error}")))?
    };
    let hash = hex::encode(Sha256::digest(&bytes));
    Ok((recorded_answers::text_of(bytes, &name)?, hash))
}

fn of_records(args: &Args, path: &Path) -> Result<BenchReport, Failure> {
    let name = path.display().to_string();
    let (text, hash) = read(path)?;
    let layout = Layout {
        columns: args.columns.clone(),
        filters: args.filters.clone(),
        is_wide: args.wide,
    };
    let record = recorded_answers::parse(&text, &layout)
        .map_err(|failure| Failure::usage(format!("{name}: {}", failure.message())))?;
    let record = chosen(record, args)?;
    let ties = match args.ties {
        TieRule::Shared => Ties::Shared,
        TieRule::First => Ties::First,
    };
    let mut bench = BenchReport::of_record(&record, (&name, hash), ties, args.baseline.as_deref())?;
    if args.best.is_some() {
        bench.notes.push(
            "--best chose the seats on these same questions, which flatters them a little.".into(),
        );
    }
    Ok(bench)
}

/// The record with the seats that were asked for.
fn chosen(record: Record, args: &Args) -> Result<Record, Failure> {
    if let Some(count) = args.best {
        return Ok(record.with_seats(&record.best_seats(usize::from(count))));
    }
    if args.only.is_empty() {
        return Ok(record);
    }
    let place = |name: &String| {
        let found = record.seats.iter().position(|seat| seat.name == *name);
        found.ok_or_else(|| format!("'{name}'"))
    };
    let (found, unknown): (Vec<_>, Vec<_>) = args.only.iter().map(place).partition(Result::is_ok);
    if !unknown.is_empty() {
        let unknown: Vec<String> = unknown.into_iter().filter_map(Result::err).collect();
        let known: Vec<&str> = record.seats.iter().map(|seat| seat.name.as_str()).collect();
        return Err(Failure::usage(format!(
            "invalid --only: no seat {}; the file has {}",
            unknown.join(", "),
            known.join(", ")
        )));
    }
    let kept: Vec<usize> = found.into_iter().filter_map(Result::ok).collect();
    Ok(record.with_seats(&kept))
}

fn write(bench: &BenchReport, format: Format, file: Option<&Path>) -> Result<(), Failure> {
    let document = Document {
        title: TITLE,
        report: bench::report(bench),
    };
    document.write(format, file, bench, || bench::csv(bench))
}

/// A report in any of the forms.
struct Document {
    title: &'static str,
    report: Report,
}

impl Document {
    fn write(
        &self,
        format: Format,
        file: Option<&Path>,
        record: &impl Serialize,
        csv: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        let text = match format {
            Format::Text if file.is_none() => {
                summary::print_report(&self.report);
                return Ok(());
            }
            Format::Text | Format::Md => export::report_markdown(self.title, &self.report),
            Format::Csv => csv(),
            Format::Html => export::report_html(self.title, &self.report),
            Format::Json => output::json_text(record)?,
        };
        output::write_to(file, &text)
    }
}
