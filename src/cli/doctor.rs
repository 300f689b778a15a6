//! `roundtable doctor`: checks configuration, data files, store, embedder and models.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Instant;

use roundtable_engine::budget::Budget;
use roundtable_engine::mode::Mode;
use roundtable_engine::prompt::Prompts;
use roundtable_engine::reasoning::Library;
use serde_json::json;

use crate::config::ModelName;
use crate::format::counted;
use crate::model_probe::trial;
use crate::models::{ModelPolicy, ModelPreferences, Search, discover};

use super::{casts, output, presets, pull};
use crate::app_context::AppContext;
use crate::failure::{Code, Failure};

/// Check the setup, with a small call to each model
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  roundtable doctor --json")]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

struct Check {
    part: String,
    outcome: Result<String, String>,
    advice: Option<String>,
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let is_verbose = !args.json;
    let mut checks = Vec::new();
    let mut add = |check: Check| {
        if is_verbose {
            print(&check);
        }
        checks.push(check);
    };
    add(configuration(app));
    add(data_files(app));
    add(store(app).await);
    add(embedder(app, is_verbose).await);
    let found = discover(&app.models, &ModelPreferences::default(), Search::FirstFit).await;
    let mut chosen: BTreeSet<ModelName> = [&found.deliberate, &found.fast]
        .into_iter()
        .flatten()
        .map(|choice| choice.model.clone())
        .collect();
    let mut families = BTreeSet::new();
    let firsts = found.offers.iter();
    let firsts = firsts.filter(|offer| families.insert((&offer.family, offer.model.provider())));
    chosen.extend(firsts.map(|offer| offer.model.clone()));
    if chosen.is_empty() {
        let reason = found.unavailable.clone();
        add(Check {
            part: "model".into(),
            outcome: Err(reason.unwrap_or_else(|| "no usable model found".into())),
            advice: found.advice.clone(),
        });
    } else if let Some(substitution) = found.substitution() {
        add(Check {
            part: "model".into(),
            outcome: Err(substitution),
            advice: None,
        });
    }
    for reason in &found.left_out {
        add(Check {
            part: "provider".into(),
            outcome: Err(reason.clone()),
            advice: None,
        });
    }
    for name in chosen {
        add(model(app, &name, is_verbose).await);
    }
    let failed = checks.iter().any(|check| check.outcome.is_err());
    if args.json {
        let all: Vec<_> = checks
            .iter()
            .map(|check| {
                let (text, ok) = match &check.outcome {
                    Ok(text) => (text, true),
                    Err(text) => (text, false),
                };
                json!({ "part": check.part, "ok": ok, "found": text, "advice": check.advice })
            })
            .collect();
        output::json(&all)?;
    }
    let no_model = checks
        .iter()
        .any(|check| check.part.starts_with("model") && check.outcome.is_err());
    Ok(match (failed, no_model) {
        (false, _) => ExitCode::SUCCESS,
        (true, true) => Code::NoModel.into(),
        (true, false) => Code::Other.into(),
    })
}

fn print(check: &Check) {
    let (mark, text) = match &check.outcome {
        Ok(text) => (output::painted(output::GOOD, "ok  "), text),
        Err(text) => (output::painted(output::BAD, "FAIL"), text),
    };
    output::line(&format!("{mark} {:<14} {text}", check.part));
    if let Some(advice) = &check.advice {
        output::line(&format!("     {:<14} {advice}", ""));
    }
}

fn configuration(app: &AppContext) -> Check {
    let part = "configuration".into();
    let path = app.config.source.as_ref();
    let ignored = app.config.ignored_sections();
    if let (Some(path), false) = (path, ignored.is_empty()) {
        let path = path.display();
        return Check {
            part,
            outcome: Err(format!(
                "{path} of the working folder is not trusted: ignored are {}",
                ignored.join(", ")
            )),
            advice: Some("If you trust this file: roundtable config trust".into()),
        };
    }
    let found = match path {
        Some(path) => path.display().to_string(),
        None => "no file: using defaults and environment variables".into(),
    };
    Check {
        part,
        outcome: Ok(found),
        advice: None,
    }
}

