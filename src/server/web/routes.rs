//! Where the pages are, and what their forms do. Every form ends in a redirect to a page that shows what became of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Extension, Form, Path, Query as Parameters, State as Shared};
use axum::http::{HeaderValue, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use roundtable_core::usage::Usage;
use roundtable_engine::algorithm::Algorithm;
use roundtable_engine::cast::Cast;
use roundtable_engine::data::DataKind;
use roundtable_engine::event::{Entry, Event, State};
use roundtable_engine::mode::Mode;
use roundtable_engine::protocol::AnyProtocol;
use roundtable_engine::protocols::{self, modes};
use roundtable_engine::report::Report;
use roundtable_engine::transcript::Transcript;
use serde::Deserialize;
use tokio::sync::Mutex;

use super::debate::{DebateView, Right};
use super::debates::{DebatesView, Listed, PER_PAGE, Query, Row};
use super::error_page::ErrorView;
use super::home::{
    Asked, Basis, Group, HomeView, Named, Offer, Offered, Rough, Wants, Way, way_title,
};
use super::models::{Found, ModelsView, Setting, Tested, Tier};
use super::sign_in_page::{SignInView, safe_next};
use super::{Frame, Visitor, assets};
use crate::clock;
use crate::config::Origin;
use crate::failure::Fault;
use crate::format::{duration, short};
use crate::model_probe::trial;
use crate::models::{Choice, Discovery, ModelPreferences, Search, discover};
use crate::render;
use crate::server::App;
use crate::server::access::Caller;
use crate::server::problem::Problem;
use crate::server::requests::{BudgetRequest, NewDebate};
use crate::server::rest;
use crate::store::{self, Created, DebateRow, Filter, Rating, Scope};

/// How long what was found about models is taken for true.
const FRESH: Duration = Duration::from_mins(2);
/// How long a page waits for providers to say what they have.
const PATIENCE: Duration = Duration::from_millis(1500);
/// From how many earlier debates the cost of the next is guessed.
const EXPERIENCE: u32 = 5;

/// What the pages remember between two requests.
#[derive(Default)]
struct ProviderHandle {
    found: Mutex<Option<(Instant, Discovery)>>,
}

type Desked = Extension<Arc<ProviderHandle>>;
type Asking = Option<Extension<Caller>>;

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/", get(home))
        .route("/debates", get(list).post(start))
        .route("/debates/{id}", get(show))
        .route("/debates/{id}/panels", get(panels))
        .route("/debates/{id}/turns/{*step}", get(turn))
        .route("/debates/{id}/say", post(say))
        .route("/debates/{id}/pause", post(pause))
        .route("/debates/{id}/decision", post(decide))
        .route("/debates/{id}/cancel", post(cancel))
        .route("/debates/{id}/resume", post(resume))
        .route("/debates/{id}/rating", post(rate))
        .route("/debates/{id}/delete", post(delete))
        .route("/models", get(models))
        .route("/models/test", post(test_model))
        .route("/sign-in", get(sign_in))
        .route("/assets/{file}", get(asset))
        .route("/favicon.ico", get(favicon))
        .layer(Extension(Arc::<ProviderHandle>::default()))
}

fn visitor(caller: Option<&Caller>) -> Visitor {
    match caller {
        Some(caller) if caller.token.is_some() => Visitor::SignedIn,
        Some(_) => Visitor::Local,
        None => Visitor::Stranger,
    }
}

fn frame(tab: &'static str, caller: &Asking) -> Frame {
    Frame::new(tab, visitor(caller.as_deref()))
}

fn may(caller: &Asking, scope: Scope) -> bool {
    caller.as_deref().is_some_and(|caller| caller.may(scope))
}

/// An answer that must not be kept: it changes while a debate runs.
fn page(body: String) -> Response {
    let fresh = HeaderValue::from_static("no-store");
    ([(header::CACHE_CONTROL, fresh)], Html(body)).into_response()
}

/// A problem as a page, for somebody who came with a browser.
pub(crate) fn problem_page(problem: &Problem, request: &str, caller: Option<&Caller>) -> Response {
    let mut view = ErrorView::new(problem.status().as_u16(), problem.detail());
    view.request = Some(request.to_owned());
    let body = view.page(Frame::new("", visitor(caller)));
    (problem.status(), page(body)).into_response()
}

