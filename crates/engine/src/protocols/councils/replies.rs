//! The replies of the seats. Models write the fields in this order: reasons before numbers. Doc comments and names are part of
//! the schema they get.

use std::borrow::Cow;
use std::fmt::Write;

use roundtable_core::bounded::{Adjustment, Confidence, OutOfHundred};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use crate::reply::Reply;

/// A judge's first word, blind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evaluation {
    /// The judgement as a whole, in Markdown.
    #[schemars(length(min = 1, max = 12_000))]
    pub assessment: String,
    /// One for each dimension.
    #[serde(deserialize_with = "with_valid_scores")]
    pub scores: Vec<Scored>,
    /// The judge's own finer marks.
    #[serde(default, deserialize_with = "with_valid_scores")]
    pub sub_scores: Vec<SubScore>,
    #[schemars(length(min = 1, max = 8))]
    pub key_observations: Vec<String>,
}

/// A judge's second word, after having read its council.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Revision {
    /// The judgement as it now stands, in Markdown.
    #[schemars(length(min = 1, max = 12_000))]
    pub assessment: String,
    /// One for each dimension, changed or not.
    #[serde(deserialize_with = "with_valid_scores")]
    pub scores: Vec<Scored>,
    #[serde(default, deserialize_with = "with_valid_scores")]
    pub sub_scores: Vec<SubScore>,
    /// One for each score that is not the same as before.
    #[serde(default)]
    #[schemars(length(max = 20))]
    pub changes: Vec<Change>,
    /// What is still in dispute.
    #[serde(default)]
    #[schemars(length(max = 20))]
    pub disputes: Vec<Dispute>,
    /// Why the first judgement stands, where nothing was changed; else empty.
    #[serde(default)]
    #[schemars(length(max = 4000))]
    pub stands_because: String,
    #[schemars(length(min = 1, max = 8))]
    pub key_observations: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Scored {
    pub dimension: String,
    /// What in the content it rests on.
    #[schemars(length(max = 4000))]
    pub evidence: String,
    #[schemars(length(max = 4000))]
    pub reasoning: String,
    /// From 0 to 100.
    #[schemars(with = "Stated<OutOfHundred>")]
    pub score: OutOfHundred,
    /// From 0 to 1.
    #[serde(default)]
    pub confidence: StatedConfidence,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct SubScore {
    pub name: String,
    #[schemars(with = "Stated<OutOfHundred>")]
    pub score: OutOfHundred,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Change {
    pub dimension: String,
    /// Whose reasoning moved it.
    pub peer: String,
    /// What in that reasoning.
    #[schemars(length(max = 4000))]
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Dispute {
    pub peer: String,
    /// What the peer holds.
    #[schemars(length(max = 1000))]
    pub about: String,
    /// Why it is disputed.
    #[schemars(length(max = 4000))]
    pub reason: String,
}

/// A number as a seat stated it. Anything but a number within the range counts as not stated: it costs the value, not the reply
/// (T-14). There is no default.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Stated<T>(pub Option<T>);

pub(super) type StatedConfidence = Stated<Confidence>;

impl<T> Default for Stated<T> {
    fn default() -> Self {
        Self(None)
    }
}

/// A number with a range.
pub trait Ranged: TryFrom<f64> {
    /// The schema that is sent to models.
    fn range() -> Value;
}

impl Ranged for Confidence {
    fn range() -> Value {
        json!({ "type": "number", "minimum": 0, "maximum": 1 })
    }
}

impl Ranged for OutOfHundred {
    fn range() -> Value {
        json!({ "type": "number", "minimum": 0, "maximum": 100 })
    }
}

impl Ranged for Adjustment {
    fn range() -> Value {
        json!({ "type": "number", "minimum": -0.2, "maximum": 0.1 })
    }
}

impl<'de, T: Ranged> Deserialize<'de> for Stated<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let number = value.as_f64();
        Ok(Self(number.and_then(|number| T::try_from(number).ok())))
    }
}

impl<T: Ranged> JsonSchema for Stated<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "stated number".into()
    }

    /// The schema asks for a number but accepts anything.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "x-sent": T::range() })
    }
}

/// The items with a valid score. A reply whose items are all invalid is invalid.
fn with_valid_scores<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let items = Vec::<Value>::deserialize(deserializer)?;
    let count = items.len();
    let mut error = None;
    let valid: Vec<T> = items
        .into_iter()
        .filter_map(|item| {
            serde_json::from_value(item)
                .inspect_err(|invalid| error = Some(invalid.to_string()))
                .ok()
        })
        .collect();
    match error {
        Some(error) if valid.is_empty() && count > 0 => Err(D::Error::custom(error)),
        Some(_) | None => Ok(valid),
    }
}

