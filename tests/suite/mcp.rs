//! The MCP server: `roundtable mcp` on standard input, and `/mcp` of a server, with raw JSON-RPC (B-02).

#![cfg(unix)]

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::mcp::{McpProcess, initialize, stateless};
use crate::harness::{Answer, Gate, Home, QUESTION, Server, Serving, schema_name};

pub(crate) const VERSION: &str = "2025-06-18";

/// A valid reply to a request of any protocol. The panel agrees.
pub(crate) fn reply(request: &Value) -> String {
    if schema_name(request).starts_with("panel_") {
        return crate::panel::reply(request, ["Use a queue"; 4]);
    }
    crate::all_protocols::reply(request)
}

pub(crate) fn models() -> Server {
    Server::start(|request, _| Answer::AtOnce(reply(request)))
}

/// Answers after this time.
pub(crate) fn slow_models(time: Duration) -> Server {
    Server::start(move |request, _| Answer::Late(time, reply(request)))
}

/// Answers when the gate is open.
pub(crate) fn gated_models() -> (Server, Gate) {
    let gate = Gate::default();
    let held = gate.clone();
    let server = Server::start(move |request, _| Answer::Gated(held.clone(), reply(request)));
    (server, gate)
}

pub(crate) fn client(home: &Home) -> McpProcess {
    McpProcess::initialized(home, &[], VERSION)
}

pub(crate) fn question() -> Value {
    json!({ "question": QUESTION })
}

/// The structured content of a result.
#[track_caller]
pub(crate) fn content(result: &Value) -> &Value {
    assert_ne!(result["isError"], true, "{result}");
    &result["structuredContent"]
}

pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

#[track_caller]
pub(crate) fn error(result: &Value) -> &str {
    assert_eq!(result["isError"], true, "{result}");
    text(result)
}

/// Waits until the debate is in this state.
#[track_caller]
pub(crate) fn until(home: &Home, id: &str, state: &str) {
    let started = Instant::now();
    loop {
        let debates = home.list();
        let found = debates.iter().find(|debate| debate["id"] == id);
        let now = found.map_or(&Value::Null, |debate| &debate["state"]);
        if now == state {
            return;
        }
        assert!(
            started.elapsed() < Duration::from_secs(30),
            "debate is {now}, expected {state}"
        );
        thread::sleep(Duration::from_millis(30));
    }
}

#[test]
fn b02_six_short_tools_say_when_to_use_them() {
    let home = Home::empty();
    let mut client = McpProcess::start(&home, &[]);
    let answer = client.request("initialize", initialize(VERSION));
    let instructions = answer["result"]["instructions"].as_str().unwrap();
    assert!(instructions.chars().count() <= 500, "{instructions}");
    assert_eq!(answer["result"]["serverInfo"]["name"], "roundtable");
    let tools = client.request("tools/list", json!({}))["result"]["tools"].clone();
    let names: Vec<_> = tools
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| &tool["name"])
        .collect();
    assert_eq!(
        names,
        ["ask", "panel", "debate", "forecast", "judge", "debates"]
    );
    for tool in tools.as_array().unwrap() {
        let description = tool["description"].as_str().unwrap();
        assert!(description.chars().count() < 320, "{description}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false);
        assert_eq!(tool["outputSchema"]["type"], "object");
    }
    insta::assert_json_snapshot!("tools", tools);
    let (code, _) = client.close();
    assert_eq!(code, 0);
}

#[test]
fn b02_every_tool_returns_its_result() {
    let server = models();
    let home = Home::with_model(&server);
    let mut client = client(&home);
    let calls = [
        ("ask", json!({ "question": QUESTION, "depth": "deep" })),
        ("panel", question()),
        (
            "debate",
            json!({ "question": QUESTION, "mode": "adversarial", "depth": "quick" }),
        ),
        (
            "forecast",
            json!({ "question": "Will it open?", "outcomes": ["Yes", "No"] }),
        ),
        (
            "judge",
            json!({ "content": "A text about queues.", "cast": "rfc", "depth": "quick" }),
        ),
    ];
    for (tool, arguments) in calls {
        let result = client.call(tool, arguments);
        let outcome = content(&result);
        assert_eq!(outcome["state"], "complete", "{tool}: {result}");
        assert!(outcome["answer"].is_string(), "{tool}: {result}");
        let id = outcome["id"].as_str().unwrap();
        assert!(outcome.get("next").is_none(), "{tool}: {result}");
        assert!(text(&result).split_whitespace().count() < 600);
        assert!(text(&result).contains(&format!("roundtable://debates/{id}")));
        let shown = client.call("debates", json!({ "id": id }));
        assert_eq!(content(&shown)["answer"], outcome["answer"]);
    }
}

