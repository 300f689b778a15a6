//! Which model sits in which seat, and why.

use std::collections::{BTreeMap, HashMap};

use roundtable_core::usage::Price;
use roundtable_engine::cast::Tier;
use roundtable_engine::event::Seated;
use roundtable_engine::model::Ability;
use roundtable_engine::table::SeatModel;

use super::{ProgressSink, ValidatedSpec};
use crate::app_context::AppContext;
use crate::config::ModelName;
use crate::embedded::{self, Report};
use crate::failure::{Failure, Fault};
use crate::models::{Discovery, ModelPreferences, Search, discover};

pub(super) struct Seating {
    pub seated: Vec<Seated>,
    pub seat_models: HashMap<String, SeatModel>,
}

/// The models of a new debate. Says what was taken, why, and what would serve better (C-04).
pub(super) async fn choose(
    app: &AppContext,
    validated: &ValidatedSpec,
    progress: &ProgressSink,
) -> Result<Seating, Failure> {
    let mut named = named(app, validated)?;
    let cast = &validated.cast;
    let unnamed: Vec<_> = cast
        .seats
        .iter()
        .filter(|seat| !named.contains_key(&seat.name))
        .collect();
    if !unnamed.is_empty() {
        let prefers = |tier: Tier| -> Vec<String> {
            let seats = unnamed.iter().filter(|seat| seat.tier == tier);
            seats.filter_map(|seat| seat.prefers.clone()).collect()
        };
        let wishes = ModelPreferences {
            model: None,
            deliberate: prefers(Tier::Deliberate),
            fast: prefers(Tier::Fast),
        };
        let found = discover(&app.models, &wishes, Search::FirstFit).await;
        for seat in unnamed {
            let model = found_for(&found, seat.tier, seat.prefers.as_deref())
                .ok_or_else(|| nothing_found(&found))?;
            named.insert(seat.name.clone(), model);
        }
        explain(&found, progress);
    }
    seat(app, validated, &named, progress).await
}

/// The models that a debate was opened with, for going on with it.
pub(super) async fn again(
    app: &AppContext,
    seated: &[Seated],
    report: &Report,
) -> Result<HashMap<String, SeatModel>, Failure> {
    let mut seat_models = HashMap::new();
    for seated in seated {
        let name = app.config.model_name(&seated.model)?;
        let chair = chair(app, &name, report).await?;
        seat_models.insert(seated.seat.name.clone(), chair.1);
    }
    Ok(seat_models)
}

async fn seat(
    app: &AppContext,
    validated: &ValidatedSpec,
    named: &BTreeMap<String, ModelName>,
    progress: &ProgressSink,
) -> Result<Seating, Failure> {
    let mut ready: HashMap<ModelName, (ModelName, SeatModel)> = HashMap::new();
    let mut seating = Seating {
        seated: Vec::new(),
        seat_models: HashMap::new(),
    };
    for seat in &validated.cast.seats {
        let Some(name) = named.get(&seat.name) else {
            return Err(Failure::usage(format!(
                "no model is given for seat '{}'",
                seat.name
            )));
        };
        if !ready.contains_key(name) {
            let made = chair(app, name, &progress.fetching).await?;
            ready.insert(name.clone(), made);
        }
        let Some((real, chair)) = ready.get(name) else {
            continue;
        };
        let mut seat = seat.clone();
        let configured = validated.configured.get(&seat.name);
        if let Some(temperature) = configured.and_then(|it| it.temperature) {
            seat.temperature = temperature;
        }
        let ability = chair.model.profile().ability;
        if ability == Ability::Small {
            seat.max_output_tokens = seat.max_output_tokens.min(SMALL_REPLY);
        }
        seating.seat_models.insert(seat.name.clone(), chair.clone());
        seating.seated.push(Seated {
            seat,
            model: real.to_string(),
            ability,
        });
    }
    warn_of_the_smallest(&seating, progress);
    Ok(seating)
}

/// What the bounds of a small model's schema come to, with room to spare.
const SMALL_REPLY: u32 = 1024;

async fn chair(
    app: &AppContext,
    name: &ModelName,
    report: &Report,
) -> Result<(ModelName, SeatModel), Failure> {
    let real = if name.provider() == embedded::PROVIDER {
        app.local.ready_model(name.model(), report.clone()).await?
    } else {
        name.clone()
    };
    let model = app.models.model(&real)?;
    let price: Option<Price> = app.models.price(&real);
    Ok((real, SeatModel { model, price }))
}

/// Those that the spec or the configuration names; all that is wrong with the spec at once.
fn named(
    app: &AppContext,
    validated: &ValidatedSpec,
) -> Result<BTreeMap<String, ModelName>, Failure> {
    let mut named = BTreeMap::new();
    let mut faults = Vec::new();
    for (seat, model) in &validated.models.seats {
        let at = format!("/seats/{seat}");
        match validated.cast.seat(seat) {
            Ok(seat) => match app.config.model_name(model) {
                Ok(model) => drop(named.insert(seat.name.clone(), model)),
                Err(error) => faults.push(Fault::new(at, error.to_string())),
            },
            Err(error) => faults.push(Fault::new(at, error.to_string())),
        }
    }
    let all = validated.models.all.as_ref();
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
    for seat in &validated.cast.seats {
        let configured = validated.configured.get(&seat.name);
        let wanted = all
            .clone()
            .or_else(|| configured.and_then(|it| it.model.clone()));
        if let Some(model) = wanted {
            named.entry(seat.name.clone()).or_insert(model);
        }
    }
    Ok(named)
}

fn found_for(found: &Discovery, tier: Tier, prefers: Option<&str>) -> Option<ModelName> {
    let granted = prefers.and_then(|spec| found.granted(spec));
    let chosen = match tier {
        Tier::Deliberate => found.deliberate.as_ref(),
        Tier::Fast => found.fast.as_ref(),
    };
    granted.or_else(|| chosen.map(|choice| choice.model.clone()))
}

fn nothing_found(found: &Discovery) -> Failure {
    let mut lines = vec!["no usable model was found.".to_owned()];
    for finding in &found.findings {
        lines.push(format!("  {}: {}", finding.provider, finding.note));
    }
    lines.extend(found.advice.clone());
    Failure::no_model(lines.join("\n"))
}

fn explain(found: &Discovery, progress: &ProgressSink) {
    if let Some(choice) = &found.deliberate {
        (progress.say)(&format!("Model: {} ({})", choice.model, choice.why));
    }
    if let Some(advice) = &found.advice {
        (progress.say)(advice);
    }
}

fn warn_of_the_smallest(seating: &Seating, progress: &ProgressSink) {
    let tiny = seating
        .seated
        .iter()
        .any(|seated| seated.model.contains("SmolLM2-135M"));
    if tiny {
        (progress.say)(
            "SmolLM2-135M can write sentences but cannot reason: this shows how a debate runs, not what it can find out.",
        );
    }
}
