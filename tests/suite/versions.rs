//! Processes of two versions with different prompts on one database (B-04): each runs its own debates and leaves those of the
//! other alone.

#![cfg(unix)]

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::postgres::Database;
use crate::harness::{Answer, Gate, Home, Server, Serving, good, schema_name};
use crate::workers::Worker;

const PROMPT: &str = include_str!("../../crates/engine/prompts/dialectic/propose.md");
const WORDS: &str = "cannot continue this debate: cannot replay step 'r1/proposer/propose'";

/// Holds all reviews back until the gate opens.
fn gated(gate: &Gate) -> Server {
    let gate = gate.clone();
    Server::start(move |request, before| match schema_name(request).as_str() {
        "review" => Answer::Gated(gate.clone(), good(request, before)),
        _ => Answer::Reply(good(request, before)),
    })
}

/// A version whose first prompt differs.
fn other_version(home: &Home) {
    let prompt = PROMPT.replacen("=== own", "=== own\nBe brief.", 1);
    assert_ne!(prompt, PROMPT);
    home.write("prompts/dialectic/propose.md", &prompt);
}

fn wait_for<T: PartialEq + std::fmt::Debug>(expected: &T, value: impl Fn() -> T) {
    let started = Instant::now();
    loop {
        let now = value();
        if now == *expected {
            return;
        }
        let waited = started.elapsed() < Duration::from_mins(1);
        assert!(waited, "{now:?} instead of {expected:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn left_alone(worker: &Worker) -> usize {
    worker.log().matches("left debate").count()
}

/// B-04: in a rolling upgrade between versions with different prompts no debate fails: a debate that was handed over to the other
/// version stays `running`, is not repeated, and is continued by its own version. Every surface says what it waits for.
#[test]
fn b04_versions_with_different_prompts_leave_each_others_debates_alone() {
    let (gate, database) = (Gate::default(), Database::new());
    let server = gated(&gate);
    let old = Home::with_database(&server, database.url());
    let new = Home::with_database(&server, database.url());
    other_version(&new);
    let all = ["--concurrency", "12", "--grace", "0"];
    let reviews = || {
        let asked = server.asked();
        asked.iter().filter(|schema| *schema == "review").count()
    };

    // Six debates of the old version reach the new one, which leaves them alone.
    let serving = Serving::start(&old, &["--no-work"]);
    let first_old = Worker::start(&old, "old", &all);
    let mut ids: Vec<String> = (0..6).map(|_| serving.debate()).collect();
    wait_for(&6, reviews);
    let first_new = Worker::start(&new, "new", &all);
    first_old.signal("-TERM");
    wait_for(&6, || left_alone(&first_new));
    for id in &ids {
        assert_eq!(serving.state(id), "running");
    }
    let shown = new.run(&["show", &ids[0]]).out;
    assert!(
        shown.contains(WORDS) && shown.contains("version 0.1.0 started it"),
        "{shown}"
    );
    let record = serving.get(&format!("/api/v1/debates/{}", ids[0])).text();
    assert!(record.contains(WORDS), "{record}");

    // A client that resumes one gets the reason why this version refuses.
    let refused = serving.post(&format!("/api/v1/debates/{}/resume", ids[0]), &json!({}));
    assert_eq!(refused.status, 202, "{}", refused.text());
    wait_for(&"failed".to_owned(), || serving.state(&ids[0]));
    let reason = serving.get(&format!("/api/v1/debates/{}", ids[0])).text();
    assert!(reason.contains("have changed: restore them"), "{reason}");
    let failed_on_request = ids.remove(0);

    // The new version runs debates of its own meanwhile, and does not try the others again.
    ids.extend((0..6).map(|_| serving.debate()));
    wait_for(&12, reviews);
    thread::sleep(Duration::from_secs(6));
    assert_eq!(left_alone(&first_new), 6, "{}", first_new.log());

    // A process of the old version takes its debates, and then leaves those of the new one alone.
    let second_old = Worker::start(&old, "old-again", &all);
    wait_for(&17, reviews);
    first_new.signal("-TERM");
    wait_for(&6, || left_alone(&second_old));
    let _second_new = Worker::start(&new, "new-again", &all);
    wait_for(&23, reviews);
    gate.open();
    for id in &ids {
        serving.until(id, "complete");
    }
    assert_eq!(
        database.sql("SELECT count(*) FROM debates WHERE state = 'failed'"),
        "1"
    );
    assert_eq!(serving.state(&failed_on_request), "failed");
    // No finished call was repeated.
    let openings = server.asked();
    let openings = openings.iter().filter(|schema| *schema == "opening");
    assert_eq!(openings.count(), 12);
    old.run(&["db", "check"]).expect(0, &[]);
}

/// C-08: the same with a data folder: a server of another version leaves a killed debate as it is, and its own version continues
/// it without repeating a call.
#[test]
fn c08_a_server_with_other_prompts_leaves_a_debate_of_a_file_alone() {
    let gate = Gate::default();
    let server = gated(&gate);
    let home = Home::with_file(&server);
    let serving = Serving::start(&home, &[]);
    let id = serving.debate();
    Serving::until_asked(&server, "review");
    serving.kill();

    other_version(&home);
    let other = Serving::start(&home, &[]);
    let noted = || {
        other
            .get(&format!("/api/v1/debates/{id}"))
            .text()
            .contains(WORDS)
    };
    wait_for(&true, noted);
    // Longer than the interval at which abandoned debates are looked for.
    thread::sleep(Duration::from_millis(2_500));
    assert_eq!(other.state(&id), "running");
    let journal = other.get(&format!("/api/v1/debates/{id}")).json();
    other.kill();
    let shown = home.run(&["show", &id]).out;
    assert!(shown.contains(WORDS), "{shown}");

    std::fs::remove_file(home.path().join("prompts/dialectic/propose.md")).unwrap();
    let own = Serving::start(&home, &[]);
    assert_eq!(
        own.get(&format!("/api/v1/debates/{id}")).json()["id"],
        journal["id"]
    );
    gate.open();
    own.until(&id, "complete");
    let mut asked = server.asked();
    asked.retain(|schema| schema == "opening");
    assert_eq!(asked, ["opening"], "asked again");
    let record = own.get(&format!("/api/v1/debates/{id}")).text();
    assert!(!record.contains(WORDS), "it no longer waits: {record}");
}
