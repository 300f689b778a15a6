//! Workers on one database (B-04): killed, suspended, shut down, and controlled through a server that runs no debates.

#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::postgres::Database;
use crate::harness::{Answer, Gate, Home, Server, Serving, good, schema_name};

/// `roundtable worker`, killed when dropped.
pub(crate) struct Worker {
    child: Child,
    log: std::path::PathBuf,
}

impl Worker {
    pub(crate) fn start(home: &Home, name: &str, more: &[&str]) -> Self {
        let mut args = vec!["worker"];
        args.extend(more);
        Self::spawn(home.command(&args), home, name)
    }

    /// Starts a command that runs `roundtable worker`.
    pub(crate) fn spawn(mut command: Command, home: &Home, name: &str) -> Self {
        let log = home.path().join(format!("{name}.log"));
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let out = child.stdout.as_mut().unwrap();
        BufReader::new(out).read_line(&mut line).unwrap();
        assert!(
            line.starts_with("Working for postgres://127.0.0.1:"),
            "{line}"
        );
        Self { child, log }
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args([name, &self.child.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    fn has_logged(&self, text: &str) -> bool {
        self.log().contains(text)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Delays the first review until the gate opens; a repeated request gets it at once.
fn gated(gate: &Gate) -> Server {
    let gate = gate.clone();
    Server::start(move |request, before| match schema_name(request).as_str() {
        "review" if before == 0 => Answer::Gated(gate.clone(), good(request, before)),
        "review" => Answer::Reply(good(request, before - 1)),
        _ => Answer::Reply(good(request, before)),
    })
}

const CALLS_WITH_REPEATED_REVIEW: [&str; 9] = [
    "opening",
    "critique",
    "revision",
    "review",
    "review",
    "revision",
    "review",
    "synthesis",
    "marking",
];

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < Duration::from_mins(1), "never: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// P-09, B-04: a reader at the end of a cancelled debate gets 204; after a resume it gets the events, however long it takes until
/// a worker runs the debate.
#[test]
fn p09_a_reader_of_a_cancelled_debate_gets_its_continuation() {
    let (server, database) = (Server::good(), Database::new());
    let home = Home::with_database(&server, database.url());
    let serving = Serving::start(&home, &["--no-work"]);
    let id = serving.debate();
    let act = |what: &str| {
        let reply = serving.post(&format!("/api/v1/debates/{id}/{what}"), &json!({}));
        assert!(reply.status < 300, "{what}: {}", reply.text());
    };
    act("cancel");
    let last = serving.events(&id, &[]).all().pop().unwrap();
    let after = [("last-event-id", last.id.as_str())];
    assert_eq!(serving.events(&id, &after).status, 204);

    act("resume");
    let events = serving.events(&id, &after);
    assert_eq!(
        (events.status, serving.state(&id).as_str()),
        (200, "queued")
    );
    // Longer than the server's poll interval.
    thread::sleep(Duration::from_millis(1_200));
    let _worker = Worker::start(&home, "worker", &[]);
    let seen: Vec<String> = events.all().into_iter().map(|event| event.name).collect();
    assert_eq!(
        seen.last().map(String::as_str),
        Some("complete"),
        "{seen:?}"
    );
}

/// B-04, P-09: a worker runs a debate that was created on a server without workers; a reader of the server gets all events live,
/// the same as a later reader.
#[test]
fn b04_a_reader_of_the_server_gets_the_events_of_a_worker() {
    let (gate, database) = (Gate::default(), Database::new());
    let server = Server::start({
        let gate = gate.clone();
        move |request, before| match schema_name(request).as_str() {
            "synthesis" => Answer::Gated(gate.clone(), good(request, before)),
            _ => Answer::Reply(good(request, before)),
        }
    });
    let home = Home::with_database(&server, database.url());
    let serving = Serving::start(&home, &["--no-work"]);
    let id = serving.debate();
    let mut events = serving.events(&id, &[]);
    assert_eq!(serving.state(&id), "queued");
    thread::sleep(Duration::from_millis(300));
    assert_eq!(
        server.asked(),
        Vec::<String>::new(),
        "the server itself must not run debates"
    );

    let _worker = Worker::start(&home, "worker", &["--concurrency", "2"]);
    // While the last turn is delayed, everything before it arrives.
    let mut seen = Vec::new();
    while seen.iter().filter(|name| *name == "skeptic_chunk").count() < 3 {
        seen.push(events.next().unwrap().name);
    }
    assert_eq!(serving.state(&id), "running");
    gate.open();
    seen.extend(events.all().into_iter().map(|event| event.name));
    assert_eq!(seen.last().unwrap(), "complete");
    let later: Vec<String> = serving
        .events(&id, &[])
        .all()
        .into_iter()
        .map(|event| event.name)
        .collect();
    assert_eq!(seen, later);
    // A waiting request returns when the worker is done.
    let body = json!({ "question": "And this?", "model": "lab:x" });
    let reply = serving.post_with("/api/v1/debates", &body, &[("prefer", "wait=30")]);
    assert_eq!(
        (reply.status, &reply.json()["state"]),
        (200, &json!("complete")),
        "{}",
        reply.text()
    );
}

/// B-04, C-08: a killed worker is replaced within ten seconds, and no finished call is repeated.
#[test]
fn b04_a_killed_worker_is_replaced_within_ten_seconds() {
    let (gate, database) = (Gate::default(), Database::new());
    let server = gated(&gate);
    let home = Home::with_database(&server, database.url());
    let serving = Serving::start(&home, &["--no-work"]);
    let first = Worker::start(&home, "first", &[]);
    let id = serving.debate();
    Serving::until_asked(&server, "review");
    let second = Worker::start(&home, "second", &[]);
    thread::sleep(Duration::from_secs(2));
    assert!(
        !second.has_logged("taking"),
        "two workers run the same debate"
    );

    let killed = Instant::now();
    first.signal("-KILL");
    Serving::wait_until_asked(&server, "review", 2);
    let after = killed.elapsed();
    assert!(after < Duration::from_secs(10), "{after:?}");
    serving.until(&id, "complete");
    assert_eq!(server.asked(), CALLS_WITH_REPEATED_REVIEW);
    gate.open();
}

/// B-04, C-08: a worker that was suspended for longer than its lease writes nothing when it wakes, stops calling models, and
/// takes new debates.
#[test]
fn b04_a_worker_suspended_beyond_its_lease_writes_nothing() {
    let (gate, database) = (Gate::default(), Database::new());
    let server = gated(&gate);
    let home = Home::with_database(&server, database.url());
    let serving = Serving::start(&home, &["--no-work"]);
    let zombie = Worker::start(&home, "zombie", &[]);
    let id = serving.debate();
    Serving::until_asked(&server, "review");
    zombie.signal("-STOP");
    let stopped = Instant::now();
    let next = Worker::start(&home, "next", &[]);
    serving.until(&id, "complete");
    assert!(stopped.elapsed() < Duration::from_secs(20));
    let journal = || {
        database.sql("SELECT md5(string_agg(seq || key || body, '|' ORDER BY seq)) FROM journal")
    };
    let written = journal();

    // The delayed reply arrives in the moment the zombie wakes.
    gate.open();
    zombie.signal("-CONT");
    wait_until("the zombie stops the debate", || {
        zombie.has_logged(&format!("debate {id} stopped"))
    });
    thread::sleep(Duration::from_secs(1));
    assert_eq!(journal(), written);
    assert_eq!(
        server.asked(),
        CALLS_WITH_REPEATED_REVIEW,
        "the zombie has called a model"
    );
    // The zombie takes new debates.
    drop(next);
    let again = serving.debate();
    serving.until(&again, "complete");
    assert!(zombie.has_logged(&format!("debate {again} is complete")));
}

/// B-04: a worker that gets SIGTERM finishes its debates within the grace period, and hands over the rest at once.
#[test]
fn b04_a_worker_that_shuts_down_finishes_or_hands_over() {
    let (gate, database) = (Gate::default(), Database::new());
    let server = gated(&gate);
    let home = Home::with_database(&server, database.url());
    let serving = Serving::start(&home, &["--no-work"]);
    // With a grace period, the debate finishes on the same worker.
    let mut patient = Worker::start(&home, "patient", &["--grace", "20"]);
    let id = serving.debate();
    Serving::until_asked(&server, "review");
    patient.signal("-TERM");
    wait_until("the worker shuts down", || {
        patient.has_logged("shutting down")
    });
    gate.open();
    let status = patient.child.wait().unwrap();
    assert_eq!(
        (status.code(), serving.state(&id)),
        (Some(0), "complete".into())
    );

    // Without one, another worker continues at once, without waiting for the lease to expire.
    let database = Database::new();
    let server = gated(&Gate::default());
    let home = Home::with_database(&server, database.url());
    let serving = Serving::start(&home, &["--no-work"]);
    let mut hasty = Worker::start(&home, "hasty", &["--grace", "0"]);
    let id = serving.debate();
    Serving::until_asked(&server, "review");
    let _next = Worker::start(&home, "next", &[]);
    let terminated = Instant::now();
    hasty.signal("-TERM");
    assert_eq!(hasty.child.wait().unwrap().code(), Some(0));
    serving.until(&id, "complete");
    assert!(
        terminated.elapsed() < Duration::from_secs(5),
        "{:?}",
        terminated.elapsed()
    );
    assert_eq!(server.asked(), CALLS_WITH_REPEATED_REVIEW);
}

/// B-04, E-09, E-10: a user of the server comments on, pauses, continues and cancels a debate that a worker runs.
#[test]
fn b04_a_user_of_the_server_controls_a_debate_of_a_worker() {
    let (gate, database) = (Gate::default(), Database::new());
    let server = gated(&gate);
    let home = Home::with_database(&server, database.url());
    let serving = Serving::start(&home, &["--no-work"]);
    let _worker = Worker::start(&home, "worker", &[]);
    let id = serving.debate();
    let path = |rest: &str| format!("/api/v1/debates/{id}/{rest}");
    Serving::until_asked(&server, "review");
    let heard = serving.post(
        &path("input"),
        &json!({ "text": "Mind the cost.", "by": "Ada" }),
    );
    assert_eq!(
        (heard.status, heard.json()["number"].as_u64()),
        (202, Some(1)),
        "{}",
        heard.text()
    );
    assert_eq!(serving.post(&path("pause"), &json!({})).status, 202);
    gate.open();
    serving.until(&id, "waiting");
    let asked = server.asked().len();
    let decided = serving.post(&path("decision"), &json!({ "choice": "continue" }));
    assert!(decided.status < 300, "{}", decided.text());
    serving.until(&id, "complete");
    assert!(server.asked().len() > asked);
    let names: Vec<String> = serving
        .events(&id, &[])
        .all()
        .into_iter()
        .map(|event| event.name)
        .collect();
    assert!(names.iter().any(|name| name == "user_input"), "{names:?}");

    // Another debate is cancelled while it runs, and can be resumed.
    let silent = Server::start(|request, before| match schema_name(request).as_str() {
        "critique" if before == 0 => Answer::Late(Duration::from_mins(1), good(request, before)),
        _ => Answer::Reply(good(request, before)),
    });
    let database = Database::new();
    let home = Home::with_database(&silent, database.url());
    let serving = Serving::start(&home, &["--no-work"]);
    let _worker = Worker::start(&home, "worker", &[]);
    let id = serving.debate();
    Serving::until_asked(&silent, "critique");
    let cancelled = serving.post(&format!("/api/v1/debates/{id}/cancel"), &json!({}));
    assert!(cancelled.status < 300, "{}", cancelled.text());
    assert_eq!(serving.state(&id), "cancelled");
    let resumed = serving.post(&format!("/api/v1/debates/{id}/resume"), &json!({}));
    assert!(resumed.status < 300, "{}", resumed.text());
    serving.until(&id, "complete");
}

/// B-04: workers share the queue, each debate is run once, and a full worker leaves the rest to others.
#[test]
fn b04_workers_share_the_debates() {
    let database = Database::new();
    let server = Server::start(|request, before| {
        Answer::Late(Duration::from_millis(50), good(request, before % 8))
    });
    let home = Home::with_database(&server, database.url());
    let serving = Serving::start(&home, &["--no-work", "--max-queued", "12"]);
    let ids: Vec<String> = (0..12).map(|_| serving.debate()).collect();
    serving
        .post(
            "/api/v1/debates",
            &json!({ "question": "One more?", "model": "lab:x" }),
        )
        .problem(503, "queue-full");
    let workers = ["a", "b", "c"].map(|name| Worker::start(&home, name, &["--concurrency", "2"]));
    for id in &ids {
        serving.until(id, "complete");
    }
    for id in &ids {
        let by = workers
            .iter()
            .filter(|worker| worker.has_logged(&format!("taking debate {id}")));
        assert_eq!(by.count(), 1);
    }
    for worker in &workers {
        assert!(
            worker.has_logged("taking debate"),
            "a worker had nothing to do"
        );
    }
}
