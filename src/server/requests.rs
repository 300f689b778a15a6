//! Request bodies. Each type defines the schema in the OpenAPI document and the validation of requests, which reports
//! everything that is wrong at once.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::{FromRequest, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use jsonschema::Validator;
use roundtable_core::usage::Money;
use roundtable_engine::budget::Budget;
use roundtable_engine::cast::CastChoice;
use roundtable_engine::depth::Depth;
use roundtable_engine::preset::Preset;
use roundtable_engine::protocols::{self, forecast};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::new_token::{NewToken, TokenChange};
use super::openai::{ChatRequest, ResponsesRequest};
use super::problem::Problem;
use super::share_api::NewShare;
use super::{App, off_runtime};
use crate::config::Limits;
use crate::failure::Fault;
use crate::models::ModelPolicy;
use crate::setup::{DebateSpec, Models};
use crate::sources;

/// Limit on the time a body takes to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_INPUT_CHARS: usize = 20_000;
/// The limits of a budget, for requests that no schema has checked.
const MAX_TOKENS: u64 = 1_000_000_000_000;
const MIN_TIME: Duration = Duration::from_millis(1);
const MAX_TIME: Duration = Duration::from_hours(365 * 24);

/// Starts a debate.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = rules_by_protocol)]
pub(crate) struct NewDebate {
    /// How the debate is played.
    #[serde(default = "first_protocol")]
    #[schemars(extend("enum" = protocols::names()))]
    pub protocol: String,
    /// The question, or the text to judge. Required unless the rules contain it: `parts` of councils, `request` of a forecast.
    #[serde(default)]
    #[schemars(length(min = 1), extend("default" = null))]
    pub question: String,
    /// The cast. Defaults to the protocol's own.
    #[serde(default)]
    pub cast: Option<String>,
    /// The model of all seats, as `provider:model`. Defaults to the configuration, or to a model that is found.
    #[serde(default)]
    pub model: Option<String>,
    /// The model of single seats: `{"skeptic": "provider:model"}`.
    #[serde(default)]
    pub seats: BTreeMap<String, String>,
    /// How thorough the debate is. `rules` win over it.
    #[serde(default)]
    pub depth: Depth,
    /// The rules of the protocol that differ from the configuration.
    #[serde(default)]
    #[schemars(schema_with = "rules")]
    pub rules: Map<String, Value>,
    /// Texts that the seats may search and cite: Markdown, text, HTML or CSV, by the name's extension. Only for protocols
    /// that read sources.
    #[serde(default)]
    #[schemars(length(max = 20))]
    pub sources: Vec<GivenSource>,
    /// Limits of the debate. Limits left out, and those above the configured ones, are taken from the configuration.
    #[serde(default)]
    #[schemars(with = "BudgetRequest")]
    pub budget: Option<BudgetRequest>,
    /// Sends text to providers even if it contains likely secrets, such as keys and tokens. The server's configuration has to
    /// permit it (`limits.allow_secrets`).
    #[serde(default)]
    pub allow_secrets: bool,
    /// Seed for all randomness.
    #[serde(default)]
    #[schemars(range(max = 9_007_199_254_740_991_u64))]
    pub seed: Option<u64>,
    /// The id of a finished debate that this one follows up on: the seats also read its question, its answer, what that leaves
    /// open, and who disagreed. Not for protocols that judge a text.
    #[serde(default, rename = "continue")]
    #[schemars(with = "Option<String>", extend("format" = "uuid"))]
    pub parent: Option<String>,
}

/// A text for the seats to read.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenSource {
    /// Such as `notes.md`.
    #[schemars(length(min = 1, max = 200))]
    pub name: String,
    #[schemars(length(min = 1))]
    pub text: String,
}

/// When a limit is reached, the debate ends with the best result so far.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::struct_field_names,
    reason = "the names are what callers write"
)]
pub(crate) struct BudgetRequest {
    #[serde(default)]
    #[schemars(range(min = 1, max = MAX_TOKENS))]
    pub max_tokens: Option<u64>,
    /// In US dollars.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub max_cost: Option<f64>,
    #[serde(default)]
    #[schemars(range(min = 0.001, max = 31_536_000))]
    pub max_seconds: Option<f64>,
}

