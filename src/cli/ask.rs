//! `roundtable ask`: proposer, skeptic, synthesizer.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use roundtable_core::usage::Money;
use roundtable_engine::protocols::Protocol;
use roundtable_engine::table::Budget;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::clock;
use crate::setup::{self, DebateSpec, Models, ProgressSink};

use super::display::Manner;
use super::run::{self, Debate};
use super::{output, pull};
use crate::app_context::AppContext;
use crate::failure::Failure;

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

/// What the command line says about models.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Choice {
    /// The model of all seats, as provider:model.
    #[arg(long, value_name = "PROVIDER:MODEL")]
    model: Option<String>,
    /// The model of one seat; may be given several times.
    #[arg(long = "seat", value_name = "SEAT=PROVIDER:MODEL")]
    seats: Vec<String>,
}

impl Choice {
    pub(crate) fn models(&self) -> Result<Models, Failure> {
        let mut models = Models {
            all: self.model.clone(),
            ..Models::default()
        };
        for text in &self.seats {
            let (seat, model) = text.split_once('=').ok_or_else(|| {
                Failure::usage(format!(
                    "'{text}' does not say which seat gets which model: write --seat skeptic=provider:model"
                ))
            })?;
            models
                .seats
                .insert(seat.trim().to_owned(), model.to_owned());
        }
        Ok(models)
    }
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

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let spec = DebateSpec {
        question: read_text(&args.question, "ask")?,
        cast: Some(args.cast.clone()),
        models: args.choice.models()?,
        rules: rules(&args)?,
        budget: args.limits.budget(app)?,
        seed: args.seed,
        history: Vec::new(),
        learned: None,
        sources: Vec::new(),
    };
    let validated = setup::validate(app, Protocol::Dialectic, spec)?;
    let prepared = setup::prepare(app, validated, &progress_sink(&args.manner)).await?;
    let store = app.store().await?;
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

/// What is going on is told on standard error, unless nobody wants to hear it.
pub(crate) fn progress_sink(manner: &Manner) -> ProgressSink {
    let loud = !manner.quiet;
    ProgressSink {
        fetching: pull::reporter(loud),
        say: Box::new(move |text| {
            if loud {
                output::note(text);
            }
        }),
    }
}

/// A file only where it could hardly be a question: an existing path of one word.
pub(crate) fn read_text(given: &str, command: &str) -> Result<String, Failure> {
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
        return Err(Failure::usage(format!(
            "the question is empty; write it after `roundtable {command}`, or give - and pipe it in",
        )));
    }
    Ok(question)
}

fn text_of(bytes: Vec<u8>, source: &str) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|_| Failure::usage(format!("{source} is not text (UTF-8)")))
}

fn rules(args: &Args) -> Result<Map<String, Value>, Failure> {
    let mut rules = Map::new();
    if let Some(text) = &args.rounds {
        let (min, max) = parse_rounds(text)?;
        rules.insert("min_rounds".into(), json!(min));
        rules.insert("max_rounds".into(), json!(max));
    }
    if args.no_score {
        rules.insert("auto_score".into(), json!(false));
    }
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

    pub(crate) fn budget(&self, app: &AppContext) -> Result<Budget, Failure> {
        let limits = &app.config.limits;
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

#[cfg(test)]
#[path = "ask_tests.rs"]
mod tests;
