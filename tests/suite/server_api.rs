//! The REST API: every operation, and every error response.

#![cfg(unix)]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Answer, Gate, Home, QUESTION, Server, Serving, good, schema_name};

fn path(id: &str, rest: &str) -> String {
    format!("/api/v1/debates/{id}{rest}")
}

/// A model server that delays every reply.
fn late(wait: Duration) -> Server {
    Server::start(move |request, before| Answer::Late(wait, good(request, before)))
}

/// The whole life of a debate over the API.
#[test]
fn c14_a_debate_is_started_shown_rated_exported_and_deleted() {
    let home = Home::with(&Server::good());
    let serving = Serving::start(&home, &[]);
    let body =
        json!({ "question": QUESTION, "model": "lab:x", "seed": 7, "rules": { "min_rounds": 3 } });
    let reply = serving.post("/api/v1/debates", &body);
    assert_eq!(reply.status, 202, "{}", reply.text());
    let created = reply.json();
    let id = created["id"].as_str().unwrap();
    assert_eq!(created["state"], "running");
    assert_eq!(reply.header("location"), Some(path(id, "").as_str()));
    serving.until(id, "complete");

    let shown = serving.get(&path(id, "")).json();
    assert_eq!(
        (&shown["question"], &shown["protocol"]),
        (&json!(QUESTION), &json!("dialectic"))
    );
    assert_eq!(shown["record"]["seed"], 7);
    assert_eq!(shown["report"]["answer"], shown["record"]["final_answer"]);
    assert_eq!(shown["totals"]["calls"], 8);
    assert!(shown["seq"].as_u64().unwrap() > 10);
    assert_eq!(shown["waiting_for"], Value::Null);

    let rated = serving.post(
        &path(id, "/rating"),
        &json!({ "rating": 9, "comment": "good" }),
    );
    assert_eq!(rated.status, 204, "{}", rated.text());
    assert_eq!(serving.get(&path(id, "")).json()["rating"], 9);

    for (format, kind, expected) in [
        ("json", "application/json", "\"final_answer\""),
        ("yaml", "application/yaml", "final_answer:"),
        ("md", "text/markdown; charset=utf-8", "absorbs forty bursts"),
        ("html", "text/html; charset=utf-8", "<!doctype html>"),
        ("jsonl", "application/x-ndjson", "\"messages\""),
    ] {
        let export = serving.get(&path(id, &format!("/export?format={format}")));
        assert_eq!(export.status, 200, "{}", export.text());
        assert_eq!(export.header("content-type"), Some(kind));
        let name = format!("attachment; filename=\"debate-{id}.{format}\"");
        assert_eq!(export.header("content-disposition"), Some(name.as_str()));
        let text = export.text();
        assert!(
            text.to_lowercase().contains(&expected.to_lowercase()),
            "{text}"
        );
    }
    assert_eq!(serving.send("DELETE", &path(id, ""), &[], b"").status, 204);
    serving.get(&path(id, "")).problem(404, "not-found");
    serving
        .send("DELETE", &path(id, ""), &[], b"")
        .problem(404, "not-found");
}

/// `Prefer: wait=N` waits at most N seconds for the result.
#[test]
fn prefer_wait_waits_for_the_result() {
    let home = Home::with(&late(Duration::from_millis(100)));
    let serving = Serving::start(&home, &[]);
    let body = json!({ "question": QUESTION, "model": "lab:x" });
    let reply = serving.post_with("/api/v1/debates", &body, &[("prefer", "wait=30")]);
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("preference-applied"), Some("wait=30"));
    assert!(reply.header("location").is_some());
    assert_eq!(reply.json()["state"], "complete");
    assert!(reply.json()["record"]["final_answer"].is_string());
    let started = Instant::now();
    let reply = serving.post_with("/api/v1/debates", &body, &[("prefer", "wait=0")]);
    assert_eq!(reply.status, 202);
    assert!(started.elapsed() < Duration::from_secs(1));
}

