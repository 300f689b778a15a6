//! Whole forecasts with scripted models. This file has the request and the replies.

mod arguments;
mod crowd;
mod informed;
mod prompts;
mod recovery;
mod results;
mod timing;

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::*;
use crate::cast::Cast;
use crate::data::Data;
use crate::event::{Seated, Setup, State};
use crate::journal::{Journal, MemoryJournal};
use crate::model::{Ability, ModelError, Request};
use crate::protocols::play;
use crate::scripted::{Scripted, deps, entries, name};
use crate::table::{Budget, SeatModel, TableDeps};

/// A request of ordinary size: three outcomes, and every optional part.
pub(super) fn request() -> Value {
    json!({
        "task_id": "task-7",
        "prediction_context": {
            "task": {
                "task_id": "task-7",
                "type": "economy",
                "region": "Euro area",
                "raw_query": "How high will inflation in the euro area be in December 2027?",
                "timeframe": { "start": "2026-11-01", "end": "2027-12-31" },
                "confidence": 0.9
            },
            "outcomes": [
                { "id": "above", "label": "Above 3%", "description": "the flash estimate is over 3.0%" },
                { "id": "within", "label": "From 2 to 3%", "description": "" },
                { "id": "below", "label": "Below 2%", "description": "the flash estimate is under 2.0%" }
            ],
            "key_variables": [
                { "name": "policy rate", "category": "monetary", "importance": "high", "current_value": 2.25 },
                { "name": "gas price", "category": "energy", "importance": 0.7, "current_value": "34 EUR/MWh" }
            ],
            "simulation_summary": {
                "final_distribution": [
                    { "outcome_id": "above", "probability": 0.2 },
                    { "outcome_id": "within", "probability": 0.5 },
                    { "outcome_id": "below", "probability": 0.3 }
                ],
                "key_findings": ["Wages drive services prices", "Energy shocks fade within a year"]
            },
            "data_summary": {
                "region": "Euro area",
                "timeframe": { "start": "2020-01-01", "end": "2026-10-31" },
                "economic_highlights": ["Headline inflation 2.1%", "Wage growth 3.4%"],
                "sentiment_highlights": ["Households expect 2.8%"],
                "data_gaps": ["rents in Italy"]
            }
        }
    })
}

/// 2026-11-18
pub(super) const NOW: crate::event::Millis = 1_794_992_400_000;

fn cast() -> Cast {
    Cast::load(&Data::built_in(), "forecast").unwrap()
}

pub(super) fn setup_of(request: &Value) -> Setup {
    setup_with(request, &cast(), Ability::Full)
}

fn setup_with(request: &Value, cast: &Cast, ability: Ability) -> Setup {
    let context = ForecastContext {
        now: NOW,
        ..ForecastContext::default()
    };
    let planned = plan(request, cast, context).unwrap();
    Setup {
        protocol: "forecast".into(),
        question: planned.question,
        seed: 7,
        seats: planned
            .cast
            .seats
            .into_iter()
            .map(|seat| Seated::new(seat, "test:scripted", ability))
            .collect(),
        rules: json!(planned.rules),
        budget: Budget::default(),
        embedder: None,
        program: "test".into(),
        notices: Vec::new(),
        depth: crate::depth::Depth::Normal,
        estimate: None,
        parent: None,
    }
}

fn forecast_deps(model: &Arc<Scripted>, setup: &Setup, journal: Arc<dyn Journal>) -> TableDeps {
    let mut deps = deps(model, journal);
    let seat_model = deps.seat_models["judge"].clone();
    deps.seat_models = seat_models(setup, &seat_model);
    deps
}

fn seat_models(setup: &Setup, seat_model: &SeatModel) -> HashMap<String, SeatModel> {
    let seats = setup.seats.iter();
    seats
        .map(|seated| (seated.seat.name.clone(), seat_model.clone()))
        .collect()
}

pub(super) async fn played(model: &Arc<Scripted>, journal: &Arc<MemoryJournal>) -> DebateResult {
    played_with(model, journal, setup_of(&request()), Budget::default()).await
}

async fn played_with(
    model: &Arc<Scripted>,
    journal: &Arc<MemoryJournal>,
    setup: Setup,
    budget: Budget,
) -> DebateResult {
    let deps = forecast_deps(model, &setup, Arc::clone(journal) as Arc<dyn Journal>);
    let table = Table::open(setup, budget, deps).await.unwrap();
    play(&table, &Forecast).await.unwrap();
    DebateResult::of("id", "then".into(), &entries(journal)).unwrap()
}

pub(super) fn script(
    change: impl Fn(&Request, Value) -> Value + Send + Sync + 'static,
) -> Arc<Scripted> {
    Scripted::new(move |request: &Request, _| Ok(change(request, good(request)).to_string()))
}

