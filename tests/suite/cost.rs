//! What a debate will cost, how thorough it is, and when another round is not worth its price.

use serde_json::json;

use crate::harness::{Home, QUESTION, Server, Serving};

const FORM: [(&str, &str); 1] = [("content-type", "application/x-www-form-urlencoded")];
const QUICK: [&str; 3] = ["opening", "critique", "synthesis"];

/// B-13: the same word means the same on the command line, over HTTP and in the form; options win over it.
#[test]
fn b13_a_depth_means_the_same_on_every_surface() {
    let server = Server::good();
    let home = Home::with(&server);
    let trace = home.ask(&["--json", "--depth", "quick"]).json();
    assert_eq!(trace["state"], "complete");
    assert_eq!(server.asked(), QUICK);
    home.ask(&["--quiet", "--depth", "quick", "--rounds", "2"])
        .expect(0, &[]);
    assert_eq!(server.asked()[3..].len(), 5, "{:?}", server.asked());
    home.ask(&["--depth", "shallow"])
        .expect(2, &["quick, normal, deep"]);
    let serving = Serving::start(&home, &[]);
    let before = server.count();
    let body = json!({ "question": QUESTION, "model": "lab:x", "depth": "quick" });
    let reply = serving.post("/api/v1/debates", &body);
    serving.until(reply.json()["id"].as_str().unwrap(), "complete");
    assert_eq!(server.asked()[before..], QUICK);
    let invalid = json!({ "question": QUESTION, "depth": "shallow" });
    let problem = serving
        .post("/api/v1/debates", &invalid)
        .problem(422, "invalid-request");
    assert_eq!(problem["faults"][0]["at"], "/depth", "{problem}");
    let before = server.count();
    let started = serving.send(
        "POST",
        "/debates",
        &FORM,
        b"question=Why%3F&model=lab%3Ax&depth=quick",
    );
    assert_eq!(started.status, 303, "{}", started.text());
    let id = started.header("location").unwrap().to_owned();
    serving.until(id.rsplit('/').next().unwrap(), "complete");
    assert_eq!(server.asked()[before..], QUICK);
    let page = serving.get("/?depth=deep").text();
    assert!(page.contains("<option value=\"deep\" selected>"), "{page}");
}
