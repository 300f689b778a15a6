use super::*;

fn failure(text: &str) -> String {
    parse(text).unwrap_err().message().to_owned()
}

fn choice_key(right: usize, options: &[&str]) -> Key {
    Key::Choice {
        right,
        options: options.iter().map(|one| (*one).to_owned()).collect(),
    }
}

#[test]
fn b01_our_own_files_have_choices_numbers_and_texts() {
    let choices = "id,question,options,answer,domain,cluster\na,Where?,Lyon|Paris,Paris,geo,x\nb,Who?,Ann|Bob,a,,\n";
    let found = parse(choices).unwrap();
    assert_eq!(found[0].key, choice_key(1, &["Lyon", "Paris"]));
    assert_eq!(found[1].key, choice_key(0, &["Ann", "Bob"]));
    assert_eq!(found[0].question.cluster, "x");
    assert_eq!(found[1].question.cluster, "b");
    assert_eq!(found[0].question.domain.as_deref(), Some("geo"));
    assert_eq!(
        found[0].text,
        "Where?\n\nA) Lyon\nB) Paris\n\nChoose one option. Your position is its letter alone. End the answer with a line such as \"Answer: A\"."
    );
    let open = "{\"question\": \"How many?\", \"answer\": 1200, \"tolerance\": 0.01}\n{\"question\": \"Who?\", \"answer\": [\"Ann\", \"Anne\"]}\n";
    let found = parse(open).unwrap();
    let number = Key::Number {
        right: 1200.0,
        tolerance: 0.01,
    };
    assert_eq!(found[0].key, number);
    assert_eq!(found[1].key, Key::Text(vec!["Ann".into(), "Anne".into()]));
    assert_eq!(found[1].question.id, "q2");
}

#[test]
fn b01_public_formats_are_recognised() {
    let pro = "{\"question_id\": 70, \"question\": \"Typical?\", \"options\": [\"x\", \"y\", \"z\"], \"answer\": \"C\", \"answer_index\": 2, \"category\": \"business\"}\n";
    let found = parse(pro).unwrap();
    assert_eq!(found[0].key, choice_key(2, &["x", "y", "z"]));
    assert_eq!(found[0].question.id, "70");
    assert_eq!(found[0].question.domain.as_deref(), Some("business"));
    let gsm = "{\"question\": \"Clips?\", \"answer\": \"48/2 = 24\\n48+24 = 72\\n#### 1,072\"}\n";
    let number = Key::Number {
        right: 1072.0,
        tolerance: TOLERANCE,
    };
    assert_eq!(parse(gsm).unwrap()[0].key, number);
    let mmlu = "Capital?,Lyon,Paris,Nice,Lille,B\nLargest?,1,2,3,4,D\n";
    let found = parse(mmlu).unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!(
        found[0].key,
        choice_key(1, &["Lyon", "Paris", "Nice", "Lille"])
    );
    let truthful = "Type,Category,Question,Best Answer,Best Incorrect Answer,Correct Answers,Incorrect Answers,Source\nA,Myths,Sugar?,No,Yes,No; none,Yes,x\nA,Myths,Salt?,No,Yes,No,Yes,x\n";
    let found = parse(truthful).unwrap();
    assert_eq!(found[0].key, choice_key(0, &["No", "Yes"]));
    assert_eq!(
        found[1].key,
        choice_key(1, &["Yes", "No"]),
        "the right one is not always first"
    );
}

#[test]
fn b01_open_questions_have_a_rubric() {
    let rows = "id,question,rubric,answer\na,Why?,Names a cause,\nb,How?,Names a way,By train\n";
    let found = parse(rows).unwrap();
    let rubric = |rubric: &str, reference: Option<&str>| Key::Rubric {
        rubric: rubric.to_owned(),
        reference: reference.map(str::to_owned),
    };
    assert_eq!(found[0].key, rubric("Names a cause", None));
    assert_eq!(found[1].key, rubric("Names a way", Some("By train")));
    assert!(found[0].text.starts_with("Why?\n\nAnswer in full"));
    // Nothing that the judge reads is shown to the arms.
    assert!(!found[1].text.contains("train") && !found[1].text.contains("Names"));
}

#[test]
fn b01_everything_wrong_with_a_file_of_questions_is_reported_at_once() {
    let rows = "id,question,options,answer,tolerance,rubric\na,Q,x|y,x,,\na,Q,x|y,y,,\nb,Q,x|y,z,,\nc,,x|y,x,,\nd,Q,x|y,,,\ne,Q,,5,much,\nf,Q,,5,,\ng,Q,x,x,,\nh,Q,,,,good\n";
    let found = failure(rows);
    let expected = [
        "question 2: the id 'a' is that of question 1",
        "question 3: the answer 'z' is not among the options",
        "question 4: it has no text",
        "question 5: it has no answer",
        "question 6: the tolerance 'much' is not a share of at least 0, such as 0.01",
        "question 8: it has 1 options; 2 to 26 are possible",
        "mixed types: question 7 has neither options nor a rubric, question 1 has options, question 9 has a rubric; bench them in separate files",
    ];
    assert_eq!(found.lines().collect::<Vec<_>>(), expected);
    assert_eq!(failure("question,answer\n"), "the file has no questions");
    assert!(
        failure("text,label\nx,y\n").starts_with("the file needs the columns question and answer")
    );
}
