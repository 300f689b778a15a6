//! From a request to a table that can be played, for every surface and protocol.
//!
//! A [`DebateSpec`] is the request. [`prepare`] loads what its protocol needs, has the protocol check it, and finds the models;
//! [`prepare_resume`] does the same for a stored debate. [`open_table`] opens the table of a [`PreparedDebate`].

pub(crate) mod estimate;
pub(crate) mod limits;
pub(crate) mod prompts;
mod seating;
pub(crate) mod secrets;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use roundtable_core::learning::Learned;
use roundtable_core::sources::Source;
use roundtable_core::value;
use roundtable_engine::budget::Budget;
use roundtable_engine::cast::CastChoice;
use roundtable_engine::depth::Depth;
use roundtable_engine::embedder::Embedder;
use roundtable_engine::event::{Entry, Seated, Setup};
use roundtable_engine::journal::Journal;
use roundtable_engine::parent::Parent;
use roundtable_engine::protocol::{
    AnyProtocol, Context, EmbedderUse, Protocol, Request, SeatModels, Subject, check_question,
};
use roundtable_engine::protocols::{self, forecast::Scored};
use roundtable_engine::round_value::ValueHistory;
use roundtable_engine::seating as families;
use roundtable_engine::table::{Table, TableDeps};
use serde_json::{Value, json};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::app_context::AppContext;
use crate::clock::{self, SystemClock};
use crate::embedded::Report;
use crate::failure::{Failure, Fault};
use crate::learning;
use crate::models::ModelPolicy;
use crate::store::Store;
pub(crate) use seating::{check_allowed, fast_model, no_model, proposed_models};

/// A request for a debate. The protocol and the configuration fill in everything that is left out.
#[derive(Debug, Clone)]
pub(crate) struct DebateSpec {
    pub protocol: &'static dyn AnyProtocol,
    pub question: String,
    /// The protocol's own cast if none is named.
    pub cast: Option<CastChoice>,
    pub models: Models,
    /// The protocol's input, as JSON.
    pub input: Value,
    pub depth: Depth,
    pub budget: Budget,
    pub seed: Option<u64>,
    /// Files that the seats may search.
    pub sources: Vec<Source>,
    /// Allows the embedded model if a configured provider cannot be used, in addition to the configuration.
    pub fallback_local: bool,
    /// Which models the caller may use.
    pub policy: ModelPolicy,
    /// Sends likely secrets to providers instead of refusing the request.
    pub allow_secrets: bool,
    /// Whether only the estimate is wanted: nothing is downloaded or loaded for it.
    pub is_estimate: bool,
    /// The debate that it follows up on, with its texts in full length.
    pub parent: Option<Parent>,
}

impl DebateSpec {
    pub(crate) fn new<P: Protocol>(
        protocol: &'static P,
        question: String,
        input: &P::Input,
    ) -> Self {
        Self {
            protocol,
            question,
            cast: None,
            models: Models::default(),
            input: json!(input),
            depth: Depth::default(),
            budget: Budget::default(),
            seed: None,
            sources: Vec::new(),
            fallback_local: false,
            policy: ModelPolicy::default(),
            allow_secrets: false,
            is_estimate: false,
            parent: None,
        }
    }
}

/// The models of a request, each as `provider:model`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Models {
    /// For every seat that is not named.
    pub all: Option<String>,
    pub seats: BTreeMap<String, String>,
}

/// Everything that a table needs, except the journal.
pub(crate) struct PreparedDebate {
    pub setup: Setup,
    /// The setup's, or a new one for a debate that is resumed.
    pub budget: Budget,
    pub seat_models: SeatModels,
    pub embedder: Option<Arc<dyn Embedder>>,
    pub policy: ModelPolicy,
}

/// Receives progress while a debate is prepared: downloads, and notes for the user.
pub(crate) struct ProgressSink {
    pub fetching: Report,
    pub say: Box<dyn Fn(&str) + Send + Sync>,
}

