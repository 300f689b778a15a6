//! The verdict: the result of a debate on one screen, as data for every surface and for programs.

use roundtable_core::characters::is_deceptive;
use roundtable_core::excerpt::excerpt;
use roundtable_core::usage::Money;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Fact, Tone};
use crate::state::State;

/// Length of [`VerdictAnswer::short`], in characters: five lines of a terminal with 80 columns.
const SHORT: usize = 350;
/// Length of other texts of a verdict that models wrote, in characters. A screen with less room shows their first lines.
const LINE: usize = 300;

/// The result of a debate on one screen: what it says, how far to trust it, and what to do next.
///
/// Every protocol fills it at any point of the journal; while the debate runs it holds the current draft. Texts are plain and
/// on one line, except `answer.full`. Texts that models wrote are untrusted.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "DebateVerdict")]
pub struct Verdict {
    pub state: State,
    /// Whether the answer was challenged.
    pub badge: Badge,
    /// `null` before the first draft.
    pub answer: Option<VerdictAnswer>,
    pub confidence: Option<VerdictConfidence>,
    /// The answer compared with the blind one. `null` if there is nothing to compare yet.
    pub changed: Option<VerdictChange>,
    /// Seats that still disagree with the answer, and why.
    pub dissent: Vec<Dissent>,
    pub caveats: Vec<String>,
    /// Further key figures, such as the probability of each outcome.
    pub figures: Vec<Fact>,
    /// Why the debate stopped. `null` while it runs.
    pub ending: Option<String>,
    /// Seats that did not answer, each reason once.
    pub failures: Vec<SeatFailure>,
    /// The number of rounds that were started.
    pub rounds: u32,
    pub usage: VerdictUsage,
    /// Possible next actions of the user, the most useful first.
    pub actions: Vec<NextAction>,
}

