//! Nobody pays by accident: limits, test calls, prices of fallbacks, downloads, files of working folders, secrets and listings.

use serde_json::{Value, json};

use crate::harness::{Answer, Home, QUESTION, Run, Server, Serving, finished};

const FORM: [(&str, &str); 1] = [("content-type", "application/x-www-form-urlencoded")];

fn path(id: &str, rest: &str) -> String {
    format!("/api/v1/debates/{id}{rest}")
}

fn start(serving: &Serving, body: &Value) -> String {
    let reply = serving.post("/api/v1/debates", body);
    assert_eq!(reply.status, 202, "{}", reply.text());
    reply.json()["id"].as_str().unwrap().to_owned()
}

/// C-19: whatever a request asks for, at the start and on resume, the limits of the server's configuration hold.
#[test]
fn c19_requests_cannot_exceed_the_servers_limits() {
    let model = Server::good();
    let home = Home::configured(&model.url(), "max_tokens_total = 1500\n");
    let serving = Serving::start(&home, &[]);
    let wish = json!({ "max_tokens": 1_000_000_000 });
    let id = start(
        &serving,
        &json!({ "question": QUESTION, "model": "lab:x", "budget": wish }),
    );
    serving.until(&id, "partial");
    let calls = model.count();
    assert!(calls < 8, "{calls}");
    let resume = path(&id, "/resume");
    for body in [
        json!({}),
        json!({ "budget": {} }),
        json!({ "budget": wish }),
    ] {
        let problem = serving.post(&resume, &body).problem(409, "wrong-state");
        let detail = problem["detail"].as_str().unwrap();
        assert!(
            detail.contains("configuration has to allow more"),
            "{detail}"
        );
    }
    let page = serving.get(&format!("/debates/{id}")).text();
    assert!(page.contains("has to allow more first"), "{page}");
    assert!(!page.contains("Retry missing turns"), "{page}");
    assert_eq!(model.count(), calls);
}

/// C-19: a debate that its budget ended continues only with a new limit: a request without one says what to send, and the
/// page has a field for it.
#[test]
fn c19_resuming_after_a_budget_stop_needs_a_new_limit() {
    let model = Server::good();
    let home = Home::with(&model);
    let serving = Serving::start(&home, &[]);
    let id = start(
        &serving,
        &json!({ "question": QUESTION, "model": "lab:x", "budget": { "max_tokens": 1500 } }),
    );
    serving.until(&id, "partial");
    let calls = model.count();
    let resume = path(&id, "/resume");
    let without_body = serving.send("POST", &resume, &[], b"");
    let empty = serving.post(&resume, &json!({ "budget": {} }));
    let page = format!("/debates/{id}/resume");
    let button = serving.send("POST", &page, &FORM, b"");
    for reply in [&without_body, &empty] {
        let problem = reply.problem(409, "wrong-state");
        let detail = problem["detail"].as_str().unwrap();
        assert!(
            detail.contains("resume it with {\"budget\":{\"max_tokens\":"),
            "{detail}"
        );
    }
    assert_eq!(button.status, 409);
    let shown = serving.get(&format!("/debates/{id}")).text();
    assert!(
        shown.contains("name=\"max_tokens\" type=\"number\""),
        "{shown}"
    );
    assert_eq!(
        serving
            .send("POST", &page, &FORM, b"max_tokens=many")
            .status,
        422
    );
    assert_eq!(model.count(), calls);
    let raised = serving.send("POST", &page, &FORM, b"max_tokens=100000");
    assert_eq!(raised.status, 303, "{}", raised.text());
    serving.until(&id, "complete");
    assert_eq!(model.count(), 8, "nothing was asked twice");
}

/// Test calls of the page are real calls: few per minute, accounted for, and none at an unknown price under a cost limit.
#[test]
fn c19_test_calls_are_counted_and_bounded() {
    let model = Server::start(|_, _| Answer::Reply("{\"yes\": true}".into()));
    let home = Home::configured(&model.url(), "");
    let serving = Serving::start(&home, &[]);
    let test = |serving: &Serving| serving.send("POST", "/models/test", &FORM, b"model=lab%3Ax");
    for _ in 0..6 {
        let reply = test(&serving);
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert!(reply.text().contains("lab:x answered"), "{}", reply.text());
    }
    let refused = test(&serving);
    assert_eq!(refused.status, 429);
    assert!(refused.text().contains("at most 6 test calls per minute"));
    assert_eq!(model.count(), 6);
    let page = serving.get("/models").text();
    assert!(page.contains("in the last hour: 6 calls,"), "{page}");
    drop(serving);

    let home = Home::configured(&model.url(), "max_cost = 1.0\n");
    let serving = Serving::start(&home, &[]);
    let reply = test(&serving).text();
    assert!(reply.contains("the price of lab:x is unknown"), "{reply}");
    assert_eq!(model.count(), 6);
}