fn all_text(request: &Request) -> String {
    let texts = request.messages.iter().map(|message| message.text.as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// `("optimist", 2)` for an argument of the optimist in round 2.
fn who(request: &Request) -> (String, u32) {
    let text = all_text(request);
    let role = text.split("You are the ").nth(1).unwrap_or_default();
    let role = role.split('.').next().unwrap_or_default().to_lowercase();
    let round = text
        .split("Round ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next()?.parse().ok());
    (role, round.unwrap_or(0))
}

/// The replies of a debate without faults: the roles start apart and move closer.
pub(super) fn good(request: &Request) -> Value {
    match name(request).as_str() {
        "argument" => argument(request),
        "scoring" => json!({
            "reason": "Sound, little that is new.",
            "scores": { "logical_strength": 0.7, "evidence_quality": 0.6, "novelty": 0.3 }
        }),
        "forecast_synthesis" => json!({
            "summary": "Most likely inflation stays **between 2 and 3%**.",
            "rounds": [
                { "round": 1, "key_disagreements": ["Whether wages keep rising"] },
                { "round": 2, "key_disagreements": ["How long energy shocks last"] },
                { "round": 3, "key_disagreements": [] }
            ],
            "disagreements": [{
                "topic": "Wages",
                "positions": [
                    { "role": "pessimist", "stance": "Second-round effects are coming", "strength": 0.7 },
                    { "role": "historian", "stance": "They faded every time", "strength": 0.8 },
                    { "role": "ghost", "stance": "Boo", "strength": 0.1 }
                ],
                "resolved": false
            }],
            "insights": [
                { "insight": "Rents are unmeasured", "source_role": "contrarian", "round": 2, "impact": "low", "affected_outcomes": ["below", "nowhere"] },
                { "insight": "Wage rounds lag a year", "source_role": "historian", "round": 1, "impact": "high", "affected_outcomes": ["within"] }
            ]
        }),
        other => panic!("nobody should ask for '{other}'"),
    }
}

fn argument(request: &Request) -> Value {
    let (role, round) = who(request);
    let (above, within, below) = match (role.as_str(), round) {
        ("optimist", 1) => (0.1, 0.6, 0.3),
        ("optimist", _) => (0.1, 0.7, 0.2),
        ("pessimist", 1) => (0.6, 0.3, 0.1),
        ("pessimist", 2) => (0.5, 0.4, 0.1),
        ("pessimist", _) => (0.3, 0.6, 0.1),
        ("contrarian", _) => (0.1, 0.2, 0.7),
        ("historian", _) => (0.2, 0.6, 0.2),
        _ => (0.2, 0.55, 0.25),
    };
    let supports = match role.as_str() {
        "pessimist" if round < 3 => "above",
        "contrarian" => "below",
        _ => "within",
    };
    let mut reply = json!({
        "argument": format!("The {role} argues in round {round}."),
        "evidence": ["ECB wage tracker, 2026"],
        "supports": supports,
        "probabilities": { "above": above, "within": within, "below": below },
        "confidence": 0.7,
        "gist": format!("Gist of the {role} in round {round}"),
    });
    if round > 1 {
        reply["rebuts"] = json!([if role == "pessimist" {
            "optimist"
        } else {
            "pessimist"
        }]);
        reply["refers_to"] = json!([if role == "pessimist" {
            "historian-1"
        } else {
            "pessimist-1"
        }]);
    }
    let asked = &request.schema.as_ref().unwrap().json["properties"];
    if asked.get("precedents").is_some() {
        reply["precedents"] = json!([
            precedent("Oil shock", "1973-10"),
            precedent("Gas shock", "2022")
        ]);
    }
    reply
}

fn precedent(event: &str, date: &str) -> Value {
    json!({
        "event": event, "date": date, "similarity_score": 0.6,
        "outcome": "Inflation rose and fell back", "relevance": "The last of its kind",
    })
}

fn good_model() -> Arc<Scripted> {
    script(|_, reply| reply)
}

/// One argument of round 2 is weak and gets a rewrite.
fn rewriting_model() -> Arc<Scripted> {
    script(|request, mut reply| {
        let text = all_text(request);
        if text.contains("Make a sounder argument") {
            reply["argument"] = json!("The contrarian tries again.");
        }
        if name(request) == "scoring" && text.contains("The contrarian argues in round 2") {
            for criterion in ["logical_strength", "evidence_quality", "novelty"] {
                reply["scores"][criterion] = json!(0.1);
            }
        }
        reply
    })
}

fn asked_of(model: &Scripted, role: &str, round: u32) -> Vec<Request> {
    let heard = model.heard().into_iter();
    heard
        .filter(|request| name(request) == "argument" && who(request) == (role.to_owned(), round))
        .collect()
}
