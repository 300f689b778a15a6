//! `roundtable simulate`: what seats, model families and rounds would bring, and cost, on simulated questions (B-17).

mod report;

use std::path::PathBuf;
use std::process::ExitCode;

use roundtable_core::simulation::{
    Debater, FORECASTERS, ForecastRow, Forecasters, MAX_SEATS, MISFIT, Panel, Row, SOURCES, Study,
    World, forecast_study,
};
use roundtable_core::spread::mean;
use roundtable_core::usage::Price;
use serde::Serialize;

use super::display::summary;
use super::output;
use crate::app_context::AppContext;
use crate::export;
use crate::failure::Failure;

/// Simulate what more seats, model families and rounds would bring, before paying for them
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable simulate\n  roundtable simulate --seats 3,7 --families 1,3 --rounds 1,4 --price 3/15\n  roundtable simulate --model openai:gpt-5 --model ollama:qwen3:8b\n  roundtable simulate --forecast --seats 1,5,15 --json\n\nNo model is called. Every panel answers the same simulated multiple-choice questions; a seat is right as often as --accuracy says, and seats share errors as recorded seats do. The result names where the parameters come from and what the simulation gets wrong."
)]
pub(crate) struct Args {
    /// Numbers of seats
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', default_values_t = [1, 3, 5, 7], value_parser = seats_parser())]
    seats: Vec<u16>,
    /// Numbers of different model families; the seats take them in turn
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', default_values_t = [1, 3], value_parser = seats_parser())]
    families: Vec<u16>,
    /// Numbers of rounds; the first one is blind, in every other one all seats read all replies
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', default_values_t = [1, 2, 4], value_parser = clap::value_parser!(u16).range(1..=20))]
    rounds: Vec<u16>,
    /// How often a seat is right, from 0.02 to 0.98; several numbers are those of the families
    #[arg(long, value_name = "SHARES", value_delimiter = ',', default_values_t = [0.6], value_parser = accuracy)]
    accuracy: Vec<f64>,
    /// Answers to choose from
    #[arg(long, value_name = "NUMBER", default_value_t = 4, value_parser = clap::value_parser!(u8).range(2..=100))]
    options: u8,
    /// Correlation of being wrong between two seats of one family, at most 0.9
    #[arg(long, value_name = "CORRELATION", default_value_t = World::WITHIN_MODEL, value_parser = correlation)]
    same_family: f64,
    /// Correlation of being wrong between seats of different families, at most that of one family
    #[arg(long, value_name = "CORRELATION", default_value_t = World::BETWEEN_MODELS, value_parser = correlation)]
    other_family: f64,
    /// How firmly a seat keeps its answer; recorded models: 0.08 to 2.18
    #[arg(long, value_name = "NUMBER", default_value_t = 0.95, allow_negative_numbers = true, value_parser = strength)]
    stubbornness: f64,
    /// How strongly a seat follows the share of the others with another answer; recorded: 1.29 to 2.63
    #[arg(long, value_name = "NUMBER", default_value_t = 1.84, allow_negative_numbers = true, value_parser = strength)]
    conformity: f64,
    /// How often a seat has no answer of its own, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    absent: f64,
    /// Price per million tokens, as IN/OUT in US dollars; repeated: one for each family
    #[arg(long, value_name = "IN/OUT", value_parser = price, conflicts_with = "models")]
    price: Vec<Price>,
    /// Take the price of this model; repeated: one for each family. It is not called
    #[arg(long = "model", value_name = "PROVIDER:MODEL")]
    models: Vec<String>,
    /// Tokens of question and instructions in every call
    #[arg(long, value_name = "TOKENS", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    prompt_tokens: u64,
    /// Tokens of a reply
    #[arg(long, value_name = "TOKENS", default_value_t = 400, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    reply_tokens: u64,
    /// Simulate probabilities of yes-or-no questions instead: models, models-2, samples or professionals
    #[arg(long, value_name = "KIND", num_args = 0..=1, default_missing_value = "models", value_parser = forecasters_parser(),
        conflicts_with_all = ["rounds", "accuracy", "options", "same_family", "other_family", "stubbornness", "conformity", "absent", "price", "models", "prompt_tokens", "reply_tokens"])]
    forecast: Option<String>,
    /// Factor on the log-odds of all forecasts; above 1 the seats are overconfident
    #[arg(long, value_name = "NUMBER", default_value_t = 1.0, requires = "forecast", value_parser = sharpness)]
    overconfidence: f64,
    /// Simulated questions
    #[arg(long, value_name = "NUMBER", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    questions: u32,
    /// Seed of the random numbers; the same seed gives the same result
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write a self-contained HTML page to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write Markdown to this file
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

