//! `roundtable resolve`

use std::process::ExitCode;

use roundtable_engine::protocols::forecast::{Outcome, Rules, scored};

use crate::clock;
use crate::store::Resolution;

use super::output;
use crate::app_context::AppContext;
use crate::failure::Failure;

/// Say what happened, so that a forecast can be scored.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable resolve last above-3\n  roundtable resolve 3f2a \"From 2 to 3%\" --by Eurostat\n  roundtable resolve 3f2a --withdraw\n\nThe last word counts. A forecast is scored once its resolution date is past."
)]
pub(crate) struct Args {
    /// The debate's id, any unambiguous beginning of it, or `last`.
    id: String,
    /// The outcome that happened: its id or its label.
    #[arg(required_unless_present = "withdraw")]
    outcome: Option<String>,
    /// Take back what was said before.
    #[arg(long, conflicts_with = "outcome")]
    withdraw: bool,
    /// Who says so, or where it says so.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let store = app.store().await?;
    let row = store.find(&args.id).await?;
    let entries = store.entries(row.id).await?;
    let setup = entries.iter().find_map(|entry| entry.event.setup());
    let rules = setup
        .filter(|setup| setup.protocol == "forecast")
        .and_then(|setup| serde_json::from_value::<Rules>(setup.rules.clone()).ok())
        .ok_or_else(|| {
            Failure::usage(format!(
                "{} is no forecast, so it cannot be resolved",
                row.id
            ))
        })?;
    let outcome = match &args.outcome {
        Some(given) => Some(known(given, &rules.request.prediction_context.outcomes)?),
        None => None,
    };
    let now = clock::now();
    let resolving = Resolution {
        outcome: outcome.map(|it| it.id.clone()),
        by: args.by,
    };
    store.resolve(row.id, resolving, now).await?;
    let entries = store.entries(row.id).await?;
    store.close().await;
    match outcome {
        None => output::note(&format!("Taken back what happened in {}.", row.id)),
        Some(outcome) => {
            output::note(&format!("Recorded '{}' for {}.", outcome.label, row.id));
            match (scored("", &entries, now), rules.resolves_on) {
                (Some(scored), _) => output::note(&format!(
                    "Brier score {:.3}, log score {:.3} (uniform: {:.3}, {:.3}; lower is better).",
                    scored.debate.brier,
                    scored.debate.log,
                    scored.uniform.brier,
                    scored.uniform.log
                )),
                (None, Some(day)) => {
                    output::note(&format!("It is scored when {day} is over."));
                }
                (None, None) => output::note("There is no forecast in it to score."),
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// By id, or by label in whatever case.
fn known<'a>(given: &str, outcomes: &'a [Outcome]) -> Result<&'a Outcome, Failure> {
    let wanted = given.trim().to_lowercase();
    let by_id = outcomes.iter().find(|it| it.id == given.trim());
    let by_label = || outcomes.iter().find(|it| it.label.to_lowercase() == wanted);
    by_id.or_else(by_label).ok_or_else(|| {
        let all: Vec<_> = outcomes
            .iter()
            .map(|it| format!("{} ({})", it.id, it.label))
            .collect();
        Failure::usage(format!(
            "there is no outcome '{given}'; there are: {}",
            all.join(", ")
        ))
    })
}
