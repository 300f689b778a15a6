//! Arms and kinds of questions of `roundtable bench`: noise controls, probabilities, and open questions with a judge (B-01).

use serde_json::{Value, json};

use crate::bench_runs::{arm, command, is_near, item, questions, reply};
use crate::harness::{Answer, Home, Server, schema_name};

fn text(request: &Value) -> String {
    request["messages"].to_string()
}

/// Blind answers name their item. The chair is right only if it reads answers to its own item.
fn chaired(request: &Value, agreed: usize) -> Answer {
    let item = item(request);
    let (right, wrong) = if item.is_multiple_of(2) {
        ("A", "B")
    } else {
        ("B", "A")
    };
    match schema_name(request).as_str() {
        "panel_answer" if request["model"] != "x" => {
            let is_wrong = item < agreed && matches!(request["model"].as_str(), Some("b" | "c"));
            let position = if is_wrong { wrong } else { right };
            let answer = format!("Rationale of item {item}.\n\nAnswer: {position}");
            let reply = json!({ "answer": answer, "position": position, "confidence": 0.9 });
            Answer::Reply(reply.to_string())
        }
        "panel_answer" | "panel_ranking" => reply(request, agreed),
        _ => {
            let own = format!("Rationale of item {item}.");
            let position = if text(request).contains(&own) {
                right
            } else {
                wrong
            };
            let reply = json!({ "answer": format!("Answer: {position}"), "position": position, "confidence": 0.8 });
            Answer::Reply(reply.to_string())
        }
    }
}

/// B-01: the noise control reads the same number of answers, but to another question.
#[test]
fn b01_a_noise_control_reads_answers_to_another_question() {
    let server = Server::start(|request, _| chaired(request, 5));
    let home = Home::with_model(&server);
    home.write("items.csv", &questions(8));
    let args = command("one,panel,noise", &["--json"]);
    let bench = home.run(&args).expect(0, &[]).json();
    // Five panels go on after their blind round and are controlled with five calls each: their blind answers are lent.
    let calls = 8 + (5 * 9 + 3 * 4) + 5 * 5;
    assert_eq!(server.count(), calls);
    is_near(&arm(&bench, "panel")["accuracy"], 1.0);
    let control = arm(&bench, "noise control of panel");
    // Wrong where foreign answers were read, the same as the panel where nothing was read.
    is_near(&control["accuracy"], 3.0 / 8.0);
    is_near(&control["tokens_per_question"], 600.0 * (45.0 + 12.0) / 8.0);
    assert_eq!(control["questions"], 8);
    assert_eq!(bench["run"]["unfinished"], 0);
    let notes = bench["notes"].to_string();
    assert!(notes.contains("A noise control is its debate"), "{notes}");
    // Of its own item, no chair of a control has read anything.
    let heard = server.heard();
    let foreign = heard.iter().filter(|request| {
        let own = format!("Rationale of item {}.", item(request));
        schema_name(request) == "panel_ranking" && !text(request).contains(&own)
    });
    assert_eq!(foreign.count(), 5 * 4);
    let again = home.run(&args).expect(0, &[]).json();
    assert_eq!(again, bench);
    let report = home.run(&command("one,panel,noise", &["--quiet"]));
    let report = report.expect(0, &[]).out.clone();
    assert!(
        report.contains("From the blind vote to the result"),
        "{report}"
    );
    assert_eq!(server.count(), calls);
}

#[test]
fn b01_a_noise_control_needs_a_debate_with_a_blind_round() {
    let server = Server::start(|request, _| chaired(request, 5));
    let home = Home::with_model(&server);
    home.write("items.csv", &questions(2));
    let refused = |arms: &str, reason: &str| {
        home.run(&["bench", "items.csv", "--arms", arms])
            .expect(2, &[reason]);
    };
    refused("one,noise", "the arm 'noise' is the control of a debate");
    for debate in ["ask", "debate-socratic"] {
        refused(
            &format!("noise,{debate}"),
            &format!("read each other, such as panel or debate-delphi; '{debate}' does not"),
        );
    }
    assert_eq!(server.count(), 0);
}

