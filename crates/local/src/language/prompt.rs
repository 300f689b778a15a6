//! From a request to tokens, in the model's own chat format.
//!
//! It promises that the text of a message is only ever text: if it holds the marks that separate speakers, they are
//! ordinary letters to the model.

use llama_cpp_2::model::{LlamaChatMessage, LlamaChatTemplate, LlamaModel};
use llama_cpp_2::token::LlamaToken;
use roundtable_engine::model::{ModelError, Request, Speaker};

use crate::runtime::failed;

/// What most models without a template of their own understand.
const COMMON_TEMPLATE: &str = "chatml";

pub(super) fn tokens(request: &Request, model: &LlamaModel) -> Result<Vec<LlamaToken>, ModelError> {
    let turns = turns(request);
    // The template gets stand-ins for the texts, so that what is markup and what is text is known afterwards.
    let chat: Vec<LlamaChatMessage> = (0..)
        .zip(&turns)
        .map(|(index, turn)| LlamaChatMessage::new(turn.role.to_owned(), stand_in(index)))
        .collect::<Result<_, _>>()
        .map_err(|error| failed(format!("a message cannot be formatted: {error}")))?;
    let markup = render(model, &chat)?;
    let vocabulary = model.vocab();
    let mut tokens = Vec::new();
    let mut rest = markup.as_str();
    for (index, turn) in (0..).zip(&turns) {
        let (before, after) = rest.split_once(&stand_in(index)).ok_or_else(|| {
            failed("its chat template drops a message; use a model with a common template")
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
    LlamaChatTemplate::new(COMMON_TEMPLATE)
        .map_err(|error| failed(error.to_string()))
        .and_then(|template| {
            model
                .apply_chat_template(&template, chat, true)
                .map_err(|error| failed(format!("the messages cannot be formatted: {error}")))
        })
}

/// Two characters for private use around a number: no template touches them.
fn stand_in(index: u32) -> String {
    format!("\u{e000}{index}\u{e001}")
}

#[derive(Debug, PartialEq, Eq)]
struct Turn {
    role: &'static str,
    text: String,
}

/// The system text first, if there is any; neighbouring messages of one speaker joined by a blank line.
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
