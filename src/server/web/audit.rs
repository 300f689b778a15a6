//! The page of the audit log, for admins.

use askama::Template;

use super::Frame;
use crate::clock;
use crate::store::{AuditEntry, AuditOutcome};

pub(crate) const PER_PAGE: u32 = 50;

/// An entry as a row of the table.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub number: u64,
    pub stamp: String,
    pub when: String,
    pub who: String,
    pub action: String,
    pub subject: String,
    pub outcome: &'static str,
    pub tone: &'static str,
    pub address: String,
    pub request_id: String,
    pub detail: String,
}

impl Row {
    pub(crate) fn new(entry: &AuditEntry) -> Self {
        let record = &entry.record;
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        Self {
            number: entry.number,
            stamp: clock::stamp(record.at),
            when: clock::day_and_time(record.at),
            who: match &record.who {
                Some(who) => format!("{who} ({})", record.via.name()),
                None => record.via.name().to_owned(),
            },
            action: record.action.clone(),
            subject: text(&record.subject),
            outcome: record.outcome.name(),
            tone: match record.outcome {
                AuditOutcome::Done => "good",
                AuditOutcome::Started | AuditOutcome::Refused => "mid",
                AuditOutcome::Failed => "bad",
            },
            address: text(&record.address),
            request_id: text(&record.request_id),
            detail: text(&record.detail),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct AuditView {
    pub rows: Vec<Row>,
    /// The number before which the next page begins.
    pub older: Option<u64>,
    pub is_first: bool,
}

#[derive(Template)]
#[template(path = "audit.html")]
struct Page {
    frame: Frame,
    view: AuditView,
}

impl AuditView {
    pub(crate) fn page(self, frame: Frame) -> String {
        let page = Page { frame, view: self };
        page.render().unwrap_or_default()
    }
}
