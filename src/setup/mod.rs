//! Opening a debate: the one way from what someone asks for to a table that can be played, whatever the surface and the
//! protocol.
//!
//! A [`DebateSpec`] is what was asked for. The protocol makes an [`ValidatedSpec`] of it: its own defaults filled in, everything wrong
//! with it listed at once. [`prepare`] finds the models. [`again`] does the same for a debate that is in the store.

mod councils;
mod dialectic;
mod forecast;
mod modes;
mod policy;
mod seating;

pub(crate) use modes::MODE;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use roundtable_core::forecast::Observation;
use roundtable_core::learning::Learned;
use roundtable_core::sources::Source;
use roundtable_engine::cast::Cast;
use roundtable_engine::embedder::Embedder;
use roundtable_engine::event::{Entry, Event, Seated, Setup};
use roundtable_engine::journal::Journal;
use roundtable_engine::protocols::Protocol;
use roundtable_engine::table::{Budget, SeatModel, Table, TableDeps};
use roundtable_engine::tokens;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::app_context::AppContext;
use crate::clock::SystemClock;
use crate::config::ModelName;
use crate::embedded::Report;
use crate::failure::{Failure, Fault};
use crate::format::grouped;

/// What someone asks for. What is left out, the protocol and the configuration fill in.
#[derive(Debug, Clone, Default)]
pub(crate) struct DebateSpec {
    pub question: String,
    /// The protocol's own cast where none is named.
    pub cast: Option<String>,
    pub models: Models,
    /// The rules of the protocol, as far as they are given.
    pub rules: Map<String, Value>,
    pub budget: Budget,
    pub seed: Option<u64>,
    /// What seats have shown of themselves in earlier debates, for protocols that weigh it.
    pub history: Vec<Observation>,
    /// What earlier decisions of the domain have taught, for debates that are played by it.
    pub learned: Option<Learned>,
    /// What is given to be read, for protocols whose seats search.
    pub sources: Vec<Source>,
}

/// Which models are wished for, each as `provider:model`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Models {
    /// For every seat that is not named.
    pub all: Option<String>,
    pub seats: BTreeMap<String, String>,
}

/// A spec that its protocol has filled in and found in validated.
#[derive(Debug, Clone)]
pub(crate) struct ValidatedSpec {
    pub protocol: Protocol,
    pub question: String,
    pub cast: Cast,
    pub models: Models,
    /// What the configuration says about seats of this protocol.
    pub configured: BTreeMap<String, Configured>,
    pub terms: Terms,
    pub budget: Budget,
    pub seed: Option<u64>,
    pub embedding: Embedding,
}

/// What the debate is played by, as its protocol writes it.
#[derive(Debug, Clone)]
pub(crate) enum Terms {
    Rules(Value),
    /// Which seats search for themselves depends on the models.
    Modes(Box<modes::Terms>),
    /// Something to be judged: how much of it depends on the models.
    Docket(Box<councils::Docket>),
}

/// The model and temperature of one seat, as far as the configuration sets them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Configured {
    pub model: Option<ModelName>,
    pub temperature: Option<f64>,
}

/// Whether a protocol has use for an embedder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Embedding {
    /// It is worth having without one, too.
    Welcome,
    /// It measures by one, and decides by typed answers alone where there is none.
    Measures,
    Unneeded,
}

/// Everything that a table is laid with, but the journal.
pub(crate) struct PreparedDebate {
    pub setup: Setup,
    pub budget: Budget,
    pub seat_models: HashMap<String, SeatModel>,
    pub embedder: Option<Arc<dyn Embedder>>,
}

/// Whom to tell what is going on meanwhile.
pub(crate) struct ProgressSink {
    pub fetching: Report,
    pub say: Box<dyn Fn(&str) + Send + Sync>,
}

/// What this protocol makes of a spec. Everything that is wrong with it is told at once.
pub(crate) fn validate(
    app: &AppContext,
    protocol: Protocol,
    spec: DebateSpec,
) -> Result<ValidatedSpec, Failure> {
    if !spec.sources.is_empty() && protocol != Protocol::Modes {
        let message = format!(
            "{} reads no sources; only debates in modes do",
            protocol.name()
        );
        return Err(Failure::refused(vec![Fault::new("/sources", message)]));
    }
    match protocol {
        Protocol::Dialectic => dialectic::validate(app, spec),
        Protocol::Councils => councils::validate(app, spec),
        Protocol::Forecast => forecast::validate(app, spec),
        Protocol::Modes => modes::validate(app, spec),
    }
}

/// Finds the models of a new debate.
pub(crate) async fn prepare(
    app: &AppContext,
    validated: ValidatedSpec,
    progress: &ProgressSink,
) -> Result<PreparedDebate, Failure> {
    let seating = seating::choose(app, &validated, progress).await?;
    check_context(&validated.question, &seating.seat_models)?;
    check_prices(&seating.seated, &seating.seat_models, &validated.budget)?;
    let embedder = match validated.embedding {
        Embedding::Welcome => embedder(app, progress, WITHOUT_TEMPLATES).await?,
        Embedding::Measures => embedder(app, progress, WITHOUT_MEASURE).await?,
        Embedding::Unneeded => None,
    };
    let rules = match validated.terms {
        Terms::Rules(rules) => rules,
        Terms::Modes(terms) => terms.rules(&seating.seat_models, progress),
        Terms::Docket(docket) => docket.rules(&seating.seat_models, progress)?,
    };
    let setup = Setup {
        protocol: validated.protocol.name().into(),
        question: validated.question,
        seed: validated.seed.unwrap_or_else(random_seed),
        seats: seating.seated,
        rules,
        budget: validated.budget,
        embedder: embedder.as_ref().map(|embedder| embedder.name().to_owned()),
        program: env!("CARGO_PKG_VERSION").into(),
    };
    Ok(PreparedDebate {
        setup,
        budget: validated.budget,
        seat_models: seating.seat_models,
        embedder,
    })
}

