//! The words of `words.txt`, by stem.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::reading::stem;

/// A pair of opposites, or the attitude for or against something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Axis {
    Attitude,
    /// By its line.
    Opposites(usize),
}

#[derive(Debug, Default)]
pub(super) struct Lexicon {
    /// The axes of a word, with its side: true is the first one.
    pub(super) axes: HashMap<String, Vec<(Axis, bool)>>,
    pub(super) negations: HashSet<String>,
    pub(super) nobody: HashSet<String>,
    pub(super) clauses: HashSet<String>,
    pub(super) comparisons: HashSet<String>,
    pub(super) skipped: HashSet<String>,
    /// Longest first.
    pub(super) phrases: Vec<(Vec<String>, Option<String>)>,
    irregular: HashMap<String, String>,
}

impl Lexicon {
    pub(super) fn built_in() -> &'static Self {
        static LEXICON: LazyLock<Lexicon> =
            LazyLock::new(|| Lexicon::parse(include_str!("words.txt")));
        &LEXICON
    }

    /// The base form by which the word is looked up and compared.
    pub(super) fn base(&self, word: &str) -> String {
        match self.irregular.get(word) {
            Some(base) => base.clone(),
            None => stem(word),
        }
    }

    fn parse(text: &str) -> Self {
        let mut lexicon = Self::default();
        let mut section = "";
        let lines = text.lines().map(str::trim);
        for (number, line) in lines.enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(name) = line.strip_prefix('[') {
                section = name.trim_end_matches(']');
                continue;
            }
            let stems: Vec<String> = line
                .split_whitespace()
                .map(|word| lexicon.base(word))
                .collect();
            match section {
                "attitude" => lexicon.add_axis(Axis::Attitude, line),
                "opposites" => lexicon.add_axis(Axis::Opposites(number), line),
                "negations" => lexicon.negations.extend(stems),
                "nobody" => lexicon.nobody.extend(stems),
                "clauses" => lexicon.clauses.extend(stems),
                "comparisons" => lexicon.comparisons.extend(stems),
                "skipped" => lexicon.skipped.extend(stems),
                "phrases" => lexicon.add_phrase(line),
                "irregular" => {
                    let pairs = line
                        .split_whitespace()
                        .filter_map(|pair| pair.split_once('='));
                    lexicon
                        .irregular
                        .extend(pairs.map(|(form, base)| (form.to_owned(), stem(base))));
                }
                _ => {}
            }
        }
        lexicon
            .phrases
            .sort_by_key(|(words, _)| std::cmp::Reverse(words.len()));
        lexicon
    }

    fn add_axis(&mut self, axis: Axis, line: &str) {
        let Some((first, second)) = line.split_once('|') else {
            return;
        };
        for (side, words) in [(true, first), (false, second)] {
            for word in words.split_whitespace() {
                self.axes.entry(stem(word)).or_default().push((axis, side));
            }
        }
    }

    fn add_phrase(&mut self, line: &str) {
        if let Some((words, meaning)) = line.split_once('=') {
            let meaning = meaning.trim();
            self.phrases.push((
                words
                    .split_whitespace()
                    .map(|word| self.base(word))
                    .collect(),
                (!meaning.is_empty()).then(|| stem(meaning)),
            ));
        }
    }
}
