//! `roundtable track`, `post-mortem` and `learning`, their page and their endpoint.

use std::fs;
use std::ops::RangeInclusive;

use serde_json::{Value, json};

use crate::harness::{Answer, Home, Run, Server, Serving};

const RECORD: &str = include_str!("../../crates/engine/fixtures/dashboard/record.yaml");
const ASSESSMENT: &str = include_str!("../../crates/engine/fixtures/dashboard/assessment.yaml");

/// A home with the design's record and assessment, and without a model.
fn home() -> Home {
    let home = Home::empty();
    home.write("record.yaml", RECORD);
    home.write("assessment.yaml", ASSESSMENT);
    home
}

fn post_mortem(home: &Home, more: &[&str]) -> Run {
    let mut args = vec![
        "post-mortem",
        "--record",
        "record.yaml",
        "--from",
        "assessment.yaml",
    ];
    args.extend(more);
    home.run(&args)
}

/// Post-mortems of copies of the design's project, each a project of its own.
fn assess_projects(home: &Home, numbers: RangeInclusive<u32>) {
    for number in numbers {
        let name = format!("project-{number}");
        let replace = |text: &str| text.replace("proj-2024-10-dashboard-api", &name);
        home.write("record.yaml", &replace(RECORD));
        home.write("assessment.yaml", &replace(ASSESSMENT));
        post_mortem(home, &["--domain", "API design"]).expect(0, &[]);
    }
}

fn weights(home: &Home) -> Vec<String> {
    let shown = home.run(&["learning", "show", "--json"]);
    shown.expect(0, &[]);
    let shown = shown.json();
    let weights = shown[0]["weights"].as_array().cloned().unwrap_or_default();
    let weights = weights.iter().map(|weight| {
        let mean = weight["mean"].as_f64().unwrap();
        format!("{} {mean:.2}", weight["type"].as_str().unwrap())
    });
    weights.collect()
}

/// The knowledge without its timestamp.
fn known(home: &Home) -> Value {
    let mut known = home.run(&["learning", "show", "--json"]).json();
    for domain in known.as_array_mut().unwrap() {
        domain["as_of"] = json!(null);
    }
    known
}

/// E-14: the report of the design's example in every format.
#[test]
fn e14_the_designs_example_is_reported_as_text_markdown_and_html() {
    let home = home();
    let run = post_mortem(&home, &["--domain", "API Design"]);
    run.expect(0, &[]);
    insta::assert_snapshot!("post_mortem_text", run.out);
    let html = home.run(&[
        "post-mortem",
        "--record",
        "record.yaml",
        "--from",
        "assessment.yaml",
        "--no-learning",
        "-f",
        "html",
        "-o",
        "it.html",
    ]);
    html.expect(0, &["Wrote it.html"]);
    let page = fs::read_to_string(home.path().join("it.html")).unwrap();
    for words in [
        "Evidence performance",
        "What went wrong",
        "dismissed but relevant",
        "12.5%",
    ] {
        assert!(page.contains(words), "'{words}' is not in the page");
    }
    assert!(!page.contains("<script"), "nothing runs in it");
    let markdown = post_mortem(&home, &["--no-learning", "--format", "md"]);
    insta::assert_snapshot!("post_mortem_markdown", markdown.out);
}

/// E-15, E-16: three projects give the design's weights; each can be undone exactly.
#[test]
fn e16_three_projects_move_the_weights_and_undo_restores_them() {
    let home = home();
    assess_projects(&home, 1..=2);
    let before = known(&home);
    assess_projects(&home, 3..=3);
    let mut found = weights(&home);
    // EMPIRICAL is 0.875 minus the decay of a second, which rounds either way.
    found.remove(1);
    assert_eq!(
        found,
        [
            "DOCUMENTED 0.92",
            "PRECEDENT 0.75",
            "LOGICAL 0.58",
            "PREFERENTIAL 0.40",
            "SPECULATIVE 0.20",
        ]
    );
    let history = home.run(&["learning", "history", "--json"]).json();
    assert_eq!(history.as_array().unwrap().len(), 3);
    let moves = history[2]["moves"].as_array().unwrap();
    let precedent = moves
        .iter()
        .find(|change| change["name"] == "PRECEDENT")
        .unwrap();
    assert_eq!(
        (&precedent["topic"], &precedent["from"]),
        (&json!("weight"), &json!(3))
    );
    assert!(
        history[2]["why"]
            .as_str()
            .unwrap()
            .contains("Dashboard Redesign")
    );
    let undone = home.run(&["learning", "undo"]);
    undone.expect(0, &[]);
    assert!(undone.out.contains("undid entry 3"), "{}", undone.out);
    let after = known(&home);
    // Lessons decay by the second.
    assert_close(&after, &before);
    home.run(&["learning", "undo", "3"])
        .expect(2, &["entry 3 is already undone by entry 4"]);
    home.run(&["learning", "undo", "4"]).expect(0, &[]);
    assert_eq!(weights(&home)[2], "PRECEDENT 0.75");
    home.run(&["learning", "undo", "9"])
        .expect(2, &["there is no entry 9"]);
}