/// A message to the seats, which see it from the next round on.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct InputRequest {
    #[schemars(length(min = 1, max = 20_000))]
    pub text: String,
    /// The author of the message.
    #[serde(default)]
    #[schemars(length(max = 200))]
    pub by: Option<String>,
}

/// The decision that a debate waits for.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DecisionRequest {
    /// One of the options in the debate's `waiting_for`; `continue` or `stop` for a paused debate.
    #[schemars(length(min = 1, max = 200))]
    pub choice: String,
    #[serde(default)]
    #[schemars(length(max = 200))]
    pub by: Option<String>,
    #[serde(default)]
    #[schemars(length(max = 20_000))]
    pub note: Option<String>,
}

/// Resumes a debate.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResumeRequest {
    /// Limits that replace those the debate was started with. Limits left out stay as they are; the configured ones hold in any
    /// case.
    #[serde(default)]
    #[schemars(with = "BudgetRequest")]
    pub budget: Option<BudgetRequest>,
}

/// A person's rating of the answer.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RatingRequest {
    #[schemars(range(min = 1, max = 10))]
    pub rating: u8,
    #[serde(default)]
    #[schemars(length(max = 20_000))]
    pub comment: Option<String>,
}

/// A request of the forecasting contract. The protocol validates it, because the contract's rules go beyond a schema.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct DebateRequest(pub Value);

impl JsonSchema for DebateRequest {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        forecast::DebateRequest::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        forecast::DebateRequest::json_schema(generator)
    }
}

impl Content for DebateRequest {
    fn validator() -> Option<&'static Validator> {
        None
    }
}

/// The outcome of a forecast. `null` withdraws an earlier resolution.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResolutionRequest {
    /// The outcome that happened: its id, its label, or the number or date that the question asks for.
    #[schemars(length(min = 1, max = 200))]
    pub outcome: Option<String>,
    #[serde(default)]
    #[schemars(length(max = 200))]
    pub by: Option<String>,
}

fn first_protocol() -> String {
    protocols::ALL[0].name().to_owned()
}

/// The input of each protocol.
fn rules(generator: &mut SchemaGenerator) -> Schema {
    let inputs = protocols::ALL.iter().map(|protocol| {
        let mut schema = protocol.input_schema(generator);
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("title".into(), protocol.name().into());
        }
        schema
    });
    json_schema!({
        "type": "object",
        "default": {},
        "anyOf": inputs.collect::<Vec<_>>(),
    })
}

/// Adds to the schema which of the inputs belongs to which protocol; without a protocol it is the first one's.
fn rules_by_protocol(schema: &mut Schema) {
    let inputs = schema.pointer("/properties/rules/anyOf");
    let inputs = inputs.and_then(Value::as_array).cloned();
    let first = first_protocol();
    let conditions = inputs.into_iter().flatten().map(|input| {
        let name = input["title"].clone();
        let mut protocol = json!({ "properties": { "protocol": { "const": name } } });
        if name != first {
            protocol["required"] = json!(["protocol"]);
        }
        json!({ "if": protocol, "then": { "properties": { "rules": input } } })
    });
    let conditions: Vec<Value> = conditions.collect();
    schema.insert("allOf".into(), conditions.into());
}

impl NewDebate {
    /// One that leaves everything to the configuration, without a question.
    pub(crate) fn of(protocol: &str) -> Self {
        Self {
            protocol: protocol.to_owned(),
            question: String::new(),
            cast: None,
            model: None,
            seats: BTreeMap::new(),
            rules: Map::new(),
            sources: Vec::new(),
            budget: None,
            allow_secrets: false,
            seed: None,
            depth: Depth::default(),
            parent: None,
        }
    }

