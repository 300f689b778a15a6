//! `roundtable forecast`: five roles argue about what will happen.

mod set;
mod update;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use roundtable_engine::cast::CastChoice;
use roundtable_engine::protocol::Protocol;
use roundtable_engine::protocols::Forecast;
use roundtable_engine::protocols::forecast::{Edge, Input, Scale};
use serde_json::Value;

use super::args::{DebateArgs, price};
use super::casts;
use super::input::{read_file, read_stdin, read_text};
use super::run::start;
use crate::app_context::AppContext;
use crate::failure::Failure;
use crate::setup::DebateSpec;
use set::SetArgs;

/// Forecast the probability of every outcome with five roles
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable forecast \"Who wins the cup?\" --outcome Arsenal --outcome Chelsea\n  roundtable forecast --request request.json --json > result.json\n  roundtable forecast bill.md --outcome Yes --outcome No --resolves 2027-05-20\n  roundtable forecast \"Inflation in 2027?\" --bins 0,1,2,3 --unit %\n  roundtable forecast --set november --concurrency 20 --max-cost 20\n  roundtable forecast --update last --context news.md\n\nOnce the outcome is known: roundtable resolve ID OUTCOME. To score past forecasts: roundtable calibration."
)]
pub(crate) struct Args {
    /// The question, a file that contains it, or - for standard input
    #[arg(required_unless_present_any = ["request", "set", "update"])]
    question: Option<String>,
    /// An outcome, exactly one of which will happen; give at least two
    #[arg(long = "outcome", value_name = "TEXT", conflicts_with = "request")]
    outcomes: Vec<String>,
    /// Forecast request (`DebateRequest`) as JSON: a file, or - for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "question")]
    request: Option<String>,
    /// A number or date is asked for: the edges of its bins, separated by commas. Values beyond the ends have bins of their own
    #[arg(long, value_name = "EDGES", value_delimiter = ',', allow_hyphen_values = true, conflicts_with_all = ["outcomes", "request"])]
    bins: Vec<String>,
    /// The unit of the number, such as %
    #[arg(long, value_name = "TEXT", requires = "bins")]
    unit: Option<String>,
    /// The probability that a market or a crowd gives to an outcome, once for each or for the first of two. The roles do not see it
    #[arg(long, value_name = "PROBABILITY", value_parser = share, allow_negative_numbers = true)]
    crowd: Vec<f64>,
    /// Forecast the question of this earlier forecast again; --context is the new evidence
    #[arg(long, value_name = "ID|last", conflicts_with_all = ["question", "request", "outcomes", "bins"])]
    update: Option<String>,
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
    /// The cast: who takes part [default: forecast; with --update the seats of the earlier forecast]
    #[arg(long, value_name = "NAME")]
    cast: Option<String>,
    #[command(flatten)]
    sets: SetArgs,
    #[command(flatten)]
    debate: DebateArgs,
}

impl Args {
    pub(crate) fn is_of_set(&self) -> bool {
        self.sets.set.is_some()
    }
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
    let scale = scale(&args.bins, args.unit)?;
    let has_outcomes = request.is_none() && scale.is_none() && args.update.is_none();
    let input = Input {
        outcomes: has_outcomes.then(|| texts(args.outcomes)),
        scale,
        crowd: (!args.crowd.is_empty()).then_some(args.crowd),
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
    let cast = args.cast.as_deref().map(casts::choice).transpose()?;
    if let Some(id) = &args.update {
        let updated = Box::pin(update::run(app, id, (input, cast), &args.debate)).await;
        return updated.map_err(|failure| failure.naming_flags(flag));
    }
    let cast = cast.unwrap_or_else(|| Forecast::CAST.into());
    if let Some(name) = &args.sets.set {
        let change = |spec: DebateSpec| of_set(spec, &input, &cast);
        return Box::pin(set::run(app, name, (&args.sets, args.debate), &change)).await;
    }
    let spec = DebateSpec {
        cast: Some(cast),
        ..DebateSpec::new(&Forecast, question, &input)
    };
    let started = start(app, spec, &args.debate).await;
    started.map_err(|failure| failure.naming_flags(flag))
}

/// The request of a question of a set, with the options of the command line.
fn of_set(spec: DebateSpec, given: &Input, cast: &CastChoice) -> Result<DebateSpec, Failure> {
    let own: Input = serde_json::from_value(spec.input.clone())
        .map_err(|error| Failure::other(format!("cannot read the question: {error}")))?;
    let input = Input {
        rounds: given.rounds,
        roles: given.roles.clone(),
        judge_weight: given.judge_weight,
        stop_by_value: given.stop_by_value,
        domain: given.domain.clone().or(own.domain),
        ..own
    };
    Ok(DebateSpec {
        cast: Some(cast.clone()),
        ..DebateSpec::new(&Forecast, spec.question, &input)
    })
}

fn scale(edges: &[String], unit: Option<String>) -> Result<Option<Scale>, Failure> {
    if edges.is_empty() {
        return Ok(None);
    }
    let edges = edges.iter().map(|text| {
        Edge::parse(text).ok_or_else(|| {
            Failure::usage(format!(
                "invalid --bins '{text}': expected numbers, or dates such as 2027-06-30"
            ))
        })
    });
    Ok(Some(Scale {
        edges: edges.collect::<Result<_, _>>()?,
        unit,
        open_below: true,
        open_above: true,
    }))
}

/// A probability, also in percent.
fn share(text: &str) -> Result<f64, &'static str> {
    let (number, by) = match text.trim().strip_suffix('%') {
        Some(percent) => (percent, 100.0),
        None => (text, 1.0),
    };
    let number = number.trim().parse().ok();
    number
        .filter(|share: &f64| share.is_finite() && *share >= 0.0)
        .map(|share| share / by)
        .ok_or("expected a probability such as 0.3 or 30%")
}

fn flag(field: &str) -> Option<&'static str> {
    Some(match field {
        "outcomes" => "--outcome",
        "scale" => "--bins",
        "crowd" => "--crowd",
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