/// How the answer was challenged, in words and with a tone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Badge {
    pub kind: BadgeKind,
    /// `Challenged: 4 objections, 4 settled`
    pub text: String,
    pub tone: Tone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BadgeKind {
    /// Others objected, and no objection is known to be open.
    Challenged,
    /// Others objected, and objections are open.
    Contested,
    /// All agreed before they read each other, and none objected.
    Unanimous,
    NotChallenged,
    /// The debate runs; the answer is a draft.
    Draft,
    /// The debate ended without an answer.
    NoAnswer,
    /// A debate of an earlier version, which did not record it.
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VerdictAnswer {
    /// The decision in one line, if the protocol has one: the chosen option, the likeliest outcome, the score.
    pub headline: Option<String>,
    /// The beginning of the answer as plain text. With the headline at most five lines of 80 columns.
    pub short: String,
    /// The whole answer, as Markdown.
    pub full: String,
    /// Whether the debate may still change it.
    pub is_draft: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct VerdictConfidence {
    /// From 0 to 1.
    pub value: f64,
    /// In the unit of the protocol: `7 of 10`.
    pub shown: String,
    pub reason: Option<String>,
    /// Whether it was lowered because seats did not answer.
    pub is_lowered: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VerdictChange {
    /// Whether the debate reached another answer than the blind one.
    pub is_changed: bool,
    /// `Refined: names a limit for the queue`
    pub text: String,
    /// The blind answer in one line.
    pub blind: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Dissent {
    pub seat: String,
    /// The seat's name for people.
    pub title: String,
    pub position: String,
    pub reason: Option<String>,
}

/// A seat that did not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SeatFailure {
    pub seat: String,
    /// `Skeptic gave no answer in rounds 1 and 2`
    pub text: String,
    /// `cannot reach the server (lab:x: connection refused)`
    pub reason: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct VerdictUsage {
    pub calls: u32,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// In US dollars. `null` if the price of a call is not known.
    pub cost: Option<Money>,
    /// Active time, without pauses.
    pub duration_ms: u64,
}

/// An action that surfaces offer with a button or a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NextAction {
    /// The debate waits for a person's decision.
    Decide,
    /// Ask the seats that did not answer once more.
    Retry,
    /// Continue a debate that was stopped.
    Resume,
    /// Continue with a higher limit.
    RaiseLimit,
    /// Read the rounds.
    Read,
    /// Ask a question about the result in a debate of its own.
    FollowUp,
    Export,
    Rate,
}

impl VerdictAnswer {
    /// Without a headline.
    pub fn new(full: &str) -> Self {
        Self::with_text(full, full)
    }

    /// `text` is the part of the answer that the short form is taken from.
    pub fn with_text(full: &str, text: &str) -> Self {
        Self {
            headline: None,
            short: excerpt(text, SHORT),
            full: full.to_owned(),
            is_draft: false,
        }
    }

    /// A headline that says no less than the short form replaces it.
    #[must_use]
    pub fn headed(mut self, headline: &str) -> Self {
        let headline = excerpt(headline, LINE);
        let plain = |text: &str| text.trim_end_matches(['.', ' ']).to_lowercase();
        if headline.is_empty() || plain(&self.short) == plain(&headline) {
            return self;
        }
        let room = SHORT.saturating_sub(headline.chars().count().max(80));
        self.short = excerpt(&self.short, room);
        self.headline = Some(headline);
        self
    }

    #[must_use]
    pub fn draft(self) -> Self {
        Self {
            is_draft: true,
            ..self
        }
    }

    /// Headline and short form as one text.
    pub fn brief(&self) -> String {
        match &self.headline {
            Some(headline) => format!("{headline}\n{}", self.short),
            None => self.short.clone(),
        }
    }
}

impl VerdictConfidence {
    pub fn new(value: f64, shown: impl Into<String>) -> Self {
        Self {
            value,
            shown: shown.into(),
            reason: None,
            is_lowered: false,
        }
    }

    #[must_use]
    pub fn because(self, reason: Option<&str>) -> Self {
        let reason = reason.map(line).filter(|reason| !reason.is_empty());
        Self { reason, ..self }
    }

    /// `stated` is the confidence before it was lowered, as it is shown.
    #[must_use]
    pub fn lowered_from(self, stated: &str) -> Self {
        let because = self.reason.as_deref();
        let because = because.map_or_else(String::new, |reason| format!("; {reason}"));
        Self {
            reason: Some(format!(
                "lowered from {stated} because answers are missing{because}"
            )),
            is_lowered: true,
            ..self
        }
    }
}

impl VerdictChange {
    pub fn new(is_changed: bool, text: impl Into<String>) -> Self {
        Self {
            is_changed,
            text: line(&text.into()),
            blind: None,
        }
    }

    #[must_use]
    pub fn compared_with(self, blind: Option<&str>) -> Self {
        Self {
            blind: blind.map(line),
            ..self
        }
    }
}

impl Dissent {
    pub fn new(seat: &str, title: String, position: &str, reason: Option<&str>) -> Self {
        let reason = reason.map(line).filter(|reason| !reason.is_empty());
        Self {
            seat: seat.to_owned(),
            title,
            position: line(position),
            reason,
        }
    }
}

impl VerdictUsage {
    pub const fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

impl Badge {
    pub fn new(kind: BadgeKind, text: impl Into<String>, tone: Tone) -> Self {
        Self {
            kind,
            text: text.into(),
            tone,
        }
    }
}

impl Verdict {
    /// Whether it has a final answer, which a follow-up can refer to.
    pub fn has_result(&self) -> bool {
        let is_over = matches!(self.state, State::Complete | State::Partial | State::Failed);
        is_over && self.answer.as_ref().is_some_and(|answer| !answer.is_draft)
    }

    /// Whether no seat has tried to refute the answer: it must not look like one that survived.
    pub fn is_unchallenged(&self) -> bool {
        self.answer.is_some() && self.badge.kind == BadgeKind::NotChallenged
    }

    /// Without markup and deceptive characters in texts that models, servers or users wrote.
    #[must_use]
    pub fn in_plain_lines(mut self) -> Self {
        let caveats = self.caveats.iter().map(|caveat| line(caveat));
        self.caveats = caveats.filter(|caveat| !caveat.is_empty()).collect();
        let mut texts = vec![&mut self.badge.text];
        texts.extend(&mut self.ending);
        for fact in &mut self.figures {
            texts.extend([&mut fact.name, &mut fact.value]);
        }
        for failure in &mut self.failures {
            texts.extend([&mut failure.text, &mut failure.reason]);
        }
        for text in texts {
            text.retain(|c| !is_deceptive(c));
        }
        self
    }

    /// The title of the answer on every surface.
    pub fn title(&self) -> &'static str {
        match (&self.answer, self.badge.kind) {
            (None, BadgeKind::Draft) => "Draft",
            (None, _) => "No answer",
            (Some(answer), _) if answer.is_draft => "Draft",
            (Some(_), BadgeKind::NotChallenged) => "Unchallenged answer",
            (Some(_), BadgeKind::Contested) => "Contested answer",
            (Some(_), _) => "Answer",
        }
    }

    /// The state that surfaces show, if they know more than the journal: see `Transcript::shown_as`.
    #[must_use]
    pub fn shown_as(mut self, state: State) -> Self {
        if let State::Queued | State::Interrupted = state {
            self.state = state;
        }
        if state == State::Interrupted && self.badge.kind == BadgeKind::Draft {
            let text = self.badge.text.trim_start_matches("Interrupted: ");
            self.badge.text = format!("Interrupted: {text}");
        }
        if state == State::Interrupted && !self.actions.contains(&NextAction::Resume) {
            self.actions.insert(0, NextAction::Resume);
        }
        self
    }
}

/// A text of a model on one line.
fn line(text: &str) -> String {
    excerpt(text, LINE)
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