async fn home(
    Shared(app): Shared<Arc<App>>,
    Extension(desk): Desked,
    caller: Asking,
    Parameters(asked): Parameters<Asked>,
) -> Result<Response, Problem> {
    let offer = offer(&app, &desk).await?;
    Ok(page(
        HomeView::new(offer, &asked).page(frame("ask", &caller)),
    ))
}

async fn start(
    Shared(app): Shared<Arc<App>>,
    Extension(desk): Desked,
    caller: Asking,
    Form(asked): Form<Asked>,
) -> Result<Response, Problem> {
    let sent = store::CreateRequest::default();
    let created = match new_debate(&app, &asked)
        .and_then(|content| content.spec(&app.context.config.limits))
    {
        Ok(spec) => rest::start(&app, spec, &sent).await,
        Err(problem) => Err(problem),
    };
    match created {
        Ok(Created::New(id) | Created::Existing(id)) => Ok(to_debate(&id.to_string())),
        Ok(Created::KeyConflict) => Err(Problem::internal("a debate without a key has one")),
        Err(problem) => {
            // What was written is worth more than the form it came in.
            let mut view = HomeView::new(offer(&app, &desk).await?, &asked);
            view.problems = problem.messages();
            let body = view.page(frame("ask", &caller));
            Ok((problem.status(), page(body)).into_response())
        }
    }
}

fn to_debate(id: &str) -> Response {
    Redirect::to(&format!("/debates/{id}")).into_response()
}

/// The form as a request of the API.
fn new_debate(app: &App, asked: &Asked) -> Result<NewDebate, Problem> {
    let cast = Some(asked.cast.trim().to_owned()).filter(|cast| !cast.is_empty());
    let protocol = match &cast {
        Some(name) => {
            Cast::load(&app.context.data, name)
                .map_err(|error| Problem::invalid(vec![Fault::new("/cast", error.to_string())]))?
                .protocol
        }
        None => protocols::ALL[0].name().to_owned(),
    };
    let mut faults = Vec::new();
    let max_cost = number(&asked.max_cost, "dollars", &mut faults);
    let max_tokens = number(&asked.max_tokens, "tokens", &mut faults);
    let minutes: Option<f64> = number(&asked.max_minutes, "minutes", &mut faults);
    if !faults.is_empty() {
        return Err(Problem::invalid(faults));
    }
    let budget = BudgetRequest {
        max_tokens,
        max_cost,
        max_seconds: minutes.map(|minutes| minutes * 60.0),
    };
    let has_limits = max_cost.is_some() || max_tokens.is_some() || minutes.is_some();
    let mut rules = serde_json::Map::new();
    let outcomes: Vec<&str> = asked
        .outcomes
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    if protocol == "forecast" && !outcomes.is_empty() {
        rules.insert("outcomes".into(), serde_json::json!(outcomes));
    }
    if protocol == "modes" {
        let named = [
            ("mode", &asked.mode),
            ("algorithm", &asked.algorithm),
            ("domain", &asked.domain),
        ];
        for (name, value) in named {
            let value = value.trim();
            if !value.is_empty() {
                rules.insert(name.into(), serde_json::json!(value));
            }
        }
        // Without the tick it is as the configuration says.
        if !asked.enhanced.is_empty() {
            rules.insert("enhanced".into(), serde_json::json!(true));
        }
    }
    Ok(NewDebate {
        protocol,
        question: asked.question.clone(),
        cast,
        model: Some(asked.model.trim().to_owned()).filter(|model| !model.is_empty()),
        seats: std::collections::BTreeMap::new(),
        rules,
        sources: Vec::new(),
        budget: has_limits.then_some(budget),
        seed: None,
    })
}

fn number<N: std::str::FromStr>(text: &str, unit: &str, faults: &mut Vec<Fault>) -> Option<N> {
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    let number = text.parse().ok();
    if number.is_none() {
        faults.push(Fault::new(
            "",
            format!("'{}' is no number of {unit}", short(text, 40)),
        ));
    }
    number
}

