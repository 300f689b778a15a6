//! `roundtable models`

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use roundtable_engine::cast::Cast;
use roundtable_engine::protocol::Protocol;
use roundtable_engine::protocols::Dialectic;
use roundtable_engine::transcript::capital;
use serde_json::json;

use crate::format::{per_million, size};
use crate::models::{Choice, Discovery, ModelPreferences, Search, discover};

use super::{output, programs};
use crate::app_context::AppContext;
use crate::config::ModelName;
use crate::embedded::EmbeddedModel;
use crate::failure::Failure;
use crate::setup::{no_model, proposed_models};

/// List available models, and which ones would be used
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  roundtable models --json")]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let found = discover(
        &app.models,
        &ModelPreferences::default(),
        Search::Everything,
    )
    .await;
    let price = |choice: &Choice| app.models.price(&choice.model);
    if args.json {
        let tier = |choice: Option<&Choice>| {
            choice.map(|choice| json!({ "model": choice.model, "why": choice.why, "price": price(choice) }))
        };
        let findings: Vec<_> = found
            .findings
            .iter()
            .map(|finding| json!({ "provider": finding.provider, "note": finding.note, "models": finding.models }))
            .collect();
        output::json(&json!({
            "deliberate": tier(found.deliberate.as_ref()),
            "fast": tier(found.fast.as_ref()),
            "embedder": app.embedder_name(),
            "embedded": app.local.list(),
            "found": findings,
            "families": families(&found),
            "left_out": found.left_out,
            "programs": programs::list(app),
            "unavailable": found.unavailable,
            "advice": found.advice,
            "prices_as_of": app.models.prices_as_of(),
        }))?;
    } else {
        for (tier, choice) in [("deliberate", &found.deliberate), ("fast", &found.fast)] {
            match choice {
                Some(choice) => {
                    let price =
                        price(choice).map_or_else(|| "price unknown".to_owned(), per_million);
                    output::line(&format!(
                        "{tier:<11} {}\n            {}; {price}",
                        output::painted(output::BOLD, &choice.model.to_string()),
                        choice.why
                    ));
                }
                None => output::line(&format!("{tier:<11} none")),
            }
        }
        output::line(&format!("{:<11} {}", "embedder", app.embedder_name()));
        for (seat, model, why) in seats_of_ask(app, &found).await? {
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            output::line(&format!("{seat:<11} {model} in `ask`{why}"));
        }
        for reason in &found.left_out {
            output::line(&format!("left out    {reason}"));
        }
        output::line("\nFound:");
        for finding in &found.findings {
            output::line(&format!("  {:<12} {}", finding.provider, finding.note));
            if !finding.models.is_empty() {
                output::line(&format!(
                    "               {}",
                    output::short(&finding.models.join(", "), 300)
                ));
            }
        }
        for line in embedded(&app.local.list()) {
            output::line(&line);
        }
        programs::print(app);
        if let Some(advice) = &found.advice {
            output::line(&format!("\n{}", capital(advice)));
        }
        if let Some(day) = app.models.prices_as_of() {
            output::note(&format!(
                "Built-in prices as of {day}; prices.toml in your configuration folder overrides them."
            ));
        }
    }
    if found.deliberate.is_none() && found.fast.is_none() {
        return Err(no_model(&found));
    }
    Ok(ExitCode::SUCCESS)
}

fn embedded(models: &[EmbeddedModel]) -> Vec<String> {
    let mut lines = Vec::new();
    if !models.is_empty() {
        lines.push("\nEmbedded models (--model local:NAME):".to_owned());
    }
    for model in models {
        let mut parts = vec![size(model.bytes)];
        if model.memory > 0 {
            parts.push(format!("{} of memory", size(model.memory)));
        }
        parts.push(match &model.file {
            Some(path) => path.display().to_string(),
            None => "not downloaded".to_owned(),
        });
        if model.is_auto {
            parts.push("used by local:auto".to_owned());
        }
        lines.push(format!("  {:<28} {}", model.name, parts.join(", ")));
    }
    lines
}

/// The seats of `ask` that get another model than their tier.
async fn seats_of_ask(
    app: &AppContext,
    found: &Discovery,
) -> Result<Vec<(String, ModelName, Option<String>)>, Failure> {
    let cast = Cast::load(&app.data, Dialectic::CAST)?;
    let tiers: Vec<&ModelName> = [&found.deliberate, &found.fast]
        .into_iter()
        .flatten()
        .map(|choice| &choice.model)
        .collect();
    let mut proposed = proposed_models(app, &cast).await;
    proposed.retain(|(_, model, _)| !tiers.contains(&model));
    Ok(proposed)
}

/// The families that can take seats, each with its models.
pub(super) fn families(found: &Discovery) -> BTreeMap<&str, BTreeSet<String>> {
    let mut families: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for offer in &found.offers {
        let models = families.entry(&offer.family).or_default();
        models.insert(offer.model.to_string());
    }
    families
}
