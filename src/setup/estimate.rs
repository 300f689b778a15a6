//! The expected usage of a debate before it starts (B-13).

use std::collections::BTreeMap;
use std::sync::Arc;

use roundtable_core::estimate::{Amounts, Ratios, SAMPLE};
use roundtable_core::scale::Scale;
use roundtable_engine::budget::Budget;
use roundtable_engine::estimate::{Estimate, Speeds, estimate, first_prompts};
use roundtable_engine::event::Setup;
use roundtable_engine::journal::MemoryJournal;
use roundtable_engine::protocol::{AnyProtocol, SeatModels};
use roundtable_engine::table::TableDeps;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio_util::sync::CancellationToken;

use super::PreparedDebate;
use crate::app_context::AppContext;
use crate::clock::SystemClock;
use crate::embedded;
use crate::failure::{Failure, Fault};
use crate::format::grouped;
use crate::store::Store;

/// Output tokens per second of an embedded model that has not run on this machine: 1.5B parameters on two cores.
const UNMEASURED_SPEED: f64 = 10.0;

/// The estimate of a request that is not started.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DebateEstimate {
    pub protocol: String,
    #[serde(flatten)]
    pub estimate: Estimate,
    /// The ranges in one line.
    pub text: String,
    /// The basis of the width of the ranges.
    pub basis: String,
    /// The model of each seat, as `provider:model`.
    pub models: BTreeMap<String, String>,
}

impl DebateEstimate {
    /// `None` if the debate cannot be estimated.
    pub(crate) fn of(prepared: &PreparedDebate) -> Option<Self> {
        let setup = &prepared.setup;
        let estimate = setup.estimate?;
        let seats = setup.seats.iter();
        Some(Self {
            protocol: setup.protocol.clone(),
            text: estimate.to_text(),
            basis: estimate.basis(),
            estimate,
            models: seats
                .map(|seated| (seated.seat.name.clone(), seated.model.clone()))
                .collect(),
        })
    }
}

/// Estimates a debate from its first prompts and from the estimates of earlier ones. Sends nothing.
pub(super) async fn of_debate(
    app: &AppContext,
    store: &Store,
    protocol: &dyn AnyProtocol,
    setup: &Setup,
    models: &SeatModels,
) -> Result<Option<Estimate>, Failure> {
    let Some(mut outline) = protocol.outline(setup) else {
        return Ok(None);
    };
    if protocol.needs().library && setup.embedder.is_some() {
        // Which templates are similar is known once the question is embedded; as a rule it is one.
        outline = outline.retrieving(app.library()?.mean_tokens());
    }
    let deps = TableDeps {
        seat_models: models.clone(),
        fast_model: None,
        embedder: None,
        scale: Scale::identity(),
        prompts: app.prompts()?,
        library: Arc::default(),
        journal: Arc::new(MemoryJournal::default()),
        clock: Arc::new(SystemClock),
        cancel: CancellationToken::new(),
    };
    let prompts = first_prompts(protocol, setup, deps);
    // Rendering and counting a large request takes long; the other tasks of this thread move to another one meanwhile.
    let prompts = if Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread {
        tokio::task::block_in_place(|| Handle::current().block_on(prompts))
    } else {
        prompts.await
    }?;
    let past = store
        .past_estimates(protocol.name(), setup.depth, SAMPLE)
        .await?;
    let past = past
        .iter()
        .map(|past| (past.estimate.uncalibrated, past.used));
    let ratios = Ratios::of(&past.collect::<Vec<_>>());
    let speeds = embedded_speeds(app, setup);
    let estimate = estimate(&outline, setup, models, &prompts, &speeds, &ratios);
    Ok(Some(estimate))
}

/// The speeds of the seats on the embedded model. Hosted models are fast enough for the usual speed.
fn embedded_speeds(app: &AppContext, setup: &Setup) -> Speeds {
    let seats = setup.seats.iter();
    let speeds = seats.filter_map(|seated| {
        let model = embedded::name_of(&seated.model)?;
        let speed = app.local.recorded_speed(model);
        Some((seated.seat.name.clone(), speed.unwrap_or(UNMEASURED_SPEED)))
    });
    speeds.collect()
}

/// Refuses a cost limit that even the shortest course of the debate exceeds.
pub(super) fn check_minimum(budget: &Budget, estimate: &Estimate) -> Result<(), Failure> {
    let Amounts {
        calls,
        tokens,
        cost: Some(least),
        ..
    } = estimate.least
    else {
        return Ok(());
    };
    match budget.max_cost {
        Some(limit) if least > limit.dollars() => {
            let message = format!(
                "the cost limit of ${:.4} is too low: even the shortest course of this debate costs ${least:.4} ({calls} calls, {} \
                 tokens). Raise --max-cost, or use --depth quick or a cheaper model",
                limit.dollars(),
                grouped_tokens(tokens),
            );
            Err(Failure::refused(vec![Fault::new(
                "/budget/max_cost",
                message,
            )]))
        }
        _ => Ok(()),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a whole number of tokens"
)]
fn grouped_tokens(tokens: f64) -> String {
    grouped(tokens.max(0.0) as u64)
}
