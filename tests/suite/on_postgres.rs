//! The program with its debates in PostgreSQL (C-10), and moving them there and back.

#![cfg(unix)]

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::forecast::replies;
use crate::harness::postgres::Database;
use crate::harness::{Answer, Home, QUESTION, Server, Serving, finished, good, schema_name};

/// C-10, C-14: asked, listed, shown, rated, exported, deleted; and nothing of it in a file.
#[test]
fn c10_a_debate_lives_on_postgres() {
    let (server, database) = (Server::good(), Database::new());
    let home = Home::with_database(&server, database.url());
    home.ask(&["--quiet"]).expect(0, &[]);
    let listed = home.list();
    assert_eq!((listed.len(), &listed[0]["state"]), (1, &json!("complete")));
    let shown = home.run(&["show", "last", "--json"]).json();
    assert_eq!(shown["query"], QUESTION);
    // At once: who has ended a debate has let go of it.
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

/// C-08: killed in the middle of round 2 and resumed, only the call in flight is made twice; while it lives, nobody else may.
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
    run.expect(0, &["3 turns are in the journal and are not asked again"]);
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

/// Two that resume the same debate on different machines: one wins, the other says so.
#[test]
fn c08_of_two_that_resume_on_postgres_one_wins() {
    let database = Database::new();
    let server = Server::start(|request, before| {
        Answer::Late(Duration::from_secs(2), good(request, before))
    });
    let home = Home::with_database(&server, database.url());
    let mut child = home.command(&["ask", QUESTION]).spawn().unwrap();
    Serving::until_asked(&server, "opening");
    child.kill().unwrap();
    child.wait().unwrap();
    // Each with a home of its own: nothing but the database tells them of each other.
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

/// F-17: forecasts are persisted on PostgreSQL as on SQLite: all reads give the same over a restart of the server.
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

/// C-10: everything goes to PostgreSQL and back, verified, and both can be gone on with.
#[test]
fn c10_everything_is_copied_there_and_back_by_command() {
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
    for place in [["--data", folder], ["--data", back], ["--database", url]] {
        let with = |words: &[&str]| home.run(&[words, &place[..]].concat());
        let sound = with(&["db", "check", "--json"]).json();
        assert_eq!(
            (&sound["debates"], &sound["faults"]),
            (&json!(1), &json!([]))
        );
        assert_eq!(with(&["db", "migrate", "--json"]).json()["version"], 4);
        assert!(with(&["show", "last"]).out.contains("Put a queue"));
    }
    // Not into one that has something, not from one that is not there; and no word of the password.
    home.run(&["db", "copy", folder, url])
        .expect(2, &["already has 1 rows in 'debates'"]);
    home.run(&["db", "copy", "nowhere", url])
        .expect(2, &["there is no store in nowhere"]);
}

/// Old debates go when somebody says so, and not before.
#[test]
fn c14_old_debates_are_pruned_after_a_yes() {
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
    prune(&["--older-than", "1ms"]).expect(2, &["give --yes"]);
    prune(&["--older-than", "1ms", "--json"]).expect(2, &["--dry-run"]);
    prune(&["--older-than", "1ms", "--keep-rated", "--yes"]).expect(0, &["Deleted 1."]);
    assert_eq!(home.list()[0]["rating"], 8);
    prune(&["--older-than", "soon"]).expect(2, &[]);
}

/// A backup of a store in use is a store; a database on a server has its own way, which is said.
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
    assert_eq!(listed[0]["state"], "running");
    home.run(&["resume", "last", "--quiet", "--data", "restored"])
        .expect(0, &[]);
    home.run(&["backup", "x.dump", "--database", database.url()])
        .expect(2, &["pg_dump --format=custom --file=x.dump"]);
}

/// What is wrong with an address is said, and its password is not.
#[test]
fn c10_a_database_that_cannot_be_used_is_said_without_its_password() {
    let home = Home::empty();
    let said = |args: &[&str], code, words: &[&str]| {
        let run = home.run(args);
        run.expect(code, words);
        assert!(!run.err.contains("s3cret"), "{}", run.err);
    };
    said(
        &[
            "list",
            "--database",
            "postgres://ada:s3cret@127.0.0.1:1/debates",
        ],
        1,
        &[
            "the database postgres://127.0.0.1:1/debates cannot be used",
            "check that it runs",
        ],
    );
    said(
        &["list", "--database", "mysql://ada:s3cret@h/d"],
        2,
        &["postgres://user@host/database"],
    );
    home.write(
        "roundtable.toml",
        "[data]\ndatabase = \"mysql://ada:s3cret@h/d\"\n",
    );
    said(
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
    said(
        &["serve", "--no-work", "--data", "here"],
        2,
        &["--no-work needs workers"],
    );
    said(
        &["worker", "--data", "here"],
        2,
        &["workers share a PostgreSQL database"],
    );
}
