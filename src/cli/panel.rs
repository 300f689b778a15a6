//! `roundtable panel`: several models answer blind, rank each other, and a chair concludes.

use std::process::ExitCode;

use roundtable_engine::protocols::Panel;
use roundtable_engine::protocols::panel::Input;

use super::args::{DebateArgs, FollowUpArgs, price};
use super::casts;
use super::input::read_text;
use super::run::start;
use crate::app_context::AppContext;
use crate::failure::Failure;
use crate::setup::DebateSpec;

/// Have several models answer blind and rank each other
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable panel \"Which database fits?\" --seat first=openai:gpt-5.1\n  roundtable panel question.md --full --json\n\nThe seats are first, second, third, fourth and chair. If all blind answers agree and are sure, the panel stops there; --full ranks them all the same."
)]
pub(crate) struct Args {
    /// The question, a file that contains it, or - for standard input
    question: String,
    /// Rank the answers and conclude even if the blind answers agree
    #[arg(long)]
    full: bool,
    /// Stop when another round costs more than this per expected change of the answer, in US dollars
    #[arg(long, value_name = "PRICE", value_parser = price, allow_negative_numbers = true)]
    stop_by_value: Option<f64>,
    /// The cast: who takes part, by name or file
    #[arg(long, default_value = "panel", value_name = "NAME|FILE")]
    cast: String,
    #[command(flatten)]
    follow_up: FollowUpArgs,
    #[command(flatten)]
    debate: DebateArgs,
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let input = Input {
        full: args.full.then_some(true),
        stop_by_value: args.stop_by_value,
        ..Input::default()
    };
    let question = read_text(&args.question, "panel")?;
    let spec = DebateSpec {
        cast: Some(casts::choice(&args.cast)?),
        parent: args.follow_up.parent(app).await?,
        ..DebateSpec::new(&Panel, question, &input)
    };
    start(app, spec, &args.debate).await
}