/// A repeated request with the same idempotency key creates one debate, also after a restart. The same key with another
/// body is rejected.
#[test]
fn an_idempotency_key_creates_one_debate() {
    let home = Home::with(&Server::good());
    let serving = Serving::start(&home, &[]);
    let body = json!({ "question": QUESTION, "model": "lab:x" });
    let key = [("idempotency-key", "abc-1")];
    let first = serving.post_with("/api/v1/debates", &body, &key).json();
    let second = serving.post_with("/api/v1/debates", &body, &key);
    assert_eq!(second.status, 202);
    assert_eq!(second.json()["id"], first["id"]);
    let other = json!({ "question": "Another?", "model": "lab:x" });
    serving
        .post_with("/api/v1/debates", &other, &key)
        .problem(422, "invalid-request");
    serving.until(first["id"].as_str().unwrap(), "complete");
    serving.terminate();
    let serving = Serving::start(&home, &[]);
    let third = serving.post_with("/api/v1/debates", &body, &key).json();
    assert_eq!(third["id"], first["id"]);
    assert_eq!(home.list().len(), 1);
    let long = "x".repeat(256);
    for wrong in [long.as_str(), "ü"] {
        let reply = serving.post_with("/api/v1/debates", &body, &[("idempotency-key", wrong)]);
        reply.problem(422, "invalid-request");
    }
}

/// Pagination, filters, and all invalid parameters reported at once.
#[test]
fn c14_debates_are_listed_by_page_and_filter() {
    let home = Home::with(&Server::good());
    let serving = Serving::start(&home, &[]);
    for number in 0..5 {
        let body = json!({ "question": format!("Question {number}, is it 100% clear?"), "model": "lab:x", "rules": { "min_rounds": 1, "max_rounds": 1 } });
        let reply = serving.post_with("/api/v1/debates", &body, &[("prefer", "wait=20")]);
        assert_eq!(reply.status, 200, "{}", reply.text());
    }
    let list = |query: &str| serving.get(&format!("/api/v1/debates{query}")).json();
    let mut seen = Vec::new();
    let mut next = String::new();
    loop {
        let page = list(&format!("?limit=2{next}"));
        assert_eq!(page["total"], 5);
        let rows = page["debates"].as_array().unwrap();
        seen.extend(
            rows.iter()
                .map(|row| row["question"].as_str().unwrap().to_owned()),
        );
        match page["next"].as_str() {
            Some(cursor) => next = format!("&cursor={cursor}"),
            None => break,
        }
    }
    let expected: Vec<_> = (0..5)
        .rev()
        .map(|n| format!("Question {n}, is it 100% clear?"))
        .collect();
    assert_eq!(seen, expected);
    let count = |query: &str| list(query)["total"].as_u64().unwrap();
    assert_eq!(count("?search=QUESTION%203"), 1);
    assert_eq!(count("?search=100%25"), 5);
    assert_eq!(count("?state=complete&protocol=dialectic"), 5);
    assert_eq!(count("?state=failed"), 0);
    assert_eq!(count("?protocol=other"), 0);
    assert_eq!(count("?since=2020-01-01"), 5);
    assert_eq!(count("?until=2020-01-01T00:00:00Z"), 0);
    let wrong = "/api/v1/debates?state=odd&since=soon&limit=0&cursor=x";
    let problem = serving.get(wrong).problem(422, "invalid-request");
    let at: BTreeSet<_> = problem["faults"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fault| fault["at"].as_str().unwrap())
        .collect();
    assert_eq!(at, BTreeSet::from(["cursor", "limit", "since", "state"]));
    serving
        .get("/api/v1/debates?colour=red")
        .problem(422, "invalid-request");
}