/// The result for programs.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Output {
    Choices(Choices),
    Forecasts(Forecasts),
}

/// A study of multiple-choice questions.
#[derive(Debug, Serialize)]
struct Choices {
    questions: u32,
    seed: u64,
    options: u8,
    accuracy: Vec<f64>,
    same_family: f64,
    other_family: f64,
    stubbornness: f64,
    conformity: f64,
    absent: f64,
    prompt_tokens: u64,
    reply_tokens: u64,
    prices: Vec<Price>,
    rows: Vec<Row>,
    /// The cheapest panel whose accuracy is within the misfit of the best.
    cheapest: Option<Panel>,
    misfit: [&'static str; 3],
    sources: [&'static str; 3],
}

/// A study of probabilities.
#[derive(Debug, Serialize)]
struct Forecasts {
    questions: u32,
    seed: u64,
    forecasters: &'static str,
    fitted_to: &'static str,
    overconfidence: f64,
    rows: Vec<ForecastRow>,
    misfit: [&'static str; 2],
}

/// Known errors of the simulation of forecasts.
const FORECAST_MISFIT: [&str; 2] = [
    "Simulated pools score 0.004 to 0.006 better than recorded ones: real errors are shared a little more.",
    "What one seat knows and the others do not is not simulated, so neither learned weights nor rounds can be studied. No public record says \
     how far seats move when they read each other's probabilities.",
];

pub(crate) fn run(app: &AppContext, args: &Args) -> Result<ExitCode, Failure> {
    let output = match &args.forecast {
        Some(kind) => Output::Forecasts(forecasts(args, kind)?),
        None => Output::Choices(choices(app, args)?),
    };
    let report = report::report(&output);
    if let Some(path) = &args.html {
        output::write_to(Some(path), &export::report_html(report::TITLE, &report))?;
    }
    if let Some(path) = &args.markdown {
        output::write_to(Some(path), &export::report_markdown(report::TITLE, &report))?;
    }
    if args.json {
        output::json(&output)?;
    } else if args.html.is_none() && args.markdown.is_none() {
        summary::print_report(&report);
    }
    Ok(ExitCode::SUCCESS)
}

fn choices(app: &AppContext, args: &Args) -> Result<Choices, Failure> {
    if args.other_family > args.same_family {
        return Err(Failure::usage(format!(
            "invalid --other-family {}: seats of different families cannot share more errors than seats of one (--same-family {})",
            args.other_family, args.same_family
        )));
    }
    let base = World {
        options: args.options,
        ..World::MMLU_PRO
    };
    let typical = mean(&args.accuracy).unwrap_or_default();
    let world = base.with_correlations(typical, args.same_family, args.other_family);
    let world = world.ok_or_else(|| {
        Failure::usage(format!(
            "--same-family {} and --other-family {} cannot be reached with this accuracy. Choose an accuracy closer to 0.5",
            args.same_family, args.other_family
        ))
    })?;
    let study = Study {
        world,
        accuracies: args.accuracy.clone(),
        seat: Debater {
            stubbornness: args.stubbornness,
            conformity: args.conformity,
            absence: args.absent,
            ..Debater::new(0.0, 0)
        },
        questions: args.questions as usize,
        seed: args.seed,
        prompt_tokens: args.prompt_tokens,
        reply_tokens: args.reply_tokens,
        prices: prices(app, args)?,
    };
    let rows = study.run(&panels(args));
    Ok(Choices {
        questions: args.questions,
        seed: args.seed,
        options: args.options,
        accuracy: study.accuracies,
        same_family: args.same_family,
        other_family: args.other_family,
        stubbornness: args.stubbornness,
        conformity: args.conformity,
        absent: args.absent,
        prompt_tokens: args.prompt_tokens,
        reply_tokens: args.reply_tokens,
        prices: study.prices,
        cheapest: Row::cheapest_good(&rows).map(|row| row.panel),
        rows,
        misfit: MISFIT,
        sources: SOURCES,
    })
}

fn forecasts(args: &Args, kind: &str) -> Result<Forecasts, Failure> {
    let kind = Forecasters::named(kind).ok_or_else(|| Failure::usage("unknown forecasters"))?;
    let sizes: Vec<(usize, usize)> = sizes(args).collect();
    let questions = (args.questions as usize, args.seed);
    Ok(Forecasts {
        questions: args.questions,
        seed: args.seed,
        forecasters: kind.name,
        fitted_to: kind.source,
        overconfidence: args.overconfidence,
        rows: forecast_study(kind, args.overconfidence, &sizes, questions),
        misfit: FORECAST_MISFIT,
    })
}

/// Seats and families, without panels that have more families than seats: those would repeat others. One seat is one family.
fn sizes(args: &Args) -> impl Iterator<Item = (usize, usize)> {
    let (seats, families) = (sorted(&args.seats), sorted(&args.families));
    seats.into_iter().flat_map(move |seats| {
        let mut fitting: Vec<usize> = families
            .iter()
            .copied()
            .filter(|own| *own <= seats)
            .collect();
        if fitting.is_empty() {
            fitting.push(seats);
        }
        fitting.into_iter().map(move |families| (seats, families))
    })
}

/// A single seat has no others to read, so it plays one round.
fn panels(args: &Args) -> Vec<Panel> {
    let all = sizes(args).flat_map(|(seats, families)| {
        let rounds = if seats == 1 {
            vec![1]
        } else {
            sorted(&args.rounds)
        };
        rounds.into_iter().map(move |rounds| Panel {
            seats,
            families,
            rounds,
        })
    });
    all.collect()
}

fn sorted(numbers: &[u16]) -> Vec<usize> {
    let mut numbers: Vec<usize> = numbers.iter().map(|number| usize::from(*number)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

fn prices(app: &AppContext, args: &Args) -> Result<Vec<Price>, Failure> {
    let of_model = |text: &String| {
        let name = app
            .config
            .model_name(text)
            .map_err(|error| Failure::usage(error.to_string()))?;
        app.models.price(&name).ok_or_else(|| {
            Failure::usage(format!(
                "the price of {name} is unknown: pass it with --price IN/OUT, or add it to prices.toml"
            ))
        })
    };
    let named: Result<Vec<Price>, Failure> = args.models.iter().map(of_model).collect();
    Ok([args.price.clone(), named?].concat())
}

fn seats_parser() -> clap::builder::RangedI64ValueParser<u16> {
    let max = i64::try_from(MAX_SEATS).unwrap_or(i64::MAX);
    clap::value_parser!(u16).range(1..=max)
}

fn forecasters_parser() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(FORECASTERS.map(|kind| kind.name))
}

fn number(text: &str, low: f64, high: f64) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    let number = number.filter(|number| (low..=high).contains(number));
    number.ok_or_else(|| format!("expected a number from {low} to {high}"))
}

fn accuracy(text: &str) -> Result<f64, String> {
    number(text, 0.02, 0.98)
}

fn correlation(text: &str) -> Result<f64, String> {
    number(text, 0.0, 0.9)
}

fn share(text: &str) -> Result<f64, String> {
    number(text, 0.0, 1.0)
}

fn strength(text: &str) -> Result<f64, String> {
    number(text, -10.0, 10.0)
}

fn sharpness(text: &str) -> Result<f64, String> {
    number(text, 0.1, 10.0)
}

/// `3/15`
fn price(text: &str) -> Result<Price, String> {
    let (input, output) = text.split_once('/').unwrap_or((text, ""));
    let amount = |text: &str| number(text.trim(), 0.0, 1e6).ok();
    match (amount(input), amount(output)) {
        (Some(input), Some(output)) => Ok(Price {
            input,
            output,
            cached: None,
        }),
        _ => Err("expected US dollars per million tokens in and out, such as 3/15".to_owned()),
    }
}
