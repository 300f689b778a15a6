//! `roundtable ask`: a proposer answers, a skeptic attacks, a synthesizer writes the answer.

use std::process::ExitCode;

use roundtable_engine::protocols::Dialectic;
use roundtable_engine::protocols::dialectic::Input;

use super::args::{DebateArgs, FollowUpArgs};
use super::casts;
use super::input::read_text;
use super::run::start;
use crate::app_context::AppContext;
use crate::failure::Failure;
use crate::setup::DebateSpec;

/// Answer a question, after a skeptic has attacked the answer
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable ask \"Is a four-day week good for a support team?\"\n  roundtable ask question.md --rounds 2..3 --max-cost 0.50\n  git diff | roundtable ask - --seat skeptic=anthropic:claude-sonnet-4-5"
)]
pub(crate) struct Args {
    /// The question, a file that contains it, or - for standard input
    question: String,
    /// Minimum and maximum number of rounds: 3..5, or 4 for exactly four
    #[arg(long, value_name = "MIN..MAX")]
    rounds: Option<String>,
    /// The cast: who takes part
    #[arg(long, default_value = "dialectic", value_name = "NAME")]
    cast: String,
    /// Do not have a judge score the answer
    #[arg(long, alias = "no-judge")]
    no_score: bool,
    #[command(flatten)]
    follow_up: FollowUpArgs,
    #[command(flatten)]
    debate: DebateArgs,
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let (min_rounds, max_rounds) = match &args.rounds {
        Some(text) => parse_rounds(text).map(|(min, max)| (Some(min), Some(max)))?,
        None => (None, None),
    };
    let input = Input {
        min_rounds,
        max_rounds,
        early_stop_score: None,
        auto_score: args.no_score.then_some(false),
        my_answer: None,
    };
    let question = read_text(&args.question, "ask")?;
    let spec = DebateSpec {
        cast: Some(casts::choice(&args.cast)?),
        parent: args.follow_up.parent(app).await?,
        ..DebateSpec::new(&Dialectic, question, &input)
    };
    start(app, spec, &args.debate).await
}

fn parse_rounds(text: &str) -> Result<(u32, u32), Failure> {
    let invalid = || {
        Failure::usage(format!(
            "invalid --rounds '{text}': expected MIN..MAX such as 3..5, or a number such as 4"
        ))
    };
    let number = |part: &str| part.trim().parse::<u32>().map_err(|_| invalid());
    match text.split_once("..") {
        Some((min, max)) => Ok((number(min)?, number(max.trim_start_matches('='))?)),
        None => number(text).map(|both| (both, both)),
    }
}

#[cfg(test)]
#[path = "ask_tests.rs"]
mod tests;
