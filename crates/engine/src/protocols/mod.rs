//! The protocols, one folder each, and their registry. Adding one is a line in [`ALL`].

pub mod call;
pub mod councils;
pub mod dialectic;
pub mod forecast;
pub mod grade;
pub mod modes;
mod outcome;
pub mod panel;
mod record_header;
mod replay;
mod result_line;
mod scrutiny;
mod single_call;
mod verdict_header;

use std::sync::Arc;

use serde_json::{Value, json};

use roundtable_core::value::RoundValue;

use crate::estimate;
use crate::event::{End, Entry, State};
use crate::fallbacks;
use crate::journal::current;
use crate::protocol::{AnyProtocol, Subject};
use crate::report::{Block, NextAction, Report, Section, Verdict};
use crate::retrospective::{self, DebateRecord};
use crate::round_value;
use crate::seating;
use crate::table::{Halt, Table};
use crate::transcript::capital;

pub use call::Call;
pub use councils::Councils;
pub use dialectic::Dialectic;
pub use forecast::Forecast;
pub use grade::Grade;
pub use modes::Modes;
pub use panel::Panel;
pub use result_line::result_line;
pub use scrutiny::Scrutiny;

/// In the order in which they are listed. The first is the default.
pub const ALL: &[&dyn AnyProtocol] = &[&Dialectic, &Councils, &Forecast, &Modes, &Panel];

/// Protocols that can be opened and played but are not offered as a way to debate.
const UNLISTED: &[&dyn AnyProtocol] = &[&Call, &Grade];

pub fn named(name: &str) -> Option<&'static dyn AnyProtocol> {
    ALL.iter().copied().find(|protocol| protocol.name() == name)
}

/// The protocol of a stored debate, also one that is not offered.
pub fn of_stored(name: &str) -> Option<&'static dyn AnyProtocol> {
    let mut known = ALL.iter().chain(UNLISTED).copied();
    known.find(|protocol| protocol.name() == name)
}

/// The protocol that this command starts.
pub fn of_command(command: &str) -> Option<&'static dyn AnyProtocol> {
    let mut all = ALL.iter().copied();
    all.find(|protocol| protocol.command() == command)
}

/// The protocols that a question is enough for.
pub fn for_questions() -> impl Iterator<Item = &'static dyn AnyProtocol> {
    let all = ALL.iter().copied();
    all.filter(|protocol| protocol.subject() == Subject::Question)
}

/// The protocol of a follow-up whose caller names none: the parent's, unless that needs more than a question.
pub fn of_follow_up(parent: &str) -> &'static dyn AnyProtocol {
    let same = for_questions().find(|protocol| protocol.name() == parent);
    same.unwrap_or(ALL[0])
}

pub fn names() -> Vec<&'static str> {
    ALL.iter().map(|protocol| protocol.name()).collect()
}

/// The protocol's title; the name itself if this version does not know the protocol.
pub fn title(name: &str) -> String {
    of_stored(name).map_or_else(|| capital(name), |protocol| protocol.title().to_owned())
}

/// Plays a debate to its end and journals that end. A cancelled debate can be resumed.
pub async fn play(table: &Table, protocol: &dyn AnyProtocol) -> Result<Arc<End>, Halt> {
    play_unless(table, protocol, || false).await
}

/// Like [`play`]; `is_interrupted` distinguishes an interruption, such as Ctrl-C, from a person's decision to end the debate.
pub async fn play_unless(
    table: &Table,
    protocol: &dyn AnyProtocol,
    is_interrupted: impl FnOnce() -> bool,
) -> Result<Arc<End>, Halt> {
    let end = match protocol.play(table).await {
        Ok(end) => end,
        Err(Halt::Cancelled) => {
            let state = if is_interrupted() {
                State::Interrupted
            } else {
                State::Cancelled
            };
            End {
                state,
                reason: Some(state.name().into()),
                result: None,
            }
        }
        Err(halt) => {
            table.flush_queue().await?;
            return Err(halt);
        }
    };
    let end = Arc::new(end);
    table.end(Arc::clone(&end)).await?;
    Ok(end)
}

