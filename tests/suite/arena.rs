//! `roundtable arena` and its page, and the page of finished benches (B-01).

use serde_json::{Value, json};

use crate::bench_runs::{item, questions, reply};
use crate::harness::{Answer, Home, Server, Serving};

const FORM: [(&str, &str); 1] = [("content-type", "application/x-www-form-urlencoded")];

/// Every model signs its answers, so that the test can vote for one of them.
fn signed(request: &Value) -> Answer {
    let model = request["model"].as_str().unwrap();
    let words = if model == "good" { "thorough" } else { "short" };
    let answer = format!("A **{words}** answer on {}.", item(request));
    let reply = json!({ "answer": answer, "position": "it depends", "confidence": 0.5 });
    Answer::Reply(reply.to_string())
}

fn home(server: &Server, count: usize) -> Home {
    let home = Home::with_model(server);
    let lines: Vec<String> = (0..count)
        .map(|item| format!("Which one fits item {item}?"))
        .collect();
    home.write("questions.txt", &lines.join("\n"));
    home
}

const NEW: [&str; 7] = [
    "arena",
    "new",
    "questions.txt",
    "--between",
    "lab:good,lab:bad",
    "--id",
    "mine",
];

/// Votes on all pairs: for the signed answer, wherever it is.
pub(crate) fn vote_for(serving: &Serving, arena: &str, words: &str) -> Vec<&'static str> {
    let mut sides = Vec::new();
    let votes = format!("/arenas/{arena}/votes");
    loop {
        let page = serving.get(&format!("/arenas/{arena}")).text();
        let Some((_, rest)) = page.split_once("name=\"pair\" value=\"") else {
            return sides;
        };
        let pair: String = rest.chars().take_while(char::is_ascii_digit).collect();
        for name in ["lab:good", "lab:bad", "Standing"] {
            assert!(!page.contains(name), "{page}");
        }
        let wanted = page.find(words).unwrap();
        let side = if wanted < page.find("Answer B").unwrap() {
            "left"
        } else {
            "right"
        };
        sides.push(side);
        let body = format!("pair={pair}&choice={side}");
        let reply = serving.send("POST", &votes, &FORM, body.as_bytes());
        assert_eq!(reply.status, 303);
        // A second click on the same pair does not vote again.
        let again = serving.send("POST", &votes, &FORM, body.as_bytes());
        assert_eq!(again.status, 303);
    }
}

/// B-01: blind votes on the page become strengths with intervals.
#[test]
fn b01_blind_votes_become_strengths_with_intervals() {
    let server = Server::start(|request, _| signed(request));
    let home = home(&server, 12);
    let run = home.run(&NEW);
    assert!(
        run.expect(0, &[])
            .out
            .contains("mine: 12 pairs of answers."),
        "{}",
        run.out
    );
    assert_eq!(server.count(), 24);
    // Again: nothing is asked twice.
    home.run(&NEW).expect(0, &[]);
    assert_eq!(server.count(), 24);
    let nothing = home
        .run(&["arena", "show", "mine", "--json"])
        .expect(0, &[])
        .json();
    assert_eq!(
        nothing["conclusion"],
        "Not decided between lab:good and lab:bad."
    );

    let serving = Serving::start(&home, &[]);
    assert!(serving.get("/arenas").text().contains("0 of 12 votes"));
    let sides = vote_for(&serving, "mine", "thorough");
    assert_eq!(sides.len(), 12);
    assert!(
        sides.contains(&"left") && sides.contains(&"right"),
        "{sides:?}"
    );
    let page = serving.get("/arenas/mine").text();
    assert!(page.contains("lab:good is preferred to lab:bad"), "{page}");
    let unknown = serving.send("POST", "/arenas/mine/votes", &FORM, b"pair=99&choice=left");
    assert_eq!(unknown.status, 422);
    assert_eq!(serving.get("/arenas/other").status, 404);
    assert_eq!(serving.get("/arenas/..%2fbenches").status, 404);

    let found = home
        .run(&["arena", "show", "mine", "--json"])
        .expect(0, &[])
        .json();
    assert_eq!(found["votes"], 12);
    assert_eq!(found["is_decided"], true);
    let bad = &found["contestants"][1];
    assert_eq!(bad["name"], "lab:bad");
    assert!(
        (bad["beats_first"].as_f64().unwrap() - 0.5 / 13.0).abs() < 1e-6,
        "{bad}"
    );
    assert!(bad["beats_first_interval"]["high"].as_f64().unwrap() < 0.5);
    let listed = home.run(&["arena", "list"]);
    assert!(
        listed.expect(0, &[]).out.contains("mine  12 of 12 votes"),
        "{}",
        listed.out
    );
    // Votes are never overwritten.
    home.run(&NEW)
        .expect(2, &["has votes already; use another --id"]);
}

