//! The phrases of simulated texts (`data/simulated.toml`).

use std::collections::BTreeMap;
use std::sync::OnceLock;

use roundtable_core::random::SplitMix64;
use serde::Deserialize;

const BUILT_IN: &str = include_str!("../../../data/simulated.toml");

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Phrases {
    topics: Vec<String>,
    answers: Vec<String>,
    default: Vec<String>,
    sentences: Vec<String>,
    texts: BTreeMap<String, Vec<String>>,
}

fn phrases() -> &'static Phrases {
    static PHRASES: OnceLock<Phrases> = OnceLock::new();
    // A test parses the file.
    PHRASES.get_or_init(|| toml::from_str(BUILT_IN).unwrap_or_default())
}

/// The answers of a question that names none.
pub(super) fn general_answers() -> &'static [String] {
    &phrases().answers
}

/// The subject of a text.
pub(super) struct Subject<'a> {
    pub answer: &'a str,
    pub other: &'a str,
    /// The title of the seat, in lower case.
    pub seat: &'a str,
    pub round: usize,
}

/// The text of a property.
pub(super) fn of_property(name: &str, subject: &Subject<'_>, random: &mut SplitMix64) -> String {
    let phrases = phrases();
    let variants = phrases.texts.get(name).unwrap_or(&phrases.default);
    filled(variants, subject, random)
}

/// A paragraph of an argument; every sentence has a label.
pub(super) fn paragraph(subject: &Subject<'_>, random: &mut SplitMix64) -> String {
    let sentences: Vec<String> = (0..2)
        .map(|_| filled(&phrases().sentences, subject, random))
        .collect();
    sentences.join(" ")
}

fn filled(variants: &[String], subject: &Subject<'_>, random: &mut SplitMix64) -> String {
    let topics = &phrases().topics;
    let draw = |list: &[String], random: &mut SplitMix64| {
        let drawn = list.get(random.below(list.len().max(1)));
        drawn.cloned().unwrap_or_default()
    };
    let variant = draw(variants, random);
    let topic = draw(topics, random);
    let others: Vec<String> = topics
        .iter()
        .filter(|one| **one != topic)
        .cloned()
        .collect();
    let second = draw(&others, random);
    let number = 100 + random.below(900);
    variant
        .replace("{topic}", &topic)
        .replace("{second}", &second)
        .replace("{number}", &number.to_string())
        .replace("{round}", &subject.round.to_string())
        .replace("{seat}", subject.seat)
        .replace("{other}", subject.other)
        .replace("{answer}", subject.answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b17_the_phrases_parse_and_are_filled() {
        let file: Phrases = toml::from_str(BUILT_IN).unwrap();
        assert!(file.answers.len() >= 2 && file.topics.len() >= 10);
        let subject = Subject {
            answer: "Yes",
            other: "No",
            seat: "analyst",
            round: 2,
        };
        let mut random = SplitMix64::new(1);
        for name in file.texts.keys().map(String::as_str).chain(["unknown"]) {
            let text = of_property(name, &subject, &mut random);
            assert!(!text.contains(['{', '}']), "{name}: {text}");
        }
    }
}
