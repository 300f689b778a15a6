//! Misbehaving model servers: the debate ends within its retries with a correct status, and nothing hangs.

use crate::harness::{Answer, Home, QUESTION, Server, Serving, flat, good, schema_name};

#[test]
fn an_unreachable_server_is_reported_and_the_debate_can_be_resumed() {
    // A closed port.
    let home = Home::configured("http://127.0.0.1:9/v1", "");
    home.ask(&[])
        .expect(4, &["cannot reach the server", "roundtable resume"]);
    assert_eq!(home.list()[0]["state"], "failed");
}

#[test]
fn a_refused_key_is_reported_without_the_key() {
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
fn an_unknown_model_is_reported() {
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
fn a_web_page_instead_of_a_reply_is_recognised() {
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
fn empty_replies_invalid_json_and_closed_connections_fail_the_debate() {
    type Case = (&'static str, fn() -> Answer);
    let cases: [Case; 4] = [
        ("the reply was empty", || Answer::Reply(String::new())),
        ("the model answered in prose", || {
            Answer::Reply("I think, therefore I am.".into())
        }),
        ("stream broke off", || {
            Answer::Half(good(&serde_json::json!({}), 0))
        }),
        ("", || Answer::Nothing),
    ];
    for (message, behaviour) in cases {
        let server = Server::start(move |_, _| behaviour());
        let run = Home::with(&server).ask(&[]);
        run.expect(4, &["Failed", message]);
        assert!(
            server.heard().len() <= 8,
            "{message}: {} calls",
            server.heard().len()
        );
    }
}

/// C-07: after the configured number of attempts.
#[test]
fn c07_a_permanent_rate_limit_fails_the_debate() {
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
fn a_silent_server_times_out() {
    let server = Server::start(|_, _| Answer::Silence);
    let home = Home::configured(&server.url(), "");
    let config = format!(
        "[providers.lab]\nkind = \"openai\"\nbase_url = \"{}\"\n[retry]\nattempts = 1\n[limits]\ncall_timeout_s = 1\nidle_timeout_s = 1\n",
        server.url()
    );
    home.write("roundtable.toml", &config);
    home.ask(&[]).expect(4, &["no answer within 1 s"]);
}

/// C-07: a single failure is retried and shows only in the count.
#[test]
fn c07_a_transient_failure_is_retried() {
    let server = Server::start(
        |request, before| match (schema_name(request).as_str(), before) {
            ("critique", 0) => Answer::Status(503, "retry-after: 0\r\n", "again".into()),
            ("synthesis", 0) => Answer::Half(good(request, 0)),
            (_, before) => Answer::Reply(good(request, before)),
        },
    );
    let run = Home::with(&server).ask(&["--json"]);
    run.expect(
        0,
        &["Asking the skeptic in round 1 again: the server failed with status 503"],
    );
    let trace = run.json();
    assert_eq!(trace["totals"]["debate"]["retries"], 2);
    assert_eq!(trace["state"], "complete");
}

/// C-06: with exit code 3.
#[test]
fn c06_a_seat_that_fails_leaves_a_partial_result() {
    let server = Server::start(|request, before| match schema_name(request).as_str() {
        "marking" => Answer::Reply("no".into()),
        _ => Answer::Reply(good(request, before)),
    });
    let run = Home::with(&server).ask(&["--json"]);
    run.expect(
        3,
        &["The judge", "gave no answer", "retries the failed steps"],
    );
    // Validator messages and step names are not for people.
    for jargon in ["JSON", "score/judge", "schema"] {
        assert!(!run.err.contains(jargon), "'{jargon}' is in {}", run.err);
    }
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

/// C-07
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
        .expect(5, &["the limit of 5,000 tokens is used up"]);
    assert_eq!(server.heard().len(), calls, "nothing more was spent");
}

/// C-05: the retry contains the reason.
#[test]
fn c05_an_invalid_reply_is_sent_back_with_the_reason() {
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
    assert!(last.contains("assumptions must be a list"), "{last}");
}

/// `Answer::Reset` causes ECONNRESET, unlike a closed connection.
#[test]
fn the_test_server_resets_connections() {
    use std::io::{ErrorKind, Read, Write};
    let read_after = |answer: fn() -> Answer| {
        let server = Server::start(move |_, _| answer());
        let address = server.url().replace("http://", "").replace("/v1", "");
        let mut client = std::net::TcpStream::connect(address).unwrap();
        let head = "POST /v1/chat/completions HTTP/1.1\r\ncontent-length: 2\r\n\r\n";
        client.write_all(format!("{head}{{}}").as_bytes()).unwrap();
        client.read(&mut [0]).map_err(|error| error.kind())
    };
    assert_eq!(
        read_after(|| Answer::Reset),
        Err(ErrorKind::ConnectionReset)
    );
    assert_eq!(read_after(|| Answer::Nothing), Ok(0));
}

/// C-07, C-14: the fallback is named wherever the debate is shown. A provider's fallback also serves the tiers that use the provider.
#[test]
fn c07_a_fallback_that_answered_is_shown_everywhere() {
    let dead = Server::start(|_, _| Answer::Status(503, "", "down".into()));
    let spare = Server::good();
    let home = Home::empty();
    let config = format!(
        "[providers.lab]\nkind = \"openai\"\nbase_url = \"{}\"\nfallback = [\"spare:y\"]\n\n\
         [providers.spare]\nkind = \"openai\"\nbase_url = \"{}\"\n\n[retry]\nattempts = 1\n\n\
         [tiers]\ndeliberate = \"lab:x\"\nfast = \"lab:x\"\n",
        dead.url(),
        spare.url()
    );
    home.write("roundtable.toml", &config);
    let notice = "spare:y answered in place of lab:x in 8 steps";
    home.run(&["ask", QUESTION]).expect(0, &[notice]);
    let shown = home.run(&["show", "last", "--transcript"]);
    let detail = "spare:y instead of lab:x, because lab:x: the server failed with status 503";
    assert!(
        shown.out.contains(notice) && shown.out.contains(detail),
        "{}",
        shown.out
    );
    let record = home.run(&["show", "last", "--json"]).json();
    let first = &record["answered_instead"][0];
    assert_eq!(record["answered_instead"].as_array().map(Vec::len), Some(8));
    assert_eq!(
        (&first["step"], &first["model"], &first["instead_of"]),
        (
            &"r1/proposer/propose".into(),
            &"spare:y".into(),
            &"lab:x".into()
        )
    );
    for format in ["md", "html"] {
        let file = home.run(&["export", "last", "--format", format]).out;
        assert!(file.contains(notice), "{format}: {file}");
        assert!(
            file.contains("spare:y instead of lab:x"),
            "{format}: {file}"
        );
    }
    let id = record["id"].as_str().unwrap();
    let page = Serving::start(&home, &[])
        .get(&format!("/debates/{id}"))
        .text();
    assert!(
        page.contains(notice) && page.contains("spare:y instead of lab:x"),
        "{page}"
    );
}

/// C-18: a configured provider is not replaced, and every command gives the same reason.
#[test]
fn c18_an_unreachable_provider_is_an_error_with_its_reason() {
    let home = Home::configured("http://127.0.0.1:9/v1", "");
    let reason =
        "[providers.lab] is configured, but cannot list the models of lab: cannot reach the server";
    home.run(&["ask", QUESTION]).expect(4, &[reason, "--model"]);
    assert!(home.list().is_empty(), "no debate is created");
    home.run(&["models"]).expect(4, &[reason]);
    let doctor = home.run(&["doctor"]);
    doctor.expect(4, &[]);
    assert!(doctor.out.contains(reason), "{}", doctor.out);
}

/// C-18: without a schema the replies are checked but not constrained, and the result says so.
#[test]
fn c18_a_server_without_schemas_is_named_in_the_result() {
    // Without a schema the request does not name the step: the steps come in the order of a good server.
    let guide = Server::good();
    Home::with(&guide)
        .ask(&["--quiet", "--rounds", "1"])
        .expect(0, &[]);
    let steps = std::sync::Mutex::new(guide.asked().into_iter());
    let server = Server::start(move |request, _| {
        if request["response_format"]["type"] == "json_schema" {
            let body = r#"{"error":{"message":"response_format json_schema is not supported"}}"#;
            return Answer::Status(400, "content-type: application/json\r\n", body.into());
        }
        let step = steps.lock().unwrap().next().unwrap();
        let named = serde_json::json!({ "response_format": { "json_schema": { "name": step } } });
        Answer::Reply(good(&named, 0))
    });
    let home = Home::with(&server);
    let record = home.ask(&["--json", "--rounds", "1"]).json();
    let notice = "lab does not accept schemas for x; replies are checked but not constrained";
    let notices = record["notices"].as_array().unwrap();
    assert!(notices.contains(&notice.into()), "{record:#}");
    let shown = home.run(&["show", "last"]);
    assert!(flat(&shown.out).contains(notice), "{}", shown.out);
}

/// An error is printed in every output mode.
#[test]
fn a_failure_is_reported_with_quiet_too() {
    let server = Server::start(|_, _| Answer::Status(401, "", "no".into()));
    let run = Home::with(&server).ask(&["--quiet"]);
    run.expect(4, &["error:", "the key was refused"]);
    assert_eq!(run.out, "");
}

/// C-07
#[test]
fn c07_a_wait_beyond_the_longest_backoff_is_explained() {
    let server = Server::start(|_, _| Answer::Status(429, "retry-after: 3600\r\n", "{}".into()));
    Home::with(&server).ask(&[]).expect(
        4,
        &["the server asks to wait 3,600 s; more than retry.max_ms (0.02 s) is not waited for"],
    );
}

#[test]
fn a_request_timeout_and_an_error_with_status_200_are_described_as_such() {
    let server = Server::start(|_, _| Answer::Status(408, "", String::new()));
    Home::with(&server)
        .ask(&[])
        .expect(4, &["the server gave up waiting (status 408)"]);
    let server = Server::start(|_, _| {
        let body = r#"{"error":{"message":"out of memory"}}"#;
        Answer::Status(200, "content-type: application/json\r\n", body.into())
    });
    let run = Home::with(&server).ask(&[]);
    run.expect(
        4,
        &["the server answered with an error in place of a reply (lab:x: out of memory)"],
    );
}