/// Equal except for a few seconds of decay.
#[track_caller]
fn assert_close(found: &Value, expected: &Value) {
    match (found, expected) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            assert!((a - b).abs() < 1e-4, "{a} is not {b}");
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len());
            a.iter().zip(b).for_each(|(a, b)| assert_close(a, b));
        }
        (Value::Object(a), Value::Object(b)) => {
            assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>());
            a.values()
                .zip(b.values())
                .for_each(|(a, b)| assert_close(a, b));
        }
        (a, b) => assert_eq!(a, b),
    }
}

/// E-14: a second post-mortem of the same project is rejected and changes nothing.
#[test]
fn e14_the_same_post_mortem_twice_is_rejected() {
    let home = home();
    post_mortem(&home, &[]).expect(0, &[]);
    let before = weights(&home);
    post_mortem(&home, &["--domain", "other"]).expect(
        2,
        &[
            "'proj-2024-10-dashboard-api' is already learned (entry 1)",
            "roundtable learning undo 1",
        ],
    );
    assert_eq!(weights(&home), before);
    home.run(&["learning", "undo", "1"]).expect(0, &[]);
    post_mortem(&home, &[]).expect(0, &[]);
}

/// E-16: an export can be imported once in another home; invalid exports are rejected.
#[test]
fn e16_learning_is_exported_and_imported() {
    let (here, there) = (home(), home());
    assess_projects(&here, 1..=3);
    here.run(&["learning", "export", "-o", "learned.json"])
        .expect(0, &["Wrote learned.json"]);
    let text = fs::read_to_string(here.path().join("learned.json")).unwrap();
    there.write("learned.json", &text);
    there
        .run(&["learning", "import", "learned.json"])
        .expect(0, &[]);
    assert_eq!(weights(&there), weights(&here));
    there
        .run(&["learning", "import", "learned.json"])
        .expect(2, &["nothing to import: every lesson is already known"]);
    let newer = text.replacen(
        "\"roundtable_learning\": 1",
        "\"roundtable_learning\": 2",
        1,
    );
    there.write("newer.json", &newer);
    there.run(&["learning", "import", "newer.json"]).expect(
        2,
        &["newer.json: written by a newer version of the program (format 2"],
    );
    let weight = text.find("\"weight\":").unwrap();
    let end = weight + text[weight..].find(',').unwrap();
    let wrong = format!("{}\"weight\": 1.5{}", &text[..weight], &text[end..]);
    let line = 1 + text[..weight].matches('\n').count();
    there.write("wrong.json", &wrong);
    there.run(&["learning", "import", "wrong.json"]).expect(
        2,
        &[&format!(
            "wrong.json:{line}: 1.5 is not a probability: it must be a number from 0 to 1"
        )],
    );
    there.write("other.json", "{}");
    there
        .run(&["learning", "import", "other.json"])
        .expect(2, &["is not a `roundtable learning export`"]);
    there.write("broken.json", "{");
    there
        .run(&["learning", "import", "broken.json"])
        .expect(2, &["broken.json:1:"]);
    assert_eq!(weights(&there), weights(&here));
    there
        .run(&["learning", "reset"])
        .expect(2, &["pass --domain NAME, or --all"]);
    there.run(&["learning", "reset", "--all"]).expect(0, &[]);
    assert_eq!(weights(&there), Vec::<String>::new());
    there
        .run(&["learning", "reset", "--all"])
        .expect(2, &["nothing to forget"]);
    there.run(&["learning", "undo"]).expect(0, &[]);
    assert_eq!(weights(&there), weights(&here));
}

