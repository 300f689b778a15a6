//! `roundtable debate` and `roundtable modes`.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::harness::{Answer, Home, QUESTION, Run, Server, Serving, finished, schema_name};

/// All messages of a request as one text.
pub(crate) fn said(request: &Value) -> String {
    let messages = request["messages"].as_array().unwrap();
    let texts = messages.iter().flat_map(|message| {
        let content = &message["content"];
        let parts = content.as_array().into_iter().flatten();
        let parts = parts.filter_map(|part| part["text"].as_str());
        content.as_str().into_iter().chain(parts)
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// Valid replies of a panel that doubts in round 1 and agrees in round 2.
pub(crate) fn reply(request: &Value) -> Value {
    match schema_name(request).as_str() {
        "ballot" => {
            json!({ "position": "Wait.", "debate_alignment": "Wait", "confidence": 0.5, "vote": "BLOCKER" })
        }
        "conclusion" => {
            json!({ "answer": "Use a queue, and measure.", "dissent": [], "open_points": [] })
        }
        "evaluation" => json!({ "assessment": "Nothing could.", "risk": "clear", "withhold": [] }),
        _ => contribution(request),
    }
}

pub(crate) fn contribution(request: &Value) -> Value {
    let text = said(request);
    let seat = text.rsplit("You are the ").next().unwrap();
    let seat = seat[..seat.find('.').unwrap()].to_lowercase();
    let round = if text.contains("is round 1 of") { 1 } else { 2 };
    let headings = text.rsplit("under these headings:").next().unwrap();
    let headings = headings
        .lines()
        .filter_map(|line| line.strip_prefix("- "))
        .filter_map(|line| line.split(':').next());
    let argument: Vec<String> = headings
        .map(|heading| format!("## {heading}\n\nThe {seat} says {seat} of round {round}.[INFER]"))
        .collect();
    let (vote, confidence) = if round == 1 {
        ("MINOR", 0.6)
    } else {
        ("ACCEPT", 0.8)
    };
    json!({
        "argument": argument.join("\n\n"),
        "position": format!("The {seat} would try it."),
        "debate_alignment": "Use a queue",
        "confidence": confidence,
        "vote": vote,
        "blocker": null,
        "claims": [{ "text": format!("The {seat} saw bursts in month {round}."), "label": "FACT", "citations": "[1]" }],
        "references": [{ "number": 1, "title": format!("Log {round} of the {seat}"), "url": null, "gist": "Bursts.", "kind": "citation" }],
        "supports": [], "opposes": [], "retracts": [], "decisions": [], "moved_by": [],
        "steelman": "It smooths the load.",
        "concern": format!("The {seat} fears outage number {round}."),
        "alternatives": [
            { "option": "A larger machine", "rejected_because": "It costs more." },
            { "option": "Nothing", "rejected_because": "It fails." },
        ],
        "risks": [
            { "failure": "It fills.", "mitigation": "Limit it." },
            { "failure": "It loses.", "mitigation": "Write to disk." },
            { "failure": "Nobody looks.", "mitigation": "Set an alarm." },
        ],
        "uncertainty": "How high the bursts are.",
        "verification": { "clarity": true, "grounding": true, "alternatives": true, "risks": true, "uncertainty": true,
            "consistency": true, "safety": true, "mode_first": true, "mode_second": true, "high_stakes": true },
    })
}

fn good() -> Server {
    Server::start(|request, _| Answer::Reply(reply(request).to_string()))
}

fn debate(home: &Home, more: &[&str]) -> Run {
    let mut args = vec!["debate", QUESTION, "--model", "lab:x"];
    args.extend(more);
    home.run(&args)
}

/// M-01, M-05, M-11: `--json` prints the record and nothing else on standard output.
#[test]
fn m01_a_debate_prints_its_record() {
    let server = good();
    let home = Home::with(&server);
    let run = debate(&home, &["--mode", "delphi", "--seats", "3", "--json"]);
    run.expect(0, &[]);
    let record = run.json();
    assert_eq!(record["mode"], "delphi");
    assert_eq!(record["result"]["stop_reason"], "consensus");
    assert_eq!(record["debate_state"]["claims"][0]["id"], "C1");
    assert_eq!(
        record["debate_state"]["agent_status"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    assert_eq!(server.asked().len(), 7);
    assert!(server.heard().iter().all(|request| {
        schema_name(request) != "contribution"
            || request["response_format"]["json_schema"]["schema"]["properties"]
                .get("stance")
                .is_none()
    }));
}

/// The terminal and exported files show the answer, the positions, the claims and the stop criterion.
#[test]
fn m05_positions_claims_and_the_stop_criterion_are_shown() {
    let home = Home::with(&good());
    let run = debate(
        &home,
        &[
            "--mode",
            "adversarial",
            "--stakes",
            "high",
            "--focus",
            "2=What does it cost?",
        ],
    );
    run.expect(0, &["the panel agrees, 4 of 4 accept and nobody blocks"]);
    assert!(run.out.contains("Use a queue, and measure."), "{}", run.out);
    let file = home.path().join("debate.md");
    home.run(&[
        "export",
        "last",
        "--format",
        "md",
        "-o",
        file.to_str().unwrap(),
    ])
    .expect(0, &[]);
    let text = std::fs::read_to_string(file).unwrap();
    for words in [
        "Positions in round 1",
        "Claims",
        "C1",
        "[FACT]",
        "Evidence",
        "E1",
        "Ending",
    ] {
        assert!(text.contains(words), "'{words}' is not in {text}");
    }
}

/// M-01, C-02: modes are listed, shown with their four layers, checked and created; a user mode can be used.
#[test]
fn m01_modes_are_listed_shown_checked_and_created() {
    let server = good();
    let home = Home::with(&server);
    let list = home.run(&["modes", "list", "--json"]);
    assert_eq!(list.json().as_array().unwrap().len(), 7);
    let shown = home.run(&["modes", "show", "devils-advocate"]);
    for words in [
        "Role anchor",
        "Behavioural contract",
        "Required structure",
        "Verification loop",
        "YES",
    ] {
        assert!(
            shown.out.contains(words),
            "'{words}' is not in {}",
            shown.out
        );
    }
    home.run(&["modes", "show", "delfi"])
        .expect(2, &["did you mean 'delphi'?"]);
    let broken = home.write(
        "broken.toml",
        "name = \"x\"\nsummary = \"y\"\norder = \"chaos\"\n",
    );
    home.run(&["modes", "check", broken.to_str().unwrap()])
        .expect(2, &["broken.toml:3:", "chaos"]);
    home.run(&["modes", "new", "My Mode"])
        .expect(2, &["invalid mode name"]);
    home.run(&["modes", "new", "mine"])
        .expect(0, &["as a copy of 'collaborative'"]);
    home.run(&["modes", "new", "mine"])
        .expect(2, &["already exists"]);
    home.run(&["modes", "new", "delphi"])
        .expect(2, &["'delphi' is a built-in mode"]);
    let run = debate(&home, &["--mode", "mine", "--json"]);
    run.expect(0, &[]);
    assert_eq!(run.json()["mode"], "mine");
}

/// C-02: all errors of a request are reported at once, before the first call.
#[test]
fn m01_all_errors_are_reported_at_once() {
    let server = good();
    let home = Home::with(&server);
    debate(&home, &["--mode", "chaos", "--seats", "2", "--rounds", "0"])
        .expect(2, &["unknown mode 'chaos'", "2 seats are not possible"]);
    debate(&home, &["--seats", "9"]).expect(2, &["the cast 'modes' has 8"]);
    debate(&home, &["--rounds", "2", "--focus", "3=Why?"])
        .expect(2, &["a focus is set for round 3"]);
    debate(&home, &["--cast", "dialectic"])
        .expect(2, &["the cast is for the protocol 'dialectic'"]);
    home.run(&["debate", " ", "--model", "lab:x"])
        .expect(2, &["empty"]);
    assert_eq!(server.asked().len(), 0);
}

/// E-10: with --interactive, typed lines are sent to the seats.
#[test]
fn e10_typed_lines_are_sent_to_the_seats() {
    let server = Server::start(|request, _| {
        Answer::Late(
            std::time::Duration::from_millis(300),
            reply(request).to_string(),
        )
    });
    let home = Home::with(&server);
    let mut child = home
        .command(&[
            "debate",
            QUESTION,
            "--model",
            "lab:x",
            "--interactive",
            "--seats",
            "3",
            "--json",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut typed = child.stdin.take().unwrap();
    typed.write_all(b"Costs matter most.\n").unwrap();
    typed.flush().unwrap();
    let run = finished(child.wait_with_output().unwrap());
    run.expect(0, &[]);
    assert_eq!(run.json()["user_input"], json!(["Costs matter most."]));
    let heard = server
        .heard()
        .iter()
        .filter(|request| said(request).contains("Costs matter most."))
        .count();
    assert!(heard >= 3, "{heard} requests");
}

#[test]
fn m01_the_help_explains_the_modes() {
    let help = Home::empty().run(&["debate", "--help"]);
    for mode in [
        "collaborative",
        "adversarial",
        "socratic",
        "expert-panel",
        "devils-advocate",
        "delphi",
        "red-team-blue-team",
        "Which one?",
        "BLOCKER",
    ] {
        assert!(help.out.contains(mode), "{mode}: {}", help.out);
    }
}

/// M-09: text that the safety evaluator withheld is on no surface that is read after the turn.
#[test]
fn m09_a_withheld_turn_is_on_no_surface() {
    const MARK: &str = "mix the two powders";
    let server = Server::start(|request, before| {
        let mut reply = reply(request);
        match schema_name(request).as_str() {
            "evaluation" if before == 0 => {
                reply =
                    json!({ "assessment": "Too far.", "risk": "harmful", "withhold": ["builder"] });
            }
            "contribution"
                if reply["claims"][0]["text"] == "The builder saw bursts in month 1." =>
            {
                let argument = reply["argument"].as_str().unwrap();
                reply["argument"] = json!(format!("{argument} First, {MARK}.[INFER]"));
                reply["position"] = json!(format!("We should {MARK}."));
                reply["risks"][0]["failure"] = json!(format!("If they {MARK}, it burns."));
                reply["references"][0]["title"] = json!(format!("How to {MARK}"));
                reply["concern"] = json!(format!("Nobody can {MARK}."));
            }
            _ => {}
        }
        Answer::Reply(reply.to_string())
    });
    let home = Home::with(&server);
    let args = ["--mode", "adversarial", "--seats", "3", "--quiet"];
    debate(&home, &args).expect(0, &[]);
    let id = home.list()[0]["id"].as_str().unwrap().to_owned();
    let show = |more: &[&str]| home.run(&[&["show", "last"], more].concat()).out;
    let export = |format: &str| home.run(&["export", "last", "--format", format]).out;
    let serving = Serving::start(&home, &[]);
    let get = |path: String| serving.get(&path).text();
    let turns = [
        show(&["--transcript"]),
        show(&["--record"]),
        export("md"),
        export("html"),
        get(format!("/debates/{id}")),
        get(format!("/api/v1/debates/{id}/events")),
    ];
    for text in &turns {
        assert!(
            text.contains("[withheld by the safety evaluator]"),
            "{text}"
        );
    }
    let others = [
        show(&[]),
        show(&["--json"]),
        export("json"),
        export("yaml"),
        get(format!("/api/v1/debates/{id}")),
    ];
    let steps = home.run(&["show", "--prompt", "none"]).err;
    let (_, steps) = steps.split_once("Its steps: ").unwrap();
    let steps: Vec<&str> = steps.trim().split(", ").collect();
    assert!(steps.contains(&"r2/builder/speak"), "{steps:?}");
    let prompts = steps.iter().flat_map(|step| {
        [
            home.run(&["show", "--prompt", step]).out,
            get(format!("/api/v1/debates/{id}/prompt?step={step}")),
            get(format!("/debates/{id}/prompts/{step}")),
        ]
    });
    let others: Vec<String> = prompts.chain(others).collect();
    for text in turns.iter().chain(&others) {
        assert!(!text.contains(MARK), "{text}");
    }
    // Of the others, only the seat that speaks next and the evaluator have read it.
    let heard = server.heard();
    let readers = heard.iter().map(|request| (said(request), request));
    let readers =
        readers.filter(|(text, _)| text.contains(MARK) && !text.contains("You are the Builder."));
    let readers: Vec<String> = readers.map(|(_, request)| schema_name(request)).collect();
    assert_eq!(readers, ["contribution", "evaluation"]);
}
