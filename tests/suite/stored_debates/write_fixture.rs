//! Writes the fixture: a store with one debate of every protocol in every state.
//!
//! ```text
//! STORED_DEBATES_FOLDER=/tmp/fixture cargo nextest run -p roundtable --no-default-features --test suite \
//!     --run-ignored only stored_debates::write_fixture
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

use super::script::Play;
use super::{Row, home_for, journal};
use crate::all_protocols;
use crate::harness::{Answer, Gate, Home, Run, Server, Serving, schema_name};

struct Writer {
    data: TempDir,
    /// The ids of the debates so far, by name.
    ids: BTreeMap<String, String>,
}

impl Writer {
    fn run(&self, home: &Home, args: &[&str]) -> Run {
        home.run(&[args, &["--data", self.folder()]].concat())
    }

    fn folder(&self) -> &str {
        self.data.path().to_str().unwrap()
    }

    fn database(&self) -> PathBuf {
        self.data.path().join("roundtable.db")
    }

    /// Names the debate that was started last.
    fn name(&mut self, home: &Home, name: &str, state: &str) {
        let listed = self.run(home, &["list", "--json"]).json();
        let row = &listed[0];
        assert_eq!(row["state"], state, "{name}: {row}");
        let id = row["id"].as_str().unwrap().to_owned();
        assert!(!self.ids.values().any(|known| *known == id), "{name}");
        self.ids.insert(name.to_owned(), id);
    }

    fn start(&self, home: &Home, play: Play) -> Child {
        let command = [play.command().as_slice(), &["--data", self.folder()]].concat();
        home.command(&command)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn complete(&mut self, play: Play) {
        let server = Server::start(move |request, _| play.reply(request));
        let home = home_for(&server);
        let mut command = play.command();
        if play == Play::Enhanced {
            command.extend(["--domain", "queues"]);
        }
        self.run(&home, &command).expect(0, &[]);
        self.name(&home, &format!("{}-complete", play.name()), "complete");
        // Additions of people to a finished debate are in its journal too.
        let later: &[&[&str]] = match play {
            Play::Ask => &[&["rate", "last", "9", "--comment", "good"]],
            Play::Forecast => &[&["resolve", "last", "Yes", "--by", "The mayor"]],
            Play::Enhanced => &[
                &["track", "last", "Queue deployed", "--week", "1"],
                &["post-mortem", "last", "--from", "assessment.yaml"],
            ],
            Play::Debate | Play::Judge => &[],
        };
        home.write(
            "assessment.yaml",
            "post_mortem_assessment:\n  decision_accuracy: 0.6\n",
        );
        for command in later {
            self.run(&home, command).expect(0, &[]);
        }
    }

    fn partial(&mut self, play: Play) {
        let server = Server::start(move |request, _| play.reply_with_a_failing_seat(request));
        let home = home_for(&server);
        self.run(&home, &play.command()).expect(3, &[]);
        self.name(&home, &format!("{}-partial", play.name()), "partial");
    }

    /// Killed after this many steps, with the next ones in flight.
    fn interrupted(&mut self, play: Play, steps: usize) {
        let left = AtomicUsize::new(steps);
        let server = Server::start(move |request, _| {
            let is_call = schema_name(request) != "none";
            let take = |count: usize| count.checked_sub(1);
            let is_held = is_call
                && left
                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, take)
                    .is_err();
            if is_held {
                Answer::Silence
            } else {
                play.reply(request)
            }
        });
        let home = home_for(&server);
        let child = self.start(&home, play);
        let mut id = None;
        wait_until(&format!("{} at {steps} steps", play.name()), || {
            id = id.take().or_else(|| self.newest(&home));
            let finished = id.as_ref().map_or(0, |id| {
                let rows = journal(&self.database(), id);
                rows.iter().filter(|row| is_finished_step(row)).count()
            });
            let calls = server.asked().iter().filter(|name| *name != "none").count();
            finished == steps && calls > steps
        });
        signal(&child, "-KILL");
        wait(child);
        self.name(&home, &format!("{}-interrupted", play.name()), "running");
    }

    /// The id of a running debate that has no name yet.
    fn newest(&self, home: &Home) -> Option<String> {
        let listed = self.run(home, &["list", "--json"]).json();
        let id = listed[0]["id"].as_str()?.to_owned();
        (!self.ids.values().any(|known| *known == id)).then_some(id)
    }

    /// A panel that asks a person.
    fn undecided(&mut self, play: Play) {
        let server = Server::start(move |request, _| play.reply_that_needs_a_decision(request));
        let home = home_for(&server);
        self.run(&home, &play.command()).expect(3, &[]);
        self.name(&home, &format!("{}-waiting", play.name()), "waiting");
    }

