use super::*;

fn turn(role: Role, text: &str) -> Turn {
    Turn {
        role,
        text: text.into(),
        images: Vec::new(),
    }
}

fn made(turns: &[Turn]) -> Conversation {
    conversation(turns, &Limits::default()).unwrap()
}

#[test]
fn b03_the_last_user_message_is_the_question_and_the_rest_is_quoted() {
    let alone = made(&[turn(Role::User, "Why?")]);
    assert_eq!((alone.question.as_str(), alone.context), ("Why?", None));
    let made = made(&[
        turn(Role::System, "Answer in French."),
        turn(Role::User, "Is tea good?\nReally?"),
        turn(Role::Assistant, "Yes."),
        turn(Role::User, "Why?"),
    ]);
    assert_eq!(made.question, "Why?");
    assert_eq!(
        made.context.unwrap(),
        "Instructions of the application that asks:\n\n> Answer in French.\n\n\
         Said earlier in this conversation, for context:\n\n> User: Is tea good?\n> Really?\n>\n> Assistant: Yes."
    );
}

/// Of a long conversation the newest messages are kept, and never more than the limit.
#[test]
fn b03_the_context_is_bounded() {
    let long = "word ".repeat(600);
    let turns: Vec<Turn> = (0..50)
        .flat_map(|index| {
            [
                turn(Role::User, &format!("Question {index}: {long}")),
                turn(Role::Assistant, &format!("Answer {index}: {long}")),
            ]
        })
        .chain([
            turn(Role::System, &long.repeat(10)),
            turn(Role::User, "And now?"),
        ])
        .collect();
    let made = made(&turns);
    let context = made.context.unwrap();
    assert!(context.contains("Answer 49"), "the newest is missing");
    assert!(!context.contains("Question 48"), "an old one is there");
    assert!(context.contains("Instructions of the application"));
    let count = tokens::count(&context);
    assert!((1500..=MAX_TOKENS).contains(&count), "{count}");
    // A long question leaves no room.
    let question = "word ".repeat(2100);
    let limits = Limits::default();
    let made = conversation(
        &[turn(Role::Assistant, "Yes."), turn(Role::User, &question)],
        &limits,
    );
    assert_eq!(made.unwrap().context, None);
}

#[test]
fn b03_a_conversation_without_a_question_is_refused() {
    for turns in [
        vec![],
        vec![turn(Role::System, "Be kind.")],
        vec![turn(Role::User, " \n")],
        vec![turn(Role::Assistant, "Hello.")],
    ] {
        let problem = conversation(&turns, &Limits::default()).unwrap_err();
        assert_eq!(problem.status().as_u16(), 422, "{turns:?}");
    }
    let limits = Limits {
        max_question_tokens: 10,
        ..Limits::default()
    };
    let at = |count: usize| {
        let words = "word ".repeat(count);
        conversation(&[turn(Role::User, words.trim())], &limits)
    };
    assert!(at(10).is_ok());
    assert_eq!(at(11).unwrap_err().name(), "context-length-exceeded");
}
