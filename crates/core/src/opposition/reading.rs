//! Splits a text into clauses with their predicates and negated words.

use std::collections::BTreeSet;

use super::lexicon::{Axis, Lexicon};

/// The statement of a clause, by base forms of its words.
#[derive(Debug, Default)]
pub(super) struct Clause {
    /// Words that are on an axis.
    pub(super) predicates: Vec<Predicate>,
    /// The other content words, with whether they are negated.
    pub(super) words: Vec<(String, bool)>,
    /// The same words as a set.
    pub(super) topic: BTreeSet<String>,
    /// The words left and right of a comparison.
    pub(super) compared: Option<(String, String)>,
}

#[derive(Debug)]
pub(super) struct Predicate {
    pub(super) axis: Axis,
    /// Its side of the axis, after negation.
    pub(super) is_positive: bool,
    /// Whether its word is also on the attitude axis, which then judges it.
    pub(super) is_attitude: bool,
    /// The words of the noun phrase that it is said of; empty if there is none.
    pub(super) of: BTreeSet<String>,
}

impl Clause {
    pub(super) fn is_against(&self) -> bool {
        let mut attitudes = self.predicates.iter().filter(|p| p.axis == Axis::Attitude);
        attitudes.any(|p| !p.is_positive)
    }

    pub(super) fn has(&self, word: &str) -> bool {
        self.topic.contains(word)
    }
}

pub(super) fn clauses(text: &str, lexicon: &Lexicon) -> Vec<Clause> {
    let tokens = with_phrases(&tokens(text, lexicon), lexicon);
    let is_boundary = |token: &Token| match token {
        Token::Break => true,
        Token::Word(word) => lexicon.clauses.contains(word),
    };
    let mut clauses: Vec<Clause> = tokens
        .split(is_boundary)
        .filter(|words| !words.is_empty())
        .map(|words| read(words, lexicon))
        .collect();
    // "A second designer, not a second manager" says nothing about "second".
    let words = || clauses.iter().flat_map(|clause| clause.words.iter());
    let negated: BTreeSet<&String> = words()
        .filter(|(_, negated)| *negated)
        .map(|(w, _)| w)
        .collect();
    let plain: BTreeSet<&String> = words()
        .filter(|(_, negated)| !negated)
        .map(|(w, _)| w)
        .collect();
    let both: BTreeSet<String> = negated
        .intersection(&plain)
        .map(|word| (*word).clone())
        .collect();
    for clause in &mut clauses {
        clause.words.retain(|(word, _)| !both.contains(word));
    }
    clauses
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Word(String),
    Break,
}

impl Token {
    fn word(&self) -> &str {
        match self {
            Self::Word(word) => word,
            Self::Break => "",
        }
    }
}

fn tokens(text: &str, lexicon: &Lexicon) -> Vec<Token> {
    let text = text.to_lowercase().replace('’', "'");
    let text = text
        .replace("can't", "can not")
        .replace("cannot", "can not")
        .replace("won't", "will not")
        .replace("n't", " not");
    let mut tokens = Vec::new();
    let mut word = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let in_number = ",.".contains(letter)
            && word.ends_with(|c: char| c.is_ascii_digit())
            && letters.peek().is_some_and(char::is_ascii_digit);
        if letter.is_alphanumeric() || in_number {
            word.push(letter);
            continue;
        }
        if !word.is_empty() {
            tokens.push(Token::Word(lexicon.base(&word)));
            word.clear();
        }
        if ".,;:!?()".contains(letter) {
            tokens.push(Token::Break);
        }
    }
    if !word.is_empty() {
        tokens.push(Token::Word(lexicon.base(&word)));
    }
    tokens
}

fn with_phrases(tokens: &[Token], lexicon: &Lexicon) -> Vec<Token> {
    let mut rest = tokens;
    let mut read = Vec::new();
    while let Some((first, after)) = rest.split_first() {
        let phrase = lexicon.phrases.iter().find(|(words, _)| {
            let found = rest.get(..words.len());
            found.is_some_and(|found| found.iter().map(Token::word).eq(words))
        });
        if let Some((words, meaning)) = phrase {
            read.extend(meaning.clone().map(Token::Word));
            rest = &rest[words.len()..];
        } else {
            read.push(first.clone());
            rest = after;
        }
    }
    read
}

/// A word of a clause by its part in it.
#[derive(Debug)]
enum Part {
    Content {
        word: String,
        is_negated: bool,
    },
    /// An article or another word that does not end a noun phrase.
    Article,
    /// A word that may stand between a verb and its object: "agree with the plan".
    Link,
    Other,
}

