//! `roundtable resume` after a kill, an interruption or a race: no finished call is lost or repeated.

#![cfg(unix)]

use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::harness::{Answer, Home, QUESTION, Server, finished, good, schema_name};

/// A server that delays the first review, so that the program can be killed in the middle of round 2.
fn slow_review(wait: Duration, calls_repeated: usize) -> Server {
    Server::start(move |request, before| match schema_name(request).as_str() {
        "review" if before == 0 => Answer::Late(wait, good(request, before)),
        // The call in flight at the kill is repeated, and is still the first review of the debate.
        "review" => Answer::Reply(good(request, before - calls_repeated)),
        _ => Answer::Reply(good(request, before)),
    })
}

fn start(home: &Home) -> Child {
    home.command(&["ask", QUESTION, "--model", "lab:x", "--seed", "7"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn wait_for(server: &Server, schema: &str) {
    let start = Instant::now();
    while !server.asked().iter().any(|name| name == schema) {
        assert!(
            start.elapsed() < Duration::from_mins(1),
            "never asked for {schema}"
        );
        thread::sleep(Duration::from_millis(5));
    }
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}

/// C-08: a debate killed in round 2 and resumed completes; only the call in flight is repeated.
#[test]
fn c08_killed_in_round_two_and_resumed_only_the_call_in_flight_is_repeated() {
    let server = slow_review(Duration::from_secs(30), 1);
    let home = Home::with(&server);
    let mut child = start(&home);
    wait_for(&server, "review");
    signal(&child, "-KILL");
    child.wait().unwrap();
    // Nothing runs it any more, and every surface says so.
    assert_eq!(home.list()[0]["state"], "interrupted");
    let count = |state: &str| {
        let listed = home.run(&["list", "--json", "--state", state]).json();
        listed.as_array().unwrap().len()
    };
    assert_eq!((count("interrupted"), count("running")), (1, 0));
    let shown = home.run(&["show", "last"]);
    let id = home.list()[0]["id"].as_str().unwrap()[..8].to_owned();
    let resume = format!("roundtable resume {id}");
    for words in ["Interrupted", &resume, "the logs show bursts"] {
        assert!(
            shown.out.contains(words),
            "'{words}' is not in {}",
            shown.out
        );
    }
    let record = home.run(&["show", "last", "--json"]).json();
    assert_eq!(record["state"], "interrupted");
    let exported = home.run(&["export", "last", "--format", "html"]);
    assert!(exported.out.contains("Interrupted"), "{}", exported.out);

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

/// Ctrl-C saves the debate, prints the command to resume it, and exits with 130.
#[test]
fn ctrl_c_saves_and_prints_the_resume_command() {
    let server = slow_review(Duration::from_secs(30), 1);
    let home = Home::with(&server);
    let child = start(&home);
    wait_for(&server, "review");
    signal(&child, "-INT");
    let run = finished(child.wait_with_output().unwrap());
    let id = home.list()[0]["id"].as_str().unwrap().to_owned();
    let command = format!("roundtable resume {}", &id[..8]);
    run.expect(130, &["Interrupted", &command]);
    assert!(!run.err.contains("ancelled"), "{}", run.err);
    assert_eq!(home.list()[0]["state"], "interrupted");
    home.run(&["resume", &id, "--quiet"]).expect(0, &[]);
    assert_eq!(home.list()[0]["state"], "complete");
}

/// Only one process can run a debate; a second one fails with an error.
#[test]
fn a_running_debate_cannot_be_resumed_or_deleted() {
    let server = slow_review(Duration::from_secs(5), 0);
    let home = Home::with(&server);
    let child = start(&home);
    wait_for(&server, "review");
    assert_eq!(home.list()[0]["state"], "running");
    home.run(&["resume", "last"])
        .expect(1, &["another process is running debate"]);
    home.run(&["rm", "last", "--yes"])
        .expect(1, &["another process is running debate"]);
    finished(child.wait_with_output().unwrap()).expect(0, &[]);
    assert_eq!(server.asked().len(), 8);
}

#[test]
fn a_complete_debate_is_shown_and_not_run_again() {
    let server = Server::good();
    let home = Home::with(&server);
    home.ask(&["--quiet"]).expect(0, &[]);
    let run = home.run(&["resume", "last"]);
    run.expect(0, &["complete"]);
    assert!(run.out.contains("Put a queue"));
    assert_eq!(server.asked().len(), 8);
    // R10: what cannot be done is refused, not ignored.
    home.run(&["resume", "last", "--decide", "accept"])
        .expect(2, &["is complete and does not wait for a decision"]);
    home.run(&["resume", "last", "--max-cost", "much"])
        .expect(2, &["invalid --max-cost 'much'"]);
}

/// A partial debate names what is retried.
#[test]
fn c06_resuming_names_the_steps_that_are_retried() {
    let marks = AtomicUsize::new(0);
    let server = Server::start(move |request, before| {
        let is_mark = schema_name(request) == "marking";
        // Two replies of the judge, and two attempts to put them into their form.
        if is_mark && marks.fetch_add(1, Ordering::SeqCst) < 4 {
            return Answer::Reply("no".into());
        }
        Answer::Reply(good(request, before))
    });
    let home = Home::with(&server);
    home.ask(&[]).expect(3, &["retries the failed steps"]);
    home.run(&["resume", "last"])
        .expect(0, &["Retrying: the judge"]);
}

/// C-08: a journal that does not match the current prompts is an error.
#[test]
fn c08_changed_prompts_are_detected() {
    let server = slow_review(Duration::from_secs(30), 1);
    let home = Home::with(&server);
    let mut child = start(&home);
    wait_for(&server, "review");
    signal(&child, "-KILL");
    child.wait().unwrap();
    home.write(
        ".config/roundtable/prompts/dialectic/propose.md",
        "=== system\nOther.\n=== shared\n{{ question }}\n=== own\nAnswer.\n",
    );
    home.run(&["resume", "last"])
        .expect(1, &["r1/proposer/propose", "with a different prompt"]);
}

/// C-06: `resume` retries the step that was missing and plays on from there.
#[test]
fn c06_resume_retries_a_critique_that_was_missing() {
    let server = Server::start(move |request, before| match schema_name(request).as_str() {
        "critique" if before == 0 => Answer::Status(400, "", "{}".into()),
        _ => Answer::Reply(good(request, before)),
    });
    let home = Home::with(&server);
    home.ask(&["--quiet"]).expect(3, &[]);
    let calls = server.asked().len();
    let run = home.run(&["resume", "last", "--json"]);
    run.expect(0, &[]);
    let trace = run.json();
    assert_eq!(
        (&trace["state"], &trace["total_rounds"]),
        (&"complete".into(), &3.into())
    );
    assert_eq!(trace["result"]["missing"], serde_json::json!([]));
    let again = &server.asked()[calls..];
    assert_eq!(again[..2], ["critique", "revision"]);
    assert!(!again.iter().any(|name| name == "opening"));
    // The stored totals have every call that was made.
    let row = &home.list()[0];
    assert_eq!(row["totals"]["calls"], server.asked().len());
    assert_eq!(row["totals"]["calls"], trace["totals"]["debate"]["calls"]);
    let shown = home.run(&["show", "last", "--transcript"]).out;
    assert_eq!(shown.matches("Bursts are assumed, not shown.").count(), 1);
}

/// C-08: a reply that was sent back is in the journal: killed during the second request, the first is not repeated.
#[test]
fn c08_a_reply_that_was_sent_back_is_not_paid_for_twice() {
    let server = Server::start(move |request, before| match schema_name(request).as_str() {
        "opening" if before == 0 => Answer::Reply("I would use a queue.".into()),
        "opening" if before == 1 => Answer::Late(Duration::from_secs(30), good(request, 0)),
        _ => Answer::Reply(good(request, before)),
    });
    let home = Home::with(&server);
    let mut child = start(&home);
    let begun = Instant::now();
    while server.asked().len() < 2 {
        assert!(begun.elapsed() < Duration::from_mins(1), "never sent back");
        thread::sleep(Duration::from_millis(5));
    }
    signal(&child, "-KILL");
    child.wait().unwrap();
    let run = home.run(&["resume", "last", "--json"]);
    run.expect(0, &[]);
    let heard = server.heard();
    assert_eq!(heard[1]["messages"], heard[2]["messages"]);
    assert_ne!(heard[0]["messages"], heard[1]["messages"]);
    assert_eq!(server.asked()[3], "critique");
    assert_eq!(run.json()["totals"]["debate"]["calls"], 9);
}