/// E-10, E-09: input and pause; the debate waits, also across a restart, and resumes after the decision.
#[test]
fn e09_e10_a_person_speaks_pauses_and_decides() {
    let model = late(Duration::from_millis(60));
    let home = Home::with(&model);
    let serving = Serving::start(&home, &[]);
    let id = serving.debate();
    Serving::until_asked(&model, "opening");
    let heard = serving.post(
        &path(&id, "/input"),
        &json!({ "text": "Costs matter most.", "by": "Ada" }),
    );
    assert_eq!((heard.status, heard.json()), (202, json!({ "number": 1 })));
    assert_eq!(serving.post(&path(&id, "/pause"), &json!({})).status, 202);
    assert_eq!(serving.get(&path(&id, "")).json()["pausing"], true);
    serving.until(&id, "waiting");
    assert_eq!(model.asked(), ["opening", "critique"]);
    let waiting = serving.get(&path(&id, "")).json();
    assert_eq!(
        waiting["waiting_for"]["options"],
        json!(["continue", "stop"])
    );
    serving
        .post(&path(&id, "/decision"), &json!({ "choice": "perhaps" }))
        .problem(422, "invalid-request");
    // Input is accepted while the debate waits.
    let heard = serving.post(&path(&id, "/input"), &json!({ "text": "And the people." }));
    assert_eq!(heard.json(), json!({ "number": 2 }));
    serving.terminate();

    let serving = Serving::start(&home, &[]);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(
        serving.state(&id),
        "waiting",
        "a restarted server resumed it"
    );
    let decided = serving.post(
        &path(&id, "/decision"),
        &json!({ "choice": "continue", "by": "Ada", "note": "go" }),
    );
    assert_eq!(decided.status, 202, "{}", decided.text());
    serving.until(&id, "complete");
    assert_eq!(model.asked().len(), 8, "a call was repeated");
    let revision = model.heard()[2].to_string();
    assert!(revision.contains("Costs matter most.") && revision.contains("And the people."));
    let opening = model.heard()[0].to_string();
    assert!(!opening.contains("Costs matter most."));
    let names: Vec<String> = serving
        .events(&id, &[])
        .all()
        .into_iter()
        .map(|event| event.name)
        .collect();
    for name in ["user_input", "decision_needed", "decision"] {
        assert!(
            names.iter().any(|own| own == name),
            "{name} is missing in {names:?}"
        );
    }
    // No command is accepted after the end.
    serving
        .post(&path(&id, "/input"), &json!({ "text": "Late." }))
        .problem(409, "wrong-state");
    serving
        .post(&path(&id, "/decision"), &json!({ "choice": "stop" }))
        .problem(409, "wrong-state");
    serving
        .post(&path(&id, "/pause"), &json!({}))
        .problem(409, "wrong-state");
    serving
        .post(&path(&id, "/cancel"), &json!({}))
        .problem(409, "wrong-state");
    serving
        .post(&path(&id, "/resume"), &json!({}))
        .problem(409, "wrong-state");
}

/// A running debate is cancelled and resumed; finished calls are not repeated.
#[test]
fn c08_a_debate_is_cancelled_and_resumed() {
    let gate = Gate::default();
    let held = gate.clone();
    // The first revision is in flight until the end of the test.
    let model = Server::start(move |request, before| {
        if schema_name(request) == "revision" && before == 0 {
            Answer::Gated(held.clone(), good(request, before))
        } else {
            Answer::Reply(good(request, before))
        }
    });
    let home = Home::with(&model);
    let serving = Serving::start(&home, &[]);
    let id = serving.debate();
    Serving::until_asked(&model, "revision");
    serving
        .send("DELETE", &path(&id, ""), &[], b"")
        .problem(409, "wrong-state");
    serving
        .post(&path(&id, "/rating"), &json!({ "rating": 5 }))
        .problem(409, "running-elsewhere");
    let cancelled = serving.post(&path(&id, "/cancel"), &json!({}));
    assert_eq!(
        (cancelled.status, &cancelled.json()["state"]),
        (202, &json!("cancelled"))
    );
    assert_eq!(serving.state(&id), "cancelled");
    let resumed = serving.send("POST", &path(&id, "/resume"), &[], b"");
    assert_eq!(resumed.status, 202, "{}", resumed.text());
    serving.until(&id, "complete");
    // The revision was in flight when the debate was cancelled, and is repeated.
    assert_eq!(model.asked().len(), 9);
    gate.open();
}

