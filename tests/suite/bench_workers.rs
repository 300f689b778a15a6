//! `roundtable bench --on-workers`, the budget that parallel debates share, and the worth of their rounds (B-01).

#![expect(
    clippy::cast_precision_loss,
    reason = "counts of a few calls and seats"
)]

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bench_runs::{arm, command, is_near, item, questions, reply};
use crate::harness::{Answer, Home, Server, schema_name};
use crate::workers::Worker;

/// B-01, B-04: two workers of a PostgreSQL database run the debates of a bench; a bench that is killed leaves them to the workers, and is
/// continued without a repeated call. Another bench on the same database has debates of its own.
#[test]
fn b01_two_workers_run_a_bench() {
    const ITEMS: usize = 8;
    let server = Server::start(|request, _| match reply(request, usize::MAX) {
        Answer::Reply(text) => Answer::Late(Duration::from_millis(20), text),
        other => other,
    });
    let home = Home::on_postgres(&server);
    home.write("items.csv", &questions(ITEMS));
    let run = ["--on-workers", "--folder", "own", "--jobs", "6", "--json"];
    let args = command("one,panel", &run);
    let workers =
        ["first", "second"].map(|name| Worker::start(&home, name, &["--concurrency", "2"]));
    let mut killed = home.command(&args);
    let mut killed = killed
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while server.count() < 20 {
        assert!(
            started.elapsed() < Duration::from_mins(1),
            "{}",
            server.count()
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    let bench = home.run(&args).expect(0, &["Waiting for workers"]).json();
    assert_eq!(server.count(), ITEMS * (1 + 9), "no call is repeated");
    assert_eq!(bench["run"]["unfinished"], 0);
    is_near(&arm(&bench, "panel")["accuracy"], 1.0);
    for worker in &workers {
        assert!(worker.log().contains("is complete"), "{}", worker.log());
    }
    // With one of them gone the other runs everything that is new.
    let [first, _second] = workers;
    drop(first);
    home.write("other.csv", &questions(2).replace("fits", "really fits"));
    let other = "bench other.csv --arms one --on-workers --folder other --json".split(' ');
    let other = home.run(&other.collect::<Vec<_>>()).expect(0, &[]).json();
    assert_eq!(other["source"]["questions"], 2);
    assert_eq!(server.count(), ITEMS * 10 + 2);
    // Again: everything is in the database.
    let again = home.run(&args).expect(0, &[]).json();
    assert_eq!(again, bench);
    assert_eq!(server.count(), ITEMS * 10 + 2);
}

#[test]
fn b01_workers_need_their_database() {
    let server = Server::good();
    let home = Home::with_model(&server);
    home.write("items.csv", &questions(1));
    let args = "bench items.csv --arms one --on-workers --folder own".split(' ');
    home.run(&args.collect::<Vec<_>>())
        .expect(2, &["--on-workers needs a PostgreSQL database"]);
    assert_eq!(server.count(), 0);
}

/// B-01: debates that run at the same time hold parts of the budget, so that together they never exceed it.
#[test]
fn b01_parallel_debates_never_exceed_the_budget() {
    let server = Server::start(|request, _| match reply(request, usize::MAX) {
        Answer::Reply(text) => Answer::Late(Duration::from_millis(20), text),
        other => other,
    });
    let home = Home::with_model(&server);
    // 500 tokens in, 100 out: $0.0007 a call, $0.0063 a panel.
    let price = "{ input = 1.0, output = 2.0 }";
    let prices = ["a", "b", "c", "d", "e", "x"].map(|model| format!("{model} = {price}\n"));
    home.write(
        ".config/roundtable/prices.toml",
        &format!("[prices.lab]\n{}", prices.concat()),
    );
    home.write("items.csv", &questions(16));
    let with = |cost: &'static str| {
        let more = ["--jobs", "16", "--max-cost", cost, "--json"];
        home.run(&command("panel", &more))
    };
    for (cost, limit) in [("0.02", 0.02), ("0.05", 0.05)] {
        let run = with(cost);
        run.expect(5, &["Run the same command with a higher --max-cost"]);
        let spent = server.count() as f64 * 0.0007;
        assert!(spent <= limit, "{spent} of {limit}");
    }
    let bench = with("5").expect(0, &[]).json();
    assert_eq!(bench["run"]["unfinished"], 0);
}

/// B-01: λ of a debate that was run, from the answers of its seats in each round, is that of the definition: gain in the Brier score by
/// squared movement, of the shares of the votes.
#[test]
fn b01_the_worth_of_rounds_is_measured_in_live_debates() {
    type Answers = BTreeMap<(usize, usize, String), bool>;
    let given: Arc<Mutex<Answers>> = Arc::default();
    let seen = Arc::clone(&given);
    let server = Server::start(move |request, _| {
        let mut reply = crate::debate::reply(request);
        if schema_name(request) == "contribution" {
            let (item, text) = (item(request), crate::debate::said(request));
            let round = text.split("is round ").nth(1).unwrap();
            let round: usize = round.split(' ').next().unwrap().parse().unwrap();
            let seat = text.rsplit("You are the ").next().unwrap();
            let seat = seat[..seat.find('.').unwrap()].to_owned();
            let is_right = match round {
                1 => (seat.len() + item).is_multiple_of(2),
                // The last item is spoilt.
                _ => item != 5,
            };
            let (right, wrong) = if item.is_multiple_of(2) {
                ("A", "B")
            } else {
                ("B", "A")
            };
            reply["debate_alignment"] = json!(if is_right { right } else { wrong });
            seen.lock().unwrap().insert((item, round, seat), is_right);
        }
        Answer::Reply(reply.to_string())
    });
    let home = Home::with_model(&server);
    home.write("items.csv", &questions(6));
    let args = "bench items.csv --arms debate-delphi --json".split(' ');
    let bench = home.run(&args.collect::<Vec<_>>()).expect(0, &[]).json();
    let given = given.lock().unwrap();
    let share = |item: usize, round: usize| {
        let own: Vec<bool> = given
            .iter()
            .filter(|((one, at, _), _)| (*one, *at) == (item, round))
            .map(|(_, is_right)| *is_right)
            .collect();
        own.iter().filter(|is_right| **is_right).count() as f64 / own.len() as f64
    };
    let (mut gain, mut squared) = (0.0, 0.0);
    for item in 0..6 {
        // Two answers: the Brier score is (1 − share)², and the half sum of the squared movement that of one of them.
        let (before, after) = (share(item, 1), share(item, 2));
        gain += (1.0 - before).powi(2) - (1.0 - after).powi(2);
        squared += (after - before).powi(2);
    }
    assert!(squared > 0.0);
    let moved: &Value = &bench["movements"][0];
    assert_eq!(
        (&moved["debate"], &moved["round"]),
        (&json!("debate-delphi"), &json!(2))
    );
    is_near(&moved["efficiency"], gain / squared);
    let text = home.run(&["bench", "items.csv", "--arms", "debate-delphi"]);
    assert!(
        text.expect(0, &[])
            .out
            .contains("of debate-delphi was worth λ"),
        "{}",
        text.out
    );
}
