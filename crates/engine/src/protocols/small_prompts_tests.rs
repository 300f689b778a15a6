//! The prompts for small models: which of them is used, how long it is, and that its example is a valid reply.

use std::fs;

use minijinja::Value as Values;
use minijinja::value::Serde;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::{dialectic, forecast, modes, panel};
use crate::data::Data;
use crate::model::Ability;
use crate::prompt::{Prompt, Prompts};
use crate::tokens;

/// The most tokens of a prompt for a small model, apart from the question.
const MAX_TOKENS: u64 = 1500;

const PROMPTS: [&str; 15] = [
    "dialectic/propose",
    "dialectic/criticise",
    "dialectic/revise",
    "dialectic/review",
    "dialectic/synthesise",
    "dialectic/mark",
    "panel/answer",
    "panel/rank",
    "panel/conclude",
    "modes/ballot",
    "modes/speak",
    "modes/conclude",
    "forecast/argue",
    "forecast/score",
    "forecast/synthesise",
];

/// A context with the longest texts that a small model is allowed to write.
fn longest(question: &str, round: u32) -> Values {
    let words = |characters: usize| "longish ".repeat(characters / 8);
    let (main, other) = (words(730), words(160));
    let turn = format!("{main}\n\n- {other}\n- {other}");
    let critique = format!("{main} {}", other.repeat(4));
    let issue =
        json!({ "id": "S1", "severity": "major", "problem": other, "status": "unresolved" });
    let answers: Vec<_> = ["A", "B", "C", "D"]
        .map(|label| json!({ "label": label, "text": turn, "position": "Yes", "confidence": 0.5, "score": 1.0 }))
        .to_vec();
    let shown = json!({ "by": "sentinel, round 1", "text": "longish ".repeat(48) });
    let mode = json!({ "role": { "identity": "You are on a panel.", "mission": other }, "estimates": "none" });
    Values::from(Serde(json!({
        "question": question, "quote_tag": "quote-abcd", "small": true, "person": [], "templates": [], "round": round,
        "seat": { "persona": "You are careful. ".repeat(12), "title": "Sentinel" },
        "me": { "title": "Sentinel", "variant": null }, "mode": mode, "kind": "ordinary", "mine": other, "focus": null,
        "sources": { "names": [], "passages": [] }, "enhanced": null, "current": [], "decided": null,
        "proposal": turn, "previous_answer": main, "answer": main, "answers": answers, "labels": ["A", "B", "C", "D"],
        "issues": [issue, issue, issue], "unanswered": [], "open_issues": [issue],
        "history": [
            { "round": 1, "seat": "proposer", "text": turn }, { "round": 1, "seat": "skeptic", "text": critique },
            { "round": 2, "seat": "proposer", "text": turn }, { "round": 2, "seat": "skeptic", "text": critique },
        ],
        "context": { "state": "C1 longish ".repeat(100), "summaries": [], "previous": [shown, shown, shown, shown] },
    })))
}

/// The same for the prompts of a forecast, whose `context` has another meaning.
fn longest_forecast(question: &str, round: u32) -> Values {
    let words = |characters: usize| "longish ".repeat(characters / 8);
    let closing = |role: &str| json!({ "by": role, "text": words(730) });
    let phase = ["opening", "rebuttal", "closing"][round.clamp(1, 3) as usize - 1];
    let bands = ["weak", "moderate", "strong", "exceptional"].map(|band| band.repeat(4));
    let criterion = |name: &str| json!({ "name": name, "bands": bands });
    let rubric = ["logical_strength", "evidence_quality", "novelty"].map(criterion);
    // Only the judge's closing, which is in the last round, has the others' arguments.
    let latest = if round == 3 {
        vec![closing("optimist"); 4]
    } else {
        Vec::new()
    };
    let points = vec![words(160); 5];
    let arguments = vec![closing("optimist"); 6];
    Values::from(Serde(json!({
        "question": question, "quote_tag": "quote-abcd", "small": true, "person": [], "round": round, "rounds": 3,
        "seat": { "persona": "You are careful. ".repeat(12), "title": "Sentinel" },
        "today": "2026-11-18", "deadline": "2027-12-31", "days_left": 408, "phase": phase, "precedents": round < 3,
        "outcomes": [{ "id": "yes", "label": "Yes", "description": "" }, { "id": "no", "label": "No", "description": words(80) }],
        "facts": [words(240), words(240)], "facts_left_out": 2, "context": null,
        "points": points, "example": "optimist-1", "latest": latest,
        "last_forecast": "yes 40%, no 60%", "is_judge": true, "words": 180, "gist_words": 12,
        "weak": { "score": "0.10", "reason": words(160), "text": words(730) },
        "rubric": rubric, "supports": "yes",
        "argument": words(730), "arguments": arguments, "forecast": "yes 40%, no 60%",
    })))
}

fn longest_of(name: &str, question: &str, round: u32) -> Values {
    if name.starts_with("forecast/") {
        longest_forecast(question, round)
    } else {
        longest(question, round)
    }
}

fn text(prompt: &Prompt) -> String {
    let example = prompt.example.as_ref().unwrap();
    let parts = [
        &prompt.system,
        &example.asked,
        &example.replied,
        &prompt.shared,
        &prompt.own,
    ];
    parts.map(String::as_str).join("\n")
}

