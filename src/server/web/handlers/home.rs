//! The start page: shows the form and starts the debate.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Extension, Query, State};
use axum::response::{IntoResponse, Response};
use roundtable_engine::cast::Cast;
use roundtable_engine::data::{Data, DataError, DataKind};
use roundtable_engine::depth::Depth;
use roundtable_engine::form::Task;
use roundtable_engine::preset::Preset;
use roundtable_engine::protocol::AnyProtocol;
use roundtable_engine::protocols;
use roundtable_engine::transcript::capital;
use serde_json::{Value, json};

use super::super::debates::Row;
use super::super::fields::{FieldGroup, protocol_input};
use super::super::form_key::{FORM_KEY, create_request, new_key};
use super::super::home::{
    FormOptions, HomeView, ModelOption, ProviderModels, SeatField, TaskPanel, Way, cast_title,
};
use super::super::routes::{frame, page, redirect_to_debate};
use super::super::start_form::{SentForm, StartForm, UploadedFile};
use crate::config::ModelName;
use crate::failure::{Failure, Fault};
use crate::format::short;
use crate::models::{self, Discovery, discover_within};
use crate::server::App;
use crate::server::access::Caller;
use crate::server::problem::Problem;
use crate::server::requests::{BudgetRequest, GivenSource, NewDebate};
use crate::server::rest;
use crate::store::{Created, Filter, TokenLimits};

/// Limit on the time that a page waits for the providers' lists of models.
pub(super) const DISCOVERY_TIMEOUT: Duration = Duration::from_millis(1500);
const RECENT_DEBATES: u32 = 5;
const MAX_MODELS_PER_PROVIDER: usize = 60;
/// The prefix of the name of a preset among the ways of a task.
const PRESET: &str = "preset:";

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Query(mut form): Query<StartForm>,
) -> Result<Response, Problem> {
    form.values.insert(FORM_KEY.to_owned(), new_key());
    let options = form_options(&app, &caller, &form).await?;
    let view = HomeView::new(options, form);
    Ok(page(view.page(frame("ask", Some(&caller)))))
}

pub(crate) async fn start(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    SentForm(form): SentForm,
) -> Result<Response, Problem> {
    match create(&app, &caller, &form).await {
        Ok(Created::New(id) | Created::Existing(id)) => Ok(redirect_to_debate(&id.to_string())),
        Ok(Created::KeyConflict) => Err(Problem::internal(
            "key conflict for a key with the hash of its request",
        )),
        Err(problem) => form_again(&app, &caller, form, Err(problem)).await,
    }
}

/// The form again, with what the debate would use.
pub(crate) async fn estimate(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    SentForm(form): SentForm,
) -> Result<Response, Problem> {
    let estimated = match new_debate(&app.context.data, &form) {
        Ok(request) => rest::estimate_of(&app, &caller, request).await,
        Err(problem) => Err(problem),
    };
    let text = estimated.map(|estimate| format!("{} ({})", estimate.text, estimate.basis));
    form_again(&app, &caller, form, text).await
}

/// The form with everything that was typed, and an estimate or what is wrong with it.
async fn form_again(
    app: &App,
    caller: &Caller,
    form: StartForm,
    estimate: Result<String, Problem>,
) -> Result<Response, Problem> {
    let mut view = HomeView::new(form_options(app, caller, &form).await?, form);
    let frame = frame("ask", Some(caller));
    match estimate {
        Ok(estimate) => {
            view.estimate = Some(estimate);
            Ok(page(view.page(frame)))
        }
        Err(problem) => {
            let view = view.with_problems(problem.messages());
            Ok((problem.status(), page(view.page(frame))).into_response())
        }
    }
}

async fn create(app: &Arc<App>, caller: &Caller, form: &StartForm) -> Result<Created, Problem> {
    let request = create_request(caller, form.get(FORM_KEY), &(&form.values, &form.files));
    if let Some(created) = app.store.find_created(&request).await? {
        return Ok(created);
    }
    let spec = rest::spec_of(app, caller, new_debate(&app.context.data, form)?).await?;
    rest::start(app, caller, spec, &request).await
}

