use super::*;

fn parse(words: &[&str]) -> Result<Task, UsageError> {
    Task::parse(words.iter().map(OsString::from))
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

#[test]
fn the_question_comes_first_and_the_rest_is_handed_on() {
    assert_eq!(
        parse(&["try", "Is it so?", "--rounds", "1..2", "--json"]),
        Ok(Task::Try {
            question: "Is it so?".into(),
            options: words(&["--rounds", "1..2", "--json"]),
        })
    );
    assert_eq!(
        parse(&["try", "-", "--quiet"]),
        Ok(Task::Try {
            question: "-".into(),
            options: words(&["--quiet"]),
        })
    );
}

#[test]
fn without_a_question_there_is_a_default_one() {
    assert_eq!(
        [parse(&["try"]), parse(&["try", "--json"])],
        [words(&[]), words(&["--json"])].map(|options| Ok(Task::Try {
            question: DEFAULT_QUESTION.into(),
            options,
        }))
    );
}

#[test]
fn filters_go_to_the_runner() {
    assert_eq!(
        [
            parse(&["test", "c07_", "resume"]),
            parse(&["bench", "embedder"]),
            parse(&["soak"]),
            parse(&["soak", "crashes::"]),
        ],
        [
            Ok(Task::Test {
                filters: words(&["c07_", "resume"])
            }),
            Ok(Task::Bench {
                filters: words(&["embedder"])
            }),
            Ok(Task::Soak {
                filters: words(&[])
            }),
            Ok(Task::Soak {
                filters: words(&["crashes::"])
            }),
        ]
    );
}

#[test]
fn what_cannot_be_meant_is_refused() {
    assert_eq!(
        [parse(&["tset"]), parse(&["check", "core"])],
        [
            Err(UsageError::UnknownTask("tset".to_owned())),
            Err(UsageError::TakesNothing {
                task: "check",
                given: "core".to_owned()
            }),
        ]
    );
}

#[test]
fn no_task_asks_for_help() {
    assert_eq!(
        [parse(&[]), parse(&["-h"])],
        [Ok(Task::Help), Ok(Task::Help)]
    );
}
