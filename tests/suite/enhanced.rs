//! Enhanced debates: flag, algorithm, constitution, convergence, decisions, record.

use serde_json::{Value, json};

use crate::debate::{reply, said};
use crate::harness::{Answer, Home, QUESTION, Run, Server, schema_name};

/// A seat's position in a round, and the answer it supports.
pub(crate) type Position = fn(&str, u32) -> (&'static str, &'static str);
/// The evidence for a seat's claims in a round.
pub(crate) type Backing = fn(&str, u32) -> Value;

/// A panel whose claims carry evidence.
fn panel(position: Position) -> Server {
    Server::start(move |request, _| answer(request, position, measured_by_all))
}

fn measured_by_all(_: &str, _: u32) -> Value {
    json!([{ "of": "N1", "evidence": [{ "type": "EMPIRICAL", "source": "[1]" }], "confidence": 0.9 }])
}

/// The reply of a panel, or of the embedder.
pub(crate) fn answer(request: &Value, position: Position, backing: Backing) -> Answer {
    if request.get("input").is_some() {
        return Answer::Status(200, "content-type: application/json\r\n", vectors(request));
    }
    let mut reply = reply(request);
    if schema_name(request) == "contribution" {
        let (seat, round) = speaker(request);
        let (words, option) = position(&seat, round);
        reply["position"] = json!(words);
        reply["debate_alignment"] = json!(option);
        reply["confidence"] = json!(0.65);
        let asked = &request["response_format"]["json_schema"]["schema"]["properties"];
        if asked.get("backing").is_some() {
            reply["backing"] = backing(&seat, round);
            reply["critiques"] = json!([]);
            reply.as_object_mut().unwrap().remove("opposes");
        }
    }
    Answer::Reply(reply.to_string())
}

/// Seat and round of a request.
pub(crate) fn speaker(request: &Value) -> (String, u32) {
    let text = said(request);
    let seat = text.rsplit("You are the ").next().unwrap();
    let seat = seat[..seat.find('.').unwrap()].to_lowercase();
    (seat, round_of(&text))
}

/// The round in the instructions ("This is round 2", "Round 3 is a critical-objection round"), which follow the earlier turns.
fn round_of(text: &str) -> u32 {
    let (_, instructions) = text.rsplit_once("## What to do").unwrap();
    let (_, after) = instructions.split_once("ound ").unwrap();
    let digits = after.split(|c: char| !c.is_ascii_digit()).next();
    digits.unwrap().parse().unwrap()
}

/// Embeddings by word counts: texts that share words are similar.
fn vectors(request: &Value) -> String {
    let texts = request["input"].as_array().unwrap().iter();
    let data: Vec<Value> = texts
        .enumerate()
        .map(|(index, text)| {
            let mut vector = vec![0.0; 64];
            for word in text.as_str().unwrap().to_lowercase().split_whitespace() {
                let place = word
                    .bytes()
                    .fold(7_usize, |sum, byte| sum * 31 % 64 + usize::from(byte));
                vector[place % 64] += 1.0;
            }
            json!({ "index": index, "embedding": vector })
        })
        .collect();
    json!({ "data": data, "usage": { "prompt_tokens": 9, "total_tokens": 9 } }).to_string()
}

/// The three example rounds of the design.
pub(crate) fn example(seat: &str, round: u32) -> (&'static str, &'static str) {
    match (seat, round) {
        ("sentinel", 1) => ("Use microservices for scalability", "Microservices"),
        ("builder", 1) => ("Use monolith for simplicity", "Monolith"),
        (_, 1) => ("Use serverless for cost optimization", "Serverless"),
        ("sentinel", 2) => (
            "Use modular monolith, extract services if needed",
            "Modular monolith",
        ),
        ("builder", 2) => ("Start with monolith, plan service boundaries", "Monolith"),
        (_, 2) => (
            "Monolithic architecture with clear domain separation",
            "Modular monolith",
        ),
        ("sentinel", _) => (
            "Modular monolith with domain-driven design boundaries",
            "Modular monolith",
        ),
        ("builder", _) => (
            "Monolith structured as modules with extraction plan",
            "Modular monolith",
        ),
        (_, _) => (
            "Modular monolith approach, extract if team scales",
            "Modular monolith",
        ),
    }
}

