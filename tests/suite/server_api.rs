//! The life of a debate over the REST API.

#![cfg(unix)]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Answer, Gate, Home, QUESTION, Server, Serving, good, schema_name};

pub(crate) fn path(id: &str, rest: &str) -> String {
    format!("/api/v1/debates/{id}{rest}")
}

/// A model server that delays every reply.
pub(crate) fn late(wait: Duration) -> Server {
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

/// C-20: a link to a debate is made, listed and revoked over the API. Its secret is in one response only.
#[test]
fn c20_links_are_made_listed_and_revoked_over_the_api() {
    let home = Home::with(&Server::good());
    let serving = Serving::start(&home, &[]);
    let id = serving.debate();
    serving.until(&id, "complete");
    let shares = path(&id, "/shares");
    let made = serving.send("POST", &shares, &[], b"");
    assert_eq!(made.status, 201, "{}", made.text());
    assert_eq!(made.header("cache-control"), Some("no-store"));
    let made = made.json();
    let link = made["link"].as_str().unwrap();
    let (_, secret) = link.split_once(&serving.address).unwrap();
    assert!(secret.starts_with("/shared/rtshare_"), "{link}");
    let page = serving.get(secret);
    assert_eq!(page.status, 200);
    assert!(page.text().contains(QUESTION));

    let endless = serving.post(&shares, &json!({ "days": null })).json();
    assert_eq!(endless["expires_at"], Value::Null);
    let listed = serving.get(&shares);
    assert!(!listed.text().contains("rtshare_"), "{}", listed.text());
    let listed = listed.json();
    let ids: BTreeSet<&str> = listed["shares"]
        .as_array()
        .unwrap()
        .iter()
        .map(|share| share["id"].as_str().unwrap())
        .collect();
    let of = |share: &Value| share["id"].as_str().unwrap().to_owned();
    assert_eq!(
        ids,
        BTreeSet::from([of(&made).as_str(), of(&endless).as_str()])
    );
    for wrong in [
        json!({ "days": 0 }),
        json!({ "days": 9999 }),
        json!({ "days": "x" }),
        json!({ "day": 1 }),
    ] {
        assert_eq!(serving.post(&shares, &wrong).status, 422, "{wrong}");
    }

    let other = serving.debate();
    let revoke = |debate: &str, share: &str| {
        serving.send(
            "DELETE",
            &path(debate, &format!("/shares/{share}")),
            &[],
            b"",
        )
    };
    assert_eq!(revoke(&other, &of(&made)).status, 404);
    assert_eq!(revoke(&id, &of(&made)).status, 204);
    assert_eq!(revoke(&id, &of(&made)).status, 404);
    assert_eq!(revoke(&id, "nonsense").status, 404);
    assert_eq!(serving.get(secret).status, 404);
    let log = serving.get("/api/v1/audit").text();
    assert!(log.contains("share-added") && log.contains("share-revoked"));
    assert!(!log.contains("rtshare_"), "{log}");
}
