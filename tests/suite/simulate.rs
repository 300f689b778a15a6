//! `roundtable simulate` (B-17): a study of simulated panels.

use serde_json::Value;

use crate::harness::{Home, Run};

fn simulate(more: &[&str]) -> Run {
    Home::empty().run(&[&["simulate"], more].concat())
}

fn study(more: &[&str]) -> Value {
    let run = simulate(&[more, &["--questions", "2000", "--json"]].concat());
    run.expect(0, &[]).json()
}

fn row(study: &Value, seats: u64, families: u64, rounds: u64) -> Value {
    let rows = study["rows"].as_array().unwrap().iter();
    let mut found = rows.filter(|row| {
        row["seats"] == seats && row["families"] == families && row["rounds"] == rounds
    });
    found.next().unwrap_or_else(|| panic!("{study}")).clone()
}

/// B-17: the question that the command is for, without any argument.
#[test]
fn b17_the_study_compares_seats_families_and_rounds() {
    let study = study(&[]);
    assert_eq!(study["kind"], "choices");
    // One seat once; 3, 5 and 7 seats with 1 and 3 families and 1, 2 and 4 rounds.
    assert_eq!(study["rows"].as_array().unwrap().len(), 1 + 3 * 2 * 3);
    let right = |seats, families, rounds| {
        row(&study, seats, families, rounds)["accuracy"]
            .as_f64()
            .unwrap()
    };
    assert!((right(1, 1, 1) - 0.6).abs() < 0.05);
    assert!(right(7, 3, 1) > right(7, 1, 1), "families help");
    let calls = row(&study, 7, 3, 4);
    assert_eq!(calls["calls"], 28);
    assert!(calls["changed"].as_f64().unwrap() < 0.2);
    assert_eq!(calls["cost"], Value::Null);
    assert!(row(&study, 7, 3, 1)["interval"]["low"].as_f64().unwrap() < right(7, 3, 1));
    let cheapest = &study["cheapest"];
    assert!(cheapest["seats"].as_u64().unwrap() <= 7);
    for text in [&study["misfit"], &study["sources"]] {
        assert!(!text.as_array().unwrap().is_empty());
    }
}

/// B-17: the table fits a terminal, and the misfit is printed with every answer.
#[test]
fn b17_the_terminal_shows_a_table_a_chart_and_the_misfit() {
    let run = simulate(&["--questions", "500", "--price", "3/15"]);
    run.expect(0, &[]);
    for text in [
        "Cheapest",
        "per right",
        "Share of right votes by number of rounds",
        "3 seats, 3 families",
        "Rounds are too calm",
        "MMLU-Pro",
        "No model was called",
    ] {
        assert!(run.out.contains(text), "'{text}' is not in: {}", run.out);
    }
    let forecast = simulate(&["--questions", "500", "--forecast"]);
    forecast.expect(0, &[]);
    assert!(
        forecast.out.contains("log-odds mean")
            && forecast
                .out
                .contains("real errors are shared a little more"),
        "{}",
        forecast.out
    );
}

/// B-17: prices are given, or those of models by family.
#[test]
fn b17_the_study_has_a_price() {
    let given = study(&[
        "--seats",
        "3",
        "--families",
        "3",
        "--rounds",
        "1",
        "--price",
        "1/10",
        "--price",
        "2/20",
    ]);
    // 1,000 tokens in and 400 out: 0.005, 0.010, and the first price again.
    let cost = row(&given, 3, 3, 1)["cost"].as_f64().unwrap();
    assert!((cost - 0.020).abs() < 1e-9, "{cost}");
    let of_model = study(&["--seats", "1", "--model", "openai:gpt-4o"]);
    let cost = row(&of_model, 1, 1, 1)["cost"].as_f64().unwrap();
    assert!(
        (cost - (1_000.0 * 2.5 + 400.0 * 10.0) / 1e6).abs() < 1e-9,
        "{cost}"
    );
}

