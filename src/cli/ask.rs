//! `roundtable ask`: proposer, skeptic, synthesizer.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use roundtable_core::usage::Money;
use roundtable_engine::cast::Cast;
use roundtable_engine::data::DataError;
use roundtable_engine::event::Setup;
use roundtable_engine::protocols::Protocol;
use roundtable_engine::protocols::dialectic::Rules;
use roundtable_engine::table::Budget;
use roundtable_engine::tokens;
use serde_json::json;
use uuid::Uuid;

use crate::clock;

use super::display::Manner;
use super::failure::Failure;
use super::run::{self, Debate};
use super::seating::{self, Choice, Seating};
use super::workshop::Workshop;
use super::{output, pull};

/// Put a question to a proposer, a skeptic and a synthesizer.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable ask \"Is a four-day week good for a support team?\"\n  roundtable ask question.md --rounds 2..3 --max-cost 0.50\n  git diff | roundtable ask - --model lab:qwen3-32b --seat skeptic=anthropic:claude-sonnet-4-5 --json"
)]
pub(crate) struct Args {
    /// The question, a file that holds it, or - for standard input.
    question: String,
    /// The least and the greatest number of rounds: 3..5, or 4 for exactly four.
    #[arg(long, value_name = "MIN..MAX")]
    rounds: Option<String>,
    #[command(flatten)]
    choice: Choice,
    /// The cast: who sits at the table.
    #[arg(long, default_value = "dialectic", value_name = "NAME")]
    cast: String,
    /// Draw all randomness from this number.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    #[command(flatten)]
    limits: Limits,
    /// Do not have the answer marked by a judge.
    #[arg(long)]
    no_score: bool,
    #[command(flatten)]
    manner: Manner,
}

/// What a debate may spend.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Limits {
    /// Stop with the best result so far when this many tokens are used.
    #[arg(long, value_name = "TOKENS")]
    max_tokens_total: Option<u64>,
    /// Stop with the best result so far when this many dollars are spent.
    #[arg(long, value_name = "DOLLARS")]
    max_cost: Option<f64>,
    /// Stop with the best result so far after this many seconds; also 90s, 10m, 1h.
    #[arg(long, value_name = "TIME")]
    timeout: Option<String>,
}

pub(crate) async fn run(workshop: &Workshop, args: Args) -> Result<ExitCode, Failure> {
    let question = read_question(&args.question)?;
    let rules = rules(workshop, &args)?;
    let cast = load_cast(workshop, &args.cast)?;
    let budget = args.limits.budget(workshop)?;
    check_length(&question, workshop.config.limits.max_question_tokens)?;

    let report = pull::reporter(!args.manner.quiet);
    let say = |text: &str| {
        if !args.manner.quiet {
            output::note(text);
        }
    };
    let seating = seating::choose(workshop, &cast, &args.choice, &report, say).await?;
    check_context(&question, &seating)?;
    check_prices(&seating, &budget)?;
    let embedder = match workshop.embedder(report).await {
        Ok(embedder) => Some(embedder),
        Err(failure) if workshop.config.embedder.is_some() => return Err(failure),
        // Without an embedder there are no templates to start from. The debate is worth having all the same.
        Err(failure) => {
            say(&failure.explained("Going on without reasoning templates"));
            None
        }
    };
    let setup = Setup {
        protocol: Protocol::Dialectic.name().into(),
        question,
        seed: args.seed.unwrap_or_else(random_seed),
        seats: seating.seated,
        rules: json!(rules),
        budget,
        embedder: embedder.as_ref().map(|embedder| embedder.name().to_owned()),
        program: env!("CARGO_PKG_VERSION").into(),
    };
    let store = workshop.store().await?;
    let claim = store.create(Uuid::new_v4(), &setup, clock::now()).await?;
    let debate = Debate {
        claim,
        setup,
        budget,
        chairs: seating.chairs,
        embedder,
        past: Vec::new(),
    };
    run::run(workshop, &store, debate, &args.manner).await
}

/// A file only where it could hardly be a question: an existing path of one word.
fn read_question(given: &str) -> Result<String, Failure> {
    let question = if given == "-" {
        let mut bytes = Vec::new();
        std::io::stdin()
            .read_to_end(&mut bytes)
            .map_err(|error| Failure::usage(format!("cannot read standard input: {error}")))?;
        text_of(bytes, "standard input")?
    } else if !given.contains(char::is_whitespace) && Path::new(given).is_file() {
        let path = PathBuf::from(given);
        let bytes = std::fs::read(&path)
            .map_err(|error| Failure::usage(format!("cannot read {given}: {error}")))?;
        text_of(bytes, given)?
    } else {
        given.to_owned()
    };
    let question = question.trim().to_owned();
    if question.is_empty() {
        return Err(Failure::usage(
            "the question is empty; write it after `roundtable ask`, or give - and pipe it in",
        ));
    }
    Ok(question)
}

fn text_of(bytes: Vec<u8>, source: &str) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|_| Failure::usage(format!("{source} is not text (UTF-8)")))
}

