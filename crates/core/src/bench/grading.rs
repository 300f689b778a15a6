//! Finding an answer in a reply, and comparing it with the right one.
//!
//! In this order: a typed answer as it is; for a choice the letter by a cascade of usual forms; for a number the last one that is
//! marked, otherwise the last one; for a text what is marked as the answer. Everything without an answer counts as wrong, and is
//! counted.

use super::arms::{Outcome, Spent};
use super::equal_budget::vote_of_samples;
use super::record::forecast;
use crate::spread::mean;
use crate::wording::words;

/// The relative tolerance of numbers.
pub const TOLERANCE: f64 = 1e-6;
/// Marks of an answer in running text; the last one counts.
const MARKS: [&str; 3] = ["answer is", "answer:", "position:"];

/// How the answers to a question are compared.
#[derive(Debug, Clone, PartialEq)]
pub enum Key {
    /// The place of the right option, from 0, and all options.
    Choice { right: usize, options: Vec<String> },
    /// Equal within this share of the right number.
    Number { right: f64, tolerance: f64 },
    /// Any of these texts, in their normal form.
    Text(Vec<String>),
    /// The answer is the probability of yes; the outcome is known.
    Probability { happened: bool },
    /// A judge grades the answer by these requirements, and by an answer that meets them.
    Rubric {
        rubric: String,
        reference: Option<String>,
    },
}

impl Key {
    /// The answer in a reply, in a form in which equal answers are equal; `None` if none is found. `typed` is a field of the reply
    /// for the answer alone.
    pub fn extract(&self, typed: Option<&str>, text: &str) -> Option<String> {
        let plain = text.replace(['*', '`'], "");
        match self {
            Self::Choice { options, .. } => typed
                .and_then(|typed| option(typed, options))
                .or_else(|| choice(&plain, options.len()).map(letter))
                .or_else(|| marked(&plain).and_then(|text| option(text, options))),
            Self::Number { .. } => typed
                .and_then(number)
                .or_else(|| numeric(&plain))
                .map(|value| value.to_string()),
            Self::Text(_) => typed
                .and_then(canonical)
                .or_else(|| marked(&plain).and_then(canonical))
                .or_else(|| canonical(text)),
            Self::Probability { .. } => typed
                .and_then(probability)
                .or_else(|| marked(&plain).and_then(probability))
                .or_else(|| plain.lines().rev().find_map(probability))
                .map(|value| value.to_string()),
            Self::Rubric { .. } => {
                let whole = text.trim();
                (!whole.is_empty()).then(|| whole.to_owned())
            }
        }
    }

    /// What an extracted answer scores.
    pub fn outcome(&self, answer: Option<&str>, spent: Spent) -> Outcome {
        if let Self::Probability { happened } = self {
            let probability = answer.and_then(|answer| answer.parse().ok());
            return forecast(probability, u32::from(*happened), spent);
        }
        Outcome {
            credit: f64::from(u8::from(answer.is_some_and(|answer| self.is_right(answer)))),
            is_answered: answer.is_some(),
            brier: None,
            log: None,
            spent,
        }
    }

    /// What several answers score together: the vote of `k` of them over all ways to draw them, the mean of the first `k`
    /// probabilities. `None` if there are fewer than `k`.
    pub fn together(&self, k: usize, answers: &[Option<String>], spent: Spent) -> Option<Outcome> {
        if let Self::Probability { .. } = self {
            let first = answers.get(..k).filter(|first| !first.is_empty())?;
            let known = first
                .iter()
                .flatten()
                .filter_map(|answer| answer.parse().ok());
            let centre = mean(&known.collect::<Vec<f64>>());
            return Some(self.outcome(centre.map(|p| p.to_string()).as_deref(), spent));
        }
        let credit = vote_of_samples(k, answers, |answer| self.is_right(answer))?;
        Some(Outcome {
            credit,
            is_answered: answers.iter().any(Option::is_some),
            brier: None,
            log: None,
            spent,
        })
    }

    /// Whether an extracted answer is right.
    pub fn is_right(&self, answer: &str) -> bool {
        match self {
            Self::Choice { right, .. } => answer == letter(*right),
            Self::Number { right, tolerance } => answer
                .parse::<f64>()
                .is_ok_and(|value| (value - right).abs() <= tolerance * right.abs().max(1e-12)),
            Self::Text(all) => all
                .iter()
                .any(|one| canonical(one).as_deref() == Some(answer)),
            Self::Probability { happened } => answer
                .parse::<f64>()
                .is_ok_and(|p| if *happened { p > 0.5 } else { p < 0.5 }),
            Self::Rubric { .. } => false,
        }
    }
}

/// The probability of yes in a short text: `62%`, `0.62`, `Yes: 62%`, `No: 38%`.
fn probability(text: &str) -> Option<f64> {
    let found = text
        .split(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | '%')))
        .filter_map(|part| {
            let part = part.trim_matches(['.', ',']);
            let value = number(part)?;
            let is_share = part.contains('%') || value > 1.0;
            Some(if is_share { value / 100.0 } else { value })
        })
        .find(|value| (0.0..=1.0).contains(value))?;
    let is_of_no = words(text).next().as_deref() == Some("no");
    Some(if is_of_no { 1.0 - found } else { found })
}

/// The letter of an option: A for the first.
pub fn letter(place: usize) -> String {
    let offset = u8::try_from(place % 26).unwrap_or_default();
    char::from(b'A' + offset).to_string()
}

