//! A store written by an earlier build stays readable, and its debates can be resumed.
//!
//! `tests/fixtures/stores/f7c6943` holds a store that the build of that commit wrote (see `write_fixture`), and in `expected`
//! what that build printed and served from it. After a deliberate change of the output, `STORED_DEBATES_UPDATE=1` writes
//! `expected` again; the store itself is never written again.

#![cfg(unix)]

mod cli_flags;
mod script;
mod write_fixture;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use sqlx::{Connection, Row as _};

use crate::all_protocols::POST;
use crate::harness::{Home, Server, Serving, schema_name};
use script::Play;

const FIXTURE: &str = "tests/fixtures/stores/f7c6943";
/// The message that refuses a resume.
const DRIFT: &str = "prompts, casts or templates have changed";
const STATES_THAT_CAN_CONTINUE: [&str; 2] = ["interrupted", "waiting"];

/// A row of the journal, exactly as stored.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    seq: i64,
    key: String,
    at: i64,
    kind: String,
    body: String,
}

/// The journal of a debate, read without the program. Empty if there is no store yet.
fn journal(database: &Path, id: &str) -> Vec<Row> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let rows = runtime.block_on(async {
        sqlx::any::install_default_drivers();
        let address = format!("sqlite:{}?mode=ro", database.display());
        let mut connection = sqlx::AnyConnection::connect(&address).await?;
        let query =
            "SELECT seq, key, at, kind, body FROM journal WHERE debate_id = $1 ORDER BY seq";
        let rows = sqlx::query(query)
            .bind(id)
            .fetch_all(&mut connection)
            .await?;
        let rows = rows.iter().map(|row| {
            Ok(Row {
                seq: row.try_get("seq")?,
                key: row.try_get("key")?,
                at: row.try_get("at")?,
                kind: row.try_get("kind")?,
                body: row.try_get("body")?,
            })
        });
        let rows: Result<Vec<Row>, sqlx::Error> = rows.collect();
        connection.close().await?;
        rows
    });
    rows.unwrap_or_default()
}

/// A home for any of the stored debates, on SQLite in any case.
fn home_for(server: &Server) -> Home {
    let more = "\n[tiers]\ndeliberate = \"lab:x\"\nfast = \"lab:x\"\n\n[embedder]\nmodel = \"lab:words\"\n\n[data]\n";
    let home = Home::configured(&server.url(), more);
    home.write("post.md", POST);
    home
}

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(FIXTURE)
}

/// The ids of the stored debates by their names, such as `ask-partial`.
fn debates() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(fixture().join("debates.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn database(home: &Home) -> PathBuf {
    home.path().join(".local/share/roundtable/roundtable.db")
}

/// A home with a copy of the stored debates.
fn home_with_debates(server: &Server) -> Home {
    let home = home_for(server);
    let target = database(&home);
    std::fs::create_dir_all(target.parent().unwrap()).unwrap();
    std::fs::copy(fixture().join("roundtable.db"), target).unwrap();
    home
}

/// A server that must not be asked anything.
fn no_calls() -> Server {
    Server::start(|request, _| panic!("unexpected call for '{}'", schema_name(request)))
}

/// Compares a value with the committed one, or replaces that.
#[track_caller]
fn expect(file: &str, found: &Value) {
    let path = fixture().join("expected").join(file);
    if is_update() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = serde_json::to_string_pretty(found).unwrap();
        std::fs::write(&path, text + "\n").unwrap();
        return;
    }
    let mut differences = Vec::new();
    compare("", &expected(file), found, &mut differences);
    assert!(
        differences.is_empty(),
        "{file} has changed:\n{}",
        differences.join("\n")
    );
}

