//! Every argument of every tool for agents, and the messages of their protocol.

use serde_json::{Value, json};

use super::Target;
use super::attack::Input;
use super::document::{Document, Part, put};
use super::values::{MEGABYTE, long_values, other_values, short_values};
use crate::harness::Scale;

fn message(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

fn input(message: &Value) -> Input {
    Input::json("/mcp", message.to_string())
        .with("accept", "application/json, text/event-stream")
        .with("mcp-protocol-version", "2025-06-18")
}

/// The calls of the tools, each with a place for a hostile argument. Nothing is debated: an estimate reads all of a request.
fn calls(target: &Target) -> Vec<(Value, Vec<Part>)> {
    let tools = target
        .serving
        .mcp(&message("tools/list", &json!({})), &[])
        .text();
    let data = tools.lines().find_map(|line| line.strip_prefix("data: {"));
    let listed: Value = serde_json::from_str(&format!("{{{}", data.unwrap())).unwrap();
    let mut all = Vec::new();
    for tool in listed["result"]["tools"].as_array().unwrap() {
        let schema = Document(tool["inputSchema"].clone());
        let mut arguments = schema.sample(&schema.0);
        if schema.0["properties"]["estimate"].is_object() {
            arguments["estimate"] = json!(true);
        }
        let params = json!({ "name": tool["name"], "arguments": arguments });
        let here = ["params", "arguments"].map(|name| Part::Field(name.into()));
        let mut fields = Vec::new();
        schema.fields(&schema.0, &here, &mut fields);
        let call = message("tools/call", &params);
        all.extend(fields.into_iter().map(|field| (call.clone(), field)));
    }
    // What surrounds the arguments.
    let call = message("tools/call", &json!({ "name": "debates", "arguments": {} }));
    for path in [
        &["id"][..],
        &["method"],
        &["params"],
        &["params", "name"],
        &["params", "arguments"],
        &["params", "_meta"],
        &["params", "cursor"],
    ] {
        let path = path.iter().map(|name| Part::Field((*name).into()));
        all.push((call.clone(), path.collect()));
    }
    for (method, name) in [
        ("resources/read", "uri"),
        ("prompts/get", "name"),
        ("tasks/get", "taskId"),
    ] {
        let path = ["params", name].map(|name| Part::Field(name.into()));
        all.push((message(method, &json!({})), path.to_vec()));
    }
    all
}

/// Every argument of every tool, and every part of a message.
#[test]
fn c20_no_call_of_an_agent_harms_the_server() {
    let target = Target::start();
    let calls = calls(&target);
    assert!(calls.len() > 40, "{}", calls.len());
    let texts = [short_values(&target.home), long_values()].concat();
    let mut values: Vec<Value> = texts.into_iter().map(Value::from).collect();
    values.extend(other_values());
    let is_full = Scale::asked_for() == Scale::Full;
    let mut cases = Vec::new();
    for (number, call) in calls.iter().enumerate() {
        let turn = |index: usize| index < 3 || is_full || (index + number).is_multiple_of(16);
        let chosen = values.iter().enumerate().filter(|(index, _)| turn(*index));
        cases.extend(chosen.map(|(_, value)| (call, value)));
    }
    let mut attack = target.attack();
    attack.send_all(&cases, |((call, field), value)| {
        let mut message = call.clone();
        put(&mut message, field, (*value).clone());
        input(&message)
    });
    let nested = "[".repeat(MEGABYTE / 2);
    let raw = [
        nested.clone(),
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{nested}"),
        format!("[{}]", vec!["{}"; 100_000].join(",")),
        " ".repeat(MEGABYTE),
        String::new(),
    ];
    attack.send_all(&raw, |body| Input::json("/mcp", body.as_str()));
    assert_eq!(attack.answers.get(&401), None);
    attack.end("calls of agents");
}
