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
    for weight in ["1.5", "-0.1", "nan", "NaN", "inf", "60%"] {
        forecast(&home, &["--judge-weight", weight]).expect(2, &["--judge-weight", "from 0 to 1"]);
    }
    let equal = ["forecast", QUESTION, "--model", "lab:x", "--outcome", "Yes"];
    for other in ["Yes", " yes "] {
        home.run(&[&equal[..], &["--outcome", other]].concat())
            .expect(2, &["given twice"]);
    }
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

/// F-21: on the command line, base rates and the deadline are told to every seat, a large request is announced, and its facts
/// are in the estimate.
#[test]
fn f21_every_seat_is_told_the_facts_and_a_large_request_is_announced() {
    let server = good();
    let home = Home::with(&server);
    let told = [
        "--base-rate",
        "3 of 11 bridges opened in time",
        "--resolves",
        "2999-05-31",
        "--rounds",
        "1",
    ];
    let small = forecast(&home, &told);
    small.expect(0, &[]);
    assert!(!small.err.contains("Large request"), "{}", small.err);
    for request in server.heard() {
        let text = said(&request);
        for fact in [
            "Base rates: 3 of 11 bridges opened in time",
            "the deadline is 2999-05-31, in ",
        ] {
            assert!(text.contains(fact), "{}: {text}", schema_name(&request));
        }
    }

    let highlights = (0..60).map(|number| {
        format!("Part {number} was delivered {number}.5 days late by the yard in the north")
    });
    let request = json!({
        "task_id": "t-1",
        "prediction_context": {
            "task": { "raw_query": QUESTION },
            "outcomes": [{ "id": "yes", "label": "Yes" }, { "id": "no", "label": "No" }],
            "data_summary": { "economic_highlights": highlights.collect::<Vec<_>>() },
        },
    });
    home.write("request.json", &request.to_string());
    let run = |home: &Home, more: &[&str]| {
        let args = ["forecast", "--request", "request.json", "--model", "lab:x"];
        home.run(&[&args[..], more].concat())
    };
    let announced = "instead of 600, so that all facts fit";
    let estimate = run(&home, &["--estimate", "--json"]);
    estimate.expect(
        0,
        &["Large request: argument prompts have up to", announced],
    );
    let large = run(&home, &["--json"]);
    large.expect(0, &[announced]);
    let used = large.json()["metadata"]["sonnet_tokens_used"]["input"].as_u64();
    assert!(used.is_some());
    let last = server.heard().pop().unwrap();
    assert!(said(&last).contains("Part 59 was delivered 59.5 days late by the yard in the north"));

    let bounded = Home::configured(&server.url(), "\n[forecast]\nmax_prompt_tokens = 700\n");
    bounded.write("request.json", &request.to_string());
    let run = run(&bounded, &[]);
    run.expect(
        0,
        &[
            "up to 700 tokens",
            "of the facts do not fit",
            "max_prompt_tokens in [forecast]",
        ],
    );
    let last = said(&server.heard().pop().unwrap());
    assert!(last.contains("less relevant facts are left out."), "{last}");
    for part in last.split("Part ").skip(1) {
        assert!(
            part.contains(" days late by the yard in the north"),
            "{part}"
        );
    }
}

