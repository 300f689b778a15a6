//! The record of a panel for programs: the result with its circumstances, and its schema.

use std::collections::BTreeMap;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::Serialize;
use serde_json::Value;

use super::verdict::Verdict;
use crate::event::{Entry, State};
use crate::fallbacks::StandIn;
use crate::protocols::record_header::RecordHeader;
use crate::totals::Totals;

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "A panel")]
pub struct Record {
    pub id: String,
    /// The time it was opened, RFC 3339.
    pub timestamp: String,
    pub protocol: String,
    pub question: String,
    pub state: State,
    /// Why it is not complete.
    pub reason: Option<String>,
    pub seed: u64,
    /// `provider:model` by seat.
    pub models: BTreeMap<String, String>,
    /// `null` while it runs.
    pub result: Option<Verdict>,
    pub totals: Totals,
    /// Steps that a fallback model answered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answered_instead: Vec<StandIn>,
    /// Replacements and omissions, such as a schema that the server does not accept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
    pub user_rating: Option<u8>,
    pub user_comment: Option<String>,
    /// The version of the program that opened it.
    pub program: String,
}

impl Record {
    /// `None` before the first entry.
    pub fn of(id: &str, timestamp: String, entries: &[Entry]) -> Option<Self> {
        let header = RecordHeader::of(id, timestamp, entries)?;
        Some(Self {
            protocol: header.setup.protocol.clone(),
            question: header.setup.question.clone(),
            state: header.status.state,
            reason: header.status.reason(),
            seed: header.setup.seed,
            result: header.status.verdict(),
            user_rating: header.status.user_rating,
            user_comment: header.status.user_comment.clone(),
            program: header.setup.program.clone(),
            id: header.id,
            timestamp: header.timestamp,
            models: header.models,
            totals: header.totals,
            answered_instead: header.answered_instead,
            notices: header.notices,
        })
    }
}

pub(super) fn schema() -> Value {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<Record>()
        .to_value()
}
