//! Tokenizes a request in the model's chat template.
//!
//! The text of a message is always plain text: template markers in it do not become control tokens.

use llama_cpp_2::model::{LlamaChatMessage, LlamaChatTemplate, LlamaModel};
use llama_cpp_2::token::LlamaToken;
use roundtable_engine::model::{ModelError, Request, Speaker};

use crate::runtime::local_error;

/// For models without a template; most understand this one.
const FALLBACK_TEMPLATE: &str = "chatml";

pub(super) fn tokens(request: &Request, model: &LlamaModel) -> Result<Vec<LlamaToken>, ModelError> {
    let turns = turns(request);
    // The template is rendered with placeholders, so that markup and message texts can be tokenized differently.
    let chat: Vec<LlamaChatMessage> = (0..)
        .zip(&turns)
        .map(|(index, turn)| LlamaChatMessage::new(turn.role.to_owned(), placeholder(index)))
        .collect::<Result<_, _>>()
        .map_err(|error| local_error(format!("cannot format a message: {error}")))?;
    let markup = render(model, &chat)?;
    let vocabulary = model.vocab();
    let mut tokens = Vec::new();
    let mut rest = markup.as_str();
    for (index, turn) in (0..).zip(&turns) {
        let (before, after) = rest.split_once(&placeholder(index)).ok_or_else(|| {
            local_error(
                "the model's chat template drops a message; use a model with a standard template",
            )
        })?;
        tokens.extend(vocabulary.tokenize(before.as_bytes(), tokens.is_empty(), true));
        tokens.extend(vocabulary.tokenize(turn.text.as_bytes(), false, false));
        rest = after;
    }
    tokens.extend(vocabulary.tokenize(rest.as_bytes(), tokens.is_empty(), true));
    Ok(tokens)
}

fn render(model: &LlamaModel, chat: &[LlamaChatMessage]) -> Result<String, ModelError> {
    if let Ok(template) = model.chat_template(None)
        && let Ok(markup) = model.apply_chat_template(&template, chat, true)
    {
        return Ok(markup);
    }
    LlamaChatTemplate::new(FALLBACK_TEMPLATE)
        .map_err(|error| local_error(error.to_string()))
        .and_then(|template| {
            model
                .apply_chat_template(&template, chat, true)
                .map_err(|error| local_error(format!("cannot format the messages: {error}")))
        })
}

/// A number between two private-use characters, which no template alters.
fn placeholder(index: u32) -> String {
    format!("\u{e000}{index}\u{e001}")
}

#[derive(Debug, PartialEq, Eq)]
struct Turn {
    role: &'static str,
    text: String,
}

/// The system text first, if any; consecutive messages of one speaker are joined by a blank line.
fn turns(request: &Request) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    if !request.system.is_empty() {
        turns.push(Turn {
            role: "system",
            text: request.system.clone(),
        });
    }
    for message in &request.messages {
        let role = match message.speaker {
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
        };
        match turns.last_mut() {
            Some(last) if last.role == role => {
                last.text.push_str("\n\n");
                last.text.push_str(&message.text);
            }
            Some(_) | None => turns.push(Turn {
                role,
                text: message.text.clone(),
            }),
        }
    }
    turns
}
