//! A debate's row, as listings show it.

use jiff::Timestamp;
use roundtable_core::usage::Money;
use roundtable_engine::event::{Millis, State};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use sqlx::Row;
use sqlx::any::AnyRow;
use uuid::Uuid;

use super::errors::Failure;
use super::unsigned;

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Debate")]
pub(crate) struct DebateRow {
    #[schemars(with = "String", extend("format" = "uuid"))]
    pub id: Uuid,
    pub protocol: String,
    pub question: String,
    pub state: State,
    #[serde(serialize_with = "rfc3339")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub created_at: Millis,
    #[serde(serialize_with = "rfc3339")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub updated_at: Millis,
    #[serde(serialize_with = "rfc3339")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub ended_at: Option<Millis>,
    pub totals: Totals,
    #[schemars(range(min = 1, max = 10))]
    pub rating: Option<u8>,
    /// The result in one line, in lists that show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(default)]
    pub result: Option<String>,
    /// The debate that it follows up on; it may have been deleted.
    #[schemars(with = "Option<String>", extend("format" = "uuid"))]
    pub parent: Option<Uuid>,
    /// Whether a server runs it, and resumes it by itself.
    #[serde(skip)]
    pub is_served: bool,
    /// The token that created it; `None` for the command line, an open server and earlier versions.
    #[serde(skip)]
    pub token: Option<Uuid>,
}

/// The usage of all steps of a debate (C-11).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "DebateTotals")]
pub(crate) struct Totals {
    pub calls: u64,
    pub retries: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cached_tokens: u64,
    /// `None` if the price of any call is unknown.
    pub cost_usd: Option<Money>,
}

/// `SELECT` of the columns that [`DebateRow::read`] needs, followed by the given clauses.
macro_rules! select_debates {
    ($rest:literal) => {
        concat!(
            "SELECT id, protocol, question, state, created_at, updated_at, ended_at, calls, retries, input_tokens, \
             output_tokens, cached_tokens, cost_usd, cost_known, rating, served, token_id, parent_id FROM debates ",
            $rest
        )
    };
}
pub(super) use select_debates;

impl DebateRow {
    pub(super) fn read(row: &AnyRow) -> Result<Self, Failure> {
        let number = |column: &str| row.try_get::<i64, _>(column).map(unsigned);
        let id: &str = row.try_get("id")?;
        let state: &str = row.try_get("state")?;
        Ok(Self {
            id: parse_id(id)?,
            protocol: row.try_get("protocol")?,
            question: row.try_get("question")?,
            state: State::ALL
                .into_iter()
                .find(|known| known.name() == state)
                .ok_or_else(|| {
                    Failure::unreadable(format!("debate {id} has the unknown state '{state}'"))
                })?,
            created_at: number("created_at")?,
            updated_at: number("updated_at")?,
            ended_at: row.try_get::<Option<i64>, _>("ended_at")?.map(unsigned),
            totals: Totals::read(row)?,
            rating: row
                .try_get::<Option<i64>, _>("rating")?
                .and_then(|rating| u8::try_from(rating).ok()),
            result: None,
            parent: parse_optional_id(row.try_get("parent_id")?)?,
            is_served: number("served")? == 1,
            token: parse_optional_id(row.try_get("token_id")?)?,
        })
    }
}

impl Totals {
    pub(super) fn read(row: &AnyRow) -> Result<Self, Failure> {
        let number = |column: &str| row.try_get::<i64, _>(column).map(unsigned);
        let cost: f64 = row.try_get("cost_usd")?;
        let cost_known = number("cost_known")?;
        Ok(Self {
            calls: number("calls")?,
            retries: number("retries")?,
            input_tokens: number("input_tokens")?,
            output_tokens: number("output_tokens")?,
            cached_tokens: number("cached_tokens")?,
            // The database adds in floating point; rounding to picodollars makes the sum exact again.
            cost_usd: Money::from_dollars(cost).filter(|_| cost_known == 1),
        })
    }
}

pub(super) fn parse_id(text: &str) -> Result<Uuid, Failure> {
    text.parse()
        .map_err(|error| Failure::unreadable(format!("'{text}' is not a valid id: {error}")))
}

/// `None` for a debate without a token, or without a parent.
fn parse_optional_id(text: &str) -> Result<Option<Uuid>, Failure> {
    (!text.is_empty()).then(|| parse_id(text)).transpose()
}

fn timestamp(at: Millis) -> String {
    let at = Timestamp::from_millisecond(super::signed(at)).unwrap_or(Timestamp::MAX);
    format!("{at:.3}")
}

/// For a time or an optional time.
pub(super) fn rfc3339<S: Serializer>(
    at: &(impl Into<Option<Millis>> + Copy),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    (*at).into().map(timestamp).serialize(serializer)
}