/// C-19: a cost limit needs the price of the fallbacks too.
#[test]
fn c19_a_fallback_of_unknown_price_is_refused_under_a_cost_limit() {
    let down = Server::start(|_, _| Answer::Status(401, "", "{}".into()));
    let spare = Server::good();
    let home = Home::configured(
        &down.url(),
        &format!(
            "\n[providers.spare]\nkind = \"openai\"\nbase_url = \"{}\"\n\n[providers.first]\nkind = \"openai\"\n\
             base_url = \"{}\"\nfallback = [\"spare:y\"]\n",
            spare.url(),
            down.url()
        ),
    );
    let prices = "[prices.first]\nx = { input = 1.0, output = 1.0 }\n";
    home.write("prices.toml", prices);
    let ask = ["ask", QUESTION, "--model", "first:x"];
    home.run(&[&ask[..], &["--max-cost", "1"]].concat()).expect(
        2,
        &["the price of spare:y, a fallback of first, is unknown"],
    );
    assert_eq!((down.count(), spare.count()), (0, 0));
    home.run(&ask).expect(0, &[]);
    let calls = spare.count();
    assert!(calls > 0);
    home.write(
        "prices.toml",
        &format!("{prices}[prices.spare]\ny = {{ input = 1.0, output = 1.0 }}\n"),
    );
    home.run(&[&ask[..], &["--max-cost", "1"]].concat())
        .expect(0, &[]);
    assert!(spare.count() > calls);
}

/// A client cannot make the server download or load a model.
#[test]
fn a_client_cannot_have_a_local_model_downloaded() {
    let model = Server::good();
    let home = Home::with(&model);
    let serving = Serving::start(&home, &[]);
    let body = json!({ "question": QUESTION, "model": "local:granite-3.3-8b-instruct" });
    let problem = serving
        .post("/api/v1/debates", &body)
        .problem(422, "invalid-request");
    let message = problem["faults"][0]["message"].as_str().unwrap();
    assert!(
        message.contains("neither present on this server"),
        "{message}"
    );
    let form = b"model=local%3Agranite-3.3-8b-instruct";
    let tested = serving.send("POST", "/models/test", &FORM, form).text();
    assert!(
        tested.contains("neither present on this server"),
        "{tested}"
    );
}

/// Runs a command in the folder of the file, which is found there and not named.
fn found(home: &Home, args: &[&str]) -> Run {
    let mut command = home.command(args);
    finished(command.env_remove("ROUNDTABLE_CONFIG").output().unwrap())
}

