//! Chooses the model of each seat and says why.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use roundtable_core::usage::Price;
use roundtable_engine::cast::{Cast, Seat, Tier};
use roundtable_engine::event::Seated;
use roundtable_engine::model::Ability;
use roundtable_engine::protocol::SeatModels;
use roundtable_engine::table::{FastModel, SeatModel};

use super::{Models, PreparedDebate, ProgressSink};
use crate::app_context::AppContext;
use crate::config::{ModelName, SeatSettings};
use crate::embedded::{self, Report};
use crate::failure::{Failure, Fault};
use crate::models::{Discovery, ModelPolicy, ModelPreferences, Search, discover};

pub(super) struct Seating {
    pub seated: Vec<Seated>,
    pub models: SeatModels,
    /// Substitutions, for the result (C-18).
    pub notices: Vec<String>,
}

/// The models of a new debate. Reports which were chosen and why, and what would serve better (C-04).
pub(super) async fn choose(
    app: &AppContext,
    cast: &Cast,
    models: &Models,
    settings: &SeatSettings,
    (fallback_local, policy): (bool, &ModelPolicy),
    progress: &ProgressSink,
) -> Result<Seating, Failure> {
    let mut notices = Vec::new();
    let mut named = named(app, cast, models, settings)?;
    let unnamed: Vec<_> = cast
        .seats
        .iter()
        .filter(|seat| !named.contains_key(&seat.name))
        .collect();
    if !unnamed.is_empty() {
        let preferences = preferences(&unnamed, fallback_local);
        let found = discover(&app.models, &preferences, Search::FirstFit).await;
        for seat in unnamed {
            let model = model_for(&found, seat.tier, seat.prefers.as_deref())
                .ok_or_else(|| no_model(&found))?;
            named.insert(seat.name.clone(), model);
        }
        explain(&found, progress);
        notices.extend(found.substitution());
    }
    // Before anything is downloaded.
    check_allowed(named.values(), policy)?;
    let mut seating = seat(app, cast, settings, &named, policy, progress).await?;
    seating.notices = notices;
    Ok(seating)
}

/// Refuses models that the caller's token may not use.
pub(crate) fn check_allowed<'a>(
    models: impl IntoIterator<Item = &'a ModelName>,
    policy: &ModelPolicy,
) -> Result<(), Failure> {
    let refused = models.into_iter().find(|name| !policy.allows(name));
    match refused {
        None => Ok(()),
        Some(name) => Err(Failure::forbidden(format!(
            "this token may not use {name}; it may use {}",
            policy.models.join(", ")
        ))),
    }
}

fn preferences(seats: &[&Seat], fallback_local: bool) -> ModelPreferences {
    let prefers = |tier: Tier| -> Vec<String> {
        let seats = seats.iter().filter(|seat| seat.tier == tier);
        seats.filter_map(|seat| seat.prefers.clone()).collect()
    };
    ModelPreferences {
        model: None,
        deliberate: prefers(Tier::Deliberate),
        fast: prefers(Tier::Fast),
        fallback_local,
    }
}

/// The model of each seat of a cast, if the user names none. Seats without a model are left out.
pub(crate) async fn proposed_models(app: &AppContext, cast: &Cast) -> Vec<(String, ModelName)> {
    let seats: Vec<&Seat> = cast.seats.iter().collect();
    let found = discover(&app.models, &preferences(&seats, false), Search::FirstFit).await;
    let proposed = seats.iter().filter_map(|seat| {
        let model = model_for(&found, seat.tier, seat.prefers.as_deref())?;
        Some((seat.name.clone(), model))
    });
    proposed.collect()
}

/// The models that a stored debate was opened with.
pub(super) async fn find_again(
    app: &AppContext,
    seated: &[Seated],
    policy: &ModelPolicy,
    report: &Report,
) -> Result<SeatModels, Failure> {
    let mut models = HashMap::new();
    for seated in seated {
        let name = app.config.model_name(&seated.model)?;
        let (_, model) = seat_model(app, &name, policy, report).await?;
        models.insert(seated.seat.name.clone(), model);
    }
    Ok(models)
}

/// The model that puts invalid replies into their schema: the configured fast tier, or that of a seat of the fast tier. `None`
/// leaves it to each seat's own model; so does a model whose price, or whose fallback's price, is unknown, if the cost is limited.
pub(super) fn fast_model(app: &AppContext, prepared: &PreparedDebate) -> Option<FastModel> {
    let configured = app.config.tiers.fast.as_ref();
    // The embedded model would have to be loaded, and its own replies always fit.
    let configured = configured.filter(|name| name.provider() != embedded::PROVIDER);
    let fast = if let Some(name) = configured {
        FastModel {
            name: name.to_string(),
            seat_model: SeatModel {
                model: app.models.model_within(name, &prepared.policy).ok()?,
                price: app.models.price(name),
            },
        }
    } else {
        let seats = &mut prepared.setup.seats.iter();
        let seated = seats.find(|seated| seated.seat.tier == Tier::Fast)?;
        FastModel {
            name: seated.model.clone(),
            seat_model: prepared.seat_models.get(&seated.seat.name)?.clone(),
        }
    };
    // A token that may not use it has each seat's own model put its replies into form.
    let policy = &prepared.policy;
    let name = app.config.model_name(&fast.name).ok();
    let name = name.filter(|name| policy.allows(name))?;
    let has_prices =
        || fast.seat_model.price.is_some() && app.models.unpriced_fallback(&name, policy).is_none();
    let is_limited = prepared.budget.max_cost.is_some() || policy.priced_only;
    (!is_limited || has_prices()).then_some(fast)
}

