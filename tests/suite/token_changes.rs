//! Tokens that are changed, limits that hold for all servers of a database, and an audit log that misses no action.

#![cfg(unix)]

use std::thread;

use serde_json::{Value, json};

use crate::harness::postgres::Database;
use crate::harness::{Answer, Gate, Home, QUESTION, Server, Serving, good, schema_name};

const FORM: [(&str, &str); 1] = [("content-type", "application/x-www-form-urlencoded")];

fn token(home: &Home, name: &str, more: &[&str]) -> String {
    let run = home.run(&[&["token", "add", name], more].concat());
    run.expect(0, &["not shown again"]);
    run.out.trim().to_owned()
}

fn serving_as(home: &Home, token: &str) -> Serving {
    let mut serving = Serving::start(home, &[]);
    serving.token = Some(token.to_owned());
    serving
}

/// The listed properties of a token.
fn shown(serving: &Serving, name: &str) -> Value {
    let listed = serving.get("/api/v1/tokens").json();
    let mut tokens = listed["tokens"].as_array().unwrap().iter();
    tokens.find(|token| token["name"] == name).unwrap().clone()
}

/// Reach and limits change on every surface, for the next request, and the change is recorded.
#[test]
fn a_token_is_changed_on_every_surface() {
    let home = Home::with_model(&Server::good());
    let boss = token(&home, "boss", &["--scope", "admin"]);
    let ada = token(&home, "ada", &["--max-running", "3"]);
    let serving = serving_as(&home, &boss);
    let bosses = serving.debate();
    serving.until(&bosses, "complete");
    let as_ada = || {
        let bearer = format!("Bearer {ada}");
        let path = format!("/api/v1/debates/{bosses}");
        serving
            .send("GET", &path, &[("authorization", &bearer)], b"")
            .status
    };
    assert_eq!(as_ada(), 200);

    let change = json!({ "reach": "own", "max_cost_per_day": 2.5, "models": ["lab:*"] });
    let json = [("content-type", "application/json")];
    let body = change.to_string();
    let put = |path: &str, body: &str| serving.send("PUT", path, &json, body.as_bytes());
    let changed = put("/api/v1/tokens/ada", &body);
    assert_eq!(changed.status, 200, "{}", changed.text());
    assert_eq!(changed.json(), shown(&serving, "ada"));
    let now = shown(&serving, "ada");
    assert_eq!(
        [
            &now["reach"],
            &now["max_cost_per_day"],
            &now["max_running"],
            &now["models"]
        ],
        [&json!("own"), &json!(2.5), &Value::Null, &json!(["lab:*"])]
    );
    assert_eq!(as_ada(), 404, "the debate of another token");
    put("/api/v1/tokens/nobody", &body).problem(404, "not-found");
    let wrong = json!({ "reach": "own", "max_running": 0, "models": ["gpt"] }).to_string();
    put("/api/v1/tokens/ada", &wrong).problem(422, "invalid-request");

    // On the page, with the fields filled in.
    let page = serving.get("/tokens").text();
    assert!(
        page.contains("value=\"2.5\"") && page.contains("value=\"lab:*\""),
        "{page}"
    );
    let form = b"reach=all&max_cost_per_day=&max_running=4&models=";
    let sent = serving.send("POST", "/tokens/ada/limits", &FORM, form);
    assert_eq!(sent.status, 303, "{}", sent.text());
    assert_eq!(as_ada(), 200);
    let now = shown(&serving, "ada");
    assert_eq!(
        [&now["max_cost_per_day"], &now["max_running"]],
        [&Value::Null, &json!(4)]
    );
    let refused = serving.send(
        "POST",
        "/tokens/ada/limits",
        &FORM,
        b"reach=all&max_running=x",
    );
    assert_eq!(refused.status, 422);
    assert!(
        refused.text().contains("invalid number of running debates"),
        "{}",
        refused.text()
    );

    // On the command line, where everything that is not given stays.
    home.run(&["token", "change", "ada", "--max-cost-per-day", "1"])
        .expect(0, &["$1.00 per day, 4 running"]);
    home.run(&[
        "token",
        "change",
        "ada",
        "--max-running",
        "none",
        "--reach",
        "own",
    ])
    .expect(0, &["Token 'ada' now has reach own, $1.00 per day."]);
    home.run(&["token", "change", "ada", "--max-cost-per-day", "none"])
        .expect(0, &["reach own, no limits"]);
    home.run(&["token", "change", "ada"])
        .expect(2, &["required"]);
    home.run(&["token", "change", "ada", "--max-running", "0"])
        .expect(2, &["at least 1"]);
    home.run(&["token", "change", "eve", "--reach", "own"])
        .expect(2, &["no token named 'eve'"]);

    let log = home.run(&["audit", "--json"]).out;
    let entries = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let changes: Vec<Value> = entries
        .filter(|entry| entry["action"] == "token-changed")
        .collect();
    let done = |entry: &&Value| entry["outcome"] == "done";
    assert_eq!(changes.iter().filter(done).count(), 5, "{changes:#?}");
    assert_eq!(
        changes[0]["detail"],
        "reach own, $2.50 per day, models lab:*"
    );
    assert_eq!(
        [&changes[0]["who"], &changes[0]["subject"]],
        ["boss", "ada"]
    );
}