fn expected(file: &str) -> Value {
    let path = fixture().join("expected").join(file);
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

fn is_update() -> bool {
    #[expect(clippy::disallowed_methods, reason = "a choice of the caller")]
    std::env::var_os("STORED_DEBATES_UPDATE").is_some()
}

/// Adds a line for every place where two values differ.
fn compare(place: &str, expected: &Value, found: &Value, differences: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(before), Value::Object(now)) => {
            for (key, value) in before {
                let place = format!("{place}/{key}");
                match now.get(key) {
                    Some(now) => compare(&place, value, now, differences),
                    None => differences.push(format!("{place} is missing; it was {value}")),
                }
            }
            let added = now.iter().filter(|(key, _)| !before.contains_key(*key));
            differences.extend(added.map(|(key, value)| format!("{place}/{key} is new: {value}")));
        }
        (Value::Array(before), Value::Array(now)) if before.len() == now.len() => {
            for (index, (before, now)) in before.iter().zip(now).enumerate() {
                compare(&format!("{place}/{index}"), before, now, differences);
            }
        }
        _ if expected == found => {}
        _ => differences.push(format!("{place} is {found}; it was {expected}")),
    }
}

/// The fields of a report with their types, and the values of those that are not words for people.
fn shape(value: &Value) -> Value {
    fn collect(place: &str, value: &Value, fields: &mut BTreeMap<String, Vec<String>>) {
        let kind = match value {
            Value::Object(members) => {
                for (key, value) in members {
                    collect(&format!("{place}/{key}"), value, fields);
                }
                return;
            }
            Value::Array(items) => {
                for item in items {
                    collect(&format!("{place}[]"), item, fields);
                }
                "array".to_owned()
            }
            Value::String(text) => {
                let is_fixed = ["/kind", "/tone", "/place", "/mark", "/align"]
                    .iter()
                    .any(|end| place.ends_with(end));
                if is_fixed {
                    text.clone()
                } else {
                    "string".to_owned()
                }
            }
            Value::Number(_) => "number".to_owned(),
            Value::Bool(_) => "boolean".to_owned(),
            Value::Null => "null".to_owned(),
        };
        let kinds = fields.entry(place.to_owned()).or_default();
        if !kinds.contains(&kind) {
            kinds.push(kind);
            kinds.sort_unstable();
        }
    }
    let mut fields = BTreeMap::new();
    collect("", value, &mut fields);
    json!(fields)
}

/// C-10: they have no checksums and are read as they are; on request they get checksums.
#[test]
fn c10_stored_debates_without_checksums_pass_the_check() {
    let home = home_with_debates(&no_calls());
    let check = |more: &[&str]| {
        let run = home.run(&[&["db", "check", "--json"], more].concat());
        run.expect(0, &[]);
        run.json()
    };
    let before = check(&[]);
    assert_eq!(before["debates"], debates().len());
    assert_eq!(
        (&before["without_checksum"], &before["faults"]),
        (&before["entries"], &json!([]))
    );
    let after = check(&["--add-checksums"]);
    assert_eq!(
        (&after["without_checksum"], &after["entries"]),
        (&json!(0), &before["entries"])
    );
}

#[test]
fn stored_debates_are_listed() {
    let home = home_with_debates(&no_calls());
    let mut listed = home.list();
    let known = debates();
    assert_eq!(listed.len(), known.len());
    listed.sort_by_key(|row| row["created_at"].as_u64());
    expect("list.json", &json!(listed));
    for (name, id) in &known {
        let row = listed.iter().find(|row| row["id"] == *id).unwrap();
        let protocol = match Play::of(name) {
            Play::Ask => "dialectic",
            Play::Debate | Play::Enhanced => "modes",
            Play::Forecast => "forecast",
            Play::Judge => "councils",
        };
        let state = match name.split('-').next_back().unwrap() {
            "reopened" | "decided" => "complete",
            state => state,
        };
        assert_eq!(
            (&row["protocol"], &row["state"]),
            (&json!(protocol), &json!(state)),
            "{name}"
        );
    }
}

#[test]
fn stored_debates_are_shown_and_exported_for_people() {
    let home = home_with_debates(&no_calls());
    for (name, id) in debates() {
        for args in [
            &["show", &id][..],
            &["show", &id, "--transcript"],
            &["export", &id, "--format", "yaml"],
            &["export", &id, "--format", "md"],
            &["export", &id, "--format", "html"],
        ] {
            let run = home.run(args);
            run.expect(0, &[]);
            assert!(run.out.len() > 40, "{name} {args:?}: {}", run.out);
        }
    }
}

