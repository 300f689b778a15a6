//! Software that others wrote: command-line agents in a debate, and clients of the OpenAI-compatible API, against a scripted model
//! server. `cargo xtask clients` installs them and runs this file; `SUITE_CLIENTS` is the folder of the programs.

#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::harness::agent_server::{AgentServer, Heard};
use crate::harness::{Home, QUESTION, Serving, finished};
use crate::openai_api::model_server;

#[expect(clippy::disallowed_methods, reason = "settings of the test run")]
fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run `cargo xtask clients`"))
}

/// The programs of `SUITE_CLIENTS` first.
fn search_path() -> String {
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

/// The servers that an agent lists after `roundtable mcp install`. Three of the four start the server to see whether it answers.
fn listed(client: &str, program: &str, prepare: impl FnOnce(&Home)) -> String {
    let home = Home::empty();
    prepare(&home);
    let installed = ["mcp", "install", "--for", client];
    home.run(&installed).expect(0, &["Added to"]);
    let mut command = Command::new(program);
    command
        .args(["mcp", "list"])
        .current_dir(home.path())
        .env_clear()
        .env("HOME", home.path())
        .env("PATH", search_path())
        .stdin(std::process::Stdio::null());
    let run = finished(command.output().unwrap());
    assert_eq!(run.code, 0, "{}\n{}", run.out, run.err);
    let all = run.out + &run.err;
    let mut lines = all.lines().filter(|line| line.contains("roundtable"));
    lines.next().unwrap_or_else(|| panic!("{all}")).to_owned()
}

#[test]
#[ignore = "needs the programs that `cargo xtask clients` installs"]
fn b02_the_entries_are_recognised_by_the_agents() {
    // Gemini CLI starts no server in a folder that its user has not trusted.
    let trusting = |home: &Home| {
        let text = r#"{ "security": { "folderTrust": { "enabled": false } } }"#;
        home.write(".gemini/settings.json", text);
    };
    for (client, program, says) in [
        ("claude-code", "claude", "Connected"),
        ("codex", "codex", "enabled"),
        ("gemini", "gemini", "Connected"),
        ("opencode", "opencode", "connected"),
    ] {
        let line = listed(client, program, trusting);
        assert!(line.contains(says), "{client}: {line}");
    }
}

/// The folder in which npm and pip have installed the clients.
fn installed() -> PathBuf {
    let programs = PathBuf::from(variable("SUITE_CLIENTS"));
    let folder = programs.parent().and_then(Path::parent);
    folder.unwrap().to_path_buf()
}

/// A server that offers debates as models, with a service token as API key.
struct Models {
    home: Home,
    serving: Serving,
    key: String,
    _model: crate::harness::Server,
}

impl Models {
    fn start() -> Self {
        let model = model_server();
        let home = Home::with_model(&model);
        let key = home.token("run");
        let mut serving = Serving::start(&home, &[]);
        serving.token = Some(key.clone());
        Self {
            home,
            serving,
            key,
            _model: model,
        }
    }

    fn url(&self) -> String {
        format!("http://{}/v1", self.serving.address)
    }

    /// Runs a client and returns what it prints.
    fn run(&self, command: &mut Command) -> String {
        let command = command
            .current_dir(self.home.path())
            .env_clear()
            .env("HOME", self.home.path())
            .env("PATH", search_path())
            .env("BASE_URL", self.url())
            .env("KEY", &self.key)
            .env("QUESTION", QUESTION)
            // For clients that read no other.
            .env("OPENAI_API_KEY", &self.key)
            .env("OPENAI_API_BASE", self.url())
            .env("LLM_USER_PATH", self.home.path().join("llm"));
        let run = finished(command.stdin(std::process::Stdio::null()).output().unwrap());
        assert_eq!(run.code, 0, "{}\n{}", run.out, run.err);
        run.out
    }

    fn python(&self, script: &str) -> String {
        let python = installed().join("python/bin/python");
        self.run(Command::new(python).arg(script_path(script)))
    }

    /// Node finds packages next to the script.
    fn node(&self, script: &str) -> String {
        let copy = installed().join(script);
        std::fs::copy(script_path(script), &copy).unwrap();
        self.run(Command::new("node").arg(copy))
    }

    fn debates(&self) -> usize {
        let list = self.serving.get("/api/v1/debates").json();
        list["debates"].as_array().unwrap().len()
    }
}

fn script_path(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/clients");
    folder.join(name)
}

/// B-03
#[test]
#[ignore = "needs the programs that `cargo xtask clients` installs"]
fn b03_openai_for_python_works() {
    insta::assert_snapshot!(Models::start().python("openai_python.py"));
}

#[test]
#[ignore = "needs the programs that `cargo xtask clients` installs"]
fn b03_openai_for_node_works() {
    insta::assert_snapshot!(Models::start().node("openai_node.mjs"));
}

#[test]
#[ignore = "needs the programs that `cargo xtask clients` installs"]
fn b03_langchain_works() {
    insta::assert_snapshot!(Models::start().python("langchain.py"));
}

#[test]
#[ignore = "needs the programs that `cargo xtask clients` installs"]
fn b03_the_ai_sdk_works() {
    insta::assert_snapshot!(Models::start().node("ai_sdk.mjs"));
}

const ANSWER: &str = "Use a queue. STOP Because of bursts.";

#[test]
#[ignore = "needs the programs that `cargo xtask clients` installs"]
fn b03_llm_works() {
    let models = Models::start();
    let file = format!(
        "- model_id: panel\n  model_name: roundtable/panel\n  api_base: {}\n  api_key_name: panel\n",
        models.url()
    );
    models.home.write("llm/extra-openai-models.yaml", &file);
    let ask = |more: &[&str]| {
        let mut llm = Command::new(installed().join("python/bin/llm"));
        llm.args(["-m", "panel", "--key", &models.key, QUESTION]);
        models.run(llm.args(more))
    };
    assert_eq!(ask(&[]).trim(), ANSWER);
    assert_eq!(ask(&["--no-stream"]).trim(), ANSWER);
}

#[test]
#[ignore = "needs the programs that `cargo xtask clients` installs"]
fn b03_aider_works() {
    let models = Models::start();
    let mut aider = Command::new(installed().join("aider/bin/aider"));
    aider.args([
        "--model",
        "openai/roundtable/panel",
        "--chat-mode",
        "ask",
        "--message",
        QUESTION,
        "--no-git",
        "--yes-always",
        "--no-pretty",
        "--no-show-model-warnings",
        "--no-check-update",
        "--no-analytics",
        "--no-gui",
        "--map-tokens",
        "0",
    ]);
    let out = models.run(&mut aider);
    assert!(out.contains(ANSWER), "{out}");
    assert_eq!(models.debates(), 1, "{out}");
}

/// Codex speaks to `/v1/responses`, with tools that need not be called.
#[test]
#[ignore = "needs the programs that `cargo xtask clients` installs"]
fn b03_codex_works() {
    let models = Models::start();
    let provider = format!(
        "model_providers.rt={{name=\"rt\",base_url=\"{}\",env_key=\"KEY\",wire_api=\"responses\"}}",
        models.url()
    );
    let mut codex = Command::new(installed().join("node_modules/.bin/codex"));
    codex.args([
        "exec",
        "--skip-git-repo-check",
        "--ephemeral",
        "--sandbox",
        "read-only",
    ]);
    codex.args(["-c", "model_provider=\"rt\"", "-c", &provider]);
    codex.args(["-m", "roundtable/panel", QUESTION]);
    let out = models.run(&mut codex);
    assert_eq!(out.trim(), ANSWER);
    assert_eq!(models.debates(), 1);
}