/// The lead's account of its council.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Narrative {
    /// The merged assessment, in Markdown.
    #[schemars(length(min = 1, max = 12_000))]
    pub narrative: String,
    /// For each judge what of its observations went into it.
    #[schemars(length(max = 40))]
    pub merged: Vec<Merged>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Merged {
    pub judge: String,
    #[schemars(length(max = 1000))]
    pub observation: String,
}

/// A council's answer to what the others found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Response {
    /// Does the other council's assessment change our view? In Markdown.
    #[schemars(length(min = 1, max = 8000))]
    pub view: String,
    /// Tensions between the two.
    #[schemars(length(max = 4000))]
    pub tensions: String,
    /// What the other council's findings show that we missed.
    #[schemars(length(max = 4000))]
    pub missed: String,
    /// Numbers of ours that change; usually few or none.
    #[schemars(length(max = 20))]
    pub changes: Vec<Shift>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Shift {
    pub dimension: String,
    #[schemars(length(max = 4000))]
    pub reason: String,
    pub to: Stated<OutOfHundred>,
}

/// The critic's review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Critique {
    /// How well it was judged, in Markdown.
    #[schemars(length(min = 1, max = 8000))]
    pub review: String,
    #[schemars(length(max = 20))]
    pub findings: Vec<Finding>,
    /// What was looked at, whether or not something was found.
    #[schemars(length(max = 20))]
    pub checked: Vec<String>,
    /// An answer to each grave disagreement.
    #[schemars(length(max = 20))]
    pub disagreements: Vec<Ruling>,
    /// What the findings do to the confidence in the whole: from -0.2 to +0.1.
    #[serde(default)]
    pub confidence_adjustment: Stated<Adjustment>,
    #[serde(default)]
    #[schemars(length(max = 2000))]
    pub adjustment_reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Finding {
    pub category: Category,
    pub severity: Severity,
    /// The judge, council or dimension it is about.
    #[schemars(length(max = 300))]
    pub about: String,
    /// What is wrong.
    #[schemars(length(max = 4000))]
    pub problem: String,
    /// Where that can be seen.
    #[schemars(length(max = 4000))]
    pub evidence: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Category {
    LogicalFlaw,
    Contradiction,
    AnchoringBias,
    MissingConsideration,
    Overconfidence,
}

impl Category {
    pub const fn title(self) -> &'static str {
        match self {
            Self::LogicalFlaw => "logical flaw",
            Self::Contradiction => "contradiction",
            Self::AnchoringBias => "anchoring bias",
            Self::MissingConsideration => "missing consideration",
            Self::Overconfidence => "overconfidence",
        }
    }
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Severity {
    High,
    Medium,
    Low,
}

impl Severity {
    pub const fn name(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Ruling {
    /// The id of the disagreement.
    pub disagreement: String,
    /// Which side has the better reasons, or why it cannot be settled.
    #[schemars(length(max = 4000))]
    pub answer: String,
}

/// The orchestrator's last word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Synthesis {
    /// For the person who asked, in Markdown.
    #[schemars(length(min = 1, max = 16_000))]
    pub executive_summary: String,
    /// One for each finding of the critic.
    #[schemars(length(max = 20))]
    pub answers: Vec<Answer>,
    /// What the cast asks for beyond that.
    #[schemars(length(max = 20))]
    pub extras: Vec<Written>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Answer {
    /// The id of the finding.
    pub finding: String,
    pub decision: Decision,
    #[schemars(length(max = 4000))]
    pub reason: String,
    /// Where it is accepted: the number that changes. Else empty.
    #[schemars(length(max = 1))]
    pub moves: Vec<Moved>,
    /// Where it is accepted and no number changes: why none does. Else empty.
    #[serde(default)]
    #[schemars(length(max = 2000))]
    pub no_move_because: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Decision {
    Accepted,
    Rejected,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Moved {
    pub dimension: String,
    pub to: Stated<OutOfHundred>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Written {
    pub name: String,
    #[schemars(length(max = 12))]
    pub values: Vec<String>,
}

impl Reply for Evaluation {
    const NAME: &'static str = "evaluation";
    const MAIN: &'static str = "assessment";

    fn text(&self) -> String {
        let mut text = self.assessment.clone();
        list(&mut text, "Scores", &scores(&self.scores));
        list(&mut text, "Sub-scores", &sub_scores(&self.sub_scores));
        list(&mut text, "Key observations", &self.key_observations);
        text
    }
}

impl Reply for Revision {
    const NAME: &'static str = "judge_revision";
    const MAIN: &'static str = "assessment";

    fn text(&self) -> String {
        let mut text = self.assessment.clone();
        list(&mut text, "Scores", &scores(&self.scores));
        let changes = self.changes.iter();
        let changes: Vec<_> = changes
            .map(|change| {
                format!(
                    "{}, moved by {}: {}",
                    change.dimension, change.peer, change.reason
                )
            })
            .collect();
        list(&mut text, "Changed", &changes);
        let disputes = self.disputes.iter();
        let disputes: Vec<_> = disputes
            .map(|dispute| format!("{} ({}): {}", dispute.peer, dispute.about, dispute.reason))
            .collect();
        list(&mut text, "Still in dispute", &disputes);
        if !self.stands_because.trim().is_empty() {
            list(
                &mut text,
                "Why it stands",
                std::slice::from_ref(&self.stands_because),
            );
        }
        list(&mut text, "Key observations", &self.key_observations);
        text
    }
}

impl Reply for Narrative {
    const NAME: &'static str = "narrative";
    const MAIN: &'static str = "narrative";

    fn text(&self) -> String {
        self.narrative.clone()
    }
}

impl Reply for Response {
    const NAME: &'static str = "response";
    const MAIN: &'static str = "view";

    fn text(&self) -> String {
        let mut text = self.view.clone();
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\n\n**Tensions**\n\n{}\n\n**What we missed**\n\n{}",
            self.tensions, self.missed
        );
        let changes = self.changes.iter();
        let changes: Vec<_> = changes
            .map(|change| {
                let to = change.to.0.map_or_else(|| "–".into(), |to| to.to_string());
                format!("{} to {to}: {}", change.dimension, change.reason)
            })
            .collect();
        list(&mut text, "Changes", &changes);
        text
    }
}

impl Reply for Critique {
    const NAME: &'static str = "council_critique";
    const MAIN: &'static str = "review";

    fn text(&self) -> String {
        let mut text = self.review.clone();
        let findings: Vec<_> = self
            .findings
            .iter()
            .enumerate()
            .map(|(index, finding)| {
                let (category, severity) = (finding.category.title(), finding.severity.name());
                format!(
                    "{} {category} ({severity}), {}: {} Evidence: {}",
                    finding_id(index),
                    finding.about,
                    finding.problem,
                    finding.evidence
                )
            })
            .collect();
        list(&mut text, "Findings", &findings);
        list(&mut text, "Checked", &self.checked);
        let rulings = self.disagreements.iter();
        let rulings: Vec<_> = rulings
            .map(|ruling| format!("{}: {}", ruling.disagreement, ruling.answer))
            .collect();
        list(&mut text, "On the disagreements", &rulings);
        let adjustment = self.confidence_adjustment.0.map(Adjustment::value);
        let _ = match adjustment {
            Some(value) => write!(text, "\n\nConfidence {value:+}: {}", self.adjustment_reason),
            None => write!(
                text,
                "\n\nConfidence not adjusted: {}",
                self.adjustment_reason
            ),
        };
        text
    }
}

impl Reply for Synthesis {
    const NAME: &'static str = "orchestration";
    const MAIN: &'static str = "executive_summary";

    fn text(&self) -> String {
        self.executive_summary.clone()
    }
}

/// The id of the finding at this index.
pub(super) fn finding_id(index: usize) -> String {
    format!("K{}", index + 1)
}

fn scores(scores: &[Scored]) -> Vec<String> {
    let line = |scored: &Scored| {
        let confidence = scored.confidence.0.map_or_else(
            || "no confidence stated".into(),
            |confidence| format!("confidence {confidence}"),
        );
        format!(
            "{} {} ({confidence}): {} Evidence: {}",
            scored.dimension, scored.score, scored.reasoning, scored.evidence
        )
    };
    scores.iter().map(line).collect()
}

fn sub_scores(scores: &[SubScore]) -> Vec<String> {
    let line = |score: &SubScore| format!("{} {}", score.name, score.score);
    scores.iter().map(line).collect()
}

fn list(text: &mut String, title: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    let _ = write!(text, "\n\n**{title}**\n");
    for item in items {
        // One point, one line: a model's line break must not end the list.
        let item = item.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = write!(text, "\n- {item}");
    }
}