#[test]
fn records_of_stored_debates_are_unchanged() {
    let home = home_with_debates(&no_calls());
    for (name, id) in debates() {
        let record = home.run(&["show", &id, "--json"]).json();
        assert_eq!(record, home.run(&["export", &id]).json(), "{name}");
        expect(&format!("records/{name}.json"), &record);
        if Play::of(&name) == Play::Enhanced {
            home.run(&["record", &id]).expect(0, &[]);
            let record = home.run(&["record", &id, "--format", "json"]);
            record.expect(0, &[]);
            expect(&format!("enhanced_records/{name}.json"), &record.json());
        } else {
            home.run(&["record", &id]).expect(2, &[]);
        }
    }
}

#[test]
fn stored_debates_are_exported_as_training_data() {
    let home = home_with_debates(&no_calls());
    for training in ["chat", "preference"] {
        let args = [
            "export",
            "--format",
            "jsonl",
            "--min-score",
            "1",
            "--training",
            training,
        ];
        let run = home.run(&args);
        run.expect(0, &[]);
        let lines = run.out.lines();
        let lines: Vec<Value> = lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert!(!lines.is_empty());
        expect(&format!("training_{training}.json"), &json!(lines));
    }
}

#[test]
fn a_stored_database_passes_its_check() {
    let home = home_with_debates(&no_calls());
    home.run(&["db", "check"]).expect(0, &[]);
    let learned = home.run(&["learning", "history", "--json"]);
    expect("learning.json", &learned.expect(0, &[]).json());
}

/// The events of a debate. The stream of one that can continue stays open: then only as many as are expected are read.
fn events(serving: &Serving, id: &str, file: &str, is_open: bool) -> Value {
    let stream = serving.events(id, &[]);
    assert_eq!(stream.status, 200);
    let event = |sent: crate::harness::Sent| json!({ "id": sent.id, "event": sent.name, "data": sent.data });
    if !is_open {
        return stream.map(event).collect();
    }
    if !is_update() {
        let count = expected(file).as_array().unwrap().len();
        return stream.take(count).map(event).collect();
    }
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || stream.map(event).try_for_each(|event| sender.send(event)));
    std::iter::from_fn(|| receiver.recv_timeout(Duration::from_secs(3)).ok()).collect()
}

#[test]
fn stored_debates_are_served() {
    let home = home_with_debates(&no_calls());
    let serving = Serving::start(&home, &[]);
    let page = serving.get("/api/v1/debates?limit=500").json();
    let listed = page["debates"].as_array().unwrap();
    assert_eq!(listed.len(), debates().len());
    for (name, id) in debates() {
        let mut shown = serving.get(&format!("/api/v1/debates/{id}")).json();
        let row = listed.iter().find(|row| row["id"] == id).unwrap();
        for (key, value) in row.as_object().unwrap() {
            assert_eq!(&shown[key], value, "{name}: {key}");
        }
        let record = home.run(&["show", &id, "--json"]).json();
        assert_eq!(shown["record"].take(), record, "{name}");
        // Labels are words for people and may change; the fields may not.
        shown["report"] = shape(&shown["report"]);
        expect(&format!("api/{name}.json"), &shown);

        let is_open = STATES_THAT_CAN_CONTINUE.contains(&shown["state"].as_str().unwrap());
        let file = format!("events/{name}.json");
        let events = events(&serving, &id, &file, is_open);
        expect(&file, &events);

        for path in ["", "/panels"] {
            let page = serving.get(&format!("/debates/{id}{path}"));
            assert_eq!(page.status, 200, "{name}: {}", page.text());
            assert!(page.body.len() > 100, "{name}{path}: {}", page.text());
        }
        for format in ["json", "yaml", "md", "html"] {
            let file = serving.get(&format!("/api/v1/debates/{id}/export?format={format}"));
            assert_eq!(file.status, 200, "{name}: {}", file.text());
        }
        if Play::of(&name) == Play::Forecast {
            let shown = serving.get(&format!("/api/v1/reasoning/debate/{id}"));
            let answer = json!({ "status": shown.status, "body": shown.json() });
            expect(&format!("reasoning/{name}.json"), &answer);
        }
    }
}

