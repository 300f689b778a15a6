//! What callers send. Each type gives the schema in the OpenAPI document and the check of what comes in, which names
//! everything that is wrong at once.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::extract::{FromRequest, Request};
use axum::http::{StatusCode, header};
use jsonschema::Validator;
use roundtable_core::usage::Money;
use roundtable_engine::protocols::Protocol;
use roundtable_engine::table::Budget;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::App;
use super::problem::Problem;
use super::rules;
use crate::config::Limits;
use crate::failure::Fault;
use crate::setup::{DebateSpec, Models};
use crate::sources;

/// How long a body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
const MOST_WORDS: usize = 20_000;

/// Starts a debate.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewDebate {
    /// The validated of play.
    #[serde(default = "first_protocol")]
    #[schemars(extend("enum" = protocols()))]
    pub protocol: String,
    /// What is to be argued out.
    #[schemars(length(min = 1))]
    pub question: String,
    /// Who sits at the table; the protocol's own cast where it is left out.
    #[serde(default)]
    pub cast: Option<String>,
    /// The model of all seats, as `provider:model`. Where it is left out, the configuration says, or what is found.
    #[serde(default)]
    pub model: Option<String>,
    /// The model of single seats: `{"skeptic": "provider:model"}`.
    #[serde(default)]
    pub seats: BTreeMap<String, String>,
    /// As far as they are to differ from the configuration.
    #[serde(default)]
    #[schemars(schema_with = "rules::schema")]
    pub rules: Map<String, Value>,
    /// What the seats may search and cite, for debates in modes: Markdown, text, HTML or CSV, by the name's ending.
    #[serde(default)]
    #[schemars(length(max = 20))]
    pub sources: Vec<GivenSource>,
    /// What the debate may use; where something is left out, the limit of the configuration.
    #[serde(default)]
    #[schemars(with = "BudgetWish")]
    pub budget: Option<BudgetWish>,
    /// All randomness is drawn from it.
    #[serde(default)]
    #[schemars(range(max = 9_007_199_254_740_991_u64))]
    pub seed: Option<u64>,
}

/// A text to be read.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenSource {
    /// Such as `notes.md`.
    #[schemars(length(min = 1, max = 200))]
    pub name: String,
    #[schemars(length(min = 1))]
    pub text: String,
}

/// When one of these is used up, the debate ends with the best result so far.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::struct_field_names,
    reason = "the names are what callers write"
)]
pub(crate) struct BudgetWish {
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_000_000_000_000_u64))]
    pub max_tokens: Option<u64>,
    /// In dollars.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub max_cost: Option<f64>,
    #[serde(default)]
    #[schemars(range(min = 0.001, max = 31_536_000))]
    pub max_seconds: Option<f64>,
}

/// A person speaks to the seats, who hear it from the next round on.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 20_000))]
    pub text: String,
    /// Who speaks.
    #[serde(default)]
    #[schemars(length(max = 200))]
    pub by: Option<String>,
}

/// Decides what a waiting debate asks.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DecisionWish {
    /// One of the options in the debate's `waiting_for`; `continue` or `stop` where it is paused.
    #[schemars(length(min = 1, max = 200))]
    pub choice: String,
    #[serde(default)]
    #[schemars(length(max = 200))]
    pub by: Option<String>,
    #[serde(default)]
    #[schemars(length(max = 20_000))]
    pub note: Option<String>,
}

/// Goes on with a debate.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResumeWish {
    /// Instead of the budget that it was started with.
    #[serde(default)]
    #[schemars(with = "BudgetWish")]
    pub budget: Option<BudgetWish>,
}

/// What a person thinks of the answer.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RatingWish {
    #[schemars(range(min = 1, max = 10))]
    pub rating: u8,
    #[serde(default)]
    #[schemars(length(max = 20_000))]
    pub comment: Option<String>,
}

