//! Arguments that several commands share.

use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use roundtable_core::learning::Domain;
use roundtable_core::usage::Money;
use roundtable_engine::budget::Budget;
use roundtable_engine::depth::Depth;
use roundtable_engine::follow_up::{self, NoResult};
use roundtable_engine::parent::Parent;

use super::{output, pull};
use crate::app_context::AppContext;
use crate::failure::Failure;
use crate::setup::{DebateSpec, Models, ProgressSink, limits};

/// The arguments of every command that starts a debate.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct DebateArgs {
    #[command(flatten)]
    models: ModelArgs,
    /// How thorough the debate is; other options win over it. quick: at most three calls deep, deep: more rounds
    #[arg(long, value_name = "DEPTH", default_value = "normal", value_parser = depth_parser())]
    depth: Depth,
    /// Seed of the random numbers; the same seed sends the same requests
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    #[command(flatten)]
    limits: Limits,
    /// Print what the debate would use, and stop: calls, tokens, money and time
    #[arg(long)]
    pub estimate: bool,
    /// Send text to providers even if it contains likely secrets, such as keys and tokens
    #[arg(long)]
    pub allow_secrets: bool,
    #[command(flatten)]
    pub output: OutputMode,
}

impl DebateArgs {
    /// Adds models, seed and budget to a request.
    pub(crate) fn apply(&self, app: &AppContext, spec: DebateSpec) -> Result<DebateSpec, Failure> {
        Ok(DebateSpec {
            models: self.models.models()?,
            depth: self.depth,
            budget: self.limits.budget(app, &self.output)?,
            seed: self.seed,
            fallback_local: self.models.fallback_local,
            allow_secrets: self.allow_secrets,
            ..spec
        })
    }
}

impl DebateArgs {
    /// The cost limit for all debates of a command together, and the arguments for each of them.
    pub(crate) fn without_cost(mut self) -> Result<(Option<Money>, Self), Failure> {
        let limit = self.limits.max_cost.take();
        let limit = limit.as_deref().map(parse_dollars).transpose()?;
        Ok((limit, self))
    }
}

/// The option of the commands that answer a question.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct FollowUpArgs {
    /// Follow up on a finished debate: the seats also read its question, its answer, open points and dissent
    #[arg(long = "continue", value_name = "ID|last")]
    parent: Option<String>,
}

impl FollowUpArgs {
    /// The debate that the new one follows up on.
    pub(crate) async fn parent(&self, app: &AppContext) -> Result<Option<Parent>, Failure> {
        let Some(wanted) = &self.parent else {
            return Ok(None);
        };
        let store = app.store().await?;
        let row = store.find(wanted).await?;
        let entries = store.entries(row.id).await?;
        store.close().await;
        let id = row.id.to_string();
        let parent = follow_up::parent(&id, row.state, &entries);
        parent.map(Some).map_err(|why| {
            let short = output::short_id(&id);
            let remedy = match why {
                NoResult::Running => "Try again when it has ended".to_owned(),
                NoResult::Waiting | NoResult::Stopped | NoResult::NoAnswer => {
                    format!("Continue it first: `roundtable resume {short}`")
                }
            };
            Failure::usage(format!(
                "cannot follow up on debate {short}: {why}. {remedy}"
            ))
        })
    }
}

fn depth_parser() -> impl TypedValueParser<Value = Depth> {
    let names = PossibleValuesParser::new(Depth::ALL.map(Depth::name));
    names.map(|name| Depth::named(&name).unwrap_or_default())
}

#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct ModelArgs {
    /// Model of all seats, as provider:model
    #[arg(long, short, value_name = "PROVIDER:MODEL")]
    model: Option<String>,
    /// Model of one seat; can be repeated
    #[arg(long = "seat", value_name = "SEAT=PROVIDER:MODEL")]
    seats: Vec<String>,
    /// Use the embedded model if a configured provider cannot be used, instead of stopping
    #[arg(long)]
    pub(super) fallback_local: bool,
}

