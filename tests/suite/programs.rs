//! Command-line programs as models (`kind = "command"`): a whole debate, programs that misbehave, and what they can reach.
//! The programs are shell scripts that the tests write.

#![cfg(unix)]

use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Home, QUESTION, Run, Server, finished, good};

const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// How the scripts report: as JSON, with a login that is missing and an error.
const KEYS: &str = r#"
args = ["{schema}"]
output = "json"
reply = [
  { error = "/error" },
  { text = "/result", json = "/structured", input_tokens = "/usage/in", output_tokens = "/usage/out" },
]
login = ["please log in"]
login_with = "agent login"
"#;

/// A home whose provider `agent` is this script, and its only model.
fn home_with(script: &str, keys: &str) -> Home {
    let home = Home::empty();
    write_script(&home.path().join("bin/agent"), script);
    std::fs::create_dir(home.path().join("tmp")).unwrap();
    home.write(
        "roundtable.toml",
        &format!(
            "[tiers]\ndeliberate = \"agent:default\"\nfast = \"agent:default\"\n[retry]\nattempts = 1\n{}",
            section(keys)
        ),
    );
    home
}

fn section(keys: &str) -> String {
    format!("[providers.agent]\nkind = \"command\"\ncommand = \"bin/agent\"\n{KEYS}\n{keys}\n")
}

