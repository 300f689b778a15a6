//! The forecasting API over HTTP (F-16, F-17, F-18).

#![cfg(unix)]

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::forecast::{replies, who};
use crate::harness::{Answer, Home, Server, Serving, schema_name};

const DEBATE: &str = "/api/v1/reasoning/debate";
/// Requests of this API name no model, so the configuration has to.
const MODELS: &str = "\n[tiers]\ndeliberate = \"lab:x\"\nfast = \"lab:x\"\n";

fn request() -> Value {
    json!({
        "task_id": "task-1",
        "ignored": { "whatever": 1 },
        "prediction_context": {
            "task": { "type": "building", "raw_query": "Will the bridge open in time?", "timeframe": { "end": "2020-01-31" } },
            "outcomes": [
                { "id": "yes", "label": "It opens", "description": "by the end of May" },
                { "id": "no", "label": "It does not", "description": "" },
            ],
            "key_variables": [{ "name": "steel", "category": "supply", "importance": "high", "current_value": "late" }],
            "simulation_summary": {
                "final_distribution": [{ "outcome_id": "yes", "probability": 0.6 }, { "outcome_id": "no", "probability": 0.4 }],
                "key_findings": ["Weather decides"],
            },
            "data_summary": {
                "region": "North", "timeframe": { "start": "2019-01-01", "end": "2019-12-31" },
                "economic_highlights": [], "sentiment_highlights": [], "data_gaps": ["soil"],
            },
        },
        "config": {
            "rounds": 3, "roles": ["optimist", "pessimist", "contrarian", "historian", "judge"],
            "max_argument_length": 500, "scoring_criteria": ["logical_strength", "evidence_quality", "novelty"], "judge_weight": 0.6,
        },
    })
}

fn home(server: &Server) -> Home {
    Home::configured(&server.url(), MODELS)
}

fn good() -> Server {
    Server::start(|request, _| Answer::Reply(replies(request).to_string()))
}

fn slow(wait: Duration) -> Server {
    Server::start(move |request, _| Answer::Late(wait, replies(request).to_string()))
}

fn at(id: &Value, rest: &str) -> String {
    format!("{DEBATE}/{}{rest}", id.as_str().unwrap())
}

/// F-16, F-17: a full request, its result, and the four read endpoints after a restart.
#[test]
fn f16_a_full_request_and_all_read_endpoints() {
    let server = good();
    let home = home(&server);
    let serving = Serving::start(&home, &[]);
    let reply = serving.post(DEBATE, &request());
    assert_eq!(reply.status, 200, "{}", reply.text());
    let result = reply.json();
    assert_eq!(server.asked().len(), 31);
    let names: Vec<&str> = result
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        names,
        [
            "debate_id",
            "task_id",
            "completed_at",
            "debate_log",
            "consensus_score",
            "disagreement_map",
            "probability_distribution",
            "key_insights",
            "historical_precedents",
            "metadata",
            "roundtable"
        ]
    );
    assert_eq!(result["task_id"], "task-1");
    assert_eq!(result["metadata"]["sonnet_calls"], 31);
    let id = &result["debate_id"];
    assert_eq!(
        id.as_str().unwrap().as_bytes()[14],
        b'4',
        "a UUID of version 4"
    );

    serving.terminate();
    let serving = Serving::start(&home, &[]);
    assert_eq!(serving.get(&at(id, "")).json(), result);
    for number in 1..=3 {
        let round = serving.get(&at(id, &format!("/round/{number}"))).json();
        assert_eq!(
            round,
            json!({ "round": result["debate_log"]["rounds"][number - 1] })
        );
    }
    let role = serving.get(&at(id, "/role/historian")).json();
    let arguments = role["arguments"].as_array().unwrap();
    assert_eq!(arguments.len(), 3);
    assert!(arguments.iter().all(|a| a["role"] == "historian"));
    let consensus = serving.get(&at(id, "/consensus")).json();
    assert_eq!(
        consensus,
        json!({
            "consensus_score": result["consensus_score"],
            "probability_distribution": result["probability_distribution"],
            "disagreement_map": result["disagreement_map"],
        })
    );
    for missing in ["/round/4", "/round/0", "/round/x", "/role/wizard"] {
        serving.get(&at(id, missing)).problem(404, "not-found");
    }
    serving
        .get(&format!("{DEBATE}/nothing"))
        .problem(404, "not-found");
}

/// F-01: all validation errors are reported at once, and no debate is started.
#[test]
fn f01_all_validation_errors_are_reported_over_http() {
    let server = good();
    let home = home(&server);
    let serving = Serving::start(&home, &[]);
    let mut wrong = request();
    wrong["task_id"] = Value::Null;
    wrong["config"]["judge_weight"] = json!(60);
    wrong["config"]["roles"][0] = json!("wizard");
    wrong["prediction_context"]["simulation_summary"]["final_distribution"][0]["outcome_id"] =
        json!("maybe");
    let problem = serving.post(DEBATE, &wrong).problem(422, "invalid-request");
    let at: Vec<&str> = problem["faults"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fault| fault["at"].as_str().unwrap())
        .collect();
    assert_eq!(
        at,
        [
            "/task_id",
            "/prediction_context/simulation_summary/final_distribution/0/outcome_id",
            "/config/judge_weight",
            "/config/roles/0",
        ]
    );
    for body in [json!({}), json!([]), json!("x"), Value::Null] {
        serving.post(DEBATE, &body).problem(422, "invalid-request");
    }
    let headers = [("content-type", "application/json")];
    serving
        .send("POST", DEBATE, &headers, b"{")
        .problem(400, "malformed");
    assert!(server.asked().is_empty());
    assert!(home.list().is_empty());
}

