//! B-14: a finished debate can be followed up, on every surface, and is shown as a thread.

#![cfg(unix)]

use serde_json::{Value, json};

use crate::all_protocols::any_reply;
use crate::harness::mcp::McpProcess;
use crate::harness::{Answer, Home, QUESTION, Server, Serving, good, schema_name};

const NEXT: &str = "And with two databases?";
const FORM: [(&str, &str); 1] = [("content-type", "application/x-www-form-urlencoded")];

fn newest(home: &Home) -> (String, Value) {
    let row = home.list()[0].clone();
    (row["id"].as_str().unwrap().to_owned(), row)
}

/// The text of every request after the first `count`.
fn prompts(server: &Server, count: usize) -> Vec<String> {
    let heard = server.heard().into_iter().skip(count);
    heard
        .map(|request| request["messages"].to_string())
        .collect()
}

/// A thread on the command line: every command that answers a question can continue a debate of any kind.
#[test]
fn b14_a_debate_is_followed_up_on_the_command_line() {
    let server = Server::start(any_reply);
    let home = Home::with_model(&server);
    home.run(&["ask", QUESTION, "--quiet"]).expect(0, &[]);
    let (first, _) = newest(&home);
    for command in ["ask", "panel", "debate"] {
        let before = server.count();
        let run = home.run(&[command, NEXT, "--continue", &first[..8], "--quiet"]);
        run.expect(0, &[]);
        let (_, row) = newest(&home);
        assert_eq!(row["parent"], *first, "{command}");
        assert_eq!(row["question"], NEXT);
        let prompts = prompts(&server, before);
        assert!(!prompts.is_empty());
        for prompt in prompts.iter().filter(|prompt| prompt.contains(NEXT)) {
            assert!(prompt.contains(QUESTION), "{command}: {prompt}");
            assert!(prompt.contains("Its answer:"), "{command}: {prompt}");
        }
    }
    let (last, _) = newest(&home);
    let listed = home.run(&["list"]).out;
    assert_eq!(listed.matches("↳ And with two").count(), 3, "{listed}");
    let shown = home.run(&["show", "last"]).out;
    assert!(
        shown.contains(&format!("Follows up  {} {QUESTION}", &first[..8])),
        "{shown}"
    );
    let shown = home.run(&["show", &first]).out;
    assert!(
        shown.contains(&format!("Follow-up   {} {NEXT}", &last[..8])),
        "{shown}"
    );
    assert_eq!(shown.matches("Follow-up ").count(), 3, "{shown}");

    // The parent's question and answer are in the follow-up itself.
    home.run(&["rm", &first, "--yes"]).expect(0, &[]);
    let shown = home.run(&["show", &last]).out;
    assert!(shown.contains("(deleted)"), "{shown}");
    home.run(&["export", &last, "--format", "html"])
        .expect(0, &[]);
    // A follow-up is followed up like any other debate.
    home.run(&["panel", "And then?", "--continue", "last", "--quiet"])
        .expect(0, &[]);
    assert_eq!(newest(&home).1["parent"], *last);
}

/// A debate without a result cannot be followed up: exit code 2, with the next step, and no call.
#[test]
fn b14_a_debate_without_a_result_is_refused() {
    let server = Server::start(|request, before| match schema_name(request).as_str() {
        "opening" => Answer::Reply("I would rather not say.".into()),
        _ => Answer::Reply(good(request, before)),
    });
    let home = Home::with_model(&server);
    let failed = home.ask(&["--quiet"]);
    assert_ne!(failed.code, 0, "{}", failed.err);
    let (id, _) = newest(&home);
    let calls = server.count();
    let refused = home.run(&["panel", NEXT, "--continue", "last"]);
    let short = &id[..8];
    let why = format!(
        "cannot follow up on debate {short}: it ended without an answer. Continue it first: `roundtable resume {short}`"
    );
    refused.expect(2, &[&why]);
    home.run(&["ask", NEXT, "--continue", "ffff"])
        .expect(2, &["no debate id starts with 'ffff'"]);
    assert_eq!(server.count(), calls);
    assert_eq!(home.list().len(), 1);
    let serving = Serving::start(&home, &[]);
    let body = json!({ "question": NEXT, "continue": id });
    let problem = serving
        .post("/api/v1/debates", &body)
        .problem(409, "no-result");
    assert!(
        problem["detail"]
            .to_string()
            .contains("ended without an answer"),
        "{problem}"
    );
    let page = serving.get(&format!("/debates/{id}")).text();
    assert!(!page.contains("Ask a follow-up question"), "{page}");
}