/// A request of the forecasting contract. Its own reader tells everything that is wrong with it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct DebateRequest(pub Value);

/// What happened. Without an outcome, an earlier word on it is taken back.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResolutionWish {
    /// The id of the outcome that happened.
    #[schemars(length(min = 1, max = 200))]
    pub outcome: Option<String>,
    #[serde(default)]
    #[schemars(length(max = 200))]
    pub by: Option<String>,
}

fn first_protocol() -> String {
    Protocol::Dialectic.name().to_owned()
}

fn protocols() -> Vec<&'static str> {
    Protocol::ALL
        .iter()
        .map(|protocol| protocol.name())
        .collect()
}

impl NewDebate {
    /// The protocol that is named, and what is wished of it.
    pub(crate) fn spec(self, limits: &Limits) -> Result<(Protocol, DebateSpec), Problem> {
        let mut faults = Vec::new();
        let protocol = Protocol::named(&self.protocol);
        if protocol.is_none() {
            let known = protocols().join(", ");
            faults.push(Fault::new(
                "/protocol",
                format!(
                    "there is no protocol '{}'; there are: {known}",
                    self.protocol
                ),
            ));
        }
        let wished = self.budget.unwrap_or_default().budget(&mut faults);
        let given = self.sources.iter();
        let given = given.map(|it| (it.name.as_str(), it.text.as_str()));
        let sources = sources::texts(given).unwrap_or_else(|found| {
            faults.extend(found);
            Vec::new()
        });
        let standard = configured(limits);
        let budget = Budget {
            max_tokens: wished.max_tokens.or(standard.max_tokens),
            max_cost: wished.max_cost.or(standard.max_cost),
            max_ms: wished.max_ms.or(standard.max_ms),
        };
        match protocol {
            Some(protocol) if faults.is_empty() => Ok((
                protocol,
                DebateSpec {
                    question: self.question,
                    cast: self.cast,
                    models: Models {
                        all: self.model,
                        seats: self.seats,
                    },
                    rules: self.rules,
                    budget,
                    seed: self.seed,
                    history: Vec::new(),
                    learned: None,
                    sources,
                },
            )),
            _ => Err(Problem::invalid(faults)),
        }
    }
}

pub(crate) fn configured(limits: &Limits) -> Budget {
    Budget {
        max_tokens: limits.max_tokens_total,
        max_cost: limits.max_cost,
        max_ms: limits
            .timeout
            .map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
    }
}

impl BudgetWish {
    pub(crate) fn budget(self, faults: &mut Vec<Fault>) -> Budget {
        let max_cost = self.max_cost.and_then(|dollars| {
            let money = Money::from_dollars(dollars);
            if money.is_none() {
                let message = format!("{dollars} is no amount of money");
                faults.push(Fault::new("/budget/max_cost", message));
            }
            money
        });
        let max_ms = self.max_seconds.and_then(|seconds| {
            let time = Duration::try_from_secs_f64(seconds).ok();
            if time.is_none() {
                let message = format!("{seconds} is no time");
                faults.push(Fault::new("/budget/max_seconds", message));
            }
            time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
        });
        Budget {
            max_tokens: self.max_tokens,
            max_cost,
            max_ms,
        }
    }
}

/// Something that can be sent, with the check that its schema makes.
pub(crate) trait Content: DeserializeOwned + JsonSchema {
    /// Where nothing is sent at all.
    fn absent() -> Option<Self> {
        None
    }

    fn validator() -> Option<&'static Validator>;
}

macro_rules! content {
    ($type:ty $(, absent: $absent:expr)?) => {
        impl Content for $type {
            $(fn absent() -> Option<Self> {
                Some($absent)
            })?

            fn validator() -> Option<&'static Validator> {
                static VALIDATOR: OnceLock<Option<Validator>> = OnceLock::new();
                let made = VALIDATOR.get_or_init(|| {
                    let schema = schemars::schema_for!($type);
                    jsonschema::validator_for(schema.as_value()).ok()
                });
                made.as_ref()
            }
        }
    };
}

