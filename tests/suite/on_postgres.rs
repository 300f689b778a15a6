//! Debates stored in PostgreSQL (C-10), and copying them there and back.

#![cfg(unix)]

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::forecast::replies;
use crate::harness::postgres::Database;
use crate::harness::{Answer, Home, QUESTION, Server, Serving, finished, good, schema_name};

/// C-10, C-14: all commands work on PostgreSQL, and nothing is written to a file.
#[test]
fn c10_all_commands_work_on_postgres() {
    let (server, database) = (Server::good(), Database::new());
    let home = Home::with_database(&server, database.url());
    home.ask(&["--quiet"]).expect(0, &[]);
    let listed = home.list();
    assert_eq!((listed.len(), &listed[0]["state"]), (1, &json!("complete")));
    let shown = home.run(&["show", "last", "--json"]).json();
    assert_eq!(shown["query"], QUESTION);
    // Works at once, because an ended debate is released.
    home.run(&["rate", "last", "9"]).expect(0, &[]);
    assert_eq!(home.list()[0]["rating"], 9);
    assert!(
        home.run(&["export", "last", "--format", "md"])
            .out
            .contains("Put a queue")
    );
    assert_eq!(
        database.sql("SELECT count(*), count(distinct owner) FROM debates"),
        "1|1"
    );
    assert_eq!(database.sql("SELECT owner FROM debates"), "");
    home.run(&["rm", "last", "--yes"]).expect(0, &[]);
    assert_eq!(database.sql("SELECT count(*) FROM journal"), "0");
    assert!(
        !home
            .path()
            .join(".local/share/roundtable/roundtable.db")
            .exists()
    );
}

