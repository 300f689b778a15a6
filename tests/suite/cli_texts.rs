//! Every text of the command line in two snapshots, to be read like prose: the `--help` of every command, and the errors for
//! invalid command lines.

#![cfg(unix)]

use std::fmt::Write;

use crate::harness::{Home, Server};

/// The headings of the lists of commands: those of the program itself are in groups.
pub(crate) const COMMAND_LISTS: [&str; 6] = [
    "Commands:",
    "Ask:",
    "Look:",
    "Learn:",
    "Serve:",
    "Configure:",
];

/// The names in the lists of commands of a help text.
fn subcommands(help: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_list = false;
    for line in help.lines() {
        if !line.starts_with(' ') {
            is_list = COMMAND_LISTS.contains(&line);
        } else if is_list && let Some(name) = line.strip_prefix("  ") {
            names.extend(name.split(' ').next().map(str::to_owned));
        }
    }
    names.retain(|name| !name.is_empty() && name != "help");
    names
}

/// Appends the help of a command and of its subcommands.
fn collect_help(home: &Home, path: &[&str], out: &mut String) {
    let run = home.run(&[path, &["--help"]].concat());
    run.expect(0, &[]);
    for line in run.out.lines() {
        assert!(line.chars().count() <= 80, "{path:?}: {line}");
    }
    let name = [&["roundtable"], path].concat().join(" ");
    // Every command has these; they are shown once.
    let global = [
        "--config <",
        "--data <",
        "--database <",
        "--color <",
        "--help",
    ];
    let mut lines: Vec<&str> = Vec::new();
    let mut skips = false;
    for line in run.out.lines() {
        let is_option = line.trim_start().starts_with('-');
        if is_option {
            skips = !path.is_empty() && global.iter().any(|option| line.contains(option));
        } else if !line.starts_with("      ") {
            skips = false;
        }
        if !skips {
            lines.push(line);
        }
    }
    let mut text = lines.join("\n").replace("\nOptions:\n\n", "\n");
    if !path.is_empty() {
        text = text.replace("\nGlobal options:\n", "");
    }
    while text.contains("\n\n\n") {
        text = text.replace("\n\n\n", "\n\n");
    }
    let _ = writeln!(out, "==== {name}\n\n{}\n", text.trim_end());
    assert!(run.out.contains("Example"), "{name} has no example");
    for subcommand in subcommands(&run.out) {
        collect_help(home, &[path, &[&subcommand]].concat(), out);
    }
}

#[test]
fn the_help_of_every_command() {
    let mut out = String::new();
    collect_help(&Home::empty(), &[], &mut out);
    // A command that no list has would not be checked.
    let commands = out.matches("==== roundtable").count();
    assert!(commands > 80, "{commands} commands");
    insta::assert_snapshot!("help", out);
}

