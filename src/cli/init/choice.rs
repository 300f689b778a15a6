//! The choice of a model, and its test with one small call.

use std::time::Instant;

use roundtable_core::usage::Money;
use roundtable_engine::budget::Budget;
use serde_json::{Value, json};

use super::super::output::{self, BAD, GOOD, painted};
use super::super::{doctor, pull};
use super::found::Found;
use super::prompt::{MAX_ATTEMPTS, Prompt, Stop};
use super::{Args, note};
use crate::app_context::AppContext;
use crate::config::ModelName;
use crate::embedded;
use crate::failure::Failure;
use crate::model_probe::trial;
use crate::models::{ModelPolicy, TierModels};

const DOWNLOAD: &str = "Test it? If necessary, this downloads its weights. [Y/n]";

/// A successful or failed test call.
pub(super) struct Test {
    reply: Result<String, String>,
    ms: u64,
    tokens: u64,
    cost: Option<Money>,
}

impl Test {
    pub(super) fn to_json(&self) -> Value {
        let (is_ok, text) = match &self.reply {
            Ok(text) => (true, text),
            Err(text) => (false, text),
        };
        json!({ "ok": is_ok, "reply": text, "ms": self.ms, "cost": self.cost })
    }
}

/// The models to write, and how they were tested.
pub(super) async fn choose(
    app: &AppContext,
    args: &Args,
    found: Option<&Found>,
    mut prompt: Option<&mut Prompt>,
) -> Result<(TierModels, Option<Test>), Stop> {
    for _ in 0..MAX_ATTEMPTS {
        let models = match (&args.model, found, prompt.as_deref_mut()) {
            (Some(name), _, _) => same_for_both(app.config.model_name(name)?),
            (None, Some(found), Some(prompt)) => found.ask(app, prompt).await?,
            (None, Some(found), None) => found.default()?.clone(),
            (None, None, _) => break,
        };
        let needs_weights = models.deliberate.provider() == embedded::PROVIDER
            && found.is_none_or(|found| found.weights.is_none());
        let wants_test = match prompt.as_deref_mut() {
            _ if args.no_test => false,
            Some(prompt) if needs_weights => prompt.confirm(DOWNLOAD, true).await?,
            Some(_) | None => true,
        };
        if !wants_test {
            return Ok((models, None));
        }
        let test = test(app, args, &models.deliberate).await;
        let Err(reason) = &test.reply else {
            return Ok((models, Some(test)));
        };
        let problem = format!("{} does not work: {reason}", models.deliberate);
        let Some(prompt) = prompt.as_deref_mut() else {
            return Err(Stop::Failed(Failure::no_model(format!(
                "{problem}\nNothing was changed. --no-test writes the configuration without a test."
            ))));
        };
        let mark = painted(BAD, "FAIL");
        output::note(&format!("{mark} {}", output::harmless(&problem)));
        if prompt.confirm("Use it anyway? [y/N]", false).await? {
            return Ok((models, Some(test)));
        }
        if args.model.is_some() {
            break;
        }
    }
    Err(Stop::Failed(Failure::no_model(
        "no model was chosen. Nothing was changed",
    )))
}

pub(super) fn same_for_both(model: ModelName) -> TierModels {
    TierModels {
        fast: model.clone(),
        deliberate: model,
    }
}

async fn test(app: &AppContext, args: &Args, model: &ModelName) -> Test {
    note(args, &format!("Testing {model} with one small call …"));
    let started = Instant::now();
    let (limits, policy) = (Budget::default(), ModelPolicy::default());
    let tried = trial(app, model, &limits, &policy, pull::reporter(!args.json)).await;
    let ms = doctor::elapsed(started);
    let test = match tried {
        Ok(trial) => Test {
            reply: trial.reply,
            ms,
            tokens: trial.usage.total(),
            cost: trial.cost,
        },
        Err(failure) => Test {
            reply: Err(failure.message().to_owned()),
            ms,
            tokens: 0,
            cost: None,
        },
    };
    if let Ok(reply) = &test.reply {
        let cost = output::cost(test.cost, test.tokens);
        let cost = cost.map_or_else(String::new, |cost| format!(", {cost}"));
        let (reply, ms) = (output::short(reply, 40), output::duration(test.ms));
        let mark = painted(GOOD, "ok");
        note(args, &format!("{mark}  {reply} in {ms}{cost}"));
    }
    test
}
