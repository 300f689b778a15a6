//! The replies of a panel. Doc comments of fields are part of the schema that models see.

use std::fmt::Write;

use roundtable_core::bounded::Confidence;
use roundtable_core::wording::one_line;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reply::Reply;

pub(super) const MAX_ANSWER_CHARS: usize = 12_000;
pub(super) const MAX_POSITION_CHARS: usize = 80;

/// A blind answer to the question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The answer in Markdown, complete in itself.
    #[schemars(length(min = 1, max = MAX_ANSWER_CHARS))]
    pub answer: String,
    /// The core of the answer in at most six words.
    #[schemars(length(min = 1, max = MAX_POSITION_CHARS))]
    pub position: String,
    /// How likely the position is right, from 0 to 1.
    pub confidence: Confidence,
}

/// A ranking of the answers of others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RankedAnswers {
    /// Where the answers differ.
    #[schemars(length(min = 1, max = 2000))]
    pub comparison: String,
    /// Every answer once, the best first.
    #[schemars(length(min = 1, max = 12))]
    pub ranking: Vec<RankedAnswer>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct RankedAnswer {
    /// The label of the answer.
    pub answer: String,
    /// Why it has this place.
    #[schemars(length(min = 1, max = 400))]
    pub reason: String,
}

/// The conclusion of the chair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conclusion {
    /// The answer in Markdown, complete in itself.
    #[schemars(length(min = 1, max = 20_000))]
    pub answer: String,
    /// The core of the answer in at most six words.
    #[schemars(length(min = 1, max = 80))]
    pub position: String,
    /// How likely the answer is right, from 0 to 1.
    pub confidence: Confidence,
    /// Points on which the answers agree.
    #[serde(default)]
    #[schemars(length(max = 8))]
    pub consensus: Vec<Point>,
    /// Points on which answers contradict each other.
    #[serde(default)]
    #[schemars(length(max = 8))]
    pub contradictions: Vec<Point>,
    /// Points that some answers treat and others leave out.
    #[serde(default)]
    #[schemars(length(max = 8))]
    pub partial_coverage: Vec<Point>,
    /// Useful points that a single answer makes.
    #[serde(default)]
    #[schemars(length(max = 8))]
    pub unique_insights: Vec<Point>,
    /// What matters for the question and no answer treats.
    #[serde(default)]
    #[schemars(length(max = 8))]
    pub blind_spots: Vec<Point>,
}

/// A point about the answers, with the labels of those it rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Point {
    #[schemars(length(min = 1, max = 600))]
    pub text: String,
    /// Labels of the answers that the point rests on.
    #[serde(default)]
    #[schemars(length(max = 12))]
    pub answers: Vec<String>,
}

impl Conclusion {
    /// The five lists, each with its title.
    pub fn lists(&self) -> [(&'static str, &[Point]); 5] {
        [
            ("Consensus", &self.consensus),
            ("Contradictions", &self.contradictions),
            ("Partial coverage", &self.partial_coverage),
            ("Unique insights", &self.unique_insights),
            ("Blind spots", &self.blind_spots),
        ]
    }
}

impl Point {
    /// `The cost is underestimated (A, C)`
    pub fn line(&self) -> String {
        let text = one_line(&self.text);
        if self.answers.is_empty() {
            text
        } else {
            format!("{text} ({})", self.answers.join(", "))
        }
    }
}

impl Reply for Answer {
    const NAME: &'static str = "panel_answer";
    const MAIN: &'static str = "answer";

    fn text(&self) -> String {
        format!(
            "{}\n\n**Position:** {}, confidence {:.2}",
            self.answer,
            one_line(&self.position),
            self.confidence.value()
        )
    }
}

impl Reply for RankedAnswers {
    const NAME: &'static str = "panel_ranking";
    const MAIN: &'static str = "comparison";

    fn text(&self) -> String {
        let mut text = format!("{}\n", self.comparison);
        for (place, ranked) in (1..).zip(&self.ranking) {
            let _ = write!(
                text,
                "\n{place}. {}: {}",
                ranked.answer,
                one_line(&ranked.reason)
            );
        }
        text
    }
}

impl Reply for Conclusion {
    const NAME: &'static str = "panel_conclusion";
    const MAIN: &'static str = "answer";

    fn text(&self) -> String {
        let mut text = self.answer.clone();
        for (title, points) in self.lists() {
            if !points.is_empty() {
                let _ = write!(text, "\n\n**{title}**\n");
                for point in points {
                    let _ = write!(text, "\n- {}", point.line());
                }
            }
        }
        text
    }
}
