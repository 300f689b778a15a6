//! Computes the statistics in one pass over the words, one over the characters and one through the compressor.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use unicode_segmentation::UnicodeSegmentation;

use super::vocabulary::{COMMON_ENGLISH, HEDGES, TRANSITION_PAIRS, TRANSITIONS, is_unspaced, mark};
use super::{Forensics, MIN_WORDS, Repeated, RepeatedNgrams, Statistics, Writing};
use crate::spread::{mean_and_variance, real};

/// Minimum share of letters in unspaced scripts for a text to be measured by characters.
const UNSPACED_SHARE: f64 = 0.3;
/// Minimum share of common English words for a text to count as English.
const ENGLISH_SHARE: f64 = 0.15;
const WINDOW: usize = 100;
/// Words with more characters are long words for LIX.
const LIX_LONG_WORD: usize = 6;
const MIN_PARAGRAPH_WORDS: usize = 20;
const MIN_PARAGRAPHS: usize = 3;
/// A fast level is enough, because the figure is only compared.
const COMPRESSION_LEVEL: u8 = 3;
const MAX_EXAMPLES: usize = 3;

#[derive(Default)]
struct Words {
    /// Each word as an index into `forms`.
    sequence: Vec<u32>,
    forms: Vec<String>,
    counts: Vec<u32>,
    sentence_lengths: Vec<f64>,
    levels: Vec<f64>,
    paragraphs: usize,
}

#[derive(Default)]
struct Characters {
    letters: usize,
    unspaced: usize,
    marks: BTreeMap<&'static str, usize>,
    entropy: f64,
}

pub(super) fn measure(text: &str) -> Forensics {
    let characters = Characters::of(text);
    let words = Words::of(text);
    if words.sequence.len() < MIN_WORDS {
        return Forensics::TooLittle {
            words: words.sequence.len(),
        };
    }
    let writing = if ratio(characters.unspaced, characters.letters) >= UNSPACED_SHARE {
        Writing::Unspaced
    } else {
        Writing::Spaced
    };
    let count = words.sequence.len();
    let (mean, variance) = mean_and_variance(&words.sentence_lengths).unwrap_or_default();
    let english = (writing == Writing::Spaced && words.share_of(&COMMON_ENGLISH) >= ENGLISH_SHARE)
        .then_some(1000.0);
    let levels = (writing == Writing::Spaced && words.levels.len() >= MIN_PARAGRAPHS)
        .then(|| mean_and_variance(&words.levels).unwrap_or_default());
    let hapaxes = words.counts.iter().filter(|times| **times == 1).count();
    Forensics::Measured(Box::new(Statistics {
        writing,
        words: count,
        sentences: words.sentence_lengths.len(),
        paragraphs: words.paragraphs,
        sentence_length_mean: mean,
        sentence_length_variance: variance,
        burstiness: burstiness(&words.sentence_lengths, mean, variance),
        type_token_ratio: ratio(words.forms.len(), count),
        type_token_ratio_within_100: words.windowed_ratio(),
        hapax_rate: ratio(hapaxes, words.forms.len()),
        repeated_ngrams: words.repeated(writing),
        punctuation: characters
            .marks
            .iter()
            .map(|(name, times)| ((*name).to_owned(), ratio(*times, count) * 1000.0))
            .collect(),
        character_entropy: characters.entropy,
        word_entropy: entropy(words.counts.iter().map(|times| *times as usize), count),
        compressibility: ratio(
            miniz_oxide::deflate::compress_to_vec(text.as_bytes(), COMPRESSION_LEVEL).len(),
            text.len(),
        )
        .min(1.0),
        hedging_rate: english.map(|unit| words.share_of(&HEDGES) * unit),
        formal_transition_rate: english.map(|unit| words.transitions() * unit),
        reading_level_mean: levels.map(|(mean, _)| mean),
        reading_level_deviation: levels.map(|(_, variance)| variance.sqrt()),
    }))
}

