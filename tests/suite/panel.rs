//! `roundtable panel` on every surface: terminal, JSON, stored, exported, resumed, API and page.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Answer, Home, Server, Serving, schema_name};

const QUESTION: &str = "Should a five-person team run its own Kubernetes cluster?";

/// Answers as a panel that disagrees, or one that agrees from the start.
pub(crate) fn reply(request: &Value, positions: [&str; 4]) -> String {
    let model = request["model"].as_str().unwrap_or_default();
    let index = "abcd".find(model).unwrap_or(0);
    let reply = match schema_name(request).as_str() {
        "panel_answer" => json!({
            "answer": format!("Answer of model {model}."),
            "position": positions[index],
            "confidence": 0.9,
        }),
        "panel_ranking" => {
            let schema = &request["response_format"]["json_schema"]["schema"];
            let labels = &schema["properties"]["ranking"]["items"]["properties"]["answer"]["enum"];
            let mut labels: Vec<&str> = labels
                .as_array()
                .unwrap()
                .iter()
                .filter_map(Value::as_str)
                .collect();
            labels.sort_unstable();
            let ranking: Vec<Value> = labels
                .iter()
                .map(|label| json!({ "answer": label, "reason": format!("Reason for {label}.") }))
                .collect();
            json!({ "comparison": "They differ in how much they trust the team.", "ranking": ranking })
        }
        _ => json!({
            "answer": "Use a managed service until the load is known.",
            "position": "Use a managed service",
            "confidence": 0.75,
            "consensus": [{ "text": "Operations cost time.", "answers": ["A", "B"] }],
            "contradictions": [{ "text": "Whether control is worth it.", "answers": ["A", "C"] }],
            "partial_coverage": [],
            "unique_insights": [{ "text": "Load decides.", "answers": ["D"] }],
            "blind_spots": [{ "text": "Nobody treats hiring.", "answers": [] }],
        }),
    };
    reply.to_string()
}

fn divided() -> Server {
    let positions = [
        "Use a managed service",
        "Run it yourself",
        "It depends",
        "Wait",
    ];
    Server::start(move |request, _| Answer::Reply(reply(request, positions)))
}

const SEATS: [&str; 10] = [
    "--seat",
    "first=lab:a",
    "--seat",
    "second=lab:b",
    "--seat",
    "third=lab:c",
    "--seat",
    "fourth=lab:d",
    "--seat",
    "chair=lab:e",
];

fn panel<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["panel", QUESTION, "--seed", "7"];
    args.extend(SEATS);
    args.extend(more);
    args
}

/// N-01 … N-06, C-14: a panel runs, is shown, stored and exported, and its record keeps to the published schema.
#[test]
fn n06_a_panel_is_shown_stored_and_exported() {
    let server = divided();
    let home = Home::with(&server);
    let run = home.run(&panel(&["--json"]));
    run.expect(0, &[]);
    let record = run.json();
    assert_eq!(record["result"]["stop_reason"], "concluded");
    assert_eq!(record["result"]["answers"].as_array().unwrap().len(), 4);
    assert_eq!(
        record["result"]["ranking"]["rule"],
        "normalised Borda count"
    );
    assert_eq!(server.asked().len(), 9);
    let schema = home.run(&["schema", "panel"]).json();
    let required = schema["required"].as_array().unwrap();
    assert!(
        required
            .iter()
            .all(|key| record.get(key.as_str().unwrap()).is_some())
    );
    for format in ["md", "html", "json", "yaml"] {
        let out = home.run(&["export", "last", "--format", format]).out;
        for words in [
            "Use a managed service until",
            "Answer of model a.",
            "Nobody treats hiring.",
        ] {
            assert!(out.contains(words), "'{words}' is not in {format}");
        }
    }
    let shown = home.run(&["show", "last", "--record"]);
    shown.expect(0, &[]);
    for words in ["Blind spots", "Ranking", "Answer of model d."] {
        assert!(
            shown.out.contains(words),
            "'{words}' is not shown:\n{}",
            shown.out
        );
    }
}

/// N-05: a panel that agrees from the start stops, says so, and continues with `--full`.
#[test]
fn n05_a_panel_that_agrees_stops_unless_the_full_one_is_wanted() {
    let server = Server::start(|request, _| Answer::Reply(reply(request, ["Yes"; 4])));
    let home = Home::with(&server);
    let run = home.run(&panel(&[]));
    run.expect(0, &[]);
    assert_eq!(server.asked().len(), 4);
    assert!(run.out.contains("Answer of model"), "{}", run.out);
    let run = home.run(&panel(&["--full", "--json"]));
    run.expect(0, &[]);
    assert_eq!(run.json()["result"]["stop_reason"], "concluded");
    assert_eq!(server.asked().len(), 4 + 9);
}