fn write_script(path: &Path, script: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// The program with a PATH, and with temporary folders in its home.
fn command(home: &Home, args: &[&str]) -> Command {
    let mut command = home.command(args);
    command
        .env("PATH", SYSTEM_PATH)
        .env("TMPDIR", home.path().join("tmp"));
    command
}

fn run(home: &Home, args: &[&str]) -> Run {
    finished(command(home, args).output().unwrap())
}

/// What `doctor` says about its call of the program.
fn call(home: &Home) -> Value {
    let checks = run(home, &["doctor", "--json"]).json();
    let checks = checks.as_array().unwrap().iter();
    let mut model = checks.filter(|check| check["part"] == "model");
    model.next().unwrap().clone()
}

fn error(home: &Home) -> String {
    let model = call(home);
    assert_eq!(model["ok"], false, "{model}");
    model["found"].as_str().unwrap().to_owned()
}

/// No process of the group is left, nor its folder.
fn assert_ended(home: &Home, processes: usize) {
    let ids = std::fs::read_to_string(home.path().join("pids")).unwrap();
    let ids: Vec<&str> = ids.split_whitespace().collect();
    assert_eq!(ids.len(), processes, "{ids:?}");
    for id in ids {
        assert!(!is_running(id), "process {id} is still running");
    }
    assert_eq!(left_in(&home.path().join("tmp")), Vec::<PathBuf>::new());
}

/// A zombie is not running: without an init process its status is never read.
fn is_running(id: &str) -> bool {
    let state = Command::new("ps").args(["-o", "stat=", "-p", id]).output();
    let state = String::from_utf8(state.unwrap().stdout).unwrap();
    !state.trim().is_empty() && !state.trim().starts_with('Z')
}

fn left_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn wait_for(path: &Path) {
    let start = Instant::now();
    while !path.exists() {
        assert!(
            start.elapsed() < Duration::from_mins(1),
            "no {}",
            path.display()
        );
        thread::sleep(Duration::from_millis(5));
    }
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status();
    assert!(status.unwrap().success());
}

const GOOD: &str =
    r#"cat > /dev/null; echo '{"structured": {"yes": true}, "usage": {"in": 11, "out": 7}}'"#;

/// Starts a process that would outlive it, and hangs.
const HANGS: &str = r#"sleep 600 & echo $$ $! > "$HOME/pids"; wait"#;

#[test]
fn a_program_that_hangs_is_ended_with_its_children() {
    let home = home_with(HANGS, "timeout_s = 1");
    assert_eq!(error(&home), "no answer within 1 s");
    assert_ended(&home, 2);
}

#[test]
fn a_child_that_ignores_sigterm_is_killed() {
    let script = r#"
trap '' TERM
sh -c 'trap "" TERM; echo $$ >> "$HOME/pids"; while [ -d "$HOME" ]; do sleep 0.1; done' &
echo $$ >> "$HOME/pids"
while [ -d "$HOME" ]; do sleep 0.1; done"#;
    let home = home_with(script, "timeout_s = 1");
    assert_eq!(error(&home), "no answer within 1 s");
    assert_ended(&home, 2);
}

/// A program that exits may leave processes behind, which hold its output open.
#[test]
fn processes_that_a_program_leaves_behind_are_ended() {
    let script = format!(r#"sleep 600 & echo $! > "$HOME/pids"; {GOOD}"#);
    let home = home_with(&script, "");
    assert_eq!(call(&home)["ok"], true);
    assert_ended(&home, 1);
}

/// Ctrl-C goes to our process group, not to that of the program.
#[test]
fn an_interruption_ends_the_program_with_its_children() {
    for name in ["-INT", "-TERM"] {
        let home = home_with(HANGS, "");
        let mut child = command(&home, &["ask", QUESTION])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_for(&home.path().join("pids"));
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{name}");
        assert_ended(&home, 2);
        assert_eq!(home.list()[0]["state"], "interrupted");
    }
}

#[test]
fn half_a_reply_is_an_error() {
    let home = home_with(r#"printf '{"structured": {"yes": tr'; echo lost >&2"#, "");
    let error = error(&home);
    assert!(error.starts_with("the stream broke off (agent:default: the program ended in the middle of its reply; it said: lost"), "{error}");
}

#[test]
fn a_program_that_needs_a_login_says_how() {
    // On standard output with exit code 0, on standard output, on standard error.
    for script in [
        r#"echo '{"error": "Not signed in. Please log in."}'"#,
        r#"echo '{"error": "Not signed in. Please log in."}'; exit 1"#,
        "echo 'Not signed in. Please log in.' >&2; exit 41",
    ] {
        let error = error(&home_with(script, ""));
        assert_eq!(
            error,
            "the program needs a login (agent:default: Not signed in. Please log in.; to log in: agent login)"
        );
    }
}

#[test]
fn failures_name_the_cause() {
    for (script, expected) in [
        (
            "echo details; echo 'disk on fire' >&2; exit 3",
            "the program failed (agent:default: exit status: 3: disk on fire)",
        ),
        (
            "kill -9 $$",
            "the program failed (agent:default: signal: 9 (SIGKILL)",
        ),
        (
            r"printf 'ab\377cd'",
            "the program failed (agent:default: its output is not UTF-8 (byte 2))",
        ),
        (
            "true",
            "the program failed (agent:default: it printed no JSON)",
        ),
        (
            r#"echo '{"structured": null}'"#,
            "the program failed (agent:default: it printed no reply)",
        ),
        (
            "yes",
            "the program failed (agent:default: it printed more than 16 MiB and was stopped)",
        ),
    ] {
        let home = home_with(script, "");
        let error = error(&home);
        assert!(error.starts_with(expected), "{error}");
        assert_eq!(left_in(&home.path().join("tmp")), Vec::<PathBuf>::new());
    }
    let home = home_with("true", "");
    std::fs::remove_file(home.path().join("bin/agent")).unwrap();
    let error = error(&home);
    assert!(
        error.starts_with("the program cannot be started (agent:default: program '/"),
        "{error}"
    );
    assert!(
        error.ends_with("bin/agent' not found: install it, or set command in [providers.agent])"),
        "{error}"
    );
}

#[test]
fn a_program_works_in_an_empty_folder_that_is_removed() {
    let script = format!(
        r#"{{ ls -A; cat roundtable.toml ../roundtable.toml ../../roundtable.toml; }} > "$HOME/seen" 2> /dev/null
pwd > "$HOME/where"; echo mine > note.txt; {GOOD}"#
    );
    let home = home_with(&script, "");
    assert_eq!(call(&home)["ok"], true);
    let read = |name: &str| std::fs::read_to_string(home.path().join(name)).unwrap();
    assert_eq!(read("seen"), "");
    assert!(
        read("where").contains("/tmp/roundtable-"),
        "{}",
        read("where")
    );
    assert_eq!(left_in(&home.path().join("tmp")), Vec::<PathBuf>::new());
}

#[test]
fn a_program_gets_no_foreign_variables() {
    let home = home_with(
        &format!(r#"env > "$HOME/seen"; {GOOD}"#),
        "env = [\"MINE\"]",
    );
    let mut doctor = command(&home, &["doctor"]);
    for name in [
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "ROUNDTABLE_DATABASE_PASSWORD",
        "MINE",
    ] {
        doctor.env(name, "sk-0123456789");
    }
    finished(doctor.output().unwrap());
    let seen = std::fs::read_to_string(home.path().join("seen")).unwrap();
    let names = seen.lines().filter_map(|line| line.split_once('='));
    let mut names: Vec<&str> = names.map(|(name, _)| name).collect();
    names.retain(|name| !["_", "SHLVL", "OLDPWD"].contains(name));
    names.sort_unstable();
    assert_eq!(
        names,
        ["HOME", "MINE", "NO_COLOR", "PATH", "PWD", "TERM", "TMPDIR"]
    );
}

/// A secret that the program repeats in an error is masked.
#[test]
fn a_passed_key_is_masked_in_errors() {
    let home = home_with(
        r#"echo "bad key $MY_API_KEY" >&2; exit 1"#,
        "env = [\"MY_API_KEY\"]",
    );
    let mut doctor = command(&home, &["doctor", "--json"]);
    let run = finished(doctor.env("MY_API_KEY", "sk-0123456789").output().unwrap());
    assert!(run.out.contains("bad key ***"), "{}", run.out);
    assert!(!run.out.contains("sk-0123456789"));
}

/// Answers every request of `ask`, by the schema in its first argument. Prints something else before.
fn debater(home: &Home) -> String {
    let mut script = format!(
        "cat > /dev/null\necho call >> \"{}\"\necho 'warning: a new version is available'\ncase \"$1\" in\n",
        home.path().join("calls").display()
    );
    for (schema, field) in [
        ("opening", "assumptions"),
        ("review", "verdicts"),
        ("critique", "ready_for_synthesis"),
        ("revision", "responses"),
        ("synthesis", "confidence_reason"),
        ("marking", "marks"),
    ] {
        let request = json!({ "response_format": { "json_schema": { "name": schema } } });
        let reply = json!({ "structured": serde_json::from_str::<Value>(&good(&request, 1)).unwrap(), "usage": { "in": 11, "out": 7 } });
        home.write(&format!("replies/{schema}"), &reply.to_string());
        let file = home.path().join("replies").join(schema);
        writeln!(script, "*'\"{field}\"'*) cat '{}' ;;", file.display()).unwrap();
    }
    script + "esac\n"
}

/// A home with the scripted server for all seats but the skeptic, which is the program.
fn mixed_home(server: &Server, before: &str) -> Home {
    let seats = "[tiers]\ndeliberate = \"lab:x\"\nfast = \"lab:x\"\n[dialectic]\nskeptic_model = \"agent:default\"\n";
    let home = Home::configured(&server.url(), &format!("{seats}{}", section("")));
    std::fs::create_dir(home.path().join("tmp")).unwrap();
    let script = format!("{before}\n{}", debater(&home));
    write_script(&home.path().join("bin/agent"), &script);
    home
}

fn calls(home: &Home) -> usize {
    let calls = std::fs::read_to_string(home.path().join("calls"));
    calls.unwrap_or_default().lines().count()
}

/// B-12
#[test]
fn b12_a_program_debates_beside_a_hosted_model() {
    let server = Server::good();
    let home = mixed_home(&server, "");
    let run = run(&home, &["ask", QUESTION, "--json"]);
    run.expect(0, &[]);
    let record = run.json();
    assert_eq!(record["state"], "complete", "{record}");
    assert!(calls(&home) >= 2);
    assert!(!server.asked().contains(&"critique".to_owned()));
    let text = record.to_string();
    assert!(text.contains("agent:default"), "{text}");
    // The price of a program is not known, so that of the debate is not either.
    let shown = finished(command(&home, &["show", "last"]).output().unwrap());
    assert!(
        shown.out.contains("unknown") || shown.err.contains("unknown"),
        "{}{}",
        shown.out,
        shown.err
    );
}

/// A cost limit cannot hold for a program without a known price, unless it is free.
#[test]
fn a_program_without_a_price_is_refused_under_a_cost_limit() {
    let server = Server::good();
    let home = mixed_home(&server, "");
    let prices = "[prices.lab]\nx = { input = 1.0, output = 1.0 }\n";
    home.write("prices.toml", prices);
    let refused = run(&home, &["ask", QUESTION, "--max-cost", "5"]);
    refused.expect(2, &["agent:default"]);
    assert_eq!(calls(&home), 0);
    home.write(
        "prices.toml",
        &format!("{prices}[prices.agent]\ndefault = {{ input = 1.0, output = 1.0 }}\n"),
    );
    run(&home, &["ask", QUESTION, "--max-cost", "5"]).expect(0, &[]);
    assert!(calls(&home) >= 2);
}

#[test]
fn c08_a_debate_with_a_program_is_killed_and_resumed() {
    let server = Server::good();
    // The second call waits for the test.
    let home = mixed_home(
        &server,
        r#"[ -e "$HOME/calls" ] && touch "$HOME/waits" && while [ -d "$HOME" ] && [ ! -e "$HOME/gate" ]; do sleep 0.05; done"#,
    );
    let mut child = command(&home, &["ask", QUESTION])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for(&home.path().join("waits"));
    child.kill().unwrap();
    child.wait().unwrap();
    let (hosted, program) = (server.count(), calls(&home));
    assert_eq!(program, 1);
    home.write("gate", "");
    let run = run(&home, &["resume", "last", "--json"]);
    run.expect(0, &[]);
    assert_eq!(run.json()["state"], "complete");
    // The first call of each seat was not repeated.
    assert!(server.count() > hosted && !server.asked()[hosted..].contains(&"opening".to_owned()));
}

/// C-04: a program is used only if it is named.
#[test]
fn c04_discovery_never_chooses_a_program() {
    let home = home_with(r#"touch "$HOME/started""#, "");
    home.write("roundtable.toml", &section(""));
    let run = run(&home, &["ask", QUESTION]);
    assert_ne!(run.code, 0, "{}", run.err);
    assert!(!home.path().join("started").exists());
}

/// The command of `home` without a named configuration file, so that the one in the working folder is only found.
fn found(home: &Home, args: &[&str]) -> Run {
    finished(
        command(home, args)
            .env_remove("ROUNDTABLE_CONFIG")
            .output()
            .unwrap(),
    )
}

/// C-03: a file of a cloned repository starts no program, neither its own nor one that the user has enabled.
#[test]
fn c03_a_file_that_is_not_trusted_starts_no_program() {
    let home = home_with(r#"touch "$HOME/started""#, "");
    let run = found(&home, &["ask", QUESTION]);
    run.expect(
        2,
        &[
            "unknown provider 'agent'",
            "[providers]",
            "roundtable config trust",
        ],
    );
    let own = format!(
        "[providers.agent]\nkind = \"command\"\ncommand = \"{}\"\n",
        home.path().join("bin/agent").display()
    );
    home.write(".config/roundtable/roundtable.toml", &own);
    home.write(
        "roundtable.toml",
        "[tiers]\ndeliberate = \"agent:default\"\n",
    );
    found(&home, &["ask", QUESTION]).expect(2, &["unknown provider 'agent'"]);
    assert!(!home.path().join("started").exists());
    // Named by the user, it is started.
    home.write("roundtable.toml", "");
    found(&home, &["ask", QUESTION, "--model", "agent:default"]);
    assert!(home.path().join("started").exists());
}

#[test]
fn a_program_is_enabled_and_disabled_in_the_users_own_file() {
    let home = Home::empty();
    write_script(&home.path().join("bin/claude"), r#"touch "$HOME/started""#);
    let path = format!("{}:{SYSTEM_PATH}", home.path().join("bin").display());
    let run = |args: &[&str]| finished(command(&home, args).env("PATH", &path).output().unwrap());
    let program = |run: &Run| run.json()["programs"].clone();

    let before = run(&["models", "--json"]);
    assert_eq!(program(&before)[0]["provider"], "claude");
    assert_eq!(program(&before)[0]["enabled"], false);
    run(&["config", "enable", "codex", "--yes"]).expect(
        2,
        &["Codex CLI is not installed: no program 'codex' on the PATH"],
    );
    run(&["config", "enable", "perl", "--yes"]).expect(
        2,
        &["unknown program 'perl': expected one of claude, codex,"],
    );
    // It asks, and says what it may cost.
    run(&["config", "enable", "claude"]).expect(2, &["billed as API use", "Add --yes"]);
    run(&["config", "enable", "claude", "--yes"]).expect(
        0,
        &[
            "billed as API use",
            "Enabled [providers.claude]",
            "--model claude:default",
        ],
    );

    let file = home.path().join(".config/roundtable/roundtable.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(
        text,
        "[providers.claude]\nkind = \"command\"\npreset = \"claude\"\n"
    );
    assert_eq!(program(&run(&["models", "--json"]))[0]["enabled"], true);
    run(&["config", "show"]).expect(0, &[]);

    std::fs::write(&file, format!("{text}timeout_s = 60 # mine\n")).unwrap();
    run(&["config", "disable", "claude"]).expect(
        2,
        &["[providers.claude] has settings of its own, such as timeout_s"],
    );
    std::fs::write(&file, format!("# mine\n{text}")).unwrap();
    run(&["config", "disable", "claude"]).expect(0, &["Disabled [providers.claude]"]);
    run(&["config", "disable", "claude"]).expect(0, &["Was not enabled"]);
    assert!(!std::fs::read_to_string(&file).unwrap().contains("claude"));
    assert!(!home.path().join("started").exists());
}
