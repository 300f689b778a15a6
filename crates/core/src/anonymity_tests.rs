use proptest::prelude::*;

use super::*;

fn names() -> Names {
    let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Names {
        seats: list(&["builder", "auditor", "Systems ecologist"]),
        models: list(&["lab:special", "special", "ollama:qwen2.5:7b"]),
    }
}

fn masked(text: &str) -> String {
    mask_self_identification(text, &names())
}

/// M-18: who says by which model it runs, or which seat it has, is masked.
#[test]
fn m18_self_identification_is_masked() {
    for (said, read) in [
        (
            "I am GPT-4 by OpenAI, and I agree.",
            "I am a participant, and I agree.",
        ),
        ("I'm Claude 3.5 Sonnet by Anthropic.", "I'm a participant."),
        ("As Claude, I think so.", "As a participant, I think so."),
        ("as ChatGPT my view is no", "as a participant my view is no"),
        ("I run on lab:special.", "I run on a model."),
        ("I run on special.", "I run on a model."),
        ("i am gpt-4.", "i am a participant."),
        ("I run on ollama:qwen2.5:7b here.", "I run on a model here."),
        (
            "I am a large language model trained by Google, so no.",
            "I am a participant, so no.",
        ),
        (
            "Well, I was trained by OpenAI.",
            "Well, I was trained by a company.",
        ),
        ("I am powered by Llama-3.1-70B.", "I am powered by a model."),
        (
            "As the auditor I see no risk.",
            "As a participant I see no risk.",
        ),
        (
            "As the systems ecologist, I object.",
            "As a participant, I object.",
        ),
        ("I, the BUILDER, say so.", "I, a participant, say so."),
        (
            "I am the auditor of this panel.",
            "I am a participant of this panel.",
        ),
        ("I am the auditor.", "I am a participant."),
        ("Ich bin Claude.", "Ich bin a participant."),
        ("I am *GPT-4o*.", "I am *a participant*."),
        (
            "First. I am Gemini. Second.",
            "First. I am a participant. Second.",
        ),
    ] {
        assert_eq!(masked(said), read);
    }
}

/// M-18: names in content stay, those of seats and of vendors.
#[test]
fn m18_content_is_not_changed() {
    for text in [
        "OpenAI's prices rose, and I am against OpenAI's plan.",
        "Auditor General, Report on the Operator",
        "The operator of the ferry hires 8 builders and one auditor.",
        "As auditor fees rise, we pay more.",
        "As the auditor reported, costs rose.",
        "As Claude Shannon showed, I am right.",
        "I am Claude Shannon's reader.",
        "I am the builder type of person",
        "I am certain that GPT-4 by OpenAI is cheaper.",
        "I am special.txt reading",
        "I am a copilot by training.",
        "As Google said, prices fall.",
        "I, for one, trust the auditor.",
        "I am the auditor's friend.",
        "A participant: as the builder wrote, I agree.",
        "I am a special case; the special line runs.",
        "Said I am.",
        "",
    ] {
        assert_eq!(masked(text), text);
    }
}

proptest! {
    /// Any text can be masked; without a first-person phrase nothing changes.
    #[test]
    fn m18_any_text_can_be_masked(text in "\\PC{0,60}") {
        masked(&text);
    }

    #[test]
    fn m18_nothing_changes_without_a_first_person(text in "(the |auditor |builder |GPT-4 |OpenAI |costs |\\. |rises |, ){0,12}") {
        prop_assert_eq!(masked(&text), text);
    }
}