/// E-13: events after a decision are recorded and shown with the debate.
#[test]
fn e13_events_after_a_decision_are_tracked_and_shown() {
    let server = Server::good();
    let home = Home::with(&server);
    home.ask(&["--seed", "7"]).expect(0, &[]);
    home.run(&["track", "last", "--list"])
        .expect(0, &["No events recorded yet."]);
    home.run(&[
        "track",
        "last",
        "API spec defined",
        "--week",
        "1",
        "--note",
        "Fast",
    ])
    .expect(0, &["Added 1 event to"]);
    let more = home.run(&[
        "track",
        "last",
        "Flexible filters wanted",
        "--status",
        "new-requirement",
        "--week",
        "3",
        "--impact",
        "Query parser",
        "--time-cost",
        "3 days",
        "--surprise",
        "0.7",
        "--json",
    ]);
    more.expect(0, &[]);
    assert_eq!(
        more.json()[1],
        json!({
            "week": 3, "event": "Flexible filters wanted", "status": "new_requirement", "impact": "Query parser",
            "time_cost": "3 days", "surprise_factor": 0.7
        })
    );
    let shown = home.run(&["show", "last", "--record"]);
    for words in [
        "Since the decision",
        "Flexible filters wanted",
        "20% of the 3 weeks",
    ] {
        assert!(
            shown.out.contains(words),
            "'{words}' is not in:\n{}",
            shown.out
        );
    }
}

/// E-14, E-15: a debate is assessed once; its report is shown again, and its lessons are on the page and in the API.
#[test]
fn e14_a_stored_debate_is_assessed_and_learned_from() {
    let server = Server::good();
    let home = Home::with(&server);
    home.ask(&["--seed", "7"]).expect(0, &[]);
    home.run(&[
        "track",
        "last",
        "Filters wanted",
        "--status",
        "new_requirement",
    ])
    .expect(0, &[]);
    home.write(
        "said.yaml",
        "post_mortem_assessment:\n  decision_accuracy: 0.6\n  what_went_wrong:\n    - aspect: Filters\n      evidence_type_accuracy: \"LOGICAL: 50%\"\n",
    );
    let assessed = home.run(&[
        "post-mortem",
        "last",
        "--from",
        "said.yaml",
        "--domain",
        "queues",
        "--json",
    ]);
    assessed.expect(0, &[]);
    let updates = &assessed.json()["learning_updates"];
    assert_eq!(updates["domain"], "queues");
    assert_eq!(
        updates["evidence_weight_updates"]["LOGICAL"]["new_weight"],
        0.593_75
    );
    assert_eq!(
        updates["skill_recommendations"][0]["skill_name"],
        "Requirements Validation Expert"
    );
    // Without --from, the earlier assessment is shown and nothing is learned again.
    let again = home.run(&["post-mortem", "last"]);
    again.expect(0, &[]);
    assert!(again.out.contains("60% accurate"), "{}", again.out);
    assert_eq!(
        home.run(&["learning", "history", "--json"])
            .json()
            .as_array()
            .unwrap()
            .len(),
        1
    );
    home.run(&["post-mortem", "last", "--from", "said.yaml"])
        .expect(2, &["is already learned"]);
    let shown = home.run(&["show", "last", "--record"]);
    assert!(shown.out.contains("Assessment"), "{}", shown.out);

    let serving = Serving::start(&home, &[]);
    let page = serving.get("/learning?domain=queues").text();
    for words in [
        "Evidence weights",
        "queues",
        "<svg",
        "0.59",
        "Change history",
    ] {
        assert!(page.contains(words), "'{words}' is not in the page");
    }
    assert!(
        serving
            .get("/learning?domain=%FF")
            .text()
            .contains("Learning")
    );
    let all = serving.get("/api/v1/learning").json();
    assert_eq!(all["domains"][0]["domain"], "queues");
    assert_eq!(all["history"][0]["in_force"], true);
}