/// An exhausted budget ends a debate with a partial result; a larger budget resumes it.
#[test]
fn c07_a_debate_out_of_budget_resumes_with_a_larger_one() {
    let home = Home::with(&Server::good());
    let serving = Serving::start(&home, &[]);
    let body = json!({ "question": QUESTION, "model": "lab:x", "budget": { "max_tokens": 1300 } });
    let reply = serving.post_with("/api/v1/debates", &body, &[("prefer", "wait=20")]);
    let shown = reply.json();
    assert_eq!(
        (&shown["state"], &shown["record"]["result"]["stop_reason"]),
        (&json!("partial"), &json!("budget"))
    );
    let id = shown["id"].as_str().unwrap();
    // An empty budget lifts no limit.
    for body in [json!({}), json!({ "budget": {} })] {
        let refused = serving.post(&path(id, "/resume"), &body);
        refused.problem(409, "wrong-state");
        let text = refused.text();
        assert!(text.contains("the limit of 1,300 tokens"), "{text}");
        assert!(text.contains("max_tokens"), "{text}");
    }
    let more = json!({ "budget": { "max_tokens": 1_000_000 } });
    assert_eq!(serving.post(&path(id, "/resume"), &more).status, 202);
    serving.until(id, "complete");
}

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

/// Unknown paths, wrong methods, oversized bodies, invalid JSON and invalid values all get problem documents.
#[test]
fn every_error_is_a_problem_document() {
    let home = Home::with(&Server::good());
    let serving = Serving::start(&home, &[]);
    serving.get("/nothing").problem(404, "not-found");
    serving.get("/api/v1/debates/xyz").problem(404, "not-found");
    serving.get("/api/v1/debates/%ff").problem(400, "malformed");
    let twice = "/api/v1/debates/00000000-0000-4000-8000-000000000000/events?after=1&after=2";
    serving.get(twice).problem(400, "malformed");
    let unknown = path("00000000-0000-4000-8000-000000000000", "");
    serving.get(&unknown).problem(404, "not-found");
    serving
        .get(&format!("{unknown}/events"))
        .problem(404, "not-found");
    serving
        .post(&format!("{unknown}/cancel"), &json!({}))
        .problem(404, "not-found");
    let put = serving.send("PUT", "/api/v1/debates", &[], b"");
    put.problem(405, "method");
    assert!(put.header("allow").unwrap().contains("POST"));

    let post = |headers: &[(&str, &str)], body: &[u8]| {
        serving.send("POST", "/api/v1/debates", headers, body)
    };
    let json_type = ("content-type", "application/json");
    post(&[], b"{}").problem(415, "not-json");
    post(&[("content-type", "text/plain")], b"{}").problem(415, "not-json");
    post(&[json_type], b"{").problem(400, "malformed");
    post(&[json_type], b"").problem(400, "malformed");
    post(&[json_type], b"\xff\xfe").problem(400, "malformed");
    let huge = vec![b' '; 2_000_000];
    post(&[json_type], &huge).problem(413, "too-large");
    post(
        &[json_type, ("transfer-encoding", "chunked")],
        &chunked(&huge),
    )
    .problem(413, "too-large");

    let wrong = json!({ "protocol": "chess", "question": 1, "seats": [], "extra": 1 });
    let problem = serving
        .post("/api/v1/debates", &wrong)
        .problem(422, "invalid-request");
    assert_eq!(problem["faults"].as_array().unwrap().len(), 4, "{problem}");
    let start = |body: Value| {
        serving
            .post("/api/v1/debates", &body)
            .problem(422, "invalid-request")
    };
    start(json!({ "question": "  " }));
    start(json!({ "question": "Why?", "model": "nobody:x" }));
    start(json!({ "question": "Why?", "cast": "nobody" }));
    let both = start(
        json!({ "question": "Why?", "model": "lab:x", "seats": { "critic": "lab:x", "skeptic": "nobody:y" } }),
    );
    assert_eq!(both["faults"].as_array().unwrap().len(), 2, "{both}");
    let rules = start(
        json!({ "question": "Why?", "model": "lab:x", "rules": { "min_rounds": "many", "early_stop_score": 300, "speed": 1 } }),
    );
    assert_eq!(rules["faults"].as_array().unwrap().len(), 3, "{rules}");
    start(json!({ "question": "word ".repeat(60_000), "model": "lab:x" }));
    start(json!({ "question": "Why?", "model": "lab:x", "budget": { "max_cost": 0.5 } }));

    let id = serving.debate();
    serving.until(&id, "complete");
    let of = |rest: &str, body: Value| {
        serving
            .post(&path(&id, rest), &body)
            .problem(422, "invalid-request")
    };
    of("/rating", json!({ "rating": 11 }));
    of("/rating", json!({ "rating": 0 }));
    of("/input", json!({ "text": "" }));
    of("/input", json!({}));
    of("/decision", json!({ "choice": "" }));
    of("/resume", json!({ "budget": { "max_seconds": -1 } }));
    serving
        .get(&path(&id, "/export?format=pdf"))
        .problem(422, "invalid-request");
}

