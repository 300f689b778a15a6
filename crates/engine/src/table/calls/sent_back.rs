//! Replies that were sent back, as notes of the journal: a killed debate does not repeat their calls (C-08).

use serde::{Deserialize, Serialize};

use super::{Calls, Said, parse};
use crate::event::Spent;
use crate::model::{Fallback, Finish};
use crate::safety::withhold_text;
use crate::table::Halt;
use crate::table::journaling::note_event;

/// Keys of the notes on replies that were sent back, after the step's name.
pub(in crate::table) const SENT_BACK: &str = "sent-back";

pub(super) const SECOND: &str = "sent-back-2";

/// A reply that was sent back, as a note of the journal.
#[derive(Serialize, Deserialize)]
struct SentBack {
    /// Hash of the step's request.
    request: String,
    said: String,
    finish: Finish,
    faults: Vec<String>,
    spent: Spent,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fallback: Option<Fallback>,
}

impl Calls<'_> {
    /// Journals an answered call before another one follows it, unless this is a replay. The reply is kept as it is journaled,
    /// without withheld texts, so that a replay sends the same request.
    pub(super) async fn note_sent_back(
        &self,
        key: &str,
        said: &mut Said,
        faults: &[String],
    ) -> Result<(), Halt> {
        let table = self.question.table;
        let key = format!("{}/{key}", self.step);
        said.text = withhold_text(&said.text);
        if table.replay.note(&key).is_some() {
            return Ok(());
        }
        let now = table.deps.clock.now();
        let sent_back = SentBack {
            request: self.hash.to_owned(),
            said: said.text.clone(),
            finish: said.finish,
            faults: faults.iter().map(|fault| withhold_text(fault)).collect(),
            spent: said.spent,
            fallback: said.fallback.clone(),
        };
        Ok(table.record(note_event(&key, &sent_back, now)?).await?)
    }

    /// The journaled reply of an interrupted run.
    pub(super) fn recall_sent_back(&mut self, key: &str) -> Result<Option<Said>, Halt> {
        let key = format!("{}/{key}", self.step);
        let Some(value) = self.question.table.replay.note(&key) else {
            return Ok(None);
        };
        let noted: SentBack = parse(&key, value)?;
        if noted.request != self.hash {
            return Err(self.drift());
        }
        self.add(&noted.spent);
        self.add_fallback(noted.fallback);
        Ok(Some(Said {
            text: noted.said,
            calls: Vec::new(),
            finish: noted.finish,
            spent: noted.spent,
            fallback: None,
        }))
    }
}
