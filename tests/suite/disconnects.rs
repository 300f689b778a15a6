//! Clients that disconnect at any moment and repeat their request, and clients that send the same request twice at once:
//! nothing is lost, nothing happens twice, and the scheduler stays consistent (C-08).

#![cfg(unix)]

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::all_protocols::{Play, reply};
use crate::harness::postgres::Database;
use crate::harness::{Answer, Gate, Home, QUESTION, Reply, Scale, Server, Serving, schema_name};

const DEBATES: &str = "/api/v1/debates";

fn prompt() -> Server {
    Server::start(|request, _| Answer::AtOnce(reply(request)))
}

/// A debate of one round.
fn short_debate() -> Value {
    let rules = json!({ "min_rounds": 1, "max_rounds": 1 });
    json!({ "question": QUESTION, "model": "lab:x", "rules": rules })
}

/// A request to create a debate, as bytes.
fn create_request(serving: &Serving, key: &str) -> Vec<u8> {
    let body = short_debate().to_string();
    format!(
        "POST {DEBATES} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\nidempotency-key: {key}\r\n\
         content-length: {}\r\n\r\n{body}",
        serving.address,
        body.len()
    )
    .into_bytes()
}

/// The point at which a client disconnects.
#[derive(Debug, Clone, Copy)]
enum HangUp {
    /// After this many bytes of the request.
    Sending(usize),
    /// This long after the request was sent, with nothing read.
    Waiting(Duration),
    /// After this many bytes of the response.
    Reading(usize),
}

fn hang_up(serving: &Serving, request: &[u8], when: HangUp) {
    let mut stream = TcpStream::connect(&serving.address).unwrap();
    let sent = match when {
        HangUp::Sending(bytes) => bytes,
        HangUp::Waiting(_) | HangUp::Reading(_) => request.len(),
    };
    stream.write_all(&request[..sent]).unwrap();
    match when {
        HangUp::Sending(_) => {}
        HangUp::Waiting(time) => thread::sleep(time),
        HangUp::Reading(bytes) => drop(stream.read_exact(&mut vec![0; bytes])),
    }
}

/// Every `step`-th byte of request and response, and as many moments in between.
fn moments(serving: &Serving, scale: Scale) -> Vec<HangUp> {
    let step = if scale == Scale::Full { 1 } else { 10 };
    let request = create_request(serving, "a-key").len();
    let body = short_debate();
    let reply = serving.post_with(DEBATES, &body, &[("idempotency-key", "measure")]);
    let head: usize = reply
        .headers
        .iter()
        .map(|(k, v)| k.len() + v.len() + 4)
        .sum();
    let response = head + reply.body.len();
    let waits = (0..scale.of(1_000))
        .map(|at| Duration::from_micros(at as u64 * 40_000 / scale.of(1_000) as u64));
    (0..=request)
        .step_by(step)
        .map(HangUp::Sending)
        .chain(waits.map(HangUp::Waiting))
        .chain((0..=response).step_by(step).map(HangUp::Reading))
        .collect()
}

fn no_disconnect_loses_a_debate(home: &Home, database: &str) {
    let scale = Scale::asked_for();
    let serving = Serving::start(home, &["--rate", "100000"]);
    let moments = moments(&serving, scale);
    let mut ids = BTreeSet::new();
    for (number, when) in moments.iter().enumerate() {
        let key = format!("k-{number}");
        hang_up(&serving, &create_request(&serving, &key), *when);
        let again = serving.post_with(DEBATES, &short_debate(), &[("idempotency-key", &key)]);
        assert_eq!(again.status, 202, "{when:?}: {}", again.text());
        ids.insert(again.json()["id"].as_str().unwrap().to_owned());
    }
    assert_eq!(ids.len(), moments.len(), "two keys, one debate");
    for id in &ids {
        serving.until(id, "complete");
    }
    // One more measured the response.
    let listed = serving.get(&format!("{DEBATES}?limit=1")).json();
    assert_eq!(listed["total"], ids.len() + 1, "two debates for one key");
    assert_idle(&serving);
    let count = |wanted: fn(&HangUp) -> bool| moments.iter().filter(|when| wanted(when)).count();
    scale.tell(
        &format!("disconnects on {database}"),
        &json!({
            "while sending": count(|when| matches!(when, HangUp::Sending(_))),
            "while waiting": count(|when| matches!(when, HangUp::Waiting(_))),
            "while reading": count(|when| matches!(when, HangUp::Reading(_))),
            "debates": ids.len(),
            "lost": 0,
        }),
    );
}

