//! A full server, one that shuts down, and one that starts again.

#![cfg(unix)]

use std::time::Duration;

use serde_json::json;

use crate::harness::{Answer, Home, QUESTION, Server, Serving, good, schema_name};
use crate::server_api::{late, path};

/// At most `--max-running` debates run and `--max-queued` wait; further requests get 503 with `Retry-After`.
#[test]
fn a_full_server_answers_503_with_retry_after() {
    let model = late(Duration::from_millis(150));
    let home = Home::with(&model);
    let serving = Serving::start(&home, &["--max-running", "1", "--max-queued", "2"]);
    let body = json!({ "question": QUESTION, "model": "lab:x", "rules": { "min_rounds": 1, "max_rounds": 1, "auto_score": false } });
    let start = || serving.post("/api/v1/debates", &body);
    let states: Vec<_> = (0..3).map(|_| start().json()).collect();
    let named: Vec<_> = states
        .iter()
        .map(|state| state["state"].as_str().unwrap())
        .collect();
    assert_eq!(named, ["running", "queued", "queued"]);
    let full = start();
    full.problem(503, "queue-full");
    assert!(full.header("retry-after").unwrap().parse::<u32>().unwrap() > 0);
    let last = states[2]["id"].as_str().unwrap();
    assert_eq!(serving.get(&path(last, "")).json()["queue_position"], 1);
    serving
        .post(&path(last, "/input"), &json!({ "text": "Early." }))
        .problem(409, "wrong-state");
    assert_eq!(
        serving.get("/healthz").json(),
        json!({ "status": "ok", "running": 1, "queued": 2 })
    );
    assert_eq!(
        serving.get("/api/v1/debates?state=queued").json()["total"],
        2
    );
    // Cancelling a queued debate frees its place.
    assert_eq!(
        serving.post(&path(last, "/cancel"), &json!({})).json()["state"],
        "cancelled"
    );
    assert_eq!(start().status, 202);
    for state in &states[..2] {
        serving.until(state["id"].as_str().unwrap(), "complete");
    }
}

/// C-08: the server shuts down promptly although debates are running and clients are connected. The next start resumes
/// running and queued debates, but not those of the command line.
#[test]
fn c08_a_server_resumes_its_debates_at_the_next_start() {
    let model = Server::start(|request, before| match schema_name(request).as_str() {
        "opening" if before < 1 => Answer::Late(Duration::from_secs(3), good(request, before)),
        _ => Answer::Reply(good(request, before)),
    });
    let home = Home::with(&model);
    // A killed command leaves a debate that only the command line resumes.
    let mut command = home
        .command(&["ask", QUESTION, "--model", "lab:x"])
        .spawn()
        .unwrap();
    Serving::wait_until_asked(&model, "opening", 1);
    command.kill().unwrap();
    command.wait().unwrap();

    let model = Server::start(|request, before| match schema_name(request).as_str() {
        "opening" if before < 1 => Answer::Late(Duration::from_mins(1), good(request, before)),
        _ => Answer::Reply(good(request, before)),
    });
    let config = home.path().join("roundtable.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let url = text
        .lines()
        .find(|line| line.starts_with("base_url"))
        .unwrap();
    std::fs::write(
        &config,
        text.replace(url, &format!("base_url = \"{}\"", model.url())),
    )
    .unwrap();

    let serving = Serving::start(&home, &["--max-running", "1"]);
    let (running, queued) = (serving.debate(), serving.debate());
    Serving::until_asked(&model, "opening");
    let mut events = serving.events(&running, &[]);
    assert!(events.next().is_some());
    let (code, took) = serving.terminate();
    assert_eq!(code, 0);
    // The call in flight gets three seconds to finish.
    assert!(took < Duration::from_secs(6), "{took:?}");
    let rest: Vec<String> = events.map(|event| event.name).collect();
    assert!(
        !rest.iter().any(|name| name == "complete"),
        "the stream ended too late: {rest:?}"
    );
    let states: Vec<_> = home
        .list()
        .iter()
        .map(|row| row["state"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(states, ["queued", "interrupted", "interrupted"]);

    let serving = Serving::start(&home, &["--max-running", "1"]);
    serving.until(&running, "complete");
    serving.until(&queued, "complete");
    let states: Vec<_> = home
        .list()
        .iter()
        .map(|row| row["state"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(states, ["complete", "complete", "interrupted"]);
}

/// A client that never reads its stream does not block the debate.
#[test]
fn c09_a_stuck_reader_does_not_slow_the_debate() {
    let model = Server::start(|request, before| {
        Answer::Slow(Duration::from_micros(200), good(request, before))
    });
    let home = Home::with(&model);
    let serving = Serving::start(&home, &[]);
    let id = serving.debate();
    let stuck: Vec<_> = (0..20).map(|_| serving.events(&id, &[])).collect();
    serving.until(&id, "complete");
    drop(stuck);
}

/// C-08: SIGTERM lets the model call in flight finish and starts no other; its answer is journaled and not asked for again.
#[test]
fn c08_a_call_in_flight_is_journaled_at_shutdown() {
    let model = Server::start(|request, before| match schema_name(request).as_str() {
        "opening" => Answer::Late(Duration::from_millis(800), good(request, before)),
        _ => Answer::Reply(good(request, before)),
    });
    let home = Home::with(&model);
    let serving = Serving::start(&home, &[]);
    let id = serving.debate();
    Serving::until_asked(&model, "opening");
    let (code, took) = serving.terminate();
    assert_eq!(code, 0);
    assert!(took > Duration::from_millis(300), "{took:?}");
    assert!(took < Duration::from_secs(3), "{took:?}");
    assert_eq!(model.asked(), ["opening"], "no further call is started");

    let serving = Serving::start(&home, &[]);
    serving.until(&id, "complete");
    let openings = model.asked().into_iter().filter(|name| name == "opening");
    assert_eq!(openings.count(), 1);
}

/// A second signal drops the calls in flight.
#[test]
fn c08_a_second_signal_ends_the_server_at_once() {
    let model = Server::start(|_, _| Answer::Silence);
    let home = Home::with(&model);
    let serving = Serving::start(&home, &[]);
    serving.debate();
    Serving::until_asked(&model, "opening");
    let pid = serving.pid().to_string();
    let signal = std::process::Command::new("kill").arg(&pid).status();
    assert!(signal.unwrap().success());
    std::thread::sleep(Duration::from_millis(300));
    let (code, took) = serving.terminate();
    assert_eq!(code, 0);
    assert!(took < Duration::from_secs(2), "{took:?}");
}
