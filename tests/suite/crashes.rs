//! Crash recovery (C-08): a debate killed after any journal entry, or at any moment, loses nothing, journals nothing twice,
//! and repeats only the calls that were in flight.

#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sqlx::{Connection, Row};

use crate::harness::postgres::Database;
use crate::harness::{Answer, Gate, Home, Scale, Server, Serving};
use crate::lab::{POST, Play, reply};
use crate::workers::Worker;

/// One entry of a journal.
#[derive(Debug, Clone, PartialEq)]
struct Line {
    key: String,
    kind: String,
    body: Value,
}

/// The journal of the only debate, read directly from the database while the program runs.
fn journal(home: &Home) -> Vec<Line> {
    let file = home.path().join(".local/share/roundtable/roundtable.db");
    read(&file).unwrap_or_default()
}

fn read(file: &Path) -> Result<Vec<Line>, sqlx::Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        sqlx::any::install_default_drivers();
        let address = format!("sqlite:{}?mode=ro", file.display());
        let mut connection = sqlx::AnyConnection::connect(&address).await?;
        let rows = sqlx::query("SELECT key, kind, body FROM journal ORDER BY debate_id, seq")
            .fetch_all(&mut connection)
            .await?;
        let lines = rows.iter().map(|row| {
            Ok(Line {
                key: row.try_get("key")?,
                kind: row.try_get("kind")?,
                body: serde_json::from_str(row.try_get("body")?).unwrap(),
            })
        });
        let lines = lines.collect();
        connection.close().await?;
        lines
    })
}

fn finished(journal: &[Line]) -> usize {
    journal
        .iter()
        .filter(|line| line.kind == "step_finished")
        .count()
}

/// The content of a journal without times, and without the order of seats that speak in parallel (C-15).
fn content(journal: &[Line]) -> BTreeMap<String, Value> {
    fn without_times(value: &Value) -> Value {
        match value {
            Value::Object(fields) => fields
                .iter()
                .filter(|(key, _)| !TIME_FIELDS.contains(&key.as_str()))
                .map(|(key, value)| (key.clone(), without_times(value)))
                .collect(),
            Value::Array(items) => items.iter().map(without_times).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        }
    }
    let lines = journal.iter();
    lines
        .map(|line| (line.key.clone(), without_times(&line.body)))
        .collect()
}

const TIME_FIELDS: [&str; 6] = [
    "started_at",
    "latency_ms",
    "timings",
    "timing",
    "processing_time_ms",
    "created_at",
];

/// A model server that answers a fixed number of calls and holds the others until its gate opens.
struct Lab {
    server: Server,
    allowed: Arc<AtomicUsize>,
    gate: Gate,
    /// Requests that were answered completely.
    answered: Arc<Mutex<Vec<String>>>,
}

impl Lab {
    fn answering(calls: usize) -> Self {
        let allowed = Arc::new(AtomicUsize::new(calls));
        let answered = Arc::<Mutex<Vec<String>>>::default();
        let gate = Gate::default();
        let server = Server::start({
            let (allowed, answered, gate) =
                (Arc::clone(&allowed), Arc::clone(&answered), gate.clone());
            move |request, _| {
                let permit = allowed.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                    left.checked_sub(1)
                });
                if permit.is_err() {
                    return Answer::Gated(gate.clone(), reply(request));
                }
                answered.lock().unwrap().push(request.to_string());
                Answer::Reply(reply(request))
            }
        });
        Self {
            server,
            allowed,
            gate,
            answered,
        }
    }

    /// Answers all held and future calls.
    fn open(&self) {
        self.allowed.store(usize::MAX / 2, Ordering::SeqCst);
        self.gate.open();
    }
}

fn home(server: &Server) -> Home {
    let home = Home::with_file(server);
    home.write("post.md", POST);
    home
}

