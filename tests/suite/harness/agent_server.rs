//! A fake model server for real command-line agents. It speaks the streaming formats that they use (Anthropic Messages, OpenAI
//! Responses and Chat Completions, Gemini) and replies to every schema of `ask`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use super::good;

/// The request of the agent.
#[derive(Debug, Clone)]
pub(crate) struct Heard {
    pub path: String,
    pub body: Value,
}

pub(crate) struct AgentServer {
    port: u16,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl AgentServer {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard: Arc<Mutex<Vec<Heard>>> = Arc::default();
        let log = Arc::clone(&heard);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let log = Arc::clone(&log);
                // A client that disconnects ends only its connection.
                thread::spawn(move || serve(stream, &log));
            }
        });
        Self { port, heard }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The calls of a model, without lists of models and counts of tokens.
    pub(crate) fn calls(&self) -> Vec<Heard> {
        let heard = self.heard.lock().unwrap().clone();
        let is_call = |one: &Heard| format_of(&one.path).is_some();
        heard.into_iter().filter(is_call).collect()
    }

    pub(crate) fn paths(&self) -> Vec<String> {
        let heard = self.heard.lock().unwrap();
        heard.iter().map(|one| one.path.clone()).collect()
    }
}

fn serve(stream: TcpStream, log: &Mutex<Vec<Heard>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    let (path, body) = read_request(&mut reader)?;
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    log.lock().unwrap().push(Heard {
        path: path.clone(),
        body: body.clone(),
    });
    let (kind, text) = match format_of(&path) {
        Some(format) => ("text/event-stream", format(&body)),
        None if path.contains("count_tokens") => (
            "application/json",
            json!({ "input_tokens": 10 }).to_string(),
        ),
        None if path.contains(":generateContent") => {
            ("application/json", gemini(&body).to_string())
        }
        None => (
            "application/json",
            json!({ "data": [], "models": [] }).to_string(),
        ),
    };
    write!(
        writer,
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
        text.len()
    )?;
    writer.flush()
}

fn read_request(reader: &mut BufReader<TcpStream>) -> std::io::Result<(String, Vec<u8>)> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let (mut length, mut is_chunked) = (0, false);
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let field = line.trim().to_ascii_lowercase();
        if field.is_empty() {
            break;
        }
        if let Some(value) = field.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        is_chunked |= field == "transfer-encoding: chunked";
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    while is_chunked {
        line.clear();
        reader.read_line(&mut line)?;
        let size = usize::from_str_radix(line.trim(), 16).unwrap_or(0);
        let mut chunk = vec![0; size + 2];
        reader.read_exact(&mut chunk)?;
        body.extend_from_slice(&chunk[..size]);
        is_chunked = size > 0;
    }
    Ok((path, body))
}

type Format = fn(&Value) -> String;

/// The format of a streaming call to this path.
fn format_of(path: &str) -> Option<Format> {
    let path = path.split('?').next().unwrap_or_default();
    let formats: [(&str, Format); 4] = [
        ("/v1/messages", messages),
        ("/responses", responses),
        (":streamGenerateContent", |body| events(&[gemini(body)])),
        ("/chat/completions", chat),
    ];
    let format = formats.iter().find(|(end, _)| path.ends_with(end));
    format.map(|(_, format)| *format)
}

fn events(events: &[Value]) -> String {
    let event = |event: &Value| match event["type"].as_str() {
        Some(kind) => format!("event: {kind}\ndata: {event}\n\n"),
        None => format!("data: {event}\n\n"),
    };
    events.iter().map(event).collect()
}

