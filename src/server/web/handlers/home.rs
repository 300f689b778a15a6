//! The home page: shows the form and starts the debate.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Extension, Form, Query, State};
use axum::response::{IntoResponse, Response};
use roundtable_core::usage::Price;
use roundtable_engine::cast::Cast;
use roundtable_engine::data::{DataError, DataKind};
use roundtable_engine::depth::Depth;
use roundtable_engine::event::State as DebateState;
use roundtable_engine::protocol::AnyProtocol;
use roundtable_engine::protocols;
use uuid::Uuid;

use super::super::Choice;
use super::super::debates::Row;
use super::super::fields::{FieldGroup, protocol_input};
use super::super::home::{
    CastOption, FormOptions, HomeView, ProviderModels, StartForm, cast_title,
};
use super::super::routes::{frame, page, redirect_to_debate};
use crate::estimate::{self, UsageEstimate};
use crate::failure::{Failure, Fault};
use crate::format::short;
use crate::models::{Discovery, discover_within};
use crate::server::App;
use crate::server::access::Caller;
use crate::server::problem::Problem;
use crate::server::requests::{BudgetRequest, NewDebate};
use crate::server::rest;
use crate::store::{self, Created, Filter, TokenLimits};

/// Limit on the time that a page waits for the providers' lists of models.
pub(super) const DISCOVERY_TIMEOUT: Duration = Duration::from_millis(1500);
const RECENT_DEBATES: u32 = 5;
const MAX_MODELS_PER_PROVIDER: usize = 60;

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Query(form): Query<StartForm>,
) -> Result<Response, Problem> {
    let form = StartForm {
        form_key: Uuid::new_v4().to_string(),
        ..form
    };
    let options = form_options(&app, &caller, &form).await?;
    let view = HomeView::new(options, form);
    Ok(page(view.page(frame("ask", Some(&caller)))))
}

pub(crate) async fn start(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Form(form): Form<StartForm>,
) -> Result<Response, Problem> {
    match create(&app, &caller, &form).await {
        Ok(Created::New(id) | Created::Existing(id)) => Ok(redirect_to_debate(&id.to_string())),
        Ok(Created::KeyConflict) => Err(Problem::internal(
            "key conflict for a key with the hash of its request",
        )),
        Err(problem) => {
            // The form is shown again with everything that was typed.
            let mut view = HomeView::new(form_options(&app, &caller, &form).await?, form);
            view.problems = problem.messages();
            let body = view.page(frame("ask", Some(&caller)));
            Ok((problem.status(), page(body)).into_response())
        }
    }
}

/// The form again, with what the debate would use.
pub(crate) async fn estimate(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Form(form): Form<StartForm>,
) -> Result<Response, Problem> {
    let estimated = match new_debate(&app, &form) {
        Ok(request) => rest::estimate_of(&app, &caller, request).await,
        Err(problem) => Err(problem),
    };
    let mut view = HomeView::new(form_options(&app, &caller, &form).await?, form);
    let frame = frame("ask", Some(&caller));
    match estimated {
        Ok(estimate) => {
            view.estimate = Some(format!("{} ({})", estimate.text, estimate.basis));
            Ok(page(view.page(frame)))
        }
        Err(problem) => {
            view.problems = problem.messages();
            Ok((problem.status(), page(view.page(frame))).into_response())
        }
    }
}

async fn create(app: &Arc<App>, caller: &Caller, form: &StartForm) -> Result<Created, Problem> {
    let request = create_request(caller, form);
    if let Some(created) = app.store.find_created(&request).await? {
        return Ok(created);
    }
    let spec = rest::spec_of(app, caller, new_debate(app, form)?).await?;
    rest::start(app, caller, spec, &request).await
}

/// A form that is sent again, by a double click or a reload, starts no second debate. One that was changed before it was sent
/// again does, so the key has a hash of the form too.
fn create_request(caller: &Caller, form: &StartForm) -> store::CreateRequest {
    let content = serde_json::to_vec(form).unwrap_or_default();
    let fingerprint = rest::fingerprint(&content);
    let is_key = Uuid::try_parse(&form.form_key).is_ok();
    let key = is_key.then(|| rest::key_of(caller, &format!("form/{fingerprint}")));
    store::CreateRequest {
        key,
        fingerprint,
        token: caller.token,
        is_attended: false,
    }
}

