//! A person who speaks between rounds: the line that they type, and whether the seats have read what they said.

use roundtable_engine::event::Event;
use serde_json::Value;

use super::super::output::{self, QUIET, painted};
use super::super::stdin_lines::is_interactive;
use super::Display;

impl Display {
    /// Says that the seats read what the user has said.
    pub(super) fn note_heard(&mut self, key: &str, value: &Value) {
        let Some(count) = heard_of(key, value).filter(|count| *count > self.heard) else {
            return;
        };
        self.heard = count;
        let text = painted(QUIET, "     The seats read your message now.");
        self.live.suspend(|| output::note(&text));
    }

    /// Messages of the user that no seat has read.
    pub(super) fn unread(&self) -> usize {
        if !self.may_type {
            return 0;
        }
        let said = self
            .entries
            .iter()
            .filter(|entry| entry.event.said().is_some());
        let heard = self.entries.iter().filter_map(|entry| match &entry.event {
            Event::Noted { key, value, .. } => heard_of(key, value),
            _ => None,
        });
        said.count().saturating_sub(heard.max().unwrap_or(0))
    }

    /// Whether the user types into the block that is redrawn.
    pub(crate) fn has_input_line(&self) -> bool {
        self.is_live && self.may_type && is_interactive()
    }

    pub(crate) fn set_draft(&mut self, draft: String) {
        self.draft = draft;
        if self.has_input_line() && !self.running.is_empty() {
            self.draw_live();
        }
    }
}

/// How many messages of a person the seats have read, if the note says so.
fn heard_of(key: &str, value: &Value) -> Option<usize> {
    key.strip_suffix("/heard")?;
    usize::try_from(value.as_u64()?).ok()
}