/// What there is to choose from, and what it would roughly cost.
async fn offer(app: &App, desk: &ProviderHandle) -> Result<Offer, Problem> {
    let found = found(app, desk).await;
    let chosen = found.deliberate.as_ref();
    let price = chosen.and_then(|choice| app.context.models.price(&choice.model));
    let mut ways = Vec::new();
    for (file, _) in app
        .context
        .data
        .all(DataKind::Casts)
        .map_err(data_problem)?
    {
        // One that is broken is reported by whoever asks for it; the others serve.
        let Ok(cast) = Cast::load(&app.context.data, file.trim_end_matches(".toml")) else {
            continue;
        };
        let Some(protocol) = protocols::named(&cast.protocol) else {
            continue;
        };
        let rough = rough(app, protocol, &cast).await?;
        ways.push((
            protocol,
            Way {
                title: way_title(&cast.name),
                summary: cast.summary,
                rough: rough.told(price.as_ref()),
                cast: cast.name,
                wants: match protocol.name() {
                    "forecast" => Wants::Outcomes,
                    "modes" => Wants::Mode,
                    _ => Wants::Nothing,
                },
                is_chosen: false,
            },
        ));
    }
    ways.sort_by_key(|(protocol, _)| protocols::ALL.iter().position(|known| known == protocol));
    let recent = Filter {
        limit: 5,
        ..Filter::default()
    };
    let recent = app.store.list(&recent).await?.debates;
    Ok(Offer {
        ways: ways.into_iter().map(|(_, way)| way).collect(),
        modes: modes(app)?,
        algorithms: algorithms(app)?,
        models: offered(&found),
        automatic: chosen.map(|choice| (choice.model.to_string(), choice.why.clone())),
        advice: found.advice.clone(),
        recent: recent
            .iter()
            .map(|row| Row::new(&listed(row), false))
            .collect(),
    })
}

/// The one that is taken where none is named comes first.
fn modes(app: &App) -> Result<Vec<Named>, Problem> {
    let data = &app.context.data;
    let mut names = Mode::names(data).map_err(data_problem)?;
    names.sort_by_key(|name| name != modes::DEFAULT_MODE);
    let modes = names.into_iter().filter_map(|name| {
        let summary = Mode::load(data, &name).ok()?.summary;
        Some(named(name, summary))
    });
    Ok(modes.collect())
}

fn algorithms(app: &App) -> Result<Vec<Named>, Problem> {
    let data = &app.context.data;
    let names = Algorithm::names(data).map_err(data_problem)?;
    let algorithms = names.into_iter().filter_map(|name| {
        let summary = Algorithm::load(data, &name).ok()?.summary;
        Some(named(name, summary))
    });
    Ok(algorithms.collect())
}

fn named(name: String, summary: String) -> Named {
    Named {
        name,
        summary,
        is_chosen: false,
    }
}

fn data_problem(error: roundtable_engine::data::DataError) -> Problem {
    Problem::from(crate::failure::Failure::from(error))
}

fn offered(found: &Discovery) -> Vec<Group> {
    let with_models = found
        .findings
        .iter()
        .filter(|finding| !finding.models.is_empty());
    with_models
        .map(|finding| Group {
            provider: finding.provider.clone(),
            models: finding
                .models
                .iter()
                .take(60)
                .map(|model| Offered {
                    name: format!("{}:{model}", finding.provider),
                    label: model.clone(),
                    is_chosen: false,
                })
                .collect(),
        })
        .collect()
}

/// What providers say they have, asked for once in a while; the configuration alone where they take too long.
async fn found(app: &App, desk: &ProviderHandle) -> Discovery {
    let mut known = desk.found.lock().await;
    if let Some((at, found)) = known.as_ref()
        && at.elapsed() < FRESH
    {
        return found.clone();
    }
    let wishes = ModelPreferences::default();
    let looking = discover(&app.context.models, &wishes, Search::Everything);
    let found = match tokio::time::timeout(PATIENCE, looking).await {
        Ok(found) => found,
        Err(_) => discover(&app.context.models, &wishes, Search::FirstFit).await,
    };
    *known = Some((Instant::now(), found.clone()));
    found
}