/// Checks a request and finds the models of the new debate. Everything that is wrong with the request is reported at once.
pub(crate) async fn prepare(
    app: &AppContext,
    store: &Store,
    spec: DebateSpec,
    progress: &ProgressSink,
) -> Result<PreparedDebate, Failure> {
    let secrets = refused_secrets(&spec);
    let DebateSpec {
        protocol,
        depth,
        budget,
        seed,
        models,
        fallback_local,
        policy,
        is_estimate,
        parent,
        ..
    } = spec;
    if parent.is_some() && protocol.subject() == Subject::Text {
        return Err(Failure::refused(vec![judges_text(protocol)]));
    }
    // A broken prompt or template is found before the debate is created.
    app.prompts()?;
    if protocol.needs().library {
        app.library()?;
    }
    let context = context(app, store, protocol, &spec.input, progress).await?;
    let request = Request {
        question: spec.question,
        cast: spec.cast,
        sources: spec.sources,
        depth,
    };
    let plan = beside_runtime(|| protocol.validate(spec.input, request, context));
    let plan = plan.map_err(Failure::refused)?;
    let settings = app.config.seats_of(protocol.name());
    let mut seating = seating::choose(
        app,
        &plan.cast,
        &models,
        &settings,
        (fallback_local, budget.max_cost.is_some(), &policy),
        is_estimate,
        progress,
    )
    .await?;
    if !secrets.is_empty() && secrets::are_sent(&seating.seated, other_models(app, plan.embedder)) {
        return Err(secrets::refused(secrets));
    }
    check_context(&plan.question, &seating.models)?;
    check_prices(app, &seating.seated, &budget, &policy)?;
    let without = note_without_embedder(plan.embedder);
    let embedder_name = without.and_then(|_| expected_embedder(app));
    let embedder = match without {
        Some(without) if !is_estimate => {
            embedder_or_notice(app, progress, without, &mut seating.notices).await?
        }
        Some(_) | None => None,
    };
    let question = plan.question.clone();
    let parent =
        parent.map(|parent| parent.within(Parent::room(smallest_context(&seating.models))));
    let mut notes = Vec::new();
    let rules = plan
        .rules(&seating.models, &mut notes)
        .map_err(Failure::refused)?;
    for note in notes {
        (progress.say)(&note);
    }
    let mut setup = Setup {
        protocol: protocol.name().into(),
        question,
        seed: seed.unwrap_or_else(random_seed),
        seats: seating.seated,
        rules,
        budget,
        embedder: match &embedder {
            Some(embedder) => Some(embedder.name().to_owned()),
            None => embedder_name.filter(|_| is_estimate),
        },
        program: env!("CARGO_PKG_VERSION").into(),
        notices: seating.notices,
        depth,
        estimate: None,
        parent: parent.map(Box::new),
    };
    setup.estimate = estimate::of_debate(app, store, protocol, &setup, &seating.models).await?;
    if let Some(estimate) = &setup.estimate {
        estimate::check_minimum(&budget, estimate)?;
    }
    if let Some(seating) = families::seating(&setup).filter(|seating| seating.families > 1) {
        (progress.say)(&seating.note);
    }
    Ok(PreparedDebate {
        setup,
        budget,
        seat_models: seating.models,
        embedder,
        policy,
    })
}

/// Likely secrets in a request, unless they may be sent.
fn refused_secrets(spec: &DebateSpec) -> Vec<Fault> {
    if spec.allow_secrets {
        Vec::new()
    } else {
        secrets::of_request(spec)
    }
}

/// The note if the embedder that the debate would use is missing; `None` if it uses none.
fn note_without_embedder(embedder: EmbedderUse) -> Option<&'static str> {
    match embedder {
        EmbedderUse::Optional => Some(WITHOUT_TEMPLATES),
        EmbedderUse::Measures => Some(WITHOUT_MEASURE),
        EmbedderUse::None => None,
    }
}

/// Runs what may take long for a large request. In a server, the other tasks of this thread move to another one meanwhile.
fn beside_runtime<T>(work: impl FnOnce() -> T) -> T {
    if Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread {
        tokio::task::block_in_place(work)
    } else {
        work()
    }
}