/// C-08: killed while the seats rank, it resumes without repeating an answer.
#[cfg(unix)]
#[test]
fn c08_a_killed_panel_resumes_without_repeating_an_answer() {
    let positions = ["a", "b", "c", "d"];
    let server = Server::start(move |request, before| match schema_name(request).as_str() {
        "panel_ranking" if before < 4 => {
            Answer::Late(Duration::from_secs(30), reply(request, positions))
        }
        _ => Answer::Reply(reply(request, positions)),
    });
    let home = Home::with(&server);
    let mut child = home
        .command(&panel(&[]))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = std::time::Instant::now() + Duration::from_mins(1);
    while server
        .asked()
        .iter()
        .filter(|name| *name == "panel_ranking")
        .count()
        < 4
    {
        assert!(
            std::time::Instant::now() < deadline,
            "no ranking was requested"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let run = home.run(&["resume", "last", "--json"]);
    run.expect(0, &[]);
    let asked = server.asked();
    assert_eq!(
        asked.iter().filter(|name| *name == "panel_answer").count(),
        4
    );
    assert_eq!(
        asked.iter().filter(|name| *name == "panel_ranking").count(),
        8
    );
}

/// C-01: the API and the page need nothing particular to start, show and follow a panel.
#[test]
fn c01_a_panel_runs_over_the_api_and_has_a_page() {
    let server = divided();
    let home = Home::with(&server);
    let serving = Serving::start(&home, &[]);
    let seats = json!({ "first": "lab:a", "second": "lab:b", "third": "lab:c", "fourth": "lab:d", "chair": "lab:e" });
    let body = json!({ "protocol": "panel", "question": QUESTION, "seats": seats, "rules": { "full": true } });
    let started = serving.post("/api/v1/debates", &body);
    let id = started.json()["id"].as_str().unwrap().to_owned();
    serving.until(&id, "complete");
    let shown = serving.get(&format!("/api/v1/debates/{id}")).json();
    assert_eq!(shown["record"]["result"]["stop_reason"], "concluded");
    let page = serving.get(&format!("/debates/{id}"));
    assert!(page.text().contains("Answer of model a."));
    let form = serving.get("/").text();
    assert!(form.contains("panel"), "the form offers the cast");
    let refused = serving.post(
        "/api/v1/debates",
        &json!({ "protocol": "panel", "question": QUESTION, "rules": { "ful": true } }),
    );
    assert_eq!(refused.status, 422);
    assert!(
        refused.text().contains("did you mean 'full'"),
        "{}",
        refused.text()
    );
}

/// B-10: the value of comparing the answers is shown, learned from earlier panels, and stops a panel that a price is set for.
#[test]
fn b10_a_panel_stops_by_value_on_every_surface() {
    let server = divided();
    let home = Home::with(&server);
    let run = home.run(&panel(&[]));
    run.expect(
        0,
        &["1 of 4 give the leading answer; another round would change it with probability 60%"],
    );
    let record = home.run(&panel(&["--json"])).json();
    let chance = &record["value"][0]["chance"];
    assert_eq!(chance["cases"], 1, "{record}");
    // The prior of 60% counts as ten panels; one did not change the answer.
    assert_eq!(
        chance["mean"].as_f64().map(|mean| (mean * 11.0).round()),
        Some(6.0)
    );
    assert_eq!(record["result"]["stop_reason"], "concluded");
    let prices: String = "abcde".chars().fold("[prices.lab]\n".into(), |all, model| {
        format!("{all}{model} = {{ input = 1.0, output = 1.0 }}\n")
    });
    home.write(".config/roundtable/prices.toml", &prices);
    let before = server.count();
    let stopped = home
        .run(&panel(&["--json", "--stop-by-value", "0.0001"]))
        .json();
    assert_eq!(stopped["result"]["stop_reason"], "value", "{stopped}");
    assert_eq!(server.count() - before, 4);
    let why = stopped["result"]["stop_explanation"].as_str().unwrap();
    assert!(why.contains("Saved: up to 1 round, about "), "{why}");
    let shown = home.run(&["show", "last", "--record"]).out;
    assert!(shown.contains("Value of another round"), "{shown}");
    home.run(&panel(&["--stop-by-value", "cheap"]))
        .expect(2, &["expected an amount in USD, such as 0.50"]);
    let serving = Serving::start(&home, &[]);
    let body = |price: f64| {
        let seats = json!({ "first": "lab:a", "second": "lab:b", "third": "lab:c", "fourth": "lab:d", "chair": "lab:e" });
        json!({ "protocol": "panel", "question": QUESTION, "seats": seats, "rules": { "stop_by_value": price } })
    };
    let reply = serving.post("/api/v1/debates", &body(0.0001)).json();
    let id = reply["id"].as_str().unwrap();
    serving.until(id, "complete");
    let detail = serving.get(&format!("/api/v1/debates/{id}")).json();
    assert_eq!(detail["record"]["result"]["stop_reason"], "value");
    serving
        .post("/api/v1/debates", &body(-1.0))
        .problem(422, "invalid-request");
}
