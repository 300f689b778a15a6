//! `roundtable schema`: the output of `--json` is valid against the published schemas.

use serde_json::{Value, json};

use crate::all_protocols::{POST, reply};
use crate::harness::{Answer, Home, QUESTION, Server, council_server};

fn faults(home: &Home, schema: &str, record: &Value) -> Vec<String> {
    let schema = home.run(&["schema", schema]).json();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors = validator.iter_errors(record);
    errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

fn expect_valid(home: &Home, schema: &str, record: &Value) {
    assert_eq!(Vec::<String>::new(), faults(home, schema, record));
}

/// C-14, P-07: the trace of `ask --json`, complete and without a score.
#[test]
fn c14_ask_prints_what_its_schema_promises() {
    let home = Home::with(&Server::good());
    let mut trace = home.ask(&["--json"]).json();
    expect_valid(&home, "dialectic", &trace);
    assert_eq!(trace["models"]["judge"], "lab:x");
    trace["result"]["confidence"] = json!("high");
    assert_eq!(faults(&home, "dialectic", &trace).len(), 1);
    let unscored = home.ask(&["--json", "--no-score"]).json();
    expect_valid(&home, "dialectic", &unscored);
    assert_eq!(unscored["models"].get("judge"), None, "it was not asked");
    assert_eq!(unscored["models"]["skeptic"], "lab:x");
}

/// C-14, M-11, E-12: the record of `debate --json`, plain and enhanced.
#[test]
fn c14_debate_prints_what_its_schema_promises() {
    let server = Server::start(|request, _| Answer::Reply(reply(request)));
    let home = Home::with(&server);
    let debate = |more: &[&str]| {
        let args = [
            "debate", QUESTION, "--seats", "3", "--model", "lab:x", "--json",
        ];
        home.run(&[&args[..], more].concat()).json()
    };
    let mut plain = debate(&[]);
    expect_valid(&home, "modes", &plain);
    plain["debate_state"]["claims"][0]["status"] = json!("odd");
    assert_eq!(faults(&home, "modes", &plain).len(), 1);
    let enhanced = debate(&["--enhanced"]);
    assert!(enhanced["debate_record"].is_object(), "{enhanced}");
    expect_valid(&home, "modes", &enhanced);
}

/// C-14: the ranking of `judge --rank --json`.
#[test]
fn c14_a_ranking_is_what_its_schema_promises() {
    let home = Home::with(&council_server(|_| 60.0));
    home.write("one.md", POST);
    home.write("two.md", POST);
    let args = [
        "judge", "one.md", "two.md", "--rank", "--fast", "--model", "lab:x", "--json",
    ];
    let mut ranked = home.run(&args).json();
    expect_valid(&home, "ranking", &ranked);
    ranked["debates"][1]["result"]["overall"]["score"] = json!(110);
    assert_eq!(faults(&home, "ranking", &ranked).len(), 1);
}
