use roundtable_engine::envelope::Metadata;

use super::*;

fn event(name: &str, step: Option<&str>, content: &str) -> Envelope {
    Envelope {
        kind: "debate_event",
        event: name.into(),
        round: 1,
        content: content.into(),
        metadata: Metadata {
            model: step.map(|_| "lab:x".into()),
            role: step
                .and_then(|step| step.split('/').nth(1))
                .map(str::to_owned),
            tokens_so_far: 0,
            step: step.map(str::to_owned),
            rescued_by: None,
            state: None,
            reason: None,
            debate_id: None,
        },
    }
}

fn told(events: &[(&str, Option<&str>, &str)]) -> Vec<String> {
    let mut narration = Narration::new("synthesis");
    let told = events
        .iter()
        .map(|(name, step, content)| narration.tell(&event(name, *step, content)));
    told.collect()
}

/// Two seats speak at once; a reader gets one after the other, and the first one word by word.
#[test]
fn b03_parallel_turns_are_told_one_after_the_other() {
    let (a, b) = (Some("r1/ada/answer"), Some("r1/bob/answer"));
    let told = told(&[
        ("round_start", None, "answers"),
        ("ada_start", a, ""),
        ("bob_start", b, ""),
        ("bob_chunk", b, "No"),
        ("ada_chunk", a, "Y"),
        ("ada_chunk", a, "es"),
        ("bob_chunk", b, "."),
        ("ada_end", a, ""),
        ("bob_end", b, ""),
    ]);
    let expected = [
        "## Round 1: answers\n\n",
        "**Ada** (lab:x): ",
        "",
        "",
        "Y",
        "es",
        "",
        "\n\n**Bob** (lab:x): No.",
        "\n\n",
    ];
    assert_eq!(told, expected);
}

#[test]
fn b03_a_restart_and_an_absence_are_told() {
    let a = Some("r1/ada/answer");
    let told = told(&[
        ("ada_start", a, ""),
        ("ada_restart", a, "rate limited"),
        ("ada_chunk", a, "Y"),
        ("ada_restart", a, "rate limited"),
        ("ada_absent", a, "no answer"),
    ]);
    let expected = [
        "**Ada** (lab:x): ",
        "",
        "Y",
        "\n\n(starts again: rate limited)\n\n",
        "(absent: no answer)\n\n",
    ];
    assert_eq!(told, expected);
}

/// The words of the answer are the content; the end of a debate releases everything that waits.
#[test]
fn b03_the_answer_is_not_told() {
    let chair = Some("synthesis/chair/conclude");
    let told = told(&[
        ("ada_start", Some("r1/ada/answer"), ""),
        ("synthesis_start", chair, ""),
        ("synthesis_chunk", chair, "The answer"),
        ("complete", None, "The answer"),
    ]);
    assert_eq!(told[3], "**Chair** writes the answer.\n\n");
    assert!(!told.concat().contains("The answer"));
}
