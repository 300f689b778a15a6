//! Requests to the REST API and its error responses.

#![cfg(unix)]

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Answer, Home, QUESTION, Server, Serving, schema_name};
use crate::server_api::{late, path};

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
