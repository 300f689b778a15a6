//! `roundtable forecast`, `resolve` and `calibration`.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::harness::forecast::{replies, said, who};
use crate::harness::{Answer, Home, Run, Server, finished, schema_name};

const QUESTION: &str = "Will the bridge open in time?";

fn good() -> Server {
    Server::start(|request, _| Answer::Reply(replies(request).to_string()))
}

fn forecast(home: &Home, more: &[&str]) -> Run {
    let mut args = vec![
        "forecast",
        QUESTION,
        "--outcome",
        "Yes",
        "--outcome",
        "No",
        "--model",
        "lab:x",
    ];
    args.extend(more);
    home.run(&args)
}

/// F-01, F-15, F-08: a question and its outcomes are enough. 31 calls; the distribution combines judge and roles.
#[test]
fn f01_a_question_and_its_outcomes_are_enough() {
    let server = good();
    let home = Home::with(&server);
    let run = forecast(
        &home,
        &["--json", "--domain", "building", "--resolves", "2020-01-31"],
    );
    run.expect(0, &[]);
    let result = run.json();
    assert_eq!(server.asked().len(), 31);
    assert_eq!(result["metadata"]["sonnet_calls"], 31);
    assert_eq!(result["metadata"]["model"], "lab:x");
    let yes = &result["probability_distribution"][0];
    assert_eq!(yes["outcome_id"], "yes");
    let close = |found: &Value, expected: f64| {
        assert!((found.as_f64().unwrap() - expected).abs() < 1e-9, "{found}");
    };
    close(&yes["consensus_probability"], 0.58);
    close(&yes["probability"], 0.6 * 0.7 + 0.4 * 0.58);
    assert_eq!(result["historical_precedents"][0]["date"], "1999");
    assert_eq!(result["roundtable"]["domain"], "building");
    assert_eq!(result["roundtable"]["resolves_on"], "2020-01-31");
    assert_eq!(result["roundtable"]["ensemble_weight"], 0.15);
}

/// F-01, F-14: the output of `--json` is valid against `roundtable schema forecast`.
#[test]
fn f14_a_result_is_valid_against_its_schema() {
    let home = Home::with(&good());
    let run = forecast(&home, &["--json", "--resolves", "2020-01-31"]);
    run.expect(0, &[]);
    let mut result = run.json();
    let schema = home.run(&["schema", "forecast"]).json();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let faults: Vec<String> = validator
        .iter_errors(&result)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert_eq!(Vec::<String>::new(), faults);
    result["probability_distribution"][0]["probability"] = json!("likely");
    assert!(!validator.is_valid(&result));
}

/// C-21: on every surface, the answer of a partial forecast says what is missing and carries the lowered confidence.
#[test]
fn c21_a_partial_forecast_is_the_same_on_every_surface() {
    let server = Server::start(|request, _| {
        if schema_name(request) == "argument" && who(request).0 == "historian" {
            return Answer::Status(400, "", "{}".into());
        }
        Answer::Reply(replies(request).to_string())
    });
    let home = Home::with(&server);
    let run = forecast(&home, &["--quiet"]);
    run.expect(3, &[]);
    let export = |format: &str| home.run(&["export", "last", "--format", format]).out;
    let texts = [
        run.out.clone(),
        home.run(&["show", "last"]).out,
        home.run(&["show", "last", "--json"]).out,
        export("md"),
        export("html"),
    ];
    for text in texts {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains("the historian was absent in rounds 1, 2 and 3"),
            "{text}"
        );
        assert!(words.contains("The confidence is lowered from"), "{text}");
    }
}

/// C-19: a large forecast says before its first call what it will take; one of ordinary size does not.
#[test]
fn c19_a_large_forecast_is_announced_before_its_first_call() {
    let server = good();
    let home = Home::with(&server);
    home.write("notes.md", &"The bridge is nearly done. ".repeat(2000));
    let run = forecast(&home, &["--context", "notes.md", "--json"]);
    run.expect(
        0,
        &[
            "Large forecast: about ",
            "tokens in 31 calls, price unknown.",
        ],
    );
    assert_eq!(run.json()["metadata"]["sonnet_calls"], 31);
    let ordinary = forecast(&home, &[]);
    assert!(!ordinary.err.contains("Large forecast"), "{}", ordinary.err);
}