/// C-03: a file in the working folder gets no key and no question before the user trusts it, path and content.
#[test]
fn c03_a_file_of_the_working_folder_has_to_be_trusted() {
    let model = Server::good();
    let home = Home::with(&model);
    let ask = ["ask", QUESTION, "--model", "lab:x"];
    let json = [&ask[..], &["--json"]].concat();
    let quiet = [&ask[..], &["-q"]].concat();
    let warning = "roundtable.toml: not trusted, so [providers], [retry] is ignored. If you trust this file: roundtable config trust";
    found(&home, &json).expect(2, &[warning, "unknown provider 'lab'"]);
    found(&home, &quiet).expect(2, &[warning]);
    // Its exit code depends on whether the embedded model is built in.
    let models = found(&home, &["models"]);
    assert!(models.err.contains(warning), "{}", models.err);
    assert_eq!((model.count(), model.listings()), (0, 0));

    found(&home, &["config", "trust"]).expect(0, &["Trusted"]);
    let run = found(&home, &json);
    run.expect(0, &["Configuration: roundtable.toml of the working folder"]);
    assert_eq!(run.err.matches("Configuration:").count(), 1);
    run.json();
    let run = found(&home, &quiet);
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    // A setting changed with the program stays trusted, a file changed otherwise does not.
    found(&home, &["config", "set", "retry.attempts", "3"]).expect(0, &[]);
    found(&home, &quiet).expect(0, &[]);
    let path = home.path().join("roundtable.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("attempts = 3", "attempts = 2")).unwrap();
    found(&home, &quiet).expect(2, &[warning]);
    found(&home, &["config", "trust", "."]).expect(0, &[]);
    found(&home, &quiet).expect(0, &[]);
    let untrust = found(&home, &["config", "untrust", "--json"]);
    assert_eq!(untrust.json()["was_trusted"], true);
    found(&home, &quiet).expect(2, &[warning]);
    // A file that is named counts.
    let named = [&quiet[..], &["--config", "roundtable.toml"]].concat();
    found(&home, &named).expect(0, &[]);
}

/// Put together here, so that no scanner finds a token in this file.
fn token() -> String {
    ["ghp", "_a1B2c3D4e5F6g7H8", "i9J0k1L2m3N4o5P6q7R8"].concat()
}

/// A likely secret is named by place and kind and sent to no provider, unless the user says so.
#[test]
fn likely_secrets_are_not_sent() {
    let model = Server::good();
    let home = Home::with(&model);
    let question = format!("Why does this fail?\nexport GH={}\n", token());
    home.write("question.md", &question);
    let ask = ["ask", "question.md", "--model", "lab:x"];
    let run = home.run(&ask);
    run.expect(
        2,
        &[
            "likely secret in the question, line 2: GitHub token (ghp_… 40 characters)",
            "--allow-secrets",
        ],
    );
    assert!(!run.err.contains(&token()), "{}", run.err);
    home.write("notes.md", &format!("# Notes\n\n{}\n", token()));
    let source = ["debate", "Why?", "--model", "lab:x", "--source", "notes.md"];
    home.run(&source)
        .expect(2, &["likely secret in notes.md, line 3: GitHub token"]);
    assert_eq!((model.count(), home.list().len()), (0, 0));
    home.run(&[&ask[..], &["--allow-secrets"]].concat())
        .expect(0, &[]);
    let calls = model.count();
    assert!(calls > 0);

    let serving = Serving::start(&home, &[]);
    let mut body = json!({ "question": question, "model": "lab:x" });
    let fault = |serving: &Serving, body: &Value| {
        let reply = serving.post("/api/v1/debates", body);
        reply.problem(422, "invalid-request")["faults"][0]["at"].clone()
    };
    assert_eq!(fault(&serving, &body), "/question");
    body["allow_secrets"] = true.into();
    assert_eq!(fault(&serving, &body), "/allow_secrets");
    assert_eq!(model.count(), calls);
    let plain = json!({ "question": QUESTION, "model": "lab:x" });
    let id = start(&serving, &plain);
    let said = json!({ "text": token() });
    serving
        .post(&path(&id, "/input"), &said)
        .problem(422, "invalid-request");
    drop(serving);

    let home = Home::configured(&model.url(), "allow_secrets = true\n");
    let serving = Serving::start(&home, &[]);
    let id = start(&serving, &body);
    serving.until(&id, "complete");
    body["allow_secrets"] = false.into();
    assert_eq!(fault(&serving, &body), "/question");
}

/// Reading pages and starting debates without a model ask a provider for its models once.
#[test]
fn listings_of_models_are_shared() {
    let model = Server::good();
    let home = Home::with(&model);
    let serving = Serving::start(&home, &[]);
    std::thread::scope(|scope| {
        for number in 0..30 {
            let serving = &serving;
            scope.spawn(move || {
                let page = if number % 2 == 0 { "/models" } else { "/" };
                assert_eq!(serving.get(page).status, 200);
            });
        }
    });
    let id = start(&serving, &json!({ "question": QUESTION }));
    serving.until(&id, "complete");
    assert_eq!(model.listings(), 1);
}

/// Texts of a hostile server reach no terminal as a control sequence, as text or as JSON.
#[test]
fn errors_of_servers_cannot_write_to_the_terminal() {
    let hostile = "{\"error\":{\"message\":\"no\\u001b]52;c;ZXZpbA==\\u0007\\u009b31m\"}}";
    let model = Server::start(move |_, _| Answer::Status(401, "", hostile.to_owned()));
    let home = Home::with(&model);
    let is_control = |c: char| c.is_control() && c != '\n';
    for run in [home.ask(&[]), home.ask(&["--json"]), home.ask(&["--quiet"])] {
        let shown = format!("{}{}", run.out, run.err);
        assert!(shown.contains("ZXZpbA=="), "{shown:?}");
        assert!(!shown.contains(is_control), "{shown:?}");
        assert!(
            !shown.contains("\\u001b") && !shown.contains("\\u009b"),
            "{shown:?}"
        );
    }
}
