//! The JSON of the forecasting contract: the requests and results of other services, with its exact names and nesting.
//!
//! Our additions are under the key `roundtable` of the result.

use roundtable_core::bounded::{Confidence, Probability};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A request of the forecasting contract. Unknown fields are ignored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["task_id", "prediction_context"]))]
pub struct DebateRequest {
    /// The caller's own id for the question.
    #[schemars(length(min = 1))]
    pub task_id: String,
    pub prediction_context: PredictionContext,
    pub config: Config,
}

/// The question, its outcomes, and what is known about it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["task", "outcomes"]))]
pub struct PredictionContext {
    /// The original prediction task: any object. The question is its `raw_query`, `question`, `title` or `description`;
    /// `timeframe.end` is the day after which the outcome is known, and `type` the field of the question. Its `region`,
    /// `key_variables`, `base_rates` and the `boundary_conditions` of its `outcomes` are facts for every role.
    pub task: Map<String, Value>,
    /// Exactly one of them will happen.
    #[schemars(length(min = 2, max = 20))]
    pub outcomes: Vec<Outcome>,
    pub key_variables: Vec<KeyVariable>,
    /// How often such things have happened, one text each: "4 of the last 12 such bills passed".
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub base_rates: Vec<String>,
    pub simulation_summary: Option<SimulationSummary>,
    pub data_summary: Option<DataSummary>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ForecastOutcome", extend("required" = ["id", "label"]))]
pub struct Outcome {
    #[schemars(length(min = 1))]
    pub id: String,
    #[schemars(length(min = 1))]
    pub label: String,
    pub description: String,
    /// When exactly the outcome counts as having happened: a text or a list of texts. They may also be in the task's `outcomes`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(with = "Value")]
    pub boundary_conditions: String,
}

/// A variable that the outcome depends on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["name"]))]
pub struct KeyVariable {
    #[schemars(length(min = 1))]
    pub name: String,
    pub category: Value,
    pub importance: Value,
    pub current_value: Value,
}

/// The result of a simulation, which the forecast is compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("required" = []))]
pub struct SimulationSummary {
    /// The probabilities sum to 1; an outcome that is left out has none.
    pub final_distribution: Vec<OutcomeProbability>,
    pub key_findings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutcomeProbability {
    pub outcome_id: String,
    pub probability: Probability,
}

/// Known facts of the question, and known gaps.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("required" = []))]
pub struct DataSummary {
    pub region: Option<String>,
    pub timeframe: Option<Timeframe>,
    pub economic_highlights: Vec<String>,
    pub sentiment_highlights: Vec<String>,
    pub data_gaps: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Timeframe {
    pub start: Option<String>,
    pub end: Option<String>,
}

/// How the debate is played.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ForecastConfig", extend("required" = []))]
pub struct Config {
    /// The number of rounds.
    #[schemars(range(min = 1, max = 10), extend("default" = 3))]
    pub rounds: u32,
    /// The roles that take part, by name. Defaults to all roles of the cast.
    #[schemars(length(min = 2))]
    pub roles: Vec<String>,
    /// The maximum length of an argument, in tokens.
    #[schemars(range(min = 100, max = 4000), extend("default" = 500))]
    pub max_argument_length: u32,
    /// The criteria by which arguments are scored. `scoring_weights`, an object from criterion to number, gives their weights.
    #[schemars(length(max = 10))]
    pub scoring_criteria: Vec<String>,
    /// The judge's weight against the mean of all roles.
    #[schemars(extend("default" = 0.6))]
    pub judge_weight: Probability,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DebateLog {
    pub rounds: Vec<Round>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Round {
    pub round_number: u32,
    pub phase: Phase,
    pub arguments: Vec<LoggedArgument>,
    pub round_summary: RoundSummary,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Opening,
    Rebuttal,
    Closing,
}

impl Phase {
    /// The rounds between first and last are rebuttals; a single round is an opening.
    pub fn of(round: u32, rounds: u32) -> Self {
        if round == 1 {
            Self::Opening
        } else if round >= rounds {
            Self::Closing
        } else {
            Self::Rebuttal
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Opening => "opening",
            Self::Rebuttal => "rebuttal",
            Self::Closing => "closing",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoggedArgument {
    pub role: String,
    pub argument: String,
    pub outcome_supported: String,
    pub evidence_cited: Vec<String>,
    /// By criterion, and their `composite`. `null` if the scorer failed.
    pub scores: Option<Map<String, Value>>,
    pub rebuts: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundSummary {
    /// `null` if no argument of the round has a score.
    pub dominant_argument: Option<String>,
    pub key_disagreements: Vec<String>,
    pub emerging_consensus: Vec<Emerging>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Emerging {
    pub outcome_id: String,
    pub direction: Direction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Toward,
    Away,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Disagreement {
    pub topic: String,
    pub positions: Vec<RolePosition>,
    pub resolved: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RolePosition {
    pub role: String,
    pub stance: String,
    pub strength: Probability,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutcomeForecast {
    pub outcome_id: String,
    pub probability: f64,
    pub role_assessments: Vec<RoleAssessment>,
    /// `null` without a judge; the probability is then the consensus alone.
    pub judge_probability: Option<f64>,
    pub consensus_probability: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoleAssessment {
    pub role: String,
    pub probability: f64,
    pub confidence: Confidence,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeyInsight {
    pub insight: String,
    pub source_role: String,
    pub round: u32,
    pub impact: Impact,
    pub affected_outcomes: Vec<String>,
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Impact {
    High,
    Medium,
    Low,
}

impl Impact {
    pub const fn name(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Precedent {
    #[schemars(length(min = 1, max = 300))]
    pub event: String,
    #[schemars(length(max = 80))]
    pub date: String,
    pub similarity_score: Probability,
    #[schemars(length(max = 300))]
    pub outcome: String,
    #[schemars(length(max = 400))]
    pub relevance: String,
}

impl Precedent {
    /// Whether it has a date with a digit, an event and an outcome.
    pub fn is_dated(&self) -> bool {
        let has_date = self.date.chars().any(|c| c.is_ascii_digit());
        has_date && !self.outcome.trim().is_empty() && !self.event.trim().is_empty()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metadata {
    pub total_arguments: usize,
    pub sonnet_tokens_used: TokensUsed,
    pub sonnet_calls: u32,
    pub wall_clock_time_ms: u64,
    pub model: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokensUsed {
    pub input: u64,
    pub output: u64,
}