fn forecast_set(count: usize) -> (String, String) {
    let questions: Vec<Value> = (0..count)
        .map(|item| {
            json!({
                "id": format!("m{item}"), "source": "manifold", "question": format!("Will what fits item {item} happen?"),
                "resolution_criteria": "As published.", "background": "N/A",
                "freeze_datetime": "2026-04-30T00:00:00+00:00", "freeze_datetime_value": "0.4",
                "freeze_datetime_value_explanation": "The market value.", "resolution_dates": "N/A",
            })
        })
        .collect();
    let resolutions: Vec<Value> = (0..count)
        .map(|item| {
            json!({
                "id": format!("m{item}"), "source": "manifold", "direction": null, "resolution_date": "2026-06-01",
                "resolved_to": if item % 2 == 0 { 1.0 } else { 0.0 }, "resolved": true,
            })
        })
        .collect();
    let set = "2026-05-10-llm.json";
    (
        json!({ "forecast_due_date": "2026-05-10", "question_set": set, "questions": questions }).to_string(),
        json!({ "forecast_due_date": "2026-05-10", "question_set": set, "resolutions": resolutions }).to_string(),
    )
}

/// B-01: probabilities are scored by their Brier score, next to the market's.
#[test]
fn b01_a_set_of_forecast_bench_is_scored_against_its_market() {
    let server = Server::start(|request, _| {
        let is_even = item(request).is_multiple_of(2);
        // x is well informed, y less so, z says nothing usable.
        let position = match (request["model"].as_str(), is_even) {
            (Some("x"), true) => "0.9",
            (Some("x"), false) => "10%",
            (Some("y"), _) => "0.5",
            _ => "I cannot know",
        };
        let reply = json!({ "answer": format!("See.\n\nAnswer: {position}"), "position": position, "confidence": 0.5 });
        Answer::Reply(reply.to_string())
    });
    let home = Home::with_model(&server);
    let (set, resolutions) = forecast_set(6);
    home.write("set.json", &set);
    home.write("resolutions.json", &resolutions);
    let args = [
        "bench",
        "set.json",
        "--resolutions",
        "resolutions.json",
        "--arms",
        "one,models",
        "--models",
        "lab:x,lab:y,lab:z",
        "--baseline",
        "market price",
    ];
    let bench = home.run(&[&args[..], &["--json"]].concat());
    let bench = bench.expect(0, &[]).json();
    assert_eq!(bench["measure"], "brier");
    // .36 where it happened, .16 where it did not.
    is_near(&arm(&bench, "market price")["brier"], 0.26);
    is_near(&arm(&bench, "one call")["brier"], 0.01);
    // The mean of .9 and .5, or .1 and .5: an answer without a number does not count.
    is_near(&arm(&bench, "vote of models")["brier"], 0.09);
    assert!(
        bench["conclusion"]
            .as_str()
            .unwrap()
            .contains("better than market price")
    );
    let run = home.run(&args);
    assert!(run.expect(0, &[]).out.contains("Brier"), "{}", run.out);
    assert!(
        server
            .heard()
            .iter()
            .all(|request| !text(request).contains("0.4"))
    );

    let refused = |args: &[&str], reason: &str| {
        home.run(&[&["bench"], args].concat()).expect(2, &[reason]);
    };
    refused(
        &["set.json"],
        "name the file of its outcomes with --resolutions",
    );
    home.write("items.csv", &questions(2));
    refused(
        &["items.csv", "--resolutions", "resolutions.json"],
        "items.csv is not a question set of ForecastBench",
    );
}

const OPEN: &str = "id,question,rubric,answer\na,Why does it fits item 0?,Names the cause,Because of rain\nb,Why does it fits item 1?,Names the cause,\n";

