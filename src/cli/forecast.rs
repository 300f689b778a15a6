//! `roundtable forecast`: five roles argue about what will happen.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use roundtable_engine::protocols::Forecast;
use roundtable_engine::protocols::forecast::Input;
use serde_json::Value;

use super::args::{DebateArgs, price};
use super::casts;
use super::input::{read_file, read_stdin, read_text};
use super::run::start;
use crate::app_context::AppContext;
use crate::failure::Failure;
use crate::setup::DebateSpec;

/// Forecast the probability of every outcome with five roles
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable forecast \"Who wins the cup?\" --outcome \"Arsenal\" --outcome \"Chelsea\" --outcome \"Another\" --resolves 2027-05-20\n  roundtable forecast --request request.json --json > result.json\n  roundtable forecast \"Does the bill pass by July?\" --outcome Yes --outcome No --context notes.md --domain politics\n\nOnce the outcome is known: roundtable resolve ID OUTCOME. To score past forecasts: roundtable calibration."
)]
pub(crate) struct Args {
    /// The question, a file that contains it, or - for standard input
    #[arg(required_unless_present = "request")]
    question: Option<String>,
    /// An outcome, exactly one of which will happen; give at least two
    #[arg(long = "outcome", value_name = "TEXT", conflicts_with = "request")]
    outcomes: Vec<String>,
    /// Forecast request (`DebateRequest`) as JSON: a file, or - for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "question")]
    request: Option<String>,
    /// How often such things have happened, for every role to read; can be repeated
    #[arg(long = "base-rate", value_name = "TEXT")]
    base_rates: Vec<String>,
    /// A file with notes that every role reads
    #[arg(long, value_name = "FILE")]
    context: Option<PathBuf>,
    /// Number of rounds: opening, rebuttals, closing
    #[arg(long, value_name = "NUMBER")]
    rounds: Option<u32>,
    /// Weight of the judge against the mean of all roles, from 0 to 1
    #[arg(long, value_name = "WEIGHT", value_parser = weight, allow_negative_numbers = true)]
    judge_weight: Option<f64>,
    /// Use only this role; can be repeated
    #[arg(long = "role", value_name = "NAME")]
    roles: Vec<String>,
    /// The field of the question, such as economy; roles earn weights per domain
    #[arg(long, value_name = "NAME")]
    domain: Option<String>,
    /// The day after which the outcome is known, such as 2027-06-30
    #[arg(long, value_name = "DATE")]
    resolves: Option<String>,
    /// Stop when another round costs more than this per expected change of the answer, in US dollars
    #[arg(long, value_name = "PRICE", value_parser = price, allow_negative_numbers = true)]
    stop_by_value: Option<f64>,
    /// The cast: who takes part
    #[arg(long, default_value = "forecast", value_name = "NAME")]
    cast: String,
    #[command(flatten)]
    debate: DebateArgs,
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let question = match &args.question {
        Some(given) => read_text(given, "forecast")?,
        None => String::new(),
    };
    check_distinct(&args.outcomes)?;
    let texts = |texts: Vec<String>| texts.into_iter().map(Value::from).collect::<Vec<_>>();
    let request = args.request.as_deref().map(read_request).transpose()?;
    let context = args.context.as_deref().map(read_file).transpose()?;
    let input = Input {
        outcomes: request.is_none().then(|| texts(args.outcomes)),
        request,
        rounds: args.rounds,
        roles: (!args.roles.is_empty()).then(|| texts(args.roles)),
        judge_weight: args.judge_weight,
        stop_by_value: args.stop_by_value,
        base_rates: (!args.base_rates.is_empty()).then_some(args.base_rates),
        domain: args.domain,
        resolves: args.resolves,
        context: context.map(|text| text.trim().to_owned()),
        ..Input::default()
    };
    let spec = DebateSpec {
        cast: Some(casts::choice(&args.cast)?),
        ..DebateSpec::new(&Forecast, question, &input)
    };
    let started = start(app, spec, &args.debate).await;
    started.map_err(|failure| failure.naming_flags(flag))
}

fn flag(field: &str) -> Option<&'static str> {
    Some(match field {
        "outcomes" => "--outcome",
        "rounds" => "--rounds",
        "roles" => "--role",
        "judge_weight" => "--judge-weight",
        "base_rates" => "--base-rate",
        "domain" => "--domain",
        "resolves" => "--resolves",
        _ => return None,
    })
}

/// JSON has no NaN, so the request could not contain it.
fn weight(text: &str) -> Result<f64, &'static str> {
    let number = text.parse().ok();
    number
        .filter(|weight| (0.0..=1.0).contains(weight))
        .ok_or("expected a number from 0 to 1")
}

fn check_distinct(outcomes: &[String]) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    match outcomes
        .iter()
        .find(|outcome| !seen.insert(outcome.trim().to_lowercase()))
    {
        Some(outcome) => Err(Failure::usage(format!(
            "invalid --outcome '{outcome}': given twice; the outcomes must differ"
        ))),
        None => Ok(()),
    }
}

fn read_request(given: &str) -> Result<Value, Failure> {
    let text = if given == "-" {
        read_stdin()?
    } else {
        read_file(Path::new(given))?
    };
    serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format!("invalid --request: not JSON: {error}")))
}
