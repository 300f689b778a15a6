//! `roundtable debate`: a panel debates a question in one of the modes.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use roundtable_core::learning::{Domain, Learned};
use roundtable_engine::protocols::Protocol;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::setup::{self, DebateSpec};
use crate::sources;
use crate::{clock, learning};

use super::ask::{Choice, Limits, progress_sink, read_text};
use super::display::Manner;
use super::output;
use super::post_mortem::domain;
use super::run::{self, Debate, Person, Seat};
use crate::app_context::AppContext;
use crate::failure::Failure;

/// Have a panel of three to eight seats debate a question in one of seven modes.
#[derive(Debug, clap::Args)]
#[command(after_help = "Modes:
  collaborative       all build one answer together; in parallel
  adversarial         each challenges those who spoke before; in turn
  socratic            each asks what the last answer takes for granted; in turn
  expert-panel        experts assess independently, then say where they differ; in parallel
  devils-advocate     each seat is given YES, NO or NEUTRAL and holds to it; in turn
  delphi              anonymous estimates, told as median and quartiles, and revised; in parallel
  red-team-blue-team  red attacks the proposal, then blue defends and mends it

Which one? To find an answer: collaborative or expert-panel. To test one you have: adversarial or red-team-blue-team. For a
number or a forecast: delphi. To see both sides of a decision: devils-advocate. To find out what you are asking: socratic.
`roundtable modes show NAME` prints a mode, `roundtable modes new NAME` starts your own.

The panel votes ACCEPT, MINOR or BLOCKER after each round. It ends when at least 80% accept, no BLOCKER is open and all are sure
enough (0.70), when two rounds change nothing, or after the last round. A panel that agrees too easily has to object first.

With --enhanced every lease carries evidence of one of six types, with a source and a confidence; after each round the likeness of
the positions, their movement and the common sources are measured, and what they show decides when it is over. Where there is no
progress, the debate waits for you: `roundtable resume --decide CHOICE`. It works with every mode.

Examples:
  roundtable debate \"Should we move the billing service to Rust?\" --mode adversarial
  roundtable debate \"REST or GraphQL for the dashboard?\" --enhanced
  roundtable debate plan.md --mode red-team-blue-team --seats 6 --stakes high
  roundtable debate \"How many support calls will the launch cause?\" --mode delphi --focus 2=\"What happened last time?\"
  roundtable debate \"Can we afford the move?\" --source budget.csv offers/*.pdf notes.md")]
pub(crate) struct Args {
    /// The question, a file that holds it, or - for standard input.
    question: String,
    /// The mode: how the panel debates.
    #[arg(long, default_value = "collaborative", value_name = "NAME")]
    mode: String,
    /// How many seats take part, from three on.
    #[arg(id = "seat_count", long = "seats", value_name = "NUMBER")]
    seats: Option<u32>,
    /// Who sits at the table: a cast by name, or a file.
    #[arg(long, value_name = "NAME|FILE")]
    cast: Option<String>,
    /// The greatest number of rounds.
    #[arg(long, value_name = "NUMBER")]
    rounds: Option<u32>,
    /// A question to look at in one round: --focus 2="What does it cost?"; without a number, in the first.
    #[arg(long, value_name = "ROUND=QUESTION")]
    focus: Vec<String>,
    /// Files that the seats may search and cite: Markdown, text, HTML, CSV, PDF. With them comes a calculator. Models that call no
    /// tools are shown what the program finds.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    source: Vec<PathBuf>,
    /// High stakes: every reply also answers for its limits, approvals and the way back.
    #[arg(long, value_enum, default_value_t = StakesArgument::Ordinary)]
    stakes: StakesArgument,
    /// Claims carry evidence, and measured convergence decides when the debate is over.
    #[arg(long, conflicts_with = "no_enhanced")]
    enhanced: bool,
    /// A plain debate, whatever configuration and constitution say.
    #[arg(long)]
    no_enhanced: bool,
    /// How the panel decides; `roundtable config algorithms` lists what there is.
    #[arg(long, value_name = "NAME", conflicts_with = "no_enhanced")]
    algorithm: Option<String>,
    /// What sort of question it is: the debate uses what post-mortems of this domain have taught, and says so.
    #[arg(long, value_parser = domain, conflicts_with = "no_enhanced")]
    domain: Option<Domain>,
    /// Speak between rounds: what you type is heard by the seats from the next round on.
    #[arg(long)]
    interactive: bool,
    #[command(flatten)]
    choice: Choice,
    /// Draw all randomness from this number.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    manner: Manner,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StakesArgument {
    Ordinary,
    High,
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    if args.interactive && args.question == "-" {
        return Err(Failure::usage(
            "--interactive reads what you type, so the question cannot come from standard input too; give it as text or as a file",
        ));
    }
    let store = app.store().await?;
    let learned = match &args.domain {
        Some(domain) => {
            let half_life = app.config.learning.half_life;
            learning::load_learned(&store, domain, half_life, clock::now()).await?
        }
        None => None,
    };
    for line in learned.iter().flat_map(Learned::said) {
        output::note(&line);
    }
    let spec = DebateSpec {
        question: read_text(&args.question, "debate")?,
        cast: args.cast.clone(),
        models: args.choice.models()?,
        rules: rules(&args)?,
        budget: args.limits.budget(app)?,
        seed: args.seed,
        history: Vec::new(),
        learned,
        sources: sources::files(&args.source)?,
    };
    let validated = setup::validate(app, Protocol::Modes, spec)?;
    let prepared = setup::prepare(app, validated, &progress_sink(&args.manner)).await?;
    let lease = store
        .create(Uuid::new_v4(), &prepared.setup, clock::now())
        .await?;
    let debate = Debate {
        lease,
        prepared,
        past: Vec::new(),
    };
    let person = if args.interactive {
        Person::Speaks
    } else {
        Person::Watches
    };
    run::run_with(app, &store, debate, &args.manner, Seat::of(person)).await
}

fn rules(args: &Args) -> Result<Map<String, Value>, Failure> {
    let mut rules = Map::new();
    rules.insert("mode".into(), json!(args.mode));
    if let Some(seats) = args.seats {
        rules.insert("seats".into(), json!(seats));
    }
    if let Some(rounds) = args.rounds {
        rules.insert("max_rounds".into(), json!(rounds));
    }
    if args.stakes == StakesArgument::High {
        rules.insert("stakes".into(), json!("high"));
    }
    if args.enhanced || args.no_enhanced {
        rules.insert("enhanced".into(), json!(args.enhanced));
    }
    if let Some(algorithm) = &args.algorithm {
        rules.insert("algorithm".into(), json!(algorithm));
    }
    if let Some(domain) = &args.domain {
        rules.insert("domain".into(), json!(domain.name()));
    }
    let mut focus = Map::new();
    for text in &args.focus {
        let (round, question) = parse_focus(text);
        if focus.insert(round.to_string(), json!(question)).is_some() {
            return Err(Failure::usage(format!(
                "round {round} has two focus questions"
            )));
        }
    }
    if !focus.is_empty() {
        rules.insert("focus".into(), Value::Object(focus));
    }
    Ok(rules)
}

/// `2=What does it cost?`, or a question for the first round.
fn parse_focus(text: &str) -> (u32, &str) {
    let numbered = text.split_once('=').and_then(|(round, question)| {
        let round = round.trim().parse().ok()?;
        Some((round, question.trim()))
    });
    numbered.unwrap_or((1, text.trim()))
}

#[cfg(test)]
#[path = "debate_tests.rs"]
mod tests;
