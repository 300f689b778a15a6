//! `roundtable serve` as a child process, and a raw HTTP client for it.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Home;

/// `roundtable serve` on a free port, killed when dropped.
pub(crate) struct Serving {
    child: Option<Child>,
    pub address: String,
    pub token: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// One server-sent event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sent {
    pub id: String,
    pub name: String,
    pub data: Value,
}

impl Serving {
    pub(crate) fn start(home: &Home, more: &[&str]) -> Self {
        Self::start_with(home, more, Stdio::null())
    }

    pub(crate) fn start_with(home: &Home, more: &[&str], errors: Stdio) -> Self {
        let mut args = vec!["serve", "--bind", "127.0.0.1:0"];
        args.extend(more);
        Self::spawn(home.command(&args).stderr(errors))
    }

    /// Starts a command that runs `roundtable serve`.
    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let out = child.stdout.as_mut().unwrap();
        BufReader::new(out).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("Listening on http://");
        Self {
            address: address.unwrap_or_else(|| panic!("'{line}'")).to_owned(),
            child: Some(child),
            token: None,
        }
    }

    #[allow(dead_code, reason = "for the benchmarks")]
    pub(crate) fn pid(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// SIGKILL.
    pub(crate) fn kill(mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// SIGTERM. Returns the exit code and the time until exit.
    pub(crate) fn terminate(mut self) -> (i32, Duration) {
        let started = Instant::now();
        let mut child = self.child.take().unwrap();
        let killed = Command::new("kill").arg(child.id().to_string()).status();
        assert!(killed.unwrap().success());
        let status = child.wait().unwrap();
        (status.code().unwrap_or(-1), started.elapsed())
    }

    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Reply {
        self.try_send(method, path, headers, body).unwrap()
    }

    /// Fails if the server closes the connection without an answer.
    pub(crate) fn try_send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> std::io::Result<Reply> {
        let mut stream = BufReader::new(self.open(method, path, headers, body)?);
        read_reply(&mut stream)
    }

    /// Opens a connection and sends the request.
    fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> std::io::Result<TcpStream> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(Duration::from_mins(1)))?;
        let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        let has = |name: &str| {
            headers
                .iter()
                .any(|(key, _)| key.eq_ignore_ascii_case(name))
        };
        if !has("host") {
            write!(head, "host: {}\r\n", self.address).unwrap();
        }
        if !has("content-length")
            && !has("transfer-encoding")
            && (!body.is_empty() || method == "POST")
        {
            write!(head, "content-length: {}\r\n", body.len()).unwrap();
        }
        if let Some(token) = self.token.as_ref().filter(|_| !has("authorization")) {
            write!(head, "authorization: Bearer {token}\r\n").unwrap();
        }
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        head += "\r\n";
        stream.write_all(head.as_bytes())?;
        // The server may reject the request before it has read the body.
        let _ = stream.write_all(body);
        Ok(stream)
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], b"")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        self.post_with(path, body, &[])
    }

    pub(crate) fn post_with(&self, path: &str, body: &Value, more: &[(&str, &str)]) -> Reply {
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(more);
        self.send("POST", path, &headers, body.to_string().as_bytes())
    }

    /// Posts and reads the response block by block, as it arrives.
    pub(crate) fn post_stream(&self, path: &str, body: &Value) -> Blocks {
        let headers = [("content-type", "application/json")];
        let body = body.to_string();
        let stream = self.open("POST", path, &headers, body.as_bytes()).unwrap();
        let mut stream = BufReader::new(stream);
        let (status, headers) = read_head(&mut stream).unwrap();
        Blocks {
            status,
            headers,
            body: Chunked::new(stream),
        }
    }

    /// Starts a debate on `lab:x` and returns its id.
    pub(crate) fn debate(&self) -> String {
        let body = json!({ "question": super::QUESTION, "model": "lab:x" });
        let reply = self.post("/api/v1/debates", &body);
        assert_eq!(reply.status, 202, "{}", reply.text());
        reply.json()["id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn state(&self, id: &str) -> String {
        let shown = self.get(&format!("/api/v1/debates/{id}")).json();
        shown["state"].as_str().unwrap_or_default().to_owned()
    }

    /// Waits until the debate is in this state.
    #[track_caller]
    pub(crate) fn until(&self, id: &str, state: &str) {
        let started = Instant::now();
        loop {
            let now = self.state(id);
            if now == state {
                return;
            }
            assert!(
                started.elapsed() < Duration::from_mins(1),
                "debate is {now}, expected {state}"
            );
            thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn events(&self, id: &str, headers: &[(&str, &str)]) -> Events {
        self.events_at(&format!("/api/v1/debates/{id}/events"), headers)
    }

    pub(crate) fn events_at(&self, path: &str, headers: &[(&str, &str)]) -> Events {
        let mut stream = BufReader::new(self.open("GET", path, headers, b"").unwrap());
        let (status, headers) = read_head(&mut stream).unwrap();
        Events {
            status,
            headers,
            body: Chunked::new(stream),
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let (_, value) = headers.find(|(key, _)| key == name)?;
        Some(value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.status, self.text()))
    }

    /// Asserts that the reply is a problem document with this status and type.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16, kind: &str) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json")
        );
        let problem = self.json();
        assert_eq!(problem["status"], status);
        assert_eq!(
            problem["type"],
            format!("urn:roundtable:problem:{kind}"),
            "{problem}"
        );
        assert_eq!(
            problem["request_id"].as_str(),
            self.header("x-request-id"),
            "{problem}"
        );
        problem
    }
}

