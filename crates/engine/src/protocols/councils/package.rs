//! The content to judge (T-13): texts, transcripts, metadata and images as one package. Long content is cut visibly; the
//! statistics are of the whole text.

use roundtable_core::forensics::Forensics;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::Image;
use crate::tokens;

/// The share of a cut text that is taken from its beginning; the rest is from its end.
const HEAD_SHARE: f64 = 0.75;
/// Aims a little below the limit, so that a second cut usually fits.
const MARGIN: f64 = 0.97;
/// A text with more bytes per token than this is too long without counting.
const MAX_BYTES_PER_TOKEN: u64 = 8;
/// Cutting stops at this share.
const MIN_SHARE: f64 = 1e-6;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Package {
    /// A short name, such as the name of its first file.
    pub title: String,
    pub parts: Vec<Part>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    pub forensics: Forensics,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    pub kind: Kind,
    pub name: String,
    /// As the judges read it.
    pub text: String,
    pub left_out: Option<LeftOut>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Text,
    Transcript,
    Metadata,
}

impl Kind {
    pub const fn title(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Transcript => "transcript",
            Self::Metadata => "metadata",
        }
    }
}

/// The number of words of a part that are not judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    pub words: usize,
    pub of_words: usize,
}

/// A part as it was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Given {
    pub kind: Kind,
    pub name: String,
    pub text: String,
}

impl Package {
    /// Cuts the parts so that together they have at most `limit` tokens.
    pub fn new(title: String, given: &[Given], limit: u64) -> Self {
        let forensics = Forensics::of(&words_of(given));
        let bytes: u64 = given.iter().map(|part| part.text.len() as u64).sum();
        let mut share = 1.0;
        let mut parts = shares(given, share);
        // Token density varies within a text: cut to a share of its length, count, and reduce the share until it fits.
        if bytes > limit.saturating_mul(MAX_BYTES_PER_TOKEN) {
            share = ratio(limit.saturating_mul(MAX_BYTES_PER_TOKEN), bytes);
            parts = shares(given, share);
        }
        while bytes > limit && share > MIN_SHARE {
            let count: u64 = parts.iter().map(|part| tokens::count(&part.text)).sum();
            if count <= limit {
                break;
            }
            share *= ratio(limit, count) * MARGIN;
            parts = shares(given, share);
        }
        Self {
            title,
            parts,
            images: Vec::new(),
            forensics,
        }
    }

    /// Adds pictures, for models with vision.
    #[must_use]
    pub fn with_images(self, images: Vec<Image>) -> Self {
        Self { images, ..self }
    }

    /// Describes what is not judged, for people and in prompts.
    pub fn left_out(&self) -> Vec<String> {
        let cut = self
            .parts
            .iter()
            .filter_map(|part| Some((part, part.left_out?)));
        cut.map(|(part, left_out)| {
            format!(
                "{}: {} of {} words are judged, from its beginning and its end; the {} words between them are left out.",
                part.name,
                left_out.of_words - left_out.words,
                left_out.of_words,
                left_out.words
            )
        })
        .collect()
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "lengths of texts stay far below 2^53"
)]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

/// The parts, each cut to the same share of its length.
fn shares(given: &[Given], share: f64) -> Vec<Part> {
    let cut_to_share = |part: &Given| {
        let (text, left_out) = if share < 1.0 {
            cut(&part.text, share)
        } else {
            (part.text.clone(), None)
        };
        Part {
            kind: part.kind,
            name: part.name.clone(),
            text,
            left_out,
        }
    };
    given.iter().map(cut_to_share).collect()
}

/// The beginning and the end of a text, with a remark between them.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a length is a length"
)]
fn cut(text: &str, share: f64) -> (String, Option<LeftOut>) {
    let keep = text.len() as f64 * share.clamp(0.0, 1.0);
    let head = before_a_word(text, (keep * HEAD_SHARE) as usize);
    let tail = after_a_word(text, text.len() - (keep * (1.0 - HEAD_SHARE)) as usize);
    if head >= tail {
        return (text.to_owned(), None);
    }
    let left_out = LeftOut {
        words: words(&text[head..tail]),
        of_words: words(text),
    };
    let remark = format!("[… {} words are left out here …]", left_out.words);
    let cut = format!(
        "{}\n\n{remark}\n\n{}",
        text[..head].trim_end(),
        text[tail..].trim_start()
    );
    (cut, Some(left_out))
}

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

/// The last end of a word not after `at`; in a script without spaces, the nearest character boundary.
fn before_a_word(text: &str, at: usize) -> usize {
    let at = text.floor_char_boundary(at);
    let near = text.floor_char_boundary(at.saturating_sub(200));
    text[near..at]
        .rfind(char::is_whitespace)
        .map_or(at, |offset| near + offset)
}

fn after_a_word(text: &str, at: usize) -> usize {
    let at = text.ceil_char_boundary(at);
    let far = text.floor_char_boundary((at + 200).min(text.len()));
    let found = text[at..far.max(at)].find(char::is_whitespace);
    found.map_or(at, |offset| at + offset)
}

/// The written and spoken text, without subtitle numbers and times and without metadata.
fn words_of(given: &[Given]) -> String {
    let texts = given.iter().filter_map(|part| match part.kind {
        Kind::Text => Some(part.text.clone()),
        Kind::Transcript => Some(spoken(&part.text)),
        Kind::Metadata => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// The text of subtitles (SRT, `WebVTT`), without numbers, times and empty lines.
fn spoken(transcript: &str) -> String {
    let is_speech = |line: &&str| {
        let line = line.trim();
        let is_number = !line.is_empty() && line.chars().all(|c| c.is_ascii_digit());
        !(is_number || line.contains("-->") || line == "WEBVTT" || line.is_empty())
    };
    let is_subtitle = transcript.contains("-->");
    if is_subtitle {
        transcript
            .lines()
            .filter(is_speech)
            .collect::<Vec<_>>()
            .join("\n")
    } else {
        transcript.to_owned()
    }
}

#[cfg(test)]
#[path = "package_tests.rs"]
mod tests;