fn check_length(question: &str, limit: u64) -> Result<(), Failure> {
    // A token has at least one byte, so a short text needs no counting.
    if (question.len() as u64) <= limit {
        return Ok(());
    }
    let count = tokens::count(question);
    if count > limit {
        return Err(Failure::usage(format!(
            "the question has {} tokens; the limit is {} (max_question_tokens in [limits]). Shorten it, or ask about a part.",
            output::grouped(count),
            output::grouped(limit)
        )));
    }
    Ok(())
}

/// The question comes back in every prompt, beside what was said; a quarter of the smallest context is what it may take.
fn check_context(question: &str, seating: &Seating) -> Result<(), Failure> {
    let smallest = seating
        .chairs
        .values()
        .filter_map(|chair| chair.model.profile().context_tokens)
        .min();
    match smallest {
        Some(context) => check_length(question, u64::from(context) / 4),
        None => Ok(()),
    }
}

/// A limit on money is worth nothing where the price is not known.
fn check_prices(seating: &Seating, budget: &Budget) -> Result<(), Failure> {
    if budget.max_cost.is_none() {
        return Ok(());
    }
    let unknown = seating.seated.iter().find(|seated| {
        seating
            .chairs
            .get(&seated.seat.name)
            .is_some_and(|chair| chair.price.is_none())
    });
    match unknown {
        None => Ok(()),
        Some(seated) => Err(Failure::usage(format!(
            "the price of {} is not known, so --max-cost cannot be kept; put its price into prices.toml in your \
             configuration folder, or use --max-tokens-total",
            seated.model
        ))),
    }
}

fn load_cast(workshop: &Workshop, name: &str) -> Result<Cast, Failure> {
    let cast = Cast::load(&workshop.data, name)?;
    for seat in ["proposer", "skeptic", "synthesizer", "judge"] {
        cast.seat(seat).map_err(|_| DataError::Broken {
            file: format!("cast '{name}'"),
            line: 1,
            message: format!("`ask` needs a seat named '{seat}'"),
        })?;
    }
    Ok(cast)
}

fn rules(workshop: &Workshop, args: &Args) -> Result<Rules, Failure> {
    let dialectic = &workshop.config.dialectic;
    let (min, max) = match &args.rounds {
        Some(text) => parse_rounds(text)?,
        None => (dialectic.min_rounds, dialectic.max_rounds),
    };
    let mut rules = Rules::new(min, max, dialectic.early_stop_score)
        .map_err(|error| Failure::usage(error.to_string()))?;
    rules.auto_score = !args.no_score;
    Ok(rules)
}

fn parse_rounds(text: &str) -> Result<(u32, u32), Failure> {
    let wrong = || {
        Failure::usage(format!(
            "'{text}' is no number of rounds: write --rounds 3..5, or --rounds 4 for exactly four"
        ))
    };
    let number = |part: &str| part.trim().parse::<u32>().map_err(|_| wrong());
    match text.split_once("..") {
        Some((min, max)) => Ok((number(min)?, number(max.trim_start_matches('='))?)),
        None => number(text).map(|both| (both, both)),
    }
}

impl Limits {
    pub(crate) fn is_given(&self) -> bool {
        self.max_tokens_total.is_some() || self.max_cost.is_some() || self.timeout.is_some()
    }

    pub(crate) fn budget(&self, workshop: &Workshop) -> Result<Budget, Failure> {
        let limits = &workshop.config.limits;
        let max_cost = match self.max_cost {
            Some(dollars) => Some(Money::from_dollars(dollars).ok_or_else(|| {
                Failure::usage(format!("--max-cost {dollars} is no amount of money"))
            })?),
            None => limits.max_cost,
        };
        let configured = limits
            .timeout
            .map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        Ok(Budget {
            max_tokens: self.max_tokens_total.or(limits.max_tokens_total),
            max_cost,
            max_ms: match &self.timeout {
                Some(text) => Some(parse_time(text)?),
                None => configured,
            },
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked before"
)]
fn parse_time(text: &str) -> Result<u64, Failure> {
    let wrong = || {
        Failure::usage(format!(
            "'{text}' is no time: write --timeout 90, 90s, 10m or 1h"
        ))
    };
    let text = text.trim();
    let (number, unit) = match text.strip_suffix(['s', 'm', 'h']) {
        Some(number) => (number, &text[number.len()..]),
        None => (text, "s"),
    };
    let factor = match unit {
        "h" => 3_600_000.0,
        "m" => 60_000.0,
        _ => 1000.0,
    };
    let ms = number.parse::<f64>().map_err(|_| wrong())? * factor;
    if ms > 0.0 && ms < 1e12 {
        Ok(ms as u64)
    } else {
        Err(wrong())
    }
}

/// Small enough for every reader of JSON to hold exactly.
fn random_seed() -> u64 {
    let (high, _) = Uuid::new_v4().as_u64_pair();
    high >> 33
}

#[cfg(test)]
#[path = "ask_tests.rs"]
mod tests;
