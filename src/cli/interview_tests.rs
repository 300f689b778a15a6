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

fn held(answers: &str) -> (Result<Assessment, Failure>, String) {
    let mut said = String::new();
    let mut input = answers.as_bytes();
    let assessment = Interview {
        input: &mut input,
        say: &mut |text| said.push_str(text),
    }
    .held(&record());
    (assessment, said)
}

/// E-14: the whole conversation: wrong answers are asked for again, empty ones skip or end.
#[test]
fn e14_a_person_is_asked_on_the_terminal() {
    let answers = "\n175\n75%\nv\nD\n\nx\ni\nr\n\n\n\n\n85\n\n70\nTeam velocity\nTooling\n\nQueries\n\nAsk for queries\n\ny\nWhich filters?\n\nRequirements Validation Expert\n\n";
    let (assessment, said) = held(answers);
    insta::assert_snapshot!(said);
    insta::assert_json_snapshot!(assessment.unwrap());
}

#[test]
fn e14_answers_that_end_early_record_nothing() {
    let (assessment, _) = held("75\nv\n");
    assert_eq!(
        assessment.unwrap_err().message(),
        "the answers ended before the last question; nothing was recorded"
    );
}