/// The valid reply of `ask` with the properties of this schema. Lists are as long as it allows.
fn reply(schema: &Value) -> String {
    let keys = |value: &Value| -> Vec<String> {
        let fields = value.as_object().into_iter();
        let mut keys: Vec<String> = fields.flat_map(|fields| fields.keys().cloned()).collect();
        keys.sort();
        keys
    };
    let properties = &schema["properties"];
    let names = [
        "opening",
        "critique",
        "revision",
        "review",
        "synthesis",
        "marking",
        "check",
    ];
    let replies = names.map(|name| -> Value {
        let request = json!({ "response_format": { "json_schema": { "name": name } } });
        serde_json::from_str(&good(&request, 1)).unwrap()
    });
    let mut replies = replies.into_iter();
    let Some(mut reply) = replies.find(|reply| keys(reply) == keys(properties)) else {
        // Also asked for titles of sessions and the like.
        return "Hello.".to_owned();
    };
    for (name, value) in reply.as_object_mut().unwrap() {
        let most = properties[name]["maxItems"].as_u64();
        if let (Some(most), Some(items)) = (most, value.as_array_mut()) {
            items.truncate(usize::try_from(most).unwrap());
        }
    }
    reply.to_string()
}

/// The schema that the prompt describes in words.
fn schema_in_words(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) => {
            let (_, schema) = text.split_once("this JSON schema:\n")?;
            serde_json::Deserializer::from_str(schema)
                .into_iter()
                .next()?
                .ok()
        }
        Value::Array(items) => items.iter().find_map(schema_in_words),
        Value::Object(fields) => fields.values().find_map(schema_in_words),
        _ => None,
    }
}

fn messages(body: &Value) -> String {
    let tools = body["tools"].as_array().into_iter().flatten();
    let structured = tools
        .clone()
        .find(|tool| tool["name"] == "StructuredOutput");
    let last = body["messages"]
        .as_array()
        .and_then(|messages| messages.last());
    let is_done = last.is_some_and(|message| message.to_string().contains("tool_result"));
    let (block, delta, stop) = match structured.filter(|_| !is_done) {
        Some(tool) => (
            json!({ "type": "tool_use", "id": "toolu_1", "name": "StructuredOutput", "input": {} }),
            json!({ "type": "input_json_delta", "partial_json": reply(&tool["input_schema"]) }),
            "tool_use",
        ),
        None => (
            json!({ "type": "text", "text": "" }),
            json!({ "type": "text_delta", "text": "Done." }),
            "end_turn",
        ),
    };
    events(&[
        json!({ "type": "message_start", "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": body["model"], "stop_reason": null,
            "stop_sequence": null, "usage": { "input_tokens": 11, "output_tokens": 1 },
        } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": stop, "stop_sequence": null }, "usage": { "output_tokens": 7 } }),
        json!({ "type": "message_stop" }),
    ])
}

fn responses(body: &Value) -> String {
    let text = reply(&body["text"]["format"]["schema"]);
    let item = json!({
        "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{ "type": "output_text", "text": text, "annotations": [] }],
    });
    let response = json!({
        "id": "resp_1", "object": "response", "status": "completed", "model": body["model"], "output": [item],
        "usage": {
            "input_tokens": 11, "input_tokens_details": { "cached_tokens": 3 }, "output_tokens": 7,
            "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 18,
        },
    });
    events(&[
        json!({ "type": "response.created", "response": response }),
        json!({ "type": "response.output_item.added", "output_index": 0, "item": item }),
        json!({ "type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": text }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({ "type": "response.completed", "response": response }),
    ])
}

fn gemini(body: &Value) -> Value {
    let text = reply(&schema_in_words(body).unwrap_or_default());
    json!({
        "candidates": [{ "content": { "role": "model", "parts": [{ "text": text }] }, "finishReason": "STOP", "index": 0 }],
        "usageMetadata": { "promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18 },
    })
}

fn chat(body: &Value) -> String {
    let text = reply(&schema_in_words(body).unwrap_or_default());
    let chunk = |choices: Value, usage: Value| {
        json!({
            "id": "chat_1", "object": "chat.completion.chunk", "created": 1, "model": body["model"], "choices": choices, "usage": usage,
        })
    };
    let choice = |delta: Value, finish: Value| json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
    let usage = json!({ "prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18 });
    let chunks = [
        chunk(
            choice(json!({ "role": "assistant", "content": text }), Value::Null),
            Value::Null,
        ),
        chunk(choice(json!({}), json!("stop")), Value::Null),
        chunk(json!([]), usage),
    ];
    events(&chunks) + "data: [DONE]\n\n"
}
