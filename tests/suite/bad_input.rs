//! Invalid input: a clear error, exit code 2, nothing lost.

use crate::harness::{Answer, Home, QUESTION, Server, good};

#[test]
fn an_empty_question_is_rejected() {
    let home = Home::empty();
    home.run(&["ask", "  \n "])
        .expect(2, &["the question is empty"]);
    home.run(&["ask", "-"])
        .expect(2, &["the question is empty"]);
}

#[test]
fn a_question_of_two_megabytes_is_rejected_with_its_token_count_and_the_limit() {
    let server = Server::good();
    let home = Home::with(&server);
    home.write(
        "huge.txt",
        &"How much wood would a woodchuck chuck? ".repeat(52_000),
    );
    let run = home.run(&["ask", "huge.txt", "--model", "lab:x"]);
    run.expect(2, &["tokens; the limit is"]);
    assert!(
        run.err.contains("the question has 5") || run.err.contains("the question has 4"),
        "{}",
        run.err
    );
    assert!(server.heard().is_empty());
    assert!(home.list().is_empty());
}

#[test]
fn unknown_names_are_reported_with_the_nearest_one() {
    let server = Server::good();
    let home = Home::with(&server);
    let ask = |more: &[&str]| {
        let mut args = vec!["ask", QUESTION];
        args.extend(more);
        home.run(&args)
    };
    ask(&["--model", "labb:x"]).expect(2, &["unknown provider 'labb'", "did you mean 'lab'"]);
    ask(&["--model", "x"]).expect(2, &["provider:model"]);
    ask(&["--model", "lab:x", "--seat", "sceptic=lab:y"])
        .expect(2, &["unknown seat 'sceptic'", "did you mean 'skeptic'"]);
    ask(&["--model", "lab:x", "--seat", "skeptic"]).expect(2, &["invalid --seat 'skeptic'"]);
    ask(&["--model", "lab:x", "--cast", "dialektic"]).expect(2, &["did you mean 'dialectic'"]);
    ask(&["--model", "lab:x", "--rounds", "5..3"]).expect(2, &["invalid rounds 5 to 3"]);
    ask(&["--model", "lab:x", "--rounds", "1..99"]).expect(2, &["too many"]);
    ask(&["--model", "lab:x", "--timeout", "soon"]).expect(2, &["invalid --timeout 'soon'"]);
    ask(&["--model", "lab:x", "--max-cost", "-1"]).expect(2, &["invalid --max-cost '-1'"]);
    assert!(server.heard().is_empty());
}

#[test]
fn a_misspelt_key_names_the_file_the_line_and_the_nearest_valid_key() {
    let home = Home::empty();
    home.write("roundtable.toml", "[providers.lab]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\nmax_concurent = 3\n");
    home.run(&["ask", QUESTION, "--model", "lab:x"]).expect(
        2,
        &["roundtable.toml:4:", "max_concurent", "max_concurrent"],
    );
}

/// C-02: an invalid user file is reported with file and line; there is no silent fallback.
#[test]
fn c02_a_broken_cast_is_reported_with_file_and_line() {
    let server = Server::good();
    let home = Home::with(&server);
    home.write(
        ".config/roundtable/casts/mine.toml",
        "name = \"mine\"\nprotocol = \"dialectic\"\nsummary = 3\nseats = []\n",
    );
    home.ask(&["--cast", "mine"]).expect(2, &["mine.toml:3:"]);
}

/// C-02: a prompt in the configuration folder replaces the built-in one.
#[test]
fn c02_a_user_prompt_replaces_the_built_in_one() {
    let server = Server::good();
    let home = Home::with(&server);
    home.write(
        ".config/roundtable/prompts/dialectic/mark.md",
        "=== system\nYou mark.\n=== shared\nMARK THIS: {{ question }}\n=== own\n{{ answer }}\n",
    );
    home.ask(&["--quiet"]).expect(0, &[]);
    let last = server.heard().pop().unwrap();
    assert!(last["messages"].to_string().contains("MARK THIS"), "{last}");
}

