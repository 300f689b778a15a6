//! The other commands, each with `--json`.

use serde_json::Value;

use crate::harness::{Answer, Home, QUESTION, Server, good};

/// C-14
#[test]
fn c14_a_debate_is_listed_shown_exported_rated_and_deleted() {
    let server = Server::good();
    let home = Home::with(&server);
    home.ask(&["--quiet"]).expect(0, &[]);
    let row = &home.list()[0];
    for field in [
        "id",
        "protocol",
        "question",
        "state",
        "created_at",
        "updated_at",
        "totals",
    ] {
        assert!(!row[field].is_null(), "{field}");
    }
    assert_eq!(row["totals"]["calls"], 8);

    let shown = home.run(&["show", "last", "--transcript"]);
    shown.expect(0, &[]);
    for words in [
        "Skeptic",
        "Nobody measured the bursts.",
        "## Confidence: 8/10",
        "resolved",
    ] {
        assert!(shown.out.contains(words), "{words}");
    }

    let json = home.run(&["export", "last"]).json();
    assert_eq!(json["query"], QUESTION);
    let yaml = home.run(&["export", "last", "--format", "yaml"]).out;
    assert!(
        yaml.contains("query: ") && yaml.contains("total_rounds: 3"),
        "{yaml}"
    );
    let markdown = home.run(&["export", "last", "--format", "md"]).out;
    assert!(markdown.starts_with(&format!("# {QUESTION}")), "{markdown}");
    home.run(&["export", "last", "--format", "html", "-o", "page.html"])
        .expect(0, &["page.html"]);
    let page = std::fs::read_to_string(home.path().join("page.html")).unwrap();
    assert!(page.contains("<svg") && !page.contains("<script") && !page.contains("http://"));

    home.run(&["rate", "last", "9", "--comment", "good"])
        .expect(0, &[]);
    assert_eq!(
        home.run(&["show", "last", "--json"]).json()["user_rating"],
        9
    );
    home.run(&["rm", "last", "--yes"]).expect(0, &[]);
    assert!(home.list().is_empty());
}