/// The terminal and exported files show the forecast, its worth and the positions.
#[test]
fn c14_a_forecast_is_shown_and_exported() {
    let server = good();
    let home = Home::with(&server);
    let run = forecast(&home, &[]);
    run.expect(
        0,
        &["The debate kept the likeliest outcome", "Likeliest Yes 65%"],
    );
    assert!(run.out.contains("probably"), "{}", run.out);
    let shown = home.run(&["show", "last", "--record"]);
    for words in [
        "Disagreements",
        "A wet spring",
        "Precedents",
        "1999",
        "Steel is late",
        "Arguments and their scores",
    ] {
        assert!(
            shown.out.contains(words),
            "'{words}' is not in:\n{}",
            shown.out
        );
    }
    for format in ["md", "html", "yaml"] {
        let exported = home.run(&["export", "last", "--format", format]);
        exported.expect(0, &[]);
        assert!(exported.out.contains("Steel is late"), "{format}");
    }
    // A debate without training data is an error, not an empty file.
    home.run(&["export", "last", "--format", "jsonl"])
        .expect(1, &["the debate has no training data"]);
}

/// F-01: a request is read from a file or standard input; all of its errors are reported at once.
#[test]
fn f01_a_request_is_read_and_every_error_is_reported() {
    let server = good();
    let home = Home::with(&server);
    let request = json!({
        "task_id": "t-1", "unknown": true,
        "prediction_context": {
            "task": { "raw_query": QUESTION },
            "outcomes": [{ "id": "yes", "label": "It opens" }, { "id": "no", "label": "It does not" }],
        },
        "config": { "rounds": 1, "roles": ["optimist", "judge"] },
    });
    home.write("request.json", &request.to_string());
    let run = home.run(&[
        "forecast",
        "--request",
        "request.json",
        "--model",
        "lab:x",
        "--json",
    ]);
    run.expect(0, &[]);
    assert_eq!(run.json()["task_id"], "t-1");
    assert_eq!(run.json()["metadata"]["total_arguments"], 2);

    let mut child = home
        .command(&[
            "forecast",
            "--request",
            "-",
            "--model",
            "lab:x",
            "--json",
            "--quiet",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(request.to_string().as_bytes())
        .unwrap();
    finished(child.wait_with_output().unwrap()).expect(0, &[]);

    let mut wrong = request;
    wrong["config"]["roles"] = json!(["wizard", "judge"]);
    wrong["config"]["judge_weight"] = json!(60);
    wrong["prediction_context"]["outcomes"][1]["id"] = json!("yes");
    wrong["prediction_context"]["simulation_summary"] =
        json!({ "final_distribution": [{ "outcome_id": "maybe", "probability": 1 }] });
    home.write("wrong.json", &wrong.to_string());
    home.run(&["forecast", "--request", "wrong.json", "--model", "lab:x"])
        .expect(
            2,
            &[
                "unknown role 'wizard'",
                "expected a number from 0 to 1",
                "'yes' is used twice",
                "unknown outcome 'maybe'",
            ],
        );
    assert_eq!(
        server.asked().len(),
        2 * 5,
        "no call was made for the invalid request"
    );
}

/// F-01: invalid input is rejected before the first call.
#[test]
fn f01_invalid_input_is_rejected() {
    let server = good();
    let home = Home::with(&server);
    home.run(&["forecast", QUESTION, "--model", "lab:x"])
        .expect(2, &["a forecast needs at least 2"]);
    home.run(&["forecast", QUESTION, "--outcome", "Yes", "--model", "lab:x"])
        .expect(2, &["a forecast needs at least 2"]);
    home.run(&["forecast"]).expect(2, &["required"]);
    forecast(&home, &["--judge-weight", "1.5"]).expect(2, &["--judge-weight", "from 0 to 1"]);
    forecast(&home, &["--rounds", "0"]).expect(2, &["rounds"]);
    forecast(&home, &["--role", "wizard", "--role", "judge"]).expect(2, &["unknown role 'wizard'"]);
    forecast(&home, &["--resolves", "soon"]).expect(2, &["invalid date 'soon'"]);
    forecast(&home, &["--context", "missing.md"]).expect(2, &["cannot read missing.md"]);
    home.write("no.json", "{");
    home.run(&["forecast", "--request", "no.json", "--model", "lab:x"])
        .expect(2, &["not JSON"]);
    assert!(server.asked().is_empty());
    assert!(home.list().is_empty());
}

/// The file of --context is in the prompt of every role.
#[test]
fn f01_notes_reach_every_role() {
    let server = good();
    let home = Home::with(&server);
    home.write("notes.md", "The steel arrives on 3 May.");
    forecast(&home, &["--context", "notes.md", "--rounds", "1"]).expect(0, &[]);
    let heard = server.heard();
    let arguments = heard
        .iter()
        .filter(|request| schema_name(request) == "argument");
    assert!(arguments.clone().count() == 5);
    assert!(
        arguments
            .clone()
            .all(|request| said(request).contains("The steel arrives on 3 May."))
    );
}

/// F-18: a failing role makes the result partial, with exit code 3.
#[test]
fn f18_a_failing_role_makes_the_result_partial() {
    let server = Server::start(|request, _| {
        if schema_name(request) == "argument" && who(request).0 == "historian" {
            return Answer::Status(400, "", "no".into());
        }
        Answer::Reply(replies(request).to_string())
    });
    let home = Home::with(&server);
    let run = forecast(&home, &["--json"]);
    run.expect(3, &["Without any argument: historian"]);
    let result = run.json();
    assert_eq!(result["roundtable"]["state"], "partial");
    assert_eq!(result["roundtable"]["absent_roles"], json!(["historian"]));
    let roles = result["probability_distribution"][0]["role_assessments"]
        .as_array()
        .unwrap();
    assert_eq!(roles.len(), 4);
}

/// A recorded outcome gives scores, calibration, and weights for the next forecast.
#[test]
fn a_forecast_is_resolved_scored_and_learned_from() {
    let server = good();
    let home = Home::with(&server);
    let past = [
        "--domain",
        "building",
        "--resolves",
        "2020-01-31",
        "--quiet",
        "--rounds",
        "1",
    ];
    home.run(&["calibration"]).expect(0, &[]);
    forecast(&home, &past).expect(0, &[]);
    home.run(&["resolve", "last", "perhaps"])
        .expect(2, &["unknown outcome 'perhaps'", "yes (Yes)"]);
    home.run(&["resolve", "last", "--withdraw"])
        .expect(2, &["has no recorded outcome to withdraw"]);
    let resolved = home.run(&["resolve", "last", "No"]);
    for text in ["Recorded outcome 'No'", "Brier score"] {
        assert!(resolved.out.contains(text), "{}", resolved.out);
    }
    let resolved = home
        .run(&["resolve", "last", "YES", "--by", "The mayor", "--json"])
        .json();
    assert_eq!(
        (&resolved["outcome"], &resolved["label"]),
        (&"yes".into(), &"Yes".into())
    );
    assert!(resolved["scores"].is_object(), "{resolved}");
    let calibration = home.run(&["calibration", "--json"]).json();
    assert_eq!(calibration["questions"], 1);
    let record = &calibration["records"][0];
    assert_eq!(record["source"], "debate");
    let said_yes: f64 = 0.6 * 0.7 + 0.4 * 0.58;
    let brier = record["brier"].as_f64().unwrap();
    assert!((brier - (1.0 - said_yes).powi(2)).abs() < 1e-9, "{brier}");
    let shown = home.run(&["calibration"]);
    for words in [
        "Reliability",
        "blind first round",
        "uniform",
        "optimist",
        "n=1",
    ] {
        assert!(
            shown.out.contains(words),
            "'{words}' is not in:\n{}",
            shown.out
        );
    }
    home.run(&["calibration", "--html", "page.html"])
        .expect(0, &["Wrote page.html"]);
    let page = std::fs::read_to_string(home.path().join("page.html")).unwrap();
    assert!(page.contains("<svg") && !page.contains("<script"), "{page}");
    assert!(home.run(&["show", "last"]).out.contains("Outcome: Yes"));

    let next = forecast(&home, &["--domain", "building", "--json", "--rounds", "1"]).json();
    let weights = next["roundtable"]["accuracy_pool"]["weights"]
        .as_array()
        .unwrap()
        .clone();
    let weight = |role: &str| {
        let found = weights
            .iter()
            .find(|weight| weight["role"] == role)
            .unwrap();
        found["weight"].as_f64().unwrap()
    };
    assert!(
        weight("optimist") > 0.2 && weight("pessimist") < 0.2,
        "{weights:?}"
    );
    let again = next["probability_distribution"][0]["probability"]
        .as_f64()
        .unwrap();
    assert!(
        (again - said_yes).abs() < 1e-9,
        "learned weights leave the contract's probability alone"
    );

    home.run(&["resolve", "last", "yes"]).expect(0, &[]);
    let removed = home.run(&["resolve", "last", "--withdraw"]);
    assert!(
        removed.out.contains("Removed the outcome"),
        "{}",
        removed.err
    );
    home.run(&["list"]).expect(0, &[]);
}

#[test]
fn an_outcome_before_the_resolution_date_is_not_scored() {
    let server = good();
    let home = Home::with(&server);
    forecast(
        &home,
        &["--resolves", "2999-12-31", "--quiet", "--rounds", "1"],
    )
    .expect(0, &[]);
    let resolved = home.run(&["resolve", "last", "yes"]);
    assert!(
        resolved.out.contains("scored after 2999-12-31"),
        "{}",
        resolved.out
    );
    assert_eq!(home.run(&["calibration", "--json"]).json()["questions"], 0);
}

#[test]
fn only_forecasts_have_an_outcome() {
    let server = Server::good();
    let home = Home::with(&server);
    home.ask(&["--quiet"]).expect(0, &[]);
    home.run(&["resolve", "last", "yes"])
        .expect(2, &["is not a forecast"]);
}
