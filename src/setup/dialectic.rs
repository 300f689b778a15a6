//! How `dialectic` is ordered: the configuration of the design (P-01) fills in what the spec leaves out.

use std::collections::BTreeMap;

use roundtable_engine::cast::Cast;
use roundtable_engine::data::DataError;
use roundtable_engine::protocols::Protocol;
use roundtable_engine::protocols::dialectic::Rules;
use serde_json::{Map, Value, json};

use super::{Configured, DebateSpec, Embedding, Terms, ValidatedSpec, check_question};
use crate::app_context::AppContext;
use crate::config::{Config, Origin};
use crate::failure::{Failure, Fault};

const CAST: &str = "dialectic";
const SEATS: [&str; 4] = ["proposer", "skeptic", "synthesizer", "judge"];

pub(super) fn validate(app: &AppContext, spec: DebateSpec) -> Result<ValidatedSpec, Failure> {
    let mut faults = Vec::new();
    let question = spec.question.trim().to_owned();
    let limit = app.config.limits.max_question_tokens;
    faults.extend(check_question(&question, limit).err());
    let rules = rules(&app.config, &spec.rules, &mut faults);
    let cast = load_cast(app, spec.cast.as_deref().unwrap_or(CAST));
    if let Err(error) = &cast {
        faults.push(Fault::new("/cast", error.to_string()));
    }
    match (cast, rules) {
        (Ok(cast), Some(rules)) if faults.is_empty() => Ok(ValidatedSpec {
            protocol: Protocol::Dialectic,
            question,
            configured: configured(&app.config, &cast),
            cast,
            models: spec.models,
            terms: Terms::Rules(json!(rules)),
            budget: spec.budget,
            seed: spec.seed,
            embedding: Embedding::Welcome,
        }),
        _ => Err(Failure::refused(faults)),
    }
}

fn load_cast(app: &AppContext, name: &str) -> Result<Cast, DataError> {
    let cast = Cast::load(&app.data, name)?;
    for seat in SEATS {
        cast.seat(seat).map_err(|_| DataError::Broken {
            file: format!("cast '{name}'"),
            line: 1,
            message: format!("`ask` needs a seat named '{seat}'"),
        })?;
    }
    Ok(cast)
}

/// `None` where what is given cannot be rules; `faults` then says why.
fn rules(config: &Config, given: &Map<String, Value>, faults: &mut Vec<Fault>) -> Option<Rules> {
    let defaults = &config.dialectic;
    let before = faults.len();
    let mut min = defaults.min_rounds;
    let mut max = defaults.max_rounds;
    let mut early_stop_score = defaults.early_stop_score;
    let mut auto_score = true;
    for (key, value) in given {
        let wrong = |expected: &str| {
            Fault::new(
                format!("/rules/{key}"),
                format!("'{key}' must be {expected}, not {value}"),
            )
        };
        let whole = || value.as_u64().and_then(|number| u32::try_from(number).ok());
        match key.as_str() {
            "min_rounds" | "max_rounds" => match whole() {
                Some(number) if key == "min_rounds" => min = number,
                Some(number) => max = number,
                None => faults.push(wrong("a whole number of rounds")),
            },
            "early_stop_score" => match whole().and_then(|number| u8::try_from(number).ok()) {
                Some(number) => early_stop_score = number,
                None => faults.push(wrong("a mark from 1 to 10")),
            },
            "auto_score" => match value.as_bool() {
                Some(answer) => auto_score = answer,
                None => faults.push(wrong("true or false")),
            },
            _ => faults.push(Fault::new(
                format!("/rules/{key}"),
                format!(
                    "dialectic has no rule '{key}'; it has min_rounds, max_rounds, early_stop_score, auto_score"
                ),
            )),
        }
    }
    if faults.len() > before {
        return None;
    }
    match Rules::new(min, max, early_stop_score) {
        Ok(rules) => Some(Rules {
            auto_score,
            ..rules
        }),
        Err(error) => {
            faults.push(Fault::new("/rules", error.to_string()));
            None
        }
    }
}

/// Only what the user's file says about temperatures stands before the cast: the defaults are the cast's own.
fn configured(config: &Config, cast: &Cast) -> BTreeMap<String, Configured> {
    let dialectic = &config.dialectic;
    let is_set = |seat: &str| {
        let key = format!("dialectic.{seat}_temperature");
        let mut settings = config.settings().iter();
        settings.any(|setting| setting.key == key && matches!(setting.origin, Origin::File { .. }))
    };
    let of = |seat: &str| {
        let (model, temperature) = match seat {
            "proposer" => (&dialectic.proposer_model, dialectic.proposer_temperature),
            "skeptic" => (&dialectic.skeptic_model, dialectic.skeptic_temperature),
            "synthesizer" => (
                &dialectic.synthesizer_model,
                dialectic.synthesizer_temperature,
            ),
            _ => return Configured::default(),
        };
        Configured {
            model: model.clone(),
            temperature: is_set(seat).then_some(temperature),
        }
    };
    let seats = cast.seats.iter();
    seats
        .map(|seat| (seat.name.clone(), of(&seat.name)))
        .collect()
}