/// The API and the page: the same request with `continue`, and a form that needs no script.
#[test]
fn b14_the_api_and_the_page_show_the_thread() {
    let server = Server::start(any_reply);
    let home = Home::with_model(&server);
    let serving = Serving::start(&home, &[]);
    let first = serving.debate();
    serving.until(&first, "complete");
    let body = json!({ "question": NEXT, "protocol": "panel", "continue": first });
    let wait = [("prefer", "wait=60")];
    let created = serving.post_with("/api/v1/debates", &body, &wait);
    assert_eq!(created.status, 200, "{}", created.text());
    let second = created.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(created.json()["parent"], *first);
    let shown = serving.get(&format!("/api/v1/debates/{first}")).json();
    assert_eq!(shown["parent"], Value::Null);
    assert_eq!(shown["follow_ups"][0]["id"], *second);
    assert_eq!(shown["follow_ups"][0]["question"], NEXT);

    let page = serving.get(&format!("/debates/{first}")).text();
    assert!(page.contains("Ask a follow-up question"), "{page}");
    assert!(
        page.contains(&format!("<a href=\"/debates/{second}\">{NEXT}</a>")),
        "{page}"
    );
    // A form of another site is refused.
    let path = format!("/debates/{first}/follow-up");
    let foreign = [FORM[0], ("sec-fetch-site", "cross-site")];
    let refused = serving.send("POST", &path, &foreign, b"question=And+why%3F");
    assert_eq!(refused.status, 403, "{}", refused.text());
    let sent = serving.send("POST", &path, &FORM, b"question=And+why%3F&protocol=modes");
    assert_eq!(sent.status, 303, "{}", sent.text());
    let third = sent
        .header("location")
        .unwrap()
        .rsplit('/')
        .next()
        .unwrap()
        .to_owned();
    serving.until(&third, "complete");
    let row = serving.get(&format!("/api/v1/debates/{third}")).json();
    assert_eq!(
        (&row["parent"], &row["protocol"]),
        (&json!(first), &json!("modes"))
    );
    let page = serving.get(&format!("/debates/{third}")).text();
    assert!(page.contains("Follows up on:"), "{page}");
    let empty = serving.send("POST", &path, &FORM, b"question=");
    assert_eq!(empty.status, 422, "{}", empty.text());

    // One that judges a text has no question to follow up with.
    let judge = json!({ "question": "A text.", "protocol": "councils", "continue": first });
    let problem = serving
        .post("/api/v1/debates", &judge)
        .problem(422, "invalid-request");
    assert_eq!(problem["faults"][0]["at"], "/continue", "{problem}");
    let unknown = json!({ "question": NEXT, "continue": "00000000-0000-4000-8000-000000000000" });
    serving
        .post("/api/v1/debates", &unknown)
        .problem(404, "not-found");
}

/// A debate of another token does not exist, also as a parent and in a thread.
#[test]
fn b14_a_debate_of_another_token_cannot_be_followed_up() {
    let server = Server::start(any_reply);
    let home = Home::with_model(&server);
    let token = |name: &str, more: &[&str]| {
        let run = home.run(&[&["token", "add", name], more].concat());
        format!("Bearer {}", run.expect(0, &[]).out.trim())
    };
    let (ada, bob) = (token("ada", &["--own"]), token("bob", &["--own"]));
    let serving = Serving::start(&home, &[]);
    let ask = |token: &str, body: &Value| {
        let headers = [
            ("authorization", token),
            ("content-type", "application/json"),
            ("prefer", "wait=60"),
        ];
        serving.send(
            "POST",
            "/api/v1/debates",
            &headers,
            body.to_string().as_bytes(),
        )
    };
    let first = ask(&ada, &json!({ "question": QUESTION, "protocol": "panel" })).json();
    let next = json!({ "question": NEXT, "protocol": "panel", "continue": first["id"] });
    ask(&bob, &next).problem(404, "not-found");
    let second = ask(&ada, &next);
    assert_eq!(second.json()["parent"], first["id"], "{}", second.text());
}

/// MCP: `follow_up` makes the same thread.
#[test]
fn b14_an_agent_follows_up_in_the_same_thread() {
    let server = Server::start(any_reply);
    let home = Home::with_model(&server);
    home.run(&["panel", QUESTION, "--quiet"]).expect(0, &[]);
    let (first, _) = newest(&home);
    let mut client = McpProcess::initialized(&home, &[], "2025-11-25");
    let arguments = json!({ "action": "follow_up", "text": NEXT });
    let result = client.call("debates", arguments);
    assert_eq!(result["structuredContent"]["state"], "complete", "{result}");
    let (_, row) = newest(&home);
    assert_eq!(
        (&row["parent"], &row["question"]),
        (&json!(first), &json!(NEXT))
    );
    assert_eq!(row["protocol"], "panel");
}