/// B-17: probabilities instead of choices.
#[test]
fn b17_forecasts_are_simulated_too() {
    let study = study(&[
        "--forecast",
        "samples",
        "--seats",
        "1,6",
        "--families",
        "1,6",
    ]);
    assert_eq!(
        (&study["kind"], &study["forecasters"]),
        (&"forecasts".into(), &"samples".into())
    );
    let rows = study["rows"].as_array().unwrap();
    let correlation = |index: usize| rows[index]["correlation"].as_f64().unwrap();
    assert_eq!(rows.len(), 3);
    assert!(rows[0]["correlation"].is_null());
    assert!(
        correlation(1) > correlation(2),
        "samples of one model share more"
    );
    let sharp = self::study(&[
        "--forecast",
        "samples",
        "--seats",
        "6",
        "--families",
        "6",
        "--overconfidence",
        "2",
    ]);
    assert!(sharp["rows"][0]["one_seat"].as_f64() > rows[2]["one_seat"].as_f64());
}

/// B-17: conformity and stubbornness decide how fast a panel agrees.
#[test]
fn b17_the_manner_of_the_seats_can_be_set() {
    let agreed = |more: &[&str]| {
        let study = study(&[&["--seats", "5", "--families", "1", "--rounds", "3"], more].concat());
        row(&study, 5, 1, 3)["unanimous"].as_f64().unwrap()
    };
    let usual = agreed(&[]);
    assert!(agreed(&["--stubbornness", "5"]) < usual);
    assert!(agreed(&["--conformity", "6"]) > usual);
    let absent = study(&["--seats", "3", "--absent", "1"]);
    assert_eq!(row(&absent, 3, 1, 1)["accuracy"], 0.0);
}

/// B-17
#[test]
fn b17_the_same_seed_gives_the_same_study() {
    assert_eq!(study(&["--seed", "5"]), study(&["--seed", "5"]));
    assert_ne!(
        study(&["--seed", "5"])["rows"],
        study(&["--seed", "6"])["rows"]
    );
}

/// B-17
#[test]
fn b17_a_study_is_written_as_html_and_markdown() {
    let home = Home::empty();
    home.run(&[
        "simulate",
        "--questions",
        "100",
        "--html",
        "a.html",
        "--markdown",
        "a.md",
    ])
    .expect(0, &[]);
    let read = |name: &str| std::fs::read_to_string(home.path().join(name)).unwrap();
    let (html, markdown) = (read("a.html"), read("a.md"));
    assert!(html.contains("<svg") && html.contains("Rounds are too calm"));
    assert!(
        markdown.starts_with("# Simulated panels") && markdown.contains("| 7 |"),
        "{markdown}"
    );
}

/// B-17: bad input is refused with the reason.
#[test]
fn b17_bad_input_is_refused() {
    for (arguments, message) in [
        (vec!["--seats", "0"], "0 is not in 1..=64"),
        (vec!["--seats", "65"], "65 is not in 1..=64"),
        (vec!["--rounds", "0"], "0 is not in 1..=20"),
        (vec!["--families", "three"], "expected a whole number"),
        (
            vec!["--accuracy", "0.6,1"],
            "expected a number from 0.02 to 0.98",
        ),
        (
            vec!["--accuracy", "nan"],
            "expected a number from 0.02 to 0.98",
        ),
        (vec!["--options", "1"], "1 is not in 2..=100"),
        (vec!["--questions", "9"], "9 is not in 10..=1000000"),
        (vec!["--absent", "1.1"], "expected a number from 0 to 1"),
        (
            vec!["--same-family", "0.95"],
            "expected a number from 0 to 0.9",
        ),
        (
            vec!["--same-family", "0.3"],
            "cannot share more errors than seats of one",
        ),
        (vec!["--price", "3"], "such as 3/15"),
        (vec!["--price", "3/-1"], "such as 3/15"),
        (
            vec!["--price", "1/2", "--model", "openai:gpt-4o"],
            "cannot be used with",
        ),
        (
            vec!["--model", "openai:unheard-of"],
            "the price of openai:unheard-of is unknown",
        ),
        (vec!["--model", "nobody:x"], "nobody"),
        (vec!["--forecast", "experts"], "professionals"),
        (vec!["--forecast", "--rounds", "2"], "cannot be used with"),
        (vec!["--overconfidence", "2"], "--forecast"),
    ] {
        let run = simulate(&arguments);
        run.expect(2, &[message]);
        assert_eq!(run.out, "", "{arguments:?}");
    }
}
