use super::*;

fn query() -> Query {
    Query {
        key: "r3/decision".into(),
        question: "No progress. What now?".into(),
        options: vec!["accept".into(), "another-round".into(), "Monolith".into()],
    }
}

async fn decide_with(lines: &[&str]) -> Option<(String, Option<String>)> {
    let decision = read_decision(&query(), &mut StdinLines::from_lines(lines)).await;
    decision.map(|decision| (decision.choice, decision.note))
}

/// E-09: an option is chosen by number, value or label, with an optional reason; the prompt repeats for any other input.
#[tokio::test]
async fn e09_an_option_is_chosen_by_number_value_or_label() {
    let plain = |choice: &str| Some((choice.to_owned(), None));
    assert_eq!(decide_with(&["1", ""]).await, plain("accept"));
    for line in ["another-round", "Another round", "another round"] {
        assert_eq!(decide_with(&[line]).await, plain("another-round"));
    }
    assert_eq!(decide_with(&["monolith", ""]).await, plain("Monolith"));
    assert_eq!(
        decide_with(&["0", "4", "chaos", "-1", "3", "It is simple."]).await,
        Some(("Monolith".to_owned(), Some("It is simple.".to_owned())))
    );
}

/// An empty line or the end of input leaves the decision for later.
#[tokio::test]
async fn e09_a_decision_can_be_left_for_later() {
    assert_eq!(decide_with(&[""]).await, None);
    assert_eq!(decide_with(&["9"]).await, None);
    assert_eq!(decide_with(&[]).await, None);
}

/// E-09: the prompt lists the options; without a terminal the command that answers is printed.
#[test]
fn e09_the_question_is_shown_with_its_options() {
    let prompt = format_query(&query());
    for words in [
        "No progress. What now?",
        "1  Accept",
        "2  Another round",
        "3  Monolith",
    ] {
        assert!(prompt.contains(words), "{prompt}");
    }
    let instructions = instructions(&query(), &Uuid::nil().to_string());
    let instructions = anstream::adapter::strip_str(&instructions).to_string();
    let expected = "Waiting for your decision: No progress. What now?
  accept         Accept
  another-round  Another round
  Monolith
Answer with one of them, for example:
  roundtable resume 00000000 --decide accept";
    assert_eq!(instructions, expected);
}

/// E-09: a choice in several words is quoted for the shell.
#[test]
fn e09_choices_are_quoted_for_the_shell() {
    assert_eq!(quoted("another-round"), "another-round");
    assert_eq!(quoted("Use a queue"), "'Use a queue'");
    assert_eq!(quoted("Don't"), "'Don'\\''t'");
    assert_eq!(quoted(""), "''");
}
