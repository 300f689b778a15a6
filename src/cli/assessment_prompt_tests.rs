use roundtable_engine::retrospective::RecordFile;

use super::*;

fn record() -> DebateRecord {
    let text = include_str!("../../crates/engine/fixtures/dashboard/record.yaml");
    let mut record = serde_saphyr::from_str::<RecordFile>(text)
        .unwrap()
        .debate_record;
    record.required_questions = vec!["What do the queries look like?".into()];
    record
}

fn answer_with(answers: &str) -> (Result<Assessment, Failure>, String) {
    let mut printed = String::new();
    let mut input = answers.as_bytes();
    let assessment = Prompt {
        input: &mut input,
        print: &mut |text| printed.push_str(text),
    }
    .assessment(&record());
    (assessment, printed)
}

/// E-14: all questions; an invalid answer is asked for again, an empty one skips the question or ends the list.
#[test]
fn e14_a_person_is_asked_on_the_terminal() {
    let answers = "\n175\n75%\nv\nD\n\nx\ni\nr\n\n\n\n\n85\n\n70\nTeam velocity\nTooling\n\nQueries\n\nAsk for queries\n\ny\nWhich filters?\n\nRequirements Validation Expert\n\n";
    let (assessment, printed) = answer_with(answers);
    insta::assert_snapshot!(printed);
    insta::assert_json_snapshot!(assessment.unwrap());
}

/// E-14: 0.7 may mean 70% or 0.7%, so it is asked again.
#[test]
fn e14_a_share_below_one_needs_a_percent_sign() {
    let (_, printed) = answer_with("0.7\n");
    assert!(
        printed.contains("Enter percent: 70 for 70%, or 0.7% for less than one percent."),
        "{printed}"
    );
    let (_, printed) = answer_with("0.7%\n");
    assert!(printed.contains("How did the evidence turn out?"));
}

#[test]
fn e14_input_that_ends_early_saves_nothing() {
    let (assessment, _) = answer_with("75\nv\n");
    assert_eq!(
        assessment.unwrap_err().message(),
        "the input ended before the last question; nothing was saved"
    );
}