/// C-08: a client disconnects after any byte of its request or of the response, or in between, and repeats the request.
#[test]
fn c08_no_disconnect_loses_a_debate_in_a_file() {
    let server = prompt();
    no_disconnect_loses_a_debate(&Home::with_file(&server), "SQLite");
}

#[test]
fn c08_no_disconnect_loses_a_debate_on_postgres() {
    let (server, database) = (prompt(), Database::new());
    let home = Home::with_database(&server, database.url());
    no_disconnect_loses_a_debate(&home, "PostgreSQL");
    assert_eq!(
        database.sql("SELECT count(*) FROM debates WHERE owner <> ''"),
        "0"
    );
}

/// Nothing runs and nothing is queued.
#[track_caller]
fn assert_idle(serving: &Serving) {
    let started = Instant::now();
    loop {
        let health = serving.get("/healthz").json();
        if (&health["running"], &health["queued"]) == (&json!(0), &json!(0)) {
            return;
        }
        assert!(started.elapsed() < Duration::from_secs(20), "{health}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Sends a request from two clients at the same moment. Returns the statuses, lowest first.
fn twice(serving: &Serving, path: &str, body: &Value, headers: &[(&str, &str)]) -> Vec<Reply> {
    let barrier = Barrier::new(2);
    let mut replies = thread::scope(|scope| {
        let send = || {
            barrier.wait();
            serving.post_with(path, body, headers)
        };
        let threads = [scope.spawn(send), scope.spawn(send)];
        threads
            .map(|thread| thread.join().unwrap())
            .into_iter()
            .collect::<Vec<_>>()
    });
    replies.sort_by_key(|reply| reply.status);
    replies
}

/// At least one succeeds; the other succeeds too or gets a conflict.
#[track_caller]
fn assert_one_effect(what: &str, replies: &[Reply]) {
    let texts: Vec<String> = replies.iter().map(Reply::text).collect();
    let statuses: Vec<u16> = replies.iter().map(|reply| reply.status).collect();
    assert!(statuses[0] < 300, "{what}: {texts:?}");
    assert!(
        statuses[1] < 300 || statuses[1] == 409,
        "{what}: {statuses:?} {texts:?}"
    );
}

/// The gates of the current debate: its opening waits for the first, its revision for the second.
#[derive(Clone, Default)]
struct Gates(Arc<Mutex<[Gate; 2]>>);

impl Gates {
    fn close(&self) {
        *self.0.lock().unwrap() = [Gate::default(), Gate::default()];
    }

    fn get(&self, index: usize) -> Gate {
        self.0.lock().unwrap()[index].clone()
    }

    fn model(&self) -> Server {
        let gates = self.clone();
        Server::start(move |request, _| match schema_name(request).as_str() {
            "opening" => Answer::Gated(gates.get(0), reply(request)),
            "revision" => Answer::Gated(gates.get(1), reply(request)),
            _ => Answer::AtOnce(reply(request)),
        })
    }
}

fn two_of_every_request(home: &Home, model: &Server, gates: &Gates) {
    let serving = Serving::start(home, &["--rate", "100000"]);
    let rounds = Scale::asked_for().of(50);
    let none = json!({});
    for round in 0..rounds {
        let key = format!("twice-{round}");
        let key = [("idempotency-key", key.as_str())];
        let rules = json!({ "min_rounds": 2, "max_rounds": 2 });
        let body = json!({ "question": QUESTION, "model": "lab:x", "rules": rules });
        gates.close();
        let created = twice(&serving, DEBATES, &body, &key);
        assert!(
            created.iter().all(|reply| reply.status == 202),
            "{created:?}"
        );
        let id = created[0].json()["id"].as_str().unwrap().to_owned();
        assert_eq!(created[1].json()["id"], id.as_str());
        let act = |what: &str, body: &Value| {
            let replies = twice(&serving, &format!("{DEBATES}/{id}/{what}"), body, &[]);
            assert_one_effect(what, &replies);
            replies
        };
        Serving::wait_until_asked(model, "opening", round + 1);
        act("pause", &none);
        gates.get(0).open();
        serving.until(&id, "waiting");
        let mut numbers: Vec<u64> = act("input", &json!({ "text": "Costs matter." }))
            .iter()
            .map(|reply| reply.json()["number"].as_u64().unwrap())
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [1, 2]);
        act("decision", &json!({ "choice": "continue" }));
        act("cancel", &none);
        serving.until(&id, "cancelled");
        gates.get(1).open();
        act("rating", &json!({ "rating": 7 }));
        act("resume", &none);
        serving.until(&id, "complete");
        let events = serving.events(&id, &[]).all();
        let count = |name: &str| events.iter().filter(|event| event.name == name).count();
        assert_eq!((count("decision"), count("user_input")), (1, 2));
    }
    let finished = model
        .asked()
        .iter()
        .filter(|name| *name == "synthesis")
        .count();
    assert_eq!(finished, rounds, "a debate was played twice");
    let forecast = serving.post_with(DEBATES, &Play::Forecast.request(), &[("prefer", "wait=60")]);
    let id = forecast.json()["id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/reasoning/debate/{id}/resolution");
    let resolved = twice(&serving, &path, &json!({ "outcome": "yes" }), &[]);
    assert_one_effect("resolution", &resolved);
    assert_idle(&serving);
}

/// Sends a request or form twice at once. Returns the statuses, lowest first.
fn both(serving: &Serving, method: &str, path: &str, body: &str) -> Vec<u16> {
    let kind = if body.starts_with('{') {
        "application/json"
    } else {
        "application/x-www-form-urlencoded"
    };
    let barrier = Barrier::new(2);
    let send = || {
        barrier.wait();
        let headers = [("content-type", kind)];
        serving.send(method, path, &headers, body.as_bytes()).status
    };
    let mut statuses = thread::scope(|scope| {
        let threads = [scope.spawn(send), scope.spawn(send)];
        threads.map(|thread| thread.join().unwrap())
    });
    statuses.sort_unstable();
    statuses.to_vec()
}

/// The forms of a finished debate and of the administration.
fn two_of_every_form(home: &Home) {
    let admin = home.token("admin");
    let mut serving = Serving::start(home, &["--rate", "100000"]);
    serving.token = Some(admin);
    let forecast = serving.post_with(DEBATES, &Play::Forecast.request(), &[("prefer", "wait=60")]);
    let id = forecast.json()["id"].as_str().unwrap().to_owned();
    let post = |path: &str, body: &str| both(&serving, "POST", path, body);
    let of_debate = |what: &str, body: &str| post(&format!("/debates/{id}/{what}"), body);
    // Both of these succeed: the second changes what the first has set, or adds another.
    for (what, body) in [
        ("filing", "pinned=on&tags=money%2C+plans"),
        ("rating", "rating=7"),
        ("resolution", "outcome=yes"),
        ("shares", "days=7"),
        ("events", "event=It+began.&status=completed"),
    ] {
        let statuses = of_debate(what, body);
        assert!(
            statuses.iter().all(|status| *status < 400),
            "{what}: {statuses:?}"
        );
    }
    let assessed = of_debate("post-mortem", "accuracy=0.75&right=All&wrong=&lessons=");
    assert!(assessed[0] < 400 || assessed[0] == 422, "{assessed:?}");
    assert!(assessed[1] < 500, "{assessed:?}");
    assert_eq!(post("/api/v1/tokens", r#"{"name":"eve"}"#), [201, 422]);
    let limits = r#"{"reach":"own"}"#;
    assert_eq!(
        both(&serving, "PUT", "/api/v1/tokens/eve", limits),
        [200, 200]
    );
    let revoked = both(&serving, "DELETE", "/api/v1/tokens/eve", "");
    assert_eq!(revoked, [204, 404]);
    let deleted = both(&serving, "DELETE", &format!("{DEBATES}/{id}"), "");
    assert!(
        deleted[0] == 204 && [404, 409].contains(&deleted[1]),
        "{deleted:?}"
    );
    assert_idle(&serving);
}

#[test]
fn c08_two_of_every_form_at_once_have_one_effect_in_a_file() {
    let model = Server::start(|request, _| Answer::AtOnce(reply(request)));
    two_of_every_form(&Home::with_file(&model));
}

#[test]
fn c08_two_of_every_form_at_once_have_one_effect_on_postgres() {
    let model = Server::start(|request, _| Answer::AtOnce(reply(request)));
    let database = Database::new();
    two_of_every_form(&Home::with_database(&model, database.url()));
}

/// C-08: every request sent twice at once has one effect, and none of the two fails with a 5xx.
#[test]
fn c08_two_of_every_request_at_once_have_one_effect_in_a_file() {
    let gates = Gates::default();
    let model = gates.model();
    two_of_every_request(&Home::with_file(&model), &model, &gates);
}

#[test]
fn c08_two_of_every_request_at_once_have_one_effect_on_postgres() {
    let (gates, database) = (Gates::default(), Database::new());
    let model = gates.model();
    let home = Home::with_database(&model, database.url());
    two_of_every_request(&home, &model, &gates);
}