/// The form as a request of the API.
fn new_debate(app: &App, form: &StartForm) -> Result<NewDebate, Problem> {
    let data = &app.context.data;
    let mut faults = Vec::new();
    let cast = non_empty(&form.cast);
    let protocol = match &cast {
        Some(name) => match protocol_of(app, name) {
            Ok(protocol) => Some(protocol),
            Err(message) => {
                faults.push(Fault::new("/cast", message));
                None
            }
        },
        None => Some(protocols::ALL[0]),
    };
    let max_cost = number(&form.max_cost, "cost", &mut faults);
    let max_tokens = number(&form.max_tokens, "number of tokens", &mut faults);
    let minutes: Option<f64> = number(&form.max_minutes, "number of minutes", &mut faults);
    let (Some(protocol), true) = (protocol, faults.is_empty()) else {
        return Err(Problem::invalid(faults));
    };
    Ok(NewDebate {
        protocol: protocol.name().to_owned(),
        question: form.question.clone(),
        cast,
        model: non_empty(&form.model),
        seats: BTreeMap::new(),
        depth: Depth::named(&form.depth).unwrap_or_default(),
        rules: protocol_input(protocol, data, &form.fields),
        sources: Vec::new(),
        budget: Some(BudgetRequest {
            max_tokens,
            max_cost,
            max_seconds: minutes.map(|minutes| minutes * 60.0),
        }),
        allow_secrets: false,
        seed: None,
        parent: None,
    })
}

fn protocol_of(app: &App, cast: &str) -> Result<&'static dyn AnyProtocol, String> {
    let cast = Cast::load(&app.context.data, cast).map_err(|error| error.to_string())?;
    protocols::named(&cast.protocol).ok_or_else(|| {
        format!(
            "the cast '{}' is for the unknown protocol '{}'",
            cast.name, cast.protocol
        )
    })
}

fn non_empty(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

pub(super) fn number<N: std::str::FromStr>(
    text: &str,
    what: &str,
    faults: &mut Vec<Fault>,
) -> Option<N> {
    let text = non_empty(text)?;
    let number = text.parse().ok();
    if number.is_none() {
        faults.push(Fault::new(
            "",
            format!("invalid {what} '{}'", short(&text, 40)),
        ));
    }
    number
}

async fn form_options(
    app: &App,
    caller: &Caller,
    form: &StartForm,
) -> Result<FormOptions, Problem> {
    let discovery = discover_within(&app.context.models, DISCOVERY_TIMEOUT).await;
    let default = discovery.deliberate.as_ref();
    let price = default.and_then(|choice| app.context.models.price(&choice.model));
    let recent = Filter {
        token: caller.only(),
        limit: RECENT_DEBATES,
        ..Filter::default()
    };
    let recent = app.store.list_uncounted(&recent).await?;
    Ok(FormOptions {
        casts: cast_options(app, caller, price.as_ref()).await?,
        groups: FieldGroup::all(&app.context.data, &form.fields),
        providers: provider_models(&discovery, &caller.limits),
        default_model: default.map(|choice| (choice.model.to_string(), choice.why.clone())),
        advice: discovery.advice.clone(),
        recent: recent.iter().map(|row| Row::new(row, false)).collect(),
    })
}

/// All casts that can be loaded, in the order of their protocols.
async fn cast_options(
    app: &App,
    caller: &Caller,
    price: Option<&Price>,
) -> Result<Vec<CastOption>, Problem> {
    let data = &app.context.data;
    let files = data
        .all(DataKind::Casts)
        .map_err(|error: DataError| Problem::from(Failure::from(error)))?;
    // A broken cast is left out here; naming it in a request reports what is wrong with it.
    let casts: Vec<Cast> = files
        .into_keys()
        .filter_map(|file| Cast::load(data, file.trim_end_matches(".toml")).ok())
        .collect();
    let earlier = Filter {
        state: Some(DebateState::Complete),
        token: caller.only(),
        limit: estimate::SAMPLE,
        ..Filter::default()
    };
    let names = protocols::names();
    let usage = app.store.usage_by_protocol(&names, &earlier).await?;
    let mut options = Vec::new();
    for protocol in protocols::ALL {
        let earlier = usage.get(protocol.name()).map_or(&[][..], Vec::as_slice);
        for cast in casts.iter().filter(|cast| cast.protocol == protocol.name()) {
            options.push(CastOption {
                cast: cast.name.clone(),
                protocol: protocol.name(),
                // The default cast has the protocol's name, which says how it works; its title says what it gives.
                title: if cast.name == protocol.name() {
                    protocol.title().to_owned()
                } else {
                    cast_title(&cast.name)
                },
                summary: cast.summary.clone(),
                estimate: UsageEstimate::new(earlier, cast).to_text(price),
                is_chosen: false,
            });
        }
    }
    Ok(options)
}

/// The models that the token may use.
fn provider_models(discovery: &Discovery, limits: &TokenLimits) -> Vec<ProviderModels> {
    let findings = discovery.findings.iter();
    findings
        .map(|finding| {
            let models = finding.models.iter().map(|model| Choice {
                value: format!("{}:{model}", finding.provider),
                label: model.clone(),
                is_chosen: false,
            });
            let allowed = models.filter(|choice| limits.allows(&choice.value));
            ProviderModels {
                provider: finding.provider.clone(),
                models: allowed.take(MAX_MODELS_PER_PROVIDER).collect(),
            }
        })
        .filter(|provider| !provider.models.is_empty())
        .collect()
}
