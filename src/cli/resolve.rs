//! `roundtable resolve`

use std::process::ExitCode;

use roundtable_engine::protocols;
use roundtable_engine::protocols::forecast::{Edge, Outcome, Rules, Scored, resolution_of, scored};
use serde_json::json;

use crate::clock;
use crate::store::Resolution;

use super::{audit, output};
use crate::app_context::AppContext;
use crate::failure::Failure;

/// Record the outcome of a forecast, so that it can be scored
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable resolve last above-3\n  roundtable resolve 3f2a \"From 2 to 3%\" --by Eurostat\n  roundtable resolve 3f2a --withdraw\n\nA later outcome replaces an earlier one. A forecast is scored once its resolution date is past."
)]
pub(crate) struct Args {
    /// The debate's id, an unambiguous prefix of it, or `last`
    id: String,
    /// The outcome that happened, by id or label, or the number or date
    #[arg(required_unless_present = "withdraw")]
    outcome: Option<String>,
    /// Remove the recorded outcome
    #[arg(long, conflicts_with = "outcome")]
    withdraw: bool,
    /// Source of the outcome: a person or a publication
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let store = app.store().await?;
    let row = store.find(&args.id).await?;
    let entries = store.entries(row.id).await?;
    let rules = Rules::of(&entries).ok_or_else(|| {
        Failure::usage(format!(
            "cannot resolve {}: it is not a forecast ({}), and only forecasts have an outcome to record. \
             `roundtable list` shows the kind of each debate",
            row.id,
            protocols::title(&row.protocol)
        ))
    })?;
    let (outcome, value) = match &args.outcome {
        Some(given) => {
            let (outcome, value) = find_outcome(given, &rules)?;
            (Some(outcome), value)
        }
        None => (None, None),
    };
    if outcome.is_none() && resolution_of(&entries).is_none() {
        return Err(Failure::usage(format!(
            "debate {} has no recorded outcome to withdraw",
            row.id
        )));
    }
    let now = clock::now();
    let resolution = Resolution {
        outcome: outcome.map(|outcome| outcome.id.clone()),
        by: args.by,
        value: value.map(Edge::recorded),
    };
    let detail = match &resolution.outcome {
        Some(outcome) => format!("outcome '{outcome}'"),
        None => "withdrawn".to_owned(),
    };
    let action = audit::Action {
        name: "resolution",
        subject: &row.id.to_string(),
        detail: Some(detail),
    };
    let resolving = store.resolve(row.id, resolution, now);
    audit::recorded(app, &store, action, resolving).await?;
    let entries = store.entries(row.id).await?;
    store.close().await;
    let scored = scored(&row.id.to_string(), &entries, now);
    if args.json {
        output::json(&json!({
            "id": row.id,
            "outcome": outcome.map(|outcome| &outcome.id),
            "label": outcome.map(|outcome| &outcome.label),
            "scores": scored,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    match outcome {
        None => output::line(&format!("Removed the outcome of {}.", row.id)),
        Some(outcome) => {
            output::line(&format!(
                "Recorded outcome '{}' for {}.",
                outcome.label, row.id
            ));
            match (scored, rules.resolves_on) {
                (Some(scored), _) => {
                    output::line(&format!(
                        "Brier score {:.3}, log score {:.3} (uniform: {:.3}, {:.3}; lower is better; Brier is half the sum of the squared errors).",
                        scored.debate.brier,
                        scored.debate.log,
                        scored.uniform.brier,
                        scored.uniform.log
                    ));
                    if let Some(line) = crps(&scored, &rules) {
                        output::line(&line);
                    }
                }
                (None, Some(day)) => {
                    output::line(&format!("It will be scored after {day}."));
                }
                (None, None) => output::line("It has no probabilities to score."),
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// `CRPS 0.292 % (uniform: 0.319; …)`
fn crps(scored: &Scored, rules: &Rules) -> Option<String> {
    let (own, uniform) = (scored.debate.crps?, scored.uniform.crps?);
    let unit = match (&rules.scale.as_ref()?.unit, value_is_date(rules)) {
        (_, true) => " days",
        (Some(unit), false) => &format!(" {unit}"),
        (None, false) => "",
    };
    Some(format!(
        "CRPS {own:.3}{unit} (uniform: {uniform:.3}; the squared distance of the cumulative distribution to the value, within the range)."
    ))
}

fn value_is_date(rules: &Rules) -> bool {
    let scale = rules.scale.as_ref();
    let first = scale.and_then(|scale| scale.edges.first());
    matches!(first, Some(Edge::Date(_)))
}

/// By id, by label in any case, or by a number or date, which is returned too.
pub(super) fn find_outcome<'a>(
    given: &str,
    rules: &'a Rules,
) -> Result<(&'a Outcome, Option<Edge>), Failure> {
    rules.find_outcome(given).ok_or_else(|| {
        let all = rules.request.prediction_context.outcomes.iter();
        let all: Vec<_> = all
            .map(|outcome| format!("{} ({})", outcome.id, outcome.label))
            .collect();
        Failure::usage(format!(
            "unknown outcome '{given}': expected one of {}",
            all.join(", ")
        ))
    })
}
