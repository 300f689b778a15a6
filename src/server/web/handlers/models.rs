//! The models page, with a test call to a model.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Extension, Form, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use roundtable_core::usage::Money;
use serde::Deserialize;

use super::super::models::{ModelsView, ProviderRow, Setting, Settings, TestResult, Tier};
use super::super::routes::{MaybeCaller, frame, may, page};
use crate::clock;
use crate::config::Origin;
use crate::failure::Failure;
use crate::format::{counted, duration, per_million, short};
use crate::model_probe::{Trial, trial};
use crate::models::{Choice, ModelPreferences, Search, discover};
use crate::server::App;
use crate::server::access::Caller;
use crate::server::audit::AuditNote;
use crate::server::problem::Problem;
use crate::server::scheduler::progress_sink;
use crate::setup::{check_allowed, price_unknown};
use crate::store::{AuditOutcome, Scope};

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
    let tested = match caller.as_deref() {
        Some(caller) => test_within(&app, caller, &form.model).await,
        None => Err(Problem::internal("a test call without a caller")),
    };
    let recorded = AuditNote {
        subject: Some(short(&form.model, 200)),
        outcome: tested.is_err().then_some(AuditOutcome::Refused),
        ..AuditNote::default()
    };
    let elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let status = tested
        .as_ref()
        .err()
        .map_or(StatusCode::OK, Problem::status);
    view.test = Some(match tested {
        Ok(Ok(Trial { model, reply, .. })) => {
            let (reply, elapsed) = (short(&reply, 60), duration(elapsed_ms));
            TestResult {
                text: format!("{model} answered {reply} in {elapsed}"),
                succeeded: true,
            }
        }
        Ok(Err(failure)) => TestResult {
            // The message may name the provider's address.
            text: if may(&caller, Scope::Admin) {
                failure.message().to_owned()
            } else {
                "the model did not answer; an administrator sees the reason here".to_owned()
            },
            succeeded: false,
        },
        Err(problem) => TestResult {
            text: problem.detail().to_owned(),
            succeeded: false,
        },
    });
    let body = page(view.page(frame("models", caller.as_deref())));
    (status, Extension(recorded), body).into_response()
}

/// A test call within the limits of the token; its cost counts for the day.
async fn test_within(
    app: &App,
    caller: &Caller,
    model: &str,
) -> Result<Result<Trial, Failure>, Problem> {
    let name = match app.context.config.model_name(model) {
        Ok(name) => name,
        Err(error) => return Ok(Err(error.into())),
    };
    let policy = caller.policy();
    check_allowed([&name], &policy)?;
    if policy.priced_only && app.context.models.price(&name).is_none() {
        return Err(price_unknown(model).into());
    }
    app.quotas.check(&app.store, caller).await?;
    let tested = trial(&app.context, &name, &policy, progress_sink().fetching).await;
    if let (Ok(trial), Some(token)) = (&tested, caller.token)
        && let Some(cost) = trial.cost.filter(|cost| *cost > Money::ZERO)
    {
        app.store.add_cost(token, clock::now(), cost).await?;
    }
    Ok(tested)
}