fn chunked(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for part in body.chunks(60_000) {
        out.extend(format!("{:x}\r\n", part.len()).bytes());
        out.extend(part);
        out.extend(b"\r\n");
    }
    out.extend(b"0\r\n\r\n");
    out
}

#[test]
fn c04_without_a_model_the_api_says_how_to_get_one() {
    let home = Home::empty();
    let serving = Serving::start(&home, &[]);
    let reply = serving.post("/api/v1/debates", &json!({ "question": "Why?" }));
    let problem = reply.problem(503, "no-model");
    // With the embedded model built in, the message is about its download and still names the key.
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("ANTHROPIC_API_KEY"), "{detail}");
}

/// Compression would buffer events.
#[test]
fn responses_are_compressed_and_event_streams_are_not() {
    let home = Home::with(&Server::good());
    let serving = Serving::start(&home, &[]);
    let id = serving.debate();
    serving.until(&id, "complete");
    let gzip = [("accept-encoding", "gzip")];
    let compressed = serving.send("GET", &path(&id, ""), &gzip, b"");
    assert_eq!(compressed.header("content-encoding"), Some("gzip"));
    assert_eq!(compressed.body[..2], [0x1f, 0x8b]);
    assert!(compressed.body.len() < serving.get(&path(&id, "")).body.len() / 2);
    let events = serving.events(&id, &gzip);
    assert!(
        events
            .headers
            .iter()
            .all(|(name, _)| name != "content-encoding")
    );
    assert!(events.count() > 10);
}