/// The option that a short text names: by its letter or by its words.
fn option(text: &str, options: &[String]) -> Option<String> {
    let own = canonical(text)?;
    let by_words = options
        .iter()
        .position(|option| canonical(option).as_deref() == Some(own.as_str()));
    let by_letter = (0..options.len()).find(|place| letter(*place) == own);
    let leading = text.trim().trim_start_matches('(');
    let by_form = leading_letter(leading, options.len());
    by_letter.or(by_words).or(by_form).map(letter)
}

/// The place of a letter at the beginning that is followed by `)`, `.` or `:`.
fn leading_letter(text: &str, options: usize) -> Option<usize> {
    let mut chars = text.chars();
    let place = place_of(chars.next()?, options)?;
    matches!(chars.next(), Some(')' | '.' | ':')).then_some(place)
}

fn place_of(letter: char, options: usize) -> Option<usize> {
    let place = u32::from(letter).checked_sub(u32::from('A'))?;
    usize::try_from(place).ok().filter(|place| *place < options)
}

/// The cascade for a choice: the last `(X)`, the last `\boxed{X}`, "answer is X", a line that begins with a letter, `X)`.
fn choice(text: &str, options: usize) -> Option<usize> {
    let between = |open: &str, close: char| {
        let mut found = None;
        for (at, _) in text.match_indices(open) {
            let mut chars = text[at + open.len()..].chars();
            if let (Some(own), Some(end)) = (chars.next(), chars.next())
                && end == close
                && let Some(place) = place_of(own, options)
            {
                found = Some(place);
            }
        }
        found
    };
    let alone = |text: &str| {
        let mut chars = text.trim_start().trim_start_matches('(').chars();
        let place = place_of(chars.next()?, options)?;
        let follows_word = chars.next().is_some_and(char::is_alphanumeric);
        (!follows_word).then_some(place)
    };
    let by_line = || {
        let lines = text.lines().rev();
        lines.map(str::trim).find_map(|line| match line.len() {
            1 => place_of(line.chars().next()?, options),
            _ => leading_letter(line, options),
        })
    };
    between("(", ')')
        .or_else(|| between("\\boxed{", '}'))
        .or_else(|| marked(text).and_then(alone))
        .or_else(by_line)
        .or_else(|| {
            let words = text.split_whitespace().rev();
            words
                .filter(|word| word.len() == 2)
                .find_map(|word| leading_letter(word, options))
        })
}

/// The text after the last mark of an answer, up to the end of its line.
fn marked(text: &str) -> Option<&str> {
    let lower = text.to_ascii_lowercase();
    let at = MARKS
        .iter()
        .filter_map(|mark| Some(lower.rfind(mark)? + mark.len()))
        .max()?;
    let rest = text.get(at..)?.trim_start_matches([' ', ':']);
    let line = rest.lines().next()?.trim();
    (!line.is_empty()).then_some(line)
}

/// The last boxed number, otherwise the last after `####` or another mark, otherwise the last number.
fn numeric(text: &str) -> Option<f64> {
    let boxed = text.rfind("\\boxed{").and_then(|at| {
        let inner = text[at..].split(['{', '}']).nth(1)?;
        last_number(inner)
    });
    let hashed = || text.rfind("####").and_then(|at| first_number(&text[at..]));
    boxed
        .or_else(hashed)
        .or_else(|| marked(text).and_then(first_number))
        .or_else(|| last_number(text))
}

fn numbers(text: &str) -> impl DoubleEndedIterator<Item = f64> + '_ {
    text.split(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '+')))
        .filter_map(|part| number(part.trim_matches(['.', ',', '+'])))
}

fn first_number(text: &str) -> Option<f64> {
    numbers(text).next()
}

fn last_number(text: &str) -> Option<f64> {
    numbers(text).next_back()
}

const ARTICLES: [&str; 3] = ["a", "an", "the"];

/// The normal form of an answer: a choice as its letter, a number as its value, a text without case, articles and punctuation.
/// `None` if nothing is left.
pub fn canonical(answer: &str) -> Option<String> {
    let text = answer.trim();
    let bare = text.trim_matches(|c: char| "()[]{}*.:$ ".contains(c));
    let mut letters = bare.chars();
    if let (Some(letter), None) = (letters.next(), letters.next())
        && letter.is_ascii_alphabetic()
    {
        return Some(letter.to_ascii_uppercase().to_string());
    }
    if let Some(number) = number(text) {
        return Some(number.to_string());
    }
    let words: Vec<String> = words(text).collect();
    let kept = words
        .iter()
        .filter(|word| !ARTICLES.contains(&word.as_str()));
    let kept: Vec<&str> = kept.map(String::as_str).collect();
    (!kept.is_empty()).then(|| kept.join(" "))
}

/// A decimal number without separators, currency and percent signs.
pub fn number(text: &str) -> Option<f64> {
    let bare: String = text
        .trim()
        .trim_end_matches('.')
        .chars()
        .filter(|c| !matches!(c, ',' | '$' | '€' | '£' | '%' | ' ' | '\u{a0}'))
        .collect();
    // Names such as "nan" and "infinity" are numbers to the parser only.
    let starts = bare.trim_start_matches(['-', '+']);
    starts
        .starts_with(|c: char| c.is_ascii_digit() || c == '.')
        .then(|| bare.parse::<f64>().ok())
        .flatten()
        // −0 is 0.
        .map(|value| value + 0.0)
}

#[cfg(test)]
#[path = "grading_tests.rs"]
mod tests;