fn data_files(app: &AppContext) -> Check {
    let loaded = Library::load(&app.data)
        .map_err(|error| error.to_string())
        .and_then(|library| {
            Prompts::load(&app.data).map_err(|error| error.to_string())?;
            for name in Mode::names(&app.data).map_err(|error| error.to_string())? {
                Mode::load(&app.data, &name).map_err(|error| error.to_string())?;
            }
            let mut problems = casts::problems(app).map_err(|error| error.to_string())?;
            problems.extend(presets::problems(app).map_err(|error| error.to_string())?);
            if let Some(first) = problems.first() {
                return Err(first.to_string());
            }
            if let Some(provider) = app.models.unknown_price_providers().first() {
                return Err(format!("prices.toml: unknown provider '{provider}'"));
            }
            Ok(format!(
                "{} reasoning templates, prompts, modes, casts and presets; yours are in {}",
                library.all().len(),
                folders(app)
            ))
        });
    Check {
        part: "data files".into(),
        advice: loaded
            .is_err()
            .then(|| "fix or remove the file; without it the built-in one is used".to_owned()),
        outcome: loaded,
    }
}

fn folders(app: &AppContext) -> String {
    let folders = app.data.folders().iter();
    let names: Vec<String> = folders.map(|folder| folder.display().to_string()).collect();
    if names.is_empty() {
        "no folder".into()
    } else {
        names.join(" and ")
    }
}

async fn store(app: &AppContext) -> Check {
    let started = Instant::now();
    let opened = async {
        let store = app.store().await?;
        let count = store.count().await?;
        store.close().await;
        let place = app.address()?;
        Ok::<_, Failure>(format!(
            "{} in {place}, opened in {}",
            counted(usize::try_from(count).unwrap_or(usize::MAX), "debate"),
            output::duration(elapsed(started))
        ))
    };
    Check {
        part: "store".into(),
        outcome: opened.await.map_err(|failure| failure.message().to_owned()),
        advice: None,
    }
}

async fn embedder(app: &AppContext, is_verbose: bool) -> Check {
    let name = app.embedder_name();
    let started = Instant::now();
    let tried = async {
        let embedder = app.embedder(pull::reporter(is_verbose)).await?;
        let vectors = embedder
            .embed(vec!["a small check".into()])
            .await
            .map_err(|error| Failure::other(error.to_string()))?;
        Ok::<_, Failure>(vectors.first().map_or(0, Vec::len))
    };
    let outcome = match tried.await {
        Ok(0) => Err(format!("{name} returned no vector")),
        Ok(dimension) => Ok(format!(
            "{name}, {dimension} dimensions, {}",
            output::duration(elapsed(started))
        )),
        Err(failure) => Err(failure.message().to_owned()),
    };
    Check {
        part: "embedder".into(),
        advice: outcome.is_err().then(|| {
            "debates run without reasoning templates; to use another embedder, set model under [embedder] in the configuration"
                .to_owned()
        }),
        outcome,
    }
}

async fn model(app: &AppContext, name: &ModelName, is_verbose: bool) -> Check {
    let started = Instant::now();
    let (limits, policy) = (Budget::default(), ModelPolicy::default());
    let trial = trial(app, name, &limits, &policy, pull::reporter(is_verbose)).await;
    let outcome = match trial {
        Ok(trial) => trial.reply.map(|text| {
            format!(
                "{} replied {} in {}",
                trial.model,
                output::short(&text, 40),
                output::duration(elapsed(started))
            )
        }),
        Err(failure) => Err(failure.message().to_owned()),
    };
    Check {
        part: "model".into(),
        advice: outcome.is_err().then(|| {
            format!("check the API key, base URL and model name of {name}, or choose another model with --model")
        }),
        outcome,
    }
}

pub(super) fn elapsed(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
