//! Finished debates as training data (P-08): chats for fine-tuning, pairs for preference training.

use roundtable_core::dataset::Candidate;
use serde::Serialize;

use super::trace::Trace;
use crate::event::State;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Example {
    pub messages: Vec<Message>,
}

/// The first answer against the final one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Preference {
    pub prompt: Vec<Message>,
    pub chosen: Vec<Message>,
    pub rejected: Vec<Message>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    pub role: &'static str,
    pub content: String,
}

/// `None` without a final answer, and for a debate that is not complete.
pub fn candidate(trace: &Trace, created_at: u64) -> Option<Candidate> {
    if trace.state != State::Complete {
        return None;
    }
    let verdict = trace.result.as_ref()?;
    Some(Candidate {
        question: trace.query.clone(),
        answer: verdict.answer.clone()?,
        rounds: trace.total_rounds,
        auto_score: trace.auto_score,
        user_rating: trace.user_rating.map(f64::from),
        created_at,
    })
}

pub fn example(trace: &Trace) -> Option<Example> {
    let answer = trace.result.as_ref()?.answer.clone()?;
    Some(Example {
        messages: vec![user(&trace.query), assistant(answer)],
    })
}

/// `None` without a final answer, and if both answers are the same.
pub fn preference(trace: &Trace) -> Option<Preference> {
    let verdict = trace.result.as_ref()?;
    let chosen = verdict.answer.clone()?;
    let rejected = verdict.worth.first.as_ref()?.answer.clone();
    (chosen != rejected).then(|| Preference {
        prompt: vec![user(&trace.query)],
        chosen: vec![assistant(chosen)],
        rejected: vec![assistant(rejected)],
    })
}

fn user(content: &str) -> Message {
    Message {
        role: "user",
        content: content.to_owned(),
    }
}

fn assistant(content: String) -> Message {
    Message {
        role: "assistant",
        content,
    }
}
