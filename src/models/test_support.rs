//! Test support: a scripted HTTP server, and shorthands for calls to it.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use roundtable_engine::model::{
    Delta, Message, Model, ModelError, Offer, Request, Schema, Speaker, Tool, ToolCall, ToolPart,
    Tools,
};
use serde_json::{Value, json};

use super::{Embedded, ModelRegistry};
use crate::config::{Config, Environment};

#[derive(Debug, Clone)]
enum Step {
    Send(Vec<u8>),
    Wait(Duration),
    /// Sends nothing more until the client disconnects.
    Hang,
    /// Closes the connection.
    Close,
}

/// One scripted answer.
#[derive(Debug, Clone)]
pub(super) struct Reply(Vec<Step>);

impl Reply {
    pub(super) fn silence() -> Self {
        Self(vec![Step::Hang])
    }

    /// A complete response.
    pub(super) fn new(status: u16, headers: &[&str], body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let mut head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
        for header in headers {
            head.push_str(header);
            head.push_str("\r\n");
        }
        let mut bytes = format!("{head}\r\n").into_bytes();
        bytes.extend_from_slice(body);
        Self(vec![Step::Send(bytes)])
    }

    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self::new(
            status,
            &["content-type: application/json"],
            body.to_string(),
        )
    }

    /// A stream with exactly these network chunks.
    pub(super) fn chunks<B: AsRef<[u8]>>(kind: &str, chunks: &[B]) -> Self {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n"
        );
        let mut steps = vec![Step::Send(head.into_bytes())];
        for chunk in chunks {
            let chunk = chunk.as_ref();
            let mut bytes = format!("{:x}\r\n", chunk.len()).into_bytes();
            bytes.extend_from_slice(chunk);
            bytes.extend_from_slice(b"\r\n");
            steps.push(Step::Send(bytes));
        }
        steps.push(Step::Send(b"0\r\n\r\n".to_vec()));
        Self(steps)
    }

    /// Server-sent events, one `data:` each.
    pub(super) fn events<B: AsRef<str>>(events: &[B]) -> Self {
        let framed: Vec<String> = events
            .iter()
            .map(|data| format!("data: {}\n\n", data.as_ref()))
            .collect();
        Self::chunks("text/event-stream", &framed)
    }

    fn without_end(mut self, instead: Step) -> Self {
        self.0.pop();
        self.0.push(instead);
        self
    }

    /// The same, but the connection breaks before the end.
    pub(super) fn broken(self) -> Self {
        self.without_end(Step::Close)
    }

    /// The same, but the end never comes.
    pub(super) fn endless(self) -> Self {
        self.without_end(Step::Hang)
    }

    pub(super) fn after(mut self, wait: Duration) -> Self {
        self.0.insert(0, Step::Wait(wait));
        self
    }
}

/// A request as the server saw it.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub line: String,
    pub headers: BTreeMap<String, String>,
    pub body: Value,
}

#[derive(Default)]
struct State {
    script: Mutex<VecDeque<Reply>>,
    seen: Mutex<Vec<Seen>>,
    connections: AtomicUsize,
    in_flight: AtomicUsize,
    max_in_flight: AtomicUsize,
}

pub(super) struct Server {
    pub address: String,
    state: Arc<State>,
}

impl Server {
    /// Answers in this order; the last answer serves all further requests.
    pub(super) fn new(script: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(State::default());
        state.script.lock().unwrap().extend(script);
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let state = Arc::clone(&shared);
                state.connections.fetch_add(1, Ordering::SeqCst);
                std::thread::spawn(move || serve(&connection.unwrap(), &state));
            }
        });
        Self { address, state }
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.state.seen.lock().unwrap().clone()
    }

    pub(super) fn bodies(&self) -> Vec<Value> {
        self.seen().into_iter().map(|seen| seen.body).collect()
    }

    pub(super) fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    pub(super) fn max_in_flight(&self) -> usize {
        self.state.max_in_flight.load(Ordering::SeqCst)
    }
}

fn serve(connection: &TcpStream, state: &State) {
    connection.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(connection);
    while let Some(seen) = read_request(&mut reader) {
        let now = state.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        state.max_in_flight.fetch_max(now, Ordering::SeqCst);
        state.seen.lock().unwrap().push(seen);
        let reply = {
            let mut script = state.script.lock().unwrap();
            let first = script.pop_front().expect("a server needs a script");
            if script.is_empty() {
                script.push_back(first.clone());
            }
            first
        };
        let alive = reply.0.into_iter().all(|step| play(step, connection));
        state.in_flight.fetch_sub(1, Ordering::SeqCst);
        if !alive {
            let _ = connection.shutdown(std::net::Shutdown::Both);
            return;
        }
    }
}

fn play(step: Step, mut connection: &TcpStream) -> bool {
    match step {
        Step::Send(bytes) => connection.write_all(&bytes).is_ok() && connection.flush().is_ok(),
        Step::Wait(time) => {
            std::thread::sleep(time);
            true
        }
        Step::Hang => {
            let _ = connection.read(&mut [0]);
            false
        }
        Step::Close => false,
    }
}

fn read_request(reader: &mut impl BufRead) -> Option<Seen> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let mut headers = BTreeMap::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim().split_once(": ") else {
            break;
        };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let length = headers
        .get("content-length")
        .map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Seen {
        line: line.trim_end_matches(" HTTP/1.1\r\n").to_owned(),
        headers,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    })
}