#[cfg(feature = "local")]
pub(crate) fn designs_example() -> Server {
    panel(example)
}

/// Positions that converge to the same words.
pub(crate) fn converging(seat: &str, round: u32) -> (&'static str, &'static str) {
    match round {
        1 | 2 => example(seat, round),
        _ => (
            "Build one modular monolith and extract later",
            "Modular monolith",
        ),
    }
}

pub(crate) fn measured(server: &Server) -> Home {
    Home::configured(&server.url(), "\n[embedder]\nmodel = \"lab:words\"\n")
}

pub(crate) fn debate(home: &Home, more: &[&str]) -> Run {
    let mut args = vec!["debate", QUESTION, "--model", "lab:x", "--seats", "3"];
    args.extend(more);
    home.run(&args)
}

/// E-08, E-11, E-12, E-17: the display of an enhanced debate, and its record as YAML and JSON.
#[test]
fn e12_an_enhanced_debate_has_a_record() {
    let server = panel(converging);
    let home = measured(&server);
    let run = debate(&home, &["--enhanced"]);
    run.expect(
        0,
        &[
            "Round 3",
            "Position: Build one modular monolith and extract later",
            "Evidence: [EMPIRICAL] Log 2 of the sentinel",
            "Confidence: MEDIUM (0.65)",
            "Semantic similarity: 1.00 (Threshold: 0.80 (consensus); Previous:",
            "Position shift (R2→R3):",
            "Evidence convergence: 0.00",
            "CONSENSUS REACHED (diverse evidence)",
            "Token overhead +",
        ],
    );
    assert!(
        !run.err.contains('█') && !run.err.contains('\u{1b}'),
        "{}",
        run.err
    );
    let record = home.run(&["record", "last"]);
    record.expect(0, &[]);
    for line in [
        "debate_record:",
        "  session_id:",
        "  token_efficiency:",
        "    consensus_reached: true",
        "  final_consensus:",
        "    decision: Modular monolith",
        "    human_override: false",
    ] {
        assert!(
            record.out.contains(line),
            "'{line}' is not in {}",
            record.out
        );
    }
    let json = home.run(&["record", "last", "--format", "json"]).json();
    let rounds = json["debate_record"]["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 3);
    assert_eq!(
        rounds[0]["agent_positions"][1]["evidence_types"],
        json!(["EMPIRICAL"])
    );
    assert_eq!(rounds[0]["metrics"]["position_shift"], Value::Null);
    let exported = home.run(&["export", "last", "--format", "json"]).json();
    assert_eq!(exported["debate_record"], json["debate_record"]);
    let file = home.path().join("debate.html");
    home.run(&[
        "export",
        "last",
        "--format",
        "html",
        "-o",
        file.to_str().unwrap(),
    ])
    .expect(0, &[]);
    let html = std::fs::read_to_string(file).unwrap();
    for words in [
        "Convergence by round",
        "consensus at 0.80",
        "Evidence by number of citations",
        "overconfident",
    ] {
        assert!(html.contains(words), "'{words}' is not in the page");
    }
}

/// E-21: the algorithm is configured for all debates; an unknown one is rejected; --no-enhanced overrides it.
#[test]
fn e21_an_algorithm_is_chosen_in_the_configuration() {
    let server = panel(converging);
    let home = measured(&server);
    home.run(&["config", "set-algorithm", "evidence_based_debat"])
        .expect(2, &["did you mean 'evidence_based_debate'?"]);
    let listed = home.run(&["config", "algorithms"]);
    for name in [
        "democratic_majority",
        "security_first_veto",
        "evidence_based_debate",
    ] {
        assert!(listed.out.contains(name), "{}", listed.out);
    }
    home.run(&["config", "set-algorithm", "evidence_based_debate"])
        .expect(0, &["evidence_based_debate"]);
    let run = debate(&home, &["--json"]);
    run.expect(0, &[]);
    assert_eq!(
        run.json()["result"]["enhanced"]["algorithm"],
        "evidence_based_debate"
    );
    // The three seats stand for three answers in round 1.
    let options = ["--no-enhanced", "--rounds", "1"];
    debate(&home, &options).expect(6, &["There is no sufficient majority"]);
    let plain = debate(
        &home,
        &[
            "--no-enhanced",
            "--rounds",
            "1",
            "--no-escalation",
            "--json",
        ],
    );
    plain.expect(0, &[]);
    let decision = &plain.json()["result"]["panel_decision"];
    assert_eq!(
        (&decision["level"], &decision["carried"]),
        (&json!("LOW"), &json!(false))
    );
    assert_eq!(plain.json().get("debate_record"), None);
    home.run(&["record", "last"])
        .expect(2, &["is not an enhanced debate"]);
    debate(&home, &["--enhanced", "--no-enhanced"]).expect(2, &["cannot be used with"]);
    debate(&home, &["--algorithm", "oracle"]).expect(2, &["unknown algorithm 'oracle'"]);
}

/// E-21: a constitution in the working folder can require evidence; an invalid one is rejected before the first call.
#[test]
fn e21_a_constitution_can_require_evidence() {
    let server = panel(converging);
    let home = measured(&server);
    home.write(
        "constitution.yaml",
        "constitution:\n  debate_policy:\n    require_evidence: true\n    track_convergence: true\n    enable_learning: false\n",
    );
    let run = debate(&home, &["--json"]);
    let notice = "Enhanced debate: constitution.yaml sets require_evidence and track_convergence; \
         --no-enhanced turns it off";
    run.expect(0, &[notice]);
    assert_eq!(
        run.json()["debate_record"]["rounds"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    let asked = server.asked().len();
    home.write(
        "constitution.yaml",
        "debate_policy:\n  require_evidence: perhaps\n",
    );
    let refused = debate(&home, &[]);
    refused.expect(2, &["constitution.yaml:2: ", "require_evidence"]);
    // The place is given once.
    assert!(!refused.err.contains(" line 2"), "{}", refused.err);
    assert_eq!(server.asked().len(), asked);
}

/// E-08: thresholds are configurable within bounds.
#[test]
fn e08_thresholds_are_configurable() {
    let server = panel(converging);
    let home = measured(&server);
    home.run(&["config", "set", "convergence.similarity", "1.2"])
        .expect(
            2,
            &["invalid convergence.similarity 1.2: expected a number from 0 to 1"],
        );
    home.run(&["config", "set", "convergence.similarity", "0.10"])
        .expect(0, &[]);
    home.run(&["config", "set", "convergence.early_round", "0"])
        .expect(0, &[]);
    let run = debate(&home, &["--enhanced", "--json"]);
    run.expect(0, &[]);
    let thresholds = &run.json()["result"]["enhanced"];
    assert_eq!(thresholds["decision"]["basis"], "measured");
}

pub(crate) fn stuck(seat: &str, _: u32) -> (&'static str, &'static str) {
    example(seat, 1)
}

/// E-09: without progress the debate waits for a decision; the decision is in the record.
#[test]
fn e09_a_person_decides_if_there_is_no_progress() {
    let server = panel(stuck);
    let home = measured(&server);
    let run = debate(&home, &["--enhanced"]);
    let id = home.list()[0]["id"].as_str().unwrap()[..8].to_owned();
    let command = format!("roundtable resume {id} --decide another-round");
    let waits = [
        "Waiting for your decision: The debate makes no progress",
        "another-round",
        "Monolith",
        &command,
    ];
    // It is neither an error nor a result.
    run.expect(6, &waits);
    assert!(!run.err.contains("error:"), "{}", run.err);
    home.run(&["resume", "last"]).expect(6, &waits);
    assert_eq!(home.list()[0]["state"], "waiting");
    let shown = home.run(&["show", "last"]);
    for words in waits {
        assert!(
            shown.out.contains(words),
            "'{words}' is not in {}",
            shown.out
        );
    }
    let record = home.run(&["resume", "last", "--json"]);
    record.expect(6, &[]);
    let record = record.json();
    assert_eq!(record["state"], "waiting");
    assert_eq!(record["id"].as_str().unwrap()[..8], id);
    assert_eq!(record["waiting_for"]["options"][0], "another-round");
    home.run(&["resume", "last", "--decide", "Chaos"])
        .expect(2, &["invalid choice"]);
    let calls = server.asked().len();
    let done = home.run(&["resume", "last", "--decide", "Monolith", "--json"]);
    done.expect(0, &[]);
    let json = done.json();
    assert_eq!(json["result"]["stop_reason"], "human_override");
    assert_eq!(
        json["debate_record"]["final_consensus"]["human_override"],
        true
    );
    assert_eq!(
        json["debate_record"]["final_consensus"]["decision"],
        "Monolith"
    );
    // Only the conclusion was still to be written.
    assert_eq!(server.asked().len(), calls + 1);
}

/// E-19: without an embedder, the typed answers alone decide, and a note reports it.
#[cfg(not(feature = "local"))]
#[test]
fn e19_a_missing_embedder_is_reported() {
    let server = panel(converging);
    let home = Home::with(&server);
    let run = debate(&home, &["--enhanced"]);
    run.expect(
        0,
        &[
            "the typed answers alone decide",
            "Similarity was not measured (there is no embedder): the typed answers alone decide.",
        ],
    );
}

/// E-15: the next debate of a domain uses its lessons, reports it, and puts their questions to every seat; a debate of another
/// domain does not.
#[test]
fn e15_the_next_debate_of_a_domain_uses_what_was_learned() {
    let server = panel(converging);
    let home = measured(&server);
    let fixtures = "crates/engine/fixtures/dashboard";
    let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(fixtures);
    for name in ["record.yaml", "assessment.yaml"] {
        let text = std::fs::read_to_string(fixtures.join(name)).unwrap();
        home.write(name, &text);
    }
    let files = ["--record", "record.yaml", "--from", "assessment.yaml"];
    let taught = [
        &["post-mortem"],
        files.as_slice(),
        &["--domain", "API design"],
    ]
    .concat();
    home.run(&taught).expect(0, &[]);
    let learned = home.run(&["learning", "show", "--json"]).json();
    let question = learned[0]["questions"][0]["question"].as_str().unwrap();

    let run = debate(&home, &["--enhanced", "--domain", "api design"]);
    run.expect(0, &["Learned from 1 post-mortem of 'api design'"]);
    let asked = |server: &Server| {
        let heard = server.heard();
        let turns = heard
            .iter()
            .filter(|request| schema_name(request) == "contribution");
        turns
            .filter(|request| said(request).contains(question))
            .count()
    };
    let count = asked(&server);
    assert!(count >= 3, "every seat gets the question: {count}");
    let record = home.run(&["record", "last", "--format", "json"]).json();
    let questions = record["debate_record"]["required_questions"].to_string();
    assert!(questions.contains(question), "{questions}");
    let shown = home.run(&["show", "last", "--record"]);
    shown.expect(0, &[]);
    assert!(shown.out.contains("Lessons applied"), "{}", shown.out);

    let other = debate(&home, &["--enhanced", "--domain", "hiring"]);
    other.expect(0, &[]);
    assert!(!other.err.contains("Learned from"), "{}", other.err);
    assert_eq!(asked(&server), count, "no seat gets the question");
    debate(&home, &["--domain", "hiring"]).expect(2, &["enhanced"]);
}
