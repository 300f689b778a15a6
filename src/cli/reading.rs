//! A stored debate as commands read it: its account and its report for people, its protocol's record for programs.

use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use roundtable_engine::account::Account;
use roundtable_engine::event::{Entry, Millis};
use roundtable_engine::journal::{Journal, JournalError, Keyed};
use roundtable_engine::protocols::{self, Protocol};
use roundtable_engine::report::Report;
use serde_json::Value;
use uuid::Uuid;

use crate::clock;
use crate::store::{DebateRow, Store};

use super::failure::Failure;

pub(crate) struct Reading {
    pub account: Account,
    pub report: Report,
    created_at: Millis,
    entries: Vec<Entry>,
}

impl Reading {
    pub(crate) async fn of(store: &Store, row: &DebateRow) -> Result<Self, Failure> {
        let entries = store.entries(row.id).await?;
        Self::from(row.id, row.created_at, entries)
    }

    pub(crate) fn from(id: Uuid, created_at: Millis, entries: Vec<Entry>) -> Result<Self, Failure> {
        let Some(account) = Account::of(&id.to_string(), &entries) else {
            return Err(Failure::other(format!(
                "debate {id} was created but has nothing in its journal yet; `roundtable resume {id}` starts it"
            )));
        };
        if Protocol::named(&account.protocol).is_none() {
            return Err(Failure::other(format!(
                "this version does not know the protocol '{}'",
                account.protocol
            )));
        }
        Ok(Self {
            account,
            report: protocols::report(&entries),
            created_at,
            entries,
        })
    }

    /// What programs get.
    pub(crate) fn record(&self) -> Value {
        let opened = clock::stamp(self.created_at);
        protocols::record(&self.account.id, opened, &self.entries).unwrap_or_default()
    }
}

/// A journal that remembers what went through it, so that nobody has to read it again.
pub(crate) struct Remembering {
    journal: Arc<dyn Journal>,
    entries: Mutex<Vec<Entry>>,
}

impl Remembering {
    pub(crate) fn new(journal: Arc<dyn Journal>) -> Self {
        Self {
            journal,
            entries: Mutex::default(),
        }
    }

    /// All that the journal holds. It is empty afterwards.
    pub(crate) fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut *self.entries.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Journal for Remembering {
    fn append(&self, entries: Vec<Keyed>) -> BoxFuture<'_, Result<(), JournalError>> {
        let copies: Vec<Entry> = entries.iter().map(|keyed| keyed.entry.clone()).collect();
        async move {
            self.journal.append(entries).await?;
            let mut kept = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend(copies);
            Ok(())
        }
        .boxed()
    }

    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        async move {
            let entries = self.journal.load().await?;
            let mut kept = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
            kept.clone_from(&entries);
            Ok(entries)
        }
        .boxed()
    }
}
