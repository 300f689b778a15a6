//! A raw MCP client: JSON-RPC lines to `roundtable mcp`, and messages to `/mcp`.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Home, Reply, Serving};

const TIMEOUT: Duration = Duration::from_mins(1);

/// `roundtable mcp` as a child process.
pub(crate) struct McpProcess {
    pub child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Messages that were read while another was expected.
    pending: VecDeque<Value>,
    next_id: u64,
}

impl McpProcess {
    pub(crate) fn start(home: &Home, more: &[&str]) -> Self {
        let mut args = vec!["mcp"];
        args.extend(more);
        let mut command = home.command(&args);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            input,
            lines,
            pending: VecDeque::new(),
            next_id: 0,
        }
    }

    /// Started, with the handshake of this version.
    pub(crate) fn initialized(home: &Home, more: &[&str], version: &str) -> Self {
        let mut process = Self::start(home, more);
        let answer = process.request("initialize", initialize(version));
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
        process.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        process
    }

    pub(crate) fn send_line(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
        input.flush().unwrap();
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    /// Sends a request and returns its id.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers write the value in place"
    )]
    pub(crate) fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// The next message, within this time.
    pub(crate) fn read_within(&mut self, timeout: Duration) -> Option<Value> {
        if let Some(message) = self.pending.pop_front() {
            return Some(message);
        }
        match self.lines.recv_timeout(timeout) {
            Ok(line) => Some(
                serde_json::from_str(&line).unwrap_or_else(|_| panic!("not a message: {line}")),
            ),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }

    /// The response to a request, and the notifications before it.
    pub(crate) fn response(&mut self, id: u64) -> (Value, Vec<Value>) {
        let deadline = Instant::now() + TIMEOUT;
        let (mut notices, mut others) = (Vec::new(), VecDeque::new());
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let message = self
                .read_within(left)
                .unwrap_or_else(|| panic!("no response to request {id}"));
            if message["id"] == id {
                self.pending.append(&mut others);
                return (message, notices);
            }
            if message.get("id").is_none() {
                notices.push(message);
            } else {
                others.push_back(message);
            }
        }
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.response(id).0
    }

    /// The result of a tool call.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers write the value in place"
    )]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = self.request("tools/call", params);
        answer["result"].clone()
    }

    /// Closes standard input and waits for the end. Returns the exit code and how long it took.
    pub(crate) fn close(mut self) -> (i32, Duration) {
        let started = Instant::now();
        drop(self.input.take());
        let status = self.child.wait().unwrap();
        (status.code().unwrap_or(-1), started.elapsed())
    }
}

impl Drop for McpProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The parameters of `initialize`.
pub(crate) fn initialize(version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": { "name": "suite", "version": "1" },
    })
}

/// The metadata of a request of version 2026-07-28, with these client capabilities.
pub(crate) fn stateless(capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "suite", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

impl Serving {
    /// Sends a message to `/mcp`, in the way of version 2025-06-18.
    pub(crate) fn mcp(&self, message: &Value, more: &[(&str, &str)]) -> Reply {
        let mut headers = vec![
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2025-06-18"),
        ];
        headers.extend(more);
        self.send("POST", "/mcp", &headers, message.to_string().as_bytes())
    }

    /// The response to a tool call at `/mcp`.
    pub(crate) fn mcp_call(&self, tool: &str, arguments: &Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        let message =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let reply = self.mcp(&message, &[]);
        assert_eq!(
            reply.status,
            200,
            "{}",
            String::from_utf8_lossy(&reply.body)
        );
        let text = String::from_utf8(reply.body).unwrap();
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        let messages = data.filter_map(|data| serde_json::from_str::<Value>(data).ok());
        let mut responses = messages.filter(|message| message["id"] == 1);
        responses
            .next()
            .unwrap_or_else(|| panic!("no response in: {text}"))
    }
}