fn read(tokens: &[Token], lexicon: &Lexicon) -> Clause {
    let words: Vec<&str> = tokens.iter().map(Token::word).collect();
    let mut parts: Vec<Part> = Vec::new();
    let mut is_negated = false;
    let mut comparison = None;
    for (index, word) in words.iter().copied().enumerate() {
        if lexicon.comparisons.contains(word) {
            comparison = comparison.or(Some(parts.len()));
        }
        // Alone it is an answer; before a word it negates it.
        let is_no = word == "no" && words.len() > 1;
        if lexicon.negations.contains(word) || is_no {
            is_negated = !is_negated;
        } else if lexicon.nobody.contains(word) {
            // "Pay nobody" and "nobody pays" both negate the verb.
            match parts.last_mut() {
                Some(Part::Content { is_negated, .. }) => *is_negated = !*is_negated,
                Some(Part::Article | Part::Link | Part::Other) | None => is_negated = !is_negated,
            }
        } else if lexicon.axes.contains_key(word) || !lexicon.skipped.contains(word) {
            parts.push(Part::Content {
                word: words[index].to_owned(),
                is_negated,
            });
            is_negated = false;
        } else {
            parts.push(match word {
                "a" | "an" | "th" | "the" | "thi" | "this" | "our" | "their" | "its" | "any" => {
                    Part::Article
                }
                "of" | "to" | "with" | "for" | "from" | "about" => Part::Link,
                _ => Part::Other,
            });
        }
    }
    clause_of(&parts, comparison, lexicon)
}

fn clause_of(parts: &[Part], comparison: Option<usize>, lexicon: &Lexicon) -> Clause {
    let mut clause = Clause::default();
    for (index, part) in parts.iter().enumerate() {
        let Part::Content { word, is_negated } = part else {
            continue;
        };
        let axes = axes_of(word, lexicon);
        for (axis, side) in &axes {
            clause.predicates.push(Predicate {
                axis: *axis,
                is_positive: *side != *is_negated,
                is_attitude: axes.iter().any(|(axis, _)| *axis == Axis::Attitude),
                of: phrase_of(parts, index),
            });
        }
        if axes.is_empty() {
            clause.words.push((word.clone(), *is_negated));
            clause.topic.insert(word.clone());
        }
    }
    clause.compared = comparison.and_then(|at| {
        let (left, right) = parts.split_at(at);
        let left = left.iter().rev().find_map(content)?;
        let mut right = right.iter().filter_map(content);
        let right = right.find(|word| !lexicon.comparisons.contains(*word))?;
        Some((left.to_owned(), right.to_owned()))
    });
    clause
}

fn content(part: &Part) -> Option<&str> {
    match part {
        Part::Content { word, .. } => Some(word),
        Part::Article | Part::Link | Part::Other => None,
    }
}

/// The axes of a word with its side; `unsafe` is on the other side of `safe`.
fn axes_of(word: &str, lexicon: &Lexicon) -> Vec<(Axis, bool)> {
    if let Some(axes) = lexicon.axes.get(word) {
        return axes.clone();
    }
    let base = without_prefix(word).and_then(|base| lexicon.axes.get(base));
    let sides = base.into_iter().flatten();
    sides.map(|(axis, side)| (*axis, !side)).collect()
}

/// The noun phrase after a predicate, its object; otherwise the one before it, its subject.
fn phrase_of(parts: &[Part], at: usize) -> BTreeSet<String> {
    let after = parts[at + 1..]
        .iter()
        .skip_while(|part| matches!(part, Part::Article | Part::Link));
    let object = phrase(after);
    if !object.is_empty() {
        return object;
    }
    let before = parts[..at].iter().rev();
    phrase(before.skip_while(|part| content(part).is_none()))
}

fn phrase<'a>(parts: impl Iterator<Item = &'a Part>) -> BTreeSet<String> {
    parts
        .take_while(|part| matches!(part, Part::Content { .. } | Part::Article))
        .filter_map(content)
        .map(str::to_owned)
        .collect()
}

/// `unfair` → `fair`. Whether the rest is a word is for the caller to know.
pub(super) fn without_prefix(word: &str) -> Option<&str> {
    const PREFIXES: [&str; 9] = ["un", "in", "im", "il", "ir", "dis", "de", "non", "mis"];
    const MIN_LETTERS: usize = 4;
    let rests = PREFIXES
        .iter()
        .filter_map(|prefix| word.strip_prefix(prefix));
    rests
        .filter(|rest| rest.len() >= MIN_LETTERS - 1)
        .max_by_key(|rest| rest.len())
}

/// A word without its inflection. Only meant for comparing: `raise`, `raises` and `raising` become `rais`.
pub(super) fn stem(word: &str) -> String {
    if !word.is_ascii() {
        return word.to_owned();
    }
    let long = |ending: &str, at_least: usize| {
        word.strip_suffix(ending).filter(|_| word.len() >= at_least)
    };
    let base = if let Some(base) = long("ies", 5).or_else(|| long("ied", 5)) {
        format!("{base}y")
    } else if let Some(base) =
        long("ing", 6).or_else(|| long("ed", 5).filter(|_| !word.ends_with("eed")))
    {
        undoubled(base).to_owned()
    } else if let Some(base) = long("s", 4).filter(|base| !base.ends_with(['s', 'u', 'i'])) {
        base.to_owned()
    } else {
        word.to_owned()
    };
    let base = base
        .strip_suffix('e')
        .filter(|base| base.len() > 2)
        .unwrap_or(&base);
    match base.strip_suffix("iz") {
        Some(head) if head.len() > 2 => format!("{head}is"),
        Some(_) | None => base.to_owned(),
    }
}

/// `stopp` → `stop`, but `sell` and `pass` stay.
fn undoubled(base: &str) -> &str {
    let mut last = base.chars().rev();
    match (last.next(), last.next()) {
        (Some(a), Some(b)) if a == b && !"lsz".contains(a) => &base[..base.len() - 1],
        _ => base,
    }
}
