//! Integrity, deletion, upgrades and backups of stored debates.

#![cfg(unix)]

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::postgres::Database;
use crate::harness::{Answer, Home, Run, Server, Serving, good};
use crate::workers::Worker;

const CANARY: &str = "sassafras-4711";

/// The files of a home that contain the canary.
fn files_with_canary(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with_canary(&path));
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let canary = CANARY.as_bytes();
        if bytes.windows(canary.len()).any(|window| window == canary) {
            found.push(path.display().to_string());
        }
    }
    found
}

/// C-14: after `rm` no file of the home has the text, neither the store nor a cache.
#[test]
fn c14_rm_deletes_the_text_from_every_file() {
    let server = Server::good();
    let home = Home::with_file(&server);
    let question = format!("Should we plant {CANARY}?");
    home.run(&["ask", &question, "--quiet"]).expect(0, &[]);
    assert_ne!(files_with_canary(home.path()), Vec::<String>::new());
    home.run(&["rm", "last", "--yes"]).expect(0, &[]);
    assert_eq!(files_with_canary(home.path()), Vec::<String>::new());
}

/// C-14: the same over the API, while the server and another debate continue.
#[test]
fn c14_the_api_deletes_the_text_from_every_file() {
    let server = Server::good();
    let home = Home::with_file(&server);
    let serving = Serving::start(&home, &[]);
    let question = format!("Should we plant {CANARY}?");
    let request = json!({ "question": question, "model": "lab:x" });
    let created = serving.post("/api/v1/debates", &request);
    assert!(created.status < 300, "{}", created.text());
    let id = created.json()["id"].as_str().unwrap().to_owned();
    serving.until(&id, "complete");
    assert_ne!(files_with_canary(home.path()), Vec::<String>::new());
    let deleted = serving.send("DELETE", &format!("/api/v1/debates/{id}"), &[], b"");
    assert_eq!(deleted.status, 204, "{}", deleted.text());
    assert_eq!(files_with_canary(home.path()), Vec::<String>::new());
}

/// C-14: pruning makes the file smaller; on PostgreSQL it says who does that.
#[test]
fn c14_pruning_returns_disk_space() {
    let (server, database) = (Server::good(), Database::new());
    let home = Home::with_file(&server);
    for _ in 0..6 {
        home.ask(&["--quiet"]).expect(0, &[]);
    }
    let file = home.path().join(".local/share/roundtable/roundtable.db");
    let size = || std::fs::metadata(&file).unwrap().len();
    std::thread::sleep(std::time::Duration::from_millis(5));
    let before = size();
    let prune = ["db", "prune", "--older-than", "1ms", "--yes"];
    let pruned = home.run(&[&prune[..], &["--json"]].concat()).json();
    assert_eq!(pruned["deleted"].as_array().unwrap().len(), 6);
    let freed = pruned["freed_bytes"].as_u64().unwrap();
    assert_eq!(before - size(), freed);
    assert!(freed > before / 3, "{freed} of {before}");

    let home = Home::with_database(&server, database.url());
    home.ask(&["--quiet"]).expect(0, &[]);
    std::thread::sleep(std::time::Duration::from_millis(5));
    home.run(&prune)
        .expect(0, &["Deleted 1 debate.", "autovacuum", "VACUUM FULL"]);
}

/// The hash of every table, from a check without errors.
fn sound(home: &Home, store: &[&str]) -> Value {
    let check = home.run(&[&["db", "check", "--json"], store].concat());
    check.expect(0, &[]);
    let tables = check.json()["tables"].clone();
    assert!(
        tables.as_array().is_some_and(|tables| tables.len() >= 6),
        "{tables}"
    );
    tables
}

fn errors(check: &Run) -> String {
    assert_eq!(check.code, 1, "{} {}", check.out, check.err);
    check.out.clone()
}