/// A request with everything in it.
pub(super) fn request(model: &str) -> Request {
    let message = |speaker, text: &str, shared| Message {
        speaker,
        text: text.to_owned(),
        shared,
        tools: Vec::new(),
    };
    Request {
        images: Vec::new(),
        tools: None,
        model: model.to_owned(),
        system: "You are the skeptic.".to_owned(),
        messages: vec![
            message(Speaker::User, "The question.", true),
            message(Speaker::User, "What was said so far.", false),
            message(Speaker::Assistant, "My last critique.", false),
            message(Speaker::User, "Your turn.", false),
        ],
        schema: Some(Schema {
            name: "critique".to_owned(),
            json: std::sync::Arc::new(json!({
                "type": "object",
                "properties": {
                    "text": { "type": "string", "minLength": 1, "maxLength": 900 },
                    "score": { "type": "integer", "format": "uint8", "minimum": 1, "maximum": 10 },
                },
                "required": ["text", "score"],
                "additionalProperties": false,
            }).into()),
        }),
        temperature: 0.8,
        max_output_tokens: 1500,
        seed: 7,
    }
}

pub(super) fn plain_request(model: &str) -> Request {
    Request {
        schema: None,
        ..request(model)
    }
}

/// A registry with one provider, `lab`, without retries.
pub(super) fn registry(kind: &str, server: &Server) -> ModelRegistry {
    registry_from(&format!(
        "[providers.lab]\nkind = \"{kind}\"\nbase_url = \"{}\"\napi_key_env = \"LAB_KEY\"\n[retry]\nattempts = 1\nbase_ms = 1\n",
        server.address
    ))
}

pub(super) fn registry_from(text: &str) -> ModelRegistry {
    let environment = Environment::default().with("LAB_KEY", "sk-very-secret");
    let config = Config::parse(text, None, &environment).unwrap();
    ModelRegistry::new(&config, &environment, Embedded::default()).unwrap()
}

/// All deltas of a call, or the deltas before its error and the error.
pub(super) async fn call(
    registry: &ModelRegistry,
    request: Request,
) -> (Vec<Delta>, Option<ModelError>) {
    let name = registry
        .config()
        .model_name(&format!("lab:{}", request.model))
        .unwrap();
    drain(registry.model(&name).unwrap().as_ref(), request).await
}

/// Consecutive texts are merged, because their boundaries depend on the network.
pub(super) async fn drain(model: &dyn Model, request: Request) -> (Vec<Delta>, Option<ModelError>) {
    let mut stream = model.stream(request);
    let mut deltas = Vec::new();
    while let Some(item) = stream.next().await {
        match item {
            Ok(Delta::Text(more)) => match deltas.last_mut() {
                Some(Delta::Text(text)) => text.push_str(&more),
                _ => deltas.push(Delta::Text(more)),
            },
            Ok(delta) => deltas.push(delta),
            Err(error) => return (deltas, Some(error)),
        }
    }
    (deltas, None)
}

/// The text of a reply that succeeded.
pub(super) async fn text(registry: &ModelRegistry, request: Request) -> String {
    let (deltas, error) = call(registry, request).await;
    assert_eq!(None, error);
    let parts = deltas.into_iter().filter_map(|delta| match delta {
        Delta::Text(text) => Some(text),
        Delta::Reasoning(_)
        | Delta::Call(_)
        | Delta::Usage(_)
        | Delta::Restart { .. }
        | Delta::Instead(_)
        | Delta::Notice(_)
        | Delta::Finish(_) => None,
    });
    parts.collect()
}

/// A request after one tool call and its result, with two tools on offer.
pub(super) fn tool_request(model: &str, offer: Offer) -> Request {
    let tool = |name: &str| Tool {
        name: name.to_owned(),
        description: format!("It can {name}."),
        parameters: std::sync::Arc::new(
            json!({
                "type": "object",
                "properties": { "query": { "type": "string" } },
                "required": ["query"],
                "additionalProperties": false,
            })
            .into(),
        ),
    };
    let mut request = request(model);
    let message = |speaker, tools| Message {
        speaker,
        text: String::new(),
        shared: false,
        tools,
    };
    let called = ToolPart::Call(ToolCall {
        id: "call_7".to_owned(),
        name: "search".to_owned(),
        arguments: "{\"query\":\"tide\"}".to_owned(),
        signature: Some("c2ln".to_owned()),
    });
    let answered = ToolPart::Result {
        id: "call_7".to_owned(),
        name: "search".to_owned(),
        text: "It rises twice.".to_owned(),
    };
    request.messages.truncate(2);
    request
        .messages
        .push(message(Speaker::Assistant, vec![called]));
    request
        .messages
        .push(message(Speaker::User, vec![answered]));
    request.tools = Some(Tools {
        list: vec![tool("search"), tool("calculate")],
        offer,
    });
    request
}

/// The tool calls of a reply.
pub(super) async fn calls(registry: &ModelRegistry, request: Request) -> Vec<ToolCall> {
    let (deltas, error) = call(registry, request).await;
    assert_eq!(None, error);
    assert!(matches!(deltas.last(), Some(Delta::Finish(_))));
    deltas
        .into_iter()
        .filter_map(|delta| match delta {
            Delta::Call(call) => Some(call),
            Delta::Text(_)
            | Delta::Reasoning(_)
            | Delta::Usage(_)
            | Delta::Restart { .. }
            | Delta::Instead(_)
            | Delta::Notice(_)
            | Delta::Finish(_) => None,
        })
        .collect()
}

pub(super) fn called(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        signature: None,
    }
}
