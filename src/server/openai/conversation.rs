//! From the messages of a client to a question with quoted, bounded context.

use axum::http::StatusCode;
use roundtable_engine::protocol::{Conversation, excess_tokens};
use roundtable_engine::tokens;

use super::super::problem::Problem;
use super::ask::{Role, Turn, invalid};
use crate::config::Limits;

/// Question and context together. Every seat reads them in every prompt, and a small model has 8,000 tokens of context.
const MAX_TOKENS: u64 = 2000;
/// For the headings around the context.
const HEADINGS: u64 = 60;
/// Less of a message is not worth quoting.
const MIN_QUOTE: u64 = 20;

/// The last user message is the question. Of the others, instructions come first and then the newest messages, as far as they
/// fit.
pub(super) fn conversation(turns: &[Turn], limits: &Limits) -> Result<Conversation, Problem> {
    let Some(last) = turns.iter().rposition(|turn| turn.role == Role::User) else {
        return Err(invalid(
            "/messages",
            "expected a message with the role 'user'",
        ));
    };
    let asked = &turns[last];
    if asked.text.trim().is_empty() && asked.images.is_empty() {
        return Err(invalid("/messages", "the last user message is empty"));
    }
    if let Some(count) = excess_tokens(&asked.text, limits.max_question_tokens) {
        let message = format!(
            "the last user message has {count} tokens; the limit is {} (max_question_tokens in [limits])",
            limits.max_question_tokens
        );
        return Err(invalid("/messages", message)
            .renamed(StatusCode::BAD_REQUEST, "context-length-exceeded"));
    }
    let others: Vec<&Turn> = turns
        .iter()
        .enumerate()
        .filter(|(index, turn)| *index != last && !turn.text.trim().is_empty())
        .map(|(_, turn)| turn)
        .collect();
    let room = MAX_TOKENS
        .min(limits.max_question_tokens)
        .saturating_sub(tokens::count(&asked.text) + HEADINGS);
    Ok(Conversation {
        question: asked.text.clone(),
        context: context(&others, room),
        images: asked.images.clone(),
    })
}

fn context(turns: &[&Turn], room: u64) -> Option<String> {
    let (instructions, said): (Vec<&Turn>, Vec<&Turn>) =
        turns.iter().partition(|turn| turn.role == Role::System);
    let mut left = room;
    // Instructions must not push out the whole conversation.
    let mut first = if said.is_empty() { room } else { room / 2 };
    let mut rules = Vec::new();
    for turn in instructions {
        let before = first;
        rules.extend(quoted(&turn.text, &mut first));
        left -= before - first;
    }
    let mut quotes = Vec::new();
    for turn in said.into_iter().rev() {
        let Some(quote) = quoted(&format!("{}: {}", turn.role.title(), turn.text), &mut left)
        else {
            break;
        };
        quotes.push(quote);
    }
    quotes.reverse();
    let part = |title: &str, quotes: Vec<String>| {
        (!quotes.is_empty()).then(|| format!("{title}\n\n{}", quotes.join("\n>\n")))
    };
    let parts: Vec<String> = [
        part("Instructions of the application that asks:", rules),
        part("Said earlier in this conversation, for context:", quotes),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

/// The text as a Markdown quote of at most `left` tokens, which it takes from it.
fn quoted(text: &str, left: &mut u64) -> Option<String> {
    if *left < MIN_QUOTE {
        return None;
    }
    // The marks of the quote take a token per line.
    let lines: Vec<String> = text
        .trim()
        .lines()
        .map(|line| format!("> {line}"))
        .collect();
    let quote = tokens::shorten(&lines.join("\n"), *left);
    *left = left.saturating_sub(tokens::count(&quote));
    Some(quote)
}

#[cfg(test)]
#[path = "conversation_tests.rs"]
mod tests;