/// x gives thorough answers, or short ones if it is told to take its time. The judge accepts thorough ones, but of item 1 only if
/// it reads the rubric first.
fn judged(request: &Value) -> Answer {
    let words = text(request);
    let reply = if schema_name(request) == "grading" {
        let rubric_first = words.find("Names the cause") < words.find("answer to grade");
        let verdict = match (words.contains("thorough"), item(request), rubric_first) {
            (true, 1, false) => "partly",
            (true, ..) => "right",
            (false, ..) => "wrong",
        };
        json!({ "reasons": "By the rubric.", "verdict": verdict })
    } else {
        let answer = if words.contains("Take your time") {
            "A short answer."
        } else {
            "A thorough answer."
        };
        json!({ "answer": answer, "position": "rain", "confidence": 0.9 })
    };
    Answer::Reply(reply.to_string())
}

/// B-01: open answers are graded blind, in both orders, and the judge itself is checked.
#[test]
fn b01_open_answers_are_graded_in_both_orders_by_a_checked_judge() {
    let server = Server::start(|request, _| judged(request));
    let home = Home::with_model(&server);
    home.write("open.csv", OPEN);
    home.write(
        "graded.csv",
        "question,answer,grade\na,A thorough reply,1\na,Nothing of use,0\nb,Something thorough,0\nother,Not asked,1\n",
    );
    let args = [
        "bench",
        "open.csv",
        "--arms",
        "one,long",
        "--judge",
        "lab:judge",
        "--graded",
        "graded.csv",
        "--json",
    ];
    let bench = home.run(&args).expect(0, &[]).json();
    // The second is right in one order and partly right in the other.
    is_near(&arm(&bench, "one call")["accuracy"], 0.875);
    is_near(&arm(&bench, "one long call")["accuracy"], 0.0);
    // Four answers of the arms and three graded by hand, each in both orders.
    assert_eq!(server.count(), 4 + 7 * 2);
    let judge = &bench["run"]["judge"];
    assert_eq!(judge["model"], "lab:judge");
    assert_eq!(judge["answers"], 7);
    is_near(&judge["consistent"], 5.0 / 7.0);
    assert_eq!(judge["agreement"]["answers"], 3);
    is_near(&judge["agreement"]["share"], 2.0 / 3.0);
    is_near(&judge["agreement"]["kappa"], 0.4);
    // The judge learns neither arm nor model.
    let gradings = server.heard();
    let mut gradings = gradings
        .iter()
        .filter(|request| schema_name(request) == "grading");
    assert!(gradings.all(|request| !text(request).contains("lab:x") && !text(request).contains("long call")));
    let text = home.run(&args[..args.len() - 1]).expect(0, &[]).out.clone();
    assert!(
        text.contains("agrees with a person on 67% of 3 answers"),
        "{text}"
    );
    assert_eq!(server.count(), 4 + 7 * 2);
}

#[test]
fn b01_a_judge_that_is_one_of_the_arms_is_refused() {
    let server = Server::start(|request, _| judged(request));
    let home = Home::with_model(&server);
    home.write("open.csv", OPEN);
    home.write("items.csv", &questions(2));
    home.write("graded.csv", "question,answer,grade\na,,1\na,Good,2\n");
    let refused = |args: &[&str], reasons: &[&str]| {
        home.run(&[&["bench"], args].concat()).expect(2, reasons);
    };
    let open = |more: &[&'static str]| [&["open.csv", "--arms", "one"], more].concat();
    refused(
        &open(&[]),
        &["name the model that grades the answers with --judge"],
    );
    refused(
        &open(&["--judge", "lab:x"]),
        &["the judge lab:x is one of the arms: it answers in call#1"],
    );
    refused(
        &open(&["--judge", "lab:x-large"]),
        &["the judge lab:x-large is of the same family as lab:x"],
    );
    refused(
        &[
            "open.csv",
            "--arms",
            "one,consistency,panel",
            "--judge",
            "lab:judge",
        ],
        &["count votes, which open answers do not have"],
    );
    refused(
        &["items.csv", "--judge", "lab:judge"],
        &["so nothing needs a judge"],
    );
    refused(
        &open(&["--judge", "lab:judge", "--graded", "graded.csv"]),
        &[
            "graded.csv: row 2: it has no answer",
            "row 3: the grade '2' is not a number from 0 to 1",
        ],
    );
    assert_eq!(server.count(), 0);
}
