//! The JSON record of a councils debate, and its published schema.

use std::collections::BTreeMap;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::Serialize;
use serde_json::Value;

use super::verdict::Verdict;
use crate::event::{Entry, State};
use crate::fallbacks::StandIn;
use crate::protocols::record_header::RecordHeader;
use crate::totals::Totals;

/// The final JSON. `roundtable schema councils` prints its schema.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "A debate of councils")]
pub struct Record {
    pub id: String,
    /// The opening time, RFC 3339.
    pub timestamp: String,
    pub protocol: String,
    /// A short name of the content.
    pub title: String,
    pub state: State,
    /// Why the debate is not complete.
    pub reason: Option<String>,
    pub seed: u64,
    /// `provider:model` by seat.
    pub models: BTreeMap<String, String>,
    /// `null` while the debate runs.
    pub result: Option<Verdict>,
    /// Tokens, calls and cost: in total, by seat and by round.
    pub totals: Totals,
    /// Steps that a fallback model answered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answered_instead: Vec<StandIn>,
    /// Replacements and omissions, such as a schema that the server does not accept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
    pub user_rating: Option<u8>,
    pub user_comment: Option<String>,
    /// The version of the program that opened the debate.
    pub program: String,
}

impl Record {
    /// `None` before the first entry.
    pub fn of(id: &str, timestamp: String, entries: &[Entry]) -> Option<Self> {
        let header = RecordHeader::of(id, timestamp, entries)?;
        let (setup, status) = (header.setup, header.status);
        Some(Self {
            id: header.id,
            timestamp: header.timestamp,
            protocol: setup.protocol.clone(),
            title: setup.question.clone(),
            state: status.state,
            reason: status.reason(),
            seed: setup.seed,
            models: header.models,
            result: status.verdict(),
            totals: header.totals,
            answered_instead: header.answered_instead,
            notices: header.notices,
            user_rating: status.user_rating,
            user_comment: status.user_comment,
            program: setup.program.clone(),
        })
    }
}

/// The published schema of the final JSON (T-10).
pub fn schema() -> Value {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<Record>()
        .to_value()
}
