//! Estimates of a debate's cost, depth, and stopping when another round is not worth its price.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::harness::{Answer, Home, QUESTION, Server, Serving, good, schema_name};

const FORM: [(&str, &str); 1] = [("content-type", "application/x-www-form-urlencoded")];
const QUICK: [&str; 3] = ["opening", "critique", "synthesis"];

/// B-13: the same word means the same on the command line, over HTTP and in the form; options win over it.
#[test]
fn b13_a_depth_means_the_same_on_every_surface() {
    let server = Server::good();
    let home = Home::with(&server);
    let trace = home.ask(&["--json", "--depth", "quick"]).json();
    assert_eq!(trace["state"], "complete");
    assert_eq!(server.asked(), QUICK);
    home.ask(&["--quiet", "--depth", "quick", "--rounds", "2"])
        .expect(0, &[]);
    assert_eq!(server.asked()[3..].len(), 5, "{:?}", server.asked());
    home.ask(&["--depth", "shallow"])
        .expect(2, &["quick, normal, deep"]);
    let serving = Serving::start(&home, &[]);
    let before = server.count();
    let body = json!({ "question": QUESTION, "model": "lab:x", "depth": "quick" });
    let reply = serving.post("/api/v1/debates", &body);
    serving.until(reply.json()["id"].as_str().unwrap(), "complete");
    assert_eq!(server.asked()[before..], QUICK);
    let invalid = json!({ "question": QUESTION, "depth": "shallow" });
    let problem = serving
        .post("/api/v1/debates", &invalid)
        .problem(422, "invalid-request");
    assert_eq!(problem["faults"][0]["at"], "/depth", "{problem}");
    let before = server.count();
    let started = serving.send(
        "POST",
        "/debates",
        &FORM,
        b"question=Why%3F&model=lab%3Ax&depth=quick",
    );
    assert_eq!(started.status, 303, "{}", started.text());
    let id = started.header("location").unwrap().to_owned();
    serving.until(id.rsplit('/').next().unwrap(), "complete");
    assert_eq!(server.asked()[before..], QUICK);
    let page = serving.get("/?depth=deep").text();
    assert!(page.contains("<option value=\"deep\" selected>"), "{page}");
}

fn says(text: &str, expected: &[&str]) {
    for part in expected {
        assert!(text.contains(part), "'{part}' is not in: {text}");
    }
}

const PRICES: &str = "[prices.lab]\nx = { input = 1.0, output = 2.0 }\n";

fn priced(server: &Server) -> Home {
    let home = Home::with(server);
    home.write(".config/roundtable/prices.toml", PRICES);
    home
}

/// B-13: an estimate on every command: ranges and the least, in words and as JSON, and nothing is started.
#[test]
fn b13_every_command_can_be_estimated() {
    let server = Server::good();
    let home = priced(&server);
    let post = home.write("post.md", "Bread is better than cake.");
    let post = post.to_str().unwrap();
    let commands: [(&[&str], f64); 6] = [
        (&["ask", QUESTION], 8.0),
        (&["panel", QUESTION], 9.0),
        (&["debate", QUESTION], 9.0),
        (
            &["forecast", QUESTION, "--outcome", "Yes", "--outcome", "No"],
            31.0,
        ),
        (&["judge", post], 20.0),
        (&["judge", post, "--depth", "quick"], 10.0),
    ];
    for (command, calls) in commands {
        let estimate = |more: &[&str]| {
            home.run(&[command, &["--model", "lab:x", "--estimate"], more].concat())
        };
        let told = estimate(&[]);
        told.expect(0, &[]);
        says(
            &told.out,
            &[" calls, ", " tokens, $", "too few earlier debates"],
        );
        let found = estimate(&["--json"]).json();
        assert_eq!(found["calls"]["expected"], calls, "{found}");
        for part in ["calls", "tokens", "cost", "seconds"] {
            let end = |name: &str| found[part][name].as_f64().unwrap();
            assert!(end("low") < end("expected") && end("expected") < end("high"));
            assert!(found["least"][part].as_f64().unwrap() > 0.0);
        }
        assert_eq!(found["debates"], 0);
    }
    let rank = home.run(&[
        "judge",
        post,
        post,
        "--rank",
        "--estimate",
        "--json",
        "--model",
        "lab:x",
    ]);
    assert_eq!(rank.json().as_array().map(Vec::len), Some(2));
    assert_eq!((server.count(), home.list().len()), (0, 0));
}