#[test]
fn b02_a_call_returns_a_handle_after_its_wait_and_reports_progress_until_then() {
    let (server, gate) = gated_models();
    let home = Home::with_model(&server);
    let mut client = McpProcess::initialized(&home, &["--wait", "7"], VERSION);
    let params = json!({
        "name": "ask", "arguments": question(), "_meta": { "progressToken": "p1" },
    });
    let started = Instant::now();
    let id = client.begin("tools/call", params);
    let (answer, notices) = client.response(id);
    let took = started.elapsed();
    assert!(
        took >= Duration::from_secs(7) && took < Duration::from_secs(12),
        "{took:?}"
    );
    let outcome = content(&answer["result"]).clone();
    assert_eq!(outcome["state"], "running");
    let debate = outcome["id"].as_str().unwrap();
    let next = json!({ "tool": "debates", "arguments": { "id": debate, "action": "wait" } });
    assert_eq!(outcome["next"], next);
    assert!(text(&answer["result"]).contains(debate));
    // At the start, and every five seconds.
    let progress: Vec<_> = notices.iter().map(|notice| &notice["params"]).collect();
    assert!(progress.len() >= 2, "{progress:?}");
    assert!(
        progress
            .iter()
            .all(|one| one["progressToken"] == "p1" && one["total"] == 100.0)
    );
    assert!(progress[0]["progress"].as_f64() < progress[1]["progress"].as_f64());
    let message = progress[1]["message"].as_str().unwrap();
    assert_eq!(message, "round 1 of 3–5: proposer");
    gate.open();
    let arguments = next["arguments"].clone();
    let result = client.call("debates", arguments);
    assert_eq!(content(&result)["state"], "complete", "{result}");
}

#[test]
fn b02_the_same_request_joins_the_running_debate() {
    let (server, gate) = gated_models();
    let home = Home::with_model(&server);
    let mut client = client(&home);
    let arguments = json!({ "question": QUESTION, "wait_seconds": 0.2 });
    let first = client.call("ask", arguments.clone());
    let calls = server.count();
    let second = client.call("ask", arguments);
    assert_eq!(content(&first)["id"], content(&second)["id"]);
    assert!(text(&second).contains("joined"), "{second}");
    assert_eq!(server.count(), calls);
    // Another tool, or another question, is another debate.
    let third = client.call(
        "panel",
        json!({ "question": QUESTION, "wait_seconds": 0.2 }),
    );
    assert_ne!(content(&first)["id"], content(&third)["id"]);
    gate.open();
    // A finished debate is not paid for again either.
    let id = content(&first)["id"].clone();
    let done = client.call("debates", json!({ "id": id }));
    assert_eq!(content(&done)["state"], "complete");
    let again = client.call("ask", question());
    assert_eq!(content(&again)["id"], id);
}

#[test]
fn b02_a_cancelled_call_stops_after_the_calls_in_flight_and_can_be_resumed() {
    let (server, gate) = gated_models();
    let home = Home::with_model(&server);
    let mut client = client(&home);
    let params = json!({ "name": "ask", "arguments": question() });
    let id = client.begin("tools/call", params);
    while server.count() == 0 {
        thread::sleep(Duration::from_millis(10));
    }
    client.send(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id },
    }));
    thread::sleep(Duration::from_millis(300));
    let debate = home.list()[0]["id"].as_str().unwrap().to_owned();
    until(&home, &debate, "running");
    gate.open();
    until(&home, &debate, "interrupted");
    // The call in flight was finished, and no other was started.
    assert_eq!(server.count(), 1);
    let result = client.call("debates", json!({ "id": debate, "action": "resume" }));
    assert_eq!(content(&result)["state"], "complete", "{result}");
    let asked = server.asked();
    assert_eq!(
        asked.iter().filter(|name| *name == "opening").count(),
        1,
        "{asked:?}"
    );
}