content!(NewDebate);
content!(Input);
content!(DecisionWish);
content!(RatingWish);
content!(DebateRequest);
content!(ResolutionWish);
content!(ResumeWish, absent: ResumeWish::default());

/// The body of a request: small enough, in time, JSON, and as its schema says. With the bytes as they came.
pub(crate) struct Sent<T> {
    pub content: T,
    pub bytes: bytes::Bytes,
}

impl<T: Content> FromRequest<Arc<App>> for Sent<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Problem> {
        let is_json = is_json(&request);
        let bytes = read(request, app.body_limit).await?;
        if let Some(content) = T::absent().filter(|_| bytes.is_empty()) {
            return Ok(Self { content, bytes });
        }
        if !is_json {
            return Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "not-json",
                "send JSON, with `content-type: application/json`",
            ));
        }
        let value: Value = serde_json::from_slice(&bytes).map_err(|error| {
            Problem::new(
                StatusCode::BAD_REQUEST,
                "malformed",
                format!("this is not JSON: {error}"),
            )
        })?;
        let content = checked(value)?;
        Ok(Self { content, bytes })
    }
}

fn checked<T: Content>(value: Value) -> Result<T, Problem> {
    if let Some(validator) = T::validator() {
        let faults: Vec<Fault> = validator
            .iter_errors(&value)
            // What a rule may be its protocol says, together with everything else that is wrong with them.
            .filter(|error| !error.instance_path().to_string().starts_with("/rules/"))
            .map(|error| Fault::new(error.instance_path().to_string(), short(&error.to_string())))
            .collect();
        if !faults.is_empty() {
            return Err(Problem::invalid(faults));
        }
    }
    serde_json::from_value(value)
        .map_err(|error| Problem::invalid(vec![Fault::new("", error.to_string())]))
}

/// A message may repeat the whole of what was sent.
fn short(message: &str) -> String {
    const MOST: usize = 300;
    if message.chars().count() <= MOST {
        return message.to_owned();
    }
    let (head, tail): (String, String) = (
        message.chars().take(MOST / 2).collect(),
        message.chars().rev().take(MOST / 2).collect(),
    );
    let tail: String = tail.chars().rev().collect();
    format!("{head} … {tail}")
}

fn is_json(request: &Request) -> bool {
    let kind = request.headers().get(header::CONTENT_TYPE);
    kind.and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| {
            let essence = kind.split(';').next().unwrap_or_default().trim();
            essence.eq_ignore_ascii_case("application/json")
        })
}

/// A body of at most `limit` bytes that arrives in time.
pub(super) async fn read(request: Request, limit: usize) -> Result<bytes::Bytes, Problem> {
    let too_large = || {
        Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too-large",
            format!("a request may have at most {limit} bytes"),
        )
    };
    let announced = request
        .headers()
        .get(header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > limit as u64) {
        return Err(too_large());
    }
    let reading = axum::body::to_bytes(request.into_body(), limit);
    match tokio::time::timeout(BODY_TIMEOUT, reading).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) => Err(too_large()),
        Err(_) => Err(Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "too-slow",
            format!(
                "the request's body did not arrive within {} s",
                BODY_TIMEOUT.as_secs()
            ),
        )),
    }
}

/// What sources may take of a request; longer ones are for the command line.
const SOURCES: usize = 1024 * 1024;

/// The largest body: the longest question that may be asked, sources to it, and room for the rest.
pub(super) fn body_limit(limits: &Limits) -> usize {
    let question = usize::try_from(limits.max_question_tokens.saturating_mul(8));
    question
        .unwrap_or(usize::MAX)
        .max(MOST_WORDS * 6)
        .saturating_add(SOURCES)
        .saturating_add(64 * 1024)
}

#[cfg(test)]
#[path = "requests_tests.rs"]
mod tests;
