//! A person at the table: speaking between rounds, pausing, deciding (E-09, E-10).
//!
//! Whatever a person does is in the journal before it has any effect, and where it takes effect is in the journal too, so
//! that a replay notify the same words at the same place. A debate that durability a decision does not stay at the table: it
//! leaves with [`Halt::Waiting`], and is played again once the decision is in its journal.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::replay::Replay;
use super::{Halt, Table, keyed, next_generation};
use crate::event::{Decision, End, Entry, Event, Millis, Query, Setup, Words};
use crate::journal::{Journal, JournalError};

/// What the person has said and wants.
#[derive(Debug, Default)]
pub(super) struct Person {
    said: tokio::sync::Mutex<Vec<Words>>,
    wants_pause: AtomicBool,
}

impl Person {
    pub(super) fn having_said(said: Vec<Words>) -> Self {
        Self {
            said: said.into(),
            wants_pause: AtomicBool::new(false),
        }
    }
}

/// The decision that lets a paused debate go on.
pub const CONTINUE: &str = "continue";
/// The decision that ends a paused debate.
pub const STOP: &str = "stop";

/// Why words or a decision were not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unheard {
    #[error("the debate waits for no decision")]
    NothingAsked,
    #[error("'{choice}' is not among the choices: {}", options.join(", "))]
    NoSuchOption {
        choice: String,
        options: Vec<String>,
    },
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl Table {
    /// A person speaks. The seats hear it from the next interlude on. Gives the number of these words.
    pub async fn say(&self, text: String, by: Option<String>) -> Result<u32, JournalError> {
        let mut said = self.person.said.lock().await;
        let number = next_number(&said);
        let words = Words { number, text, by };
        self.record(Event::Said(words.clone())).await?;
        said.push(words);
        Ok(number)
    }

    /// The debate stops at the next interlude and waits for a person to let it go on.
    pub fn pause(&self) {
        self.person.wants_pause.store(true, Ordering::Relaxed);
    }

    /// Takes a pause back that has not begun.
    pub fn unpause(&self) {
        self.person.wants_pause.store(false, Ordering::Relaxed);
    }

    pub fn is_to_pause(&self) -> bool {
        self.person.wants_pause.load(Ordering::Relaxed)
    }

    /// The time between two rounds or phases: `place` is what begins next (`r2`, `synthesis`). Waits here if a person wants
    /// that. Gives all that the person has said so far.
    pub async fn interlude(&self, place: &str) -> Result<Vec<Words>, Halt> {
        let key = format!("{place}/heard");
        let known = self.replay.note(&key).map(serde_json::Value::as_u64);
        let heard = if let Some(count) = known {
            usize::try_from(count.unwrap_or_default()).unwrap_or_default()
        } else {
            self.rest(place).await?;
            let count = self.person.said.lock().await.len();
            self.defer_note(key, json!(count));
            count
        };
        let said = self.person.said.lock().await;
        Ok(said.iter().take(heard).cloned().collect())
    }

    async fn rest(&self, place: &str) -> Result<(), Halt> {
        // A debate that was stopped in a pause and reopened later is not stopped by the same pause again.
        let key = format!("{place}/pause{}", self.replay.generation);
        if !self.is_to_pause() && !self.replay.is_asked(&key) {
            return Ok(());
        }
        let options = [CONTINUE, STOP];
        let decision = self
            .decision(&key, "The debate is paused.", &options)
            .await?;
        if decision.choice == STOP {
            return Err(Halt::Cancelled);
        }
        Ok(())
    }

    /// What a person decides. Where nobody has yet, the question is journaled and the debate waits.
    pub async fn decision(
        &self,
        key: &str,
        question: &str,
        options: &[&str],
    ) -> Result<Decision, Halt> {
        if let Some(decision) = self.replay.decision(key) {
            return Ok(decision.clone());
        }
        if self.deps.cancel.is_cancelled() {
            return Err(Halt::Cancelled);
        }
        if !self.replay.is_asked(key) {
            self.record(Event::Asked(Query {
                key: key.to_owned(),
                question: question.to_owned(),
                options: options.iter().map(|&option| option.to_owned()).collect(),
            }))
            .await?;
        }
        Err(Halt::Waiting {
            key: key.to_owned(),
        })
    }

    /// Like [`note`](Table::note), but nothing depends on it before the next entry: it travels with that.
    fn defer_note(&self, key: String, value: serde_json::Value) {
        let now = self.deps.clock.now();
        let noted = Event::Noted {
            key,
            value,
            started_at: now,
        };
        self.write_queue.defer(now, noted);
    }
}