#[test]
fn b02_a_client_that_times_out_and_retries_pays_once() {
    let server = slow_models(Duration::from_millis(400));
    let home = Home::with_model(&server);
    let mut client = client(&home);
    let mut result = Value::Null;
    for _ in 0..50 {
        let params = json!({ "name": "ask", "arguments": question() });
        let id = client.begin("tools/call", params);
        if let Some(answer) = client.read_within(Duration::from_millis(500)) {
            result = answer["result"].clone();
            break;
        }
        client.send(&json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id },
        }));
    }
    assert_eq!(content(&result)["state"], "complete", "{result}");
    assert_eq!(home.list().len(), 1);
    let asked = server.asked();
    assert_eq!(
        asked.iter().filter(|name| *name == "opening").count(),
        1,
        "{asked:?}"
    );
}

#[test]
fn b02_a_debate_with_a_handle_survives_its_process() {
    let server = slow_models(Duration::from_millis(300));
    let home = Home::with_model(&server);
    let mut first = client(&home);
    let result = first.call("ask", json!({ "question": QUESTION, "wait_seconds": 0.4 }));
    let id = content(&result)["id"].as_str().unwrap().to_owned();
    assert_eq!(content(&result)["state"], "running");
    let (code, took) = first.close();
    assert_eq!(code, 0);
    assert!(took < Duration::from_secs(6), "{took:?}");
    until(&home, &id, "interrupted");
    let calls = server.count();
    let mut second = client(&home);
    let result = second.call("debates", json!({ "id": "last" }));
    assert_eq!(content(&result)["id"], *id);
    assert_eq!(content(&result)["state"], "complete", "{result}");
    assert!(server.count() > calls);
    let asked = server.asked();
    assert_eq!(
        asked.iter().filter(|name| *name == "opening").count(),
        1,
        "{asked:?}"
    );
}

#[test]
fn b02_a_running_server_takes_up_a_debate_with_a_handle() {
    let server = slow_models(Duration::from_millis(300));
    let home = Home::with_model(&server);
    let mut client = client(&home);
    let result = client.call("ask", json!({ "question": QUESTION, "wait_seconds": 0.4 }));
    let id = content(&result)["id"].as_str().unwrap().to_owned();
    client.close();
    let serving = Serving::start(&home, &[]);
    serving.until(&id, "complete");
}

#[test]
fn b02_a_client_that_disconnects_without_a_handle_leaves_no_running_debate() {
    let (server, _gate) = gated_models();
    let home = Home::with_model(&server);
    let mut client = client(&home);
    client.begin(
        "tools/call",
        json!({ "name": "ask", "arguments": question() }),
    );
    while server.count() == 0 {
        thread::sleep(Duration::from_millis(10));
    }
    let (code, took) = client.close();
    assert_eq!(code, 0);
    assert!(took < Duration::from_secs(8), "{took:?}");
    let debates = home.list();
    assert_eq!(debates[0]["state"], "interrupted");
    assert!(
        debates[0]["ended_at"].is_string(),
        "no server may resume it: {debates:?}"
    );
    assert_eq!(server.count(), 1);
}