/// As the last debates of this sort, or by a rule of thumb where there are none.
async fn rough(app: &App, protocol: &dyn AnyProtocol, cast: &Cast) -> Result<Rough, Problem> {
    let last = Filter {
        state: Some(State::Complete),
        protocol: Some(protocol.name().to_owned()),
        limit: EXPERIENCE,
        ..Filter::default()
    };
    let last = app.store.list(&last).await?.debates;
    let count = last.len() as u64;
    if count == 0 {
        return Ok(Rough::guessed(cast.seats.len() as u64 * 3));
    }
    let mean = |of: fn(&DebateRow) -> u64| last.iter().map(of).sum::<u64>() / count;
    Ok(Rough {
        usage: Usage {
            input: mean(|row| row.totals.input_tokens),
            output: mean(|row| row.totals.output_tokens),
            cached: mean(|row| row.totals.cached_tokens),
        },
        calls: mean(|row| row.totals.calls),
        basis: Basis::Earlier(last.len()),
    })
}

fn listed(row: &DebateRow) -> Listed {
    Listed {
        id: row.id.to_string(),
        question: row.question.clone(),
        protocol: row.protocol.clone(),
        state: row.state,
        created_at: row.created_at,
        tokens: row.totals.input_tokens + row.totals.output_tokens,
        cost: row.totals.cost_usd,
        rating: row.rating,
    }
}

async fn list(
    Shared(app): Shared<Arc<App>>,
    caller: Asking,
    Parameters(query): Parameters<Query>,
) -> Result<Response, Problem> {
    let mut problems = Vec::new();
    let mut day = |text: &str| {
        let at = Some(text).filter(|text| !text.is_empty());
        at.and_then(|text| {
            let at = clock::day(text);
            if at.is_none() {
                problems.push(format!("'{}' is no day", short(text, 40)));
            }
            at
        })
    };
    let since = day(&query.from);
    // The last day counts as a whole.
    let until = day(&query.until).map(|at| at + 86_400_000);
    let filter = Filter {
        state: State::ALL.into_iter().find(|it| it.name() == query.state),
        protocol: Some(query.protocol.clone()).filter(|it| !it.is_empty()),
        search: Some(query.q.clone()).filter(|it| !it.is_empty()),
        since,
        until,
        limit: u32::try_from(PER_PAGE).unwrap_or(u32::MAX),
        offset: (query.page() - 1).saturating_mul(PER_PAGE),
        ..Filter::default()
    };
    let found = app.store.list(&filter).await?;
    let can_delete = may(&caller, Scope::Admin);
    let rows = found.debates.into_iter().map(|mut row| {
        rest::overlay(&app, &mut row);
        let is_at_rest = !app.scheduler.has(row.id);
        Row::new(&listed(&row), can_delete && is_at_rest)
    });
    let mut view = DebatesView::new(&query, rows.collect(), found.total);
    view.problems = problems;
    Ok(page(view.page(frame("debates", &caller))))
}

/// A debate as it stands.
struct Reading {
    row: DebateRow,
    transcript: Transcript,
    report: Report,
    /// Seats that speak right now.
    speaking: Vec<String>,
}

impl Reading {
    fn view(&self, app: &App, caller: &Asking) -> DebateView {
        DebateView::new(&self.transcript, right(caller))
            .speaking(&self.transcript, &self.speaking)
            .pausing(app.scheduler.is_pause_requested(self.row.id))
    }
}

async fn read(app: &App, id: &str) -> Result<Reading, Problem> {
    let row = rest::find(app, id).await?;
    let mut entries = app.store.entries(row.id).await?;
    if entries.is_empty() {
        // It waits for its turn; what it was asked for is known all the same.
        let setup = app.store.setup(row.id).await?;
        let setup = setup.ok_or_else(|| Problem::not_found("there is no such debate"))?;
        entries.push(Entry {
            seq: 0,
            at: row.created_at,
            event: Event::Opened(Arc::new(setup)),
        });
    }
    let speaking = overhear(app, &row, &mut entries);
    let mut transcript = Transcript::of(&row.id.to_string(), &entries)
        .ok_or_else(|| Problem::internal("a journal without a beginning"))?;
    if row.state == State::Queued {
        transcript.state = State::Queued;
    }
    Ok(Reading {
        report: protocols::report(&entries),
        row,
        transcript,
        speaking,
    })
}

