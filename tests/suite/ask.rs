//! `roundtable ask`: output, options, budgets, events and the stored trace.

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::harness::{Answer, Home, QUESTION, Server, finished, good, schema_name};

/// P-07: the trace has every field of the design, with any OpenAI-compatible server.
#[test]
fn p07_the_json_trace_has_every_field_of_the_design() {
    let server = Server::good();
    let home = Home::with(&server);
    let run = home.ask(&["--json", "--seed", "7"]);
    run.expect(0, &[]);
    let trace = run.json();
    for field in [
        "id",
        "timestamp",
        "query",
        "templates_used",
        "rounds",
        "final_answer",
        "total_rounds",
        "early_stopped",
        "quality_score",
        "user_rating",
        "auto_score",
        "models",
        "timing",
    ] {
        assert!(trace.get(field).is_some(), "{field} is missing");
    }
    assert_eq!(trace["query"], QUESTION);
    assert_eq!(trace["rounds"].as_array().unwrap().len(), 3);
    for field in ["round", "proposer", "skeptic"] {
        assert!(!trace["rounds"][0][field].is_null(), "rounds.{field}");
    }
    for seat in ["proposer", "skeptic", "synthesizer"] {
        assert_eq!(trace["models"][seat], "lab:x");
    }
    assert!(trace["models"].get("embedding").is_some());
    for time in ["total_ms", "rag_ms", "synthesis_ms"] {
        assert!(trace["timing"][time].is_u64(), "timing.{time}");
    }
    assert_eq!(trace["timing"]["rounds_ms"].as_array().unwrap().len(), 3);
    assert_eq!(trace["auto_score"], 8.3);
    assert_eq!(trace["early_stopped"], true);
    assert_eq!(trace["result"]["worth"]["changed"], "refined");
}

/// C-05: every structured request carries its schema as `response_format`; no call is made twice.
#[test]
fn c05_the_server_sees_the_schema_in_each_request_and_each_step_once() {
    let server = Server::good();
    Home::with(&server).ask(&["--quiet"]).expect(0, &[]);
    assert_eq!(
        server.asked(),
        [
            "opening",
            "critique",
            "revision",
            "review",
            "revision",
            "review",
            "synthesis",
            "marking"
        ]
    );
    for request in server.heard() {
        assert_eq!(request["response_format"]["type"], "json_schema");
        assert_eq!(request["response_format"]["json_schema"]["strict"], true);
        assert_eq!(
            request["response_format"]["json_schema"]["schema"]["type"],
            "object"
        );
        assert_eq!(request["model"], "x");
    }
}

/// P-01: the design's temperatures reach the server.
#[test]
fn p01_each_seat_is_asked_at_its_temperature() {
    let server = Server::good();
    Home::with(&server).ask(&["--quiet"]).expect(0, &[]);
    for request in server.heard() {
        let expected = match schema_name(&request).as_str() {
            "opening" | "revision" => 0.7,
            "critique" | "review" => 0.8,
            "synthesis" => 0.5,
            _ => 0.0,
        };
        assert_eq!(request["temperature"], expected);
    }
}

/// C-15: the same seed and replies give the same debate.
#[test]
fn c15_the_same_seed_sends_the_same_requests() {
    let first = Server::good();
    let second = Server::good();
    Home::with(&first)
        .ask(&["--quiet", "--seed", "7"])
        .expect(0, &[]);
    Home::with(&second)
        .ask(&["--quiet", "--seed", "7"])
        .expect(0, &[]);
    assert_eq!(first.heard(), second.heard());
}

/// In a pipe: plain text without escapes, and only the answer on standard output.
#[test]
fn piped_output_is_plain_and_only_the_answer_is_on_stdout() {
    let server = Server::good();
    let run = Home::with(&server).ask(&[]);
    run.expect(
        0,
        &[
            "Proposer ●○○○○ round 1 of 3–5",
            "open issues: 1 critical, 1 minor",
            "8 calls",
        ],
    );
    assert!(!run.out.contains('\u{1b}') && !run.err.contains('\u{1b}'));
    assert!(
        run.out.starts_with("Put a queue in front of the writes"),
        "{}",
        run.out
    );
    assert!(run.out.contains("## Confidence: 8/10"));
    assert!(!run.out.contains("Skeptic"));
}

/// C-04: a program without the embedded model has no embedder either, and one without its weights may not get them. A debate
/// with a hosted model runs without reasoning templates, and says so on the terminal and in the record.
#[test]
fn c04_without_an_embedder_a_debate_runs_and_names_what_is_missing() {
    let server = Server::good();
    let run = Home::with(&server).ask(&["--json"]);
    run.expect(0, &["Continuing without reasoning templates: "]);
    assert_eq!(
        run.json()["notices"][0],
        "Continuing without reasoning templates: no embedder is available"
    );
}