/// B-09, E-16: outcomes teach the pool of the next forecast; every one is listed with what it changed, can be exported with the
/// whole panel, and can be taken back exactly.
#[test]
fn b09_outcomes_teach_the_pool_and_can_be_taken_back() {
    let server = good();
    let home = Home::with(&server);
    home.run(&["pool"])
        .expect(0, &["No forecast has been scored yet"]);
    let past = [
        "--domain",
        "building",
        "--resolves",
        "2020-01-31",
        "--rounds",
        "1",
        "--json",
    ];
    let weights = |run: &Run| run.json()["roundtable"]["accuracy_pool"].clone();
    let first = forecast(&home, &past);
    assert_eq!(weights(&first)["factor"], 1.0);
    let resolved = home.run(&["resolve", "last", "yes", "--json"]).json();
    assert_eq!(resolved["outcome"], "yes");
    assert!(resolved["scores"]["debate"]["brier"].is_number());
    let second = forecast(&home, &past);
    let resolved = home.run(&["resolve", "last", "yes", "--by", "The mayor"]);
    resolved.expect(0, &[]);
    assert!(resolved.out.starts_with("Recorded outcome 'Yes'"));
    let third = forecast(&home, &past);
    assert_ne!(weights(&second)["weights"], weights(&third)["weights"]);

    let history = home.run(&["pool", "--history", "--json"]).json();
    assert_eq!(history.as_array().unwrap().len(), 2, "{history}");
    assert_eq!(history[0]["question"], QUESTION);
    assert_eq!(
        history[0]["factor"]["after"],
        history[1]["factor"]["before"]
    );
    let optimist = |step: &Value| {
        let mut skills = step["skills"].as_array().unwrap().iter();
        skills
            .find(|skill| skill["group"] == "optimist")
            .unwrap()
            .clone()
    };
    let skill = optimist(&history[0]);
    assert_eq!(
        (&skill["agent"], &skill["before"]),
        (&json!("lab:x"), &json!(0.0))
    );
    assert!(skill["after"].as_f64().unwrap() < 0.0, "{skill}");
    home.run(&["pool", "--history"]).expect(0, &[]);

    home.run(&["pool", "--export", "panels.json"])
        .expect(0, &[]);
    let ours = home.run(&["pool", "--json"]).json();
    let exported = home.run(&["pool", "panels.json", "--json"]).json();
    assert_eq!(
        (ours["questions"].clone(), ours["forecasts"].clone()),
        (json!(2), json!(10))
    );
    assert_eq!(ours, exported);
    home.write("newer.json", r#"{"roundtable_pool": 9, "questions": []}"#);
    home.run(&["pool", "newer.json"])
        .expect(2, &["format 9", "Update roundtable"]);
    home.write("broken.json", r#"{"roundtable_pool": 1}"#);
    home.run(&["pool", "broken.json"])
        .expect(2, &["not an export", "questions"]);

    // Without the second outcome, the pool is the one before it.
    let id = second.json()["debate_id"].as_str().unwrap().to_owned();
    home.run(&["resolve", &id, "--withdraw"]).expect(0, &[]);
    let again = forecast(&home, &past);
    assert_eq!(weights(&second)["weights"], weights(&again)["weights"]);
    assert_eq!(weights(&second)["factor"], weights(&again)["factor"]);
    let history = home.run(&["pool", "--history", "--json"]).json();
    assert_eq!(history.as_array().unwrap().len(), 1);
    let log = home.run(&["audit", "--json"]).out;
    assert!(
        log.contains("outcome 'yes'") && log.contains("withdrawn"),
        "{log}"
    );
}

/// Due forecasts, for people and for cron, and outcomes in bulk.
#[test]
fn forecasts_that_are_due_are_listed_and_resolved_in_bulk() {
    let server = good();
    let home = Home::with(&server);
    home.run(&["questions", "due"])
        .expect(0, &["Nothing is due"]);
    let make = |task: &str, end: &str| {
        let request = json!({
            "task_id": task,
            "prediction_context": {
                "task": { "raw_query": format!("Will {task} open?"), "timeframe": { "end": end } },
                "outcomes": [{ "id": "yes", "label": "It opens" }, { "id": "no", "label": "It does not" }],
            },
            "config": { "rounds": 1 },
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
        run.json()["debate_id"].as_str().unwrap().to_owned()
    };
    let bridge = make("bridge", "2020-01-31");
    let again = make("bridge", "2020-01-31");
    let tunnel = make("tunnel", "2019-01-31");
    let canal = make("canal", "2999-01-31");
    let due = |more: &[&str], code| {
        let run = home.run(&[&["questions", "due", "--json"], more].concat());
        run.expect(code, &[]);
        let due = run.json();
        let due = due.as_array().unwrap().iter();
        due.map(|due| due["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let first = due(&[], 3);
    assert_eq!(
        (first.len(), &first[0]),
        (3, &tunnel),
        "the oldest deadline first"
    );
    assert!(!first.contains(&canal));
    home.run(&["questions", "due"]).expect(3, &[]);

    home.write(
        "outcomes.csv",
        &format!("question,outcome,by\nbridge,It opens,The mayor\n{tunnel},maybe,\nroad,yes,\n"),
    );
    home.run(&["questions", "resolve", "outcomes.csv"]).expect(
        2,
        &[
            "row 3: unknown outcome 'maybe'",
            "row 4: no forecast has the id or task_id 'road'",
        ],
    );
    assert_eq!(due(&[], 3).len(), 3, "nothing was recorded");
    home.write(
        "outcomes.csv",
        &format!("question,outcome,by\nbridge,It opens,The mayor\n{tunnel},no,\n"),
    );
    let run = home.run(&["questions", "resolve", "outcomes.csv", "--json"]);
    run.expect(0, &[]);
    let recorded = run.json();
    let of = |id: &str| {
        let mut recorded = recorded.as_array().unwrap().iter();
        recorded.find(|one| one["id"] == id).unwrap()["outcome"].clone()
    };
    assert_eq!(
        (of(&bridge), of(&again), of(&tunnel)),
        ("yes".into(), "yes".into(), "no".into())
    );
    assert!(due(&[], 0).is_empty());
    assert_eq!(home.run(&["calibration", "--json"]).json()["questions"], 3);
    // Only an open question is forecast again; this one was forecast today.
    assert!(due(&["--older-than", "1"], 0).is_empty());
    assert!(due(&["--within", "3650"], 0).is_empty());
    home.run(&["resolve", &tunnel, "--withdraw"]).expect(0, &[]);
    assert_eq!(due(&[], 3), [tunnel]);
    home.write("empty.csv", "question,outcome\n");
    home.run(&["questions", "resolve", "empty.csv"])
        .expect(2, &["the file has no rows"]);
    home.write("wrong.csv", "id,result\n1,yes\n");
    home.run(&["questions", "resolve", "wrong.csv"])
        .expect(2, &["columns question and outcome"]);
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
