//! The parts of a debate that the seats of a follow-up read (B-14). Bounded, so that the prompts of a long thread are no longer
//! than those of a short one.

use roundtable_core::excerpt::excerpt;
use serde::{Deserialize, Serialize};

use crate::tokens;

/// The longest context, in tokens: about a page.
const MAX_TOKENS: u64 = 1500;
/// A small model's context has to hold the debate itself too.
const SHARE_OF_CONTEXT: u64 = 8;
/// For the headings around the texts.
const HEADING_TOKENS: u64 = 150;
/// Less of a text is not worth quoting.
const MIN_TOKENS: u64 = 10;
/// Length of an earlier question of the thread, in characters.
const MAX_EARLIER: usize = 160;
/// The first question of a thread says what it is about, the newest ones what its current state is.
const FIRST: usize = 1;
const NEWEST: usize = 3;

/// The debate that another one follows up on, as it was when the follow-up began.
///
/// A part of the follow-up's setup: its prompts stay the same if the parent is rated, resumed or deleted. Its texts were written
/// by a person or by models, and reach prompts only as quotes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    pub id: String,
    pub question: String,
    pub answer: String,
    /// Points that the answer leaves open.
    pub open: Vec<String>,
    /// The seats that disagreed with the answer, and why.
    pub dissent: Vec<String>,
    /// The questions of the thread before the parent's, oldest first.
    pub earlier: Vec<String>,
}

impl Parent {
    /// The room for it, given the tokens of the smallest context of a seat.
    pub fn room(context_tokens: Option<u64>) -> u64 {
        context_tokens.map_or(MAX_TOKENS, |tokens| {
            (tokens / SHARE_OF_CONTEXT).min(MAX_TOKENS)
        })
    }

    /// Its texts in at most `limit` tokens. The answer gets what the others leave.
    #[must_use]
    pub fn within(self, limit: u64) -> Self {
        let question = tokens::shorten(&self.question, limit / 5);
        let earlier = listed(ends_of_thread(&self.earlier), limit / 10);
        let open = listed(self.open, limit / 8);
        let dissent = listed(self.dissent, limit / 8);
        let lists = [&earlier, &open, &dissent];
        let used: u64 = lists
            .into_iter()
            .flatten()
            .map(|text| tokens::count(text))
            .sum();
        let left = limit.saturating_sub(used + tokens::count(&question));
        Self {
            answer: tokens::shorten(&self.answer, left),
            id: self.id,
            question,
            open,
            dissent,
            earlier,
        }
    }

    /// The tokens that it takes of every prompt.
    pub fn tokens(&self) -> u64 {
        let lists = [&self.earlier, &self.open, &self.dissent];
        let texts = lists
            .into_iter()
            .flatten()
            .chain([&self.question, &self.answer]);
        texts.map(|text| tokens::count(text)).sum::<u64>() + HEADING_TOKENS
    }

    /// The questions of the thread before a follow-up to the debate that has this parent.
    pub(crate) fn thread(&self) -> Vec<String> {
        let questions = self.earlier.iter().chain([&self.question]);
        let questions: Vec<String> = questions.map(|text| excerpt(text, MAX_EARLIER)).collect();
        ends_of_thread(&questions)
    }
}

fn ends_of_thread(questions: &[String]) -> Vec<String> {
    let newest = questions.len().saturating_sub(NEWEST).max(FIRST);
    let ends = questions.iter().enumerate();
    ends.filter(|(index, _)| *index < FIRST || *index >= newest)
        .map(|(_, question)| question.clone())
        .collect()
}

/// The first texts, in at most `limit` tokens.
fn listed(texts: Vec<String>, limit: u64) -> Vec<String> {
    let mut left = limit;
    let mut kept = Vec::new();
    for text in texts {
        if left < MIN_TOKENS {
            break;
        }
        let text = tokens::shorten(&text, left);
        left = left.saturating_sub(tokens::count(&text));
        kept.push(text);
    }
    kept
}

#[cfg(test)]
#[path = "parent_tests.rs"]
mod tests;