fn read_head(stream: &mut impl BufRead) -> std::io::Result<(u16, Vec<(String, String)>)> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 || line == "\r\n" {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            headers.push((name.to_lowercase(), value.trim().to_owned()));
        }
    }
    Ok((status.unwrap_or(0), headers))
}

fn read_reply(stream: &mut BufReader<TcpStream>) -> std::io::Result<Reply> {
    let (status, headers) = read_head(stream)?;
    let is_chunked = headers
        .iter()
        .any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    let mut body = Vec::new();
    if is_chunked {
        while let Some(chunk) = read_chunk(stream)? {
            body.extend(chunk);
        }
    } else {
        stream.read_to_end(&mut body)?;
    }
    Ok(Reply {
        status,
        headers,
        body,
    })
}

/// `None` after the last chunk.
fn read_chunk(stream: &mut impl BufRead) -> std::io::Result<Option<Vec<u8>>> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let Ok(size) = usize::from_str_radix(line.trim(), 16) else {
        return Ok(None);
    };
    let mut chunk = vec![0; size + 2];
    stream.read_exact(&mut chunk)?;
    chunk.truncate(size);
    Ok((size > 0).then_some(chunk))
}

/// An open event stream.
pub(crate) struct Events {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    body: Chunked,
}

struct Chunked {
    stream: BufReader<TcpStream>,
    buffer: String,
}

impl Chunked {
    fn new(stream: BufReader<TcpStream>) -> Self {
        Self {
            stream,
            buffer: String::new(),
        }
    }

    /// Up to the next empty line.
    fn next_block(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.buffer.find("\n\n") {
                return Some(self.buffer.drain(..end + 2).collect());
            }
            let chunk = read_chunk(&mut self.stream).ok()??;
            self.buffer.push_str(&String::from_utf8(chunk).unwrap());
        }
    }
}

/// A response in blocks that end with an empty line.
pub(crate) struct Blocks {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    body: Chunked,
}

impl Iterator for Blocks {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        self.body.next_block()
    }
}

impl Events {
    /// Reads until the server ends the stream.
    pub(crate) fn all(self) -> Vec<Sent> {
        self.collect()
    }
}

impl Iterator for Events {
    type Item = Sent;

    fn next(&mut self) -> Option<Sent> {
        loop {
            let block = self.body.next_block()?;
            if let Some(sent) = parse(&block) {
                return Some(sent);
            }
        }
    }
}

fn parse(block: &str) -> Option<Sent> {
    let field = |name: &str| {
        let mut lines = block.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    };
    Some(Sent {
        id: field("id")?.to_owned(),
        name: field("event")?.to_owned(),
        data: serde_json::from_str(field("data")?).unwrap(),
    })
}

impl Serving {
    /// Waits until the model server got a request with this schema.
    pub(crate) fn until_asked(model: &super::Server, schema: &str) {
        Self::wait_until_asked(model, schema, 1);
    }

    pub(crate) fn wait_until_asked(model: &super::Server, schema: &str, times: usize) {
        let started = Instant::now();
        while model.asked().iter().filter(|name| *name == schema).count() < times {
            assert!(
                started.elapsed() < Duration::from_mins(1),
                "no request with schema {schema}"
            );
            thread::sleep(Duration::from_millis(5));
        }
    }
}
