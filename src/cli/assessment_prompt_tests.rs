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

#[test]
fn e14_input_that_ends_early_saves_nothing() {
    let (assessment, _) = answer_with("75\nv\n");
    assert_eq!(
        assessment.unwrap_err().message(),
        "the input ended before the last question; nothing was saved"
    );
}
