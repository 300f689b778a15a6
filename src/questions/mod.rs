//! Questions to forecast, as sets in the store: import from files, durable runs, results, and files for others.

pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod results;
pub(crate) mod run;
pub(crate) mod submission;

use jiff::civil::Date;
use roundtable_engine::protocols::Forecast;
use roundtable_engine::protocols::forecast::{Input, Scale};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::failure::Failure;
use crate::setup::DebateSpec;
use crate::store::StoredQuestion;

/// A question of a set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(
    clippy::struct_field_names,
    reason = "its text is called question in files and records"
)]
pub(crate) struct Question {
    /// Unique within its set.
    pub id: String,
    /// Where it comes from, such as `polymarket`.
    pub source: String,
    pub question: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Condition>,
    #[serde(flatten)]
    pub kind: Kind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub criteria: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The day after which the outcome is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolves_on: Option<Date>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub base_rates: Vec<String>,
    /// The crowd's probability of every outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crowd: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submission: Option<SubmissionKey>,
    /// What happened, if the file says it. It is not stored: the roles must not know it.
    #[serde(skip)]
    pub resolution: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Kind {
    /// Yes or no.
    Binary,
    MultipleChoice {
        outcomes: Vec<String>,
    },
    /// A number or a date, in bins.
    Scale {
        scale: Scale,
    },
}

/// One of a conditional pair: the question, given that something happens or does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Condition {
    pub text: String,
    pub holds: bool,
    /// The id of the other question of the pair.
    pub other: String,
}

/// How a question is named in a submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SubmissionKey {
    pub question_set: String,
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution_date: Option<String>,
}

pub(crate) const YES_NO: [&str; 2] = ["Yes", "No"];

impl Question {
    pub(crate) fn new(id: &str, source: &str, question: &str, kind: Kind) -> Self {
        Self {
            id: id.trim().to_owned(),
            source: source.to_owned(),
            question: question.trim().to_owned(),
            condition: None,
            kind,
            background: None,
            criteria: None,
            url: None,
            resolves_on: None,
            domain: None,
            base_rates: Vec::new(),
            crowd: None,
            submission: None,
            resolution: None,
        }
    }

    pub(crate) fn read(stored: &StoredQuestion) -> Result<Self, Failure> {
        serde_json::from_str(&stored.body).map_err(|error| {
            Failure::other(format!(
                "question '{}' cannot be read ({error}): import its file again with this version",
                stored.id
            ))
        })
    }

    pub(crate) fn labels(&self) -> Vec<String> {
        match &self.kind {
            Kind::Binary => YES_NO.map(str::to_owned).to_vec(),
            Kind::MultipleChoice { outcomes } => outcomes.clone(),
            Kind::Scale { scale } => scale.labels().unwrap_or_default(),
        }
    }

    /// The question with its condition.
    pub(crate) fn text(&self) -> String {
        match &self.condition {
            None => self.question.clone(),
            Some(condition) => {
                let what = if condition.holds {
                    "this happens"
                } else {
                    "this does not happen"
                };
                format!(
                    "Given that {what}: \"{}\". {}",
                    condition.text, self.question
                )
            }
        }
    }

    /// The notes for the roles: criteria and background.
    fn notes(&self) -> Option<String> {
        let part = |title: &str, text: &Option<String>| {
            let text = text.as_ref()?;
            Some(format!("{title}: {text}"))
        };
        let parts = [
            part("How the question is resolved", &self.criteria),
            part("Background", &self.background),
            part("Source", &self.url),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("\n\n"))
    }

    /// The forecast of this question. The roles do not see the crowd's number.
    pub(crate) fn spec(&self) -> DebateSpec {
        let scale = match &self.kind {
            Kind::Scale { scale } => Some(scale.clone()),
            Kind::Binary | Kind::MultipleChoice { .. } => None,
        };
        let outcomes = scale.is_none().then(|| {
            let labels = self.labels().into_iter();
            labels.map(|label| json!(label)).collect()
        });
        let input = Input {
            outcomes,
            scale,
            crowd: self.crowd.clone(),
            domain: self.domain.clone(),
            resolves: self.resolves_on.map(|day| day.to_string()),
            base_rates: (!self.base_rates.is_empty()).then(|| self.base_rates.clone()),
            context: self.notes(),
            task_id: Some(self.id.clone()),
            ..Input::default()
        };
        DebateSpec::new(&Forecast, self.text(), &input)
    }
}