/// C-08: killed in round 2 and resumed, only the call in flight is repeated; a running debate cannot be deleted.
#[test]
fn c08_killed_and_resumed_on_postgres_only_the_call_in_flight_is_repeated() {
    let database = Database::new();
    let server = Server::start(|request, before| match schema_name(request).as_str() {
        "review" if before == 0 => Answer::Late(Duration::from_mins(1), good(request, before)),
        "review" => Answer::Reply(good(request, before - 1)),
        _ => Answer::Reply(good(request, before)),
    });
    let home = Home::with_database(&server, database.url());
    let mut child = home
        .command(&["ask", QUESTION, "--seed", "7"])
        .spawn()
        .unwrap();
    Serving::until_asked(&server, "review");
    home.run(&["rm", "last", "--yes"])
        .expect(1, &["another process is running debate"]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(home.list()[0]["state"], "running");

    let run = home.run(&["resume", "last", "--json"]);
    run.expect(0, &["Resuming with 3 finished turns"]);
    assert_eq!(run.json()["total_rounds"], 3);
    assert_eq!(
        server.asked(),
        [
            "opening",
            "critique",
            "revision",
            "review",
            "review",
            "revision",
            "review",
            "synthesis",
            "marking"
        ]
    );
}

/// C-08: if two machines resume the same debate, one wins and the other reports it.
#[test]
fn c08_one_of_two_concurrent_resumes_on_postgres_wins() {
    let database = Database::new();
    let server = Server::start(|request, before| {
        Answer::Late(Duration::from_secs(2), good(request, before))
    });
    let home = Home::with_database(&server, database.url());
    let mut child = home.command(&["ask", QUESTION]).spawn().unwrap();
    Serving::until_asked(&server, "opening");
    child.kill().unwrap();
    child.wait().unwrap();
    // Each has its own home folder: they share only the database.
    let homes = [0, 1].map(|_| Home::with_database(&server, database.url()));
    let runs = homes.each_ref().map(|home| {
        home.command(&["resume", "last", "--quiet"])
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap()
    });
    let mut codes = runs.map(|run| finished(run.wait_with_output().unwrap()).code);
    codes.sort_unstable();
    assert_eq!(codes, [0, 1]);
    let openings = server
        .asked()
        .iter()
        .filter(|name| *name == "opening")
        .count();
    assert_eq!(openings, 2, "the one in flight at the kill, and one more");
}

/// F-17: forecasts read the same after a restart of the server.
#[test]
fn f17_forecasts_are_persisted_on_postgres() {
    let database = Database::new();
    let server = Server::start(|request, _| Answer::Reply(replies(request).to_string()));
    let home = Home::with_database(&server, database.url());
    let outcome = |id: &str| json!({ "id": id, "label": id, "description": "" });
    let request = json!({
        "task_id": "task-1",
        "prediction_context": {
            "task": { "raw_query": "Will the bridge open in time?" },
            "outcomes": [outcome("yes"), outcome("no")],
        },
    });
    let serving = Serving::start(&home, &[]);
    let reply = serving.post("/api/v1/reasoning/debate", &request);
    assert_eq!(reply.status, 200, "{}", reply.text());
    let result = reply.json();
    assert_eq!(server.asked().len(), 31);
    let at = |rest: &str| {
        format!(
            "/api/v1/reasoning/debate/{}{rest}",
            result["debate_id"].as_str().unwrap()
        )
    };
    let reads = |serving: &Serving| -> Vec<Value> {
        ["", "/round/2", "/role/historian", "/consensus"]
            .map(|rest| serving.get(&at(rest)).json())
            .into()
    };
    let before = reads(&serving);
    assert_eq!(before[0], result);
    let (code, _) = serving.terminate();
    assert_eq!(code, 0);
    let serving = Serving::start(&home, &[]);
    assert_eq!(reads(&serving), before);
    let resolved = serving.post(&at("/resolution"), &json!({ "outcome": "yes" }));
    assert!(resolved.status < 300, "{}", resolved.text());
    drop(serving);
    assert_eq!(
        database.sql("SELECT count(*) FROM journal WHERE kind = 'resolved'"),
        "1"
    );
}

/// C-10: everything is copied to PostgreSQL and back, verified, and both copies can be used.
#[test]
fn c10_a_store_is_copied_to_postgres_and_back() {
    let (server, database) = (Server::good(), Database::new());
    let home = Home::with_file(&server);
    home.ask(&["--quiet"]).expect(0, &[]);
    home.token("run");
    let folder = home.path().join(".local/share/roundtable");
    let (folder, url) = (folder.to_str().unwrap(), database.url());
    let there = home.run(&["db", "copy", folder, url, "--json"]);
    there.expect(0, &[]);
    let back = home.path().join("back");
    let back = back.to_str().unwrap();
    let again = home.run(&["db", "copy", url, back, "--json"]);
    assert_eq!(there.json()["tables"], again.json()["tables"]);
    assert_eq!(there.json()["tables"][0]["rows"], 1);
    for store in [["--data", folder], ["--data", back], ["--database", url]] {
        let with = |words: &[&str]| home.run(&[words, &store[..]].concat());
        let sound = with(&["db", "check", "--json"]).json();
        assert_eq!(
            (&sound["debates"], &sound["faults"]),
            (&json!(1), &json!([]))
        );
        assert_eq!(with(&["db", "migrate", "--json"]).json()["version"], 14);
        assert!(with(&["show", "last"]).out.contains("Put a queue"));
    }
    // Not into a store with data, and not from one that does not exist.
    home.run(&["db", "copy", folder, url])
        .expect(2, &["already has 1 rows in 'debates'"]);
    home.run(&["db", "copy", "nowhere", url])
        .expect(2, &["no store in nowhere"]);
}

/// C-14: old debates are deleted only after confirmation.
#[test]
fn c14_old_debates_are_pruned_after_confirmation() {
    let server = Server::good();
    let home = Home::with_file(&server);
    home.ask(&["--quiet"]).expect(0, &[]);
    home.ask(&["--quiet"]).expect(0, &[]);
    home.run(&["rate", "last", "8"]).expect(0, &[]);
    std::thread::sleep(Duration::from_millis(5));
    let prune = |more: &[&str]| home.run(&[&["db", "prune"], more].concat());
    let none = prune(&["--older-than", "90d", "--yes", "--json"]).json();
    assert_eq!(none["found"], json!([]));
    let dry = prune(&["--older-than", "1ms", "--keep-rated", "--dry-run", "--json"]).json();
    assert_eq!(
        (dry["found"].as_array().unwrap().len(), &dry["deleted"]),
        (1, &json!([]))
    );
    assert_eq!(home.list().len(), 2);
    prune(&["--older-than", "1ms"]).expect(2, &["Add --yes"]);
    prune(&["--older-than", "1ms", "--json"]).expect(2, &["--dry-run"]);
    prune(&["--older-than", "1ms", "--keep-rated", "--yes"]).expect(0, &["Deleted 1 debate."]);
    assert_eq!(home.list()[0]["rating"], 8);
    prune(&["--older-than", "soon"]).expect(2, &[]);
}

/// C-10: a backup of a store in use is a valid store; for a server, the error names `pg_dump`.
#[test]
fn c10_a_backup_while_a_debate_runs() {
    let database = Database::new();
    let server = Server::start(|request, before| match schema_name(request).as_str() {
        "review" if before == 0 => Answer::Late(Duration::from_secs(3), good(request, before)),
        _ => Answer::Reply(good(request, before)),
    });
    let home = Home::with_file(&server);
    let child = home.command(&["ask", QUESTION, "--quiet"]).spawn().unwrap();
    Serving::until_asked(&server, "review");
    let restored = home.path().join("restored");
    std::fs::create_dir(&restored).unwrap();
    home.run(&["backup", "restored/roundtable.db"])
        .expect(0, &[]);
    home.run(&["backup", "restored/roundtable.db"])
        .expect(2, &["is not overwritten"]);
    finished(child.wait_with_output().unwrap()).expect(0, &[]);
    let listed = home.run(&["list", "--json", "--data", "restored"]).json();
    assert_eq!(listed[0]["state"], "interrupted");
    home.run(&["resume", "last", "--quiet", "--data", "restored"])
        .expect(0, &[]);
    home.run(&["backup", "x.dump", "--database", database.url()])
        .expect(2, &["pg_dump --format=custom --file=x.dump"]);
}

/// C-10: errors about a database URL do not contain its password.
#[test]
fn c10_errors_about_a_database_do_not_show_its_password() {
    let home = Home::empty();
    let fails = |args: &[&str], code, words: &[&str]| {
        let run = home.run(args);
        run.expect(code, words);
        assert!(!run.err.contains("s3cret"), "{}", run.err);
    };
    fails(
        &[
            "list",
            "--database",
            "postgres://ada:s3cret@127.0.0.1:1/debates",
        ],
        1,
        &[
            "cannot use the database postgres://127.0.0.1:1/debates",
            "check that it is running",
        ],
    );
    fails(
        &["list", "--database", "mysql://ada:s3cret@h/d"],
        2,
        &["postgres://user@host/database"],
    );
    home.write(
        "roundtable.toml",
        "[data]\ndatabase = \"mysql://ada:s3cret@h/d\"\n",
    );
    fails(
        &["list"],
        2,
        &["roundtable.toml:2: invalid data.database: expected an address like"],
    );
    home.write(
        "roundtable.toml",
        "[data]\ndatabase = \"postgres://ada:s3cret@h/d\"\n",
    );
    let shown = home.run(&["config", "show"]);
    assert!(
        shown.out.contains("data.database") && !shown.out.contains("s3cret"),
        "{}",
        shown.out
    );
    fails(
        &["serve", "--no-work", "--data", "here"],
        2,
        &["--no-work needs workers"],
    );
    fails(
        &["worker", "--data", "here"],
        2,
        &["a worker needs a PostgreSQL database"],
    );
}