/// B-13: the reasoning templates that a debate retrieves are counted, and an estimate loads no embedder for that.
#[test]
fn b13_an_estimate_counts_templates_and_loads_no_embedder() {
    let server = Server::good();
    let estimate = |more: &str| {
        let home = Home::configured(&server.url(), more);
        let run = home.run(&["ask", QUESTION, "--model", "lab:x", "--estimate", "--json"]);
        run.expect(0, &[]);
        run.json()
    };
    let (without, with) = (
        estimate(""),
        estimate("\n[embedder]\nmodel = \"lab:words\"\n"),
    );
    let tokens = |estimate: &Value| estimate["uncalibrated"]["tokens"].as_f64().unwrap();
    let added = tokens(&with) - tokens(&without);
    // With the embedded model there is an embedder in any case.
    let expected = if cfg!(feature = "local") {
        0.0..1.0
    } else {
        100.0..1_000.0
    };
    assert!(expected.contains(&added), "{added}");
    assert_eq!(with["least"], without["least"]);
    assert_eq!(server.count(), 0, "{:?}", server.heard());
}

/// B-13: the API and the form's button give the same estimate, and start nothing.
#[test]
fn b13_requests_and_the_form_can_be_estimated() {
    let server = Server::good();
    let home = priced(&server);
    let serving = Serving::start(&home, &[]);
    let body = json!({ "question": QUESTION, "model": "lab:x" });
    let reply = serving.post("/api/v1/debates/estimate", &body);
    assert_eq!(reply.status, 200, "{}", reply.text());
    let found = reply.json();
    let told = home.ask(&["--estimate", "--json"]).json();
    assert_eq!(found, told);
    let form = b"question=Should+we+put+a+queue+in+front+of+the+database%3F&model=lab%3Ax";
    let page = serving.send("POST", "/estimate", &FORM, form);
    assert_eq!(page.status, 200, "{}", page.text());
    let text = page.text();
    assert!(text.contains(found["text"].as_str().unwrap()), "{text}");
    assert!(text.contains("Should we put a queue"), "{text}");
    let invalid = serving.post("/api/v1/debates/estimate", &json!({ "question": " " }));
    invalid.problem(422, "invalid-request");
    let invalid = serving.send("POST", "/estimate", &FORM, b"question=&model=lab%3Ax");
    assert_eq!(invalid.status, 422);
    assert!(invalid.text().contains("the question is empty"));
    assert_eq!((server.count(), home.list().len()), (0, 0));
}

/// B-13: the result compares the estimate with what was used, on every surface.
#[test]
fn b13_the_result_says_how_good_the_estimate_was() {
    let server = Server::good();
    let home = priced(&server);
    let run = home.ask(&["--json"]);
    let estimate = &run.json()["estimate"];
    assert_eq!(estimate["used"]["calls"], 8.0, "{estimate}");
    assert_eq!(estimate["used"]["tokens"], 4800.0);
    assert_eq!(estimate["inside"]["calls"], true);
    let shown = home.run(&["show", "last", "--record"]).out;
    says(&shown, &["Estimated 8 calls, ", "4,800"]);
    home.ask(&[])
        .expect(0, &["Used 8 calls (estimated 8) · 4,800 tokens ("]);
    let estimates = home.run(&["estimates"]).out;
    says(
        &estimates,
        &["All: 2 debates: calls 2", "dialectic: 2 debates"],
    );
    let none = Home::with(&server).run(&["estimates"]).out;
    says(&none, &["No finished debate has an estimate yet"]);
}