/// C-07: a cost limit without a known price is rejected, not ignored.
#[test]
fn c07_a_cost_limit_needs_a_known_price() {
    let server = Server::good();
    let home = Home::with(&server);
    home.ask(&["--max-cost", "0.5"])
        .expect(2, &["the price of lab:x is unknown", "--max-tokens-total"]);
    assert!(server.heard().is_empty());
    home.write(
        ".config/roundtable/prices.toml",
        "[prices.lab]\nx = { input = 1.0, output = 2.0 }\n",
    );
    let trace = home.ask(&["--max-cost", "0.5", "--json"]).json();
    let cost = trace["totals"]["debate"]["cost"].as_f64().unwrap();
    assert!((cost - 8.0 * 700.0 / 1e6).abs() < 1e-12, "{cost}");
}

#[test]
fn an_unusable_data_folder_is_rejected() {
    let server = Server::good();
    let home = Home::with(&server);
    home.write("file", "not a folder");
    home.ask(&["--data", "file/inside"]).expect(1, &["--data"]);
    home.ask(&["--data", "/proc/nowhere"])
        .expect(1, &["/proc/nowhere"]);
    assert!(
        server.heard().is_empty(),
        "no call is made if the debate cannot be saved"
    );
}

#[test]
fn a_corrupt_database_is_moved_aside_and_never_overwritten() {
    let server = Server::good();
    let home = Home::with(&server);
    let garbage = "not a database, but maybe still useful".repeat(200);
    home.write("data/roundtable.db", &garbage);
    let run = home.ask(&["--data", "data", "--quiet"]);
    run.expect(1, &["was moved to"]);
    let kept: Vec<_> = std::fs::read_dir(home.path().join("data"))
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().contains("corrupt"))
        .collect();
    assert_eq!(std::fs::read_to_string(kept[0].path()).unwrap(), garbage);
    home.ask(&["--data", "data", "--quiet"]).expect(0, &[]);
}

#[test]
fn ids_are_found_by_any_unambiguous_prefix() {
    let server = Server::good();
    let home = Home::with(&server);
    home.run(&["show", "last"])
        .expect(2, &["there are no debates yet"]);
    home.ask(&["--quiet"]).expect(0, &[]);
    let id = home.list()[0]["id"].as_str().unwrap().to_owned();
    home.run(&["show", &id[..4]]).expect(0, &[]);
    home.run(&["show", "zzzz"])
        .expect(2, &["no debate id starts with 'zzzz'"]);
    home.ask(&["--quiet"]).expect(0, &[]);
    home.run(&["show", ""]).expect(2, &[]);
}

