//! `roundtable bench` on files of questions, with a scripted model server (B-01).

use std::fmt::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Answer, Home, Server, schema_name};

/// The right answer is A on even items, B on odd ones.
pub(crate) fn questions(count: usize) -> String {
    let mut text = String::from("id,question,options,answer\n");
    for item in 0..count {
        let answer = if item % 2 == 0 { "A" } else { "B" };
        writeln!(text, "i{item},Which one fits item {item}?,yes|no,{answer}").unwrap();
    }
    text
}

pub(crate) fn item(request: &Value) -> usize {
    let text = request["messages"].to_string();
    let (_, rest) = text.split_once("fits item ").unwrap();
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

/// A model that is right on all items but every third. In a panel, `a` and `d` are right, `b` and `c` wrong, and the chair is right;
/// from item `agreed` on all agree.
pub(crate) fn reply(request: &Value, agreed: usize) -> Answer {
    let item = item(request);
    let (right, wrong) = if item.is_multiple_of(2) {
        ("A", "B")
    } else {
        ("B", "A")
    };
    let schema = schema_name(request);
    let position = match request["model"].as_str().unwrap() {
        "b" | "c" if schema == "panel_answer" && item < agreed => wrong,
        "x" if item.is_multiple_of(3) => wrong,
        _ => right,
    };
    let reply = match schema.as_str() {
        "panel_answer" => json!({
            "answer": format!("Because of its number.\n\nAnswer: {position}"),
            "position": position,
            "confidence": 0.9,
        })
        .to_string(),
        "panel_ranking" => crate::panel::reply(request, ["A", "B", "A", "B"]),
        _ => json!({ "answer": format!("They differ.\n\nAnswer: {right}"), "position": right, "confidence": 0.8 })
            .to_string(),
    };
    Answer::Reply(reply)
}

const SEATS: [&str; 10] = [
    "--seat",
    "first=lab:a",
    "--seat",
    "second=lab:b",
    "--seat",
    "third=lab:c",
    "--seat",
    "fourth=lab:d",
    "--seat",
    "chair=lab:e",
];

pub(crate) fn command<'a>(arms: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["bench", "items.csv", "--arms", arms];
    args.extend(SEATS);
    args.extend(more);
    args
}

pub(crate) fn arm<'a>(bench: &'a Value, name: &str) -> &'a Value {
    let mut arms = bench["arms"].as_array().unwrap().iter();
    let found = arms.find(|arm| arm["arm"].as_str().unwrap().starts_with(name));
    found.unwrap_or_else(|| panic!("no arm {name}: {bench:#}"))
}

pub(crate) fn is_near(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap();
    assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
}

/// B-01: a debate, its blind round, one call, and votes at the debate's budget, on the same questions.
#[test]
fn b01_a_debate_is_compared_with_votes_at_its_own_budget() {
    let server = Server::start(|request, _| reply(request, usize::MAX));
    let home = Home::with_model(&server);
    home.write("items.csv", &questions(6));
    let run = home.run(&command("one,consistency,panel", &["--json"]));
    run.expect(0, &["6 questions, 2 runs per question"]);
    let bench = run.json();
    // Six panels of nine calls, and nine samples of six questions.
    assert_eq!(server.count(), 6 * 9 + 6 * 9);
    is_near(&arm(&bench, "one call")["accuracy"], 4.0 / 6.0);
    is_near(&arm(&bench, "panel")["accuracy"], 1.0);
    is_near(&arm(&bench, "blind vote of panel")["accuracy"], 0.5);
    is_near(&arm(&bench, "one call")["tokens_per_question"], 600.0);
    is_near(&arm(&bench, "panel")["tokens_per_question"], 5_400.0);
    is_near(
        &arm(&bench, "blind vote of panel")["tokens_per_question"],
        2_400.0,
    );
    let line = &bench["run"]["budgets"][0];
    is_near(&line["ratio"], 9.0);
    is_near(&line["spent"], 1.0);
    assert_eq!(line["samples"], 9);
    assert_eq!(line["is_equal"], true);
    is_near(
        &arm(&bench, "vote of k (equal budget with panel)")["tokens_per_question"],
        5_400.0,
    );
    assert_eq!(bench["run"]["vote_of_k"].as_array().unwrap().len(), 9);
    assert_eq!(
        bench["run"]["models"],
        json!(["lab:a", "lab:b", "lab:c", "lab:d", "lab:e", "lab:x"])
    );
    assert_eq!(bench["rounds"][0]["panel"]["corrected"], 0);
    assert_eq!(bench["agreement"][0]["agreement"], "2 of 4");
    // The debates of a bench are no debates of the user.
    assert_eq!(home.list().len(), 0);
    // Run again, it repeats nothing and finds the same.
    let again = home.run(&command("one,consistency,panel", &["--json"]));
    assert_eq!(again.expect(0, &[]).json(), bench);
    assert_eq!(server.count(), 6 * 9 + 6 * 9);
}