async fn seat(
    app: &AppContext,
    cast: &Cast,
    settings: &SeatSettings,
    named: &BTreeMap<String, ModelName>,
    policy: &ModelPolicy,
    progress: &ProgressSink,
) -> Result<Seating, Failure> {
    let mut ready: HashMap<ModelName, (ModelName, SeatModel)> = HashMap::new();
    let mut seating = Seating {
        seated: Vec::new(),
        models: HashMap::new(),
        notices: Vec::new(),
    };
    for seat in &cast.seats {
        let Some(name) = named.get(&seat.name) else {
            return Err(Failure::usage(format!("no model for seat '{}'", seat.name)));
        };
        if !ready.contains_key(name) {
            let opened = seat_model(app, name, policy, &progress.fetching).await?;
            ready.insert(name.clone(), opened);
        }
        let Some((real, model)) = ready.get(name) else {
            continue;
        };
        let mut seat = seat.clone();
        let configured = settings.get(&seat.name);
        if let Some(temperature) = configured.and_then(|seat| seat.temperature) {
            seat.temperature = temperature;
        }
        let ability = model.model.profile().ability;
        if ability == Ability::Small {
            seat.max_output_tokens = seat.max_output_tokens.min(MAX_SMALL_REPLY_TOKENS);
        }
        seating.models.insert(seat.name.clone(), model.clone());
        seating.seated.push(Seated {
            seat,
            model: real.to_string(),
            ability,
        });
    }
    say_remarks(&seating, progress);
    Ok(seating)
}

/// Enough for a reply within the bounds of a small model's schema.
const MAX_SMALL_REPLY_TOKENS: u32 = 1024;

async fn seat_model(
    app: &AppContext,
    name: &ModelName,
    policy: &ModelPolicy,
    report: &Report,
) -> Result<(ModelName, SeatModel), Failure> {
    let real = if name.provider() == embedded::PROVIDER {
        app.local.ready_model(name.model(), report.clone()).await?
    } else {
        name.clone()
    };
    let model = app.models.model_within(&real, policy)?;
    let price: Option<Price> = app.models.price(&real);
    Ok((real, SeatModel { model, price }))
}

/// The models that the request or the configuration names. Reports every invalid name at once.
fn named(
    app: &AppContext,
    cast: &Cast,
    models: &Models,
    settings: &SeatSettings,
) -> Result<BTreeMap<String, ModelName>, Failure> {
    let mut named = BTreeMap::new();
    let mut faults = Vec::new();
    for (seat, model) in &models.seats {
        let at = format!("/seats/{seat}");
        match cast.seat(seat) {
            Ok(seat) => match app.config.model_name(model) {
                Ok(model) => drop(named.insert(seat.name.clone(), model)),
                Err(error) => faults.push(Fault::new(at, error.to_string())),
            },
            Err(error) => faults.push(Fault::new(at, error.to_string())),
        }
    }
    let all = models.all.as_ref();
    let all = match all.map(|text| app.config.model_name(text)) {
        Some(Ok(model)) => Some(model),
        Some(Err(error)) => {
            faults.push(Fault::new("/model", error.to_string()));
            None
        }
        None => None,
    };
    if !faults.is_empty() {
        return Err(Failure::refused(faults));
    }
    for seat in &cast.seats {
        let configured = settings.get(&seat.name);
        let wanted = all
            .clone()
            .or_else(|| configured.and_then(|seat| seat.model.clone()));
        if let Some(model) = wanted {
            named.entry(seat.name.clone()).or_insert(model);
        }
    }
    Ok(named)
}

fn model_for(found: &Discovery, tier: Tier, prefers: Option<&str>) -> Option<ModelName> {
    let granted = prefers.and_then(|spec| found.granted(spec));
    let chosen = match tier {
        Tier::Deliberate => found.deliberate.as_ref(),
        Tier::Fast => found.fast.as_ref(),
    };
    granted.or_else(|| chosen.map(|choice| choice.model.clone()))
}

pub(crate) fn no_model(found: &Discovery) -> Failure {
    let advice = found.advice.clone();
    let advice = advice.unwrap_or_else(|| "no usable model found".to_owned());
    if let Some(reason) = &found.unavailable {
        return Failure::no_model(format!("{reason}\n{advice}"));
    }
    let mut lines = vec![advice];
    for finding in &found.findings {
        lines.push(format!("  {}: {}", finding.provider, finding.note));
    }
    Failure::no_model(lines.join("\n"))
}

fn explain(found: &Discovery, progress: &ProgressSink) {
    if let Some(substitution) = found.substitution() {
        (progress.say)(&substitution);
    } else if let Some(choice) = &found.deliberate {
        (progress.say)(&format!("Model: {} ({})", choice.model, choice.why));
    }
    if let Some(advice) = &found.advice {
        (progress.say)(advice);
    }
}

fn say_remarks(seating: &Seating, progress: &ProgressSink) {
    let models: BTreeSet<&str> = seating
        .seated
        .iter()
        .map(|seated| seated.model.as_str())
        .collect();
    for remark in models.into_iter().filter_map(embedded::remark) {
        (progress.say)(&remark);
    }
}
