//! A locked, full, disconnected, unresponsive or busy store (C-08, C-10): the server answers 503 with `Retry-After`, never 500;
//! running debates pause or stop, and continue by themselves when the store is back.

#![cfg(unix)]

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use sqlx::Connection;

use crate::all_protocols::{Play, reply};
use crate::harness::postgres::Database;
use crate::harness::proxy::{Line, Proxy};
use crate::harness::{Answer, Home, Reply, Scale, Server, Serving};

/// Slow calls, so that a debate runs for some seconds.
fn slow() -> Server {
    Server::start(|request, _| Answer::Late(Duration::from_millis(400), reply(request)))
}

fn post(serving: &Serving) -> Reply {
    serving.post("/api/v1/debates", &Play::Ask.request())
}

fn started(serving: &Serving) -> String {
    let reply = post(serving);
    assert_eq!(reply.status, 202, "{}", reply.text());
    reply.json()["id"].as_str().unwrap().to_owned()
}

/// A 503 with `Retry-After`.
#[track_caller]
fn assert_unavailable(reply: &Reply) {
    reply.problem(503, "store-unavailable");
    assert!(reply.header("retry-after").is_some(), "{reply:?}");
}

/// The outage is noticed at an unknown moment; until then requests succeed.
#[track_caller]
fn assert_ok_or_unavailable(reply: &Reply) {
    if reply.status >= 300 {
        assert_unavailable(reply);
    }
}

/// The debate is complete, with every round.
fn assert_complete(serving: &Serving, id: &str) {
    let shown = serving.get(&format!("/api/v1/debates/{id}")).json();
    assert_eq!(shown["state"], "complete", "{shown}");
    assert_eq!(shown["record"]["total_rounds"], 3, "{shown}");
}

/// C-08: another process holds the file's lock for longer than the lock timeout.
#[test]
fn c08_a_debate_continues_after_a_long_file_lock() {
    let server = slow();
    let home = Home::with_file(&server);
    let serving = Serving::start(&home, &[]);
    let id = started(&serving);
    Serving::until_asked(&server, "opening");
    let file = home.path().join(".local/share/roundtable/roundtable.db");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut lock = runtime.block_on(async {
        sqlx::any::install_default_drivers();
        let address = format!("sqlite:{}?mode=rw", file.display());
        let mut connection = sqlx::AnyConnection::connect(&address).await.unwrap();
        sqlx::query("BEGIN IMMEDIATE")
            .execute(&mut connection)
            .await
            .unwrap();
        connection
    });
    assert_unavailable(&post(&serving));
    // Reads still work.
    assert_eq!(serving.state(&id), "running");
    thread::sleep(Duration::from_secs(2));
    runtime.block_on(async {
        sqlx::query("ROLLBACK").execute(&mut lock).await.unwrap();
        lock.close().await.unwrap();
    });
    serving.until(&id, "complete");
    assert_complete(&serving, &id);
    serving.until(&started(&serving), "complete");
}

/// C-08: on a full disk a debate stops, and it continues when there is space again.
#[test]
fn c08_a_debate_stops_on_a_full_disk_and_continues_with_space() {
    let server = slow();
    let home = Home::with_file(&server);
    // A file size limit simulates the full disk; with SIGXFSZ ignored, writes fail.
    let plain = home.command(&["serve", "--bind", "127.0.0.1:0"]);
    let mut command = Command::new("sh");
    command
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(plain.get_program())
        .args(plain.get_args())
        .current_dir(home.path())
        .env_clear()
        .env("HOME", home.path())
        .env("ROUNDTABLE_CONFIG", "roundtable.toml")
        .env("ROUNDTABLE_SOURCES", "nowhere")
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    let serving = Serving::spawn(&mut command);
    let limit = |fsize: &str| {
        let mut prlimit = Command::new("prlimit");
        prlimit.args(["--pid", &serving.pid().to_string(), fsize]);
        assert!(prlimit.status().unwrap().success());
    };
    let id = started(&serving);
    Serving::until_asked(&server, "opening");
    limit("--fsize=1:unlimited");
    assert_unavailable(&post(&serving));
    let asked = server.count();
    thread::sleep(Duration::from_secs(3));
    assert!(
        server.count() <= asked + 3,
        "models are called although nothing can be saved"
    );
    assert_eq!(serving.state(&id), "running");
    limit("--fsize=unlimited:unlimited");
    serving.until(&id, "complete");
    assert_complete(&serving, &id);
}