/// C-13: however long the replies of a debate are, a small model reads a short prompt; the question is in it once.
#[test]
fn c13_prompts_for_small_models_are_short_and_ask_the_question_once() {
    let prompts = Prompts::load(&Data::built_in()).unwrap();
    let question = "Should we move? ".repeat(500).trim().to_owned();
    for (name, round) in PROMPTS
        .into_iter()
        .flat_map(|name| [(name, 1), (name, 2), (name, 3)])
    {
        let context = longest_of(name, &question, round);
        let prompt = text(&prompts.render(name, Ability::Small, &context).unwrap());
        assert_eq!(prompt.matches(&question).count(), 1, "{name}");
        let count = tokens::count(&prompt.replace(&question, ""));
        assert!(count <= MAX_TOKENS, "{name} has {count} tokens:\n{prompt}");
    }
}

fn check<T: DeserializeOwned>(reply: &str) {
    assert!(serde_json::from_str::<T>(reply).is_ok(), "{reply}");
    // One line with the separators of the embedded model's grammar.
    assert!(
        !reply.contains(['\n', '\t']) && reply.starts_with("{\""),
        "{reply}"
    );
}

/// C-05: an example that breaks the rules of the reply would teach the model to break them.
#[test]
fn c05_the_example_of_every_prompt_is_a_valid_reply() {
    let prompts = Prompts::load(&Data::built_in()).unwrap();
    let example = |name: &str, round| {
        let context = longest_of(name, "Why?", round);
        let prompt = prompts.render(name, Ability::Small, &context);
        prompt.unwrap().example.unwrap().replied
    };
    check::<dialectic::Opening>(&example("dialectic/propose", 1));
    check::<dialectic::Critique>(&example("dialectic/criticise", 1));
    check::<dialectic::Revision>(&example("dialectic/revise", 2));
    check::<dialectic::Review>(&example("dialectic/review", 2));
    check::<dialectic::Synthesis>(&example("dialectic/synthesise", 2));
    check::<dialectic::Marking>(&example("dialectic/mark", 2));
    check::<panel::Answer>(&example("panel/answer", 1));
    check::<panel::RankedAnswers>(&example("panel/rank", 2));
    check::<panel::Conclusion>(&example("panel/conclude", 2));
    check::<modes::Ballot>(&example("modes/ballot", 0));
    check::<modes::Contribution>(&example("modes/speak", 1));
    check::<modes::Contribution>(&example("modes/speak", 2));
    check::<modes::Conclusion>(&example("modes/conclude", 2));
    for round in 1..=3 {
        check::<forecast::Argument>(&example("forecast/argue", round));
    }
    check::<forecast::Scoring>(&example("forecast/score", 1));
    check::<forecast::Synthesis>(&example("forecast/synthesise", 1));
}

/// Prompts of a user's folder with these files in `prompts/dialectic`.
fn with_files(files: &[(&str, &str)]) -> Result<Prompts, String> {
    let folder = tempfile::tempdir().unwrap();
    let prompts = folder.path().join("prompts/dialectic");
    fs::create_dir_all(&prompts).unwrap();
    for (name, content) in files {
        fs::write(prompts.join(name), content).unwrap();
    }
    Prompts::load(&Data::with_folder(folder.path().to_owned())).map_err(|error| error.to_string())
}

/// C-02: a user's prompt is for all models, and one for small models only for them.
#[test]
fn c02_small_models_get_their_own_prompt_if_there_is_one() {
    let system = |prompts: &Prompts, ability| {
        let prompt = prompts.render("dialectic/mark", ability, &longest("Why?", 1));
        prompt
            .map(|prompt| (prompt.system, prompt.example.is_some()))
            .unwrap()
    };
    let plain = "=== system\nPlain.\n=== shared\n=== own\n";
    let small = "=== system\nSmall.\n=== example\nWhy?\n=== reply\n{}\n=== shared\n=== own\n";

    let built_in = Prompts::load(&Data::built_in()).unwrap();
    assert!(system(&built_in, Ability::Small).1);
    assert!(!system(&built_in, Ability::Full).1);
    let own = with_files(&[("mark.md", plain)]).unwrap();
    for ability in [Ability::Small, Ability::Full] {
        assert_eq!(system(&own, ability), ("Plain.".into(), false));
    }
    let both = with_files(&[("mark.md", plain), ("mark-small.md", small)]).unwrap();
    assert_eq!(system(&both, Ability::Small), ("Small.".into(), true));
    assert_eq!(system(&both, Ability::Full), ("Plain.".into(), false));
    let only_small = with_files(&[("mark-small.md", small)]).unwrap();
    assert_eq!(system(&only_small, Ability::Small), ("Small.".into(), true));
    assert_eq!(
        system(&only_small, Ability::Full),
        system(&built_in, Ability::Full)
    );
}

/// A prompt without a variant for small models is used for them too.
#[test]
fn a_prompt_without_a_variant_is_for_all_models() {
    let prompts = Prompts::load(&Data::built_in()).unwrap();
    let context = Values::from(Serde(json!({
        "said": ["Yes"], "fault": "no JSON", "small": false, "quote_tag": "quote-abcd",
    })));
    let rendered = |ability| prompts.render("common/rescue", ability, &context).unwrap();
    assert_eq!(rendered(Ability::Small), rendered(Ability::Full));
}

/// C-02
#[test]
fn c02_half_an_example_is_reported() {
    let half = "=== system\na\n=== example\nWhy?\n=== shared\nb\n=== own\nc\n";
    let error = with_files(&[("mark-small.md", half)])
        .err()
        .unwrap_or_default();
    let expected = "mark-small.md:1: an example has the parts '=== example' and '=== reply'";
    assert!(error.contains(expected), "{error}");
    let error = with_files(&[("mark-small.md", "Just text.")])
        .err()
        .unwrap_or_default();
    assert!(
        error.contains("mark-small.md:1: missing part '=== system'"),
        "{error}"
    );
}
