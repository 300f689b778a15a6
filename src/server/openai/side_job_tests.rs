use super::*;

fn user(text: &str) -> Turn {
    Turn {
        role: Role::User,
        text: text.into(),
        images: Vec::new(),
    }
}

fn turn(role: Role, text: &str) -> Turn {
    Turn { role, ..user(text) }
}

/// The instructions of Open `WebUI` 0.12, in its structure and with its keys.
fn instructions() -> Vec<String> {
    let with = |task: &str, output: &str| {
        format!(
            "### Task:\n{task}\n### Guidelines:\n- Be brief.\n### Output:\nJSON format: {output}\n### Chat History:\n\
             <chat_history>\nUSER: Is tea good?\nASSISTANT: Yes.\n</chat_history>"
        )
    };
    vec![
        with("Generate a concise title.", "{ \"title\": \"your concise title here\" }\n### Examples:\n- { \"title\": \"Tea\" }"),
        with("Generate 1-3 broad tags.", "{ \"tags\": [\"tag1\", \"tag2\"] }"),
        with("Suggest 3-5 relevant follow-up questions.", "{ \"follow_ups\": [\"Question 1?\"] }"),
        with("Analyze the chat history.", "{\n  \"queries\": [\"query1\", \"query2\"]\n}"),
        with("Generate a detailed prompt.", "{\n    \"prompt\": \"Your detailed description here.\"\n}"),
        "### Task:\nContinue the text.\n- Respond only in JSON format: `{ \"text\": \"…\" }`.\n<chat_history>\nUSER: Hi\n</chat_history>\n\
         <type>General</type>  \n<text>And the</text>  \n#### Output:\n"
            .into(),
        "Your task is to reflect the speaker's likely facial expression through a fitting emoji. Message: ```Hi```".into(),
    ]
}

#[test]
fn b03_the_side_jobs_of_front_ends_are_recognised() {
    for instruction in instructions() {
        assert!(is_side_job(&[user(&instruction)]), "{instruction}");
        // A front end may add a system prompt and white space.
        let with_system = [
            turn(Role::System, "Be kind."),
            user(&format!("\n{instruction}\n")),
        ];
        assert!(is_side_job(&with_system), "{instruction}");
    }
    let tools = "Available Tools: []\n\nReturn {\"tool_calls\": []}";
    assert!(is_side_job(&[
        turn(Role::System, tools),
        user("Query: History:\nUSER: Hi")
    ]));
}

#[test]
fn b03_a_question_is_not_a_side_job() {
    let quoted = "Why does Open WebUI put the chat into <chat_history> tags?";
    let json = "What is wrong with {\"title\": \"x\"} as JSON?";
    for text in [
        "Is tea good?",
        "Suggest a title for my book about tea.",
        quoted,
        json,
        "### Task:\nIs tea good?",
    ] {
        assert!(!is_side_job(&[user(text)]), "{text}");
    }
    // Asked on in a chat, it is a question of the user.
    let title = instructions().remove(0);
    let asked_on = [user("Hi"), turn(Role::Assistant, "Hello"), user(&title)];
    assert!(!is_side_job(&asked_on));
    assert!(!is_side_job(&[]));
}