/// What goes on and is not in the journal yet: a round that has begun is shown, and who speaks is told.
fn overhear(app: &App, row: &DebateRow, entries: &mut Vec<Entry>) -> Vec<String> {
    let Some(feed) = app.scheduler.feed(row.id) else {
        return Vec::new();
    };
    let live = feed.lock();
    let seq = entries.last().map_or(0, |last| last.seq);
    // The number stays that of the last journaled entry: the stream goes on after that one.
    entries.extend(live.rounds.iter().map(|notice| Entry {
        seq,
        at: notice.at,
        event: notice.event.clone(),
    }));
    live.turns.iter().map(|turn| turn.seat.clone()).collect()
}

fn right(caller: &Asking) -> Right {
    if may(caller, Scope::Run) {
        Right::Run
    } else {
        Right::Read
    }
}

async fn show(
    Shared(app): Shared<Arc<App>>,
    Path(id): Path<String>,
    caller: Asking,
) -> Result<Response, Problem> {
    let reading = read(&app, &id).await?;
    let view = reading.view(&app, &caller);
    let frame = frame("debates", &caller);
    Ok(page(view.page(frame, &reading.transcript, &reading.report)))
}

async fn panels(
    Shared(app): Shared<Arc<App>>,
    Path(id): Path<String>,
    caller: Asking,
) -> Result<Response, Problem> {
    let reading = read(&app, &id).await?;
    let view = reading.view(&app, &caller);
    Ok(page(view.panels(&reading.transcript, &reading.report)))
}

