//! Which model sits in which seat, and why.

use std::collections::{BTreeMap, HashMap};

use roundtable_core::usage::Price;
use roundtable_engine::cast::{Cast, Tier};
use roundtable_engine::event::Seated;
use roundtable_engine::table::Chair;

use crate::config::{Dialectic, ModelName, Origin};
use crate::embedded::{self, Report};
use crate::models::{Discovery, Search, Wishes, discover};

use super::failure::Failure;
use super::output;
use super::workshop::Workshop;

/// What the command line says about models.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Choice {
    /// The model of all seats, as provider:model.
    #[arg(long, value_name = "PROVIDER:MODEL")]
    pub model: Option<String>,
    /// The model of one seat; may be given several times.
    #[arg(long = "seat", value_name = "SEAT=PROVIDER:MODEL")]
    pub seats: Vec<String>,
}

pub(crate) struct Seating {
    pub seated: Vec<Seated>,
    pub chairs: HashMap<String, Chair>,
}

/// The models of a new debate. Says what was taken, why, and what would serve better (C-04).
pub(crate) async fn choose(
    workshop: &Workshop,
    cast: &Cast,
    choice: &Choice,
    report: &Report,
    say: impl Fn(&str),
) -> Result<Seating, Failure> {
    let mut named = by_seat(workshop, cast, choice)?;
    let all = match &choice.model {
        Some(text) => Some(workshop.config.model_name(text)?),
        None => None,
    };
    for seat in &cast.seats {
        let wanted = all
            .clone()
            .or_else(|| configured(&workshop.config.dialectic, &seat.name).cloned());
        if let Some(model) = wanted {
            named.entry(seat.name.clone()).or_insert(model);
        }
    }
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
        explain(&found, &say);
    }
    seat(workshop, cast, named, report, &say).await
}

/// The models that a debate was opened with, for going on with it.
pub(crate) async fn again(
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
    cast: &Cast,
    named: BTreeMap<String, ModelName>,
    report: &Report,
    say: &impl Fn(&str),
) -> Result<Seating, Failure> {
    let mut ready: HashMap<ModelName, (ModelName, Chair)> = HashMap::new();
    let mut seating = Seating {
        seated: Vec::new(),
        chairs: HashMap::new(),
    };
    for seat in &cast.seats {
        let Some(name) = named.get(&seat.name) else {
            return Err(Failure::usage(format!(
                "no model is given for seat '{}'",
                seat.name
            )));
        };
        if !ready.contains_key(name) {
            let made = chair(workshop, name, report).await?;
            ready.insert(name.clone(), made);
        }
        let Some((real, chair)) = ready.get(name) else {
            continue;
        };
        let mut seat = seat.clone();
        if let Some(temperature) = configured_temperature(workshop, &seat.name) {
            seat.temperature = temperature;
        }
        let ability = chair.model.profile().ability;
        if ability == roundtable_engine::model::Ability::Small {
            seat.max_output_tokens = seat.max_output_tokens.min(SMALL_REPLY);
        }
        seating.chairs.insert(seat.name.clone(), chair.clone());
        seating.seated.push(Seated {
            seat,
            model: real.to_string(),
            ability,
        });
    }
    warn_of_the_smallest(&seating, say);
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

fn by_seat(
    workshop: &Workshop,
    cast: &Cast,
    choice: &Choice,
) -> Result<BTreeMap<String, ModelName>, Failure> {
    let mut named = BTreeMap::new();
    for text in &choice.seats {
        let (seat, model) = text.split_once('=').ok_or_else(|| {
            Failure::usage(format!(
                "'{text}' does not say which seat gets which model: write --seat skeptic=provider:model"
            ))
        })?;
        let seat = cast.seat(seat.trim())?;
        named.insert(seat.name.clone(), workshop.config.model_name(model)?);
    }
    Ok(named)
}

fn configured<'a>(dialectic: &'a Dialectic, seat: &str) -> Option<&'a ModelName> {
    match seat {
        "proposer" => dialectic.proposer_model.as_ref(),
        "skeptic" => dialectic.skeptic_model.as_ref(),
        "synthesizer" => dialectic.synthesizer_model.as_ref(),
        _ => None,
    }
}

/// Only what the user's file says stands before the cast: the defaults are the cast's own.
fn configured_temperature(workshop: &Workshop, seat: &str) -> Option<f64> {
    let key = format!("dialectic.{seat}_temperature");
    let settings = workshop.config.settings();
    settings
        .iter()
        .find(|setting| setting.key == key && matches!(setting.origin, Origin::File { .. }))?;
    let dialectic = &workshop.config.dialectic;
    match seat {
        "proposer" => Some(dialectic.proposer_temperature),
        "skeptic" => Some(dialectic.skeptic_temperature),
        "synthesizer" => Some(dialectic.synthesizer_temperature),
        _ => None,
    }
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

fn explain(found: &Discovery, say: &impl Fn(&str)) {
    if let Some(choice) = &found.deliberate {
        say(&format!("Model: {} ({})", choice.model, choice.why));
    }
    if let Some(advice) = &found.advice {
        say(advice);
    }
}

fn warn_of_the_smallest(seating: &Seating, say: &impl Fn(&str)) {
    let tiny = seating
        .seated
        .iter()
        .any(|seated| seated.model.contains("SmolLM2-135M"));
    if tiny {
        say(&output::painted(
            output::WARN,
            "SmolLM2-135M can write sentences but cannot reason: this shows how a debate runs, not what it can find out.",
        ));
    }
}
