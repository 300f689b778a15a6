//! `roundtable ensemble` and `POST /api/v1/reasoning/ensemble` (F-22).

#![cfg(unix)]

use serde_json::{Value, json};

use crate::harness::forecast::replies;
use crate::harness::{Answer, Home, Server, Serving};

const ENSEMBLE: &str = "/api/v1/reasoning/ensemble";

fn engine(name: &str, weight: f64, confidence: f64, yes: f64) -> Value {
    json!({
        "name": name, "weight": weight, "confidence": confidence,
        "probability_distribution": [
            { "outcome_id": "yes", "probability": yes }, { "outcome_id": "no", "probability": 1.0 - yes }
        ],
    })
}

fn three() -> Value {
    json!({ "engines": [
        engine("simulation", 0.5, 0.8, 0.8), engine("statistics", 0.35, 0.8, 0.4), engine("debate", 0.15, 0.8, 0.5),
    ] })
}

fn good() -> Server {
    Server::start(|request, _| Answer::Reply(replies(request).to_string()))
}

fn yes(combined: &Value) -> f64 {
    assert_eq!(combined["probability_distribution"][0]["outcome_id"], "yes");
    combined["probability_distribution"][0]["probability"]
        .as_f64()
        .unwrap()
}

fn forecast(home: &Home) -> Value {
    let args = [
        "forecast",
        "Will it open?",
        "--outcome",
        "Yes",
        "--outcome",
        "No",
        "--model",
        "lab:x",
    ];
    let run = home.run(
        &[
            &args[..],
            &["--rounds", "1", "--resolves", "2020-01-31", "--json"],
        ]
        .concat(),
    );
    run.expect(0, &[]);
    run.json()
}

/// F-22: engines of a file are combined, with shares and the state of the calibration.
#[test]
fn f22_engines_of_a_file_are_combined() {
    let home = Home::with(&good());
    home.write("engines.json", &three().to_string());
    let combined = home.run(&["ensemble", "engines.json", "--json"]).json();
    assert!((yes(&combined) - 0.615).abs() < 1e-9, "{combined}");
    assert_eq!(combined["calibrated"], Value::Null);
    assert_eq!(
        (&combined["resolved"], &combined["resolved_needed"]),
        (&json!(0), &json!(30))
    );
    let shown = home.run(&["ensemble", "engines.json"]);
    shown.expect(0, &[]);
    for text in [
        "62%",
        "simulation",
        "50%",
        "0 of 30 forecasts have been resolved",
    ] {
        assert!(shown.out.contains(text), "{text}: {}", shown.out);
    }
}

/// F-22: a finished forecast is an engine with its own confidence and the weight 0.15; calibrated from 30 outcomes on.
#[test]
fn f22_a_forecast_of_the_store_is_an_engine() {
    let home = Home::with(&good());
    let mut last = Value::Null;
    for number in 0..30 {
        last = forecast(&home);
        if number < 29 {
            home.run(&["resolve", "last", "yes"]).expect(0, &[]);
        }
    }
    let engines = json!({ "engines": [engine("simulation", 0.5, 0.8, 0.8), { "name": "debate", "debate_id": "last" }] });
    home.write("engines.json", &engines.to_string());
    let combine = || home.run(&["ensemble", "engines.json", "--json"]).json();
    let combined = combine();
    let debate = &combined["engines"][1];
    assert_eq!(
        (&debate["weight"], &debate["confidence"]),
        (&json!(0.15), &last["roundtable"]["confidence"])
    );
    let ours = last["probability_distribution"][0]["probability"]
        .as_f64()
        .unwrap();
    let expected = 0.6 * 0.8 + 0.4 * ours;
    assert!((yes(&combined) - expected).abs() < 1e-9, "{combined}");
    assert_eq!(
        (&combined["calibrated"], &combined["resolved"]),
        (&Value::Null, &json!(29))
    );

    home.run(&["resolve", "last", "yes"]).expect(0, &[]);
    let combined = combine();
    // The forecasts said about 65% and were always right: too cautious.
    let calibrated = &combined["calibrated"];
    assert!(
        calibrated["factor"].as_f64().unwrap() > 1.0 && yes(calibrated) > yes(&combined),
        "{combined}"
    );
}

/// F-22: everything that is wrong is said at once, with exit code 2.
#[test]
fn f22_faulty_engines_are_refused() {
    let home = Home::with(&good());
    let mut engines = three();
    engines["engines"][1]["probability_distribution"][0]["outcome_id"] = json!("maybe");
    engines["engines"][2]
        .as_object_mut()
        .unwrap()
        .remove("weight");
    home.write("engines.json", &engines.to_string());
    home.run(&["ensemble", "engines.json"]).expect(
        2,
        &[
            "/engines/1/probability_distribution: unknown outcome 'maybe'",
            "/engines/2/weight: is missing",
        ],
    );
    home.write(
        "one.json",
        &json!({ "engines": [engine("a", 0.5, 0.8, 0.8)] }).to_string(),
    );
    home.run(&["ensemble", "one.json"])
        .expect(2, &["at least two engines"]);
    home.write("text.json", "yes");
    home.run(&["ensemble", "text.json"])
        .expect(2, &["invalid engines in text.json"]);
    home.run(&["ensemble", "missing.json"])
        .expect(2, &["missing.json"]);
    let unknown = json!({ "engines": [engine("a", 0.5, 0.8, 0.8), { "name": "debate", "debate_id": "3f2a" }] });
    home.write("unknown.json", &unknown.to_string());
    home.run(&["ensemble", "unknown.json"]).expect(2, &["3f2a"]);
}

/// F-22: over HTTP, with the scope `read`; faults point into the request.
#[test]
fn f22_engines_are_combined_over_http() {
    let home = Home::configured(&good().url(), "");
    let token = home.token("read");
    let serving = Serving::start(&home, &[]);
    let bearer = format!("Bearer {token}");
    let allowed = [("authorization", bearer.as_str())];
    assert_eq!(serving.post(ENSEMBLE, &three()).status, 401);
    let reply = serving.post_with(ENSEMBLE, &three(), &allowed);
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert!((yes(&reply.json()) - 0.615).abs() < 1e-9);
    assert_eq!(reply.json()["resolved_needed"], 30);

    let mut engines = three();
    engines["engines"][0]["probability_distribution"][0]["probability"] = json!(0.9);
    let problem = serving.post_with(ENSEMBLE, &engines, &allowed);
    assert_eq!(problem.status, 422, "{}", problem.text());
    assert!(
        problem
            .text()
            .contains("/engines/0/probability_distribution"),
        "{}",
        problem.text()
    );
    for wrong in [
        json!({ "engines": [engine("a", 0.5, 0.8, 0.8)] }),
        json!({ "engines": [engine("a", 1.5, 0.8, 0.8), engine("b", 0.5, 0.8, 0.8)] }),
        json!({ "engines": 7 }),
        json!({ "engines": [], "more": 1 }),
    ] {
        let problem = serving.post_with(ENSEMBLE, &wrong, &allowed);
        assert_eq!(problem.status, 422, "{}", problem.text());
    }
    let id = "00000000-0000-4000-8000-000000000000";
    let unknown =
        json!({ "engines": [engine("a", 0.5, 0.8, 0.8), { "name": "debate", "debate_id": id }] });
    let problem = serving.post_with(ENSEMBLE, &unknown, &allowed);
    assert_eq!(problem.status, 422, "{}", problem.text());
    assert!(
        problem.text().contains("/engines/1/debate_id"),
        "{}",
        problem.text()
    );
}
