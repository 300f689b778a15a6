//! What the adapters share: how a wire format is described, what of a reply has been read so far, and what a server has
//! shown that it does not take.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::time::SystemTime;

use roundtable_core::usage::Usage;
use roundtable_engine::model::{Delta, Finish, Message, Request, Speaker};
use serde::Serialize;

use super::frames::Framing;

/// One provider's way of asking and answering. It holds no connection and does no I/O.
pub(super) trait Wire: Send + Sync {
    fn framing(&self) -> Framing;

    fn call(&self, request: &Request, conceded: Concessions) -> Call;

    /// Reads one frame of a stream, or a reply that came in one piece.
    fn read(&self, frame: &[u8], progress: &mut Progress) -> Result<(), Unread>;

    /// Words by which a refusal names something optional, and what is then given up, in this order.
    fn optional(&self) -> &'static [(&'static str, Concession)];

    fn list_path(&self) -> &'static str;

    fn read_list(&self, body: &[u8]) -> Option<Vec<Listed>>;
}

/// A request, ready to be sent.
#[derive(Debug)]
pub(super) struct Call {
    pub path: Cow<'static, str>,
    pub body: Vec<u8>,
}

/// A model as its provider lists it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Listed {
    pub id: String,
    pub created: Option<SystemTime>,
    /// Of the weights, where the server says it.
    pub bytes: Option<u64>,
}

/// Why a frame could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    /// It is broken or of another form.
    Malformed,
    /// It is the server's report of an error.
    Reported,
}

/// What has come of a reply.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub deltas: VecDeque<Delta>,
    pub usage: Option<Usage>,
    pub finish: Option<Finish>,
    /// The server said that nothing more comes.
    pub done: bool,
    thought: bool,
    spoke: bool,
}

impl Progress {
    pub(super) fn text(&mut self, text: String) {
        if !text.is_empty() {
            self.spoke = true;
            // What has come at once is passed on at once: each piece costs every layer above a little.
            if let Some(Delta::Text(before)) = self.deltas.back_mut() {
                before.push_str(&text);
            } else {
                self.deltas.push_back(Delta::Text(text));
            }
        }
    }

    pub(super) fn reasoning(&mut self, text: String) {
        self.thinks();
        if !text.is_empty() {
            self.deltas.push_back(Delta::Reasoning(text));
        }
    }

    /// The model thinks, whether or not it shows what.
    pub(super) fn thinks(&mut self) {
        self.thought = true;
    }

    pub(super) fn has_thought(&self) -> bool {
        self.thought
    }

    /// The whole allowance went into thinking.
    pub(super) fn is_cut_before_speaking(&self) -> bool {
        self.finish == Some(Finish::Length) && self.thought && !self.spoke
    }
}

/// Something optional that a server refused for a model, so that it is left out from then on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Concession {
    Temperature,
    Seed,
    StreamOptions,
    /// The limit of the reply goes by its other name.
    OtherLimitName,
    NoLimit,
    /// In place of the best way to demand a schema, the second best, and so on.
    SecondStructure,
    ThirdStructure,
    /// The model thinks before it speaks: its limit must leave room for that.
    RoomToThink,
}

/// How many tokens of thought are allowed on top of a reply.
const ROOM_TO_THINK: u32 = 8_192;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Concessions(u8);

impl Concessions {
    pub(super) fn has(self, concession: Concession) -> bool {
        self.0 & (1 << concession as u8) != 0
    }

    #[must_use]
    pub(super) fn with(self, concession: Concession) -> Self {
        Self(self.0 | 1 << concession as u8)
    }

    #[must_use]
    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The limit to send for a reply of this length.
    pub(super) fn limit(self, max_output_tokens: u32) -> u32 {
        if self.has(Concession::RoomToThink) {
            max_output_tokens.saturating_add(ROOM_TO_THINK)
        } else {
            max_output_tokens
        }
    }

    /// The system prompt; where `structure` is conceded, with the demand for a schema in words after it.
    pub(super) fn system(self, structure: Concession, request: &Request) -> Cow<'_, str> {
        match &request.schema {
            Some(schema) if self.has(structure) => Cow::Owned(format!(
                "{}\n\nReply with one JSON object and nothing around it. It has to fit this JSON schema:\n{}",
                request.system, schema.json
            )),
            Some(_) | None => Cow::Borrowed(&request.system),
        }
    }

    /// What to give up after a refusal that says `text`, if it names anything that can be.
    pub(super) fn after(self, text: &str, optional: &[(&str, Concession)]) -> Option<Self> {
        let text = text.to_lowercase();
        // A limit that is only too large goes by the right name already.
        let too_large = text.contains("too large") || text.contains("at most");
        optional
            .iter()
            .filter(|(_, concession)| !(too_large && *concession == Concession::OtherLimitName))
            .find(|(word, concession)| !self.has(*concession) && names(&text, word))
            .map(|(_, concession)| self.with(*concession))
    }
}

/// Whether `word` stands in `text` by itself and not as a part of another word.
fn names(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(part) && !text[at + word.len()..].starts_with(part))
}

/// One message of a chat in the form that most servers take.
#[derive(Debug, Serialize)]
pub(super) struct Turn<'a> {
    role: &'static str,
    content: Cow<'a, str>,
}

/// The system prompt and then the messages; neighbouring ones of one speaker are one message to the provider.
pub(super) fn chat<'a>(system: Cow<'a, str>, messages: &'a [Message]) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'a>> = Vec::with_capacity(1 + messages.len());
    if !system.is_empty() {
        turns.push(Turn {
            role: "system",
            content: system,
        });
    }
    for message in messages.iter().filter(|message| !message.text.is_empty()) {
        let role = match message.speaker {
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
        };
        match turns.last_mut() {
            Some(turn) if turn.role == role => {
                let content = turn.content.to_mut();
                content.push_str("\n\n");
                content.push_str(&message.text);
            }
            Some(_) | None => turns.push(Turn {
                role,
                content: Cow::Borrowed(&message.text),
            }),
        }
    }
    turns
}

/// Names of schemas and tools are refused beyond these characters and this length.
pub(super) fn plain_name(name: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.len() <= 64 && name.chars().all(plain) {
        return Cow::Borrowed(name);
    }
    let name: String = name
        .chars()
        .map(|c| if plain(c) { c } else { '_' })
        .take(64)
        .collect();
    if name.is_empty() {
        Cow::Borrowed("reply")
    } else {
        Cow::Owned(name)
    }
}

/// Servers keep seeds in 32 or 64 bits, signed or not; 31 bits fit all of them.
pub(super) fn narrow_seed(seed: u64) -> u32 {
    let folded = (seed ^ (seed >> 32)) & 0x7fff_ffff;
    u32::try_from(folded).unwrap_or_default()
}

/// A body of plain structs, strings and numbers: writing it cannot fail.
pub(super) fn json(body: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(body).unwrap_or_default()
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