/// B-01: budgets that were measured on the first questions and came out different are not called equal.
#[test]
fn b01_budgets_that_differ_by_more_than_five_percent_are_not_equal() {
    let server = Server::start(|request, _| reply(request, 20));
    let home = Home::with_model(&server);
    home.write("items.csv", &questions(25));
    let bench = home.run(&command("consistency,panel", &["--json", "--jobs", "8"]));
    let bench = bench.expect(0, &[]).json();
    // The last five panels agree at once: four calls instead of nine.
    let line = &bench["run"]["budgets"][0];
    is_near(&line["spent"], 225.0 / 200.0);
    assert_eq!(line["is_equal"], false);
    let text = bench.to_string();
    assert!(text.contains("this is not an equal budget"), "{text}");
    assert!(
        text.contains("vote of k (1.12 of the budget of panel)"),
        "{text}"
    );
    assert!(!text.contains("equal budget with"), "{text}");
}

/// B-01, C-08: killed in the middle, the same command continues and repeats no finished call.
#[test]
fn b01_a_killed_bench_continues_without_repeating_a_finished_call() {
    let server = Server::start(|request, _| match reply(request, usize::MAX) {
        Answer::Reply(reply) => Answer::Late(Duration::from_millis(20), reply),
        other => other,
    });
    let home = Home::with_model(&server);
    home.write("items.csv", &questions(6));
    let args = command("one,panel", &["--json", "--jobs", "1", "--quiet"]);
    let mut child = home
        .command(&args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_mins(1);
    while server.count() < 25 {
        assert!(Instant::now() < deadline, "the bench made no calls");
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let before = server.count();
    let bench = home.run(&args).expect(0, &[]).json();
    // Four calls of a round can have been in flight.
    let repeated = server.count() - 6 * 10;
    assert!(repeated <= 4, "{repeated} calls were repeated");
    assert!(server.count() > before);
    is_near(&arm(&bench, "panel")["accuracy"], 1.0);
    assert_eq!(bench["run"]["unfinished"], 0);
}

/// B-01: the budget of the whole bench ends it, and a higher one continues it.
#[test]
fn b01_a_bench_stops_at_its_budget_and_continues_with_a_higher_one() {
    let server = Server::start(|request, _| reply(request, usize::MAX));
    let home = Home::with_model(&server);
    // 500 tokens in, 100 out: $0.0007 a call.
    home.write(
        ".config/roundtable/prices.toml",
        "[prices.lab]\nx = { input = 1.0, output = 2.0 }\n",
    );
    home.write("items.csv", &questions(8));
    let args = |cost: &'static str| {
        [
            "bench",
            "items.csv",
            "--arms",
            "one",
            "--json",
            "--jobs",
            "1",
            "--max-cost",
            cost,
        ]
    };
    let run = home.run(&args("0.0025"));
    run.expect(5, &["Run the same command with a higher --max-cost"]);
    let first = server.count();
    assert!((3..=5).contains(&first), "{first}");
    assert!(run.json()["run"]["unfinished"].as_u64().unwrap() >= 3);
    let run = home.run(&args("1"));
    let bench = run.expect(0, &[]).json();
    assert_eq!(bench["run"]["unfinished"], 0);
    assert!(server.count() <= 9, "{}", server.count());
    assert!(
        arm(&bench, "one call")["per_right"]["cost"]
            .as_f64()
            .unwrap()
            > 0.0
    );
}

/// B-01: a folder belongs to one file, version, seed and set of models.
#[test]
fn b01_a_bench_is_not_continued_with_other_questions_or_models() {
    let server = Server::start(|request, _| reply(request, usize::MAX));
    let home = Home::with_model(&server);
    home.write("items.csv", &questions(2));
    let args = |more: &[&'static str]| {
        let fixed = [
            "bench",
            "items.csv",
            "--arms",
            "one",
            "--folder",
            "b",
            "--quiet",
        ];
        [&fixed, more].concat()
    };
    home.run(&args(&[])).expect(0, &[]);
    home.write("items.csv", &questions(3));
    let run = home.run(&args(&["--seed", "2", "--model", "lab:y"]));
    run.expect(
        2,
        &[
            "b holds another bench",
            "the content of the file (sha256)",
            "--seed: it began with '1', now it is '2'",
            "the models: it began with '', now it is 'lab:y'",
            "Use another --folder",
        ],
    );
    // The folder of another version, with the same questions.
    home.write("items.csv", &questions(2));
    let manifest = std::fs::read_to_string(home.path().join("b/bench.json")).unwrap();
    let own = format!("\"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(manifest.contains(&own), "{manifest}");
    home.write("b/bench.json", &manifest.replace(&own, "\"0.0.9\""));
    home.run(&args(&[]))
        .expect(2, &["the version of the program: it began with '0.0.9'"]);
    assert_eq!(server.count(), 2);
}

#[test]
fn b01_shards_and_limits_choose_questions() {
    let server = Server::start(|request, _| reply(request, usize::MAX));
    let home = Home::with_model(&server);
    home.write("items.csv", &questions(10));
    let count = |more: &[&'static str]| {
        let fixed = [
            "bench",
            "items.csv",
            "--arms",
            "one,long",
            "--json",
            "--folder",
            "b",
        ];
        let run = home.run(&[&fixed, more].concat());
        run.expect(0, &[]).json()["source"]["questions"]
            .as_u64()
            .unwrap()
    };
    assert_eq!(count(&["--shard", "2/4"]), 3);
    assert_eq!(count(&["--shard", "4/4"]), 2);
    assert_eq!(count(&["--limit", "4"]), 4);
    let asked = server.count();
    assert_eq!(count(&["--shard", "2/4", "--limit", "2"]), 2);
    assert_eq!(server.count(), asked, "finished calls are used again");
}

/// B-01: parts of a bench that ran on other machines are merged without a further call.
#[test]
fn b01_shards_of_several_machines_are_merged() {
    let server = Server::start(|request, _| reply(request, usize::MAX));
    let home = Home::with_model(&server);
    home.write("items.csv", &questions(10));
    let run = |more: &[&'static str]| {
        let fixed = ["bench", "items.csv", "--arms", "one,panel", "--json"];
        home.run(&[&fixed, &SEATS[..], more].concat())
    };
    for (shard, folder) in [("1/2", "left"), ("2/2", "right")] {
        run(&["--shard", shard, "--folder", folder]).expect(0, &[]);
    }
    let calls = server.count();
    let merged = run(&["--folder", "all", "--also", "left", "--also", "right"]);
    let merged = merged.expect(0, &[]).json();
    assert_eq!(server.count(), calls, "nothing is asked again");
    assert_eq!(merged["source"]["questions"], 10);
    assert_eq!(merged["run"]["unfinished"], 0);
    is_near(&arm(&merged, "panel")["accuracy"], 1.0);
    run(&["--folder", "all", "--also", "none"]).expect(2, &["none is not the folder of a bench"]);
    let other = run(&["--folder", "b", "--also", "left", "--seed", "5"]);
    other.expect(
        2,
        &[
            "left holds another bench",
            "--seed: it began with '1', now it is '5'",
        ],
    );
}

#[test]
fn b01_invalid_benches_are_refused_before_any_call() {
    let server = Server::start(|request, _| reply(request, usize::MAX));
    let home = Home::with_model(&server);
    home.write("items.csv", &questions(2));
    home.write(
        "bad.csv",
        "id,question,options,answer\na,Q,x|y,z\na,Q,x|y,x\n",
    );
    let refused = |args: &[&str], reasons: &[&str]| {
        let args = [&["bench"], args].concat();
        home.run(&args).expect(2, reasons);
    };
    refused(
        &["bad.csv"],
        &["bad.csv: question 1: the answer 'z' is not among the options"],
    );
    refused(
        &["items.csv", "--arms", "one,pannel,models,one,ask@long"],
        &[
            "unknown arm 'pannel'; did you mean 'panel'?",
            "the arm 'one' is listed twice",
            "arm 'ask@long': unknown depth 'long'",
            "the arm 'models' needs --models with at least two models",
        ],
    );
    refused(
        &["items.csv", "--arms", "one,consistency"],
        &["the arm 'consistency' spends what a debate spends"],
    );
    for shard in ["3/2", "0/2", "2", "a/b"] {
        refused(
            &["items.csv", "--shard", shard],
            &["expected PART/PARTS, such as 2/8"],
        );
    }
    refused(
        &["items.csv", "--records", "x.csv"],
        &["cannot be used with"],
    );
    refused(&[], &["required"]);
    assert_eq!(server.count(), 0);
}

/// B-01: one call to each of several models, and their vote.
#[test]
fn b01_several_models_vote_and_an_estimate_comes_first() {
    let server = Server::start(|request, _| reply(request, usize::MAX));
    let home = Home::with_model(&server);
    home.write("items.csv", &questions(6));
    let args = [
        "bench",
        "items.csv",
        "--arms",
        "one,models",
        "--models",
        "lab:x,lab:y,lab:z",
    ];
    let run = home.run(&[&args[..], &["--estimate"]].concat());
    run.expect(0, &[]);
    assert!(run.out.contains("One of 6 questions:"), "{}", run.out);
    assert_eq!(server.count(), 0);
    let bench = home.run(&[&args[..], &["--json"]].concat());
    let bench = bench.expect(0, &[]).json();
    is_near(&arm(&bench, "vote of models")["accuracy"], 1.0);
    is_near(&arm(&bench, "one call")["accuracy"], 4.0 / 6.0);
}