/// C-10: a damaged store is reported with the entry, and a backup restores everything.
#[test]
fn c10_a_backup_restores_a_damaged_file() {
    let server = Server::good();
    let home = Home::with_file(&server);
    home.ask(&["--quiet"]).expect(0, &[]);
    home.run(&["rate", "last", "9"]).expect(0, &[]);
    home.token("run");
    std::fs::create_dir(home.path().join("backups")).unwrap();
    let back_up = || home.run(&["backup", "backups", "--keep", "2", "--json"]);
    let first = back_up().json();
    assert_eq!(first["deleted"], json!([]));
    home.ask(&["--quiet"]).expect(0, &[]);
    back_up().expect(0, &[]);
    home.write("backups/roundtable-mine.db", "not a backup");
    let last = back_up().json();
    assert_eq!(last["deleted"], json!([first["file"]]), "the oldest");
    assert!(home.path().join("backups/roundtable-mine.db").exists());
    let before = sound(&home, &[]);
    let shown = home.run(&["show", "last", "--json"]).out;

    // One bit of a text.
    let file = home.path().join(".local/share/roundtable/roundtable.db");
    let mut bytes = std::fs::read(&file).unwrap();
    let text = b"Put a queue";
    let at = bytes.windows(text.len()).rposition(|window| window == text);
    bytes[at.unwrap() + 4] ^= 2;
    std::fs::write(&file, bytes).unwrap();
    let found = errors(&home.run(&["db", "check"]));
    assert!(found.contains("does not match its checksum"), "{found}");
    // A damaged store does not push good backups out.
    back_up().expect(1, &["does not match its checksum"]);
    assert!(Path::new(&home.path().join(last["file"].as_str().unwrap())).exists());

    std::fs::remove_file(&file).unwrap();
    std::fs::copy(home.path().join(last["file"].as_str().unwrap()), &file).unwrap();
    assert_eq!(sound(&home, &[]), before);
    assert_eq!(home.run(&["show", "last", "--json"]).out, shown);
    home.run(&["backup", "x.db", "--keep", "2"])
        .expect(2, &["--keep needs a folder"]);
}

/// C-10: the same on PostgreSQL, with its own tools.
#[test]
fn c10_a_dump_restores_a_damaged_database() {
    let (server, database, other) = (Server::good(), Database::new(), Database::new());
    let home = Home::with_database(&server, database.url());
    home.ask(&["--quiet"]).expect(0, &[]);
    home.run(&["rate", "last", "9"]).expect(0, &[]);
    home.token("run");
    let before = sound(&home, &[]);
    let dump = home.path().join("roundtable.dump");
    let dump = dump.to_str().unwrap();
    database.tool("pg_dump", &["--format=custom", &format!("--file={dump}")]);
    database.sql("UPDATE journal SET body = replace(body, 'Put a queue', 'Put a quEue')");
    let found = errors(&home.run(&["db", "check"]));
    assert!(
        found.contains(": entry ") && found.contains("does not match its checksum"),
        "{found}"
    );
    database.sql("DROP TABLE journal CASCADE");
    assert_ne!(home.run(&["db", "check"]).code, 0);

    other.tool("pg_restore", &["--no-owner", "--exit-on-error", dump]);
    let there = ["--database", other.url()];
    assert_eq!(sound(&home, &there), before);
    let shown = home.run(&["show", "last", "--database", other.url()]);
    assert!(shown.out.contains("Put a queue"), "{}", shown.out);
}

/// C-10: on a shared database with an older schema every command but `db migrate` says what to do.
#[test]
fn c10_an_older_shared_database_is_migrated_on_request() {
    let (server, database) = (Server::good(), Database::new());
    for name in [
        "0001_debates_and_journal",
        "0002_serving",
        "0003_learning",
        "0004_owners",
    ] {
        let path = format!("{}/migrations/{name}.sql", env!("CARGO_MANIFEST_DIR"));
        database.sql(&std::fs::read_to_string(path).unwrap());
    }
    let home = Home::with_database(&server, database.url());
    // The record of these migrations, as the program writes it.
    let template = Database::new();
    home.run(&["list", "--database", template.url()])
        .expect(0, &[]);
    let record = template.sql(
        "SELECT string_agg(format('(%s, %L, true, %L, 0)', version, description, checksum), ', ') FROM _sqlx_migrations \
         WHERE version <= 4",
    );
    let create = "CREATE TABLE _sqlx_migrations (version BIGINT PRIMARY KEY, description TEXT NOT NULL, installed_on TIMESTAMPTZ \
                  NOT NULL DEFAULT now(), success BOOLEAN NOT NULL, checksum BYTEA NOT NULL, execution_time BIGINT NOT NULL)";
    database.sql(&format!(
        "{create}; INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES {record}"
    ));
    for command in [
        &["list"][..],
        &["db", "check"],
        &["serve", "--bind", "127.0.0.1:0"],
        &["worker"],
    ] {
        home.run(command).expect(
            2,
            &["has an older schema: version 4", "`roundtable db migrate`"],
        );
    }
    assert_eq!(
        database.sql("SELECT max(version) FROM _sqlx_migrations"),
        "4"
    );
    home.run(&["db", "migrate"]).expect(0, &[]);
    home.ask(&["--quiet"]).expect(0, &[]);
    sound(&home, &[]);
}