/// The models that read parts of a debate in addition to the seats.
fn other_models(app: &AppContext, embedder: EmbedderUse) -> Vec<String> {
    let embedder = match embedder {
        EmbedderUse::None => None,
        EmbedderUse::Optional | EmbedderUse::Measures => Some(app.embedder_name()),
    };
    let fast = app.config.tiers.fast.clone();
    let models = embedder.into_iter().chain(fast);
    models.map(|name| name.to_string()).collect()
}

/// Loads what the protocol is given next to the request: configuration, and results of earlier debates.
async fn context<'a>(
    app: &'a AppContext,
    store: &Store,
    protocol: &dyn AnyProtocol,
    input: &Value,
    progress: &ProgressSink,
) -> Result<Context<'a>, Failure> {
    let now = clock::now();
    let scored = if protocol.needs().history {
        app.forecasts.scored(store, None, now).await?
    } else {
        Vec::new()
    };
    let rounds = if protocol.needs().value {
        store.leading_answers(protocol.name()).await?
    } else {
        Vec::new()
    };
    let learned = match protocol.domain(input) {
        Some(domain) => {
            let half_life = app.config.learning.half_life;
            learning::load_learned(store, &domain, half_life, now).await?
        }
        None => None,
    };
    for line in learned.iter().flat_map(Learned::summary) {
        (progress.say)(&line);
    }
    Ok(Context {
        data: &app.data,
        max_question_tokens: app.config.limits.max_question_tokens,
        now,
        settings: app.config.settings_of(protocol.name(), &app.environment),
        history: scored.iter().filter_map(Scored::question).collect(),
        learned,
        value: ValueHistory {
            record: value::record(&rounds),
            movements: scored.iter().filter_map(|scored| scored.movement).collect(),
        },
    })
}

/// Finds the models that a stored debate was opened with.
pub(crate) async fn prepare_resume(
    app: &AppContext,
    setup: Setup,
    budget: Budget,
    policy: ModelPolicy,
    progress: &ProgressSink,
) -> Result<PreparedDebate, Failure> {
    check_prices(app, &setup.seats, &budget, &policy)?;
    let seat_models = seating::find_again(app, &setup.seats, &policy, &progress.fetching).await?;
    let embedder = match &setup.embedder {
        Some(name) => {
            let name = app.config.model_name(name)?;
            let report = Arc::clone(&progress.fetching);
            Some(app.embedder_named(&name, report).await?)
        }
        None => None,
    };
    Ok(PreparedDebate {
        setup,
        budget,
        seat_models,
        embedder,
        policy,
    })
}

/// Opens the table of the debate with this journal.
pub(crate) async fn open_table(
    app: &AppContext,
    prepared: PreparedDebate,
    journal: Arc<dyn Journal>,
    cancel: CancellationToken,
) -> Result<(Table, &'static dyn AnyProtocol), Failure> {
    let fast_model = seating::fast_model(app, &prepared);
    let setup = prepared.setup;
    let protocol = protocols::of_stored(&setup.protocol).ok_or_else(|| {
        Failure::other(format!(
            "unknown protocol '{}': this debate was made by another version of roundtable",
            setup.protocol
        ))
    })?;
    let library = if protocol.needs().library {
        app.library()?
    } else {
        Arc::default()
    };
    let deps = TableDeps {
        fast_model,
        scale: app.scale(setup.embedder.as_deref().unwrap_or_default())?,
        prompts: app.prompts()?,
        library,
        seat_models: prepared.seat_models,
        embedder: prepared.embedder,
        journal,
        clock: Arc::new(SystemClock),
        cancel,
    };
    let table = Table::open(setup, prepared.budget, deps).await?;
    Ok((table, protocol))
}

fn judges_text(protocol: &dyn AnyProtocol) -> Fault {
    let message = format!(
        "{} judges a text, so it cannot follow up on a debate: ask a question instead",
        protocol.name()
    );
    Fault::new("/continue", message)
}

