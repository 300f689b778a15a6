//! `roundtable judge`, `casts` and `schema`.

use std::process::Stdio;

use serde_json::Value;

use crate::all_protocols::POST;
use crate::harness::{Home, council_server, finished, schema_name};

fn even(_: &str) -> f64 {
    60.0
}

/// T-01, T-10, C-14: the built-in cast judges a post; the result is shown, stored and exported, and its JSON matches the schema.
#[test]
fn t10_a_post_is_judged_and_the_result_matches_the_schema() {
    let server = council_server(even);
    let home = Home::with(&server);
    home.write("post.md", POST);
    home.write("post.json", "{\"platform\": \"video\"}");
    let run = home.run(&[
        "judge",
        "post.md",
        "--meta",
        "post.json",
        "--model",
        "lab:x",
        "--json",
        "--seed",
        "7",
    ]);
    run.expect(0, &[]);
    let record = run.json();
    assert_eq!(record["result"]["overall"]["tier"], "spreads");
    assert_eq!(record["result"]["content"]["parts"][1]["kind"], "metadata");
    assert_eq!(server.asked().len(), 20);
    let schema = home.run(&["schema", "councils"]).json();
    let required = schema["required"].as_array().unwrap();
    assert!(
        required
            .iter()
            .all(|key| record.get(key.as_str().unwrap()).is_some())
    );

    let shown = home.run(&["show", "last"]);
    shown.expect(0, &[]);
    assert!(shown.out.contains("A well made piece."), "{}", shown.out);
    let page = home.run(&["export", "last", "--format", "html"]);
    for words in [
        "Scorecard",
        "Authenticity",
        "no proof of anything",
        "Bias figures",
    ] {
        assert!(page.out.contains(words), "'{words}' is not on the page");
    }
    let text = home.run(&["export", "last", "--format", "md"]);
    assert!(text.out.contains("Hook effectiveness"), "{}", text.out);
}

/// T-11: fast mode calls only the fast model; full mode uses the deliberate model for critic and orchestrator.
#[test]
fn t11_fast_mode_uses_the_fast_tier_only() {
    let server = council_server(even);
    let home = Home::configured(
        &server.url(),
        "\n[tiers]\ndeliberate = \"lab:large\"\nfast = \"lab:small\"\n",
    );
    home.write("post.md", POST);
    home.run(&["judge", "post.md", "--fast", "--quiet"])
        .expect(0, &[]);
    let models = |heard: &[Value], model: &str| {
        heard
            .iter()
            .filter(|request| request["model"] == model)
            .count()
    };
    let fast = server.heard();
    assert_eq!((fast.len(), models(&fast, "small")), (11, 11));
    home.run(&["judge", "post.md", "--quiet"]).expect(0, &[]);
    let full = server.heard().split_off(fast.len());
    assert_eq!((models(&full, "small"), models(&full, "large")), (18, 2));
}

/// T-01: the two other built-in casts, and a user's cast.
#[test]
fn t01_other_casts_can_be_chosen() {
    let server = council_server(even);
    let home = Home::with(&server);
    home.write("design.md", POST);
    for (cast, overall) in [("rfc", "Readiness"), ("essay", "Quality")] {
        let run = home.run(&[
            "judge",
            "design.md",
            "--cast",
            cast,
            "--fast",
            "--model",
            "lab:x",
            "--json",
        ]);
        run.expect(0, &[]);
        assert_eq!(run.json()["result"]["overall"]["title"], overall);
    }
    let path = home
        .run(&["casts", "new", "grant", "--from", "rfc"])
        .expect(0, &["casts check grant"])
        .out
        .trim()
        .to_owned();
    home.run(&["casts", "check", "grant"]).expect(0, &[]);
    let changed = std::fs::read_to_string(&path)
        .unwrap()
        .replace("overall = \"Readiness\"", "overall = \"Merit\"");
    std::fs::write(&path, changed).unwrap();
    let run = home.run(&[
        "judge",
        "design.md",
        "--cast",
        "grant",
        "--fast",
        "--model",
        "lab:x",
        "--json",
    ]);
    assert_eq!(run.json()["result"]["overall"]["title"], "Merit");
    let run = home.run(&[
        "judge",
        "design.md",
        "--cast",
        &path,
        "--fast",
        "--model",
        "lab:x",
        "--json",
    ]);
    assert_eq!(run.json()["result"]["cast"], "grant");
}