/// Invalid command lines, in a home without a configuration and without debates.
const IN_AN_EMPTY_HOME: &str = r#"
asj
ask
forecast
judge
ask ""
ask -
ask binary.bin
ask questoin.md
ask .config
ask Is it good?
ask "Why?" --max-tokens-total 0
ask "Why?" --seat skeptic=
ask "Why?" --seat skeptic=ollama:x --seat skeptic=ollama:y
ask "Why?" --model qwen3:32b
ask "Why?" --model qwen3
ask "Why?" --model nowhere:x
ask "Why?" --model openai:gpt
ask "Why?" --config missing.toml
ask "Why?" --config broken.toml
ask "Why?" --config misspelt.toml
ask "Why?" --config invalid.toml
list --database folder
list --data folder --database postgres://x/y
list --state done
list --state compete
list --limit many
ask "Why?" --continue last
panel "Why?" --continue 3f2a
aks
show
show 3f2a
show ""
resume
export 3f2a
export last --format docx
export last --format md --training chat
export --format jsonl --min-score 11
rate last eleven
rate last 11
rm 3f2a
backup
backup binary.bin
db
db copy folder folder
db copy nowhere folder
db prune
db prune --older-than long
db prune --older-than 90d --json
templates show trade-of-analysis
templates add missing.toml
templates add misspelt.toml
modes show delfi
modes new "My Mode"
modes check missing.toml
modes check misspelt.toml
casts show temis
casts new "My Cast"
casts new mine --from nobody
casts check misspelt.toml
casts check lonely.toml
casts check dialektik.toml
prompts show dialectic/propos
config set tiers.fats ollama:x
config set tiers.fast x
config set convergence.similarity 1.2
config set-algorithm oracle
init
init --model gpt --yes
init --force
update
schema council
schema x
completions cmd
token add ""
token add ada --scope all
token add ada --expires soon
token revoke ada
token rotate ada
token end-session 5f2c81a09be4
serve --bind here
serve --bind 0.0.0.0:0
serve --bind 0.0.0.0:0 --open
serve --host debates.example.org
serve --trusted-proxy 0.0.0.0/0
serve --open=all
serve --begin-empty
serve --answer-within -1
serve --no-work
worker
worker --grace 60
learning
learning undo
learning undo 9
learning reset
learning reset --all
learning import missing.json
learning import broken.json
learning import other.json
post-mortem
post-mortem last
post-mortem --record missing.yaml
post-mortem last --domain " "
track last Late --status delay
track last Late --status x
track last Late --time-cost "a while"
track last Late --surprise 7
track last Late --surprise very
track last Late --week 0
track last Late --date soon
track last
track last Late
resolve last
resolve last yes
record last
"#;

/// Invalid command lines, with a model server and one finished debate.
const WITH_A_DEBATE: &str = r#"
ask "Why?" --model labb:x
ask "Why?" --rounds x
ask "Why?" --rounds 5..3
ask "Why?" --rounds 1..99
ask "Why?" --cast dialektic
ask "Why?" --cast panel
ask "Why?" --seat skeptic
ask "Why?" --seat sceptic=lab:y
ask "Why?" --seat skeptic=y --model z
ask "Why?" --timeout soon
ask "Why?" --max-cost -1
ask "Why?" --max-cost cheap
ask "Why?" --max-cost 0.5
ask "Why?" --max-tokens-total many
ask "Why?" --seed x
ask "Why?" --json --events
debate "Why?" --mode chaos
debate "Why?" --mode delfi --seats 2 --rounds 0
debate "Why?" --seats 9
debate "Why?" --rounds 2 --focus "3=How?"
debate "Why?" --focus "1=How?" --focus "Where?"
debate "Why?" --cast dialectic
debate "Why?" --stakes low
debate "Why?" --enhanced --no-enhanced
debate "Why?" --algorithm oracle
debate "Why?" --domain hiring
debate "Why?" --source missing.md
debate "Why?" --source binary.bin
debate - --interactive
forecast "Will it open?"
forecast "Will it open?" --outcome Yes
forecast "Will it open?" --outcome Yes --outcome yes
forecast "Will it open?" --outcome Yes --outcome No --judge-weight nan
forecast "Will it open?" --outcome Yes --outcome No --rounds 0
forecast "Will it open?" --outcome Yes --outcome No --judge-weight 60
forecast "Will it open?" --outcome Yes --outcome No --role wizard --role judge
forecast "Will it open?" --outcome Yes --outcome No --resolves soon
forecast "Will it open?" --outcome Yes --outcome No --context missing.md
forecast --request missing.json
forecast --request broken.json
forecast --request other.json
judge missing.md
judge empty.md
judge binary.bin
judge picture.png
judge text.md --image text.md
judge text.md --image picture.png
judge text.md --rank
judge text.md --rank --together
ask "Why?" --continue zzzz
judge text.md --cast temis
show zzzz
rm last
rate last 0
resolve last yes
record last
track last " "
ask "Why?" --cast lonely.toml
track last --from misspelt.yaml
track last --from empty.yaml
post-mortem last
post-mortem last --from misspelt.yaml
post-mortem last --from empty.yaml
export last --format md -o missing/answer.md
"#;

