//! `roundtable pool` (B-09).

use std::io::Write as _;
use std::process::Stdio;

use serde_json::Value;

use crate::harness::{Home, Run, finished};

const TINY: &str = "\
question_id,agent,domain,group,probability,forecast_date,resolved_date,outcome
q1,m1,law,judge,0.7,2026-01-01,2026-01-10,1
q1,m2,law,skeptic,0.4,2026-01-01,2026-01-10,1
q1,m3,law,skeptic,0.6,2026-01-01,2026-01-10,1
q2,m1,law,judge,0.2,2026-01-05,2026-01-12,0
q2,m2,law,skeptic,0.5,2026-01-05,2026-01-12,0
q2,m3,law,skeptic,0.3,2026-01-05,2026-01-12,0
q3,m1,sport,judge,0.8,2026-01-11,2026-01-20,1
q3,m2,sport,skeptic,0.55,2026-01-11,2026-01-20,1
q4,m1,sport,judge,0.1,2026-01-15,2026-01-16,0
q4,m2,sport,skeptic,0.45,2026-01-15,2026-01-16,0
q4,m3,sport,skeptic,0.35,2026-01-15,2026-01-16,0
q5,m1,law,judge,0.65,2026-01-18,2026-02-01,0
q5,m2,law,skeptic,0.35,2026-01-18,2026-02-01,0
q5,m3,law,skeptic,0.55,2026-01-18,2026-02-01,0
q6,m1,sport,judge,0.9,2026-02-02,2026-02-05,1
q6,m2,sport,skeptic,0.5,2026-02-02,2026-02-05,1
q6,m3,sport,skeptic,0.75,2026-02-02,2026-02-05,1
";

fn home() -> Home {
    let home = Home::empty();
    home.write("tiny.csv", TINY);
    home
}

fn pool(home: &Home, more: &[&str]) -> Value {
    let mut args = vec!["pool", "tiny.csv", "--json"];
    args.extend(more);
    home.run(&args).expect(0, &[]).json()
}

fn is_near(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap();
    assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
}

/// B-09: every question with what had resolved before it.
#[test]
fn b09_recorded_forecasts_are_pooled_in_order() {
    let home = home();
    let all = pool(&home, &[]);
    let expected = [
        0.570_143, 0.322_014, 0.735_313, 0.180_980, 0.602_588, 0.844_391,
    ];
    let results = all["results"].as_array().unwrap();
    assert_eq!(results.len(), expected.len());
    for (result, expected) in results.iter().zip(expected) {
        is_near(&result["probability"], expected);
    }
    is_near(&all["learned"]["brier"], 0.129_768);
    is_near(&all["comparisons"][0]["score"]["brier"], 0.140_289);
    is_near(&all["comparisons"][2]["score"]["brier"], 0.131_114);
    assert_eq!(all["method"]["kind"], "live");
    assert_eq!(all["seats"][0]["agent"], "m1");

    let later = pool(&home, &["--score-from", "2026-01-18"]);
    assert_eq!(later["scored"], 2);
    is_near(&later["results"][0]["probability"], 0.602_588);
}

/// B-09: on the terminal, the same figures in a table.
#[test]
fn b09_the_table_says_what_was_gained() {
    let run = home().run(&["pool", "tiny.csv"]);
    run.expect(0, &[]);
    for line in [
        "learned        0.1298",
        "mean           0.1403",
        "m1 as judge",
    ] {
        assert!(run.out.contains(line), "{}", run.out);
    }
}

/// B-09: without dates nothing says what was known before what.
#[test]
fn b09_without_dates_halves_learn_from_each_other() {
    let home = home();
    let undated: Vec<String> = TINY
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            [0, 1, 4, 7].map(|place| cells[place]).join(",")
        })
        .collect();
    home.write("tiny.csv", &undated.join("\n"));
    let all = pool(&home, &[]);
    assert_eq!(all["method"]["kind"], "cross_fit");
    assert_eq!(all["method"]["halves"], 40);
    assert_eq!(all, pool(&home, &["--cross-fit", "40"]));
    let run = home.run(&["pool", "tiny.csv", "--score-from", "2026-01-18"]);
    run.expect(
        2,
        &["--score-from needs the columns forecast_date and resolved_date"],
    );
}

#[test]
fn b09_groups_can_be_left_out() {
    let seats = pool(&home(), &["--no-group"])["seats"].clone();
    assert!(
        seats
            .as_array()
            .unwrap()
            .iter()
            .all(|seat| seat["group"].is_null())
    );
}

#[test]
fn b09_a_table_comes_from_standard_input() {
    let home = Home::empty();
    let mut child = home
        .command(&["pool", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(TINY.as_bytes())
        .unwrap();
    let run: Run = finished(child.wait_with_output().unwrap());
    is_near(&run.expect(0, &[]).json()["learned"]["brier"], 0.129_768);
}

#[test]
fn b09_a_bad_table_is_an_error_with_its_place() {
    let home = home();
    home.write(
        "tiny.csv",
        &TINY.replace("m2,law,skeptic,0.4", "m2,law,skeptic,40%"),
    );
    home.run(&["pool", "tiny.csv"]).expect(
        2,
        &["row 3, column probability: '40%' is not a number from 0 to 1"],
    );
    home.run(&["pool", "missing.csv"])
        .expect(2, &["missing.csv"]);
    home.write("tiny.csv", "");
    home.run(&["pool", "tiny.csv"])
        .expect(2, &["no column question_id"]);
}

/// B-09: a compressed table is read as it is.
#[test]
fn b09_a_compressed_table_is_read() {
    use flate2::Compression;
    use flate2::write::GzEncoder;
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(TINY.as_bytes()).unwrap();
    let home = home();
    std::fs::write(home.path().join("tiny.csv.gz"), packed.finish().unwrap()).unwrap();
    let plain = home.run(&["pool", "tiny.csv", "--json"]).json();
    let found = home.run(&["pool", "tiny.csv.gz", "--json"]);
    assert_eq!(found.expect(0, &[]).json(), plain);
    std::fs::write(home.path().join("cut.csv.gz"), [0x1f, 0x8b, 8, 0]).unwrap();
    home.run(&["pool", "cut.csv.gz"])
        .expect(2, &["cannot decompress cut.csv.gz"]);
}

/// B-09 on a public record, if `SUITE_RECORDS` names the folder that holds it: `forecastbench_superforecasters_pool.csv.gz`.
#[test]
fn b09_the_pool_beats_simple_ones_on_a_public_record() {
    #[expect(clippy::disallowed_methods, reason = "a setting of the test run")]
    let Some(folder) = std::env::var_os("SUITE_RECORDS") else {
        eprintln!("skipped: SUITE_RECORDS is not set");
        return;
    };
    let record = std::path::Path::new(&folder).join("forecastbench_superforecasters_pool.csv.gz");
    let home = Home::empty();
    // Compressed, under any name.
    std::fs::copy(record, home.path().join("tiny.csv")).unwrap();
    let all = pool(&home, &[]);
    let brier = |value: &Value| value.as_f64().unwrap();
    assert!((brier(&all["learned"]["brier"]) - 0.1143).abs() < 0.0005);
    assert!((brier(&all["comparisons"][0]["score"]["brier"]) - 0.1197).abs() < 0.0005);
    assert!(all["comparisons"][0]["interval"]["high"].as_f64().unwrap() < 0.0);
    let halves = pool(&home, &["--cross-fit", "40"]);
    assert!((brier(&halves["learned"]["brier"]) - 0.1156).abs() < 0.001);
}