impl Characters {
    fn of(text: &str) -> Self {
        let mut found = Self::default();
        let mut ascii = [0_usize; 128];
        let mut others = HashMap::<char, usize>::new();
        let mut all = 0;
        for c in text.chars() {
            all += 1;
            if let Some(times) = ascii.get_mut(c as usize) {
                *times += 1;
            } else {
                *others.entry(c).or_default() += 1;
            }
        }
        let ascii = (0_u8..).map(char::from).zip(ascii);
        let counts: Vec<(char, usize)> = ascii
            .filter(|(_, times)| *times > 0)
            .chain(others)
            .collect();
        for (c, times) in &counts {
            if c.is_alphabetic() {
                found.letters += times;
                found.unspaced += if is_unspaced(*c) { *times } else { 0 };
            }
            if let Some(name) = mark(*c) {
                *found.marks.entry(name).or_default() += times;
            }
        }
        let mut sorted: Vec<usize> = counts.into_iter().map(|(_, times)| times).collect();
        // Sorted, because the order of a hash map would change the rounding of the sum.
        sorted.sort_unstable();
        found.entropy = entropy(sorted, all);
        found
    }
}

impl Words {
    fn of(text: &str) -> Self {
        let mut found = Self::default();
        let mut known = HashMap::<String, u32>::new();
        let mut form = String::new();
        for paragraph in paragraphs(text) {
            let (mut words, mut long, mut sentences) = (0_usize, 0_usize, 0_usize);
            for sentence in sentences_of(&paragraph) {
                let before = found.sequence.len();
                for word in sentence.unicode_words() {
                    lower(word, &mut form);
                    long += usize::from(form.chars().count() > LIX_LONG_WORD);
                    let id = known.get(form.as_str()).copied().unwrap_or_else(|| {
                        let id = u32::try_from(found.forms.len()).unwrap_or(u32::MAX);
                        known.insert(form.clone(), id);
                        found.forms.push(form.clone());
                        found.counts.push(0);
                        id
                    });
                    found.counts[id as usize] += 1;
                    found.sequence.push(id);
                }
                let length = found.sequence.len() - before;
                if length > 0 {
                    found.sentence_lengths.push(real(length));
                    sentences += 1;
                    words += length;
                }
            }
            found.paragraphs += usize::from(words > 0);
            if words >= MIN_PARAGRAPH_WORDS {
                let level = ratio(words, sentences) + 100.0 * ratio(long, words);
                found.levels.push(level);
            }
        }
        found
    }

    fn share_of(&self, list: &[&str]) -> f64 {
        let ids = self.forms.iter().zip(&self.counts);
        let times: u32 = ids
            .filter(|(form, _)| list.contains(&form.as_str()))
            .map(|(_, times)| times)
            .sum();
        ratio(times as usize, self.sequence.len())
    }

    fn transitions(&self) -> f64 {
        let id_of = |word: &str| self.forms.iter().position(|form| form == word);
        let pairs: Vec<(usize, usize)> = TRANSITION_PAIRS
            .iter()
            .filter_map(|(first, second)| Some((id_of(first)?, id_of(second)?)))
            .collect();
        let found = self
            .sequence
            .windows(2)
            .filter(|pair| pairs.contains(&(pair[0] as usize, pair[1] as usize)));
        self.share_of(&TRANSITIONS) + ratio(found.count(), self.sequence.len())
    }

    /// The mean type-token ratio of all windows.
    fn windowed_ratio(&self) -> Option<f64> {
        if self.sequence.len() < WINDOW {
            return None;
        }
        let mut within = vec![0_u32; self.forms.len()];
        let (mut distinct, mut sum) = (0_usize, 0_usize);
        for (index, id) in self.sequence.iter().enumerate() {
            within[*id as usize] += 1;
            distinct += usize::from(within[*id as usize] == 1);
            if index >= WINDOW {
                let leaving = self.sequence[index - WINDOW] as usize;
                within[leaving] -= 1;
                distinct -= usize::from(within[leaving] == 0);
            }
            if index + 1 >= WINDOW {
                sum += distinct;
            }
        }
        let windows = self.sequence.len() - WINDOW + 1;
        Some(ratio(sum, windows * WINDOW))
    }

