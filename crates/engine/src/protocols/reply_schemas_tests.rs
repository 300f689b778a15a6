//! Checks that requests to models contain no requirement numbers of ours.

use std::path::{Path, PathBuf};

use super::{councils, dialectic, forecast, modes, panel};
use crate::model::Ability;
use crate::reply::{Refinement, Reply, schema_for};

fn schema<T: Reply>() -> (&'static str, String) {
    let schema = schema_for::<T>(&Refinement::default(), Ability::Full);
    (T::NAME, serde_json::to_string(&**schema.json).unwrap())
}

fn schemas() -> Vec<(&'static str, String)> {
    vec![
        schema::<dialectic::Opening>(),
        schema::<dialectic::Revision>(),
        schema::<dialectic::Critique>(),
        schema::<dialectic::Review>(),
        schema::<dialectic::Synthesis>(),
        schema::<dialectic::Marking>(),
        schema::<councils::Evaluation>(),
        schema::<councils::Revision>(),
        schema::<councils::Narrative>(),
        schema::<councils::Response>(),
        schema::<councils::Critique>(),
        schema::<councils::Synthesis>(),
        schema::<forecast::Argument>(),
        schema::<forecast::Scoring>(),
        schema::<forecast::Synthesis>(),
        schema::<modes::Contribution>(),
        schema::<modes::Ballot>(),
        schema::<modes::Conclusion>(),
        schema::<modes::Evaluation>(),
        schema::<panel::Answer>(),
        schema::<panel::RankedAnswers>(),
        schema::<panel::Conclusion>(),
    ]
}

/// Finds `M-07` as a word of its own.
fn requirement_number(text: &str) -> Option<&str> {
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words.find(|word| {
        let bytes = word.as_bytes();
        matches!(bytes, [b'A'..=b'Z', b'-', b'0'..=b'9', b'0'..=b'9'])
    })
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let nested = paths.flat_map(|path| {
        if path.is_dir() {
            files(&path)
        } else {
            vec![path]
        }
    });
    nested.collect()
}

#[test]
fn m16_no_requirement_number_is_sent_to_models() {
    assert_eq!(requirement_number("Dissent (M-07)."), Some("M-07"));
    assert_eq!(requirement_number("COVID-19, M-7, A-100, 2-10"), None);
    for (name, schema) in schemas() {
        assert_eq!(requirement_number(&schema), None, "in the schema of {name}");
    }
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in ["prompts", "modes", "casts", "templates"] {
        for file in files(&crate_folder.join(folder)) {
            let text = std::fs::read_to_string(&file).unwrap();
            assert_eq!(requirement_number(&text), None, "in {}", file.display());
        }
    }
}

#[test]
fn every_reply_type_is_in_the_list() {
    let sources = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/protocols"));
    let types = sources
        .iter()
        .filter(|file| file.file_name().is_some_and(|name| name == "replies.rs"))
        .map(|file| {
            std::fs::read_to_string(file)
                .unwrap()
                .matches("\nimpl Reply for ")
                .count()
        });
    assert_eq!(schemas().len(), types.sum::<usize>());
}