/// C-02: casts are created, checked and shown; errors are reported with their line.
#[test]
fn c02_casts_are_created_checked_and_shown() {
    let home = Home::empty();
    let path = home
        .run(&["casts", "new", "mine"])
        .expect(0, &[])
        .out
        .trim()
        .to_owned();
    home.run(&["casts", "new", "mine"])
        .expect(2, &["already exists"]);
    home.run(&["casts", "new", "rfc"])
        .expect(2, &["'rfc' is a built-in cast"]);
    home.run(&["casts", "new", "Mine!"])
        .expect(2, &["invalid cast name 'Mine!'"]);
    home.run(&["casts", "new", "other", "--from", "themes"])
        .expect(2, &["did you mean 'themis'"]);
    let shown = home.run(&["casts", "show", "mine"]);
    for words in [
        "Content council",
        "authenticity (unscored)",
        "weight 25",
        "  100  ",
    ] {
        assert!(
            shown.out.contains(words),
            "'{words}' is not in {}",
            shown.out
        );
    }
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("seat = \"emotion\"", "seat = \"hook\"")).unwrap();
    home.run(&["casts", "check", "mine"])
        .expect(2, &["mine.toml:", "two judges are named 'hook'"]);
    home.run(&["judge", &path, "--cast", "mine", "--model", "lab:x"])
        .expect(2, &["two judges are named 'hook'"]);
    home.run(&["judge", &path, "--cast", "dialectic"])
        .expect(2, &["has no councils"]);
    home.run(&["schema", "counsils"])
        .expect(2, &["did you mean 'councils'"]);
}

/// T-13: empty, binary and missing files and unsupported images are rejected before the first call.
#[test]
fn t13_invalid_content_is_rejected_before_any_call() {
    let server = council_server(even);
    let home = Home::with(&server);
    home.write("empty.md", " \n\n");
    home.write("post.md", POST);
    std::fs::write(home.path().join("binary.bin"), [0xff, 0x00, 0x12]).unwrap();
    std::fs::write(home.path().join("nul.txt"), "text\0text").unwrap();
    std::fs::write(home.path().join("picture.png"), b"\x89PNG\r\n\x1a\n").unwrap();
    let judge = |more: &[&str]| {
        let mut args = vec!["judge", "--model", "lab:x"];
        args.extend(more);
        home.run(&args)
    };
    judge(&["empty.md"]).expect(2, &["empty.md is empty: there is nothing to judge"]);
    judge(&["-"]).expect(2, &["standard input is empty"]);
    judge(&["binary.bin"]).expect(2, &["binary.bin is not text"]);
    judge(&["nul.txt"]).expect(2, &["nul.txt is not text"]);
    judge(&["picture.png"]).expect(2, &["picture.png is an image: pass it with --image"]);
    judge(&["post.md", "--image", "post.md"])
        .expect(2, &["post.md is not a PNG, JPEG, GIF or WebP picture"]);
    judge(&["post.md", "--image", "picture.png"])
        .expect(2, &["picture.png is a picture", "not known to have vision"]);
    judge(&["nowhere.md"]).expect(2, &["cannot read nowhere.md", "pipe text in"]);
    judge(&["post.md", "--meta", "empty.md"]).expect(2, &["empty.md is empty"]);
    judge(&["post.md", "--rank"]).expect(2, &["at least two"]);
    judge(&["post.md", "empty.md", "--rank"]).expect(2, &["empty.md is empty"]);
    judge(&["post.md", "--cast", "temis"]).expect(2, &["did you mean 'themis'"]);
    judge(&[]).expect(2, &[]);
    assert!(server.heard().is_empty());
    assert!(home.list().is_empty());
}

/// T-13: a content that is too long is cut; the user, the judges and the result are told how much was left out.
#[test]
fn t13_five_megabytes_are_cut_and_reported() {
    let server = council_server(even);
    let home = Home::configured(&server.url(), "max_question_tokens = 4000\n");
    home.write("book.md", &POST.repeat(5_000_000 / POST.len() + 1));
    let run = home.run(&["judge", "book.md", "--fast", "--model", "lab:x", "--json"]);
    run.expect(0, &["words are judged, from its beginning and its end"]);
    let record = run.json();
    let left_out = &record["result"]["content"]["parts"][0]["left_out"];
    assert!(left_out["words"].as_u64().unwrap() > 900_000, "{left_out}");
    let prompt = server.heard()[0]["messages"].to_string();
    assert!(prompt.contains("words are left out here"));
    assert!(prompt.len() < 60_000, "{}", prompt.len());
}

