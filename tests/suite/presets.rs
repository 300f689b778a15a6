//! Presets: named settings, also as models of the OpenAI-compatible API.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Home, Serving};
use crate::openai_api::{CHAT, chat, debates, disconnect, error, gated, model_server};

#[test]
fn b03_a_preset_can_let_the_debate_finish_without_its_client() {
    let (model, gate) = gated("panel_answer");
    let home = Home::with_model(&model);
    home.write(
        "presets/patient.toml",
        "name = \"patient\"\nsummary = \"Finishes\"\nprotocol = \"panel\"\non_disconnect = \"finish\"\n",
    );
    let serving = Serving::start(&home, &[]);
    disconnect(
        &serving,
        &model,
        &chat("roundtable/patient", &json!({ "stream": true })),
    );
    thread::sleep(Duration::from_millis(100));
    gate.open();
    let id = debates(&serving)[0]["id"].as_str().unwrap().to_owned();
    serving.until(&id, "complete");
}

/// B-13: a preset sets models, rules and limits of the debate.
#[test]
fn b13_a_preset_is_a_model_with_its_own_settings() {
    let model = model_server();
    let home = Home::with(&model);
    home.write(
        "presets/short.toml",
        "name = \"short\"\nsummary = \"One round\"\nprotocol = \"ask\"\ndepth = \"deep\"\nmodel = \"lab:a\"\n\
         [seats]\nskeptic = \"lab:b\"\n[rules]\nmin_rounds = 1\nmax_rounds = 1\nauto_score = false\n[budget]\nmax_seconds = 60\n",
    );
    home.write(
        "presets/bad.toml",
        "name = \"bad\"\nsummary = \"s\"\nprotocol = \"ask\"\n[rules]\nmax_rouns = 1\n",
    );
    let serving = Serving::start(&home, &[]);
    let body = serving
        .post(CHAT, &chat("roundtable/short", &json!({})))
        .json();
    let id = body["roundtable"]["id"].as_str().unwrap();
    let shown = serving.get(&format!("/api/v1/debates/{id}")).json();
    assert_eq!(shown["protocol"], "dialectic");
    let mut models: Vec<String> = model
        .heard()
        .iter()
        .map(|request| request["model"].as_str().unwrap().to_owned())
        .collect();
    models.sort();
    models.dedup();
    assert_eq!(models, ["a", "b"]);
    assert_eq!(
        model
            .asked()
            .iter()
            .filter(|name| *name == "revision")
            .count(),
        0
    );
    let bad = serving.post(CHAT, &chat("roundtable/bad", &json!({})));
    let bad = error(&bad, 400, "invalid_request_error", "invalid_request");
    assert!(
        bad["message"].as_str().unwrap().contains("max_rounds"),
        "{bad}"
    );
}

/// B-13: the depth of a preset is that of its debates, with the estimates of that depth.
#[test]
fn b13_a_preset_has_a_depth() {
    let model = model_server();
    let home = Home::with_model(&model);
    for depth in ["quick", "deep"] {
        let text = format!(
            "name = \"{depth}\"\nsummary = \"s\"\nprotocol = \"ask\"\ndepth = \"{depth}\"\n"
        );
        home.write(&format!("presets/{depth}.toml"), &text);
    }
    let serving = Serving::start(&home, &[]);
    let asked = |depth: &str| {
        let before = model.count();
        let reply = serving.post(CHAT, &chat(&format!("roundtable/{depth}"), &json!({})));
        assert_eq!(reply.status, 200, "{}", reply.text());
        let id = reply.json()["roundtable"]["id"]
            .as_str()
            .unwrap()
            .to_owned();
        let record = serving.get(&format!("/api/v1/debates/{id}")).json()["record"].clone();
        assert_eq!(record["estimate"]["depth"], depth, "{record}");
        let least = record["estimate"]["uncalibrated"]["calls"]
            .as_f64()
            .unwrap();
        (model.asked().split_off(before), least)
    };
    let (quick, calls_of_quick) = asked("quick");
    assert_eq!(quick, ["opening", "critique", "synthesis"]);
    let (deep, calls_of_deep) = asked("deep");
    // The score that a quick debate leaves out.
    assert!(deep.contains(&"marking".to_owned()), "{deep:?}");
    assert_eq!((calls_of_quick, calls_of_deep), (3.0, 10.0));
}

/// B-13: `roundtable presets`
#[test]
fn b13_presets_are_listed_shown_created_and_checked() {
    let home = Home::empty();
    let list = home.run(&["presets"]);
    assert!(list.out.starts_with("second-opinion"), "{}", list.out);
    assert!(list.out.contains("(built in)"), "{}", list.out);
    let shown = home
        .run(&["presets", "show", "second-opinion", "--json"])
        .json();
    assert_eq!(shown["protocol"], "panel");
    home.run(&["presets", "show", "second-opinon"])
        .expect(2, &["did you mean 'second-opinion'?"]);
    home.run(&["presets", "new", "careful"])
        .expect(0, &["Created", "roundtable/careful"]);
    home.run(&["presets", "new", "careful"])
        .expect(2, &["already exists"]);
    home.run(&["presets", "new", "Not a name"])
        .expect(2, &["lowercase letters"]);
    let names: Vec<Value> = home
        .run(&["presets", "list", "--json"])
        .json()
        .as_array()
        .unwrap()
        .clone();
    let names: Vec<&str> = names
        .iter()
        .map(|preset| preset["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["careful", "second-opinion"]);
    let text = "name = \"mine\"\nsummary = \"s\"\nprotocol = \"panel\"\n[rules]\n";
    home.write("mine.toml", &format!("{text}full = true\n"));
    home.run(&["presets", "check", "mine.toml"])
        .expect(0, &["is valid"]);
    home.write("mine.toml", &format!("{text}ful = true\n"));
    home.run(&["presets", "check", "mine.toml"]).expect(
        2,
        &["mine.toml:5: panel has no rule 'ful'; did you mean 'full'?"],
    );
}

/// A repository that was cloned cannot add or replace presets unless its configuration is trusted.
#[test]
fn b13_presets_of_an_untrusted_folder_are_ignored() {
    let home = Home::empty();
    home.write("repo/roundtable.toml", "[tiers]\n");
    home.write(
        "repo/presets/second-opinion.toml",
        "name = \"second-opinion\"\nsummary = \"Evil\"\nprotocol = \"ask\"\n",
    );
    let list = || {
        let mut command = home.command(&["presets", "list"]);
        let command = command.current_dir(home.path().join("repo"));
        crate::harness::finished(command.output().unwrap())
    };
    let run = list();
    assert!(!run.out.contains("Evil"), "{}", run.out);
    assert!(run.err.contains("presets/ is ignored"), "{}", run.err);
}