fn write_files(home: &Home) {
    home.write("text.md", "Bread can sing.\n");
    home.write("empty.md", "");
    std::fs::write(home.path().join("binary.bin"), [0xff, 0xfe, 0x00]).unwrap();
    std::fs::write(home.path().join("picture.png"), b"\x89PNG\r\n\x1a\n").unwrap();
    home.write("broken.toml", "[providers\n");
    home.write("misspelt.toml", "[tirs]\nfast = \"lab:x\"\n");
    home.write("invalid.toml", "[retry]\nattempts = -1\n");
    let seat = "[[seats]]\nname = \"proposer\"\ntitle = \"P\"\ntier = \"fast\"\ntemperature = 1\nmax_output_tokens = 9\npersona = \"p\"\n";
    for protocol in ["dialectic", "dialektik"] {
        let name = if protocol == "dialectic" {
            "lonely"
        } else {
            protocol
        };
        let cast =
            format!("name = \"{name}\"\nprotocol = \"{protocol}\"\nsummary = \"One.\"\n\n{seat}");
        home.write(&format!("{name}.toml"), &cast);
    }
    std::fs::create_dir_all(home.path().join(".config")).unwrap();
    home.write("broken.json", "{");
    home.write("other.json", "{}");
    home.write("empty.yaml", "implementation_tracking:\n  timeline: []\n");
    home.write(
        "misspelt.yaml",
        "post_mortem_assessment:\n  decision_acuracy: 0.6\n",
    );
}

/// The arguments of a command line; double quotes group words.
fn arguments(line: &str) -> Vec<&str> {
    let mut arguments = Vec::new();
    for (index, part) in line.split('"').enumerate() {
        if index % 2 == 1 {
            arguments.push(part);
        } else {
            arguments.extend(part.split_whitespace());
        }
    }
    arguments
}

/// Runs every command line and collects exit code and standard error.
fn collect_errors(home: &Home, command_lines: &str, model: &[&str]) -> String {
    let id = home.list().first().map(|debate| debate["id"].clone());
    let id = id.as_ref().and_then(|id| id.as_str());
    let mut out = String::new();
    for line in command_lines.trim().lines() {
        let mut args = arguments(line);
        let needs_model = matches!(args[..], ["ask" | "debate" | "forecast" | "judge", ..])
            && !args.contains(&"--model");
        if needs_model {
            args.extend(model);
        }
        let run = home.run(&args);
        assert_ne!(run.code, 0, "{line} is valid");
        assert!(!run.err.contains("panicked"), "{}", run.err);
        let mut text = run.err.replace(&home.path().display().to_string(), "~");
        if let Some(id) = id {
            text = text.replace(id, "ID");
        }
        // The last line of clap is the same everywhere.
        let text = text.replace("For more information, try '--help'.", "");
        let _ = writeln!(out, "$ roundtable {line}\n[{}] {}\n", run.code, text.trim());
    }
    out
}

#[test]
fn the_errors_of_invalid_command_lines() {
    let home = Home::empty();
    write_files(&home);
    let mut out = collect_errors(&home, IN_AN_EMPTY_HOME, &[]);
    let server = Server::good();
    let home = Home::with(&server);
    write_files(&home);
    home.ask(&["--quiet"]).expect(0, &[]);
    let asked = server.asked().len();
    out.push_str("==== With a model server and one finished debate\n\n");
    out.push_str(&collect_errors(&home, WITH_A_DEBATE, &["--model", "lab:x"]));
    insta::assert_snapshot!("errors", out);
    assert_eq!(
        server.asked().len(),
        asked,
        "an invalid command called a model"
    );
}