/// How long the database is unreachable.
fn outage() -> Duration {
    match Scale::asked_for() {
        Scale::Tenth => Duration::from_secs(3),
        Scale::Full => Duration::from_secs(30),
    }
}

/// C-08, C-10: the database is unreachable during a debate and comes back.
#[test]
fn c10_a_debate_continues_after_a_database_outage() {
    let (database, server) = (Database::new(), slow());
    let (proxy, url) = Proxy::before(database.url());
    let home = Home::with_database(&server, &url);
    let serving = Serving::start(&home, &[]);
    let id = started(&serving);
    Serving::until_asked(&server, "critique");
    proxy.set(Line::Cut);
    let began = Instant::now();
    let mut unavailable = 0;
    while began.elapsed() < outage() {
        for reply in [
            post(&serving),
            serving.get(&format!("/api/v1/debates/{id}")),
        ] {
            assert_ok_or_unavailable(&reply);
            unavailable += usize::from(reply.status == 503);
        }
        assert_eq!(serving.get("/healthz").status, 200);
        thread::sleep(Duration::from_millis(200));
    }
    assert!(unavailable > 0, "the outage was never noticed");
    proxy.set(Line::Open);
    let back = Instant::now();
    serving.until_complete(&id);
    Scale::asked_for().tell(
        "database cut off",
        &json!({ "seconds": outage().as_secs(), "requests_put_off": unavailable, "until_complete_s": back.elapsed().as_secs_f64() }),
    );
    assert_complete(&serving, &id);
    let steps = database.sql(&format!(
        "SELECT count(*), count(DISTINCT key) FROM journal WHERE kind = 'step_finished' AND debate_id = '{id}'"
    ));
    assert_eq!(steps, "8|8");
}

/// C-08, C-10: the connection hangs for longer than a lease: requests time out, and nothing is written twice afterwards.
#[test]
fn c10_requests_time_out_when_the_connection_hangs() {
    let (database, server) = (Database::new(), slow());
    let (proxy, url) = Proxy::before(database.url());
    let home = Home::with_database(&server, &url);
    let serving = Serving::start(&home, &[]);
    let id = started(&serving);
    Serving::until_asked(&server, "critique");
    proxy.set(Line::Silent);
    let asked = Instant::now();
    thread::scope(|scope| {
        let reading = scope.spawn(|| serving.get(&format!("/api/v1/debates/{id}")));
        let writing = scope.spawn(|| post(&serving));
        assert_unavailable(&reading.join().unwrap());
        assert_unavailable(&writing.join().unwrap());
    });
    assert!(
        asked.elapsed() < Duration::from_secs(45),
        "{:?}",
        asked.elapsed()
    );
    proxy.set(Line::Open);
    serving.until_complete(&id);
    assert_complete(&serving, &id);
    serving.until(&started(&serving), "complete");
}

/// C-10: with all connections in use, requests wait and then get a 503.
#[test]
fn c10_requests_get_503_when_all_connections_are_in_use() {
    let (database, server) = (Database::new(), slow());
    let home = Home::with_database(&server, database.url());
    let serving = Serving::start(&home, &["--no-work"]);
    let id = started(&serving);
    thread::scope(|scope| {
        let locked = scope.spawn(|| {
            database.sql(
                "BEGIN; LOCK TABLE debates IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(12); COMMIT",
            );
        });
        thread::sleep(Duration::from_millis(500));
        let asking: Vec<_> = (0..12)
            .map(|_| scope.spawn(|| serving.get(&format!("/api/v1/debates/{id}"))))
            .collect();
        let replies: Vec<Reply> = asking
            .into_iter()
            .map(|request| request.join().unwrap())
            .collect();
        for reply in &replies {
            assert_ok_or_unavailable(reply);
        }
        assert!(replies.iter().any(|reply| reply.status == 503));
        locked.join().unwrap();
    });
    assert_eq!(serving.state(&id), "queued");
}

impl Serving {
    /// Waits until the debate is complete; requests may fail with 503 meanwhile.
    fn until_complete(&self, id: &str) {
        let started = Instant::now();
        loop {
            let shown = self.get(&format!("/api/v1/debates/{id}"));
            assert_ok_or_unavailable(&shown);
            if shown.status == 200 && shown.json()["state"] == "complete" {
                return;
            }
            assert!(
                started.elapsed() < Duration::from_mins(2),
                "{}",
                shown.text()
            );
            thread::sleep(Duration::from_millis(50));
        }
    }
}