/// Each content is judged on its own; the ranking marks differences within the spread of the judges.
#[test]
fn several_contents_are_ranked_with_their_uncertainty() {
    let score = |text: &str| {
        if text.contains("alpha") {
            80.0
        } else if text.contains("beta") {
            79.0
        } else {
            20.0
        }
    };
    let server = council_server(score);
    let home = Home::with(&server);
    for name in ["gamma", "alpha", "beta"] {
        home.write(&format!("{name}.md"), &format!("{name} {POST}"));
    }
    let args = [
        "judge", "gamma.md", "alpha.md", "beta.md", "--rank", "--fast", "--model", "lab:x",
    ];
    let run = home.run(&args);
    run.expect(0, &[]);
    let order: Vec<usize> = ["alpha.md", "beta.md", "gamma.md"]
        .iter()
        .map(|name| run.out.find(name).unwrap())
        .collect();
    assert!(order.is_sorted(), "{}", run.out);
    assert!(
        run.out
            .contains("Within the spread of the judges:\n  alpha.md before beta.md: 1.0 points"),
        "{}",
        run.out
    );
    assert!(!run.out.contains("before gamma.md"), "{}", run.out);
    for request in server.heard() {
        let text = request["messages"].to_string();
        let seen = ["alpha", "beta", "gamma"]
            .iter()
            .filter(|name| text.contains(&format!("{name}.md")))
            .count();
        assert_eq!(seen, 1, "contents are never compared inside a prompt");
    }
    let mut args = args.to_vec();
    args.push("--json");
    let ranked = home.run(&args).json();
    assert_eq!(ranked["ranking"]["places"][0]["name"], "alpha.md");
    assert_eq!(ranked["ranking"]["places"][0]["worst"], 2);
    assert_eq!(ranked["debates"].as_array().unwrap().len(), 3);
}

/// Equal scores are called so, instead of a difference of 0.0 that a spread of 0.0 explains.
#[test]
fn equal_scores_are_ranked_as_equal() {
    // The server adds 4 to the scores of these judges.
    let is_higher = |text: &str| {
        ["You are the Hook Analyst", "You are the Trend"]
            .iter()
            .any(|judge| text.contains(judge))
    };
    let server = council_server(move |text| if is_higher(text) { 56.0 } else { 60.0 });
    let home = Home::with(&server);
    for name in ["alpha.md", "beta.md"] {
        home.write(name, POST);
    }
    let ranked = [
        "judge", "alpha.md", "beta.md", "--rank", "--fast", "--model", "lab:x",
    ];
    let run = home.run(&ranked);
    run.expect(0, &[]);
    let reason = "alpha.md before beta.md: the scores are the same";
    assert!(run.out.contains(reason), "{}", run.out);
}

#[test]
fn text_from_standard_input_is_judged() {
    let server = council_server(even);
    let home = Home::with(&server);
    let mut child = home
        .command(&["judge", "-", "--fast", "--model", "lab:x", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), POST.as_bytes()).unwrap();
    let run = finished(child.wait_with_output().unwrap());
    run.expect(0, &[]);
    assert_eq!(run.json()["title"], "standard input");
}

/// T-13: a picture is sent with every call that judges, to models with vision, and may be all there is to judge.
#[test]
fn t13_a_picture_is_sent_to_judges_with_vision() {
    let server = council_server(even);
    let home = Home::with(&server);
    std::fs::write(home.path().join("picture.png"), b"\x89PNG\r\n\x1a\n").unwrap();
    let run = home.run(&[
        "judge",
        "--image",
        "picture.png",
        "--fast",
        "--model",
        "lab:llava:13b",
        "--json",
    ]);
    run.expect(0, &[]);
    assert_eq!(run.json()["result"]["content"]["images"][0], "picture.png");
    assert_eq!(run.json()["title"], "picture.png");
    let mut judged = 0;
    for request in server.heard() {
        let user = request["messages"]
            .as_array()
            .unwrap()
            .iter()
            .find(|message| message["role"] == "user")
            .unwrap();
        let picture = &user["content"][0]["image_url"]["url"];
        if schema_name(&request) == "evaluation" {
            judged += 1;
            assert_eq!(picture, "data:image/png;base64,iVBORw0KGgo=");
        } else {
            assert!(picture.is_null(), "{picture}");
        }
    }
    assert_eq!(judged, 7);
    // The models of an own server are known to see only if the configuration says so.
    let judge = |model: &str| {
        home.run(&[
            "judge",
            "--image",
            "picture.png",
            "--fast",
            "--model",
            model,
        ])
    };
    judge("lab:x").expect(2, &["not known to have vision", "`vision = true`"]);
    home.run(&["config", "set", "providers.lab.vision", "true"])
        .expect(0, &[]);
    judge("lab:x").expect(0, &[]);
}
