//! Real protocols on simulated seats (B-17).

use serde_json::{Value, json};

use crate::harness::{Home, QUESTION, Run, Serving};

const NOTICE: &str = "is simulated: its texts mean nothing";

/// A command on simulated seats, as JSON.
fn played(home: &Home, command: &[&str]) -> Value {
    let more = ["--model", "simulated:x", "--seed", "3", "--json"];
    let run = home.run(&[command, &more].concat());
    run.expect(0, &[]).json()
}

/// No reply was invalid, sent back or remarked upon, and the result says that it is simulated.
#[track_caller]
fn went_well(home: &Home, what: &str) {
    let run = home.run(&["export", "last", "--format", "json"]);
    let exported = run.expect(0, &[]).json().to_string();
    assert!(exported.contains(NOTICE), "{what}: {exported}");
    assert!(
        !exported.contains("\"sent_back\":true"),
        "{what}: {exported}"
    );
    let shown = home.run(&["show", "last"]);
    let text = shown.expect(0, &[]).out.to_lowercase();
    assert!(text.contains("simulated"), "{what}: {text}");
}

/// B-17: every protocol runs to its end.
#[test]
fn b17_every_protocol_runs_on_simulated_seats() {
    let home = Home::configured("http://127.0.0.1:9", "");
    home.write("post.md", crate::all_protocols::POST);
    for command in [
        vec!["ask", QUESTION],
        vec!["panel", QUESTION],
        vec!["panel", QUESTION, "--full"],
        vec![
            "forecast",
            "Will it open?",
            "--outcome",
            "Yes",
            "--outcome",
            "No",
            "--outcome",
            "Later",
        ],
        vec!["judge", "post.md"],
        vec!["debate", QUESTION, "--enhanced"],
    ] {
        played(&home, &command);
        went_well(&home, &format!("{command:?}"));
    }
}

/// B-17
#[test]
fn b17_every_mode_runs_on_simulated_seats() {
    let home = Home::configured("http://127.0.0.1:9", "");
    let modes = home.run(&["modes", "list", "--json"]).json();
    let names: Vec<String> = modes
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|mode| mode["name"].as_str().map(str::to_owned))
        .collect();
    assert!(names.len() >= 7, "{modes}");
    for mode in &names {
        played(&home, &["debate", QUESTION, "--mode", mode]);
        went_well(&home, mode);
    }
}

/// B-17: typed answers are options of the question, and the same seed gives the same debate.
#[test]
fn b17_seats_choose_among_the_options_of_the_question() {
    let home = Home::configured("http://127.0.0.1:9", "");
    let question = "Which number is prime?\n(A) 12\n(B) 13\n(C) 14\n(D) 15";
    let one = played(&home, &["panel", question, "--full"]);
    let text = one.to_string();
    assert!(
        ["A", "B", "C", "D"]
            .iter()
            .any(|own| text.contains(&format!("The answer is {own}."))),
        "{text}"
    );
    let answers = |record: &Value| record["answers"].to_string();
    assert_eq!(
        answers(&one),
        answers(&played(&home, &["panel", question, "--full"]))
    );
}

/// B-17: only a name brings simulated seats to the table.
#[test]
fn b17_simulated_seats_are_never_found() {
    let home = Home::empty();
    home.write(
        "roundtable.toml",
        "[providers.weak]\nkind = \"simulated\"\naccuracy = 0.4\n[providers.simulated]\nseed = 4\n",
    );
    let run = home.run(&["models", "--json"]);
    let models = run.json();
    for tier in ["deliberate", "fast"] {
        let chosen = models[tier]["model"].as_str().unwrap_or_default();
        assert!(
            !chosen.starts_with("weak:") && !chosen.starts_with("simulated:"),
            "{models}"
        );
    }
    let named = home.run(&["panel", QUESTION, "--model", "weak:a", "--quiet"]);
    named.expect(0, &[]);
    let exported = home.run(&["export", "last", "--format", "json"]).out;
    assert!(exported.contains("weak:a is simulated"), "{exported}");
}

/// B-17: latency and prices are those of the configuration, and a budget ends a simulated debate.
#[test]
fn b17_budgets_count_simulated_prices() {
    let home = Home::configured("http://127.0.0.1:9", "");
    home.write(
        ".config/roundtable/prices.toml",
        "[prices.simulated]\nx = { input = 1000, output = 1000 }\n",
    );
    let priced = |run: Run| run.out;
    let free = home.run(&["panel", QUESTION, "--model", "simulated:y", "--json"]);
    free.expect(0, &[]);
    let estimate = home.run(&["panel", QUESTION, "--model", "simulated:x", "--estimate"]);
    estimate.expect(0, &[]);
    let text = priced(estimate);
    assert!(text.contains('$'), "{text}");
    let refused = home.run(&[
        "panel",
        QUESTION,
        "--model",
        "simulated:x",
        "--max-cost",
        "0.01",
    ]);
    refused.expect(2, &["0.01"]);
}

/// B-17: a hundred simulated debates on one server.
#[test]
fn b17_a_server_plays_a_hundred_simulated_debates() {
    let home = Home::configured(
        "http://127.0.0.1:9",
        "\n[providers.simulated]\nlatency_ms = 20\ntokens_per_second = 2000\n",
    );
    let serving = Serving::start(&home, &["--max-running", "100", "--max-queued", "100"]);
    let ids: Vec<String> = (0..100)
        .map(|number| {
            let body = json!({
                "protocol": "modes", "question": format!("Should team {number} move?"), "model": "simulated:x",
                "rules": { "seats": 3, "max_rounds": 2, "escalation": false }, "seed": number,
            });
            let reply = serving.post("/api/v1/debates", &body);
            assert_eq!(reply.status, 202, "{}", reply.text());
            reply.json()["id"].as_str().unwrap().to_owned()
        })
        .collect();
    for id in &ids {
        serving.until(id, "complete");
    }
    let shown = serving.get(&format!("/api/v1/debates/{}", ids[42])).text();
    assert!(shown.contains(NOTICE), "{shown}");
}