#[test]
fn quiet_prints_only_the_answer() {
    let server = Server::good();
    let run = Home::with(&server).ask(&["--quiet"]);
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    assert!(run.out.starts_with("Put a queue"));
}

/// C-12: escape sequences of a model reach neither the terminal nor a pipe.
#[test]
fn c12_escapes_in_a_reply_are_removed() {
    let server = Server::start(|request, before| {
        Answer::Reply(
            good(request, before).replace("Put a queue", "\\u001b]0;owned\\u0007Put a queue"),
        )
    });
    let run = Home::with(&server).ask(&[]);
    run.expect(0, &[]);
    assert!(!run.out.contains('\u{1b}') && !run.err.contains('\u{1b}'));
}

#[test]
fn the_question_may_come_from_a_file_or_from_standard_input() {
    let server = Server::good();
    let home = Home::with(&server);
    home.write("question.md", "Why is the sky blue?\n");
    let run = home.run(&[
        "ask",
        "question.md",
        "--model",
        "lab:x",
        "--json",
        "--quiet",
    ]);
    assert_eq!(run.json()["query"], "Why is the sky blue?");

    let mut child = home
        .command(&["ask", "-", "--model", "lab:x", "--json", "--quiet"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"Is water wet?")
        .unwrap();
    let run = finished(child.wait_with_output().unwrap());
    assert_eq!(run.json()["query"], "Is water wet?");
}

/// C-03: every seat can have its own model.
#[test]
fn c03_a_seat_can_have_a_model_of_its_own() {
    let server = Server::good();
    let home = Home::with(&server);
    home.ask(&["--seat", "skeptic=lab:other", "--quiet"])
        .expect(0, &[]);
    for request in server.heard() {
        let is_skeptic = matches!(schema_name(&request).as_str(), "critique" | "review");
        assert_eq!(request["model"], if is_skeptic { "other" } else { "x" });
    }
}

/// C-04: the configured model comes first, and the choice is explained.
#[test]
fn c04_the_configured_tier_is_used_and_explained() {
    let server = Server::good();
    let home = Home::configured(&server.url(), "\n[tiers]\ndeliberate = \"lab:big\"\n");
    let run = home.run(&["ask", QUESTION]);
    run.expect(0, &["Using lab:big"]);
    assert!(
        server
            .heard()
            .iter()
            .all(|request| request["model"] == "big")
    );
}

/// P-05
#[test]
fn p05_rounds_can_be_limited_from_the_command_line() {
    let server = Server::good();
    let trace = Home::with(&server)
        .ask(&["--rounds", "1", "--json", "--no-score"])
        .json();
    assert_eq!(
        (&trace["total_rounds"], &trace["early_stopped"]),
        (&Value::from(1), &Value::from(false))
    );
    assert_eq!(server.asked(), ["opening", "critique", "synthesis"]);
}

/// C-07: a token limit ends the debate with the best result so far and exit code 5; resuming continues from there.
#[test]
fn c07_a_budget_ends_the_debate_with_the_best_answer_so_far() {
    let server = Server::good();
    let home = Home::with(&server);
    let run = home.ask(&["--max-tokens-total", "1500", "--json"]);
    run.expect(5, &["the limit of 1500 tokens"]);
    let trace = run.json();
    assert_eq!(trace["state"], "partial");
    let answer = trace["final_answer"].as_str().unwrap();
    assert!(
        answer.starts_with("**Partial:** the limit of 1500 tokens") && answer.contains("Use a"),
        "{answer}"
    );
    assert_eq!(trace["result"]["stop_reason"], "budget");
    let id = trace["id"].as_str().unwrap().split('-').next().unwrap();
    let command = format!("roundtable resume {id} --max-tokens-total 3000");
    run.expect(5, &[&command]);

    let calls = server.asked().len();
    let refused = home.run(&["resume", "last", "--json"]);
    refused.expect(5, &["the limit of 1,500 tokens is reached", &command]);
    assert_eq!((refused.out.as_str(), server.asked().len()), ("", calls));
    let lower = ["resume", "last", "--max-tokens-total", "1700"];
    home.run(&lower).expect(5, &["the limit of 1700 tokens"]);

    let more = ["resume", "last", "--json", "--max-tokens-total", "10000"];
    home.run(&more).expect(0, &[]);
    assert_eq!(server.asked().len(), 8, "nothing was asked twice");
}

/// C-19: a limit of the configuration holds at the start and on resume, against any flag.
#[test]
fn c19_configured_limits_are_ceilings() {
    let server = Server::good();
    let home = Home::configured(&server.url(), "max_tokens_total = 1500\n");
    let holds =
        "the configured limit of 1,500 tokens holds (limits.max_tokens_total), not 9,000 tokens";
    home.ask(&["--max-tokens-total", "9000"]).expect(
        5,
        &[
            holds,
            "roundtable config set limits.max_tokens_total 3000",
            "--max-tokens-total 3000",
        ],
    );
    let calls = server.asked().len();
    let more = ["resume", "last", "--max-tokens-total", "4000"];
    home.run(&more)
        .expect(5, &["the configured limit of 1,500 tokens holds"]);
    assert_eq!(server.asked().len(), calls);
    home.run(&["config", "set", "limits.max_tokens_total", "10000"])
        .expect(0, &[]);
    home.run(&["resume", "last"]).expect(5, &["1,500 tokens"]);
    home.run(&["resume", "last", "--max-tokens-total", "10000"])
        .expect(0, &[]);
    assert_eq!(server.asked().len(), 8);
}

/// C-07: limits given on resume stay with the debate.
#[test]
fn c07_a_limit_given_on_resume_stays() {
    let server = Server::good();
    let home = Home::with(&server);
    home.ask(&["--max-tokens-total", "700"]).expect(5, &[]);
    home.run(&["resume", "last", "--max-tokens-total", "2000"])
        .expect(5, &["the limit of 2000 tokens"]);
    home.run(&["resume", "last"])
        .expect(5, &["the limit of 2,000 tokens is reached"]);
}

/// D4: without an answer, even --quiet says why.
#[test]
fn a_failure_is_reported_in_every_mode() {
    let server = Server::start(|_, _| Answer::Status(401, "", String::new()));
    let run = Home::with(&server).ask(&["--quiet"]);
    run.expect(4, &["Failed: "]);
    assert_eq!(run.out, "");
}

/// D19: an answer that cannot be written is an error.
#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_written_is_an_error() {
    let home = Home::with(&Server::good());
    let full = std::fs::File::create("/dev/full").unwrap();
    let mut command = home.command(&["ask", QUESTION, "--model", "lab:x", "--quiet"]);
    let run = finished(command.stdout(full).output().unwrap());
    run.expect(1, &["cannot write to standard output"]);
}