    /// Runs of three words, or of six characters, since three characters are hardly more than a word.
    fn repeated(&self, writing: Writing) -> RepeatedNgrams {
        let length = match writing {
            Writing::Spaced => 3,
            Writing::Unspaced => 6,
        };
        let mut times = HashMap::<&[u32], usize>::with_capacity(self.sequence.len());
        for run in self.sequence.windows(length) {
            *times.entry(run).or_default() += 1;
        }
        let runs = (self.sequence.len() + 1).saturating_sub(length);
        let share = ratio(runs - times.len(), runs);
        let mut frequent: Vec<_> = times.into_iter().filter(|(_, times)| *times > 1).collect();
        frequent.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        let separator = if writing == Writing::Spaced { " " } else { "" };
        let most_frequent = frequent
            .into_iter()
            .take(MAX_EXAMPLES)
            .map(|(run, times)| {
                let words = run.iter().map(|id| self.forms[*id as usize].as_str());
                Repeated {
                    words: words.collect::<Vec<_>>().join(separator),
                    times,
                }
            })
            .collect();
        RepeatedNgrams {
            length,
            share,
            most_frequent,
        }
    }
}

/// Blocks between empty lines, with their lines joined, because a line break inside a paragraph does not end a sentence.
/// Headings and list items stay on their own lines.
fn paragraphs(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for line in text.lines() {
        let line = line.trim();
        let Some(current) = found.last_mut() else {
            break;
        };
        if line.is_empty() {
            if !current.is_empty() {
                found.push(String::new());
            }
            continue;
        }
        if !current.is_empty() {
            current.push(if starts_new_line(line) { '\n' } else { ' ' });
        }
        current.push_str(line);
        if line.starts_with('#') {
            current.push('\n');
        }
    }
    found
}

/// A sentence ends with a mark and its closing quotes and brackets, followed by the end, a line break, or a space before
/// anything but a lower-case letter ("e.g. this" continues). Marks of scripts without spaces need no space.
///
/// Not UAX #29: its rules give the same result for nearly all prose, but would take most of the time budget.
fn sentences_of(paragraph: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut start, mut ended, mut spaced) = (0, None::<char>, false);
    for (at, c) in paragraph.char_indices() {
        let is_over = match ended {
            _ if c == '\n' => true,
            None => false,
            Some('。' | '！' | '？') => !is_closing(c),
            Some(_) => spaced && !c.is_whitespace() && !c.is_lowercase(),
        };
        if is_over {
            found.push(&paragraph[start..at]);
            (start, ended) = (at, None);
        }
        if matches!(c, '.' | '!' | '?' | '…' | '。' | '！' | '？' | '।' | '؟') {
            (ended, spaced) = (Some(c), false);
        } else if c.is_whitespace() {
            spaced = true;
        } else if !is_closing(c) {
            ended = None;
        }
    }
    found.push(&paragraph[start..]);
    found
}

fn is_closing(c: char) -> bool {
    matches!(
        c,
        '"' | '\'' | '”' | '’' | '»' | '」' | '』' | ')' | '）' | ']' | '*' | '_'
    )
}

fn starts_new_line(line: &str) -> bool {
    let after_number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with(['#', '-', '*', '+', '>', '•'])
        || (after_number.len() < line.len() && after_number.starts_with(['.', ')']))
}

fn lower(word: &str, into: &mut String) {
    into.clear();
    if word.is_ascii() {
        into.push_str(word);
        into.make_ascii_lowercase();
    } else {
        // Writing to a String cannot fail.
        let _ = write!(into, "{}", word.to_lowercase());
    }
}

fn burstiness(lengths: &[f64], mean: f64, variance: f64) -> Option<f64> {
    let deviation = variance.sqrt();
    (lengths.len() > 1).then(|| (deviation - mean) / (deviation + mean))
}

/// Shannon entropy in bits.
fn entropy(counts: impl IntoIterator<Item = usize>, all: usize) -> f64 {
    let all = real(all);
    let bits = counts.into_iter().map(|times| {
        let share = real(times) / all;
        -share * share.log2()
    });
    bits.sum::<f64>().max(0.0)
}

fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        0.0
    } else {
        real(part) / real(whole)
    }
}