/// E-13, E-14: invalid input is reported with its place; nothing is saved.
#[test]
fn e14_invalid_input_is_rejected_and_saves_nothing() {
    let server = Server::start(|_, _| Answer::Status(400, "", "{}".into()));
    let home = Home::with(&server);
    home.write("record.yaml", RECORD);
    home.write("assessment.yaml", ASSESSMENT);
    home.run(&["post-mortem", "last", "--from", "assessment.yaml"])
        .expect(2, &["there are no debates yet"]);
    home.ask(&[]);
    assert_eq!(home.list()[0]["state"], "failed");
    home.run(&["track", "last", "Done", "--status", "done"])
        .expect(2, &["invalid value 'done' for '--status <STATUS>'"]);
    home.run(&["track", "last", "Late", "--status", "delay"])
        .expect(2, &["did you mean 'delayed'?"]);
    home.run(&["track", "last", "Late", "--time-cost", "a while"])
        .expect(2, &["invalid time 'a while'"]);
    home.run(&["track", "last", "Late", "--surprise", "7"])
        .expect(2, &["7 is not a probability"]);
    home.run(&["track", "last", " "]).expect(2, &[]);
    home.run(&["track", "last", "Done"])
        .expect(2, &["ended without a decision (failed)"]);
    home.run(&["post-mortem", "last", "--from", "assessment.yaml"])
        .expect(2, &["ended without a decision (failed)"]);
    home.write(
        "wrong.yaml",
        &ASSESSMENT.replace("surprise_factor", "suprise_factor"),
    );
    home.run(&[
        "post-mortem",
        "--record",
        "record.yaml",
        "--from",
        "wrong.yaml",
    ])
    .expect(
        2,
        &["wrong.yaml:22: unknown field 'suprise_factor'; did you mean 'surprise_factor'?"],
    );
    home.write(
        "other.yaml",
        &ASSESSMENT.replace("project_id: \"proj", "project_id: \"prog"),
    );
    home.run(&["post-mortem", "--record", "record.yaml", "--from", "other.yaml"])
        .expect(2, &["the assessment is for project 'prog-2024-10-dashboard-api', but the record is for 'proj-2024-10-dashboard-api'"]);
    home.write(
        "agent.yaml",
        &ASSESSMENT.replace("agent: \"GPT-4\"", "agent: \"GPT-44\""),
    );
    home.run(&[
        "post-mortem",
        "--record",
        "record.yaml",
        "--from",
        "agent.yaml",
    ])
    .expect(2, &["unknown agent 'GPT-44'; did you mean 'GPT-4'?"]);
    home.run(&["post-mortem", "--record", "record.yaml"])
        .expect(
            2,
            &["standard input is not a terminal. Pass a file with --from FILE"],
        );
    home.run(&[
        "post-mortem",
        "--record",
        "nowhere.yaml",
        "--from",
        "assessment.yaml",
    ])
    .expect(2, &["cannot read nowhere.yaml"]);
    home.run(&["post-mortem", "last", "--domain", " "])
        .expect(2, &["a domain needs a name"]);
    assert_eq!(
        home.run(&["learning", "history", "--json"]).json(),
        json!([])
    );
}

/// A deleted debate cannot be assessed; what was learned from it stays.
#[test]
fn e14_a_deleted_debate_cannot_be_assessed() {
    let server = Server::good();
    let home = Home::with(&server);
    home.write(
        "said.yaml",
        "post_mortem_assessment:\n  decision_accuracy: 0.6\n",
    );
    home.ask(&["--seed", "7"]).expect(0, &[]);
    let id = home.list()[0]["id"].as_str().unwrap().to_owned();
    home.run(&["post-mortem", &id, "--from", "said.yaml"])
        .expect(0, &[]);
    home.run(&["rm", &id, "--yes"]).expect(0, &[]);
    for args in [
        ["post-mortem", &id, "--from", "said.yaml"],
        ["track", &id, "Late", "--json"],
    ] {
        home.run(&args).expect(2, &["no debate id starts with"]);
    }
    assert_eq!(
        home.run(&["learning", "history", "--json"])
            .json()
            .as_array()
            .unwrap()
            .len(),
        1
    );
}
