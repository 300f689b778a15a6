//! The protocols: each one file of ordinary async Rust that reads like its design. Users extend data, not this list.

pub mod councils;
pub mod dialectic;
pub mod forecast;
pub mod modes;
mod outcome;

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::event::{End, Entry, State};
use crate::fallbacks;
use crate::journal::JournalError;
use crate::report::{Report, Section};
use crate::retrospective;
use crate::table::{Halt, Table};
use crate::transcript::capital;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Dialectic,
    Councils,
    Forecast,
    Modes,
}

impl Protocol {
    pub const ALL: [Self; 4] = [Self::Dialectic, Self::Councils, Self::Forecast, Self::Modes];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Dialectic => "dialectic",
            Self::Councils => "councils",
            Self::Forecast => "forecast",
            Self::Modes => "modes",
        }
    }

    /// What people call a debate of it: its own name says how it works rather than what it gives.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Dialectic => "Dialectic",
            Self::Councils => "Judgement",
            Self::Forecast => "Forecast",
            Self::Modes => "Debate",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|protocol| protocol.name() == name)
    }
}

/// How a protocol is called in a listing; one that this version does not know by the name it has.
pub fn title(name: &str) -> String {
    Protocol::named(name).map_or_else(|| capital(name), |it| it.title().to_owned())
}

/// Plays a debate to its end and journals that end. An interrupted debate is ended too, as cancelled: it can be resumed.
pub async fn play(table: &Table, protocol: Protocol) -> Result<Arc<End>, Halt> {
    let outcome = match protocol {
        Protocol::Dialectic => {
            let rules: dialectic::Rules = rules_of(table)?;
            dialectic::dialectic(table, &rules)
                .await
                .and_then(|verdict| end_of(verdict.state(), verdict.reason(), &verdict))
        }
        Protocol::Councils => {
            let rules: councils::Rules = rules_of(table)?;
            councils::councils(table, &rules)
                .await
                .and_then(|verdict| end_of(verdict.state(), verdict.reason(), &verdict))
        }
        Protocol::Forecast => {
            let rules: forecast::Rules = rules_of(table)?;
            forecast::forecast(table, &rules)
                .await
                .and_then(|verdict| end_of(verdict.state(), verdict.reason(), &verdict))
        }
        Protocol::Modes => {
            let rules: modes::Rules = rules_of(table)?;
            modes::modes(table, &rules)
                .await
                .and_then(|verdict| end_of(verdict.outcome(), verdict.reason(), &verdict))
        }
    };
    let end = match outcome {
        Ok(end) => end,
        Err(Halt::Cancelled) => End {
            state: State::Cancelled,
            reason: Some("interrupted".into()),
            result: None,
        },
        Err(halt) => {
            table.flush_queue().await?;
            return Err(halt);
        }
    };
    let end = Arc::new(end);
    table.end(Arc::clone(&end)).await?;
    Ok(end)
}

/// What a debate has to show, at any moment of its journal, with who really answered and what became of its decision since.
pub fn report(entries: &[Entry]) -> Report {
    let mut report = debated(entries);
    report.sections.extend(fallbacks::section(entries));
    retrospective::after(&mut report, entries);
    report
}

fn debated(entries: &[Entry]) -> Report {
    match protocol_of(entries) {
        Some(Protocol::Dialectic) => dialectic::report(entries),
        Some(Protocol::Councils) => councils::report(entries),
        Some(Protocol::Forecast) => forecast::report(entries),
        Some(Protocol::Modes) => modes::report(entries),
        None => Report::default(),
    }
}

/// Where a debate stands after its last round, for those who watch it run; `None` where there is no such thing.
pub fn progress(entries: &[Entry]) -> Option<Section> {
    match protocol_of(entries)? {
        Protocol::Modes => modes::progress(entries),
        Protocol::Dialectic | Protocol::Councils | Protocol::Forecast => None,
    }
}

/// What programs get of a debate: the protocol's own record, as its design has it. `None` before the first entry.
/// `timestamp` is when the debate was opened, RFC 3339.
pub fn record(id: &str, timestamp: String, entries: &[Entry]) -> Option<Value> {
    match protocol_of(entries)? {
        Protocol::Dialectic => {
            let trace = dialectic::Trace::of(id, timestamp, entries)?;
            serde_json::to_value(trace).ok()
        }
        Protocol::Councils => {
            let record = councils::Record::of(id, timestamp, entries)?;
            serde_json::to_value(record).ok()
        }
        Protocol::Forecast => {
            let result = forecast::DebateResult::of(id, timestamp, entries)?;
            serde_json::to_value(result).ok()
        }
        Protocol::Modes => {
            let record = modes::record(id, timestamp, entries)?;
            serde_json::to_value(record).ok()
        }
    }
}

fn protocol_of(entries: &[Entry]) -> Option<Protocol> {
    let setup = entries.iter().find_map(|entry| entry.event.setup())?;
    Protocol::named(&setup.protocol)
}

fn rules_of<R: DeserializeOwned>(table: &Table) -> Result<R, Halt> {
    R::deserialize(&table.setup().rules).map_err(|error| corrupt(&error))
}

fn end_of(state: State, reason: Option<String>, result: &impl Serialize) -> Result<End, Halt> {
    let result: Value = serde_json::to_value(result).map_err(|error| corrupt(&error))?;
    Ok(End {
        state,
        reason,
        result: Some(result),
    })
}

fn corrupt(error: &serde_json::Error) -> Halt {
    Halt::Journal(JournalError::Corrupt {
        detail: error.to_string(),
    })
}
