//! Model servers that misbehave. The debate ends honestly, within its retries, and nothing hangs.

use crate::harness::{Answer, Home, Server, good, schema_name};

#[test]
fn no_network_is_said_and_the_debate_can_be_resumed() {
    // A port that nobody listens on.
    let home = Home::configured("http://127.0.0.1:9/v1", "");
    home.ask(&[])
        .expect(4, &["cannot reach the server", "roundtable resume"]);
    assert_eq!(home.list()[0]["state"], "failed");
}

#[test]
fn a_wrong_key_is_said_without_the_key() {
    let server = Server::start(|_, _| {
        Answer::Status(
            401,
            "content-type: application/json\r\n",
            r#"{"error":{"message":"bad key sk-secret-123"}}"#.into(),
        )
    });
    let home = Home::configured(&server.url(), "");
    let config = format!(
        "[providers.lab]\nkind = \"openai\"\nbase_url = \"{}\"\napi_key_env = \"LAB_KEY\"\n",
        server.url()
    );
    home.write("roundtable.toml", &config);
    let output = home
        .command(&["ask", "Why?", "--model", "lab:x"])
        .env("LAB_KEY", "sk-secret-123")
        .output()
        .unwrap();
    let run = crate::harness::finished(output);
    run.expect(4, &["the key was refused", "LAB_KEY"]);
    assert!(!run.err.contains("sk-secret-123"), "{}", run.err);
    assert_eq!(
        server.heard().len(),
        2,
        "a wrong key is not retried within a step"
    );
}

#[test]
fn an_unknown_model_is_said() {
    let server = Server::start(|_, _| {
        Answer::Status(
            404,
            "content-type: application/json\r\n",
            r#"{"error":{"message":"model 'x' not found","code":"model_not_found"}}"#.into(),
        )
    });
    Home::with(&server)
        .ask(&[])
        .expect(4, &["does not know this model"]);
}

#[test]
fn a_web_page_instead_of_a_model_is_recognised() {
    let server = Server::start(|_, _| {
        Answer::Status(
            200,
            "content-type: text/html\r\n",
            "<html><body>Welcome to nginx</body></html>".into(),
        )
    });
    Home::with(&server)
        .ask(&[])
        .expect(4, &["not the answer of a model server"]);
}

#[test]
fn empty_replies_broken_json_and_closed_connections_end_honestly() {
    type Broken = (&'static str, fn() -> Answer);
    let broken: [Broken; 4] = [
        ("The reply was empty", || Answer::Reply(String::new())),
        ("The reply is not a JSON object", || {
            Answer::Reply("I think, therefore I am.".into())
        }),
        ("stream broke off", || {
            Answer::Half(good(&serde_json::json!({}), 0))
        }),
        ("", || Answer::Nothing),
    ];
    for (said, behaviour) in broken {
        let server = Server::start(move |_, _| behaviour());
        let run = Home::with(&server).ask(&[]);
        run.expect(4, &["Failed", said]);
        assert!(
            server.heard().len() <= 8,
            "{said}: {} calls",
            server.heard().len()
        );
    }
}

/// C-07: 429 for ever ends after the attempts that are configured.
#[test]
fn c07_a_server_that_is_always_busy_is_given_up() {
    let server =
        Server::start(|_, _| Answer::Status(429, "retry-after: 0\r\n", "slow down".into()));
    Home::with(&server).ask(&[]).expect(4, &["rate limited"]);
    assert_eq!(
        server.heard().len(),
        4,
        "two attempts in each of two rounds"
    );
}

#[test]
fn a_server_that_says_nothing_runs_into_the_timeout() {
    let server = Server::start(|_, _| Answer::Silence);
    let home = Home::configured(&server.url(), "");
    let config = format!(
        "[providers.lab]\nkind = \"openai\"\nbase_url = \"{}\"\n[retry]\nattempts = 1\n[limits]\ncall_timeout_s = 1\nidle_timeout_s = 1\n",
        server.url()
    );
    home.write("roundtable.toml", &config);
    home.ask(&[]).expect(4, &["no answer within 1 s"]);
}

/// C-07: one failure among good calls is retried and leaves no mark but the count.
#[test]
fn c07_a_passing_failure_is_retried() {
    let server = Server::start(
        |request, before| match (schema_name(request).as_str(), before) {
            ("critique", 0) => Answer::Status(503, "retry-after: 0\r\n", "again".into()),
            ("synthesis", 0) => Answer::Half(good(request, 0)),
            (_, before) => Answer::Reply(good(request, before)),
        },
    );
    let run = Home::with(&server).ask(&["--json"]);
    run.expect(0, &["begins again"]);
    let trace = run.json();
    assert_eq!(trace["totals"]["debate"]["retries"], 2);
    assert_eq!(trace["state"], "complete");
}

/// C-06: a skeptic that never makes sense leaves a partial result that says so: exit code 3.
#[test]
fn c06_a_seat_that_fails_leaves_a_partial_result() {
    let server = Server::start(|request, before| match schema_name(request).as_str() {
        "marking" => Answer::Reply("no".into()),
        _ => Answer::Reply(good(request, before)),
    });
    let run = Home::with(&server).ask(&["--json"]);
    run.expect(3, &["judge is absent"]);
    let trace = run.json();
    assert_eq!(trace["state"], "partial");
    assert_eq!(trace["result"]["missing"][0]["seat"], "judge");
    assert_eq!(
        (
            &trace["result"]["confidence"],
            &trace["result"]["confidence_stated"]
        ),
        (&7.into(), &8.into())
    );
}

/// C-07: a debate that is partial because a seat failed keeps its limits when it is resumed.
#[test]
fn c07_resuming_after_a_failed_seat_keeps_the_limits() {
    let server = Server::start(|request, before| match schema_name(request).as_str() {
        "marking" => Answer::Reply("no".into()),
        _ => Answer::Reply(good(request, before)),
    });
    let home = Home::with(&server);
    home.ask(&["--max-tokens-total", "5000", "--quiet"])
        .expect(3, &[]);
    let calls = server.heard().len();
    home.run(&["resume", "last"])
        .expect(5, &["the limit of 5000 tokens"]);
    assert_eq!(server.heard().len(), calls, "nothing more was spent");
}

/// C-05: broken JSON once is mended by asking once more with the reason.
#[test]
fn c05_one_broken_reply_is_sent_back_with_the_reason() {
    let server = Server::start(
        |request, before| match (schema_name(request).as_str(), before) {
            ("opening", 0) => Answer::Reply(r#"{"answer": "x", "assumptions": "none"}"#.into()),
            (_, before) => Answer::Reply(good(request, before)),
        },
    );
    Home::with(&server).ask(&["--quiet"]).expect(0, &[]);
    let second = &server.heard()[1];
    let messages = second["messages"].as_array().unwrap();
    let last = messages.last().unwrap()["content"].to_string();
    assert!(last.contains("/assumptions"), "{last}");
}