fn unit(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/systemd");
    std::fs::read_to_string(path.join(name)).unwrap()
}

fn setting(unit: &str, key: &str) -> String {
    let line = unit
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    line.unwrap_or_else(|| panic!("no {key}")).to_owned()
}

/// C-10: the scheduled backup of a file uses options that exist, as the user of the server.
#[test]
fn c10_the_backup_unit_calls_a_valid_command() {
    let (home, service) = (Home::empty(), unit("roundtable-backup.service"));
    let line = setting(&service, "ExecStart");
    let mut args: Vec<&str> = line.split(' ').skip(1).collect();
    args.push("--help");
    home.run(&args).expect(0, &[]);
    args.insert(1, "--no-such-flag");
    home.run(&args).expect(2, &["--no-such-flag"]);
    // A dynamic user is named after the unit, unless it has a name.
    assert_eq!(setting(&service, "User"), "roundtable");
    for name in ["roundtable-backup", "roundtable-backup-postgres"] {
        let timer = unit(&format!("{name}.timer"));
        assert!(
            timer.contains("[Timer]") && timer.contains("WantedBy=timers.target"),
            "{timer}"
        );
        assert_eq!(setting(&timer, "Persistent"), "true");
        assert!(unit(&format!("{name}.service")).contains("Type=oneshot"));
    }
}

/// C-10: the scheduled backup of a database keeps the newest 14 dumps, and they can be restored.
#[test]
fn c10_the_backup_unit_for_postgres_dumps_and_keeps_the_newest() {
    let (server, database, other) = (Server::good(), Database::new(), Database::new());
    let home = Home::with_database(&server, database.url());
    home.ask(&["--quiet"]).expect(0, &[]);
    let before = sound(&home, &[]);
    let folder = home.path().join("dumps");
    for day in 10..24 {
        home.write(
            &format!("dumps/roundtable-2026-10-{day}T03-00-00Z.dump"),
            "old",
        );
    }
    let line = setting(&unit("roundtable-backup-postgres.service"), "ExecStart");
    let script = line
        .strip_prefix("/bin/sh -euc '")
        .unwrap()
        .strip_suffix('\'')
        .unwrap();
    // As systemd passes it on.
    let script = script.replace("$$", "$").replace("%%", "%");
    let (path, host) = database.tools_and_connection();
    let dumped = Command::new("/bin/sh")
        .args(["-euc", &script])
        .env("PATH", format!("{}:/usr/bin:/bin", path.display()))
        .env("STATE_DIRECTORY", &folder)
        .envs(host)
        .output()
        .unwrap();
    assert!(
        dumped.status.success(),
        "{}",
        String::from_utf8_lossy(&dumped.stderr)
    );
    let mut dumps: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    dumps.sort();
    assert_eq!(dumps.len(), 14);
    assert!(
        dumps[0].ends_with("roundtable-2026-10-11T03-00-00Z.dump"),
        "{:?}",
        dumps[0]
    );
    let newest = dumps.pop().unwrap();
    other.tool(
        "pg_restore",
        &["--no-owner", "--exit-on-error", newest.to_str().unwrap()],
    );
    assert_eq!(sound(&home, &["--database", other.url()]), before);
}