#[test]
fn ratings_and_dates_out_of_range_are_rejected() {
    let server = Server::good();
    let home = Home::with(&server);
    home.ask(&["--quiet"]).expect(0, &[]);
    home.run(&["track", "last", "Late", "--date", "2020-01-01"])
        .expect(
            2,
            &["invalid date 2020-01-01", "the event follows its decision"],
        );
    home.run(&["track", "last", "Late", "--date", "2026-13-40"])
        .expect(2, &["'2026-13-40'", "expected a date such as 2026-11-16"]);
    home.run(&["rate", "last", "11"])
        .expect(2, &["expected a number from 1 to 10"]);
    home.run(&["rm", "last"]).expect(2, &["--yes"]);
    assert_eq!(home.list().len(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_written_is_an_error() {
    let server = Server::good();
    let home = Home::with(&server);
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = home
        .command(&["ask", QUESTION, "--model", "lab:x", "--quiet"])
        .stdout(full)
        .output()
        .unwrap();
    crate::harness::finished(output).expect(1, &["cannot write to standard output"]);
}

#[test]
fn a_path_without_a_file_is_not_debated() {
    let server = Server::good();
    let home = Home::with(&server);
    home.write("folder/x.txt", "Why?");
    for (question, message) in [
        ("questoin.md", "'questoin.md' does not exist"),
        ("./folder/y", "'./folder/y' does not exist"),
        ("folder", "'folder' is a folder"),
    ] {
        for command in ["ask", "debate", "panel"] {
            home.run(&[command, question, "--model", "lab:x"])
                .expect(2, &[message, "in quotes", "roundtable"]);
        }
    }
    assert!(server.heard().is_empty());
    for question in ["TCP/IP?", "and/or, or not", "folder/x.txt"] {
        home.run(&["ask", question, "--model", "lab:x", "--quiet"])
            .expect(0, &[]);
    }
}

#[test]
fn a_question_without_quotes_gets_a_hint() {
    let run = Home::empty().run(&["ask", "Is", "it", "good?"]);
    run.expect(2, &["put it in quotes", "roundtable ask \"Is it good?\""]);
}

/// A dialectic cast with these seats.
fn cast(name: &str, seats: &[&str]) -> String {
    let text = format!("name = \"{name}\"\nprotocol = \"dialectic\"\nsummary = \"Mine.\"\n");
    let seats = seats.iter().map(|seat| {
        format!(
            "\n[[seats]]\nname = \"{seat}\"\ntitle = \"T\"\ntier = \"fast\"\ntemperature = 1\nmax_output_tokens = 900\npersona = \"p\"\n"
        )
    });
    seats.fold(text, |text, seat| text + &seat)
}

const SEATS: [&str; 4] = ["proposer", "skeptic", "synthesizer", "judge"];

/// C-02: casts and prompts next to the configuration file in use are read, whichever way it was chosen.
#[test]
fn c02_data_files_next_to_the_configuration_are_read() {
    let server = Server::good();
    let home = Home::with(&server);
    home.write("casts/mine.toml", &cast("mine", &SEATS));
    home.ask(&["--cast", "mine", "--quiet"]).expect(0, &[]);
    let listed = home.run(&["casts", "list"]);
    assert!(listed.out.contains("mine"), "{}", listed.out);

    let config = std::fs::read_to_string(home.path().join("roundtable.toml")).unwrap();
    home.write("elsewhere/own.toml", &config);
    home.write("elsewhere/casts/other.toml", &cast("other", &SEATS));
    home.write(
        "elsewhere/prompts/dialectic/mark.md",
        "=== system\nYou mark.\n=== shared\nMARK THIS: {{ question }}\n=== own\n{{ answer }}\n",
    );
    home.ask(&["--cast", "other", "--quiet"])
        .expect(2, &["unknown cast 'other'"]);
    home.ask(&[
        "--config",
        "elsewhere/own.toml",
        "--cast",
        "other",
        "--quiet",
    ])
    .expect(0, &[]);
    let last = server.heard().pop().unwrap();
    assert!(last["messages"].to_string().contains("MARK THIS"), "{last}");
    let output = home
        .command(&["casts", "list"])
        .env("ROUNDTABLE_CONFIG", "elsewhere/own.toml")
        .output()
        .unwrap();
    let listed = crate::harness::finished(output);
    assert!(listed.out.contains("other"), "{}", listed.out);
    // By path, with every command that has a cast.
    home.ask(&["--cast", "./elsewhere/casts/other.toml", "--quiet"])
        .expect(0, &[]);
}

/// Prices next to a file in the working folder could call a model free and defeat a cost limit.
#[test]
fn prices_in_the_working_folder_are_not_trusted() {
    let server = Server::good();
    let home = Home::with(&server);
    home.write(
        "prices.toml",
        "[prices.lab]\nx = { input = 0.0, output = 0.0 }\n",
    );
    home.run(&["config", "trust"]).expect(0, &[]);
    let found = home
        .command(&["ask", "Why?", "--model", "lab:x", "--max-cost", "0.5"])
        .env_remove("ROUNDTABLE_CONFIG")
        .output()
        .unwrap();
    crate::harness::finished(found).expect(2, &["the price of lab:x is unknown"]);
    home.ask(&[
        "--max-cost",
        "0.5",
        "--config",
        "roundtable.toml",
        "--quiet",
    ])
    .expect(0, &[]);
}

/// C-02: one broken cast does not hide the others, and `doctor` finds it.
#[test]
fn c02_a_broken_cast_is_named_and_the_others_are_listed() {
    let home = Home::empty();
    home.write(".config/roundtable/casts/bad.toml", "name = \"bad\"\n");
    let run = home.run(&["casts", "list"]);
    run.expect(1, &["bad.toml:1: missing key 'protocol'"]);
    assert!(run.out.contains("dialectic"), "{}", run.out);
    let doctor = home.run(&["doctor"]);
    assert!(doctor.out.contains("bad.toml:1:"), "{}", doctor.out);

    let home = Home::empty();
    home.write(
        ".config/roundtable/casts/mine.toml",
        &cast("mine", &["proposer", "synthesizer", "judge"]),
    );
    home.run(&["casts", "check", "mine"])
        .expect(2, &["mine.toml:1: missing seat 'skeptic'"]);
    let doctor = home.run(&["doctor"]);
    assert!(
        doctor.out.contains("missing seat 'skeptic'"),
        "{}",
        doctor.out
    );
}

/// C-02: a broken prompt is found before the debate is created.
#[test]
fn c02_a_broken_prompt_is_found_before_the_debate() {
    let server = Server::good();
    let home = Home::with(&server);
    home.write("prompts/dialectic/propose.md", "Answer: {{ question }}\n");
    let expected = "propose.md:1: missing part '=== system': expected the lines";
    home.ask(&[]).expect(2, &[expected]);
    assert!(home.list().is_empty());
    let doctor = home.run(&["doctor"]);
    assert!(doctor.out.contains(expected), "{}", doctor.out);
    home.run(&["prompts", "list"]).expect(2, &[expected]);
}

/// C-02
#[test]
fn c02_prompts_are_listed_and_printed() {
    let home = Home::empty();
    let listed = home.run(&["prompts", "list"]);
    assert!(listed.out.contains("dialectic/propose "), "{}", listed.out);
    let shown = home.run(&["prompts", "show", "dialectic/propose"]);
    assert!(shown.out.starts_with("=== system\n"), "{}", shown.out);
}

#[test]
fn the_path_of_a_broken_configuration_is_printed() {
    let home = Home::empty();
    home.write("roundtable.toml", "[providers\n");
    let run = home.run(&["config", "path"]);
    run.expect(0, &[]);
    assert!(run.out.contains("roundtable.toml"), "{}", run.out);
    home.run(&["config", "show"])
        .expect(2, &["roundtable.toml:1:"]);
}

/// C-12: a terminal obeys C1 controls, and direction controls make text read differently than it is.
#[test]
fn c12_no_control_of_a_model_reaches_a_terminal() {
    let hostile = "fine \u{9d}52;c;aGk=\u{9c} \u{202e}txet";
    let server = Server::start(move |request, before| {
        let reply = good(request, before);
        Answer::Reply(reply.replacen("\"answer\":\"", &format!("\"answer\":\"{hostile} "), 1))
    });
    let home = Home::with(&server);
    let is_raw = |c: char| matches!(c, '\u{80}'..='\u{9f}' | '\u{202e}');
    for mode in ["--json", "--events", "--quiet"] {
        let run = home.ask(&[mode]);
        assert!(!run.out.contains(is_raw), "{mode}: {:?}", run.out);
        assert!(!run.err.contains(is_raw), "{mode}: {:?}", run.err);
    }
    assert!(
        home.ask(&["--json"])
            .json()
            .to_string()
            .contains("\u{9d}52"),
        "JSON keeps the text"
    );
    for args in [
        &["show", "last", "--json"][..],
        &["show", "last", "--transcript"],
        &["export", "last", "--format", "json"],
        &["export", "last", "--format", "md"],
        &["export", "last", "--format", "html"],
        &["export", "last", "--format", "jsonl", "--min-score", "0"],
    ] {
        let run = home.run(args);
        run.expect(0, &[]);
        assert!(run.out.contains("fine"), "{args:?}: {}", run.out);
        assert!(!run.out.contains(is_raw), "{args:?}: {:?}", run.out);
    }
}