/// Resumes the debates whose names end like this, each in a copy of its own.
fn resume_all(ending: &str, decision: impl Fn(&str) -> Option<&'static str>) {
    let debates = debates();
    let chosen: Vec<_> = debates
        .iter()
        .filter(|(name, _)| name.ends_with(ending))
        .collect();
    assert!(!chosen.is_empty());
    for (name, id) in chosen {
        resume(name, id, decision(name));
    }
}

/// Journaled steps stay as they are, and only missing ones are requested. A debate with a step whose prompt has changed since
/// is refused with a message that says so, and can still be shown.
fn resume(name: &str, id: &str, decision: Option<&str>) {
    let play = Play::of(name);
    let server = Server::start(move |request, _| play.reply(request));
    let home = home_with_debates(&server);
    let before = journal(&database(&home), id);
    let mut args = vec!["resume", id, "--json"];
    args.extend(decision.iter().flat_map(|choice| ["--decide", choice]));
    let run = home.run(&args);
    let after = journal(&database(&home), id);
    assert_eq!(
        after[..before.len()],
        before[..],
        "{name}: its journal has changed"
    );

    let mut asked = server.asked();
    asked.retain(|schema| schema != "none");
    // Prompts have changed since: steps that were answered with the old ones cannot be replayed (`Halt::Drift`).
    if run.err.contains(DRIFT) {
        assert_eq!(run.code, 1, "{name}: {}", run.err);
        assert!(asked.is_empty(), "{name} asked for {asked:?}");
        if name.ends_with("partial") {
            assert_eq!(after, before, "{name}: it stays as it ended");
        }
        expect(&format!("resumed/{name}.json"), &json!({ "refused": true }));
        home.run(&["show", id]).expect(0, &[]);
        home.run(&["db", "check"]).expect(0, &[]);
        return;
    }
    let new: Vec<(&Row, Value)> = after[before.len()..]
        .iter()
        .map(|row| (row, serde_json::from_str(&row.body).unwrap()))
        .collect();
    let calls: u64 = new
        .iter()
        .filter(|(_, body)| body["reused"] != true)
        .filter_map(|(_, body)| body["spent"]["calls"].as_u64())
        .sum();
    assert_eq!(
        asked.len() as u64,
        calls,
        "{name}: only new steps are asked for"
    );
    // Seats that speak at the same time may ask in any order.
    asked.sort_unstable();
    let requests: BTreeMap<_, _> = new
        .iter()
        .filter(|(_, body)| body["request"].is_string())
        .map(|(row, body)| (&row.key, &body["request"]))
        .collect();
    let others: Vec<_> = new
        .iter()
        .filter(|(row, body)| row.kind != "noted" && !body["request"].is_string())
        .map(|(row, _)| &row.key)
        .collect();
    let found = json!({
        "exit_code": run.code, "asked": asked, "requests": requests, "other_entries": others,
    });
    assert!(
        run.code == 0 || name.ends_with("partial"),
        "{name}: {}",
        run.err
    );
    expect(&format!("resumed/{name}.json"), &found);
    home.run(&["db", "check"]).expect(0, &[]);
}

#[test]
fn stored_interrupted_debates_are_resumed() {
    resume_all("-interrupted", |_| None);
}

#[test]
fn stored_waiting_debates_are_resumed_with_a_decision() {
    resume_all("-waiting", |name| match Play::of(name) {
        Play::Debate => Some("accept"),
        Play::Enhanced => Some("Monolith"),
        Play::Ask | Play::Forecast | Play::Judge => Some("continue"),
    });
}

#[test]
fn stored_partial_failed_and_cancelled_debates_are_resumed() {
    for ending in ["-partial", "-failed", "-cancelled"] {
        resume_all(ending, |_| None);
    }
}