/// B-04: workers of two versions run debates of one database side by side, before and after its migration, and hand them over to
/// each other. `SUITE_OLD_BINARY` names the program of the earlier version.
#[test]
#[ignore = "needs the program of an earlier version"]
fn b04_workers_of_two_versions_share_a_database() {
    #[expect(clippy::disallowed_methods, reason = "a setting of the test run")]
    let old = std::env::var_os("SUITE_OLD_BINARY").expect("SUITE_OLD_BINARY is not set");
    let database = Database::new();
    let server = Server::start(|request, before| {
        Answer::Late(std::time::Duration::from_millis(150), good(request, before))
    });
    let home = Home::with_database(&server, database.url());
    let of_old = |args: &[&str]| {
        let mut command = Command::new(&old);
        command
            .args(args)
            .current_dir(home.path())
            .env_clear()
            .env("HOME", home.path())
            .env("ROUNDTABLE_CONFIG", "roundtable.toml")
            .env("ROUNDTABLE_SOURCES", "nowhere");
        command
    };
    let listed = of_old(&["list"]).output().unwrap();
    assert!(listed.status.success(), "{listed:?}");
    let serving = Serving::spawn(&mut of_old(&[
        "serve",
        "--bind",
        "127.0.0.1:0",
        "--no-work",
    ]));
    let old_worker = Worker::spawn(of_old(&["worker", "--concurrency", "3"]), &home, "old");
    let mut ids: Vec<String> = (0..3).map(|_| serving.debate()).collect();
    home.run(&["list"]).expect(2, &["`roundtable db migrate`"]);
    home.run(&["db", "migrate"]).expect(0, &[]);
    // A version before migration 8 is refused by the new tables; later ones work with them.
    let after = of_old(&["list"]).output().unwrap();
    let old_has_checksums = after.status.success();
    assert!(
        old_has_checksums || after.status.code() == Some(2),
        "{after:?}"
    );
    let new_worker = Worker::start(&home, "new", &["--concurrency", "3", "--grace", "0"]);
    ids.extend((0..9).map(|_| serving.debate()));
    std::thread::sleep(std::time::Duration::from_millis(700));
    // The new worker hands over to the old one, and then the old one to another new one.
    new_worker.signal("-TERM");
    std::thread::sleep(std::time::Duration::from_secs(2));
    let last_worker = Worker::start(&home, "last", &["--concurrency", "6"]);
    drop(old_worker);
    let count = |id: &str, which: &str| {
        let sql = format!("SELECT count(*) FROM journal WHERE debate_id = '{id}' AND {which}");
        database.sql(&sql).parse::<u32>().unwrap()
    };
    for id in &ids {
        let started = std::time::Instant::now();
        // Between versions with different prompts, some wait for the old one, which has left.
        while !["complete", "failed"].contains(&serving.state(id).as_str())
            && count(id, "key LIKE 'left-alone/%'") == 0
        {
            assert!(started.elapsed().as_secs() < 60, "{id} does not end");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        // Versions that write no checksums fail a debate that they cannot replay.
        assert_eq!(
            count(
                id,
                "body LIKE '%\"failed\"%' AND kind = 'ended' AND checksum IS NOT NULL"
            ),
            0,
            "{id}"
        );
    }
    drop((new_worker, last_worker));
    let by_version = database.sql(
        "SELECT count(*) FILTER (WHERE checksum IS NULL) > 0 AND count(*) FILTER (WHERE checksum IS NOT NULL) > 0 FROM journal",
    );
    let expected = if old_has_checksums { "f" } else { "t" };
    assert_eq!(by_version, expected, "both have written");
    let report = home.run(&["db", "check", "--json"]).json();
    let faults = report["faults"].as_array().unwrap();
    let other: Vec<&Value> = faults
        .iter()
        .filter(|fault| !fault.as_str().unwrap().contains("has no checksum, but"))
        .collect();
    assert_eq!(other, Vec::<&Value>::new());
    let sealed = home.run(&["db", "check", "--add-checksums"]);
    let added: &[&str] = if old_has_checksums {
        &[]
    } else {
        &["Added checksums to"]
    };
    sealed.expect(0, added);
    sound(&home, &[]);
}
