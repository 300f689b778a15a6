//! A person at the table: speaking between rounds, pausing, deciding (E-09, E-10).
//!
//! An action of a person is journaled before it has any effect, and so is the place where it takes effect: a replay sees the
//! same words at the same place. A debate that needs a decision halts with [`Halt::Waiting`] and is played again once the
//! decision is in its journal.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::replay::Replay;
use super::{Halt, Table, keyed, next_generation};
use crate::event::{Decision, End, Entry, Event, Millis, Query, Setup, Words};
use crate::journal::{Journal, JournalError};

/// The statements of a person, and whether they asked for a pause.
#[derive(Debug, Default)]
pub(super) struct Person {
    said: tokio::sync::Mutex<Vec<Words>>,
    pause_requested: AtomicBool,
}

impl Person {
    pub(super) fn with_words(said: Vec<Words>) -> Self {
        Self {
            said: said.into(),
            pause_requested: AtomicBool::new(false),
        }
    }
}

/// The decision that continues a paused debate.
pub const CONTINUE: &str = "continue";
/// The decision that ends a paused debate.
pub const STOP: &str = "stop";

/// Why a decision was rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecisionError {
    #[error("the debate is not waiting for a decision")]
    NotWaiting,
    #[error("invalid choice '{choice}': expected one of {}", options.join(", "))]
    NoSuchOption {
        choice: String,
        options: Vec<String>,
    },
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl Table {
    /// Journals words of a person and returns their number. Seats see them from the next interlude on.
    pub async fn say(&self, text: String, by: Option<String>) -> Result<u32, JournalError> {
        let mut said = self.person.said.lock().await;
        let number = next_number(&said);
        let words = Words { number, text, by };
        self.record(Event::Said(words.clone())).await?;
        said.push(words);
        Ok(number)
    }

    /// Requests a pause: at the next interlude the debate halts and waits for [`CONTINUE`] or [`STOP`].
    pub fn pause(&self) {
        self.person.pause_requested.store(true, Ordering::Relaxed);
    }

    /// Withdraws a pause request that has not taken effect.
    pub fn cancel_pause(&self) {
        self.person.pause_requested.store(false, Ordering::Relaxed);
    }

    pub fn is_pause_requested(&self) -> bool {
        self.person.pause_requested.load(Ordering::Relaxed)
    }

    /// The point between two rounds or phases, where a person can take part; `place` names what starts next (`r2`,
    /// `synthesis`). Pauses if requested. Returns everything the person has said so far.
    ///
    /// # Errors
    /// [`Halt::Waiting`] while paused, [`Halt::Cancelled`] if the decision is [`STOP`].
    pub async fn interlude(&self, place: &str) -> Result<Vec<Words>, Halt> {
        let key = format!("{place}/heard");
        let known = self.replay.note(&key).map(serde_json::Value::as_u64);
        let visible = if let Some(count) = known {
            usize::try_from(count.unwrap_or_default()).unwrap_or_default()
        } else {
            self.pause_if_requested(place).await?;
            let count = self.person.said.lock().await.len();
            self.defer_note(key, json!(count));
            count
        };
        let said = self.person.said.lock().await;
        Ok(said.iter().take(visible).cloned().collect())
    }

    async fn pause_if_requested(&self, place: &str) -> Result<(), Halt> {
        // The generation is part of the key so that a debate stopped in a pause and reopened does not stop there again.
        let key = format!("{place}/pause{}", self.replay.generation);
        if !self.is_pause_requested() && !self.replay.is_asked(&key) {
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

    /// The journaled decision on a question. If there is none, the question is journaled and the debate waits.
    ///
    /// # Errors
    /// [`Halt::Waiting`] until the decision is in the journal.
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

    /// Like [`note`](Table::note), but written with the next entry.
    fn defer_note(&self, key: String, value: serde_json::Value) {
        let now = self.deps.clock.now();
        let note = Event::Noted {
            key,
            value,
            started_at: now,
        };
        self.write_queue.defer(now, note);
    }
}

/// The question whose decision a debate is waiting for.
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

/// Journals the decision a debate is waiting for. The caller must be the only writer of this journal.
///
/// # Errors
/// [`DecisionError`] if the debate is not waiting, the choice is not an option, or the journal fails.
pub async fn decide(
    journal: &dyn Journal,
    now: Millis,
    choice: String,
    by: Option<String>,
    note: Option<String>,
) -> Result<(), DecisionError> {
    let entries = journal.load().await?;
    let query = open_question(&entries).ok_or(DecisionError::NotWaiting)?;
    if !query.options.contains(&choice) {
        return Err(DecisionError::NoSuchOption {
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

/// Journals words of a person while no table is open. The caller must be the only writer of this journal.
pub async fn say_offline(
    journal: &dyn Journal,
    now: Millis,
    text: String,
    by: Option<String>,
) -> Result<u32, JournalError> {
    let entries = journal.load().await?;
    let said: Vec<Words> = words_in(&entries).cloned().collect();
    let number = next_number(&said);
    let words = Event::Said(Words { number, text, by });
    append_one(journal, &entries, now, words).await?;
    Ok(number)
}

/// Ends a debate while no table is open, such as a waiting one. The caller must be the only writer of this journal.
pub async fn end_offline(
    journal: &dyn Journal,
    now: Millis,
    setup: &Setup,
    end: End,
) -> Result<(), JournalError> {
    let mut entries = journal.load().await?;
    if entries.is_empty() {
        // The debate never started; its setup is journaled nevertheless.
        let opened = Event::Opened(Arc::new(setup.clone()));
        append_one(journal, &entries, now, opened).await?;
        entries = journal.load().await?;
    }
    let reopened = next_generation(&entries);
    let generation = reopened.unwrap_or_else(|| Replay::of(&entries).generation);
    let next = entries.last().map_or(1, |last| last.seq + 1);
    let reopening = reopened.map(|generation| Event::Reopened {
        generation,
        from: None,
    });
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

/// Everything a person said in this journal.
pub(super) fn words_in(entries: &[Entry]) -> impl Iterator<Item = &Words> {
    entries.iter().filter_map(|entry| {
        if let Event::Said(words) = &entry.event {
            Some(words)
        } else {
            None
        }
    })
}

pub(super) async fn append_one(
    journal: &dyn Journal,
    entries: &[Entry],
    at: Millis,
    event: Event,
) -> Result<(), JournalError> {
    let seq = entries.last().map_or(1, |last| last.seq + 1);
    let entry = Entry { seq, at, event };
    // The keys of words and decisions do not contain the generation.
    journal.append(vec![keyed(&entry, 0)]).await
}

fn next_number(said: &[Words]) -> u32 {
    said.last().map_or(1, |last| last.number + 1)
}

#[cfg(test)]
#[path = "person_tests.rs"]
mod tests;