async fn turn(
    Shared(app): Shared<Arc<App>>,
    Path((id, step)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let transcript = read(&app, &id).await?.transcript;
    let turn = transcript
        .turn(&step)
        .ok_or_else(|| Problem::not_found("there is no such turn, or it is not over"))?;
    let roles = render::Roles::of(&transcript);
    Ok(page(render::turn(turn, &roles).to_string()))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Said {
    text: String,
}

async fn say(
    Shared(app): Shared<Arc<App>>,
    Path(id): Path<String>,
    caller: Asking,
    Form(said): Form<Said>,
) -> Result<Response, Problem> {
    let row = rest::find(&app, &id).await?;
    if !said.text.trim().is_empty() {
        app.scheduler.say(row.id, said.text, name(&caller)).await?;
    }
    Ok(to_debate(&id))
}

fn name(caller: &Asking) -> Option<String> {
    caller.as_deref().and_then(|caller| caller.name.clone())
}

async fn pause(Shared(app): Shared<Arc<App>>, Path(id): Path<String>) -> Result<Response, Problem> {
    let row = rest::find(&app, &id).await?;
    app.scheduler.pause(row.id).await?;
    Ok(to_debate(&id))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Decided {
    choice: String,
    note: String,
}

async fn decide(
    Shared(app): Shared<Arc<App>>,
    Path(id): Path<String>,
    caller: Asking,
    Form(decided): Form<Decided>,
) -> Result<Response, Problem> {
    let row = rest::find(&app, &id).await?;
    let note = Some(decided.note).filter(|note| !note.trim().is_empty());
    app.scheduler
        .decide(row.id, decided.choice, name(&caller), note)
        .await?;
    Ok(to_debate(&id))
}

async fn cancel(
    Shared(app): Shared<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let row = rest::find(&app, &id).await?;
    app.scheduler.cancel(row.id).await?;
    Ok(to_debate(&id))
}

async fn resume(
    Shared(app): Shared<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let row = rest::find(&app, &id).await?;
    app.scheduler.resume(row.id, None).await?;
    Ok(to_debate(&id))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Rated {
    rating: String,
    comment: String,
}

async fn rate(
    Shared(app): Shared<Arc<App>>,
    Path(id): Path<String>,
    Form(rated): Form<Rated>,
) -> Result<Response, Problem> {
    let row = rest::find(&app, &id).await?;
    let rating = rated.rating.parse().ok().and_then(Rating::new);
    let rating = rating.ok_or_else(|| {
        Problem::invalid(vec![Fault::new("/rating", "a rating goes from 1 to 10")])
    })?;
    let comment = Some(rated.comment).filter(|comment| !comment.trim().is_empty());
    app.store
        .rate(row.id, rating, comment, clock::now())
        .await?;
    Ok(to_debate(&id))
}

async fn delete(
    Shared(app): Shared<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    rest::delete(Shared(app), Path(id)).await?;
    Ok(Redirect::to("/debates").into_response())
}

async fn models(Shared(app): Shared<Arc<App>>, caller: Asking) -> Response {
    let view = models_view(&app, &caller).await;
    page(view.page(frame("models", &caller)))
}

async fn models_view(app: &App, caller: &Asking) -> ModelsView {
    let context = &app.context;
    let found = discover(
        &context.models,
        &ModelPreferences::default(),
        Search::Everything,
    )
    .await;
    let can_test = may(caller, Scope::Run);
    let tier = |title: &str, choice: Option<&Choice>| Tier {
        title: title.to_owned(),
        model: choice.map_or_else(|| "none".into(), |choice| choice.model.to_string()),
        why: choice.map_or_else(|| "no usable model was found".into(), |it| it.why.clone()),
        price: choice.map(|choice| {
            context.models.price(&choice.model).map_or_else(
                || "price unknown".into(),
                |price| {
                    format!(
                        "${} in, ${} out per million tokens",
                        price.input, price.output
                    )
                },
            )
        }),
        can_test: can_test && choice.is_some(),
    };
    ModelsView {
        problems: Vec::new(),
        tested: None,
        tiers: vec![
            tier("For those who deliberate", found.deliberate.as_ref()),
            tier("For what must be fast", found.fast.as_ref()),
            Tier {
                title: "To compare texts".into(),
                model: context.embedder_name().to_string(),
                why: "turns texts into vectors".into(),
                price: None,
                can_test: false,
            },
        ],
        advice: found.advice,
        found: found
            .findings
            .into_iter()
            .map(|finding| Found {
                provider: finding.provider,
                note: finding.note,
                models: short(&finding.models.join(", "), 400),
            })
            .collect(),
        source: match &context.config.source {
            Some(path) => format!("From {}", path.display()),
            None => "No file; defaults and environment.".into(),
        },
        settings: settings(app),
    }
}

fn settings(app: &App) -> Vec<Setting> {
    let settings = app.context.config.settings().iter();
    settings
        .map(|setting| Setting {
            key: setting.key.clone(),
            value: setting.value.clone().unwrap_or_else(|| "–".into()),
            origin: match &setting.origin {
                Origin::Default => "default".into(),
                Origin::File { line, .. } => format!("line {line}"),
                Origin::Environment { variable } => variable.clone(),
            },
        })
        .collect()
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Wanted {
    model: String,
}

async fn test_model(
    Shared(app): Shared<Arc<App>>,
    caller: Asking,
    Form(wanted): Form<Wanted>,
) -> Response {
    let mut view = models_view(&app, &caller).await;
    let started = Instant::now();
    let tried = match app.context.config.model_name(&wanted.model) {
        Ok(name) => {
            trial(
                &app.context,
                &name,
                crate::server::scheduler::progress_sink().fetching,
            )
            .await
        }
        Err(error) => Err(error.into()),
    };
    let took = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    view.tested = Some(match tried {
        Ok((model, said)) => Tested {
            text: format!(
                "{model} answered {} in {}",
                short(&said, 60),
                duration(took)
            ),
            is_good: true,
        },
        Err(failure) => Tested {
            text: failure.message().to_owned(),
            is_good: false,
        },
    });
    page(view.page(frame("models", &caller)))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Entrance {
    next: String,
    failed: String,
}

async fn sign_in(caller: Asking, Parameters(entrance): Parameters<Entrance>) -> Response {
    let problem = "This token is not known here. It may have been revoked.";
    let view = SignInView {
        next: safe_next(&entrance.next),
        problems: if entrance.failed.is_empty() {
            Vec::new()
        } else {
            vec![problem.into()]
        },
    };
    page(view.page(frame("", &caller)))
}

async fn asset(Path(file): Path<String>) -> Result<Response, Problem> {
    let asset = assets::at(&format!("/assets/{file}"))
        .ok_or_else(|| Problem::not_found("there is no such file"))?;
    Ok(built_in(asset))
}

async fn favicon() -> Response {
    built_in(&assets::MARK)
}

fn built_in(asset: &'static assets::Asset) -> Response {
    let headers = [
        (header::CONTENT_TYPE, asset.content_type),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    (headers, asset.body.as_str()).into_response()
}
