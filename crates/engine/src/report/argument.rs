//! The argument of a debate by its points instead of its turns: every issue, claim, finding or answer with its story, and the
//! seats that changed their minds.

use roundtable_core::excerpt::excerpt;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Cell, Tone};

/// Length of a text that a model wrote, in characters.
const LINE: usize = 300;

/// The points of a debate, the open ones first, and the moves of its seats by round.
///
/// Texts are plain and on one line. Those that models wrote are untrusted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Argument {
    pub points: Vec<ArgumentPoint>,
    pub moves: Vec<SeatMove>,
}

/// An issue, a claim, a finding or an answer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ArgumentPoint {
    /// `S1`
    pub id: String,
    /// In the words of the seat that raised it.
    pub text: String,
    /// `critical`
    pub label: Option<String>,
    /// `settled in round 2`
    pub outcome: Cell,
    /// From the raising to the settlement.
    pub story: Vec<Episode>,
}

/// What one seat did about a point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Episode {
    /// `None` outside the rounds.
    pub round: Option<u32>,
    pub seat: String,
    /// `opposes it, FACT conflict`
    pub action: String,
    /// In the seat's words.
    pub reason: Option<String>,
}

/// A seat that changed its position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SeatMove {
    pub round: u32,
    pub seat: String,
    /// `GraphQL → REST`
    pub text: String,
    /// `None` if the seat gave none.
    pub reason: Option<String>,
}

impl Argument {
    pub fn is_empty(&self) -> bool {
        self.points.is_empty() && self.moves.is_empty()
    }

    /// The open points first, otherwise as they were raised, and the moves by round.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        self.points.sort_by_key(|point| match point.outcome.tone {
            Tone::Critical => 0,
            Tone::Caution => 1,
            Tone::Plain => 2,
            Tone::Quiet | Tone::Good => 3,
        });
        self.moves.sort_by_key(|moved| moved.round);
        self
    }
}

impl ArgumentPoint {
    pub fn new(id: &str, text: &str, outcome: Cell) -> Self {
        Self {
            id: id.to_owned(),
            text: excerpt(text, LINE),
            label: None,
            outcome,
            story: Vec::new(),
        }
    }

    #[must_use]
    pub fn labelled(self, label: impl Into<String>) -> Self {
        let label = Some(label.into());
        Self { label, ..self }
    }

    /// With the episodes by round, each round in the order in which they are given.
    #[must_use]
    pub fn told(mut self, story: impl IntoIterator<Item = Episode>) -> Self {
        self.story.extend(story);
        self.story
            .sort_by_key(|episode| episode.round.unwrap_or(u32::MAX));
        self
    }
}

impl Episode {
    pub fn new(round: impl Into<Option<u32>>, seat: &str, action: impl Into<String>) -> Self {
        Self {
            round: round.into(),
            seat: seat.to_owned(),
            action: action.into(),
            reason: None,
        }
    }

    #[must_use]
    pub fn because(self, reason: &str) -> Self {
        let reason = Some(excerpt(reason, LINE)).filter(|reason| !reason.is_empty());
        Self { reason, ..self }
    }
}

impl SeatMove {
    pub fn new(round: u32, seat: &str, text: impl Into<String>) -> Self {
        Self {
            round,
            seat: seat.to_owned(),
            text: excerpt(&text.into(), LINE),
            reason: None,
        }
    }

    #[must_use]
    pub fn because(self, reason: Option<&str>) -> Self {
        let reason = reason.map(|reason| excerpt(reason, LINE));
        let reason = reason.filter(|reason| !reason.is_empty());
        Self { reason, ..self }
    }
}