#[test]
fn b02_a_client_that_never_reads_does_not_hold_up_its_debate() {
    let server = models();
    let home = Home::with_model(&server);
    let mut command = home.command(&["mcp"]);
    command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut send = |message: Value| {
        use std::io::Write;
        writeln!(input, "{message}").unwrap();
    };
    send(
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize(VERSION) }),
    );
    // More than the pipe holds.
    for id in 1..20 {
        send(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list", "params": {} }));
    }
    let params = json!({ "name": "ask", "arguments": question(), "_meta": { "progressToken": 1 } });
    send(json!({ "jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": params }));
    let started = Instant::now();
    while home
        .list()
        .first()
        .is_none_or(|debate| debate["state"] != "complete")
    {
        assert!(started.elapsed() < Duration::from_secs(30));
        thread::sleep(Duration::from_millis(50));
    }
    drop(input);
    while child.try_wait().unwrap().is_none() {
        assert!(
            started.elapsed() < Duration::from_mins(1),
            "it does not end"
        );
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn b02_bad_input_is_refused_in_words_and_the_next_call_works() {
    let server = models();
    let home = Home::with_model(&server);
    let mut client = client(&home);
    let unknown = client.request("tools/call", json!({ "name": "vote", "arguments": {} }));
    assert_eq!(unknown["error"]["code"], -32602);
    assert!(
        unknown["error"]["message"]
            .as_str()
            .unwrap()
            .contains("known: ask, panel")
    );
    let missing = client.call("ask", json!({}));
    assert!(
        error(&missing).contains("\"question\" is a required property"),
        "{missing}"
    );
    let wrong = client.call(
        "ask",
        json!({ "question": 7, "depth": "many", "mood": "good" }),
    );
    for part in [
        "question: 7 is not of type",
        "depth:",
        "'mood' was unexpected",
    ] {
        assert!(error(&wrong).contains(part), "{wrong}");
    }
    let empty = client.call("ask", json!({ "question": "  " }));
    assert!(error(&empty).contains("the question is empty"), "{empty}");
    let seats = client.call("debate", json!({ "question": "x", "seats": 99 }));
    assert_eq!(seats["isError"], true, "{seats}");
    let long = client.call("ask", json!({ "question": "word ".repeat(400_000) }));
    assert!(error(&long).contains("tokens; the limit is"), "{long}");
    assert!(error(&long).len() < 2_000);
    let huge = client.call(
        "ask",
        json!({ "question": QUESTION, "extra": "x".repeat(2_000_000) }),
    );
    assert!(error(&huge).len() < 2_000);
    let outcomes = client.call(
        "forecast",
        json!({ "question": "Who wins?", "outcomes": ["A"] }),
    );
    assert_eq!(outcomes["isError"], true, "{outcomes}");
    for id in [
        "3f2a9c1b-0000-4000-8000-000000000000",
        "nonsense",
        "../x",
        "",
    ] {
        let none = client.call("debates", json!({ "id": id }));
        assert!(error(&none).contains("there is no debate"), "{none}");
    }
    let nothing = client.call("debates", json!({}));
    assert!(
        error(&nothing).contains("there is no debate yet"),
        "{nothing}"
    );
    assert_eq!(server.count(), 0);
    client.send_line("{ not json");
    client.send_line("[1, 2]");
    client.send_line(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#);
    client.send_line(r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#);
    client.send_line(r#"{"jsonrpc":"2.0","id":70,"method":"no/such"}"#);
    let result = client.call("panel", question());
    assert_eq!(content(&result)["state"], "complete");
}

#[test]
fn b02_invalid_messages_get_an_error() {
    let home = Home::empty();
    let mut client = client(&home);
    let invalid = [
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
    ];
    for line in invalid {
        client.send_line(line);
        let answer = client.read_within(Duration::from_secs(10)).unwrap();
        assert_eq!(answer["error"]["code"], -32600, "{line}: {answer}");
    }
    let unknown = client.request("no/such", json!({}));
    assert_eq!(unknown["error"]["code"], -32601);
}

#[test]
fn b02_a_call_after_the_debate_was_deleted_finds_nothing() {
    let server = models();
    let home = Home::with_model(&server);
    let mut client = client(&home);
    let result = client.call("panel", question());
    let id = content(&result)["id"].as_str().unwrap().to_owned();
    home.run(&["rm", &id, "--yes"]).expect(0, &[]);
    let gone = client.call("debates", json!({ "id": id }));
    assert!(error(&gone).contains("there is no debate"), "{gone}");
    // The same request starts a new one.
    let again = client.call("panel", question());
    assert_ne!(content(&again)["id"], *id);
}

#[test]
fn b02_debates_are_searched_and_asked_on() {
    let server = models();
    let home = Home::with_model(&server);
    let mut client = client(&home);
    client.call("panel", question());
    let found = client.call("debates", json!({ "action": "search", "text": "QUEUE" }));
    assert_eq!(content(&found)["debates"].as_array().unwrap().len(), 1);
    let none = client.call("debates", json!({ "action": "search", "text": "zebra" }));
    assert!(content(&none).get("debates").is_none(), "{none}");
    assert!(text(&none).contains("No debate found"));
    let missing = client.call("debates", json!({ "action": "follow_up" }));
    assert!(error(&missing).contains("text is required"));
    let arguments = json!({ "action": "follow_up", "text": "And with two databases?" });
    let result = client.call("debates", arguments);
    assert_eq!(content(&result)["state"], "complete", "{result}");
    let asked = server.heard().last().unwrap().to_string();
    assert!(asked.contains("And with two databases?") && asked.contains(QUESTION));
}

#[test]
fn b02_the_newest_generation_needs_no_handshake() {
    let server = models();
    let home = Home::with_model(&server);
    let mut client = McpProcess::start(&home, &[]);
    let meta = stateless(&json!({}));
    let discovered = client.request("server/discover", json!({ "_meta": meta }));
    let versions = discovered["result"]["supportedVersions"].to_string();
    assert!(
        versions.contains("2026-07-28") && versions.contains("2025-06-18"),
        "{discovered}"
    );
    let params = json!({ "name": "panel", "arguments": question(), "_meta": meta });
    let answer = client.request("tools/call", params);
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    assert_eq!(content(&answer["result"])["state"], "complete");
}

#[test]
fn b02_the_older_generations_get_their_own_form() {
    let server = models();
    let home = Home::with_model(&server);
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut client = McpProcess::initialized(&home, &[], version);
        let result = client.call(
            "panel",
            json!({ "question": format!("{QUESTION} ({version})") }),
        );
        assert_eq!(content(&result)["state"], "complete");
        assert!(result.get("resultType").is_none(), "{result}");
    }
}

#[test]
fn b02_debates_are_resources() {
    let server = models();
    let home = Home::with_model(&server);
    let mut client = client(&home);
    let result = client.call("ask", question());
    let uri = format!(
        "roundtable://debates/{}",
        content(&result)["id"].as_str().unwrap()
    );
    let listed = client.request("resources/list", json!({}));
    assert_eq!(listed["result"]["resources"][0]["uri"], *uri, "{listed}");
    let templates = client.request("resources/templates/list", json!({}));
    assert_eq!(
        templates["result"]["resourceTemplates"][0]["uriTemplate"],
        "roundtable://debates/{id}"
    );
    let read = client.request("resources/read", json!({ "uri": uri }));
    let report = &read["result"]["contents"][0];
    assert_eq!(report["mimeType"], "text/markdown");
    let report = report["text"].as_str().unwrap();
    assert!(
        report.contains("absorbs forty bursts") && report.contains("Bursts are assumed"),
        "{report}"
    );
    let read = client.request("resources/read", json!({ "uri": format!("{uri}/record") }));
    let record = read["result"]["contents"][0]["text"].as_str().unwrap();
    let record: Value = serde_json::from_str(record).unwrap();
    assert_eq!(record["state"], "complete");
    for uri in ["roundtable://debates/nonsense", "file:///etc/passwd", ""] {
        let none = client.request("resources/read", json!({ "uri": uri }));
        assert_eq!(none["error"]["code"], -32002, "{none}");
    }
}

#[test]
fn b02_three_prompts_name_the_tools() {
    let home = Home::empty();
    let mut client = client(&home);
    let listed = client.request("prompts/list", json!({}));
    let prompts = listed["result"]["prompts"].as_array().unwrap();
    let names: Vec<_> = prompts.iter().map(|prompt| &prompt["name"]).collect();
    assert_eq!(names, ["second-opinion", "red-team", "decide"]);
    for (name, argument, tool) in [
        ("second-opinion", "question", "`panel`"),
        ("red-team", "plan", "`debate`"),
        ("decide", "question", "`debate`"),
    ] {
        let given = json!({ "name": name, "arguments": { argument: "Move to Rust?" } });
        let prompt = client.request("prompts/get", given);
        let text = prompt["result"]["messages"][0]["content"]["text"]
            .as_str()
            .unwrap();
        assert!(
            text.contains("Move to Rust?") && text.contains(tool),
            "{text}"
        );
        let bare = client.request("prompts/get", json!({ "name": name }));
        let text = bare["result"]["messages"][0]["content"]["text"]
            .as_str()
            .unwrap();
        assert!(
            text.contains("we are discussing") && !text.contains("{{"),
            "{text}"
        );
    }
    let unknown = client.request("prompts/get", json!({ "name": "sing" }));
    assert_eq!(unknown["error"]["code"], -32602);
}

#[test]
fn b02_a_client_with_tasks_gets_one() {
    let server = slow_models(Duration::from_millis(50));
    let home = Home::with_model(&server);
    let mut client = McpProcess::start(&home, &[]);
    let tasks = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let meta = stateless(&tasks);
    let params = json!({ "name": "ask", "arguments": question(), "_meta": meta });
    let created = client.request("tools/call", params)["result"].clone();
    assert_eq!(created["resultType"], "task", "{created}");
    assert_eq!(created["status"], "working");
    let id = created["taskId"].as_str().unwrap().to_owned();
    // It was stored before it was announced.
    assert_eq!(home.list()[0]["id"], *id);
    let get = json!({ "taskId": id, "_meta": meta });
    let started = Instant::now();
    let done = loop {
        let task = client.request("tasks/get", get.clone())["result"].clone();
        if task["status"] != "working" {
            break task;
        }
        assert!(started.elapsed() < Duration::from_secs(30));
        thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(done["status"], "completed", "{done}");
    assert_eq!(content(&done["result"])["state"], "complete");
    let none = client.request("tasks/get", json!({ "taskId": "nonsense", "_meta": meta }));
    assert_eq!(none["error"]["code"], -32602, "{none}");
    // Clients that do not declare tasks have none.
    let other = client.request(
        "tasks/get",
        json!({ "taskId": id, "_meta": stateless(&json!({})) }),
    );
    assert_eq!(other["error"]["code"], -32021, "{other}");
}

#[test]
fn b02_a_task_is_cancelled() {
    let (server, _gate) = gated_models();
    let home = Home::with_model(&server);
    let mut client = McpProcess::start(&home, &[]);
    let meta = stateless(&json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } }));
    let params = json!({ "name": "ask", "arguments": question(), "_meta": meta });
    let id = client.request("tools/call", params)["result"]["taskId"].clone();
    let cancelled = client.request("tasks/cancel", json!({ "taskId": id, "_meta": meta }));
    assert!(cancelled["result"].is_object(), "{cancelled}");
    let task = client.request("tasks/get", json!({ "taskId": id, "_meta": meta }));
    assert_eq!(task["result"]["status"], "cancelled", "{task}");
}

#[test]
fn b02_sources_are_handed_to_the_seats() {
    let server = models();
    let home = Home::with_model(&server);
    let mut client = client(&home);
    let first = client.call("panel", question());
    let uri = format!(
        "roundtable://debates/{}",
        content(&first)["id"].as_str().unwrap()
    );
    let sources = json!([
        { "name": "logs.md", "text": "The logs show forty-one bursts a day." },
        { "name": "panel.md", "uri": uri },
    ]);
    let arguments = json!({ "question": QUESTION, "depth": "quick", "sources": sources });
    let result = client.call("debate", arguments);
    assert_eq!(content(&result)["state"], "complete", "{result}");
    let heard = server.heard();
    let names = heard.iter().filter(|request| {
        let text = request.to_string();
        text.contains("logs.md") && text.contains("panel.md")
    });
    assert!(names.count() > 0);
    for sources in [
        json!([{ "name": "x.md" }]),
        json!([{ "name": "x.md", "uri": "file:///etc/passwd" }]),
        json!([{ "name": "x.md", "uri": "roundtable://debates/00000000-0000-4000-8000-000000000000" }]),
    ] {
        let refused = client.call(
            "debate",
            json!({ "question": QUESTION, "sources": sources }),
        );
        assert_eq!(refused["isError"], true, "{refused}");
    }
}

/// Where the seats do not search, they read the sources whole.
#[test]
fn b02_short_sources_are_read_by_every_seat() {
    let server = models();
    let home = Home::with_model(&server);
    let mut client = client(&home);
    let sources = json!([{ "name": "logs.md", "text": "The logs show forty-one bursts a day." }]);
    let outcomes = json!(["Yes", "No"]);
    for (tool, outcomes) in [("ask", None), ("panel", None), ("forecast", Some(outcomes))] {
        let mut arguments = json!({ "question": QUESTION, "depth": "quick", "sources": sources });
        if let Some(outcomes) = outcomes {
            arguments["outcomes"] = outcomes;
        }
        let before = server.count();
        let result = client.call(tool, arguments.clone());
        assert_eq!(content(&result)["state"], "complete", "{tool}: {result}");
        let heard = server.heard().split_off(before);
        let first = heard[0].to_string();
        assert!(
            first.contains("logs.md") && first.contains("> The logs show"),
            "{tool}: {first}"
        );
        // More than a question may have: the other tool searches.
        arguments["sources"][0]["text"] = "Forty-one bursts. ".repeat(40_000).into();
        let refused = client.call(tool, arguments);
        assert!(error(&refused).contains("`debate`"), "{tool}: {refused}");
    }
    let refused = client.call("judge", json!({ "content": "x", "sources": sources }));
    assert!(error(&refused).contains("sources"), "{refused}");
}

/// B-13: an estimate instead of a debate, for every tool that starts one.
#[test]
fn b13_an_agent_asks_what_a_debate_would_cost() {
    let server = models();
    let home = Home::with_model(&server);
    let mut client = client(&home);
    let calls = [
        ("ask", question()),
        ("panel", question()),
        ("debate", question()),
        (
            "forecast",
            json!({ "question": "Will it open?", "outcomes": ["Yes", "No"] }),
        ),
        ("judge", json!({ "content": "A text about queues." })),
    ];
    let calls_of = |outcome: &Value| outcome["estimate"]["calls"][1].as_f64().unwrap();
    for (tool, mut arguments) in calls {
        arguments["estimate"] = json!(true);
        let result = client.call(tool, arguments.clone());
        let outcome = content(&result);
        assert_eq!(outcome["state"], "estimated", "{tool}: {result}");
        assert!(
            outcome.get("id").is_none() && outcome.get("next").is_none(),
            "{result}"
        );
        for part in ["calls", "tokens", "seconds"] {
            let [low, high] = [0, 1].map(|end| outcome["estimate"][part][end].as_f64().unwrap());
            assert!(0.0 < low && low < high, "{tool}: {result}");
        }
        assert!(text(&result).contains("calls") && text(&result).contains("nothing was started"));
        arguments["depth"] = json!("quick");
        let quick = client.call(tool, arguments);
        assert!(
            calls_of(content(&quick)) < calls_of(outcome),
            "{tool}: {quick}"
        );
    }
    assert_eq!((server.count(), home.list().len()), (0, 0));
    // An invalid request is refused as without it.
    let refused = client.call(
        "debate",
        json!({ "question": "x", "mode": "shouting", "estimate": true }),
    );
    assert!(error(&refused).contains("shouting"), "{refused}");
}

/// A killed process leaves two debates: a server continues the one whose id its client has, and pays nothing for the other.
#[test]
fn b02_a_killed_process_leaves_no_debate_to_pay_for_without_a_handle() {
    const OTHER: &str = "Should we rent a database?";
    let (server, gate) = gated_models();
    let home = Home::with_model(&server);
    let mut first = client(&home);
    first.begin(
        "tools/call",
        json!({ "name": "ask", "arguments": question() }),
    );
    let asked = |question: &str| {
        let is_asked = |request: &&Value| {
            schema_name(request) == "opening" && request.to_string().contains(question)
        };
        server.heard().iter().filter(is_asked).count()
    };
    Serving::wait_until_asked(&server, "opening", 1);
    let handle = first.call("ask", json!({ "question": OTHER, "wait_seconds": 0 }));
    let id = content(&handle)["id"].as_str().unwrap().to_owned();
    Serving::wait_until_asked(&server, "opening", 2);
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    let serving = Serving::start(&home, &[]);
    gate.open();
    // The server looks at both at the same time, the older one first.
    serving.until(&id, "complete");
    let debates = home.list();
    let unknown = debates.iter().find(|debate| debate["question"] == QUESTION);
    assert_eq!(unknown.unwrap()["state"], "interrupted", "{debates:?}");
    assert_eq!((asked(QUESTION), asked(OTHER)), (1, 2));
    // The same request continues it.
    let mut second = client(&home);
    let result = second.call("ask", question());
    assert_eq!(content(&result)["id"], unknown.unwrap()["id"]);
    assert_eq!(content(&result)["state"], "complete", "{result}");
    assert_eq!(asked(QUESTION), 2);
}

#[test]
fn b02_a_hundred_calls_run_side_by_side() {
    const CALLS: usize = 100;
    let (server, gate) = gated_models();
    let home = Home::with_model(&server);
    home.allow_calls(CALLS);
    let mut client = client(&home);
    let ids: Vec<u64> = (0..CALLS)
        .map(|number| {
            let question = format!("{QUESTION} ({number})");
            let arguments = json!({ "question": question, "depth": "quick", "wait_seconds": 600 });
            client.begin(
                "tools/call",
                json!({ "name": "ask", "arguments": arguments }),
            )
        })
        .collect();
    // No call is answered before every debate has made its first.
    Serving::wait_until_asked(&server, "opening", CALLS);
    gate.open();
    let mut debates = BTreeSet::new();
    for id in ids {
        let (answer, _) = client.response(id);
        assert_eq!(content(&answer["result"])["state"], "complete", "{answer}");
        debates.insert(content(&answer["result"])["id"].to_string());
    }
    assert_eq!(debates.len(), CALLS);
}

#[test]
fn b02_install_shows_the_change_and_is_undone() {
    let home = Home::empty();
    let before = "{\n  \"theme\": \"dark\"\n}\n";
    let file = home.write(".cursor/mcp.json", before);
    let read = || std::fs::read_to_string(&file).unwrap();
    let shown = home.run(&["mcp", "install", "--for", "cursor", "--dry-run"]);
    shown.expect(0, &["Nothing was written"]);
    assert!(
        shown.out.contains("+     \"roundtable\": {") && shown.out.contains("~/.cursor/mcp.json"),
        "{}",
        shown.out
    );
    assert_eq!(read(), before);
    home.run(&["mcp", "install", "--for", "cursor"])
        .expect(0, &["Added to Cursor"]);
    let config: Value = serde_json::from_str(&read()).unwrap();
    assert_eq!(config["theme"], "dark");
    let command = config["mcpServers"]["roundtable"]["command"]
        .as_str()
        .unwrap();
    assert!(std::path::Path::new(command).is_absolute(), "{command}");
    home.run(&["mcp", "install", "--for", "cursor"])
        .expect(0, &["needs no change"]);
    home.run(&["mcp", "uninstall", "--for", "cursor"])
        .expect(0, &["Removed from Cursor"]);
    assert_eq!(read(), before);
    for client in [
        "claude-code",
        "claude-desktop",
        "codex",
        "vscode",
        "gemini",
        "opencode",
    ] {
        home.run(&["mcp", "install", "--for", client])
            .expect(0, &["Added to"]);
        home.run(&["mcp", "install", "--for", client])
            .expect(0, &["needs no change"]);
        home.run(&["mcp", "uninstall", "--for", client])
            .expect(0, &["Removed from"]);
        home.run(&["mcp", "uninstall", "--for", client])
            .expect(0, &["needs no change"]);
    }
    home.write(".cursor/mcp.json", "{ // mine\n}");
    home.run(&["mcp", "install", "--for", "cursor"])
        .expect(2, &["cannot edit", "not plain JSON", "mcpServers"]);
}

#[test]
fn b02_the_agents_own_answer_is_judged_with_the_others() {
    let server = models();
    let home = Home::with_model(&server);
    let mut client = client(&home);
    let mine =
        json!({ "answer": "No queue, a cache.", "position": "Use a cache", "confidence": 0.7 });
    let result = client.call("panel", json!({ "question": QUESTION, "my_answer": mine }));
    assert_eq!(content(&result)["state"], "complete", "{result}");
    let dissent = content(&result)["dissent"].to_string();
    assert!(dissent.contains("Caller: Use a cache"), "{result}");
    let asked = server.asked();
    assert!(asked.contains(&"panel_ranking".to_owned()), "{asked:?}");
    // A skeptic attacks it where a proposer would have answered.
    let arguments = json!({ "question": QUESTION, "my_answer": "No queue, a cache." });
    let result = client.call("ask", arguments);
    assert_eq!(content(&result)["state"], "complete", "{result}");
    let heard = server.heard();
    let critique = heard
        .iter()
        .find(|request| schema_name(request) == "critique");
    assert!(critique.unwrap().to_string().contains("No queue, a cache."));
    assert!(!server.asked().contains(&"opening".to_owned()));
    let wrong = json!({ "answer": "x", "position": "y", "confidence": 7 });
    let refused = client.call("panel", json!({ "question": QUESTION, "my_answer": wrong }));
    assert_eq!(refused["isError"], true, "{refused}");
}
