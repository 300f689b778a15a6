//! A stored debate as commands read it: its account and its report for people, its protocol's record for programs.

use roundtable_engine::account::Account;
use roundtable_engine::event::{Entry, Millis};
use roundtable_engine::protocols;
use roundtable_engine::report::Report;
use serde_json::Value;
use uuid::Uuid;

use crate::clock;
use crate::store::{DebateRow, Store};

use super::failure::Failure;

pub(crate) struct Reading {
    pub account: Account,
    pub report: Report,
    pub record: Value,
}

impl Reading {
    pub(crate) async fn of(store: &Store, row: &DebateRow) -> Result<Self, Failure> {
        let entries = store.entries(row.id).await?;
        Self::from(row.id, row.created_at, &entries)
    }

    pub(crate) fn from(id: Uuid, created_at: Millis, entries: &[Entry]) -> Result<Self, Failure> {
        let text = id.to_string();
        let account = Account::of(&text, entries);
        let record = protocols::record(&text, clock::stamp(created_at), entries);
        match (account, record) {
            (Some(account), Some(record)) => Ok(Self {
                account,
                report: protocols::report(entries),
                record,
            }),
            (Some(account), None) => Err(Failure::other(format!(
                "this version does not know the protocol '{}'",
                account.protocol
            ))),
            (None, _) => Err(Failure::other(format!(
                "debate {id} was created but has nothing in its journal yet; `roundtable resume {id}` starts it"
            ))),
        }
    }
}