#[test]
fn health_readiness_and_the_openapi_document_are_served() {
    let home = Home::with(&Server::good());
    let serving = Serving::start(&home, &[]);
    assert_eq!(serving.get("/healthz").json()["status"], "ok");
    assert_eq!(serving.get("/readyz").json()["status"], "ready");
    let document = serving.get("/api/openapi.json").json();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let page = serving.get("/api/docs");
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    let text = page.text();
    for (path, _) in document["paths"].as_object().unwrap() {
        assert!(
            text.contains(path.as_str()),
            "{path} is missing on the page"
        );
    }
    assert!(!text.contains("<script") && !text.contains("http://") && !text.contains("https://"));
    assert_eq!(serving.get("/api/docs.css").status, 200);
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

/// M-15: a request may contain sources, but only for protocol `modes`.
#[test]
fn m15_a_request_may_contain_sources() {
    let server =
        Server::start(|request, _| Answer::Reply(crate::debate::reply(request).to_string()));
    let home = Home::with(&server);
    let serving = Serving::start(&home, &[]);
    let body = |protocol: &str, sources: Value| {
        let rules = if protocol == "modes" {
            json!({ "seats": 3 })
        } else {
            json!({})
        };
        json!({ "protocol": protocol, "question": QUESTION, "model": "lab:x", "rules": rules, "sources": sources })
    };
    let notes = json!([{ "name": "notes.md", "text": "The queue was empty all year." }]);
    let reply = serving.post("/api/v1/debates", &body("modes", notes.clone()));
    assert_eq!(reply.status, 202, "{}", reply.text());
    let id = reply.json()["id"].as_str().unwrap().to_owned();
    serving.until(&id, "complete");
    let record = &serving.get(&path(&id, "")).json()["record"];
    assert_eq!(record["sources"][0]["name"], "notes.md");
    let first = server
        .heard()
        .into_iter()
        .find(|request| schema_name(request) == "contribution")
        .unwrap();
    assert!(
        first["messages"][1]["content"]
            .as_str()
            .unwrap()
            .contains("The queue was empty all year.")
    );

    serving
        .post("/api/v1/debates", &body("dialectic", notes))
        .problem(422, "invalid-request");
    let bad = json!([{ "name": "a.md", "text": "  " }, { "name": "b.bin", "text": "\u{0}" }]);
    let problem = serving
        .post("/api/v1/debates", &body("modes", bad))
        .problem(422, "invalid-request");
    assert_eq!(problem["faults"].as_array().unwrap().len(), 2, "{problem}");
}

/// E-21: the OpenAPI document describes every rule of every protocol, including those of enhanced debates.
#[test]
fn e21_the_openapi_document_describes_every_rule() {
    let home = Home::with(&Server::good());
    let serving = Serving::start(&home, &[]);
    let document = serving.get("/api/openapi.json").json();
    let schemas = &document["components"]["schemas"];
    let inputs = &schemas["NewDebate"]["properties"]["rules"]["anyOf"];
    let rules_of = |protocol: &str| {
        let mut inputs = inputs.as_array().unwrap().iter();
        let input = inputs.find(|input| input["title"] == protocol).unwrap();
        let name = input["$ref"].as_str().unwrap().rsplit('/').next().unwrap();
        schemas[name]["properties"].as_object().unwrap()
    };
    let modes = rules_of("modes");
    assert_eq!(
        [&modes["enhanced"]["type"], &modes["domain"]["type"]],
        [&json!(["boolean", "null"]), &json!(["string", "null"])]
    );
    assert_eq!(
        modes["algorithm"]["examples"],
        json!([
            "democratic_majority",
            "evidence_based_debate",
            "security_first_veto"
        ])
    );
    // Every rule that a protocol lists in its error message is in the document.
    for protocol in ["dialectic", "councils", "forecast", "modes"] {
        let rules = rules_of(protocol);
        for (name, rule) in rules {
            assert!(rule["description"].is_string(), "{name} has no description");
        }
        let wrong = json!({ "protocol": protocol, "question": QUESTION, "model": "lab:x", "rules": { "colour": 1 } });
        let problem = serving
            .post("/api/v1/debates", &wrong)
            .problem(422, "invalid-request");
        let faults = problem["faults"].as_array().unwrap();
        let fault = faults
            .iter()
            .find(|fault| fault["at"] == "/rules/colour")
            .unwrap();
        let (_, listed) = fault["message"]
            .as_str()
            .unwrap()
            .split_once("it has ")
            .unwrap();
        for name in listed.split(", ") {
            assert!(
                rules.contains_key(name),
                "rule '{name}' of {protocol} is missing in the document"
            );
        }
    }
}

/// E-21, E-15: an enhanced debate is started over the API; an invalid rule is reported with its valid values.
#[test]
fn e21_an_enhanced_debate_is_started_over_the_api() {
    let server = Server::start(|request, _| {
        crate::enhanced::answer(
            request,
            crate::enhanced::converging,
            |_, _| json!([{ "of": "N1", "evidence": [{ "type": "EMPIRICAL", "source": "[1]" }], "confidence": 0.9 }]),
        )
    });
    let home = crate::enhanced::measured(&server);
    let serving = Serving::start(&home, &[]);
    let body = |rules: Value| json!({ "protocol": "modes", "question": QUESTION, "model": "lab:x", "rules": rules });
    for (rules, at, expected) in [
        (
            json!({ "enhanced": "yes" }),
            "/rules/enhanced",
            "\"yes\" is not of type \"boolean\"",
        ),
        (
            json!({ "algorithm": "evidence_based_debat" }),
            "/rules/algorithm",
            "did you mean 'evidence_based_debate'?",
        ),
        (
            json!({ "algorithm": "oracle" }),
            "/rules/algorithm",
            "democratic_majority, evidence_based_debate, security_first_veto",
        ),
        (
            json!({ "algorithm": true }),
            "/rules/algorithm",
            "true is not of type \"string\"",
        ),
        (
            json!({ "enhanced": true, "domain": "" }),
            "/rules/domain",
            "a domain needs a name",
        ),
        (
            json!({ "enhanced": true, "domain": " " }),
            "/rules/domain",
            "a domain needs a name",
        ),
        (
            json!({ "enhanced": true, "domain": "x".repeat(81) }),
            "/rules/domain",
            "the name of a domain has 81 characters; the limit is 80",
        ),
        (
            json!({ "enhanced": true, "domain": 7 }),
            "/rules/domain",
            "7 is not of type \"string\"",
        ),
        (
            json!({ "domain": "api design" }),
            "/rules/domain",
            "set 'enhanced' too",
        ),
        (
            json!({ "enhanced": false, "domain": "api design" }),
            "/rules/domain",
            "set 'enhanced' too",
        ),
        (
            json!({ "enhanced": false, "algorithm": "security_first_veto" }),
            "/rules/algorithm",
            "'enhanced' is false",
        ),
    ] {
        let problem = serving
            .post("/api/v1/debates", &body(rules.clone()))
            .problem(422, "invalid-request");
        let faults = problem["faults"].as_array().unwrap();
        let fault = faults.iter().find(|fault| fault["at"] == at);
        let message = fault
            .and_then(|fault| fault["message"].as_str())
            .unwrap_or_default();
        assert!(message.contains(expected), "{rules}: {problem}");
    }
    let all = serving
        .post(
            "/api/v1/debates",
            &body(json!({ "enhanced": 1, "algorithm": 1, "domain": 1 })),
        )
        .problem(422, "invalid-request");
    assert_eq!(all["faults"].as_array().unwrap().len(), 3, "{all}");
    let rules = json!({ "enhanced": true, "algorithm": "evidence_based_debate", "domain": "API design", "seats": 3 });
    let reply = serving.post("/api/v1/debates", &body(rules));
    assert_eq!(reply.status, 202, "{}", reply.text());
    let id = reply.json()["id"].as_str().unwrap().to_owned();
    serving.until(&id, "complete");
    let record = serving.get(&path(&id, "")).json()["record"].clone();
    assert_eq!(
        record["result"]["enhanced"]["algorithm"],
        "evidence_based_debate"
    );
    assert_eq!(record["debate_record"]["domain"], "api design");
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

/// Councils judge the parts in their rules; a question next to them is not needed. Without either there is nothing to judge.
#[test]
fn councils_need_no_question_if_they_have_parts() {
    let model = crate::harness::council_server(|_| 60.0);
    let home = Home::with(&model);
    let serving = Serving::start(&home, &[]);
    let part = json!({ "kind": "text", "name": "post.md", "text": "A short post about queues." });
    let body = json!({ "protocol": "councils", "model": "lab:x", "rules": { "mode": "fast", "parts": [part] } });
    let reply = serving.post("/api/v1/debates", &body);
    assert_eq!(reply.status, 202, "{}", reply.text());
    let id = reply.json()["id"].as_str().unwrap().to_owned();
    serving.until(&id, "complete");

    for protocol in ["councils", "dialectic", "panel", "modes", "forecast"] {
        let mut body = json!({ "protocol": protocol, "model": "lab:x" });
        if protocol == "forecast" {
            body["rules"] = json!({ "outcomes": ["Yes", "No"] });
        }
        let reply = serving.post("/api/v1/debates", &body);
        let problem = reply.problem(422, "invalid-request");
        assert_eq!(problem["faults"][0]["at"], "/question", "{protocol}");
    }
}

/// Faults of a forecast point at the rules of the request, and their messages do not repeat the pointer. A rule of another
/// protocol is refused with the nearest known rule.
#[test]
fn faults_point_at_the_rules_of_the_request() {
    let home = Home::with(&Server::good());
    let serving = Serving::start(&home, &[]);
    let faults = |protocol: &str, rules: Value| {
        let body =
            json!({ "question": QUESTION, "protocol": protocol, "model": "lab:x", "rules": rules });
        let problem = serving.post("/api/v1/debates", &body);
        problem.problem(422, "invalid-request")["faults"].clone()
    };
    assert_eq!(
        faults(
            "forecast",
            json!({ "outcomes": ["Yes", "No"], "rounds": 11 })
        ),
        json!([{ "at": "/rules/rounds", "message": "rounds must be a whole number from 1 to 10" }])
    );
    assert_eq!(
        faults("dialectic", json!({ "min_round": 3 })),
        json!([{
            "at": "/rules/min_round",
            "message": "dialectic has no rule 'min_round'; did you mean 'min_rounds'?"
        }])
    );
}

/// Empty filters, malformed keys and whole numbers with a decimal point.
#[test]
fn filters_keys_and_numbers_are_read_as_documented() {
    let home = Home::with(&Server::good());
    let serving = Serving::start(&home, &[]);
    for query in ["state=", "since=", "until="] {
        let reply = serving.get(&format!("/api/v1/debates?{query}"));
        reply.problem(422, "invalid-request");
    }
    let body = json!({ "question": QUESTION, "model": "lab:x" }).to_string();
    let long = "k".repeat(256);
    for key in ["a b", "a\tb", long.as_str()] {
        let headers = [
            ("content-type", "application/json"),
            ("idempotency-key", key),
        ];
        let reply = serving.send("POST", "/api/v1/debates", &headers, body.as_bytes());
        reply.problem(422, "invalid-request");
    }
    let id = serving.debate();
    serving.until(&id, "complete");
    let rated = serving.post(&path(&id, "/rating"), &json!({ "rating": 1.0 }));
    assert_eq!(rated.status, 204, "{}", rated.text());
}

/// A search is limited to 200 characters, on the API and on the page.
#[test]
fn c14_a_long_search_is_refused() {
    let home = Home::with(&Server::good());
    let serving = Serving::start(&home, &[]);
    let (most, more) = ("a".repeat(200), "a".repeat(201));
    for path in ["/api/v1/debates?search=", "/debates?q="] {
        assert_eq!(serving.get(&format!("{path}{most}")).status, 200);
        for text in [&more, &"a".repeat(10_000)] {
            let refused = serving.get(&format!("{path}{text}"));
            assert_eq!(refused.status, 422, "{}", refused.text());
            assert!(refused.text().contains("limited to 200 characters"));
        }
    }
    let refused = serving.get(&format!("/api/v1/debates?search={more}"));
    let problem = refused.problem(422, "invalid-request");
    assert_eq!(problem["faults"][0]["at"], "search");
    home.run(&["list", "--search", &more])
        .expect(2, &["limited to 200 characters"]);
}

/// E-10: the forms of the page have the limits of the API.
#[test]
fn e10_forms_have_the_limits_of_the_api() {
    let model = late(Duration::from_millis(60));
    let home = Home::with(&model);
    let serving = Serving::start(&home, &[]);
    let id = serving.debate();
    Serving::until_asked(&model, "opening");
    assert_eq!(serving.post(&path(&id, "/pause"), &json!({})).status, 202);
    serving.until(&id, "waiting");
    let submit = |what: &str, fields: &str| {
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        let path = format!("/debates/{id}/{what}");
        serving
            .send("POST", &path, &headers, fields.as_bytes())
            .status
    };
    let (most, more) = ("a".repeat(20_000), "a".repeat(20_001));
    assert_eq!(submit("say", &format!("text={more}")), 422);
    assert_eq!(submit("say", &format!("text={most}")), 303);
    assert_eq!(submit("rating", &format!("rating=7&comment={more}")), 422);
    assert_eq!(submit("rating", &format!("rating=7&comment={most}")), 303);
    assert_eq!(
        submit("decision", &format!("choice=continue&note={more}")),
        422
    );
    assert_eq!(
        submit("decision", &format!("choice=continue&note={most}")),
        303
    );
    serving.until(&id, "complete");
}