    /// The debate of a preset, without a question. A preset names a known protocol.
    pub(crate) fn of_preset(preset: Preset) -> Self {
        let protocol = preset.protocol().unwrap_or(protocols::ALL[0]);
        let budget = preset.budget;
        Self {
            cast: preset.cast,
            model: preset.model,
            seats: preset.seats,
            depth: preset.depth,
            rules: preset.rules,
            budget: Some(BudgetRequest {
                max_tokens: budget.max_tokens,
                max_cost: budget.max_cost,
                max_seconds: budget.max_seconds,
            }),
            ..Self::of(protocol.name())
        }
    }

    pub(crate) fn spec(self, limits: &Limits) -> Result<DebateSpec, Problem> {
        let mut faults = Vec::new();
        let protocol = protocols::named(&self.protocol);
        if protocol.is_none() {
            let known = protocols::names().join(", ");
            faults.push(Fault::new(
                "/protocol",
                format!("unknown protocol '{}'; known: {known}", self.protocol),
            ));
        }
        if self.allow_secrets && !limits.allow_secrets {
            let message =
                "this server does not permit allow_secrets: remove the secrets from the request";
            faults.push(Fault::new("/allow_secrets", message));
        }
        let requested = self.budget.unwrap_or_default().budget(&mut faults);
        let texts = self.sources.iter();
        let texts = texts.map(|source| (source.name.as_str(), source.text.as_str()));
        let sources = sources::texts(texts).unwrap_or_else(|found| {
            faults.extend(found);
            Vec::new()
        });
        let budget = requested.within(limits.budget());
        match protocol {
            Some(protocol) if faults.is_empty() => Ok(DebateSpec {
                protocol,
                question: self.question,
                // A name: a request must not read files of the server.
                cast: self.cast.map(CastChoice::Named),
                models: Models {
                    all: self.model,
                    seats: self.seats,
                },
                input: Value::Object(self.rules),
                depth: self.depth,
                budget,
                seed: self.seed,
                sources,
                fallback_local: false,
                policy: ModelPolicy::default(),
                allow_secrets: self.allow_secrets,
                is_estimate: false,
                // Added by the caller of this function, which knows what the token sees.
                parent: None,
            }),
            _ => Err(Problem::invalid(faults)),
        }
    }
}

impl BudgetRequest {
    pub(crate) fn budget(self, faults: &mut Vec<Fault>) -> Budget {
        let max_cost = self.max_cost.and_then(|dollars| {
            let money = Money::from_dollars(dollars);
            if money.is_none() {
                let message =
                    format!("invalid amount {dollars}: expected US dollars, such as 0.50");
                faults.push(Fault::new("/budget/max_cost", message));
            }
            money
        });
        let max_ms = self.max_seconds.and_then(|seconds| {
            let time = Duration::try_from_secs_f64(seconds).ok();
            let time = time.filter(|time| (MIN_TIME..=MAX_TIME).contains(time));
            if time.is_none() {
                let message =
                    format!("invalid duration of {seconds} s: expected a millisecond to a year");
                faults.push(Fault::new("/budget/max_seconds", message));
            }
            time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
        });
        let max_tokens = self.max_tokens.filter(|tokens| {
            let is_valid = (1..=MAX_TOKENS).contains(tokens);
            if !is_valid {
                let message =
                    format!("invalid number of tokens {tokens}: expected 1 to {MAX_TOKENS}");
                faults.push(Fault::new("/budget/max_tokens", message));
            }
            is_valid
        });
        Budget {
            max_tokens,
            max_cost,
            max_ms,
        }
    }
}

/// A request body with the validator of its schema.
pub(crate) trait Content: DeserializeOwned + JsonSchema + Send + 'static {
    /// The value of an empty body, if that is allowed.
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
content!(NewToken);
content!(TokenChange);
content!(InputRequest);
content!(DecisionRequest);
content!(RatingRequest);
content!(ResolutionRequest);
content!(forecast::EnsembleRequest);
content!(ChatRequest);
content!(ResponsesRequest);
content!(NewShare, absent: NewShare::default());
content!(ResumeRequest, absent: ResumeRequest::default());