/// The form as a request of the API.
pub(crate) fn new_debate(data: &Data, form: &StartForm) -> Result<NewDebate, Problem> {
    let mut faults = Vec::new();
    let chosen = chosen_way(data, form)
        .map_err(|message| faults.push(Fault::new("/cast", message)))
        .ok();
    let max_cost = number(form.get("max_cost"), "spending limit", &mut faults);
    let max_tokens = number(form.get("max_tokens"), "number of tokens", &mut faults);
    let minutes: Option<f64> = number(form.get("max_minutes"), "number of minutes", &mut faults);
    let Some((protocol, mut request)) = chosen else {
        return Err(Problem::invalid(faults));
    };
    form.get("question").clone_into(&mut request.question);
    if let Some(model) = non_empty(form.get("model")) {
        request.model = Some(model);
    }
    if let Some(cast) = &request.cast {
        let seats = form.with_prefix("seat.");
        let seats = seats.filter_map(|(name, model)| {
            let seat = name.strip_prefix(cast.as_str())?.strip_prefix('.')?;
            Some((seat.to_owned(), model.to_owned()))
        });
        request.seats.extend(seats);
    }
    if let Some(depth) = Depth::named(form.get("depth")).filter(|depth| *depth != Depth::default())
    {
        request.depth = depth;
    }
    let rules = protocol_input(protocol, data, &form.values, &mut faults);
    request.rules.extend(rules);
    add_files(&mut request, protocol, &form.files, &mut faults);
    let preset = request.budget.unwrap_or_default();
    request.budget = Some(BudgetRequest {
        max_tokens: max_tokens.or(preset.max_tokens),
        max_cost: max_cost.or(preset.max_cost),
        max_seconds: minutes.map(|minutes| minutes * 60.0).or(preset.max_seconds),
    });
    if faults.is_empty() {
        Ok(request)
    } else {
        Err(Problem::invalid(faults))
    }
}

/// The chosen cast or preset, or the default of the task.
fn chosen_way(
    data: &Data,
    form: &StartForm,
) -> Result<(&'static dyn AnyProtocol, NewDebate), String> {
    let task = Task::named(form.get("task")).unwrap_or_default();
    let way = form.get(&TaskPanel::field(task));
    if let Some(name) = way.strip_prefix(PRESET) {
        let preset = Preset::load(data, name).map_err(|error| error.to_string())?;
        let protocol = preset.protocol().unwrap_or(protocols::ALL[0]);
        return Ok((protocol, NewDebate::of_preset(preset)));
    }
    if way.is_empty() {
        let first = protocols::ALL.iter().find(|known| known.task() == task);
        let protocol = *first.unwrap_or(&protocols::ALL[0]);
        return Ok((protocol, NewDebate::of(protocol.name())));
    }
    let protocol = protocol_of(data, way)?;
    let request = NewDebate {
        cast: Some(way.to_owned()),
        ..NewDebate::of(protocol.name())
    };
    Ok((protocol, request))
}

/// Files are what is judged, or sources for the seats, or a part of the question: what the protocol reads.
fn add_files(
    request: &mut NewDebate,
    protocol: &dyn AnyProtocol,
    files: &[UploadedFile],
    faults: &mut Vec<Fault>,
) {
    let mut texts = Vec::new();
    for file in files {
        let name = short(&file.name, 200);
        match &file.text {
            Some(text) if !text.trim().is_empty() => texts.push((name, text.clone())),
            Some(_) => faults.push(Fault::new("/sources", format!("'{name}' is empty"))),
            None => {
                let message =
                    format!("'{name}' is not text: use Markdown, text, HTML or CSV files");
                faults.push(Fault::new("/sources", message));
            }
        }
    }
    if texts.is_empty() {
        return;
    }
    if let Some(parts) = protocol.parts() {
        let question = std::mem::take(&mut request.question);
        if !question.is_empty() {
            texts.insert(0, ("the text".to_owned(), question));
        }
        let texts = texts.into_iter();
        let texts: Vec<Value> = texts
            .map(|(name, text)| json!({ "kind": "text", "name": name, "text": text }))
            .collect();
        request.rules.insert(parts.to_owned(), texts.into());
    } else if protocol.needs().sources {
        let sources = texts.into_iter();
        request.sources = sources
            .map(|(name, text)| GivenSource { name, text })
            .collect();
    } else {
        for (name, text) in texts {
            request.question = format!("{}\n\n## {name}\n\n{text}", request.question);
        }
        request.question = request.question.trim().to_owned();
    }
}

