//! Text statistics for judges of whether a person or a model wrote a text (T-02). Computed here because models are poor at
//! counting.
//!
//! The statistics describe the text and cannot prove who wrote it, singly or together: some people write evenly, models can be
//! asked to write unevenly, and every figure depends on the kind and length of the text. Every display includes this caveat
//! ([`LIMITS`]), and [`claims_of_proof`] detects judges that ignore it.
//!
//! Word boundaries follow UAX #29. For scripts without spaces, characters are counted instead of words, and figures that make
//! no sense there are omitted.

mod claims;
mod measure;
mod vocabulary;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use claims::claims_of_proof;

/// Shorter texts are not measured.
pub const MIN_WORDS: usize = 50;

pub const LIMITS: &str = "These figures describe the text. They cannot show who or what wrote it, singly or together: careful \
    people write evenly, models can be told to write unevenly, and all of them vary with the kind of text and its length. They \
    are hints to be weighed with everything else, and no proof of anything.";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Forensics {
    /// Fewer than 50 words: too short to measure.
    TooLittle {
        words: usize,
    },
    Measured(Box<Statistics>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Writing {
    /// Words are separated by spaces.
    Spaced,
    /// No spaces between words: characters are counted instead.
    Unspaced,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Statistics {
    pub writing: Writing,
    pub words: usize,
    pub sentences: usize,
    pub paragraphs: usize,
    /// In words.
    pub sentence_length_mean: f64,
    pub sentence_length_variance: f64,
    /// (σ − μ) / (σ + μ) of the sentence lengths: −1 if all are equal, 0 for a random process, towards 1 for bursts.
    pub burstiness: Option<f64>,
    /// Distinct words over all words.
    pub type_token_ratio: f64,
    /// Mean of the ratio over all windows of 100 words: comparable between texts of different length.
    pub type_token_ratio_within_100: Option<f64>,
    /// Share of the distinct words that occur once.
    pub hapax_rate: f64,
    pub repeated_ngrams: RepeatedNgrams,
    /// Marks per 1,000 words, by kind.
    pub punctuation: BTreeMap<String, f64>,
    /// Bits per character, from the character frequencies.
    pub character_entropy: f64,
    /// Bits per word.
    pub word_entropy: f64,
    /// Compressed size over size.
    pub compressibility: f64,
    /// Per 1,000 words; English only.
    pub hedging_rate: Option<f64>,
    /// Per 1,000 words; English only.
    pub formal_transition_rate: Option<f64>,
    /// Mean LIX of the paragraphs: a readability index that does not need syllables.
    pub reading_level_mean: Option<f64>,
    /// Standard deviation of LIX between paragraphs.
    pub reading_level_deviation: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RepeatedNgrams {
    /// Words in a run.
    pub length: usize,
    /// Share of all runs of this length that repeat an earlier one.
    pub share: f64,
    pub most_frequent: Vec<Repeated>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Repeated {
    pub words: String,
    pub times: usize,
}

/// A figure with its name and meaning, for judges and readers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explained {
    pub name: String,
    pub value: String,
    pub meaning: String,
}

impl Forensics {
    pub fn of(text: &str) -> Self {
        measure::measure(text)
    }

    pub fn explained(&self) -> Vec<Explained> {
        match self {
            Self::TooLittle { words } => vec![Explained {
                name: "Words".into(),
                value: words.to_string(),
                meaning: format!("fewer than {MIN_WORDS}: too little to say anything from figures"),
            }],
            Self::Measured(statistics) => statistics.explained(),
        }
    }
}

impl Statistics {
    fn explained(&self) -> Vec<Explained> {
        let unit = match self.writing {
            Writing::Spaced => "words",
            Writing::Unspaced => "characters, which stand in for words in this script",
        };
        let mut all = vec![
            figure(
                "Length",
                format!(
                    "{} {unit}, {} sentences, {} paragraphs",
                    self.words, self.sentences, self.paragraphs
                ),
                "the shorter the text, the less every figure below says",
            ),
            figure(
                "Sentence length",
                format!(
                    "mean {:.1}, variance {:.1}",
                    self.sentence_length_mean, self.sentence_length_variance
                ),
                "people tend to mix short and long sentences; a small variance means they are all alike",
            ),
        ];
        all.extend(self.burstiness.map(|burstiness| {
            figure(
                "Burstiness",
                format!("{burstiness:.2}"),
                "of sentence lengths, from −1 (all alike) over 0 to 1 (very uneven)",
            )
        }));
        let within = self.type_token_ratio_within_100;
        let within = within.map_or_else(String::new, |ratio| {
            format!(", {ratio:.2} within 100 words")
        });
        all.extend([
            figure("Type-token ratio", format!("{:.2}{within}", self.type_token_ratio), "distinct words over all words; it falls with length, so compare the second figure"),
            figure("Hapax rate", format!("{:.2}", self.hapax_rate), "share of the distinct words that occur only once; it too falls with length"),
            figure("Repeated runs", self.repeated(), "phrases used again; templates, lists and refrains raise it as well"),
            figure("Punctuation", self.marks(), "marks for a thousand words; habits of people, houses and models differ"),
            figure("Entropy", format!("{:.2} bits a character, {:.2} bits a word", self.character_entropy, self.word_entropy), "how unpredictable single characters and words are; it depends on language and length"),
            figure("Compressibility", format!("{:.2}", self.compressibility), "compressed size over size; repetitive text compresses further, and so does long text"),
        ]);
        let rates = self.hedging_rate.zip(self.formal_transition_rate);
        all.push(match rates {
            Some((hedging, transitions)) => figure("Hedging and formal transitions", format!("{hedging:.1} and {transitions:.1} for a thousand words"), "words such as “perhaps” and “moreover”; academic and official prose is full of both"),
            None => figure("Hedging and formal transitions", "not counted".into(), "the word lists are English, and this text does not look English"),
        });
        let level = self.reading_level_mean.zip(self.reading_level_deviation);
        all.push(match level {
            Some((mean, deviation)) => figure(
                "Reading level",
                format!("LIX {mean:.0}, varying by {deviation:.1} between paragraphs"),
                "little variation means that every paragraph is about as hard as the others",
            ),
            None => figure(
                "Reading level",
                "not measured".into(),
                "it needs at least three paragraphs of twenty words, in a script with spaces",
            ),
        });
        all
    }

    fn repeated(&self) -> String {
        let ngrams = &self.repeated_ngrams;
        let examples: Vec<_> = ngrams
            .most_frequent
            .iter()
            .map(|run| format!("“{}” {}×", run.words, run.times))
            .collect();
        let listed = if examples.is_empty() {
            String::new()
        } else {
            format!("; most frequent: {}", examples.join(", "))
        };
        format!(
            "{:.1}% of runs of {}{listed}",
            ngrams.share * 100.0,
            ngrams.length
        )
    }

    fn marks(&self) -> String {
        let marks: Vec<_> = self
            .punctuation
            .iter()
            .map(|(name, rate)| format!("{name} {rate:.1}"))
            .collect();
        if marks.is_empty() {
            "none".into()
        } else {
            marks.join(", ")
        }
    }
}

fn figure(name: &str, value: String, meaning: &str) -> Explained {
    Explained {
        name: name.to_owned(),
        value,
        meaning: meaning.to_owned(),
    }
}

#[cfg(test)]
#[path = "forensics_tests.rs"]
mod tests;
