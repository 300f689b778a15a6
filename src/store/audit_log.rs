//! The audit log: who did what, when, from where, and with which outcome. Append-only; triggers refuse anything else.
//!
//! An action has two entries: `started`, which is durable before anything is changed, and its outcome. So no action is missing,
//! even if the process dies in the middle. A listing leaves out `started` if the outcome is there.

use roundtable_core::format::truncated;
use roundtable_engine::event::Millis;
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::errors::{Failure, Fault, StoreError};
use super::row::rfc3339;
use super::{Store, signed, unsigned};

/// An entry before it has a number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct AuditRecord {
    #[serde(serialize_with = "rfc3339")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub at: Millis,
    /// The name of the token or of the local user; null if unknown.
    pub who: Option<String>,
    pub via: Via,
    /// Such as `sign-in`, `token-added` or `debate-deleted`.
    pub action: String,
    /// The debate, token or model concerned.
    pub subject: Option<String>,
    pub outcome: AuditOutcome,
    /// The client's address.
    pub address: Option<String>,
    /// As in the header `x-request-id` and in the server's log.
    pub request_id: Option<String>,
    pub detail: Option<String>,
}

/// An entry of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct AuditEntry {
    /// Rises with time. A listing skips the numbers of entries that only say that an action has started.
    pub number: u64,
    #[serde(flatten)]
    pub record: AuditRecord,
}

/// How the actor was identified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Via {
    Token,
    /// A user of this machine.
    CommandLine,
    /// A request to a server that needs no token.
    OpenServer,
    /// Not identified.
    Nobody,
}

impl Via {
    const ALL: [Self; 4] = [
        Self::Token,
        Self::CommandLine,
        Self::OpenServer,
        Self::Nobody,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::CommandLine => "command-line",
            Self::OpenServer => "open-server",
            Self::Nobody => "nobody",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AuditOutcome {
    /// No outcome was recorded: the process stopped before.
    Started,
    Done,
    Refused,
    Failed,
}

impl AuditOutcome {
    const ALL: [Self; 4] = [Self::Started, Self::Done, Self::Refused, Self::Failed];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}

/// Which entries to read; by default all, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AuditSelection {
    /// At this time or later.
    pub since: Millis,
    /// Only entries with a smaller number.
    pub before: Option<u64>,
    pub limit: u32,
}

impl Default for AuditSelection {
    fn default() -> Self {
        Self {
            since: 0,
            before: None,
            limit: u32::MAX,
        }
    }
}

/// Two processes may choose the same number; the second tries again with the next.
const MAX_ATTEMPTS: u32 = 20;
const MAX_TEXT_CHARS: usize = 500;
/// An outcome is looked for in this many entries after the start of its action.
const MAX_ENTRIES_BETWEEN: u64 = 1_000;

impl Store {
    pub(crate) async fn append_audit(&self, record: &AuditRecord) -> Result<(), StoreError> {
        let mut attempt = 1;
        loop {
            match self.insert_audit(record).await {
                Err(failure) if failure.fault == Fault::Duplicate && attempt < MAX_ATTEMPTS => {
                    attempt += 1;
                }
                done => return done.map_err(|failure| self.failed(failure)),
            }
        }
    }

    async fn insert_audit(&self, record: &AuditRecord) -> Result<(), Failure> {
        // PostgreSQL does not accept NUL in text.
        let text = |text: Option<&String>| {
            let text = text.map_or("", String::as_str).replace('\0', "\u{fffd}");
            truncated(&text, MAX_TEXT_CHARS)
        };
        let query = sqlx::query(
            "INSERT INTO audit_log (number, at, who, via, action, subject, outcome, address, request_id, detail) \
             SELECT COALESCE(MAX(number), 0) + 1, $1, $2, $3, $4, $5, $6, $7, $8, $9 FROM audit_log",
        )
        .bind(signed(record.at))
        .bind(text(record.who.as_ref()))
        .bind(record.via.name())
        .bind(record.action.as_str())
        .bind(text(record.subject.as_ref()))
        .bind(record.outcome.name())
        .bind(text(record.address.as_ref()))
        .bind(text(record.request_id.as_ref()))
        .bind(text(record.detail.as_ref()));
        self.writer.change(query).await.map(drop)
    }

    /// Newest first.
    pub(crate) async fn audit_log(
        &self,
        selection: AuditSelection,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        let query = sqlx::query(
            "SELECT number, at, who, via, action, subject, outcome, address, request_id, detail FROM audit_log \
             WHERE at >= $1 AND number < $2 AND NOT (outcome = 'started' AND EXISTS (SELECT 1 FROM audit_log AS later \
             WHERE later.number > audit_log.number AND later.number <= audit_log.number + $4 \
             AND later.request_id = audit_log.request_id AND later.who = audit_log.who \
             AND later.outcome <> 'started')) ORDER BY number DESC LIMIT $3",
        )
        .bind(signed(selection.since))
        .bind(selection.before.map_or(i64::MAX, signed))
        .bind(i64::from(selection.limit))
        .bind(signed(MAX_ENTRIES_BETWEEN));
        self.read_all(query, read).await
    }
}

fn read(row: &AnyRow) -> Result<AuditEntry, Failure> {
    let number = unsigned(row.try_get("number")?);
    let text = |column: &str| -> Result<Option<String>, Failure> {
        let text: String = row.try_get(column)?;
        Ok(Some(text).filter(|text| !text.is_empty()))
    };
    let unreadable =
        |what: &str| Failure::unreadable(format!("the {what} of entry {number} of the audit log"));
    let (via, outcome): (&str, &str) = (row.try_get("via")?, row.try_get("outcome")?);
    let mut known = Via::ALL.into_iter();
    let via = known.find(|known| known.name() == via);
    let mut known = AuditOutcome::ALL.into_iter();
    let outcome = known.find(|known| known.name() == outcome);
    Ok(AuditEntry {
        number,
        record: AuditRecord {
            at: unsigned(row.try_get("at")?),
            who: text("who")?,
            via: via.ok_or_else(|| unreadable("source"))?,
            action: row.try_get("action")?,
            subject: text("subject")?,
            outcome: outcome.ok_or_else(|| unreadable("outcome"))?,
            address: text("address")?,
            request_id: text("request_id")?,
            detail: text("detail")?,
        },
    })
}

#[cfg(test)]
#[path = "audit_log_tests.rs"]
mod tests;