/// F-16: after the timeout the client gets 504 with the debate's id, and the debate continues.
#[test]
fn f16_the_debate_continues_after_a_timeout() {
    let server = slow(Duration::from_millis(150));
    let home = home(&server);
    let serving = Serving::start(&home, &["--answer-within", "0.2"]);
    let reply = serving.post(DEBATE, &request());
    let problem = reply.problem(504, "still-running");
    let id = &problem["debate_id"];
    assert_eq!(reply.header("location"), Some(at(id, "").as_str()));
    let pending = serving.get(&at(id, ""));
    assert_eq!((pending.status, &pending.json()["debate_id"]), (202, id));
    assert_eq!(serving.get(&at(id, "/consensus")).status, 202);
    serving.until(id.as_str().unwrap(), "complete");
    let result = serving.get(&at(id, ""));
    assert_eq!(result.status, 200);
    assert_eq!(result.json()["metadata"]["total_arguments"], 15);
    assert_eq!(server.asked().len(), 31);
}

/// F-16: `Prefer: respond-async` returns 202 with the location of the result.
#[test]
fn f16_an_asynchronous_request_is_answered_at_once() {
    let server = slow(Duration::from_millis(300));
    let home = home(&server);
    let serving = Serving::start(&home, &[]);
    let started = Instant::now();
    let reply = serving.post_with(DEBATE, &request(), &[("prefer", "respond-async")]);
    assert_eq!(reply.status, 202, "{}", reply.text());
    assert!(
        started.elapsed() < Duration::from_millis(1500),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(reply.header("preference-applied"), Some("respond-async"));
    let location = reply.header("location").unwrap().to_owned();
    let polling = Instant::now();
    while serving.get(&location).status == 202 {
        assert!(polling.elapsed() < Duration::from_mins(1));
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(
        serving.get(&location).json()["debate_id"],
        reply.json()["debate_id"]
    );
}

/// F-18: if one role fails, the result is partial; if all fail, the response is an error with the reason.
#[test]
fn f18_partial_results_are_results_and_failed_ones_are_not() {
    let server = Server::start(|request, _| {
        if schema_name(request) == "argument" && who(request).0 == "judge" {
            return Answer::Status(400, "", "no".into());
        }
        Answer::Reply(replies(request).to_string())
    });
    let home = home(&server);
    let serving = Serving::start(&home, &[]);
    let reply = serving.post(DEBATE, &request());
    assert_eq!(reply.status, 200);
    let result = reply.json();
    assert_eq!(result["roundtable"]["state"], "partial");
    assert_eq!(result["roundtable"]["judge"], "absent");
    assert_eq!(
        result["probability_distribution"][0]["judge_probability"],
        Value::Null
    );

    let dead = Server::start(|_, _| Answer::Status(400, "", "no".into()));
    let home = Home::configured(&dead.url(), MODELS);
    let serving = Serving::start(&home, &[]);
    let problem = serving.post(DEBATE, &request()).problem(502, "no-model");
    assert!(problem["debate_id"].is_string(), "{problem}");
}

/// F-16: starting a debate needs a token with scope `run`.
#[test]
fn f16_service_tokens_are_required() {
    let server = good();
    let home = home(&server);
    let token = |name: &str, scope: &str| {
        let run = home.run(&["token", "add", name, "--scope", scope]);
        run.expect(0, &[]);
        run.out
            .split_whitespace()
            .find(|word| word.starts_with("rt_"))
            .unwrap_or(run.out.trim())
            .to_owned()
    };
    let (reader, runner) = (token("reader", "read"), token("runner", "run"));
    let mut serving = Serving::start(&home, &[]);
    assert_eq!(serving.post(DEBATE, &request()).status, 401);
    serving.token = Some(reader.clone());
    assert_eq!(serving.post(DEBATE, &request()).status, 403);
    serving.token = Some(runner);
    let result = serving.post(DEBATE, &request());
    assert_eq!(result.status, 200, "{}", result.text());
    serving.token = Some(reader);
    assert_eq!(
        serving.get(&at(&result.json()["debate_id"], "")).status,
        200
    );
    serving.token = None;
    assert_eq!(
        serving.get(&at(&result.json()["debate_id"], "")).status,
        401
    );
}

/// The actual outcome is recorded over the API, scored, and changes the weights of the next forecast.
#[test]
fn a_forecast_is_resolved_over_http() {
    let server = good();
    let home = home(&server);
    let serving = Serving::start(&home, &[]);
    let id = serving.post(DEBATE, &request()).json()["debate_id"].clone();
    serving
        .post(&at(&id, "/resolution"), &json!({ "outcome": "maybe" }))
        .problem(422, "invalid-request");
    let done = serving.post(
        &at(&id, "/resolution"),
        &json!({ "outcome": "yes", "by": "The mayor" }),
    );
    assert_eq!(done.status, 204, "{}", done.text());
    let calibration = serving.get("/api/v1/reasoning/calibration").json();
    assert_eq!(calibration["questions"], 1);
    assert_eq!(calibration["debates"][0]["outcome"], "yes");
    assert!(calibration["debates"][0]["simulation"]["brier"].is_number());
    let page = serving.get("/calibration");
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    for part in ["<svg", "Reliability", "n=1", "blind first round"] {
        assert!(page.text().contains(part), "{part}");
    }
    let next = serving.post(DEBATE, &request()).json();
    let weights = next["roundtable"]["accuracy_pool"]["weights"]
        .as_array()
        .unwrap();
    assert!(
        weights
            .iter()
            .any(|entry| (entry["weight"].as_f64().unwrap() - 0.2).abs() > 0.01),
        "{weights:?}"
    );
}