/// Journals the value of a round. Readers are shown it at once: the seats of the next round may think for long.
fn note_value(
    table: &Table,
    round: u32,
    value: Option<RoundValue>,
) -> Result<Option<RoundValue>, Halt> {
    let key = round_value::key(round);
    let noted = value.map(|value| table.memoize_and_announce(&key, || value));
    noted.transpose()
}

/// The report of a debate, at any point of its journal: the protocol's own, fallback models, and the follow-up.
pub fn report(entries: &[Entry]) -> Report {
    let entries = &*current(entries);
    let mut report = of_journal(entries).map_or_else(Report::default, |p| p.report(entries));
    // Also for a debate of an unknown protocol, and before its first turn.
    let verdict = report.verdict.take();
    let mut verdict = verdict.unwrap_or_else(|| verdict_header::header(entries));
    let deviations = [
        fallbacks::section(entries),
        fallbacks::rescued_section(entries),
        fallbacks::notices_section(entries),
        seating::section(entries),
    ];
    for section in deviations.into_iter().flatten() {
        let cautions = section.blocks.iter().filter_map(Block::caution);
        verdict.caveats.extend(cautions.map(str::to_owned));
        report.sections.push(section);
    }
    if verdict.has_result() {
        let read = verdict
            .actions
            .iter()
            .position(|action| *action == NextAction::Read);
        let after = read.map_or(verdict.actions.len(), |read| read + 1);
        verdict.actions.insert(after, NextAction::FollowUp);
    }
    report.verdict = Some(verdict.in_plain_lines());
    report.sections.extend(round_value::section(entries));
    report.sections.extend(estimate::section(entries));
    retrospective::add_follow_up(&mut report, entries);
    report
}

/// The protocol's own verdict, without the cautions that [`report`] adds.
pub(crate) fn verdict(entries: &[Entry]) -> Verdict {
    let entries = &*current(entries);
    let report = of_journal(entries).map(|protocol| protocol.report(entries));
    let verdict = report.and_then(|report| report.verdict);
    let verdict = verdict.unwrap_or_else(|| verdict_header::header(entries));
    verdict.in_plain_lines()
}

/// The state of the debate after its last round, for people who watch it run.
pub fn progress(entries: &[Entry]) -> Option<Section> {
    of_journal(entries)?.progress(&current(entries))
}

/// The protocol's own record, for programs. `None` before the first entry. `timestamp` (RFC 3339) is the opening time.
pub fn record(id: &str, timestamp: String, entries: &[Entry]) -> Option<Value> {
    let entries = &*current(entries);
    let mut record = of_journal(entries)?.record(id, timestamp, entries)?;
    let rescued = fallbacks::rescued(entries);
    if let Some(fields) = record.as_object_mut() {
        if !rescued.is_empty() {
            fields.insert("rescued".into(), json!(rescued));
        }
        if let Some(seating) = seating::of_journal(entries) {
            fields.insert("seating".into(), json!(seating));
        }
        let values = round_value::of_journal(entries);
        if !values.is_empty() {
            let values = values.into_iter().map(|(round, value)| {
                let mut fields = json!(value);
                fields["round"] = json!(round);
                fields
            });
            fields.insert("value".into(), values.collect());
        }
        if let Some(comparison) = estimate::comparison(entries) {
            fields.insert("estimate".into(), json!(comparison));
        }
    }
    Some(record)
}

/// The debate record of the evidence-based design (E-12), for debates of every protocol.
pub fn debate_record(id: &str, entries: &[Entry]) -> Option<DebateRecord> {
    let entries = &*current(entries);
    if let Some(record) = modes::enhanced::record(id, entries) {
        return Some(record);
    }
    let mut record = retrospective::plain_record(id, entries, report(entries).answer)?;
    if let Some(consensus) = &mut record.final_consensus {
        modes::apply_resolution(entries, consensus);
    }
    Some(record)
}

/// The protocol of a journal. `None` before the first entry, and if this version does not know the protocol.
pub fn of_journal(entries: &[Entry]) -> Option<&'static dyn AnyProtocol> {
    let setup = entries.iter().find_map(|entry| entry.event.setup())?;
    of_stored(&setup.protocol)
}

#[cfg(test)]
mod reply_schemas_tests;

#[cfg(test)]
mod small_prompts_tests;