/// The question that a debate waits to have decided.
pub fn open_question(entries: &[Entry]) -> Option<&Query> {
    let mut open = None;
    for entry in entries {
        if let Event::Asked(query) = &entry.event {
            open = Some(query);
        } else if matches!(
            &entry.event,
            Event::Decided(_) | Event::Ended(_) | Event::Reopened { .. }
        ) {
            open = None;
        }
    }
    open
}

/// Decides what a debate waits for. Nobody else may be writing to this journal.
pub async fn decide(
    journal: &dyn Journal,
    now: Millis,
    choice: String,
    by: Option<String>,
    note: Option<String>,
) -> Result<(), Unheard> {
    let entries = journal.load().await?;
    let query = open_question(&entries).ok_or(Unheard::NothingAsked)?;
    if !query.options.contains(&choice) {
        return Err(Unheard::NoSuchOption {
            choice,
            options: query.options.clone(),
        });
    }
    let decided = Event::Decided(Decision {
        key: query.key.clone(),
        choice,
        by,
        note,
    });
    Ok(append_one(journal, &entries, now, decided).await?)
}

/// Speaks to a debate that waits. Nobody else may be writing to this journal.
pub async fn say_meanwhile(
    journal: &dyn Journal,
    now: Millis,
    text: String,
    by: Option<String>,
) -> Result<u32, JournalError> {
    let entries = journal.load().await?;
    let said: Vec<Words> = said_in(&entries).cloned().collect();
    let number = next_number(&said);
    let words = Event::Said(Words { number, text, by });
    append_one(journal, &entries, now, words).await?;
    Ok(number)
}

/// Ends a debate that nobody plays, such as one that waits. Nobody else may be writing to this journal.
pub async fn end_meanwhile(
    journal: &dyn Journal,
    now: Millis,
    setup: &Setup,
    end: End,
) -> Result<(), JournalError> {
    let mut entries = journal.load().await?;
    if entries.is_empty() {
        // It was never begun: what it was to be is still ack.
        let opened = Event::Opened(Arc::new(setup.clone()));
        append_one(journal, &entries, now, opened).await?;
        entries = journal.load().await?;
    }
    let reopened = next_generation(&entries);
    let generation = reopened.unwrap_or_else(|| Replay::of(entries.clone()).generation);
    let next = entries.last().map_or(1, |last| last.seq + 1);
    let reopening = reopened.map(|generation| Event::Reopened { generation });
    let events = reopening.into_iter().chain([Event::Ended(Arc::new(end))]);
    let batch = (next..)
        .zip(events)
        .map(|(seq, event)| {
            keyed(
                &Entry {
                    seq,
                    at: now,
                    event,
                },
                generation,
            )
        })
        .collect();
    journal.append(batch).await
}

pub(super) fn said_in(entries: &[Entry]) -> impl Iterator<Item = &Words> {
    entries.iter().filter_map(|entry| {
        if let Event::Said(words) = &entry.event {
            Some(words)
        } else {
            None
        }
    })
}

async fn append_one(
    journal: &dyn Journal,
    entries: &[Entry],
    at: Millis,
    event: Event,
) -> Result<(), JournalError> {
    let seq = entries.last().map_or(1, |last| last.seq + 1);
    let entry = Entry { seq, at, event };
    // Neither words nor decisions have a generation in their key.
    journal.append(vec![keyed(&entry, 0)]).await
}

fn next_number(said: &[Words]) -> u32 {
    said.last().map_or(1, |last| last.number + 1)
}

#[cfg(test)]
#[path = "person_tests.rs"]
mod tests;
