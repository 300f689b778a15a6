//! Which model sits in which seat, and why.

use std::collections::{BTreeMap, HashMap};

use roundtable_core::usage::Price;
use roundtable_engine::cast::Tier;
use roundtable_engine::event::Seated;
use roundtable_engine::model::Ability;
use roundtable_engine::table::Chair;

use super::{Ear, Order};
use crate::config::ModelName;
use crate::embedded::{self, Report};
use crate::failure::{Failure, Fault};
use crate::models::{Discovery, Search, Wishes, discover};
use crate::workshop::Workshop;

pub(super) struct Seating {
    pub seated: Vec<Seated>,
    pub chairs: HashMap<String, Chair>,
}

/// The models of a new debate. Says what was taken, why, and what would serve better (C-04).
pub(super) async fn choose(
    workshop: &Workshop,
    order: &Order,
    ear: &Ear,
) -> Result<Seating, Failure> {
    let mut named = named(workshop, order)?;
    let cast = &order.cast;
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
        let wishes = Wishes {
            model: None,
            deliberate: prefers(Tier::Deliberate),
            fast: prefers(Tier::Fast),
        };
        let found = discover(&workshop.fleet, &wishes, Search::FirstFit).await;
        for seat in unnamed {
            let model = found_for(&found, seat.tier, seat.prefers.as_deref())
                .ok_or_else(|| nothing_found(&found))?;
            named.insert(seat.name.clone(), model);
        }
        explain(&found, ear);
    }
    seat(workshop, order, &named, ear).await
}

/// The models that a debate was opened with, for going on with it.
pub(super) async fn again(
    workshop: &Workshop,
    seated: &[Seated],
    report: &Report,
) -> Result<HashMap<String, Chair>, Failure> {
    let mut chairs = HashMap::new();
    for seated in seated {
        let name = workshop.config.model_name(&seated.model)?;
        let chair = chair(workshop, &name, report).await?;
        chairs.insert(seated.seat.name.clone(), chair.1);
    }
    Ok(chairs)
}

async fn seat(
    workshop: &Workshop,
    order: &Order,
    named: &BTreeMap<String, ModelName>,
    ear: &Ear,
) -> Result<Seating, Failure> {
    let mut ready: HashMap<ModelName, (ModelName, Chair)> = HashMap::new();
    let mut seating = Seating {
        seated: Vec::new(),
        chairs: HashMap::new(),
    };
    for seat in &order.cast.seats {
        let Some(name) = named.get(&seat.name) else {
            return Err(Failure::usage(format!(
                "no model is given for seat '{}'",
                seat.name
            )));
        };
        if !ready.contains_key(name) {
            let made = chair(workshop, name, &ear.fetching).await?;
            ready.insert(name.clone(), made);
        }
        let Some((real, chair)) = ready.get(name) else {
            continue;
        };
        let mut seat = seat.clone();
        let configured = order.configured.get(&seat.name);
        if let Some(temperature) = configured.and_then(|it| it.temperature) {
            seat.temperature = temperature;
        }
        let ability = chair.model.profile().ability;
        if ability == Ability::Small {
            seat.max_output_tokens = seat.max_output_tokens.min(SMALL_REPLY);
        }
        seating.chairs.insert(seat.name.clone(), chair.clone());
        seating.seated.push(Seated {
            seat,
            model: real.to_string(),
            ability,
        });
    }
    warn_of_the_smallest(&seating, ear);
    Ok(seating)
}

/// What the bounds of a small model's schema come to, with room to spare.
const SMALL_REPLY: u32 = 1024;

async fn chair(
    workshop: &Workshop,
    name: &ModelName,
    report: &Report,
) -> Result<(ModelName, Chair), Failure> {
    let real = if name.provider() == embedded::PROVIDER {
        workshop
            .local
            .ready_model(name.model(), report.clone())
            .await?
    } else {
        name.clone()
    };
    let model = workshop.fleet.model(&real)?;
    let price: Option<Price> = workshop.fleet.price(&real);
    Ok((real, Chair { model, price }))
}

/// Those that the wish or the configuration names; all that is wrong with the wish at once.
fn named(workshop: &Workshop, order: &Order) -> Result<BTreeMap<String, ModelName>, Failure> {
    let mut named = BTreeMap::new();
    let mut faults = Vec::new();
    for (seat, model) in &order.models.seats {
        let at = format!("/seats/{seat}");
        match order.cast.seat(seat) {
            Ok(seat) => match workshop.config.model_name(model) {
                Ok(model) => drop(named.insert(seat.name.clone(), model)),
                Err(error) => faults.push(Fault::new(at, error.to_string())),
            },
            Err(error) => faults.push(Fault::new(at, error.to_string())),
        }
    }
    let all = order.models.all.as_ref();
    let all = match all.map(|text| workshop.config.model_name(text)) {
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
    for seat in &order.cast.seats {
        let configured = order.configured.get(&seat.name);
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
    let granted = prefers.and_then(|wish| found.granted(wish));
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

fn explain(found: &Discovery, ear: &Ear) {
    if let Some(choice) = &found.deliberate {
        (ear.say)(&format!("Model: {} ({})", choice.model, choice.why));
    }
    if let Some(advice) = &found.advice {
        (ear.say)(advice);
    }
}

fn warn_of_the_smallest(seating: &Seating, ear: &Ear) {
    let tiny = seating
        .seated
        .iter()
        .any(|seated| seated.model.contains("SmolLM2-135M"));
    if tiny {
        (ear.say)(
            "SmolLM2-135M can write sentences but cannot reason: this shows how a debate runs, not what it can find out.",
        );
    }
}