/// P-08: training data is filtered by score and deduplicated by question.
#[test]
fn p08_good_debates_become_training_data() {
    let server = Server::good();
    let home = Home::with(&server);
    home.ask(&["--quiet"]).expect(0, &[]);
    home.ask(&["--quiet"]).expect(0, &[]);
    let lines = |args: &[&str]| -> Vec<Value> {
        let mut all = vec!["export", "--format", "jsonl"];
        all.extend(args);
        home.run(&all)
            .out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let chats = lines(&[]);
    assert_eq!(chats.len(), 1, "a repeated question counts once");
    assert_eq!(chats[0]["messages"][0]["content"], QUESTION);
    let pairs = lines(&["--training", "preference"]);
    assert_eq!(pairs[0]["rejected"][0]["content"], "Use a **queue**. 😀");
    assert!(lines(&["--min-score", "8.4"]).is_empty());
}

/// C-02: casts and templates of the configuration folder extend the built-in ones.
#[test]
fn c02_casts_and_templates_are_listed_shown_and_added() {
    let home = Home::empty();
    let casts = home.run(&["casts", "--json"]).json();
    assert_eq!(casts[0]["name"], "dialectic");
    assert!(
        home.run(&["casts", "show", "dialectic"])
            .out
            .contains("You are the Skeptic")
    );

    let before = home
        .run(&["templates", "list", "--json"])
        .json()
        .as_array()
        .unwrap()
        .len();
    assert!(before >= 24);
    home.write("mine.toml", "id = \"mine\"\nname = \"Mine\"\nwhen = \"w\"\nsteps = [\"s\"]\npitfalls = []\nexample = \"e\"\n");
    home.run(&["templates", "add", "mine.toml"])
        .expect(0, &["Added mine"]);
    home.run(&["templates", "add", "mine.toml"])
        .expect(2, &["--force"]);
    let all = home.run(&["templates", "--json"]).json();
    assert_eq!(all.as_array().unwrap().len(), before + 1);
    assert!(
        home.run(&["templates", "show", "mine"])
            .out
            .contains("Mine")
    );
    home.write("bad.toml", "id = \"bad\"\nname = 3\n");
    home.run(&["templates", "add", "bad.toml"])
        .expect(2, &["bad.toml:2:"]);
    home.run(&["templates", "show", "trade-of-analysis"])
        .expect(2, &["did you mean 'trade-off-analysis'"]);
}

#[test]
fn the_configuration_is_shown_changed_and_found() {
    let home = Home::empty();
    let path = home.run(&["config", "path"]).out;
    assert!(
        path.trim().ends_with(".config/roundtable/roundtable.toml"),
        "{path}"
    );
    home.run(&["config", "set", "tiers.fast", "ollama:qwen3:8b"])
        .expect(0, &[]);
    let shown = home.run(&["config", "show"]).out;
    assert!(
        shown.contains("tiers.fast") && shown.contains("ollama:qwen3:8b"),
        "{shown}"
    );
    assert!(home.run(&["config", "--json"]).json().is_array());
    home.run(&["config", "set", "tiers.fats", "ollama:x"])
        .expect(2, &["did you mean 'fast'"]);
}

/// C-04
#[test]
fn c04_models_explains_which_models_would_be_used() {
    let server = Server::good();
    let home = Home::configured(
        &server.url(),
        "\n[tiers]\ndeliberate = \"lab:big\"\nfast = \"lab:small\"\n",
    );
    let found = home.run(&["models", "--json"]).json();
    assert_eq!(found["deliberate"]["model"], "lab:big");
    assert_eq!(found["fast"]["model"], "lab:small");
    assert!(found["deliberate"]["why"].as_str().unwrap().len() > 5);
    assert_eq!(
        found["deliberate"]["price"],
        Value::Null,
        "unknown, not zero"
    );
}

/// C-04: seats of `ask` that get another model than their tier are named, and are the ones that `ask` then seats.
#[test]
fn c04_models_names_the_seats_of_ask_that_differ_from_their_tier() {
    let listed = ["llama3.3:70b", "qwen3:32b", "qwen3:8b"];
    let server = Server::with_models(&listed, |request, before| {
        Answer::Reply(good(request, before))
    });
    let home = Home::with(&server);
    let shown = home.run(&["models"]).out;
    let found = home.run(&["models", "--json"]).json();
    let tiers = [&found["deliberate"]["model"], &found["fast"]["model"]];
    let trace = home.run(&["ask", QUESTION, "--json", "--quiet"]).json();
    let seated = trace["models"].as_object().unwrap();
    let differing: Vec<_> = seated
        .iter()
        .filter(|(seat, model)| *seat != "embedding" && !tiers.contains(model))
        .collect();
    assert!(!differing.is_empty(), "{trace:#}");
    for (seat, model) in differing {
        let line = format!("{seat:<11} {} in `ask`", model.as_str().unwrap());
        assert!(shown.contains(&line), "'{line}' is not in {shown}");
    }
}

/// C-11: a misspelt provider in the user's prices would leave its models without a price.
#[test]
fn c11_doctor_names_an_unknown_provider_in_the_prices() {
    let home = Home::empty();
    home.write(
        ".config/roundtable/prices.toml",
        "[prices.opnai]\ngpt-9 = { input = 1.0, output = 2.0 }\n",
    );
    let doctor = home.run(&["doctor"]).out;
    assert!(
        doctor.contains("prices.toml: unknown provider 'opnai'"),
        "{doctor}"
    );
}

#[test]
fn doctor_makes_a_real_small_call() {
    let server = Server::good();
    let home = Home::configured(&server.url(), "\n[tiers]\ndeliberate = \"lab:big\"\n");
    let run = home.run(&["doctor", "--json"]);
    let checks = run.json();
    let model = checks
        .as_array()
        .unwrap()
        .iter()
        .find(|check| check["part"] == "model")
        .unwrap()
        .clone();
    assert_eq!(model["ok"], true, "{model}");
    assert_eq!(server.asked(), ["check"]);
}

#[test]
fn completions_are_generated_and_typos_get_a_suggestion() {
    let home = Home::empty();
    assert!(
        home.run(&["completions", "bash"])
            .out
            .contains("roundtable")
    );
    home.run(&["asj"]).expect(2, &["ask"]);
}

#[test]
fn an_empty_list_says_whether_a_filter_is_the_reason() {
    let server = Server::good();
    let home = Home::with(&server);
    home.run(&["list"]).expect(0, &["No debates yet"]);
    for _ in 0..3 {
        home.ask(&["--quiet", "--rounds", "1"]).expect(0, &[]);
    }
    for filter in [
        &["--state", "failed"][..],
        &["--search", "zebra"],
        &["--limit", "0"],
        &["--offset", "3"],
    ] {
        home.run(&[&["list"], filter].concat())
            .expect(0, &["No debate matches."]);
    }
    home.run(&["list", "--limit", "2"])
        .expect(0, &["Showing 2 of 3; for more: --offset 2"]);
    let rest = home.run(&["list", "--limit", "2", "--offset", "2"]);
    assert!(!rest.err.contains("--offset"), "{}", rest.err);
}

#[test]
fn a_repeated_id_is_deleted_once_and_a_comment_survives_a_new_rating() {
    let server = Server::good();
    let home = Home::with(&server);
    home.ask(&["--quiet", "--rounds", "1"]).expect(0, &[]);
    let comment = || home.run(&["show", "last", "--json"]).json()["user_comment"].clone();
    home.run(&["rate", "last", "9", "--comment", "good"])
        .expect(0, &[]);
    home.run(&["rate", "last", "7"]).expect(0, &[]);
    assert_eq!(comment(), "good");
    home.run(&["rate", "last", "7", "--comment", ""])
        .expect(0, &[]);
    assert!(comment().is_null());
    let id = home.list()[0]["id"].as_str().unwrap().to_owned();
    home.run(&["rm", &id, &id[..8], &id, "--yes"])
        .expect(0, &["Deleted 1 debate."]);
}

/// P-08: the export says why it leaves debates out.
#[test]
fn p08_the_export_says_why_debates_are_left_out() {
    let server = Server::good();
    let home = Home::with(&server);
    for _ in 0..2 {
        home.ask(&["--quiet", "--rounds", "1"]).expect(0, &[]);
    }
    let export = |more: &[&str]| home.run(&[&["export", "--format", "jsonl"], more].concat());
    export(&["--min-score", "5"]).expect(
        0,
        &[
            "Exported 1 of 2 debates.",
            "Left out 1: a better answer to the same question",
        ],
    );
    export(&["--min-score", "10"]).expect(
        0,
        &[
            "Exported 0 of 2 debates.",
            "Left out 2: score below the minimum",
        ],
    );
    export(&["--min-score", "5", "--min-length", "4000"])
        .expect(0, &["Left out 2: answer shorter than the minimum"]);
    export(&["--min-score", "5", "--min-rounds", "2"])
        .expect(0, &["Left out 2: fewer rounds than the minimum"]);
}