/// Finds the same models again that a debate was opened with.
pub(crate) async fn again(
    app: &AppContext,
    setup: Setup,
    budget: Budget,
    progress: &ProgressSink,
) -> Result<PreparedDebate, Failure> {
    let seat_models = seating::again(app, &setup.seats, &progress.fetching).await?;
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
    })
}

/// Sits down to the debate whose journal this is.
pub(crate) async fn sit(
    app: &AppContext,
    prepared: PreparedDebate,
    journal: Arc<dyn Journal>,
    cancel: CancellationToken,
) -> Result<(Table, Protocol), Failure> {
    let setup = prepared.setup;
    let protocol = Protocol::named(&setup.protocol).ok_or_else(|| {
        Failure::other(format!(
            "this version does not know the protocol '{}'",
            setup.protocol
        ))
    })?;
    let library = match protocol {
        Protocol::Dialectic => app.library()?,
        // Only the dialectic looks anything up.
        Protocol::Councils | Protocol::Forecast | Protocol::Modes => Arc::default(),
    };
    let deps = TableDeps {
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

/// Whether its budget ended it. Whoever resumes such a debate wants it to go on, and its old limit would end it at once; a
/// debate that is partial for another reason keeps its limits.
pub(crate) fn ran_out(past: &[Entry]) -> bool {
    let ends = past.iter().rev().filter_map(|entry| {
        if let Event::Ended(end) = &entry.event {
            Some(end)
        } else {
            None
        }
    });
    let result = ends.take(1).find_map(|end| end.result.as_ref());
    result.is_some_and(|result| result["stop_reason"] == "budget")
}

/// A question of which nothing is left when it is trimmed is none; one that is too long would not fit beside what is said.
fn check_question(question: &str, limit: u64) -> Result<(), Fault> {
    if question.trim().is_empty() {
        return Err(Fault::new("/question", "the question is empty"));
    }
    match excess(question, limit) {
        None => Ok(()),
        Some(count) => Err(Fault::new("/question", too_long(count, limit))),
    }
}

/// How many tokens a text has, where that is more than it may.
fn excess(question: &str, limit: u64) -> Option<u64> {
    // A token has at least one byte, so a short text needs no counting.
    if (question.len() as u64) <= limit {
        return None;
    }
    Some(tokens::count(question)).filter(|count| *count > limit)
}

fn too_long(count: u64, limit: u64) -> String {
    format!(
        "the question has {} tokens; the limit is {} (max_question_tokens in [limits]). Shorten it, or ask about a part.",
        grouped(count),
        grouped(limit)
    )
}

/// The question comes back in every prompt, beside what was said; a quarter of the smallest context is what it may take.
fn check_context(question: &str, seat_models: &HashMap<String, SeatModel>) -> Result<(), Failure> {
    let smallest = seat_models
        .values()
        .filter_map(|chair| chair.model.profile().context_tokens)
        .min();
    match smallest {
        Some(context) => check_question(question, u64::from(context) / 4)
            .map_err(|fault| Failure::refused(vec![fault])),
        None => Ok(()),
    }
}

/// A limit on money is worth nothing where the price is not known.
fn check_prices(
    seated: &[Seated],
    seat_models: &HashMap<String, SeatModel>,
    budget: &Budget,
) -> Result<(), Failure> {
    if budget.max_cost.is_none() {
        return Ok(());
    }
    let unknown = seated.iter().find(|seated| {
        seat_models
            .get(&seated.seat.name)
            .is_some_and(|chair| chair.price.is_none())
    });
    match unknown {
        None => Ok(()),
        Some(seated) => Err(Failure::refused(vec![Fault::new(
            "/budget/max_cost",
            format!(
                "the price of {} is not known, so --max-cost cannot be kept; put its price into prices.toml in your \
                 configuration folder, or use --max-tokens-total",
                seated.model
            ),
        )])),
    }
}

/// What is told where there is no embedder.
const WITHOUT_TEMPLATES: &str = "Going on without reasoning templates";
const WITHOUT_MEASURE: &str =
    "Going on without measuring how alike the positions are: the typed answers alone decide";

async fn embedder(
    app: &AppContext,
    progress: &ProgressSink,
    without: &str,
) -> Result<Option<Arc<dyn Embedder>>, Failure> {
    match app.embedder(Arc::clone(&progress.fetching)).await {
        Ok(embedder) => Ok(Some(embedder)),
        Err(failure) if app.config.embedder.is_some() => Err(failure),
        // Without an embedder there is nothing to start from or to measure by. The debate is worth having all the same.
        Err(failure) => {
            (progress.say)(&failure.explained(without));
            Ok(None)
        }
    }
}

/// Small enough for every reader of JSON to hold exactly.
fn random_seed() -> u64 {
    let (high, _) = Uuid::new_v4().as_u64_pair();
    high >> 33
}

#[cfg(test)]
#[path = "mod_tests.rs"]
mod tests;