/// C-07: a time limit also ends a call in flight.
#[test]
fn c07_a_time_limit_ends_a_call_in_flight() {
    let server = Server::start(|request, before| match schema_name(request).as_str() {
        "critique" => Answer::Silence,
        _ => Answer::Reply(good(request, before)),
    });
    let run = Home::with(&server).ask(&["--timeout", "1.5s", "--json"]);
    run.expect(5, &["the time limit of 1.5 s is reached"]);
    assert_eq!(
        run.json()["final_answer"],
        "**Partial:** the time limit of 1.5 s is reached.\n\nUse a **queue**. 😀"
    );
}

/// C-21: on every surface, a partial answer says that it is partial and carries the lowered confidence.
#[test]
fn c21_a_partial_answer_is_the_same_on_every_surface() {
    let server = Server::start(|request, before| match schema_name(request).as_str() {
        "critique" => Answer::Status(400, "", "{}".into()),
        _ => Answer::Reply(good(request, before)),
    });
    let home = Home::with(&server);
    let run = home.ask(&["--quiet"]);
    run.expect(3, &[]);
    let export = |format: &str| home.run(&["export", "last", "--format", format]).out;
    assert!(!run.out.contains("8/10"), "{}", run.out);
    let texts = [
        run.out.clone(),
        home.run(&["show", "last"]).out,
        home.run(&["show", "last", "--json"]).out,
        export("md"),
        export("html"),
    ];
    for text in texts {
        assert!(
            text.contains("the skeptic was absent in rounds 1 and 2"),
            "{text}"
        );
        assert!(text.contains("Confidence: 4/10"), "{text}");
    }
}

/// P-09: events are streamed in the design's envelope, one object per line.
#[test]
fn p09_events_stream_as_lines_of_json() {
    let home = Home::with(&Server::good());
    let run = home.ask(&["--events", "--quiet"]);
    run.expect(0, &[]);
    let events: Vec<Value> = run
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(events[0]["event"], "debate_start");
    assert_eq!(events[0]["content"], QUESTION);
    let id = &events[0]["metadata"]["debate_id"];
    assert_eq!(*id, home.list()[0]["id"]);
    assert_eq!(events[1]["event"], "round_start");
    let said: String = events
        .iter()
        .filter(|event| event["event"] == "proposer_chunk" && event["round"] == 1)
        .map(|event| event["content"].as_str().unwrap())
        .collect();
    assert_eq!(
        said,
        "Use a **queue**. 😀\n\n**Assumptions**\n\n- Writes come in bursts."
    );
    let last = events.last().unwrap();
    assert_eq!(last["event"], "complete");
    assert_eq!(last["metadata"]["state"], "complete");
    assert_eq!(events[2]["metadata"]["model"], "lab:x");
}
