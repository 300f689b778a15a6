//! `roundtable forecast`: five roles argue about what will happen.

use std::path::PathBuf;
use std::process::ExitCode;

use roundtable_engine::protocols::Protocol;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::setup::{self, DebateSpec};
use crate::{clock, forecast_history};

use super::ask::{Choice, Limits, progress_sink, read_text};
use super::display::Manner;
use super::run::{self, Debate};
use crate::app_context::AppContext;
use crate::failure::Failure;

/// Have five roles argue about what will happen, and get a probability for every outcome.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable forecast \"Who wins the cup?\" --outcome \"Arsenal\" --outcome \"Chelsea\" --outcome \"Another\" --resolves 2027-05-20\n  roundtable forecast --request request.json --json > result.json\n  roundtable forecast \"Does the bill pass by July?\" --outcome Yes --outcome No --context notes.md --domain politics\n\nWhen it is known what happened: roundtable resolve ID OUTCOME. How good the forecasts were: roundtable calibration."
)]
pub(crate) struct Args {
    /// The question, a file that holds it, or - for standard input.
    #[arg(required_unless_present = "request")]
    question: Option<String>,
    /// One of the outcomes, exactly one of which will happen; give it at least twice.
    #[arg(long = "outcome", value_name = "TEXT", conflicts_with = "request")]
    outcomes: Vec<String>,
    /// A whole `DebateRequest` as JSON: a file, or - for standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "question")]
    request: Option<String>,
    /// A file with what you know; every role reads it.
    #[arg(long, value_name = "FILE")]
    context: Option<PathBuf>,
    /// How many rounds: the first opens, the last closes, those between rebut.
    #[arg(long, value_name = "NUMBER")]
    rounds: Option<u32>,
    /// What the judge counts against the mean of all roles, from 0 to 1.
    #[arg(long, value_name = "WEIGHT")]
    judge_weight: Option<f64>,
    /// Only this role; may be given several times.
    #[arg(long = "role", value_name = "NAME")]
    roles: Vec<String>,
    /// The field of the question, such as economy; the roles earn their weights in each.
    #[arg(long, value_name = "NAME")]
    domain: Option<String>,
    /// The day after which it is known what happened, such as 2027-06-30.
    #[arg(long, value_name = "DATE")]
    resolves: Option<String>,
    #[command(flatten)]
    choice: Choice,
    /// The cast: which roles there are.
    #[arg(long, default_value = "forecast", value_name = "NAME")]
    cast: String,
    /// Draw all randomness from this number.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    manner: Manner,
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let question = match &args.question {
        Some(given) => read_text(given, "forecast")?,
        None => String::new(),
    };
    let store = app.store().await?;
    let spec = DebateSpec {
        question,
        cast: Some(args.cast.clone()),
        models: args.choice.models()?,
        rules: rules(&args)?,
        budget: args.limits.budget(app)?,
        seed: args.seed,
        history: forecast_history::history(&store, clock::now()).await?,
        learned: None,
        sources: Vec::new(),
    };
    let validated = setup::validate(app, Protocol::Forecast, spec)?;
    let prepared = setup::prepare(app, validated, &progress_sink(&args.manner)).await?;
    let lease = store
        .create(Uuid::new_v4(), &prepared.setup, clock::now())
        .await?;
    let debate = Debate {
        lease,
        prepared,
        past: Vec::new(),
    };
    run::run(app, &store, debate, &args.manner).await
}

fn rules(args: &Args) -> Result<Map<String, Value>, Failure> {
    let mut rules = Map::new();
    let mut give = |name: &str, value: Value| {
        rules.insert(name.to_owned(), value);
    };
    if let Some(given) = &args.request {
        give("request", read_request(given)?);
    } else {
        give("outcomes", json!(args.outcomes));
    }
    if let Some(path) = &args.context {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
        give("context", json!(text.trim()));
    }
    if let Some(rounds) = args.rounds {
        give("rounds", json!(rounds));
    }
    if let Some(weight) = args.judge_weight {
        give("judge_weight", json!(weight));
    }
    if !args.roles.is_empty() {
        give("roles", json!(args.roles));
    }
    if let Some(domain) = &args.domain {
        give("domain", json!(domain));
    }
    if let Some(day) = &args.resolves {
        give("resolves", json!(day));
    }
    Ok(rules)
}

fn read_request(given: &str) -> Result<Value, Failure> {
    let text = if given == "-" {
        read_text("-", "forecast --request")?
    } else {
        std::fs::read_to_string(given)
            .map_err(|error| Failure::usage(format!("cannot read {given}: {error}")))?
    };
    serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format!("the request is not JSON: {error}")))
}
