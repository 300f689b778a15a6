//! `roundtable debate`: a panel debates a question in one of the modes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use roundtable_core::learning::Domain;
use roundtable_core::verification::Stakes;
use roundtable_engine::protocols::Modes;
use roundtable_engine::protocols::modes::{Focus, Input};

use super::args::{DebateArgs, FollowUpArgs, domain, price};
use super::casts;
use super::input::read_text;
use super::run::{self, Person};
use crate::app_context::AppContext;
use crate::failure::Failure;
use crate::setup::DebateSpec;
use crate::sources;

/// Debate a question with a panel of 3 to 8 seats that vote
#[derive(Debug, clap::Args)]
#[command(after_help = "Modes:
  collaborative       all build one answer together; in parallel
  adversarial         each challenges those who spoke before; in turn
  socratic            each questions the assumptions of the last answer; in turn
  expert-panel        experts assess independently, then compare; in parallel
  devils-advocate     each argues an assigned YES, NO or NEUTRAL; in turn
  delphi              anonymous estimates, revised after the median; in parallel
  red-team-blue-team  red attacks the proposal, blue defends and improves it

Which one? To find an answer: collaborative or expert-panel. To test one you have: adversarial or red-team-blue-team. For a number or a forecast: delphi. To see both sides of a decision: devils-advocate. To clarify the question itself: socratic. `roundtable modes show NAME` prints a mode, `roundtable modes new NAME` creates your own.

The panel votes ACCEPT, MINOR or BLOCKER after each round. The debate ends when at least 80% vote ACCEPT or MINOR, no BLOCKER is open, every confidence is at least 0.70 and the answers do not contradict each other; when two rounds change nothing; or after the last round. If all but one stand for an answer, it is the majority's; with less, the debate waits for your decision: `roundtable resume --decide CHOICE`. A panel that agrees too early has to object first.

With --enhanced, every claim carries evidence of one of six types, with a source and a confidence. After each round, the similarity of the positions, their shift and the shared sources are measured; these measures decide when the debate ends. Without progress, it waits for your decision. This works with every mode.

Examples:
  roundtable debate \"Should we move billing to Rust?\" --mode adversarial
  roundtable debate \"REST or GraphQL for the dashboard?\" --enhanced
  roundtable debate plan.md --mode red-team-blue-team --seats 6 --stakes high
  roundtable debate \"How many calls?\" --mode delphi --focus 2=\"The last launch\"
  roundtable debate \"Can we afford the move?\" --source budget.csv offers/*.pdf")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Args {
    /// The question, a file that contains it, or - for standard input
    question: String,
    /// The mode: how the panel debates
    #[arg(long, default_value = "collaborative", value_name = "NAME")]
    mode: String,
    /// Number of seats, at least three
    #[arg(id = "seat_count", long = "seats", value_name = "NUMBER")]
    seats: Option<u32>,
    /// The cast: who takes part, by name or file
    #[arg(long, value_name = "NAME|FILE")]
    cast: Option<String>,
    /// Maximum number of rounds
    #[arg(long, value_name = "NUMBER")]
    rounds: Option<u32>,
    /// Question for one round: --focus 2="What does it cost?"; without a number, for the first
    #[arg(long, value_name = "ROUND=QUESTION")]
    focus: Vec<String>,
    /// Files that the seats may search and cite (Markdown, text, HTML, CSV, PDF); also adds a calculator. For models without
    /// tool calls, the program searches
    #[arg(long, short = 'f', value_name = "FILE", num_args = 1..)]
    source: Vec<PathBuf>,
    /// With high stakes, every reply also covers limits, approvals and rollback
    #[arg(long, value_enum, default_value_t = StakesArg::Ordinary)]
    stakes: StakesArg,
    /// Claims carry evidence, and measured convergence ends the debate
    #[arg(long, alias = "evidence", conflicts_with = "no_enhanced")]
    enhanced: bool,
    /// A plain debate, regardless of configuration and constitution
    #[arg(long)]
    no_enhanced: bool,
    /// How the panel decides; `roundtable config algorithms` lists the algorithms
    #[arg(long, value_name = "NAME", conflicts_with = "no_enhanced")]
    algorithm: Option<String>,
    /// The kind of question: the debate uses lessons from post-mortems of this domain
    #[arg(long, value_parser = domain, conflicts_with = "no_enhanced")]
    domain: Option<Domain>,
    /// Never wait for your decision: without a majority the debate ends without a consensus
    #[arg(long)]
    no_escalation: bool,
    /// Stop when another round costs more than this per expected change of the answer, in US dollars
    #[arg(long, value_name = "PRICE", value_parser = price, allow_negative_numbers = true)]
    stop_by_value: Option<f64>,
    /// Speak between rounds: the seats see what you type from the next round on
    #[arg(long)]
    interactive: bool,
    #[command(flatten)]
    follow_up: FollowUpArgs,
    #[command(flatten)]
    debate: DebateArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StakesArg {
    Ordinary,
    High,
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    if args.interactive && args.question == "-" {
        return Err(Failure::usage(
            "--interactive reads standard input, so the question cannot be -: pass it as text or as a file",
        ));
    }
    let input = Input {
        mode: Some(args.mode),
        max_rounds: args.rounds,
        focus: parse_focus(&args.focus)?,
        stakes: (args.stakes == StakesArg::High).then_some(Stakes::High),
        seats: args.seats,
        enhanced: (args.enhanced || args.no_enhanced).then_some(args.enhanced),
        algorithm: args.algorithm,
        escalation: args.no_escalation.then_some(false),
        brief: None,
        stop_by_value: args.stop_by_value,
        domain: args.domain.map(|domain| domain.name().to_owned()),
    };
    let question = read_text(&args.question, "debate")?;
    let spec = DebateSpec {
        cast: args.cast.as_deref().map(casts::choice).transpose()?,
        sources: sources::files(args.source).await?,
        parent: args.follow_up.parent(app).await?,
        ..DebateSpec::new(&Modes, question, &input)
    };
    let person = if args.interactive {
        Person::Speaks
    } else {
        Person::Watches
    };
    run::start_with(app, spec, &args.debate, person).await
}

fn parse_focus(given: &[String]) -> Result<Option<Focus>, Failure> {
    let mut rounds = BTreeMap::new();
    for text in given {
        let (round, question) = focus_of(text);
        if rounds
            .insert(round.to_string(), question.to_owned())
            .is_some()
        {
            return Err(Failure::usage(format!(
                "invalid --focus: round {round} has two questions"
            )));
        }
    }
    Ok((!rounds.is_empty()).then_some(Focus::ByRound(rounds)))
}

/// `2=What does it cost?`, or a question for the first round.
fn focus_of(text: &str) -> (u32, &str) {
    let numbered = text.split_once('=').and_then(|(round, question)| {
        let round = round.trim().parse().ok()?;
        Some((round, question.trim()))
    });
    numbered.unwrap_or((1, text.trim()))
}

#[cfg(test)]
#[path = "debate_tests.rs"]
mod tests;
