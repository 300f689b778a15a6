use super::*;

fn parse(words: &[&str]) -> Result<Task, String> {
    Task::parse(words.iter().map(OsString::from))
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

#[test]
fn the_question_comes_first_and_the_rest_is_passed_on() {
    assert_eq!(
        parse(&["try", "Is it so?", "--rounds", "1..2", "--json"]),
        Ok(Task::Try {
            question: "Is it so?".into(),
            options: words(&["--rounds", "1..2", "--json"]),
            embedded: false,
        })
    );
    assert_eq!(
        parse(&["try", "-", "--embedded", "--quiet"]),
        Ok(Task::Try {
            question: "-".into(),
            options: words(&["--quiet"]),
            embedded: true,
        })
    );
}

#[test]
fn without_a_question_the_default_is_used() {
    assert_eq!(
        [parse(&["try"]), parse(&["try", "--json"])],
        [words(&[]), words(&["--json"])].map(|options| Ok(Task::Try {
            question: DEFAULT_QUESTION.into(),
            options,
            embedded: false,
        }))
    );
}

#[test]
fn filters_are_passed_to_the_test_runner() {
    assert_eq!(
        [
            parse(&["check", "resume", "c07_"]),
            parse(&["test", "c07_", "resume"]),
            parse(&["bench", "embedder"]),
            parse(&["soak", "crashes::"]),
            parse(&["clients", "codex"]),
            parse(&["shots", "out"]),
            parse(&["shots"]),
        ],
        [
            Ok(Task::Check(words(&["resume", "c07_"]))),
            Ok(Task::Test(words(&["c07_", "resume"]))),
            Ok(Task::Bench(words(&["embedder"]))),
            Ok(Task::Soak(words(&["crashes::"]))),
            Ok(Task::Clients(words(&["codex"]))),
            Ok(Task::Shots(Some("out".into()))),
            Ok(Task::Shots(None)),
        ]
    );
}

#[test]
fn filters_are_optional() {
    assert_eq!(
        [
            parse(&["check"]),
            parse(&["test"]),
            parse(&["bench"]),
            parse(&["soak"])
        ],
        [
            Ok(Task::Check(vec![])),
            Ok(Task::Test(vec![])),
            Ok(Task::Bench(vec![])),
            Ok(Task::Soak(vec![])),
        ]
    );
}

fn dist(folder: Option<&str>, profile: &str, check: bool) -> Task {
    Task::Dist(DistOptions {
        folder: folder.map(OsString::from),
        profile: profile.to_owned(),
        only: None,
        check,
    })
}

#[test]
fn dist_builds_one_program_on_request() {
    let Ok(Task::Dist(options)) = parse(&["dist", "--only", "slim"]) else {
        panic!("not parsed");
    };
    assert_eq!(options.only, Some(Variant::Slim));
    assert_eq!(
        parse(&["dist", "--only", "thin"]),
        Err("--only is full or slim".to_owned())
    );
}

#[test]
fn dist_takes_a_folder_a_profile_and_check() {
    assert_eq!(
        [
            parse(&["deny"]),
            parse(&["dist"]),
            parse(&["dist", "out"]),
            parse(&["dist", "--check", "out", "--profile", "quick"]),
        ],
        [
            Ok(Task::Deny),
            Ok(dist(None, "release", false)),
            Ok(dist(Some("out"), "release", false)),
            Ok(dist(Some("out"), "quick", true)),
        ]
    );
}

#[test]
fn dist_refuses_what_it_does_not_know() {
    let error = |words| parse(words).unwrap_err();
    assert_eq!(
        [
            error(&["dist", "--chekc"]),
            error(&["dist", "--profile"]),
            error(&["dist", "a", "b"]),
        ],
        [
            "unknown option `--chekc` of `dist`",
            "--profile needs a name, such as quick",
            "unexpected argument `b` of `dist`",
        ]
    );
}

#[test]
fn an_unknown_task_is_an_error() {
    assert_eq!(parse(&["tset"]), Err("unknown task `tset`".to_owned()));
}

#[test]
fn help_is_the_default_task() {
    assert_eq!(
        [
            parse(&[]),
            parse(&["-h"]),
            parse(&["--help"]),
            parse(&["help"])
        ],
        [const { Ok(Task::Help) }; 4]
    );
}

#[test]
fn the_help_has_an_example_of_each_task() {
    for task in [
        "try",
        "check",
        "check resume",
        "test",
        "bench",
        "soak",
        "clients",
        "shots",
        "deny",
        "dist",
    ] {
        let example = format!("\n  cargo xtask {task} ");
        assert!(HELP.contains(&example), "{task}");
    }
}