    /// Paused by a client of the server, after a person has said something.
    fn paused(&mut self, play: all_protocols::Play) {
        let replies = Play::of(play.name());
        let gate = Gate::default();
        let server = Server::start({
            let gate = gate.clone();
            move |request, _| {
                let answer = replies.reply(request);
                if let Answer::Reply(text) = answer {
                    return Answer::Gated(gate.clone(), text);
                }
                answer
            }
        });
        let home = home_for(&server);
        let serving = Serving::start(&home, &["--data", self.folder()]);
        let started = serving.post("/api/v1/debates", &play.request());
        assert_eq!(started.status, 202, "{}", started.text());
        let id = started.json()["id"].as_str().unwrap().to_owned();
        let path = format!("/api/v1/debates/{id}");
        wait_until("a first call", || server.count() > 0);
        let said = json!({ "text": "Costs matter most.", "by": "The owner" });
        let said = serving.post(&format!("{path}/input"), &said);
        assert!(said.status < 300, "{}", said.text());
        let paused = serving.post(&format!("{path}/pause"), &json!({}));
        assert!(paused.status < 300, "{}", paused.text());
        gate.open();
        serving.until(&id, "waiting");
        serving.terminate();
        self.name(&home, &format!("{}-waiting", play.name()), "waiting");
    }

    fn failed(&mut self) {
        let server = Server::start(|_, _| Answer::Status(400, "", "no".into()));
        let home = home_for(&server);
        self.run(&home, &Play::Ask.command());
        self.name(&home, "ask-failed", "failed");
    }

    fn cancelled(&mut self) {
        let server = Server::start(|request, _| match schema_name(request).as_str() {
            "review" => Answer::Silence,
            _ => Play::Ask.reply(request),
        });
        let home = home_for(&server);
        let child = self.start(&home, Play::Ask);
        Serving::until_asked(&server, "review");
        signal(&child, "-INT");
        wait(child);
        self.name(&home, "ask-cancelled", "cancelled");
    }

    /// Ended as partial, then resumed to its end.
    fn reopened(&mut self) {
        let server = Server::start(|request, before| match schema_name(request).as_str() {
            "marking" if before < 1 => Answer::Status(400, "", "no".into()),
            _ => Play::Ask.reply(request),
        });
        let home = home_for(&server);
        self.run(&home, &Play::Ask.command()).expect(3, &[]);
        self.run(&home, &["resume", "last", "--quiet"])
            .expect(0, &[]);
        self.name(&home, "ask-reopened", "complete");
    }

    fn decided(&mut self) {
        let server =
            Server::start(move |request, _| Play::Debate.reply_that_needs_a_decision(request));
        let home = home_for(&server);
        self.run(&home, &Play::Debate.command()).expect(3, &[]);
        self.run(&home, &["resume", "last", "--decide", "accept", "--quiet"])
            .expect(0, &[]);
        self.name(&home, "debate-decided", "complete");
    }

    fn save(&self, target: &Path) {
        std::fs::create_dir_all(target).unwrap();
        let file = target.join("roundtable.db");
        let _ = std::fs::remove_file(&file);
        self.run(&Home::empty(), &["backup", file.to_str().unwrap()])
            .expect(0, &[]);
        let names = serde_json::to_string_pretty(&self.ids).unwrap();
        std::fs::write(target.join("debates.json"), names + "\n").unwrap();
    }
}

fn is_finished_step(row: &Row) -> bool {
    row.kind == "step_finished"
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_mins(1), "never: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

fn signal(child: &Child, name: &str) {
    let mut kill = Command::new("kill");
    let status = kill.args([name, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

fn wait(mut child: Child) {
    child.wait().unwrap();
}

#[test]
#[ignore = "writes the fixture into the folder that STORED_DEBATES_FOLDER names"]
fn write_fixture() {
    #[expect(clippy::disallowed_methods, reason = "a choice of the caller")]
    let target = std::env::var_os("STORED_DEBATES_FOLDER").map(PathBuf::from);
    let target = target.unwrap_or_else(|| panic!("STORED_DEBATES_FOLDER is not set"));
    let mut writer = Writer {
        data: TempDir::new().unwrap(),
        ids: BTreeMap::new(),
    };
    for (play, steps) in [
        (Play::Ask, 4),
        (Play::Debate, 4),
        (Play::Enhanced, 4),
        (Play::Forecast, 13),
        (Play::Judge, 8),
    ] {
        writer.complete(play);
        writer.partial(play);
        writer.interrupted(play, steps);
    }
    writer.undecided(Play::Debate);
    writer.undecided(Play::Enhanced);
    for play in [
        all_protocols::Play::Ask,
        all_protocols::Play::Forecast,
        all_protocols::Play::Judge,
    ] {
        writer.paused(play);
    }
    writer.failed();
    writer.cancelled();
    writer.reopened();
    writer.decided();
    writer.save(&target);
}
