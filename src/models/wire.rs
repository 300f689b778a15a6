//! What the adapters share: how a wire format is described, what of a reply has been read so far, and what a server has
//! shown that it does not take.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::time::SystemTime;

use roundtable_core::usage::Usage;
use roundtable_engine::model::{
    Delta, Finish, Message, Offer, Request, Speaker, Tool, ToolCall, ToolPart, Tools,
};
use serde::Serialize;
use serde_json::{Value, json};

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
    /// Calls of tools as far as they have come, each with the provider's number for it.
    calls: Vec<(u64, ToolCall)>,
    /// The request offers tools beside a reply of this name.
    reply_beside_tools: Option<String>,
}

/// No model has use for more calls at once, or for longer arguments.
const MOST_CALLS: usize = 64;
const LONGEST_ARGUMENTS: usize = 64 * 1024;

/// A piece of a call of a tool. What a provider leaves out belongs to the call before.
#[derive(Debug, Default)]
pub(super) struct CallPart {
    pub place: Option<u64>,
    pub id: Option<String>,
    pub name: Option<String>,
    pub arguments: String,
    pub signature: Option<String>,
}

impl Progress {
    pub(super) fn of(request: &Request) -> Self {
        let schema = request.schema.as_ref();
        let name = schema.map_or_else(String::new, |schema| plain_name(&schema.name).into_owned());
        Self {
            reply_beside_tools: request.tools.as_ref().map(|_| name),
            ..Self::default()
        }
    }

    /// Whether a tool of this name is called, and not the reply handed in as one.
    pub(super) fn is_call(&self, name: &str) -> bool {
        self.reply_beside_tools
            .as_deref()
            .is_some_and(|reply| reply != name)
    }

    pub(super) fn call(&mut self, part: CallPart) {
        self.spoke = true;
        let id = part.id.unwrap_or_default();
        let is_other = |call: &ToolCall| !id.is_empty() && !call.id.is_empty() && call.id != id;
        let known = match part.place {
            Some(place) => self.calls.iter().rposition(|(at, _)| *at == place),
            None => self.calls.len().checked_sub(1),
        };
        // Some servers number all calls of a reply alike, or not at all; ids tell them apart.
        match known.filter(|at| !is_other(&self.calls[*at].1)) {
            Some(at) => {
                let call = &mut self.calls[at].1;
                if call.name.is_empty() {
                    call.name = part.name.unwrap_or_default();
                }
                if call.id.is_empty() {
                    call.id = id;
                }
                if call.arguments.len() + part.arguments.len() <= LONGEST_ARGUMENTS {
                    call.arguments.push_str(&part.arguments);
                }
                call.signature = call.signature.take().or(part.signature);
            }
            None if self.calls.len() < MOST_CALLS => {
                let place = part.place.unwrap_or(self.calls.len() as u64);
                let call = ToolCall {
                    id,
                    name: part.name.unwrap_or_default(),
                    arguments: part.arguments,
                    signature: part.signature,
                };
                self.calls.push((place, call));
            }
            None => {}
        }
    }

    /// A call that came in one piece.
    pub(super) fn whole_call(&mut self, part: CallPart) {
        // A place of its own, behind all others.
        let place = self.calls.iter().map(|(at, _)| at + 1).max().unwrap_or(0);
        self.call(CallPart {
            place: Some(place),
            ..part
        });
    }

    pub(super) fn has_call(&self, place: u64) -> bool {
        self.calls.iter().any(|(at, _)| *at == place)
    }

    /// All calls are there, or as much of them as will ever be. Each gets an id of its own.
    pub(super) fn hand_over_calls(&mut self) {
        let calls = std::mem::take(&mut self.calls);
        let mut given: Vec<String> = Vec::new();
        for (number, (_, mut call)) in (1..).zip(calls) {
            if call.id.is_empty() || given.contains(&call.id) {
                call.id = format!("call_{number}");
            }
            given.push(call.id.clone());
            self.deltas.push_back(Delta::Call(call));
        }
    }

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
    /// The model or its server knows no tools.
    Tools,
}

/// How many tokens of thought are allowed on top of a reply.
const ROOM_TO_THINK: u32 = 8_192;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Concessions(u16);

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

    /// The tools that are told to the model.
    pub(super) fn tools(self, request: &Request) -> Option<&Tools> {
        let tools = request.tools.as_ref();
        tools.filter(|_| !self.has(Concession::Tools))
    }

    /// The tools that the model may call now.
    pub(super) fn open_tools(self, request: &Request) -> Option<&[Tool]> {
        let open = self.tools(request).filter(|it| it.offer == Offer::Open);
        open.map(|tools| tools.list.as_slice())
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
}

impl<'a> Turn<'a> {
    fn new(role: &'static str, content: Cow<'a, str>) -> Self {
        Self {
            role,
            content,
            tool_calls: Vec::new(),
            tool_call_id: None,
            tool_name: None,
        }
    }
}

/// How two kinds of server write calls of tools and their results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallForm {
    /// By ids, arguments as text.
    Ids,
    /// By names, arguments as an object.
    Names,
}

impl CallForm {
    fn call(self, call: &ToolCall) -> Value {
        match self {
            Self::Ids => json!({
                "id": call.id, "type": "function",
                "function": { "name": call.name, "arguments": call.arguments },
            }),
            Self::Names => json!({
                "function": { "name": call.name, "arguments": arguments(call) },
            }),
        }
    }

    fn result<'a>(self, id: &'a str, name: &'a str, text: &'a str) -> Turn<'a> {
        let turn = Turn::new("tool", Cow::Borrowed(text));
        match self {
            Self::Ids => Turn {
                tool_call_id: Some(id),
                ..turn
            },
            Self::Names => Turn {
                tool_name: Some(name),
                ..turn
            },
        }
    }
}

/// What was asked of a tool, as an object whatever the model wrote.
pub(super) fn arguments(call: &ToolCall) -> Value {
    let read = serde_json::from_str(&call.arguments).ok();
    read.filter(Value::is_object).unwrap_or_else(|| json!({}))
}

/// Tools in the form that most servers take.
pub(super) fn functions(tools: &[Tool]) -> Vec<Value> {
    let function = |tool: &Tool| {
        json!({
            "type": "function",
            "function": { "name": tool.name, "description": tool.description, "parameters": **tool.parameters },
        })
    };
    tools.iter().map(function).collect()
}

/// The system prompt and then the messages; neighbouring ones of one speaker are one message to the provider.
pub(super) fn chat<'a>(
    system: Cow<'a, str>,
    messages: &'a [Message],
    form: CallForm,
) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'a>> = Vec::with_capacity(1 + messages.len());
    if !system.is_empty() {
        turns.push(Turn::new("system", system));
    }
    for message in messages.iter().filter(|message| !message.is_empty()) {
        let role = match message.speaker {
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
        };
        let mut calls = Vec::new();
        for part in &message.tools {
            match part {
                ToolPart::Call(call) => calls.push(form.call(call)),
                ToolPart::Result { id, name, text } => turns.push(form.result(id, name, text)),
            }
        }
        if !calls.is_empty() {
            turns.push(Turn {
                tool_calls: calls,
                ..Turn::new(role, Cow::Borrowed(&message.text))
            });
            continue;
        }
        if message.text.is_empty() {
            continue;
        }
        match turns.last_mut() {
            Some(turn) if turn.role == role && turn.tool_calls.is_empty() => {
                let content = turn.content.to_mut();
                content.push_str("\n\n");
                content.push_str(&message.text);
            }
            Some(_) | None => turns.push(Turn::new(role, Cow::Borrowed(&message.text))),
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
