use super::*;

fn query() -> Query {
    Query {
        key: "r3/decision".into(),
        question: "No progress. What now?".into(),
        options: vec!["accept".into(), "another-round".into(), "Monolith".into()],
    }
}

async fn said(typed: &[&str]) -> Option<(String, Option<String>)> {
    let verdict = answered(&query(), &mut Typed::of(typed)).await;
    verdict.map(|it| (it.choice, it.note))
}

/// E-09: a choice is taken by its number or in its words, with a reason where one is given; what is none is asked again.
#[tokio::test]
async fn e09_a_choice_is_taken_by_number_or_words() {
    let plain = |choice: &str| Some((choice.to_owned(), None));
    assert_eq!(said(&["1", ""]).await, plain("accept"));
    assert_eq!(said(&["Another round"]).await, plain("another-round"));
    assert_eq!(said(&["monolith", ""]).await, plain("Monolith"));
    assert_eq!(
        said(&["0", "4", "chaos", "-1", "3", "It is simple."]).await,
        Some(("Monolith".to_owned(), Some("It is simple.".to_owned())))
    );
}

/// Nothing typed, or nobody there any more: it is decided later.
#[tokio::test]
async fn e09_what_nobody_answers_is_decided_later() {
    assert_eq!(said(&[""]).await, None);
    assert_eq!(said(&["9"]).await, None);
    assert_eq!(said(&[]).await, None);
}

/// E-09: who is asked sees the question with its choices; who cannot be asked sees how to answer.
#[test]
fn e09_the_question_is_told_with_its_choices() {
    let told = told(&query());
    for words in [
        "No progress. What now?",
        "1  Accept",
        "2  Another round",
        "3  Monolith",
    ] {
        assert!(told.contains(words), "{told}");
    }
    let told = instructions(&query(), Uuid::nil());
    let wanted = "--decide CHOICE`, one of: \"accept\", \"another-round\", \"Monolith\"";
    assert!(told.contains(wanted), "{told}");
}