fn start(home: &Home, play: Play) -> Child {
    home.command(&play.command())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The number of calls once those in transit from a killed process have arrived.
fn settled_count(server: &Server) -> usize {
    let mut heard = server.count();
    loop {
        thread::sleep(Duration::from_millis(30));
        let now = server.count();
        if now == heard {
            return heard;
        }
        heard = now;
    }
}

/// A debate that ran without interruption.
struct Uninterrupted {
    calls: usize,
    steps: usize,
    content: BTreeMap<String, Value>,
    took: Duration,
}

fn uninterrupted(play: Play) -> Uninterrupted {
    let lab = Lab::answering(usize::MAX / 2);
    let home = home(&lab.server);
    let began = Instant::now();
    home.run(&play.command()).expect(0, &[]);
    let journal = journal(&home);
    Uninterrupted {
        calls: lab.server.count(),
        steps: finished(&journal),
        content: content(&journal),
        took: began.elapsed(),
    }
}

/// Kills the debate after this many journaled steps, with the next in flight. Returns the number of repeated calls.
fn killed_after(play: Play, steps: usize, whole: &Uninterrupted) -> usize {
    let lab = Lab::answering(steps);
    let home = home(&lab.server);
    let child = start(&home, play);
    let started = Instant::now();
    // All allowed steps are journaled, and another call is in flight.
    while finished(&journal(&home)) < steps || lab.server.count() <= steps {
        assert!(
            started.elapsed() < Duration::from_mins(1),
            "{}: did not reach {steps} steps",
            play.name()
        );
        thread::sleep(Duration::from_millis(10));
    }
    kill(child);
    let before = journal(&home);
    let heard = lab.server.count();
    let answered: BTreeSet<String> = lab.answered.lock().unwrap().iter().cloned().collect();
    assert_eq!(finished(&before), steps);

    lab.open();
    home.run(&["resume", "last", "--quiet"]).expect(0, &[]);
    let after = journal(&home);
    assert_eq!(
        after[..before.len()],
        before[..],
        "journaled entries have changed"
    );
    assert_whole(&after, whole);
    let later = lab.server.heard().split_off(heard);
    assert!(
        later
            .iter()
            .all(|request| !answered.contains(&request.to_string())),
        "{}: a finished call was repeated after {steps} steps",
        play.name()
    );
    assert_eq!(later.len(), whole.calls - steps);
    heard - steps
}

/// Every key exactly once, with the content of an uninterrupted debate.
fn assert_whole(journal: &[Line], whole: &Uninterrupted) {
    let found = content(journal);
    assert_eq!(found.len(), journal.len(), "duplicate key");
    for (key, value) in &whole.content {
        // The end contains total time and attempts, which differ.
        if !key.starts_with("ended") {
            assert_eq!(found.get(key), Some(value), "{key}");
        }
    }
    assert_eq!(found.len(), whole.content.len());
}

/// C-08: for one protocol, at every `stride`-th position, or at all of them at full scale.
fn killed_at_every_position(play: Play, stride: usize) {
    let whole = uninterrupted(play);
    assert_eq!(whole.calls, whole.steps, "each step is one call");
    let stride = match Scale::asked_for() {
        Scale::Tenth => stride,
        Scale::Full => 1,
    };
    let positions: Vec<usize> = (0..whole.steps).step_by(stride).collect();
    let repeated: usize = positions
        .iter()
        .map(|steps| killed_after(play, *steps, &whole))
        .sum();
    Scale::asked_for().tell(
        &format!("{} killed at positions of its journal", play.name()),
        &json!({ "positions": positions.len(), "of": whole.steps, "entries_lost": 0, "calls_repeated": repeated }),
    );
}

#[test]
fn c08_ask_is_killed_at_every_position() {
    killed_at_every_position(Play::Ask, 1);
}

#[test]
fn c08_a_debate_is_killed_at_every_position() {
    killed_at_every_position(Play::Debate, 2);
}

#[test]
fn c08_a_forecast_is_killed_at_every_position() {
    killed_at_every_position(Play::Forecast, 6);
}

#[test]
fn c08_a_judgement_is_killed_at_every_position() {
    killed_at_every_position(Play::Judge, 5);
}

/// C-08: killed at a random moment, possibly while a reply is being journaled.
#[test]
fn c08_a_debate_killed_at_any_moment_is_whole_after_resume() {
    let rounds = Scale::asked_for().of(200);
    let wholes = Play::ALL.map(|play| (play, uninterrupted(play)));
    let mut random = fastrand::Rng::with_seed(8);
    let (mut repeated, mut resumed) = (0, 0);
    for round in 0..rounds {
        let (play, whole) = &wholes[round % wholes.len()];
        let server =
            Server::start(|request, _| Answer::Late(Duration::from_millis(3), reply(request)));
        let home = home(&server);
        let child = start(&home, *play);
        thread::sleep(whole.took.mul_f64(random.f64()));
        kill(child);
        let (before, heard) = (journal(&home), settled_count(&server));
        let Some(state) = home.list().first().map(|row| row["state"].clone()) else {
            assert_eq!(heard, 0, "a model was called before the debate was saved");
            continue;
        };
        if state == "complete" {
            continue;
        }
        home.run(&["resume", "last", "--quiet"]).expect(0, &[]);
        let after = journal(&home);
        assert_eq!(after[..before.len()], before[..]);
        assert_whole(&after, whole);
        assert_eq!(
            server.count() - heard,
            whole.calls - finished(&before),
            "{} in round {round}",
            play.name()
        );
        repeated += heard - finished(&before);
        resumed += 1;
    }
    assert!(resumed > 0, "no run was killed while in progress");
    Scale::asked_for().tell(
        "killed at any moment",
        &json!({ "kills": rounds, "resumed": resumed, "entries_lost": 0, "calls_repeated": repeated }),
    );
}

/// B-04, C-08: a worker with debates of every protocol is killed at a random moment. Another takes them all over, loses
/// nothing and repeats only the calls in flight.
#[test]
fn b04_a_worker_is_killed_at_any_moment_and_another_takes_over() {
    let rounds = Scale::asked_for().of(10);
    let wholes = Play::ALL.map(uninterrupted);
    let calls: usize = wholes.iter().map(|whole| whole.calls).sum();
    let mut random = fastrand::Rng::with_seed(4);
    let (mut repeated, mut slowest) = (0, Duration::ZERO);
    for _ in 0..rounds {
        let database = Database::new();
        let server =
            Server::start(|request, _| Answer::Late(Duration::from_millis(30), reply(request)));
        let home = Home::with_database(&server, database.url());
        let serving = Serving::start(&home, &["--no-work"]);
        let first = Worker::start(&home, "first", &[]);
        let ids = Play::ALL.map(|play| {
            let started = serving.post("/api/v1/debates", &play.request());
            assert_eq!(started.status, 202, "{}", started.text());
            started.json()["id"].as_str().unwrap().to_owned()
        });
        let kill_at = random.usize(1..calls / 2);
        let is_taken = |id: &String| serving.state(id) != "queued";
        while server.count() < kill_at || !ids.iter().all(is_taken) {
            thread::sleep(Duration::from_millis(2));
        }
        first.signal("-KILL");
        let killed = Instant::now();
        let _second = Worker::start(&home, "second", &[]);
        // Calls in transit from the first worker have arrived after this.
        thread::sleep(Duration::from_millis(200));
        let heard = server.count();
        let in_journal = || -> usize {
            let count = "SELECT count(*) FROM journal WHERE kind = 'step_finished'";
            database.sql(count).parse().unwrap()
        };
        let before = in_journal();
        while server.count() == heard {
            assert!(killed.elapsed() < Duration::from_secs(30), "no takeover");
            thread::sleep(Duration::from_millis(5));
        }
        slowest = slowest.max(killed.elapsed());
        for id in &ids {
            serving.until(id, "complete");
        }
        let steps: usize = wholes.iter().map(|whole| whole.steps).sum();
        assert_eq!(in_journal(), steps, "a step is lost or duplicated");
        let log = std::fs::read_to_string(home.path().join("second.log")).unwrap();
        // A worker that gets no CPU time for the length of a lease loses it, and then repeats more calls.
        if !log.contains("stopped:") {
            assert_eq!(server.count() - heard, calls - before, "{log}");
        }
        repeated += heard - before;
    }
    assert!(slowest < Duration::from_secs(10), "{slowest:?}");
    Scale::asked_for().tell(
        "workers killed at any moment",
        &json!({ "kills": rounds, "debates": rounds * 4, "entries_lost": 0, "calls_repeated": repeated,
            "slowest_takeover_s": slowest.as_secs_f64() }),
    );
}