/// The limits of a token hold for all servers of a database together, also if requests come to them at the same time.
#[test]
fn limits_of_a_token_hold_across_servers() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Server::start(move |request, before| {
        let reply = good(request, before);
        match schema_name(request).as_str() {
            "opening" => Answer::Gated(held.clone(), reply),
            _ => Answer::Reply(reply),
        }
    });
    let database = Database::new();
    let home = Home::with_database(&model, database.url());
    let ada = token(&home, "ada", &["--max-running", "3"]);
    let servers: Vec<Serving> = (0..3).map(|_| serving_as(&home, &ada)).collect();
    let body = json!({ "question": QUESTION, "model": "lab:x" });
    let statuses: Vec<u16> = thread::scope(|scope| {
        let requests = servers.iter().flat_map(|serving| [serving; 6]);
        let requests: Vec<_> = requests
            .map(|serving| scope.spawn(|| serving.post("/api/v1/debates", &body).status))
            .collect();
        requests
            .into_iter()
            .map(|request| request.join().unwrap())
            .collect()
    });
    gate.open();
    let count = |status: u16| statuses.iter().filter(|found| **found == status).count();
    assert_eq!((count(202), count(429)), (3, 15), "{statuses:?}");
    assert_eq!(database.sql("SELECT count(*) FROM debates"), "3");
}

/// C-19: test calls of models are counted for all servers of a database together, and for those that start later.
#[test]
fn c19_test_calls_are_bounded_across_servers() {
    let model = Server::start(|_, _| Answer::Reply("{\"yes\": true}".into()));
    let database = Database::new();
    let home = Home::with_database(&model, database.url());
    let servers: Vec<Serving> = (0..3).map(|_| Serving::start(&home, &[])).collect();
    let test = |serving: &Serving| serving.send("POST", "/models/test", &FORM, b"model=lab:x");
    let statuses: Vec<u16> = thread::scope(|scope| {
        let requests = servers.iter().flat_map(|serving| [serving; 4]);
        let requests: Vec<_> = requests
            .map(|serving| scope.spawn(|| test(serving).status))
            .collect();
        requests
            .into_iter()
            .map(|request| request.join().unwrap())
            .collect()
    });
    let count = |status: u16| statuses.iter().filter(|found| **found == status).count();
    assert_eq!((count(200), count(429)), (6, 6), "{statuses:?}");
    assert_eq!(model.count(), 6);
    drop(servers);

    let later = Serving::start(&home, &[]);
    assert_eq!(test(&later).status, 429);
    let page = later.get("/models").text();
    assert!(page.contains("in the last hour: 6 calls,"), "{page}");
    assert_eq!(model.count(), 6);
}

/// A test call's cost counts for the day of its token, after a restart and on another server too.
#[test]
fn the_cost_of_a_test_call_is_stored() {
    let home = Home::with_model(&Server::good());
    let prices = "[prices.lab]\nx = { input = 0.0, output = 100000.0 }\n";
    home.write(".config/roundtable/prices.toml", prices);
    let ada = token(&home, "ada", &["--max-cost-per-day", "0.01"]);
    let serving = serving_as(&home, &ada);
    let tested = serving.send("POST", "/models/test", &FORM, b"model=lab:x");
    assert_eq!(tested.status, 200, "{}", tested.text());
    serving.kill();
    let serving = serving_as(&home, &ada);
    let body = json!({ "question": QUESTION, "model": "lab:x" });
    let problem = serving.post("/api/v1/debates", &body).problem(429, "quota");
    assert!(
        problem["quota"]["spent"].as_f64().unwrap() > 0.01,
        "{problem}"
    );
}

/// An action whose start cannot be recorded does not happen, over HTTP and on the command line.
#[test]
fn nothing_is_done_that_the_audit_log_cannot_record() {
    let database = Database::new();
    let home = Home::with_database(&Server::good(), database.url());
    let boss = token(&home, "boss", &["--scope", "admin"]);
    let serving = serving_as(&home, &boss);
    let id = serving.debate();
    serving.until(&id, "complete");
    database.sql("ALTER TABLE audit_log RENAME TO gone");
    let path = format!("/api/v1/debates/{id}");
    serving
        .send("DELETE", &path, &[], b"")
        .problem(503, "store-unavailable");
    assert_eq!(serving.get(&path).status, 200, "it is still there");
    let why = ["cannot write the audit log, so nothing was changed"];
    home.run(&["rm", &id, "--yes"]).expect(1, &why);
    home.run(&["token", "revoke", "boss"]).expect(1, &why);
    let new = serving.post("/api/v1/tokens", &json!({ "name": "eve" }));
    new.problem(503, "store-unavailable");
    assert_eq!(database.sql("SELECT count(*) FROM tokens"), "1");

    database.sql("ALTER TABLE gone RENAME TO audit_log");
    assert_eq!(serving.send("DELETE", &path, &[], b"").status, 204);
    // An action that was begun and not ended, as after a crash, is listed as that.
    database.sql(
        "INSERT INTO audit_log SELECT number + 1000, at, who, via, action, subject, 'started', address, 'lost', detail \
         FROM audit_log WHERE action = 'debate-deleted' AND outcome = 'done'",
    );
    let log = home.run(&["audit"]).out;
    assert!(
        log.lines()
            .last()
            .unwrap()
            .contains("debate-deleted  started"),
        "{log}"
    );
}
