//! MCP over HTTP: tokens, origins, waiting debates and lost clients.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::mcp::{initialize, stateless};
use crate::harness::{Gate, Home, Server, Serving};
use crate::mcp::{VERSION, content, error, gated_models, models, question, text};

#[test]
fn b02_a_server_offers_the_same_over_http() {
    let server = models();
    let home = Home::with_model(&server);
    let serving = Serving::start(&home, &[]);
    let message =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize(VERSION) });
    let opened = serving.mcp(&message, &[]);
    assert_eq!(opened.status, 200);
    assert!(opened.header("mcp-session-id").is_some());
    let answer = serving.mcp_call("panel", &question());
    assert_eq!(content(&answer["result"])["state"], "complete");
    let id = content(&answer["result"])["id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(serving.state(&id), "complete");
}

/// A tool call of the newest version over HTTP.
fn modern_call(serving: &Serving, params: &Value) -> Value {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let name = params["name"].as_str().unwrap();
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", name),
    ];
    let reply = serving.send("POST", "/mcp", &headers, message.to_string().as_bytes());
    let text = String::from_utf8(reply.body).unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let messages = data.filter_map(|data| serde_json::from_str::<Value>(data).ok());
    let mut responses = messages.filter(|message| message["id"] == 1);
    responses
        .next()
        .unwrap_or_else(|| panic!("no response in: {text}"))
}

/// Pauses the only debate once it runs, and lets its models answer.
fn pause(serving: &Serving, server: &Server, gate: &Gate) {
    while server.count() == 0 {
        thread::sleep(Duration::from_millis(10));
    }
    let listed = serving.get("/api/v1/debates").json();
    let id = listed["debates"][0]["id"].as_str().unwrap().to_owned();
    let paused = serving.post(&format!("/api/v1/debates/{id}/pause"), &json!({}));
    assert_eq!(paused.status, 202);
    gate.open();
}

#[test]
fn b02_a_debate_that_waits_asks_the_user_if_the_client_can() {
    let (server, gate) = gated_models();
    let home = Home::with_model(&server);
    let serving = Serving::start(&home, &[]);
    let meta = stateless(&json!({ "elicitation": {} }));
    let params = json!({ "name": "ask", "arguments": question(), "_meta": meta });
    let answer = thread::scope(|scope| {
        let calling = scope.spawn(|| modern_call(&serving, &params));
        pause(&serving, &server, &gate);
        calling.join().unwrap()
    });
    let result = &answer["result"];
    assert_eq!(result["resultType"], "input_required", "{answer}");
    let request = &result["inputRequests"]["decision"]["params"];
    let options = request["requestedSchema"]["properties"]["choice"]["enum"].clone();
    assert_eq!(options, json!(["continue", "stop"]), "{request}");
    let mut again = params.clone();
    again["requestState"] = result["requestState"].clone();
    again["inputResponses"] = json!({
        "decision": { "action": "accept", "content": { "choice": "continue" } },
    });
    let answer = modern_call(&serving, &again);
    assert_eq!(content(&answer["result"])["state"], "complete", "{answer}");
}

#[test]
fn b02_a_debate_that_waits_says_how_to_decide() {
    let (server, gate) = gated_models();
    let home = Home::with_model(&server);
    let serving = Serving::start(&home, &[]);
    let answer = thread::scope(|scope| {
        let calling = scope.spawn(|| serving.mcp_call("ask", &question()));
        pause(&serving, &server, &gate);
        calling.join().unwrap()
    });
    let outcome = content(&answer["result"]);
    assert_eq!(outcome["state"], "waiting", "{answer}");
    assert_eq!(outcome["decision"]["options"], json!(["continue", "stop"]));
    let said = text(&answer["result"]);
    assert!(
        said.contains("waits for a person to decide") && said.contains("\"decide\""),
        "{said}"
    );
    let wrong = json!({ "id": outcome["id"], "action": "decide", "text": "perhaps" });
    let refused = serving.mcp_call("debates", &wrong);
    assert!(error(&refused["result"]).contains("continue"), "{refused}");
    let decided = serving.mcp_call("debates", &outcome["next"]["arguments"]);
    assert_eq!(
        content(&decided["result"])["state"],
        "complete",
        "{decided}"
    );
}