fn protocol_of(data: &Data, cast: &str) -> Result<&'static dyn AnyProtocol, String> {
    let cast = Cast::load(data, cast).map_err(|error| error.to_string())?;
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
            format!("invalid {what} '{}': expected a number", short(&text, 40)),
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
    let recent = Filter {
        token: caller.only(),
        limit: RECENT_DEBATES,
        ..Filter::default()
    };
    let mut recent = app.store.list_uncounted(&recent).await?;
    app.store.add_results(&mut recent).await?;
    Ok(FormOptions {
        tasks: task_panels(&app.context.data, form)?,
        providers: provider_models(&discovery, &caller.limits),
        default_model: default.map(|choice| choice.model.to_string()),
        advice: discovery.advice.as_deref().map(capital),
        recent: recent.iter().map(|row| Row::new(row, false)).collect(),
    })
}

/// The tasks with all casts and presets that can be loaded, in the order of their protocols.
pub(crate) fn task_panels(data: &Data, form: &StartForm) -> Result<Vec<TaskPanel>, Problem> {
    let failed = |error: DataError| Problem::from(Failure::from(error));
    // A broken cast or preset is left out here; naming it in a request reports what is wrong with it.
    let casts = data.all(DataKind::Casts).map_err(failed)?.into_keys();
    let casts: Vec<Cast> = casts
        .filter_map(|file| Cast::load(data, file.trim_end_matches(".toml")).ok())
        .collect();
    let presets = data.all(DataKind::Presets).map_err(failed)?;
    let presets: Vec<Preset> = presets
        .values()
        .filter_map(|text| Preset::parse(text).ok())
        .collect();
    let panels = Task::ALL.into_iter().map(|task| {
        let of_task = || {
            protocols::ALL
                .iter()
                .filter(move |known| known.task() == task)
        };
        let mut ways = Vec::new();
        for protocol in of_task() {
            let casts = casts.iter().filter(|cast| cast.protocol == protocol.name());
            ways.extend(casts.map(|cast| way_of_cast(cast, protocol.name(), form)));
        }
        for protocol in of_task() {
            let presets = presets.iter().filter(|preset| {
                let own = preset.protocol().map(AnyProtocol::name);
                own == Some(protocol.name())
            });
            ways.extend(presets.map(|preset| way_of_preset(preset, protocol.name())));
        }
        let groups = of_task().map(|protocol| FieldGroup::of(*protocol, data, &form.values));
        let groups = groups.filter(|group| !group.fields.is_empty()).collect();
        TaskPanel::new(task, ways, groups)
    });
    Ok(panels.collect())
}

fn way_of_cast(cast: &Cast, protocol: &'static str, form: &StartForm) -> Way {
    let seats = cast.seats.iter().map(|seat| {
        let name = format!("seat.{}.{}", cast.name, seat.name);
        SeatField {
            title: seat.title.clone(),
            value: form.get(&name).to_owned(),
            name,
        }
    });
    Way {
        value: cast.name.clone(),
        protocol,
        title: cast.title.clone().unwrap_or_else(|| cast_title(&cast.name)),
        summary: cast.summary.clone(),
        seats: seats.collect(),
        is_chosen: false,
    }
}

fn way_of_preset(preset: &Preset, protocol: &'static str) -> Way {
    Way {
        value: format!("{PRESET}{}", preset.name),
        protocol,
        title: cast_title(&preset.name),
        summary: preset.summary.clone(),
        seats: Vec::new(),
        is_chosen: false,
    }
}

/// The models that the token may use.
fn provider_models(discovery: &Discovery, limits: &TokenLimits) -> Vec<ProviderModels> {
    let findings = discovery.findings.iter();
    findings
        .map(|finding| {
            let models = finding.models.iter().map(|model| ModelOption {
                value: format!("{}:{model}", finding.provider),
                label: model.clone(),
                family: models::family(&ModelName::new(&finding.provider, model)),
                is_chosen: false,
            });
            let allowed = models.filter(|option| limits.allows(&option.value));
            ProviderModels {
                provider: finding.provider.clone(),
                models: allowed.take(MAX_MODELS_PER_PROVIDER).collect(),
            }
        })
        .filter(|provider| !provider.models.is_empty())
        .collect()
}
