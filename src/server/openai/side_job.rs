//! Side jobs of chat front ends: titles, tags, follow-up questions and search queries, which they ask of the model of the chat. One
//! call of a fast model answers them; a debate would cost more than the chat.

use roundtable_core::usage::Usage;
use roundtable_engine::budget::Budget;
use roundtable_engine::model::{Message, Request, Speaker};
use roundtable_engine::protocol::Protocol;
use roundtable_engine::protocols::Panel;
use roundtable_engine::table::FastModel;

use axum::http::StatusCode;
use std::sync::Arc;

use super::super::App;
use super::super::access::Caller;
use super::super::problem::Problem;
use super::super::requests::NewDebate;
use super::super::rest;
use super::super::scheduler::progress_sink;
use super::answer::{Answer, TokenUsage, shorten};
use super::ask::{Ask, Role, Turn};
use super::catalog::Choice;
use super::side_call;
use crate::embedded;
use crate::failure::Failure;
use crate::setup::{self, secrets};

const MAX_OUTPUT_TOKENS: u64 = 2000;
const DEFAULT_OUTPUT_TOKENS: u64 = 1000;

/// The tag around a quoted chat.
const HISTORY: (&str, &str) = ("<chat_history>", "</chat_history>");
/// The keys of the JSON that front ends ask for.
const KEYS: [&str; 6] = ["title", "tags", "follow_ups", "queries", "prompt", "text"];
/// How an instruction begins that has no quoted chat.
const OPENINGS: [&str; 4] = [
    // Open WebUI
    "Your task is to reflect the speaker's likely facial expression through a fitting emoji",
    "Create a concise, 3-5 word title",
    // LibreChat
    "Provide a concise, 5-word-or-less title for the conversation",
    "Please generate a concise, 5-word-or-less title for the conversation",
];

/// Whether the request is about a chat instead of being one: a single instruction, with the chat quoted in it.
pub(super) fn is_side_job(turns: &[Turn]) -> bool {
    let (system, said): (Vec<&Turn>, Vec<&Turn>) =
        turns.iter().partition(|turn| turn.role == Role::System);
    let [only] = said.as_slice() else {
        return false;
    };
    let text = only.text.trim_start();
    if only.role != Role::User || !only.images.is_empty() {
        return false;
    }
    // Open WebUI chooses tools this way if the model cannot.
    let chooses_tools = |turn: &&Turn| {
        turn.text.trim_start().starts_with("Available Tools:")
            && turn.text.contains("\"tool_calls\"")
    };
    if system.iter().any(chooses_tools) && text.starts_with("Query: ") {
        return true;
    }
    OPENINGS.iter().any(|opening| text.starts_with(opening)) || asks_about_a_chat(text)
}

/// The instruction around a quoted chat asks for JSON with one of the known keys.
fn asks_about_a_chat(text: &str) -> bool {
    let Some((before, rest)) = text.split_once(HISTORY.0) else {
        return false;
    };
    let Some((_, after)) = rest.rsplit_once(HISTORY.1) else {
        return false;
    };
    let instruction = format!("{before}{after}");
    let asks_for = |key: &&str| instruction.contains(&format!("\"{key}\":"));
    instruction.contains("JSON") && KEYS.iter().any(asks_for)
}

/// Answers with one call.
pub(super) async fn answer(
    app: &Arc<App>,
    caller: &Caller,
    choice: Choice,
    ask: &Ask,
) -> Result<Answer, Problem> {
    app.quotas.check(&app.store, caller).await?;
    let (fast, budget) = fast_model(app, caller, choice).await?;
    let is_remote = fast.name.split(':').next() != Some(embedded::PROVIDER);
    for turn in ask.turns.iter().filter(|_| is_remote) {
        secrets::check_words("/messages", &turn.text)?;
    }
    let model = (fast.seat_model.model.as_ref(), fast.seat_model.price);
    let call = side_call::make(app, caller, &budget, model, request(&fast.name, ask)).await?;
    let text = call.reply.map_err(|error| failed(&fast.name, &error))?;
    let text = roundtable_engine::reply::without_reasoning(&text);
    let mut answer = Answer {
        content: text.trim().to_owned(),
        finish: "stop",
        usage: usage(call.usage),
        roundtable: None,
    };
    shorten(&mut answer, ask);
    Ok(answer)
}

pub(super) fn failed(model: &str, error: &str) -> Problem {
    let message = format!("{model} did not answer: {error}");
    Problem::new(StatusCode::BAD_GATEWAY, "no-answer", message)
}

fn usage(used: Usage) -> TokenUsage {
    let mut usage = TokenUsage::default();
    usage.add(used);
    usage
}

/// The fast model of a panel with the models of the choice, and the budget of the panel. It is found and checked like that of a
/// debate.
async fn fast_model(
    app: &Arc<App>,
    caller: &Caller,
    choice: Choice,
) -> Result<(FastModel, Budget), Problem> {
    let new = NewDebate {
        question: "Which model is fast?".to_owned(),
        model: choice.debate.model,
        budget: choice.debate.budget,
        ..NewDebate::of(Panel::NAME)
    };
    let mut spec = rest::spec_of(app, caller, new).await?;
    spec.policy = caller.policy();
    let prepared = setup::prepare(&app.context, &app.store, spec, &progress_sink()).await?;
    rest::check_recursion(app, &prepared)?;
    let first = || {
        let seated = prepared.setup.seats.first()?;
        Some(FastModel {
            name: seated.model.clone(),
            seat_model: prepared.seat_models.get(&seated.seat.name)?.clone(),
        })
    };
    let fast = setup::fast_model(&app.context, &prepared).or_else(first);
    let fast = fast.ok_or_else(|| Failure::no_model("no model is available"))?;
    Ok((fast, prepared.budget))
}

fn request(model: &str, ask: &Ask) -> Request {
    let (system, said): (Vec<&Turn>, Vec<&Turn>) =
        ask.turns.iter().partition(|turn| turn.role == Role::System);
    let system: Vec<&str> = system.iter().map(|turn| turn.text.as_str()).collect();
    let limit = ask.max_tokens.unwrap_or(DEFAULT_OUTPUT_TOKENS);
    let limit = limit.clamp(1, MAX_OUTPUT_TOKENS);
    Request {
        model: model
            .split_once(':')
            .map_or(model, |(_, model)| model)
            .to_owned(),
        system: system.join("\n\n"),
        messages: said.into_iter().map(message).collect(),
        images: Vec::new(),
        schema: None,
        tools: None,
        temperature: ask.temperature.unwrap_or(0.3),
        max_output_tokens: u32::try_from(limit).unwrap_or(u32::MAX),
        seed: ask.seed.unwrap_or(1),
    }
}

fn message(turn: &Turn) -> Message {
    Message {
        speaker: match turn.role {
            Role::Assistant => Speaker::Assistant,
            Role::System | Role::User | Role::Tool => Speaker::User,
        },
        text: turn.text.clone(),
        shared: false,
        tools: Vec::new(),
    }
}

#[cfg(test)]
#[path = "side_job_tests.rs"]
mod tests;
