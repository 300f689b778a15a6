//! The models page, with a test call to a model.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Form, State};
use axum::response::Response;
use serde::Deserialize;

use super::super::models::{ModelsView, ProviderRow, Setting, Settings, TestResult, Tier};
use super::super::routes::{MaybeCaller, frame, may, page};
use crate::config::Origin;
use crate::format::{counted, duration, per_million, short};
use crate::model_probe::trial;
use crate::models::{Choice, ModelPreferences, Search, discover};
use crate::server::App;
use crate::server::scheduler::progress_sink;
use crate::store::Scope;

pub(crate) async fn show(State(app): State<Arc<App>>, caller: MaybeCaller) -> Response {
    let view = view(&app, &caller).await;
    page(view.page(frame("models", caller.as_deref())))
}

async fn view(app: &App, caller: &MaybeCaller) -> ModelsView {
    let context = &app.context;
    let preferences = ModelPreferences::default();
    let discovery = discover(&context.models, &preferences, Search::Everything).await;
    let can_test = may(caller, Scope::Run);
    // The reasons name addresses and environment variables.
    let is_admin = may(caller, Scope::Admin);
    let tier = |title: &str, choice: Option<&Choice>| {
        let tier = tier(app, title, choice, can_test);
        let why = if is_admin { tier.why } else { String::new() };
        Tier { why, ..tier }
    };
    let embeddings = Tier {
        title: "Embeddings".into(),
        model: context.embedder_name().to_string(),
        why: "compares texts".into(),
        price: None,
        can_test: false,
    };
    ModelsView {
        problems: Vec::new(),
        test: None,
        tiers: vec![
            tier("Deliberate tier", discovery.deliberate.as_ref()),
            tier("Fast tier", discovery.fast.as_ref()),
            embeddings,
        ],
        advice: discovery.advice,
        providers: discovery
            .findings
            .into_iter()
            .map(|finding| ProviderRow {
                note: match (is_admin, finding.models.len()) {
                    (true, _) => finding.note,
                    (false, 0) => "no models listed".into(),
                    (false, count) => counted(count, "model"),
                },
                provider: finding.provider,
                models: short(&finding.models.join(", "), 400),
            })
            .collect(),
        settings: is_admin.then(|| settings(app)),
    }
}

fn tier(app: &App, title: &str, choice: Option<&Choice>, can_test: bool) -> Tier {
    let Some(choice) = choice else {
        return Tier {
            title: title.to_owned(),
            model: "none".into(),
            why: "no usable model was found".into(),
            price: None,
            can_test: false,
        };
    };
    let price = app.context.models.price(&choice.model);
    let price = price.map_or_else(|| "price unknown".into(), per_million);
    Tier {
        title: title.to_owned(),
        model: choice.model.to_string(),
        why: choice.why.clone(),
        price: Some(price),
        can_test,
    }
}

fn settings(app: &App) -> Settings {
    let config = &app.context.config;
    let rows = config.settings().iter().map(|setting| Setting {
        key: setting.key.clone(),
        value: setting.value.clone().unwrap_or_else(|| "–".into()),
        origin: match &setting.origin {
            Origin::Default => "default".into(),
            Origin::File { line, .. } => format!("line {line}"),
            Origin::Environment { variable } => variable.clone(),
        },
    });
    Settings {
        source: match &config.source {
            Some(path) => format!("From {}", path.display()),
            None => "No configuration file; defaults and environment variables are used.".into(),
        },
        rows: rows.collect(),
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TestForm {
    model: String,
}

pub(crate) async fn test(
    State(app): State<Arc<App>>,
    caller: MaybeCaller,
    Form(form): Form<TestForm>,
) -> Response {
    let mut view = view(&app, &caller).await;
    let started = Instant::now();
    let result = match app.context.config.model_name(&form.model) {
        Ok(name) => trial(&app.context, &name, progress_sink().fetching).await,
        Err(error) => Err(error.into()),
    };
    let elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    view.test = Some(match result {
        Ok((model, reply)) => {
            let (reply, elapsed) = (short(&reply, 60), duration(elapsed_ms));
            TestResult {
                text: format!("{model} answered {reply} in {elapsed}"),
                succeeded: true,
            }
        }
        Err(failure) => TestResult {
            // The message may name the provider's address.
            text: if may(&caller, Scope::Admin) {
                failure.message().to_owned()
            } else {
                "the model did not answer; an administrator sees the reason here".to_owned()
            },
            succeeded: false,
        },
    });
    page(view.page(frame("models", caller.as_deref())))
}