#[test]
fn b02_http_needs_a_token_with_the_right_scope() {
    let server = models();
    let home = Home::with_model(&server);
    let reader = home
        .run(&["token", "add", "reader", "--scope", "read"])
        .out
        .trim()
        .to_owned();
    let runner = home
        .run(&["token", "add", "runner", "--scope", "run"])
        .out
        .trim()
        .to_owned();
    let short = home
        .run(&["token", "add", "short", "--expires", "2s"])
        .out
        .trim()
        .to_owned();
    let mut serving = Serving::start(&home, &[]);
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    let refused = serving.mcp(&list, &[]);
    assert_eq!(refused.status, 401);
    assert!(refused.header("www-authenticate").is_some());
    assert_eq!(serving.get("/mcp").status, 401);
    thread::sleep(Duration::from_secs(3));
    let expired = format!("Bearer {short}");
    assert_eq!(
        serving.mcp(&list, &[("authorization", &expired)]).status,
        401
    );
    serving.token = Some(reader);
    assert_eq!(serving.mcp(&list, &[]).status, 200);
    let refused = serving.mcp_call("panel", &question());
    assert!(
        error(&refused["result"]).contains("requires a token with scope 'run'"),
        "{refused}"
    );
    serving.token = Some(runner);
    let answer = serving.mcp_call("panel", &question());
    assert_eq!(content(&answer["result"])["state"], "complete");
    let foreign = serving.mcp(&list, &[("origin", "https://evil.example")]);
    assert_eq!(foreign.status, 403);
    assert_eq!(serving.get("/mcp").status, 405);
}

#[test]
fn b02_an_id_is_no_capability() {
    let server = models();
    let home = Home::with_model(&server);
    let add = |name| {
        home.run(&["token", "add", name, "--own"])
            .out
            .trim()
            .to_owned()
    };
    let (ada, eve) = (add("ada"), add("eve"));
    let mut serving = Serving::start(&home, &[]);
    serving.token = Some(ada);
    let answer = serving.mcp_call("panel", &question());
    let id = content(&answer["result"])["id"]
        .as_str()
        .unwrap()
        .to_owned();
    serving.token = Some(eve);
    for wanted in [id.as_str(), &id[..8]] {
        for action in ["wait", "resume", "stop", "follow_up"] {
            let arguments = json!({ "id": wanted, "action": action, "text": "x" });
            let foreign = serving.mcp_call("debates", &arguments);
            assert!(
                error(&foreign["result"]).contains("there is no debate"),
                "{foreign}"
            );
        }
    }
    let last = serving.mcp_call("debates", &json!({}));
    assert!(
        error(&last["result"]).contains("there is no debate yet"),
        "{last}"
    );
    let found = serving.mcp_call("debates", &json!({ "action": "search" }));
    assert!(
        content(&found["result"]).get("debates").is_none(),
        "{found}"
    );
    let read = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read",
        "params": { "uri": format!("roundtable://debates/{id}") } });
    let text = String::from_utf8(serving.mcp(&read, &[]).body).unwrap();
    assert!(text.contains("there is no debate"), "{text}");
    // Her own request is a debate of her own.
    let own = serving.mcp_call("panel", &question());
    assert_ne!(content(&own["result"])["id"], *id);
}

#[test]
fn b02_a_cancelled_or_lost_http_call_stops_its_debate() {
    for is_cancelled in [true, false] {
        let (server, gate) = gated_models();
        let home = Home::with_model(&server);
        let serving = Serving::start(&home, &[]);
        let params = json!({ "name": "ask", "arguments": question() });
        let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params });
        let headers = [
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-session-id", "a-session"),
        ];
        let body = call.to_string();
        let stream = serving
            .open("POST", "/mcp", &headers, body.as_bytes())
            .unwrap();
        while server.count() == 0 {
            thread::sleep(Duration::from_millis(10));
        }
        let id = home.list()[0]["id"].as_str().unwrap().to_owned();
        if is_cancelled {
            let params = json!({ "requestId": 7 });
            let cancel =
                json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
            // A session of another client does not stop it.
            assert_eq!(
                serving
                    .mcp(&cancel, &[("mcp-session-id", "another")])
                    .status,
                202
            );
            thread::sleep(Duration::from_millis(200));
            assert_eq!(serving.state(&id), "running");
            assert_eq!(
                serving
                    .mcp(&cancel, &[("mcp-session-id", "a-session")])
                    .status,
                202
            );
        } else {
            drop(stream);
        }
        thread::sleep(Duration::from_millis(500));
        gate.open();
        serving.until(&id, "interrupted");
        assert_eq!(server.count(), 1);
    }
}

#[test]
fn b02_invalid_http_requests_are_refused() {
    let home = Home::empty();
    let serving = Serving::start(&home, &[]);
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    for body in [
        "{ not json",
        "[]",
        "7",
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
    ] {
        let reply = serving.send("POST", "/mcp", &headers, body.as_bytes());
        assert!(
            (400..500).contains(&reply.status),
            "{body}: {}",
            reply.status
        );
    }
    let large = format!("{{\"x\": \"{}\"}}", "x".repeat(20_000_000));
    let reply = serving.try_send("POST", "/mcp", &headers, large.as_bytes());
    assert!(reply.is_err() || reply.is_ok_and(|reply| reply.status == 413));
    assert_eq!(
        serving.mcp_call("debates", &json!({}))["result"]["isError"],
        true
    );
}
