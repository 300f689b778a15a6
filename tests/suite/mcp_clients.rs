//! MCP clients that others wrote, against `roundtable mcp` and `/mcp`: the official Python and TypeScript clients, the inspector and
//! the conformance suite (B-02). `cargo xtask clients` installs them and runs this file; `SUITE_MCP_CLIENTS` is their folder.

#![cfg(unix)]

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Answer, Home, Run, Server, Serving, finished};
use crate::mcp::reply;

/// Answers slowly enough for a client that waits 300 ms to time out.
fn models() -> Server {
    Server::start(|request, _| Answer::Late(Duration::from_millis(100), reply(request)))
}

fn packages() -> PathBuf {
    #[expect(clippy::disallowed_methods, reason = "a setting of the test run")]
    let folder = std::env::var_os("SUITE_MCP_CLIENTS");
    folder.map_or_else(
        || panic!("SUITE_MCP_CLIENTS is not set: run `cargo xtask clients`"),
        PathBuf::from,
    )
}

fn script(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    folder.join("tests/suite/mcp_clients").join(name)
}

/// The environment of the program for a client that starts it.
fn in_home<'c>(command: &'c mut Command, home: &Home) -> &'c mut Command {
    command
        .current_dir(home.path())
        .env("HOME", home.path())
        .env("ROUNDTABLE_SOURCES", "nowhere")
        .env("ROUNDTABLE_CONFIG", "roundtable.toml")
}

#[track_caller]
fn lines(run: &Run) -> Vec<Value> {
    run.expect(0, &[]);
    let lines = run.out.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().unwrap()
}

fn program() -> String {
    let path = crate::harness::program();
    path.to_str().unwrap().to_owned()
}

/// One session over each transport. Returns what the client printed.
fn sessions(command: impl Fn(&str, &str) -> Command) -> Vec<Value> {
    let server = models();
    let transports = ["stdio", "http"].map(|kind| {
        let home = Home::with_model(&server);
        let serving = (kind == "http").then(|| Serving::start(&home, &[]));
        let place = serving
            .as_ref()
            .map_or_else(program, |serving| format!("http://{}/mcp", serving.address));
        let mut client = command(kind, &place);
        let run = finished(in_home(&mut client, &home).output().unwrap());
        json!({ "transport": kind, "session": lines(&run) })
    });
    transports.into()
}

#[test]
#[ignore = "needs the clients that `cargo xtask clients` installs"]
fn b02_the_python_client_works_in_both_generations() {
    for mode in ["auto", "legacy"] {
        let sessions = sessions(|kind, place| {
            let mut python = Command::new(packages().join("python/bin/python"));
            python.arg(script("client.py")).args([mode, kind, place]);
            python
        });
        insta::assert_json_snapshot!(format!("python_{mode}"), sessions);
    }
}

/// Its time-out of five seconds is shorter than the debate: it gives up, repeats the call, and joins the debate it has started.
#[test]
#[ignore = "needs the clients that `cargo xtask clients` installs"]
fn b02_a_client_that_gives_up_after_five_seconds_pays_once() {
    // Eight calls, one after the other.
    let server = Server::start(|request, _| Answer::Late(Duration::from_secs(1), reply(request)));
    let home = Home::with_model(&server);
    let mut python = Command::new(packages().join("python/bin/python"));
    python.arg(script("patience.py")).arg(program());
    let run = finished(in_home(&mut python, &home).output().unwrap());
    let told = lines(&run).remove(0);
    assert_eq!(told["state"], "complete", "{told}");
    assert!(told["attempts"].as_u64().unwrap() >= 2, "{told}");
    assert_eq!(home.list().len(), 1);
    let mut asked = server.asked();
    assert_eq!(asked.len(), 8, "{asked:?}");
    asked.retain(|name| name == "opening");
    assert_eq!(asked.len(), 1);
}

#[test]
#[ignore = "needs the clients that `cargo xtask clients` installs"]
fn b02_the_typescript_client_works() {
    let sessions = sessions(|kind, place| {
        let mut node = Command::new(node());
        node.arg(script("client.mjs")).args([kind, place]);
        node.arg(packages().join("node"));
        node
    });
    insta::assert_json_snapshot!("typescript", sessions);
}

/// The conformance suite needs a newer Node.js than many machines have.
fn node() -> PathBuf {
    packages().join("node/node_modules/node/bin/node")
}

#[test]
#[ignore = "needs the clients that `cargo xtask clients` installs"]
fn b02_the_inspector_lists_and_calls_tools() {
    let server = models();
    let home = Home::with_model(&server);
    let inspect = |more: &[&str]| {
        let mut node = Command::new(node());
        node.arg(packages().join("node/node_modules/.bin/mcp-inspector"))
            .args(["--cli", &program(), "mcp"])
            .args(more);
        let run = finished(in_home(&mut node, &home).output().unwrap());
        run.expect(0, &[]);
        run.json()
    };
    let tools = inspect(&["--method", "tools/list"]);
    assert_eq!(tools["tools"].as_array().unwrap().len(), 6);
    let called = inspect(&[
        "--method",
        "tools/call",
        "--tool-name",
        "panel",
        "--tool-arg",
        "question=Why?",
    ]);
    assert_eq!(called["structuredContent"]["state"], "complete", "{called}");
}

#[test]
#[ignore = "needs the clients that `cargo xtask clients` installs"]
fn b02_the_conformance_suite_passes_where_it_needs_no_tools_of_its_own() {
    let server = models();
    let home = Home::with_model(&server);
    let serving = Serving::start(&home, &[]);
    let url = format!("http://{}/mcp", serving.address);
    for scenario in [
        "server-initialize",
        "ping",
        "tools-list",
        "resources-list",
        "prompts-list",
        "dns-rebinding-protection",
    ] {
        let mut node = Command::new(node());
        node.arg(packages().join("node/node_modules/.bin/conformance"))
            .args(["server", "--url", &url, "--scenario", scenario]);
        let run = finished(in_home(&mut node, &home).output().unwrap());
        assert_eq!(run.code, 0, "{scenario}: {}{}", run.out, run.err);
        assert!(run.out.contains(" 0 failed"), "{scenario}: {}", run.out);
    }
}
