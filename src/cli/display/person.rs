//! A person who speaks between rounds: the line that they type, and whether the seats have read what they said.

use roundtable_engine::event::{Entry, Event};
use serde_json::Value;

use super::super::output::{self, QUIET, painted};
use super::super::stdin_lines::is_interactive;
use super::Display;

impl Display {
    /// Says that the seats of a new round read what the user has said before it.
    pub(super) fn note_heard(&mut self, step: &str, round: u32) {
        let is_new = round > self.heard_in && step.starts_with(&format!("r{round}/"));
        if !is_new {
            return;
        }
        self.heard_in = round;
        let said = said(&self.entries);
        if said > self.heard {
            self.heard = said;
            let text = format!("     The seats read your message now, in round {round}.");
            self.live.suspend(|| output::note(&painted(QUIET, &text)));
        }
    }

    /// Messages of the user that no seat has read, by the whole journal.
    pub(super) fn unread(&self, entries: &[Entry]) -> usize {
        if !self.may_type {
            return 0;
        }
        let heard = entries.iter().filter_map(|entry| match &entry.event {
            Event::Noted { key, value, .. } => heard_of(key, value),
            _ => None,
        });
        said(entries).saturating_sub(heard.max().unwrap_or(0))
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

fn said(entries: &[Entry]) -> usize {
    let said = entries.iter().filter(|entry| entry.event.said().is_some());
    said.count()
}

/// How many messages of a person the seats have read, if the note says so.
fn heard_of(key: &str, value: &Value) -> Option<usize> {
    key.strip_suffix("/heard")?;
    usize::try_from(value.as_u64()?).ok()
}
