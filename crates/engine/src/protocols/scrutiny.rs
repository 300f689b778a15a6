//! Whether an answer was challenged, and what came of it, in the same words for every protocol (C-22).

use roundtable_core::format::counted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::{Block, Tone};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Scrutiny {
    /// Others objected to the answer or to what it rests on.
    Challenged {
        objections: usize,
        /// The objections that were not settled. `None` if the protocol does not follow them up.
        open: Option<usize>,
    },
    /// All agreed before they heard each other, and none objected.
    Unanimous,
    NotChallenged {
        why: String,
    },
}

impl Scrutiny {
    pub(super) fn challenged(objections: usize, open: usize) -> Self {
        Self::Challenged {
            objections,
            open: Some(open),
        }
    }

    pub(super) fn not_challenged(why: impl Into<String>) -> Self {
        Self::NotChallenged { why: why.into() }
    }

    pub fn sentence(&self) -> String {
        match self {
            Self::Challenged { objections, open } => {
                let objections = counted(*objections, "objection");
                match open {
                    Some(0) => format!("Challenged and settled: {objections}, none open."),
                    Some(open) => format!("Challenged: {objections}, {open} open."),
                    None => format!("Challenged: {objections}."),
                }
            }
            Self::Unanimous => {
                "Not challenged: the seats agreed before they heard each other, and none objected."
                    .to_owned()
            }
            Self::NotChallenged { why } => format!("Not challenged: {why}."),
        }
    }

    /// The sentence for a report. An answer that was not challenged, or is still contested, is marked.
    pub(super) fn note(&self) -> Block {
        let tone = match self {
            Self::Challenged {
                open: Some(0) | None,
                ..
            } => Tone::Plain,
            Self::Challenged { .. } | Self::Unanimous | Self::NotChallenged { .. } => Tone::Caution,
        };
        Block::note(self.sentence(), tone)
    }
}
