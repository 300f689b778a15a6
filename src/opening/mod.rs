//! Opening a debate: the one way from what someone asks for to a table that can be played, whatever the surface and the
//! protocol.
//!
//! A [`Wish`] is what was asked for. The protocol makes an [`Order`] of it: its own defaults filled in, everything wrong
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
use roundtable_engine::table::{Budget, Chair, Kit, Table};
use roundtable_engine::tokens;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::clock::SystemClock;
use crate::config::ModelName;
use crate::embedded::Report;
use crate::failure::{Failure, Fault};
use crate::figures::grouped;
use crate::workshop::Workshop;

/// What someone asks for. What is left out, the protocol and the configuration fill in.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wish {
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

/// A wish that its protocol has filled in and found in order.
#[derive(Debug, Clone)]
pub(crate) struct Order {
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
pub(crate) struct Prepared {
    pub setup: Setup,
    pub budget: Budget,
    pub chairs: HashMap<String, Chair>,
    pub embedder: Option<Arc<dyn Embedder>>,
}

/// Whom to tell what is going on meanwhile.
pub(crate) struct Ear {
    pub fetching: Report,
    pub say: Box<dyn Fn(&str) + Send + Sync>,
}

/// What this protocol makes of a wish. Everything that is wrong with it is told at once.
pub(crate) fn order(workshop: &Workshop, protocol: Protocol, wish: Wish) -> Result<Order, Failure> {
    if !wish.sources.is_empty() && protocol != Protocol::Modes {
        let message = format!(
            "{} reads no sources; only debates in modes do",
            protocol.name()
        );
        return Err(Failure::refused(vec![Fault::new("/sources", message)]));
    }
    match protocol {
        Protocol::Dialectic => dialectic::order(workshop, wish),
        Protocol::Councils => councils::order(workshop, wish),
        Protocol::Forecast => forecast::order(workshop, wish),
        Protocol::Modes => modes::order(workshop, wish),
    }
}

/// Finds the models of a new debate.
pub(crate) async fn prepare(
    workshop: &Workshop,
    order: Order,
    ear: &Ear,
) -> Result<Prepared, Failure> {
    let seating = seating::choose(workshop, &order, ear).await?;
    check_context(&order.question, &seating.chairs)?;
    check_prices(&seating.seated, &seating.chairs, &order.budget)?;
    let embedder = match order.embedding {
        Embedding::Welcome => embedder(workshop, ear, WITHOUT_TEMPLATES).await?,
        Embedding::Measures => embedder(workshop, ear, WITHOUT_MEASURE).await?,
        Embedding::Unneeded => None,
    };
    let rules = match order.terms {
        Terms::Rules(rules) => rules,
        Terms::Modes(terms) => terms.rules(&seating.chairs, ear),
        Terms::Docket(docket) => docket.rules(&seating.chairs, ear)?,
    };
    let setup = Setup {
        protocol: order.protocol.name().into(),
        question: order.question,
        seed: order.seed.unwrap_or_else(random_seed),
        seats: seating.seated,
        rules,
        budget: order.budget,
        embedder: embedder.as_ref().map(|embedder| embedder.name().to_owned()),
        program: env!("CARGO_PKG_VERSION").into(),
    };
    Ok(Prepared {
        setup,
        budget: order.budget,
        chairs: seating.chairs,
        embedder,
    })
}

/// Finds the same models again that a debate was opened with.
pub(crate) async fn again(
    workshop: &Workshop,
    setup: Setup,
    budget: Budget,
    ear: &Ear,
) -> Result<Prepared, Failure> {
    let chairs = seating::again(workshop, &setup.seats, &ear.fetching).await?;
    let embedder = match &setup.embedder {
        Some(name) => {
            let name = workshop.config.model_name(name)?;
            let report = Arc::clone(&ear.fetching);
            Some(workshop.embedder_named(&name, report).await?)
        }
        None => None,
    };
    Ok(Prepared {
        setup,
        budget,
        chairs,
        embedder,
    })
}

/// Sits down to the debate whose journal this is.
pub(crate) async fn sit(
    workshop: &Workshop,
    prepared: Prepared,
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
        Protocol::Dialectic => workshop.library()?,
        // Only the dialectic looks anything up.
        Protocol::Councils | Protocol::Forecast | Protocol::Modes => Arc::default(),
    };
    let kit = Kit {
        scale: workshop.scale(setup.embedder.as_deref().unwrap_or_default())?,
        prompts: workshop.prompts()?,
        library,
        chairs: prepared.chairs,
        embedder: prepared.embedder,
        journal,
        clock: Arc::new(SystemClock),
        cancel,
    };
    let table = Table::sit(setup, prepared.budget, kit).await?;
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
fn check_context(question: &str, chairs: &HashMap<String, Chair>) -> Result<(), Failure> {
    let smallest = chairs
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
    chairs: &HashMap<String, Chair>,
    budget: &Budget,
) -> Result<(), Failure> {
    if budget.max_cost.is_none() {
        return Ok(());
    }
    let unknown = seated.iter().find(|seated| {
        chairs
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
    workshop: &Workshop,
    ear: &Ear,
    without: &str,
) -> Result<Option<Arc<dyn Embedder>>, Failure> {
    match workshop.embedder(Arc::clone(&ear.fetching)).await {
        Ok(embedder) => Ok(Some(embedder)),
        Err(failure) if workshop.config.embedder.is_some() => Err(failure),
        // Without an embedder there is nothing to start from or to measure by. The debate is worth having all the same.
        Err(failure) => {
            (ear.say)(&failure.explained(without));
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
