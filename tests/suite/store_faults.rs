//! A store that is locked, full, cut off, silent or busy (C-08, C-10): the server says 503 and when to come back, never 500; what
//! runs waits or stops, and goes on by itself when the store is back.

#![cfg(unix)]

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use sqlx::Connection;

use crate::harness::postgres::Database;
use crate::harness::proxy::{Line, Proxy};
use crate::harness::{Answer, Home, Reply, Scale, Server, Serving};
use crate::lab::{Play, reply};

/// Each call takes a while, so that a debate is in its middle for some seconds.
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

/// Turned away for now, and told when to come back.
#[track_caller]
fn is_put_off(reply: &Reply) {
    reply.problem(503, "store-unavailable");
    assert!(reply.header("retry-after").is_some(), "{reply:?}");
}

/// It is not known at which moment the store is noticed to be away; what is not well is a 503 that says when to come back.
#[track_caller]
fn is_well_or_put_off(reply: &Reply) {
    if reply.status >= 300 {
        is_put_off(reply);
    }
}

/// Nothing is journaled twice, and every step is there.
fn is_whole(serving: &Serving, id: &str) {
    let shown = serving.get(&format!("/api/v1/debates/{id}")).json();
    assert_eq!(shown["state"], "complete", "{shown}");
    assert_eq!(shown["record"]["total_rounds"], 3, "{shown}");
}

/// C-08: another process keeps the file locked for longer than is waited for.
#[test]
fn c08_locked_for_longer_than_is_waited_for_it_goes_on_afterwards() {
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
    is_put_off(&post(&serving));
    // Reading goes on.
    assert_eq!(serving.state(&id), "running");
    thread::sleep(Duration::from_secs(2));
    runtime.block_on(async {
        sqlx::query("ROLLBACK").execute(&mut lock).await.unwrap();
        lock.close().await.unwrap();
    });
    serving.until(&id, "complete");
    is_whole(&serving, &id);
    serving.until(&started(&serving), "complete");
}

/// C-08: no more can be written, as on a full disk; when there is room again, what ran goes on.
#[test]
fn c08_full_it_stops_cleanly_and_goes_on_when_there_is_room() {
    let server = slow();
    let home = Home::with_file(&server);
    // A limit on the size of files stands in for the disk: its signal ignored, a write fails as it does there.
    let plain = home.command(&["serve", "--bind", "127.0.0.1:0"]);
    let mut command = Command::new("sh");
    command
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(plain.get_program())
        .args(plain.get_args())
        .current_dir(home.path())
        .env_clear()
        .env("HOME", home.path())
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
    is_put_off(&post(&serving));
    let asked = server.count();
    thread::sleep(Duration::from_secs(3));
    assert!(
        server.count() <= asked + 3,
        "it calls models although nothing can be saved"
    );
    assert_eq!(serving.state(&id), "running");
    limit("--fsize=unlimited:unlimited");
    serving.until(&id, "complete");
    is_whole(&serving, &id);
}

/// How long a database is away.
fn away() -> Duration {
    match Scale::asked_for() {
        Scale::Tenth => Duration::from_secs(3),
        Scale::Full => Duration::from_secs(30),
    }
}

/// C-08, C-10: the database is cut off in the middle of a debate and comes back.
#[test]
fn c10_cut_off_from_the_database_it_goes_on_when_it_is_back() {
    let (database, server) = (Database::new(), slow());
    let (proxy, url) = Proxy::before(database.url());
    let home = Home::with_database(&server, &url);
    let serving = Serving::start(&home, &[]);
    let id = started(&serving);
    Serving::until_asked(&server, "critique");
    proxy.set(Line::Cut);
    let began = Instant::now();
    let mut put_off = 0;
    while began.elapsed() < away() {
        for reply in [
            post(&serving),
            serving.get(&format!("/api/v1/debates/{id}")),
        ] {
            is_well_or_put_off(&reply);
            put_off += usize::from(reply.status == 503);
        }
        assert_eq!(serving.get("/healthz").status, 200);
        thread::sleep(Duration::from_millis(200));
    }
    assert!(put_off > 0, "nobody noticed");
    proxy.set(Line::Open);
    let back = Instant::now();
    serving.until_well(&id);
    Scale::asked_for().tell(
        "database cut off",
        &json!({ "seconds": away().as_secs(), "requests_put_off": put_off, "until_complete_s": back.elapsed().as_secs_f64() }),
    );
    is_whole(&serving, &id);
    let steps = database.sql(&format!(
        "SELECT count(*), count(DISTINCT key) FROM journal WHERE kind = 'step_finished' AND debate_id = '{id}'"
    ));
    assert_eq!(steps, "8|8");
}

/// C-08, C-10: the line goes dead without a word for longer than a lease; nothing is written twice when it is back, and whoever asks
/// is not left waiting for ever.
#[test]
fn c10_when_the_line_goes_dead_without_a_word_nobody_waits_for_ever() {
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
        is_put_off(&reading.join().unwrap());
        is_put_off(&writing.join().unwrap());
    });
    assert!(
        asked.elapsed() < Duration::from_secs(45),
        "{:?}",
        asked.elapsed()
    );
    proxy.set(Line::Open);
    serving.until_well(&id);
    is_whole(&serving, &id);
    serving.until(&started(&serving), "complete");
}

/// C-10: every connection is taken: whoever comes waits a while and is then told when to come back.
#[test]
fn c10_when_all_connections_are_taken_whoever_comes_is_put_off() {
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
        let replies: Vec<Reply> = asking.into_iter().map(|it| it.join().unwrap()).collect();
        for reply in &replies {
            is_well_or_put_off(reply);
        }
        assert!(replies.iter().any(|reply| reply.status == 503));
        locked.join().unwrap();
    });
    assert_eq!(serving.state(&id), "queued");
}

impl Serving {
    /// Waits until the debate is complete, although asking for it may not work yet.
    fn until_well(&self, id: &str) {
        let patience = Instant::now();
        loop {
            let shown = self.get(&format!("/api/v1/debates/{id}"));
            is_well_or_put_off(&shown);
            if shown.status == 200 && shown.json()["state"] == "complete" {
                return;
            }
            assert!(
                patience.elapsed() < Duration::from_mins(2),
                "{}",
                shown.text()
            );
            thread::sleep(Duration::from_millis(50));
        }
    }
}