/// A validated body, with its bytes as they were sent.
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
                "the body must be JSON, with `content-type: application/json`",
            ));
        }
        let content = if bytes.len() <= MAX_INLINE_BYTES {
            parsed(&bytes)?
        } else {
            let bytes = bytes.clone();
            off_runtime(move || parsed(&bytes)).await??
        };
        Ok(Self { content, bytes })
    }
}

/// Checks the fields of a form like the body of the same request to the API.
pub(crate) fn checked_form<T: Content + Serialize>(content: &T) -> Result<T, Problem> {
    checked(json!(content))
}

/// A body of this length is parsed in a few milliseconds.
const MAX_INLINE_BYTES: usize = 64 * 1024;

fn parsed<T: Content>(bytes: &[u8]) -> Result<T, Problem> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| {
        Problem::new(
            StatusCode::BAD_REQUEST,
            "malformed",
            format!("the body is not valid JSON: {error}"),
        )
    })?;
    checked(value)
}

fn checked<T: Content>(mut value: Value) -> Result<T, Problem> {
    if T::validator().is_some() {
        as_integers(&mut value);
    }
    if let Some(validator) = T::validator() {
        let faults: Vec<Fault> = validator
            .iter_errors(&value)
            // The protocol validates its rules itself and reports all faults together.
            .filter(|error| !error.instance_path().to_string().starts_with("/rules"))
            .map(|error| Fault::new(error.instance_path().to_string(), short(&error.to_string())))
            .collect();
        if !faults.is_empty() {
            return Err(Problem::invalid(faults));
        }
    }
    serde_json::from_value(value).map_err(|error| Problem::invalid_at("", error.to_string()))
}

/// JSON Schema counts `1.0` as an integer; serde does not.
fn as_integers(value: &mut Value) {
    /// The largest integer up to which every integer is a float.
    const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) if number.is_f64() => {
            let whole = number.as_f64();
            let whole = whole.filter(|real| real.fract() == 0.0 && real.abs() <= MAX_EXACT);
            #[expect(clippy::cast_possible_truncation, reason = "a whole number in range")]
            if let Some(whole) = whole {
                *value = json!(whole as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(as_integers),
        Value::Object(fields) => fields.values_mut().for_each(as_integers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A message may contain the whole body; keep its beginning and end.
fn short(message: &str) -> String {
    const MAX: usize = 300;
    let length = message.chars().count();
    if length <= MAX {
        return message.to_owned();
    }
    let head: String = message.chars().take(MAX / 2).collect();
    let tail: String = message.chars().skip(length - MAX / 2).collect();
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

/// Reads the body before the handler does, so that every kind of body has the same limits on size and time.
pub(super) async fn within_limits(
    State(limit): State<usize>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if request.body().is_end_stream() {
        return Ok(next.run(request).await);
    }
    let (head, body) = request.into_parts();
    let bytes = read(Request::from_parts(head.clone(), body), limit).await?;
    let request = Request::from_parts(head, Body::from(bytes));
    Ok(next.run(request).await)
}

/// Reads a body of at most `limit` bytes within the time limit.
pub(super) async fn read(request: Request, limit: usize) -> Result<bytes::Bytes, Problem> {
    let too_large = || {
        Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too-large",
            format!("the body is larger than {limit} bytes"),
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
                "the body did not arrive within {} s",
                BODY_TIMEOUT.as_secs()
            ),
        )),
    }
}

/// Limit on the sources of a request; longer ones are for the command line.
const MAX_SOURCE_BYTES: usize = 1024 * 1024;

/// The largest body: the longest question, its sources, and room for the rest.
pub(super) fn body_limit(limits: &Limits) -> usize {
    let question = usize::try_from(limits.max_question_tokens.saturating_mul(8));
    question
        .unwrap_or(usize::MAX)
        .max(MAX_INPUT_CHARS * 6)
        .saturating_add(MAX_SOURCE_BYTES)
        .saturating_add(64 * 1024)
}

#[cfg(test)]
#[path = "requests_tests.rs"]
mod tests;
