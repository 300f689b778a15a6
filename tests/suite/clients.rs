//! Real command-line agents in a debate, against a scripted model server. `cargo xtask clients` installs them and runs this file;
//! `SUITE_CLIENTS` is the folder of the programs.

#![cfg(unix)]

use serde_json::Value;

use crate::harness::agent_server::{AgentServer, Heard};
use crate::harness::{Home, QUESTION, finished};

/// The programs of `SUITE_CLIENTS` first.
fn search_path() -> String {
    #[expect(clippy::disallowed_methods, reason = "settings of the test run")]
    let variable = |name| {
        std::env::var(name)
            .unwrap_or_else(|_| panic!("{name} is not set: run `cargo xtask clients`"))
    };
    format!("{}:{}", variable("SUITE_CLIENTS"), variable("PATH"))
}

/// One debate with this program in all seats. Returns what the server heard of it.
fn debate(
    preset: &str,
    keys: &str,
    prepare: impl FnOnce(&Home),
    server: &AgentServer,
) -> Vec<Heard> {
    let home = Home::empty();
    prepare(&home);
    let keys = keys.replace("SERVER", &server.url());
    home.write(
        "roundtable.toml",
        &format!("[providers.{preset}]\nkind = \"command\"\npreset = \"{preset}\"\ntimeout_s = 120\n{keys}\n[retry]\nattempts = 1\n"),
    );
    let model = if preset == "opencode" {
        "opencode:lab/m".to_owned()
    } else {
        format!("{preset}:default")
    };
    let mut command = home.command(&["ask", QUESTION, "--model", &model, "--json"]);
    let run = finished(command.env("PATH", search_path()).output().unwrap());
    assert_eq!(run.code, 0, "{}\n{:?}", run.err, server.paths());
    let record = run.json();
    assert_eq!(record["state"], "complete");
    let calls = server.calls();
    // Three rounds have more than six calls.
    assert!(calls.len() >= 6, "{:?}", server.paths());
    calls
}

fn names(tools: &Value) -> Vec<&str> {
    let tools = tools.as_array().into_iter().flatten();
    tools.filter_map(|tool| tool["name"].as_str()).collect()
}

#[test]
#[ignore = "needs the programs that `cargo xtask clients` installs"]
fn claude_sits_in_a_debate() {
    let server = AgentServer::start();
    let keys = "set_env = { ANTHROPIC_BASE_URL = \"SERVER\", ANTHROPIC_API_KEY = \"test\" }";
    for call in debate("claude", keys, |_| {}, &server) {
        assert_eq!(names(&call.body["tools"]), ["StructuredOutput"]);
    }
}

#[test]
#[ignore = "needs the programs that `cargo xtask clients` installs"]
fn codex_sits_in_a_debate() {
    let server = AgentServer::start();
    let keys = r#"
extra_args = ["-c", "model_provider=lab", "-c", 'model_providers.lab={name="lab",base_url="SERVER/v1",env_key="LAB_KEY",wire_api="responses"}']
set_env = { LAB_KEY = "test" }"#;
    for call in debate("codex", keys, |_| {}, &server) {
        let text = call.body.to_string();
        assert!(
            !text.contains("tools.exec_command(args"),
            "it may run commands"
        );
    }
}

#[test]
#[ignore = "needs the programs that `cargo xtask clients` installs"]
fn gemini_sits_in_a_debate() {
    let server = AgentServer::start();
    let keys = "set_env = { GOOGLE_GEMINI_BASE_URL = \"SERVER\", GEMINI_API_KEY = \"test\" }";
    let settings = |home: &Home| {
        let text = r#"{ "security": { "auth": { "selectedType": "gemini-api-key" } } }"#;
        home.write(".gemini/settings.json", text);
    };
    for call in debate("gemini-cli", keys, settings, &server) {
        assert!(
            call.body["systemInstruction"]
                .to_string()
                .contains("JSON schema")
        );
    }
}

#[test]
#[ignore = "needs the programs that `cargo xtask clients` installs"]
fn opencode_sits_in_a_debate() {
    let server = AgentServer::start();
    let keys = r#"
set_env = { OPENCODE_CONFIG = "{files}/lab.json", OPENCODE_DISABLE_MODELS_FETCH = "1" }
[providers.opencode.files]
"lab.json" = '''{ "provider": { "lab": {
  "npm": "@ai-sdk/openai-compatible", "options": { "baseURL": "SERVER/v1", "apiKey": "test" }, "models": { "m": {} }
} } }'''"#;
    for call in debate("opencode", keys, |_| {}, &server) {
        assert_eq!(names(&call.body["tools"]), Vec::<&str>::new());
    }
}
