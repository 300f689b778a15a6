use super::*;

#[test]
fn b02_a_long_answer_is_cut_in_the_text_and_whole_in_the_structure() {
    let answer = "word\n".repeat(2_000);
    let outcome = Outcome {
        id: Some("x".into()),
        state: "complete".into(),
        answer: Some(answer.clone()),
        dissent: items((0..50).map(|_| "against ".repeat(500))),
        caveats: items((0..50).map(|_| "but ".repeat(500))),
        note: Some("because ".repeat(20)),
        ..Outcome::default()
    };
    let text = outcome.text();
    assert!(
        text.split_whitespace().count() < 600,
        "{}",
        text.split_whitespace().count()
    );
    assert!(text.starts_with("word\nword\n") && text.contains("the rest is in"));
    assert_eq!(json!(outcome)["answer"], answer);
}

#[test]
fn b02_words_are_counted_and_lines_kept() {
    assert_eq!(first_words("a b\n\nc", 3, "…"), "a b\n\nc");
    assert_eq!(first_words("a b\n\nc d", 3, "…"), "a b\n\nc …");
    assert_eq!(first_words("  ", 3, "…"), "");
}

#[test]
fn b02_structured_content_fits_its_schema() {
    let schema = Value::Object((*Outcome::schema()).clone());
    let validator = jsonschema::validator_for(&schema).unwrap();
    let full = Outcome {
        id: Some("x".into()),
        state: "waiting".into(),
        answer: Some("yes".into()),
        is_draft: true,
        confidence: Some(0.5),
        dissent: vec!["no".into()],
        cost_usd: Some(0.1),
        decision: Some(Decision {
            question: "?".into(),
            options: vec!["a".into()],
        }),
        next: Some(NextCall {
            tool: DEBATES.into(),
            arguments: JsonObject::new(),
        }),
        ..Outcome::default()
    };
    for outcome in [Outcome::found(&[]), full] {
        let errors: Vec<_> = validator
            .iter_errors(&json!(outcome))
            .map(|e| e.to_string())
            .collect();
        assert_eq!(errors, Vec::<String>::new());
    }
}