/// B-13, C-07: a cost limit below the cheapest course is refused before the first call; one above it is not.
#[test]
fn b13_a_cost_limit_below_the_minimum_is_refused() {
    let server = Server::good();
    let home = priced(&server);
    let found = home.ask(&["--estimate", "--json"]).json();
    let least = found["least"]["cost"].as_f64().unwrap();
    let (below, above) = (
        format!("{:.6}", least - 1e-6),
        format!("{:.6}", least + 1e-6),
    );
    home.ask(&["--max-cost", &below]).expect(
        2,
        &[
            "is too low: even the shortest course of this debate costs",
            &format!("${least:.4} (4 calls, "),
        ],
    );
    assert_eq!((server.count(), home.list().len()), (0, 0));
    home.ask(&["--max-cost", &above, "--quiet"]);
    assert!(server.count() > 0);
    let serving = Serving::start(&home, &[]);
    let budget = json!({ "max_cost": least - 1e-6 });
    let body = json!({ "question": QUESTION, "model": "lab:x", "budget": budget });
    let problem = serving
        .post("/api/v1/debates", &body)
        .problem(422, "invalid-request");
    assert_eq!(problem["faults"][0]["at"], "/budget/max_cost", "{problem}");
}

/// A skeptic who is ready after 1 to 5 rounds, drawn for each debate by a fixed sequence.
fn debates_of_varying_length() -> Server {
    let (debate, round) = (AtomicUsize::new(0), AtomicUsize::new(0));
    Server::start(move |request, _| {
        let mut reply: Value = serde_json::from_str(&good(request, 0)).unwrap();
        match schema_name(request).as_str() {
            "opening" => {
                debate.fetch_add(1, Ordering::SeqCst);
                round.store(0, Ordering::SeqCst);
            }
            "critique" | "review" => {
                let number = debate.load(Ordering::SeqCst) as u64;
                let drawn = number.wrapping_mul(6_364_136_223_846_793_005) >> 33;
                let played = round.fetch_add(1, Ordering::SeqCst) as u64 + 1;
                reply["ready_for_synthesis"] = json!(played > drawn % 5);
            }
            _ => {}
        }
        Answer::Reply(reply.to_string())
    })
}

/// B-13: over 50 debates of varying length, at least 80% of those after the tenth use what was estimated.
#[test]
fn b13_estimates_are_calibrated_by_earlier_debates() {
    let server = debates_of_varying_length();
    let home = priced(&server);
    let mut lengths = std::collections::BTreeSet::new();
    let mut inside = [0; 3];
    for number in 1..=50 {
        let record = home.ask(&["--json"]).json();
        let estimate = &record["estimate"];
        lengths.insert(record["total_rounds"].as_u64());
        assert_eq!(
            estimate["debates"],
            if number <= 10 { 0 } else { number - 1 }
        );
        if number > 10 {
            for (count, part) in inside.iter_mut().zip(["calls", "tokens", "cost"]) {
                *count += usize::from(estimate["inside"][part] == true);
            }
        }
    }
    assert_eq!(lengths.len(), 5, "{lengths:?}");
    assert!(inside.iter().all(|count| *count >= 32), "{inside:?}");
    let shown = home.run(&["estimates", "--json"]).json();
    assert_eq!(shown["protocols"]["dialectic"]["debates"], 50);
    assert!(shown["all"]["calls"].as_u64() >= Some(40), "{shown}");
    // The ranges are not simply wide: the debates have 4 to 12 calls.
    let range = home.ask(&["--estimate", "--json"]).json()["calls"].clone();
    assert_eq!((&range["low"], &range["high"]), (&json!(4.0), &json!(12.0)));
    // Another depth has its own past.
    let quick = home
        .ask(&["--estimate", "--json", "--depth", "quick"])
        .json();
    assert_eq!(quick["debates"], 0);
}
