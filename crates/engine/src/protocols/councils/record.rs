//! What programs get of a debate of councils: the result with its circumstances, and the schema it keeps to.

use std::collections::BTreeMap;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::Serialize;
use serde_json::Value;

use super::verdict::Verdict;
use crate::event::{Entry, Event, Setup, State};
use crate::fallbacks::{StandIn, fallbacks};
use crate::totals::Totals;

/// The final JSON. `roundtable schema councils` prints its schema.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "A debate of councils")]
pub struct Record {
    pub id: String,
    /// When it was opened, RFC 3339.
    pub timestamp: String,
    pub protocol: String,
    /// What was judged.
    pub title: String,
    pub state: State,
    /// Why it is not complete, where it is not.
    pub reason: Option<String>,
    pub seed: u64,
    /// `provider:model` by seat.
    pub models: BTreeMap<String, String>,
    /// `null` while it runs.
    pub result: Option<Verdict>,
    /// What it used: in all, by seat and by round.
    pub totals: Totals,
    /// Steps that another model answered than the one that was asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answered_instead: Vec<StandIn>,
    pub user_rating: Option<u8>,
    pub user_comment: Option<String>,
    /// The version of the program that opened it.
    pub program: String,
}

impl Record {
    /// `None` before the first entry.
    pub fn of(id: &str, timestamp: String, entries: &[Entry]) -> Option<Self> {
        let setup = entries.iter().find_map(|entry| entry.event.setup())?;
        let mut record = Self::begun(id, timestamp, setup);
        for entry in entries {
            record.take_up(&entry.event);
        }
        record.totals = Totals::of(entries);
        record.answered_instead = fallbacks(entries);
        Some(record)
    }

    fn begun(id: &str, timestamp: String, setup: &Setup) -> Self {
        let seats = setup.seats.iter();
        Self {
            id: id.to_owned(),
            timestamp,
            protocol: setup.protocol.clone(),
            title: setup.question.clone(),
            state: State::Running,
            reason: None,
            seed: setup.seed,
            models: seats
                .map(|seated| (seated.seat.name.clone(), seated.model.clone()))
                .collect(),
            result: None,
            totals: Totals::default(),
            answered_instead: Vec::new(),
            user_rating: None,
            user_comment: None,
            program: setup.program.clone(),
        }
    }

    fn take_up(&mut self, event: &Event) {
        match event {
            Event::Ended(end) => {
                self.state = end.state;
                self.reason.clone_from(&end.reason);
                let result = end.result.clone();
                self.result = result.and_then(|result| serde_json::from_value(result).ok());
            }
            Event::Reopened { .. } => {
                self.state = State::Running;
                self.reason = None;
                self.result = None;
            }
            Event::Rated {
                rating, comment, ..
            } => {
                self.user_rating = Some(*rating);
                self.user_comment.clone_from(comment);
            }
            Event::Opened(_)
            | Event::RoundStarted { .. }
            | Event::Noted { .. }
            | Event::StepStarted { .. }
            | Event::Chunk { .. }
            | Event::StepRestarted { .. }
            | Event::StepFinished(_)
            | Event::StepFailed(_)
            | Event::Resolved { .. }
            | Event::Tracked { .. }
            | Event::Assessed { .. }
            | Event::Said(_)
            | Event::Asked(_)
            | Event::Decided(_) => {}
        }
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
