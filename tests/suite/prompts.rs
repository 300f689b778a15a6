//! P-11: the exact prompt of every step, on the command line, over HTTP and on the page.

#![cfg(unix)]

use serde_json::{Value, json};

use crate::all_protocols::{any_reply, play_all};
use crate::harness::{Home, Server, Serving};

const STEP: &str = "r1/skeptic/criticise";

/// The texts of a request as the model server received it.
fn texts(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().unwrap().iter();
    messages
        .map(|message| message["content"].to_string())
        .collect()
}

/// The request of the skeptic's first critique.
fn critique(server: &Server) -> Value {
    let mut heard = server.heard().into_iter();
    heard
        .find(|request| crate::harness::schema_name(request) == "critique")
        .unwrap()
}

#[test]
fn p11_a_prompt_is_shown_word_by_word() {
    let server = Server::good();
    let home = Home::with_model(&server);
    home.ask(&["--quiet"]).expect(0, &[]);
    let calls = server.count();
    let sent = texts(&critique(&server)).join("\n");
    let prompt = home.run(&["show", "--prompt", STEP, "--json"]).json();
    assert_eq!(
        (&prompt["step"], &prompt["seat"]),
        (&json!(STEP), &json!("skeptic"))
    );
    let messages = prompt["messages"].as_array().unwrap().iter();
    let parts = messages
        .map(|message| &message["text"])
        .chain([&prompt["system"]]);
    for part in parts {
        // Messages of one speaker are joined: compared as they are escaped in the request.
        let escaped = part.to_string();
        assert!(
            sent.contains(escaped.trim_matches('"')),
            "{escaped}: {sent}"
        );
    }
    let text = home.run(&["show", "last", "--prompt", STEP]);
    text.expect(0, &[]);
    for part in ["System", "For this seat", "Schema of the reply", STEP] {
        assert!(text.out.contains(part), "{part}: {}", text.out);
    }
    let system = prompt["system"].as_str().unwrap();
    assert!(text.out.contains(system), "{}", text.out);
    // The record names the steps.
    let record = home.run(&["show", "--record"]);
    assert!(record.out.contains(STEP), "{}", record.out);
    assert_eq!(server.count(), calls, "a model was called");
}

#[test]
fn p11_an_unknown_step_names_the_steps_of_the_debate() {
    let home = Home::with_model(&Server::good());
    home.ask(&["--quiet"]).expect(0, &[]);
    let run = home.run(&["show", "--prompt", "r9/skeptic/criticise"]);
    run.expect(2, &["no finished step 'r9/skeptic/criticise'", STEP]);
}

/// A prompt that is rendered differently today is not shown as the one that the seat received.
#[test]
fn p11_a_prompt_that_has_changed_is_not_shown() {
    let home = Home::with_model(&Server::good());
    home.ask(&["--quiet"]).expect(0, &[]);
    let own = home.run(&["prompts", "show", "dialectic/criticise"]).out;
    home.write(
        ".config/roundtable/prompts/dialectic/criticise.md",
        &own.replacen("=== own", "=== own\nBe brief.", 1),
    );
    home.run(&["show", "--prompt", STEP])
        .expect(1, &["cannot be rebuilt", "have changed since the debate"]);
    home.run(&["show", "--prompt", "r1/proposer/propose"])
        .expect(0, &[]);
}

/// Every prompt of a debate of every protocol, by the steps that the error lists.
#[test]
fn p11_every_protocol_shows_its_prompts() {
    let home = Home::with_model(&Server::start(any_reply));
    play_all(&home);
    for debate in home.list() {
        let id = debate["id"].as_str().unwrap();
        let error = home.run(&["show", id, "--prompt", "none"]);
        error.expect(2, &["Its steps: "]);
        let (_, steps) = error.err.split_once("Its steps: ").unwrap();
        let steps: Vec<&str> = steps.trim().split(", ").collect();
        assert!(steps.len() > 2, "{steps:?}");
        for step in [steps[0], steps[steps.len() / 2], steps[steps.len() - 1]] {
            let shown = home.run(&["show", id, "--prompt", step]);
            shown.expect(0, &[]);
            assert!(shown.out.starts_with(step), "{}", shown.out);
        }
    }
}

/// Only those who may see the debate get its prompts; a link to it does not lead to them.
#[test]
fn c20_prompts_are_for_those_who_may_see_the_debate() {
    let home = Home::with_model(&Server::good());
    home.ask(&["--quiet"]).expect(0, &[]);
    let id = home.list()[0]["id"].as_str().unwrap().to_owned();
    let bob = home.run(&["token", "add", "bob", "--own"]);
    let bob = format!("Bearer {}", bob.out.trim());
    let admin = home.token("admin");
    let mut serving = Serving::start(&home, &[]);
    serving.token = Some(admin);
    let api = format!("/api/v1/debates/{id}/prompt");
    let prompt = serving.get(&format!("{api}?step={STEP}"));
    assert_eq!(prompt.status, 200, "{}", prompt.text());
    assert_eq!(prompt.json()["seat"], "skeptic");
    let missing = serving.get(&api).problem(422, "invalid-request");
    assert!(
        missing["detail"].as_str().unwrap().contains(STEP),
        "{missing}"
    );
    serving
        .get(&format!("{api}?step=r9/x/y"))
        .problem(404, "not-found");
    let path = format!("/debates/{id}/prompts/{STEP}");
    let page = serving.get(&path);
    assert_eq!(page.status, 200);
    assert!(page.text().contains("word by word"), "{}", page.text());
    let debate = serving.get(&format!("/debates/{id}")).text();
    assert!(debate.contains(&path), "the page has no link to the prompt");
    // The exported file and the page of a link have none.
    let export = serving.get(&format!("/api/v1/debates/{id}/export?format=html"));
    assert!(!export.text().contains("/prompts/"));
    let link = serving.post(
        &format!("/api/v1/debates/{id}/shares"),
        &json!({ "days": 1 }),
    );
    let link = link.json()["link"].as_str().unwrap().to_owned();
    let (_, shared) = link.split_once("/shared/").unwrap();
    let shared = serving.get(&format!("/shared/{shared}"));
    assert_eq!(shared.status, 200);
    assert!(!shared.text().contains("/prompts/"));

    serving.token = None;
    for path in [format!("{api}?step={STEP}"), path] {
        let foreign = serving.send("GET", &path, &[("authorization", &bob)], b"");
        assert_eq!(foreign.status, 404, "{path}");
        let nobody = serving.send("GET", &path, &[], b"");
        assert!(
            [401, 303].contains(&nobody.status),
            "{path}: {}",
            nobody.status
        );
    }
}