fn smallest_context(seat_models: &SeatModels) -> Option<u64> {
    let contexts = seat_models.values();
    let contexts = contexts.filter_map(|seat| seat.model.profile().context_tokens);
    contexts.min().map(u64::from)
}

/// The question is in every prompt: it may take a quarter of the smallest context.
fn check_context(question: &str, seat_models: &SeatModels) -> Result<(), Failure> {
    match smallest_context(seat_models) {
        Some(context) => {
            check_question(question, context / 4).map_err(|fault| Failure::refused(vec![fault]))
        }
        None => Ok(()),
    }
}

/// A cost limit cannot be enforced if a price is unknown, of a model or of its fallback.
fn check_prices(
    app: &AppContext,
    seated: &[Seated],
    budget: &Budget,
    policy: &ModelPolicy,
) -> Result<(), Failure> {
    if budget.max_cost.is_none() && !policy.priced_only {
        return Ok(());
    }
    let mut unknown = BTreeSet::new();
    for seated in seated {
        let name = app.config.model_name(&seated.model)?;
        if app.models.price(&name).is_none() {
            unknown.insert(name.to_string());
        } else if let Some(fallback) = app.models.unpriced_fallback(&name, policy) {
            unknown.insert(format!("{fallback}, a fallback of {},", name.provider()));
        }
    }
    if let Some(model) = unknown.first().filter(|_| policy.priced_only) {
        return Err(price_unknown(model));
    }
    let faults = unknown.into_iter().map(|model| {
        Fault::new(
            "/budget/max_cost",
            format!(
                "the price of {model} is unknown, so --max-cost cannot be enforced: add the price to prices.toml in your configuration \
                 folder, or use --max-tokens-total"
            ),
        )
    });
    let faults: Vec<Fault> = faults.collect();
    if faults.is_empty() {
        Ok(())
    } else {
        Err(Failure::refused(faults))
    }
}

/// A model without a price, for a token whose cost is limited.
pub(crate) fn price_unknown(model: &str) -> Failure {
    Failure::forbidden(format!(
        "the price of {model} is unknown, and what this token may spend is limited: use another model, or have the price added \
         to prices.toml on the server"
    ))
}

/// Like [`check_prices`], for a stored debate: the cost so far has to be known too.
pub(crate) fn check_resumed_prices(
    app: &AppContext,
    setup: &Setup,
    budget: &Budget,
    past: &[Entry],
) -> Result<(), Failure> {
    check_prices(app, &setup.seats, budget, &ModelPolicy::default())?;
    if budget.max_cost.is_some() && limits::has_unknown_cost(past) {
        let message = "the cost of this debate so far is unknown, so --max-cost cannot be enforced: use --max-tokens-total";
        return Err(Failure::refused(vec![Fault::new(
            "/budget/max_cost",
            message,
        )]));
    }
    Ok(())
}

/// Notes for the user if no embedder is available.
const WITHOUT_TEMPLATES: &str = "Continuing without reasoning templates";
const WITHOUT_MEASURE: &str =
    "Continuing without measuring convergence: the typed answers alone decide";

/// The name of the embedder that a debate would use, without loading it.
fn expected_embedder(app: &AppContext) -> Option<String> {
    let name = app.embedder_name();
    app.models.embedder(&name).is_ok().then(|| name.to_string())
}

async fn embedder_or_notice(
    app: &AppContext,
    progress: &ProgressSink,
    without: &str,
    notices: &mut Vec<String>,
) -> Result<Option<Arc<dyn Embedder>>, Failure> {
    match app.embedder(Arc::clone(&progress.fetching)).await {
        Ok(embedder) => Ok(Some(embedder)),
        Err(failure) if app.config.embedder.is_some() => Err(failure),
        Err(failure) => {
            (progress.say)(&failure.explained(without));
            notices.push(format!("{without}: no embedder is available"));
            Ok(None)
        }
    }
}

/// Small enough for every reader of JSON to hold exactly.
fn random_seed() -> u64 {
    let (high, _) = Uuid::new_v4().as_u64_pair();
    high >> 33
}
