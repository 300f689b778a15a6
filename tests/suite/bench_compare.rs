//! `roundtable bench compare` and `bench list` (B-01).

use serde_json::{Value, json};

use crate::bench::answers;
use crate::harness::Home;

/// Two results on the same answers: of all seats, and of the two weak ones.
fn home() -> Home {
    let home = Home::empty();
    home.write("answers.csv", &answers());
    let save = |file: &str, more: &[&str]| {
        let fixed = ["bench", "--records", "answers.csv", "--json", "-o", file];
        home.run(&[&fixed, more].concat()).expect(0, &[]);
    };
    save("all.json", &[]);
    save("weak.json", &["--only", "x,y", "--ties", "first"]);
    home
}

fn compare(home: &Home, more: &[&str]) -> Value {
    let fixed = ["bench", "compare", "weak.json", "all.json", "--json"];
    home.run(&[&fixed, more].concat()).expect(0, &[]).json()
}

fn row<'a>(found: &'a Value, arm: &str) -> &'a Value {
    let mut rows = found["comparisons"].as_array().unwrap().iter();
    rows.find(|row| row["arm"] == arm).unwrap()
}

fn is_near(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap();
    assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
}

/// B-01: the same arm in two benches, question by question.
#[test]
fn b01_two_benches_are_compared_arm_by_arm() {
    let home = home();
    let found = compare(&home, &[]);
    assert_eq!(found["questions"], 40);
    // Both votes follow x and y in round 1; after round 2 only all three are mostly right.
    is_near(&row(&found, "vote")["difference"], 0.0);
    assert_eq!(row(&found, "vote")["decision"], "not_decided");
    let best = row(&found, "best seat");
    is_near(&best["difference"], 0.4);
    assert_eq!(best["only_arm"], 20);
    assert_eq!(best["only_baseline"], 4);
    assert_eq!(best["decision"], "better");
    assert!(best["adjusted_p"].as_f64() > best["p"].as_f64());
    assert_eq!(found["is_decided"], true);
    let conclusion = found["conclusion"].as_str().unwrap();
    assert!(
        conclusion.contains("best seat is better in B than in A by 40.0 points"),
        "{conclusion}"
    );
    assert!(conclusion.contains("Not decided: vote"), "{conclusion}");
    assert_eq!(
        found["differences"],
        json!(["ties: First in A, Shared in B"])
    );

    let paired = compare(&home, &["--pair", "vote=best seat"]);
    let rows = paired["comparisons"].as_array().unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["arm"], "vote → best seat");
    is_near(&rows[0]["difference"], 0.4);
    assert!(
        paired["only_b"]
            .as_array()
            .unwrap()
            .contains(&json!("vote"))
    );
}

#[test]
fn b01_a_comparison_has_every_form() {
    let home = home();
    let run = |more: &[&str]| {
        let args = [&["bench", "compare", "weak.json", "all.json"], more].concat();
        home.run(&args).expect(0, &[]).out.clone()
    };
    let text = run(&[]);
    assert!(text.contains("B minus A, question by question"), "{text}");
    let table = text
        .lines()
        .filter(|line| line.starts_with("  ") && !line.ends_with('.'));
    assert!(table.clone().count() > 8, "{text}");
    for line in table {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert!(run(&["--format", "md"]).contains("| best seat | +0.4000 |"));
    let csv = run(&["--format", "csv"]);
    assert!(csv.starts_with("arm,questions,difference,"), "{csv}");
    assert!(run(&["--format", "html"]).contains("<table"));
    let schema = home.run(&["schema", "bench-compare"]).expect(0, &[]).json();
    assert!(schema["properties"]["conclusion"].is_object());
}

#[test]
fn b01_benches_that_cannot_be_compared_are_refused() {
    let home = home();
    home.write("other.csv", &answers().replace("math", "law"));
    let args = [
        "bench",
        "--records",
        "other.csv",
        "--json",
        "-o",
        "other.json",
    ];
    home.run(&args).expect(0, &[]);
    home.write("broken.json", "{\"version\": 1}");
    let refused = |b: &str, more: &[&str], reasons: &[&str]| {
        let args = [&["bench", "compare", "all.json", b], more].concat();
        home.run(&args).expect(2, reasons);
    };
    refused(
        "other.json",
        &[],
        &[
            "the two benches answered different data",
            "all.json: answers.csv, sha256 ",
            "other.json: other.csv, sha256 ",
            "Run one of them again",
        ],
    );
    refused(
        "broken.json",
        &[],
        &["broken.json is not a result of roundtable bench --json"],
    );
    refused(
        "none",
        &[],
        &["no bench 'none', neither an id nor a file or folder; roundtable bench list"],
    );
    refused(
        "weak.json",
        &["--pair", "vot=vote", "--pair", "vote=vot"],
        &["A has no arm 'vot'; it has vote", "B has no arm 'vot'"],
    );
}
