//! The models page, with a test call to a model.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Extension, Form, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use roundtable_core::usage::Money;
use roundtable_engine::transcript::capital;
use serde::Deserialize;

use super::super::models::{ModelsView, ProviderRow, Setting, Settings, TestResult, Tier};
use super::super::routes::{MaybeCaller, frame, may, page};
use super::home::DISCOVERY_TIMEOUT;
use crate::config::{ModelName, Origin};
use crate::format::{counted, duration, money, per_million, short};
use crate::model_probe::{MAX_TEST_USAGE, trial};
use crate::models::{Choice, discover_within};
use crate::server::access::Caller;
use crate::server::audit::AuditNote;
use crate::server::problem::Problem;
use crate::server::quota::record_outside;
use crate::server::scheduler::progress_sink;
use crate::server::test_calls::{TEST_TIMEOUT, TestCalls, TestRefused};
use crate::server::{App, log};
use crate::setup::{check_allowed, price_unknown};
use crate::store::{AuditOutcome, Scope};

pub(crate) async fn show(State(app): State<Arc<App>>, caller: MaybeCaller) -> Response {
    let view = view(&app, &caller).await;
    page(view.page(frame("models", caller.as_deref())))
}

async fn view(app: &App, caller: &MaybeCaller) -> ModelsView {
    let context = &app.context;
    let discovery = discover_within(&context.models, DISCOVERY_TIMEOUT).await;
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
        test_account: TestCalls::summary(&app.store)
            .await
            .unwrap_or_else(|error| {
                log::note(&format!("cannot read the account of test calls: {error}"));
                None
            }),
        tiers: vec![
            tier("Deliberate tier", discovery.deliberate.as_ref()),
            tier("Fast tier", discovery.fast.as_ref()),
            embeddings,
        ],
        advice: discovery.advice.as_deref().map(capital),
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
    caller: Extension<Caller>,
    Form(form): Form<TestForm>,
) -> Response {
    let Extension(known) = caller.clone();
    let caller = Some(caller);
    let (status, mut result) = run_test(&app, &known, &form.model).await;
    if !result.succeeded && status == StatusCode::OK && !may(&caller, Scope::Admin) {
        // The message may name the provider's address.
        "the model did not answer; an administrator sees the reason here"
            .clone_into(&mut result.text);
    }
    let mut view = view(&app, &caller).await;
    let recorded = AuditNote {
        subject: Some(short(&form.model, 200)),
        outcome: (status != StatusCode::OK).then_some(AuditOutcome::Refused),
        ..AuditNote::default()
    };
    view.test = Some(result);
    let page = page(view.page(frame("models", caller.as_deref())));
    (status, Extension(recorded), page).into_response()
}

/// The limits of the token, which hold for test calls too.
async fn check_token(app: &App, caller: &Caller, name: &ModelName) -> Result<(), Problem> {
    let policy = caller.policy();
    check_allowed([name], &policy)?;
    if policy.priced_only && app.context.models.price(name).is_none() {
        return Err(price_unknown(&name.to_string()).into());
    }
    app.quotas.check(&app.store, caller).await
}

/// One test call, counted in the account of test calls and in the log.
async fn run_test(app: &App, caller: &Caller, model: &str) -> (StatusCode, TestResult) {
    let failed = |status, text: String| {
        let succeeded = false;
        (status, TestResult { text, succeeded })
    };
    let limits = app.context.config.limits.budget();
    let name = match app.context.config.model_name(model) {
        Ok(name) => name,
        Err(error) => return failed(StatusCode::UNPROCESSABLE_ENTITY, error.to_string()),
    };
    if let Err(problem) = check_token(app, caller, &name).await {
        return failed(problem.status(), problem.detail().to_owned());
    }
    let price = app.context.models.price(&name);
    let admitted = match app.test_calls.admit(&app.store, &limits, price).await {
        Ok(admitted) => admitted,
        Err(TestRefused::Store(error)) => {
            let problem = Problem::from(error);
            return failed(problem.status(), problem.detail().to_owned());
        }
        Err(refused) => return failed(StatusCode::TOO_MANY_REQUESTS, refused.to_string()),
    };
    let started = Instant::now();
    let sink = progress_sink();
    let policy = caller.policy();
    let call = trial(&app.context, &name, &limits, &policy, sink.fetching);
    let trial = match tokio::time::timeout(TEST_TIMEOUT, call).await {
        Ok(Ok(trial)) => trial,
        Ok(Err(failure)) => {
            // No call was made.
            TestCalls::record(&app.store, admitted, 0, Some(Money::ZERO)).await;
            return failed(StatusCode::OK, failure.message().to_owned());
        }
        Err(_) => {
            // The provider may charge for it: it stays counted as if it had used all it can.
            let cost = price.map(|price| price.of(MAX_TEST_USAGE));
            record_outside(&app.store, caller, cost).await;
            let text = format!("{name}: no answer within {} s", TEST_TIMEOUT.as_secs());
            return failed(StatusCode::OK, text);
        }
    };
    let tokens = trial.usage.total();
    TestCalls::record(&app.store, admitted, tokens, trial.cost).await;
    record_outside(&app.store, caller, trial.cost).await;
    log::note(&format!(
        "test call of {}: {tokens} tokens, {}",
        trial.model,
        money(trial.cost, tokens)
    ));
    let elapsed = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    match trial.reply {
        Ok(reply) => {
            let (model, reply) = (trial.model, short(&reply, 60));
            let text = format!("{model} answered {reply} in {}", duration(elapsed));
            let succeeded = true;
            (StatusCode::OK, TestResult { text, succeeded })
        }
        Err(why) => failed(StatusCode::OK, why),
    }
}