impl ModelArgs {
    pub(super) fn models(&self) -> Result<Models, Failure> {
        let invalid = |text: &str| {
            Failure::usage(format!(
                "invalid --seat '{text}': expected SEAT=PROVIDER:MODEL, such as skeptic=ollama:qwen3:32b"
            ))
        };
        let mut models = Models {
            all: self.model.clone(),
            ..Models::default()
        };
        for text in &self.seats {
            let (seat, model) = text.split_once('=').ok_or_else(|| invalid(text))?;
            let seat = seat.trim();
            if seat.is_empty() || model.trim().is_empty() {
                return Err(invalid(text));
            }
            let earlier = models.seats.insert(seat.to_owned(), model.to_owned());
            if earlier.is_some() {
                return Err(Failure::usage(format!(
                    "invalid --seat '{text}': '{seat}' has two models"
                )));
            }
        }
        Ok(models)
    }
}

/// The budget of a debate.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Limits {
    /// Stop with the best result so far after this many tokens
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1..))]
    max_tokens_total: Option<u64>,
    /// Stop with the best result so far after this many US dollars
    #[arg(long, value_name = "DOLLARS", allow_negative_numbers = true)]
    max_cost: Option<String>,
    /// Stop with the best result so far after this time: seconds, or 90s, 10m, 1h
    #[arg(long, value_name = "TIME")]
    timeout: Option<String>,
}

impl Limits {
    /// The limits of the command line, within those of the configuration.
    pub(crate) fn budget(&self, app: &AppContext, mode: &OutputMode) -> Result<Budget, Failure> {
        let requested = self.requested()?;
        let configured = app.config.limits.budget();
        if !mode.quiet {
            for note in limits::lowered(requested, configured) {
                output::note(&note);
            }
        }
        Ok(requested.within(configured))
    }

    /// The limits of the command line alone.
    pub(crate) fn requested(&self) -> Result<Budget, Failure> {
        Ok(Budget {
            max_tokens: self.max_tokens_total,
            max_cost: self.max_cost.as_deref().map(parse_dollars).transpose()?,
            max_ms: self.timeout.as_deref().map(parse_timeout).transpose()?,
        })
    }
}

pub(super) fn parse_dollars(text: &str) -> Result<Money, Failure> {
    let dollars = text.trim().parse().ok();
    dollars.and_then(Money::from_dollars).ok_or_else(|| {
        Failure::usage(format!(
            "invalid --max-cost '{text}': expected an amount in USD, such as 0.50"
        ))
    })
}

/// Seconds, also with a fraction, or a duration with units. Returns milliseconds.
fn parse_timeout(text: &str) -> Result<u64, Failure> {
    let text = text.trim();
    let seconds = text.strip_suffix('s').unwrap_or(text).parse::<f64>();
    let duration = match seconds {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => humantime::parse_duration(text).ok(),
    };
    duration
        .and_then(|duration| u64::try_from(duration.as_millis()).ok())
        .filter(|ms| *ms > 0)
        .ok_or_else(|| {
            Failure::usage(format!(
                "invalid --timeout '{text}': expected seconds, or a duration such as 90s, 10m or 1h"
            ))
        })
}

/// How a command reports a debate.
#[derive(Debug, Clone, Default, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
pub(crate) struct OutputMode {
    /// Print the record as JSON
    #[arg(long)]
    pub json: bool,
    /// Print only the result
    #[arg(long, short)]
    pub quiet: bool,
    /// Show every turn in full while the debate runs
    #[arg(long, short, conflicts_with = "quiet")]
    pub verbose: bool,
    /// Print every event as it happens, one JSON object per line
    #[arg(long, conflicts_with = "json")]
    pub events: bool,
}

impl OutputMode {
    /// Whether questions may be asked at the terminal.
    pub(crate) fn may_ask(&self) -> bool {
        !(self.quiet || self.json || self.events)
    }

    /// Progress goes to standard error.
    pub(crate) fn progress_sink(&self) -> ProgressSink {
        let shows_notes = !self.quiet;
        ProgressSink {
            fetching: pull::reporter(shows_notes),
            say: Box::new(move |text| {
                if shows_notes {
                    output::note(text);
                }
            }),
        }
    }
}

/// Parses the value of `--stop-by-value`.
pub(crate) fn price(text: &str) -> Result<f64, &'static str> {
    let price = text.trim().parse().ok();
    price
        .filter(|price: &f64| price.is_finite() && *price >= 0.0)
        .ok_or("expected an amount in USD, such as 0.50")
}

/// Parses the value of `--domain`.
pub(crate) fn domain(text: &str) -> Result<Domain, String> {
    Domain::new(text).map_err(|error| error.to_string())
}

#[cfg(test)]
#[path = "args_tests.rs"]
mod tests;
