//! `roundtable init`: with flags, and on a real terminal.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{Answer, Home, Run, Server, finished};
#[cfg(target_os = "linux")]
use crate::terminal::{COLUMNS, LINES, Session, scrolled};

const KEY: &str = "sk-very-secret-0123456789";

/// A provider with a key, whose server is the given one.
fn keyed(server: &Server) -> Home {
    let home = Home::empty();
    let section = "[providers.openai]\n# Ours.\napi_key_env = \"OPENAI_API_KEY\"\n";
    home.write(
        "roundtable.toml",
        &format!(
            "{section}base_url = \"{}\"\n\n[retry]\nattempts = 1\n",
            server.url()
        ),
    );
    home
}

fn init(home: &Home, args: &[&str]) -> Run {
    let mut command = home.command(&[&["init"], args].concat());
    finished(command.env("OPENAI_API_KEY", KEY).output().unwrap())
}

fn text(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn file(home: &Home) -> PathBuf {
    home.path().join("roundtable.toml")
}

fn users_file(home: &Home) -> PathBuf {
    home.path().join(".config/roundtable/roundtable.toml")
}

const TIERS: &str = "\n[tiers]\ndeliberate = \"openai:x\"\nfast = \"openai:x\"\n";

#[test]
fn without_a_terminal_it_says_which_flags_to_give() {
    let server = Server::good();
    let home = keyed(&server);
    let before = text(file(&home));
    for args in [&[][..], &["--model", "openai:x"], &["--here"]] {
        init(&home, args).expect(2, &["not a terminal", "--yes", "--model PROVIDER:MODEL"]);
    }
    init(&home, &["--force"]).expect(2, &["--yes"]);
    assert_eq!(text(file(&home)), before);
    assert_eq!(server.count(), 0);
}

#[test]
fn a_model_is_tested_once_and_added_to_the_file() {
    let server = Server::good();
    let home = keyed(&server);
    let before = text(file(&home));
    let run = init(&home, &["--yes"]);
    run.expect(
        0,
        &[
            "[providers.openai] is configured; it has 1 model",
            "ok  {\"yes\":true} in ",
            "+ [tiers]",
            "Wrote ",
        ],
    );
    assert_eq!(server.asked(), ["check"]);
    assert_eq!(text(file(&home)), format!("{before}{TIERS}"));
    // Once more: nothing to change.
    init(&home, &["--yes"]).expect(0, &["names this model already"]);
    assert_eq!(text(file(&home)), format!("{before}{TIERS}"));
    let mut models = home.command(&["models", "--json"]);
    let models = finished(models.env("OPENAI_API_KEY", KEY).output().unwrap()).json();
    assert_eq!(models["deliberate"]["why"], "set by tiers.deliberate");
}

#[test]
fn the_key_is_never_written_or_printed() {
    let home = keyed(&Server::good());
    let outputs = [
        init(&home, &["--json"]),
        init(&home, &["--yes"]),
        init(&home, &["--here", "--yes"]),
    ];
    for run in outputs {
        assert_eq!(run.code, 0, "{}", run.err);
        assert!(!run.out.contains(KEY) && !run.err.contains(KEY), "{run:?}");
    }
    assert!(!text(file(&home)).contains(KEY));
}

#[test]
fn models_that_the_file_names_are_not_replaced_without_force() {
    let home = keyed(&Server::good());
    let before = format!(
        "{}\n[tiers]\ndeliberate = \"ollama:a\" # ours\n",
        text(file(&home))
    );
    home.write("roundtable.toml", &before);
    let args = ["--model", "openai:x", "--yes"];
    let difference = "  - deliberate = \"ollama:a\" # ours\n  + deliberate = \"openai:x\" # ours\n";
    init(&home, &args).expect(2, &[difference, "--force", "Nothing was changed"]);
    assert_eq!(text(file(&home)), before);
    init(&home, &[&args[..], &["--force"]].concat()).expect(0, &["Wrote"]);
    let expected = before.replace(
        "ollama:a\" # ours\n",
        "openai:x\" # ours\nfast = \"openai:x\"\n",
    );
    assert_eq!(text(file(&home)), expected);
}

#[test]
fn a_model_that_fails_its_test_is_not_written() {
    let refuses =
        Server::start(|_, _| Answer::Status(401, "", "{\"error\": \"no such key\"}".into()));
    let home = keyed(&refuses);
    let before = text(file(&home));
    init(&home, &["--yes"]).expect(
        4,
        &["openai:x does not work", "--no-test", "Nothing was changed"],
    );
    init(&home, &["--yes", "--json"]).expect(4, &["openai:x does not work"]);
    assert_eq!(text(file(&home)), before);
    let calls = refuses.count();
    init(&home, &["--yes", "--no-test"]).expect(0, &["Wrote"]);
    assert_eq!(refuses.count(), calls);
    assert_eq!(text(file(&home)), format!("{before}{TIERS}"));
}

/// C-18: another provider is taken only if the user chooses it.
#[test]
fn c18_a_provider_that_fails_is_not_replaced_silently() {
    let ollama = Server::start(|_, _| {
        let list = "{\"models\": [{\"name\": \"qwen3:8b\", \"size\": 5000000000}]}";
        Answer::Status(200, "", list.into())
    });
    let home = Home::empty();
    let closed = "[providers.openai]\nbase_url = \"http://127.0.0.1:1\"\n[retry]\nattempts = 1\n";
    home.write("roundtable.toml", closed);
    let host = ollama.url().replace("http://", "").replace("/v1", "");
    let run = |args: &[&str]| {
        let mut command = home.command(&[&["init"], args].concat());
        finished(command.env("OLLAMA_HOST", &host).output().unwrap())
    };
    run(&["--yes"]).expect(
        4,
        &[
            "[providers.openai] is configured, but",
            "Nothing was changed",
        ],
    );
    let report = run(&["--json"]);
    report.expect(4, &[]);
    let report = report.json();
    assert_eq!(report["model"], Value::Null);
    assert_eq!(report["found"]["choices"][0]["model"], "ollama:qwen3:8b");
    assert_eq!(text(file(&home)), closed);
}

/// With the embedded model, which cannot be downloaded here, or without it.
#[test]
fn without_a_usable_model_nothing_is_written() {
    let home = Home::empty();
    let mut command = home.command(&["init", "--yes"]);
    let run = finished(command.env("OLLAMA_HOST", "127.0.0.1:1").output().unwrap());
    run.expect(
        4,
        &[
            "no Ollama server at http://127.0.0.1:1",
            "ANTHROPIC_API_KEY",
            "Nothing was changed",
        ],
    );
    assert!(!users_file(&home).exists());
}

#[test]
fn json_alone_changes_nothing_and_shows_the_costs() {
    let server = Server::good();
    let home = keyed(&server);
    home.write(
        "prices.toml",
        "[prices.openai]\nx = { input = 3.0, output = 15.0 }\n",
    );
    let before = text(file(&home));
    let run = init(&home, &["--json"]);
    run.expect(0, &[]);
    assert_eq!(run.err, "");
    let report = run.json();
    assert_eq!(text(file(&home)), before);
    assert_eq!(server.count(), 0);
    assert_eq!(report["model"], "openai:x");
    assert_eq!(report["written"], false);
    assert_eq!(report["test"], Value::Null);
    let choice = &report["found"]["choices"][0];
    assert_eq!(choice["model"], "openai:x");
    // Twelve calls of 1,800 tokens in and 450 out.
    assert_eq!(choice["cost"], 0.1458);
    assert!(report["found"]["cores"].as_u64().unwrap() >= 1);
    let done = init(&home, &["--json", "--yes"]).json();
    assert_eq!(done["written"], true);
    assert_eq!(done["test"]["ok"], true);
    assert_eq!(text(file(&home)), format!("{before}{TIERS}"));
}

#[test]
fn the_users_own_file_is_written_unless_here() {
    let home = Home::empty();
    let run = init(&home, &["--model", "openai:gpt-x", "--yes", "--no-test"]);
    run.expect(0, &["Wrote"]);
    let written = text(users_file(&home));
    let expected = "# Written by `roundtable init`; `roundtable config show` lists all settings.\n\
                    # The key of openai is in the environment variable OPENAI_API_KEY.\n\n\
                    [tiers]\ndeliberate = \"openai:gpt-x\"\nfast = \"openai:gpt-x\"\n";
    assert_eq!(written, expected);
    assert!(!file(&home).exists());
    let run = init(
        &home,
        &["--model", "ollama:y", "--yes", "--no-test", "--here"],
    );
    run.expect(0, &["Wrote roundtable.toml"]);
    assert!(text(file(&home)).contains("deliberate = \"ollama:y\""));
    assert_eq!(text(users_file(&home)), expected);
}

#[test]
fn a_file_that_takes_precedence_is_named() {
    let home = Home::empty();
    home.write("roundtable.toml", "[tiers]\nfast = \"ollama:y\"\n");
    let mut command = home.command(&["init", "--model", "ollama:z", "--yes", "--no-test"]);
    let run = finished(command.env_remove("ROUNDTABLE_CONFIG").output().unwrap());
    run.expect(0, &["warning: roundtable.toml is used here instead"]);
    assert!(text(users_file(&home)).contains("ollama:z"));
}

#[test]
fn an_invalid_model_is_an_error_before_anything_is_done() {
    let server = Server::good();
    let home = keyed(&server);
    for name in ["gpt", "nowhere:x", ""] {
        init(&home, &["--model", name, "--yes"]).expect(2, &[]);
    }
    assert_eq!(server.count(), 0);
}

#[cfg(target_os = "linux")]
fn session(home: &Home, columns: usize, more: &[(&str, &str)]) -> Session {
    let variables = [
        &[("OPENAI_API_KEY", KEY), ("OLLAMA_HOST", "127.0.0.1:1")],
        more,
    ]
    .concat();
    Session::start(home, &["init"], columns, &variables)
}

const CHOICE: &str = "[1]:";
const WRITE: &str = "Write it? [Y/n]";
const RUN: &str = "[y/N]";

/// Enter to the end: the model is written, nothing else, on one screen.
#[cfg(target_os = "linux")]
#[test]
fn enter_takes_every_default_on_one_screen() {
    let home = keyed(&Server::good());
    let before = text(file(&home));
    let mut session = session(&home, COLUMNS, &[]);
    for question in [CHOICE, WRITE, RUN] {
        session.until(question).types("\n");
    }
    let run = session.end();
    assert_eq!(run.code, 0, "{}", run.out);
    assert_eq!(text(file(&home)), format!("{before}{TIERS}"));
    assert_eq!(home.list(), Vec::<Value>::new());
    let lines = scrolled(&run.out);
    assert!(lines.len() <= LINES + 1, "{}", lines.join("\n"));
    let too_long = lines.iter().find(|line| line.chars().count() > COLUMNS);
    assert_eq!(too_long, None);
    assert!(run.out.contains('\u{1b}'), "headings are bold");
}

#[cfg(target_os = "linux")]
#[test]
fn yes_to_the_last_question_runs_a_debate_with_the_new_configuration() {
    let server = Server::good();
    let home = keyed(&server);
    let mut session = session(&home, COLUMNS, &[]);
    session.until(CHOICE).types("1\n");
    session.until(WRITE).types("y\n");
    session.until(RUN).types("yes\n");
    let run = session.end();
    assert_eq!(run.code, 0, "{}", run.out);
    assert!(
        run.out.contains("Put a queue in front of the writes"),
        "{}",
        run.out
    );
    assert_eq!(home.list().len(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_bad_answer_is_asked_again_with_a_reason_three_times() {
    let home = keyed(&Server::good());
    let before = text(file(&home));
    let mut session = session(&home, COLUMNS, &[]);
    session.until(CHOICE).types("7\n");
    session
        .until("Enter a number from 1 to ")
        .until(CHOICE)
        .types("best\n");
    session.until("'best'").until(CHOICE).types("nowhere:x\n");
    session
        .until("nowhere")
        .until("no valid answer after 3 attempts. Nothing was changed");
    assert_eq!(session.end().code, 2);
    assert_eq!(text(file(&home)), before);
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_leaves_everything_as_it_was_and_says_so() {
    for question in [CHOICE, WRITE] {
        let home = keyed(&Server::good());
        let before = text(file(&home));
        let mut session = session(&home, COLUMNS, &[]);
        if question == WRITE {
            session.until(CHOICE).types("\n");
        }
        session.until(question).types("\u{3}");
        session.until("Stopped. Nothing was changed.");
        assert_eq!(session.end().code, 130);
        assert_eq!(text(file(&home)), before);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_model_that_fails_can_be_left_or_taken() {
    let refuses =
        Server::start(|_, _| Answer::Status(401, "", "{\"error\": \"no such key\"}".into()));
    let home = keyed(&refuses);
    let before = text(file(&home));
    let mut session = session(&home, COLUMNS, &[]);
    session.until(CHOICE).types("\n");
    session
        .until("does not work")
        .until("Use it anyway? [y/N]")
        .types("\n");
    session.until(CHOICE).types("\n");
    session.until("Use it anyway? [y/N]").types("y\n");
    session.until(WRITE).types("n\n");
    session.until(RUN).types("n\n");
    assert_eq!(session.end().code, 0);
    assert_eq!(text(file(&home)), before);
}

#[cfg(target_os = "linux")]
#[test]
fn completions_are_installed_on_yes() {
    let home = keyed(&Server::good());
    let mut session = session(&home, COLUMNS, &[("SHELL", "/bin/bash")]);
    session.until(CHOICE).types("\n");
    session.until(WRITE).types("\n");
    session
        .until("Install completions for bash")
        .until(RUN)
        .types("y\n");
    session.until("A first question").until(RUN).types("\n");
    assert_eq!(session.end().code, 0);
    let installed = home
        .path()
        .join(".local/share/bash-completion/completions/roundtable");
    assert_eq!(text(installed), home.run(&["completions", "bash"]).out);
}

#[cfg(target_os = "linux")]
#[test]
fn b02_an_agent_gets_its_entry_on_yes() {
    let home = keyed(&Server::good());
    std::fs::create_dir(home.path().join(".cursor")).unwrap();
    std::fs::create_dir(home.path().join(".codex")).unwrap();
    let mut session = session(&home, COLUMNS, &[]);
    session.until(CHOICE).types("\n");
    session.until(WRITE).types("\n");
    session
        .until("Let Cursor ask Roundtable")
        .until(RUN)
        .types("y\n");
    session
        .until("Let Codex ask Roundtable")
        .until(RUN)
        .types("\n");
    session.until("A first question").until(RUN).types("\n");
    assert_eq!(session.end().code, 0);
    let entry = text(home.path().join(".cursor/mcp.json"));
    assert!(entry.contains("\"roundtable\""), "{entry}");
    assert!(!home.path().join(".codex/config.toml").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_narrow_terminal_without_colours_is_readable() {
    let home = keyed(&Server::good());
    let mut session = session(&home, 40, &[("NO_COLOR", "1")]);
    for question in [CHOICE, WRITE, RUN] {
        session.until(question).types("\n");
    }
    let run = session.end();
    assert_eq!(run.code, 0, "{}", run.out);
    assert!(!run.out.contains('\u{1b}'), "{}", run.out);
    let folder = home.path().display().to_string();
    for line in scrolled(&run.out)
        .iter()
        .filter(|line| !line.contains(&folder))
    {
        assert!(line.chars().count() <= 40, "{line}");
    }
}