#[test]
fn b01_an_arena_with_invalid_input_is_refused() {
    let server = Server::start(|request, _| signed(request));
    let home = home(&server, 2);
    home.write("empty.txt", "\n\n");
    home.write("twice.txt", "Why?\nWhy?\n");
    let refused = |args: &[&str], reasons: &[&str]| {
        home.run(&[&["arena"], args].concat()).expect(2, reasons);
    };
    refused(
        &["new", "questions.txt", "--between", "pannel,lab:a,lab:a"],
        &[
            "unknown contestant 'pannel'; did you mean 'panel'?",
            "the contestant 'lab:a' is listed twice",
        ],
    );
    refused(
        &["new", "questions.txt", "--between", "panel"],
        &["at least two contestants"],
    );
    refused(
        &["new", "empty.txt", "--between", "lab:a,lab:b"],
        &["empty.txt has no questions"],
    );
    refused(
        &["new", "twice.txt", "--between", "lab:a,lab:b"],
        &["has a question twice"],
    );
    refused(
        &["new", "none.txt", "--between", "lab:a,lab:b"],
        &["cannot read none.txt"],
    );
    refused(
        &[
            "new",
            "questions.txt",
            "--between",
            "lab:a,lab:b",
            "--id",
            "../x",
        ],
        &["invalid --id '../x'"],
    );
    refused(&["show", "none"], &["no arena 'none'"]);
    assert_eq!(server.count(), 0);
}

/// B-01: a finished bench has a page with the same report, and its result as JSON.
#[test]
fn b01_finished_benches_have_a_page() {
    let server = Server::start(|request, _| reply(request, usize::MAX));
    let home = Home::with_model(&server);
    home.write("items.csv", &questions(4));
    let serving = Serving::start(&home, &[]);
    assert!(
        serving
            .get("/benches")
            .text()
            .contains("No finished bench.")
    );
    let bench = home.run(&["bench", "items.csv", "--arms", "one,long", "--json"]);
    let bench = bench.expect(0, &[]).json();
    let listed = home.run(&["bench", "list", "--json"]).expect(0, &[]).json();
    let id = listed[0]["id"].as_str().unwrap();
    assert!(id.starts_with("items-"), "{id}");
    assert_eq!(listed[0]["conclusion"], bench["conclusion"]);
    let list = serving.get("/benches").text();
    assert!(list.contains(&format!("href=\"/benches/{id}\"")), "{list}");
    let page = serving.get(&format!("/benches/{id}")).text();
    for part in [
        "Every arm on the same questions",
        "What this rests on",
        "one long call",
        "<svg",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(
        serving.get(&format!("/benches/{id}/result.json")).json(),
        bench
    );
    assert_eq!(serving.get("/benches/other").status, 404);
    assert_eq!(serving.get("/benches/..").status, 404);
    // By its id, a bench is compared with a file.
    home.write("same.json", &bench.to_string());
    let compared = home.run(&["bench", "compare", id, "same.json", "--json"]);
    let compared = compared.expect(0, &[]).json();
    assert_eq!(compared["is_decided"], false);
    assert_eq!(compared["questions"], 4);
}
