//! A fake model server on a free port. It speaks the formats of OpenAI, Anthropic and Gemini, by the path of a request, and records
//! all requests in OpenAI's form.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::wire_format::WireFormat;

const JSON: &str = "content-type: application/json\r\n";

pub(crate) enum Answer {
    /// The complete reply, streamed.
    Reply(String),
    /// The complete reply in one write, to keep the server's own CPU time out of a measurement.
    #[allow(dead_code, reason = "only a benchmark needs it")]
    AtOnce(String),
    /// `AtOnce`, this long after the first byte of the request: simulates a remote server.
    #[allow(dead_code, reason = "only a benchmark needs it")]
    After(Duration, String),
    /// `Reply` after a delay.
    Late(Duration, String),
    /// `Reply` with a pause after every chunk.
    Slow(Duration, String),
    /// Half of the reply, and the rest when the test opens the gate.
    Gated(Gate, String),
    /// Half of the reply, then the connection closes.
    Half(String),
    /// Half of the reply, then silence for this long, then the connection closes.
    Stall(Duration, String),
    /// Half of the reply, with finish reason `length`.
    Truncated(String),
    /// A plain response with this status, headers and body.
    Status(u16, &'static str, String),
    /// The connection is closed without a response.
    Nothing,
    /// The connection is reset.
    Reset,
    /// The connection stays open without a response.
    Silence,
}

/// Holds replies back until the test opens it.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    pub(crate) fn open(&self) {
        let (is_open, changed) = &*self.0;
        *is_open.lock().unwrap() = true;
        changed.notify_all();
    }

    fn wait(&self) {
        let (is_open, changed) = &*self.0;
        let timeout = Duration::from_mins(2);
        let guard = is_open.lock().unwrap();
        drop(
            changed
                .wait_timeout_while(guard, timeout, |is_open| !*is_open)
                .unwrap(),
        );
    }
}

pub(crate) type Span = (Instant, Instant);

type Behaviour = dyn Fn(&Value, usize) -> Answer + Send + Sync;

pub(crate) struct Server {
    port: u16,
    heard: Arc<Mutex<Vec<Value>>>,
    #[allow(dead_code, reason = "for the benchmarks")]
    calls: Arc<Mutex<Vec<Span>>>,
    listings: Arc<AtomicUsize>,
}

impl Server {
    /// `behaviour` gets the request and the number of earlier requests with the same schema.
    pub(crate) fn start(
        behaviour: impl Fn(&Value, usize) -> Answer + Send + Sync + 'static,
    ) -> Self {
        Self::with_models(&["x"], behaviour)
    }

    /// Lists these models.
    pub(crate) fn with_models(
        models: &[&str],
        behaviour: impl Fn(&Value, usize) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard: Arc<Mutex<Vec<Value>>> = Arc::default();
        let behaviour: Arc<Behaviour> = Arc::new(behaviour);
        let calls: Arc<Mutex<Vec<Span>>> = Arc::default();
        let listings: Arc<AtomicUsize> = Arc::default();
        let recorder = Recorder {
            heard: Arc::clone(&heard),
            counts: Arc::default(),
            calls: Arc::clone(&calls),
            listings: Arc::clone(&listings),
            models: models.iter().map(|&id| id.to_owned()).collect(),
        };
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (recorder, behaviour) = (recorder.clone(), Arc::clone(&behaviour));
                thread::spawn(move || {
                    // A client that disconnects ends only its connection. A panic in `behaviour` aborts the test: the program
                    // would treat it as an unreachable model and continue.
                    let serving = AssertUnwindSafe(|| serve(stream, &recorder, behaviour.as_ref()));
                    if catch_unwind(serving).is_err() {
                        std::process::abort();
                    }
                });
            }
        });
        Self {
            port,
            heard,
            calls,
            listings,
        }
    }

    /// Replies with `good`.
    pub(crate) fn good() -> Self {
        Self::start(|request, before| Answer::Reply(good(request, before)))
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    pub(crate) fn heard(&self) -> Vec<Value> {
        self.heard.lock().unwrap().clone()
    }

    /// Start and end of each call, from the first byte of the request to the last of the reply, ordered by start.
    #[allow(dead_code, reason = "for the benchmarks")]
    pub(crate) fn calls(&self) -> Vec<Span> {
        let mut calls = self.calls.lock().unwrap().clone();
        calls.sort_unstable();
        calls
    }

    /// The number of calls.
    #[allow(dead_code, reason = "the benchmarks need less of it than the tests")]
    pub(crate) fn count(&self) -> usize {
        self.heard.lock().unwrap().len()
    }

    /// How often its models were listed.
    #[allow(dead_code, reason = "the benchmarks need less of it than the tests")]
    pub(crate) fn listings(&self) -> usize {
        self.listings.load(Ordering::SeqCst)
    }

    /// The schema names of all requests, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.heard().iter().map(schema_name).collect()
    }
}

pub(crate) fn schema_name(request: &Value) -> String {
    request["response_format"]["json_schema"]["name"]
        .as_str()
        .unwrap_or("none")
        .to_owned()
}

#[derive(Clone)]
struct Recorder {
    heard: Arc<Mutex<Vec<Value>>>,
    /// Requests per schema.
    counts: Arc<Mutex<HashMap<String, usize>>>,
    calls: Arc<Mutex<Vec<Span>>>,
    listings: Arc<AtomicUsize>,
    models: Vec<String>,
}

/// A list of models, in Gemini's format if the path is that of Gemini.
fn list_of(models: &[String], path: &str) -> String {
    let list = if path.contains("pageSize") {
        let names = models
            .iter()
            .map(|id| json!({ "name": format!("models/{id}") }));
        json!({ "models": names.collect::<Vec<_>>() })
    } else {
        let data = models.iter().map(|id| json!({ "id": id, "created": 1 }));
        json!({ "data": data.collect::<Vec<_>>() })
    };
    list.to_string()
}

fn serve(stream: TcpStream, recorder: &Recorder, behaviour: &Behaviour) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = stream.try_clone()?;
    let mut writer = stream;
    loop {
        reader.peek(&mut [0])?;
        let started = Instant::now();
        let Some((path, body)) = read_request(&mut reader)? else {
            return Ok(());
        };
        if path.split('?').next().unwrap().ends_with("/models") {
            recorder.listings.fetch_add(1, Ordering::SeqCst);
            take(&mut reader, UNREAD.min(body.len()))?;
            let list = list_of(&recorder.models, &path);
            plain(&mut writer, 200, JSON, &list)?;
            continue;
        }
        let request: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
        let format = WireFormat::of(&path);
        let request = format.to_openai(request, &path);
        let name = schema_name(&request);
        let before = {
            let mut log = recorder.heard.lock().unwrap();
            let mut counts = recorder.counts.lock().unwrap();
            let count = counts.entry(name).or_default();
            let before = *count;
            *count += 1;
            log.push(request.clone());
            before
        };
        let answer = behaviour(&request, before);
        if matches!(answer, Answer::Reset) {
            // The kernel resets a connection that is closed with unread data.
            return Ok(());
        }
        take(&mut reader, UNREAD.min(body.len()))?;
        match answer {
            Answer::Reply(text) if format != WireFormat::OpenAi => {
                plain(&mut writer, 200, JSON, &format.whole_reply(&text))?;
            }
            Answer::Reply(text) => streamed(&mut writer, &text, &Pace::Free, Ending::Whole)?,
            Answer::AtOnce(text) => at_once(&mut writer, &text, started)?,
            Answer::After(wait, text) => at_once(&mut writer, &text, started + wait)?,
            Answer::Slow(pause, text) => {
                streamed(&mut writer, &text, &Pace::Slow(pause), Ending::Whole)?;
            }
            Answer::Gated(gate, text) => {
                streamed(&mut writer, &text, &Pace::Gated(gate), Ending::Whole)?;
            }
            Answer::Late(wait, text) => {
                thread::sleep(wait);
                streamed(&mut writer, &text, &Pace::Free, Ending::Whole)?;
            }
            Answer::Half(text) => {
                return streamed(&mut writer, half(&text), &Pace::Free, Ending::Cut);
            }
            Answer::Stall(wait, text) => {
                streamed(&mut writer, half(&text), &Pace::Free, Ending::Cut)?;
                thread::sleep(wait);
                return Ok(());
            }
            Answer::Truncated(text) => {
                streamed(&mut writer, half(&text), &Pace::Free, Ending::Limit)?;
            }
            Answer::Status(status, headers, text) => plain(&mut writer, status, headers, &text)?,
            Answer::Nothing | Answer::Reset => return Ok(()),
            Answer::Silence => thread::sleep(Duration::from_mins(10)),
        }
        recorder
            .calls
            .lock()
            .unwrap()
            .push((started, Instant::now()));
    }
}

fn at_once(writer: &mut impl Write, text: &str, when: Instant) -> std::io::Result<()> {
    let mut all = Vec::new();
    streamed(&mut all, text, &Pace::Free, Ending::Whole)?;
    thread::sleep(when.saturating_duration_since(Instant::now()));
    writer.write_all(&all)
}

fn half(text: &str) -> &str {
    let middle = (0..=text.len() / 2)
        .rev()
        .find(|at| text.is_char_boundary(*at));
    &text[..middle.unwrap_or(0)]
}

/// Bytes of the body left unread until the answer is known, so that `Reset` can close with unread data.
const UNREAD: usize = 1;

/// Reads a whole request, but only peeks at the last byte of its body.
fn read_request(stream: &mut TcpStream) -> std::io::Result<Option<(String, Vec<u8>)>> {
    let Some(head) = read_head(stream)? else {
        return Ok(None);
    };
    let head = String::from_utf8_lossy(&head);
    let mut lines = head.lines();
    let path = lines.next().and_then(|line| line.split(' ').nth(1));
    let fields: HashMap<String, &str> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim()))
        .collect();
    let length = fields
        .get("content-length")
        .and_then(|value| value.parse().ok());
    let length: usize = length.unwrap_or(0);
    let mut body = take(stream, length.saturating_sub(UNREAD))?;
    if length > 0 {
        let mut last = [0; UNREAD];
        stream.peek(&mut last)?;
        body.extend(last);
    }
    Ok(Some((path.unwrap_or_default().to_owned(), body)))
}

/// Reads up to the empty line and no further; `None` if the client has disconnected.
fn read_head(stream: &mut TcpStream) -> std::io::Result<Option<Vec<u8>>> {
    const END: &[u8] = b"\r\n\r\n";
    let mut head = Vec::new();
    let mut window = [0; 4096];
    loop {
        let available = stream.peek(&mut window)?;
        if available == 0 {
            return Ok(None);
        }
        let before = head.len();
        head.extend_from_slice(&window[..available]);
        let end = head.windows(END.len()).position(|bytes| bytes == END);
        head.truncate(end.map_or(head.len(), |at| at + END.len()));
        take(stream, head.len() - before)?;
        if end.is_some() {
            return Ok(Some(head));
        }
    }
}

fn take(stream: &mut TcpStream, count: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; count];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn plain(writer: &mut impl Write, status: u16, headers: &str, text: &str) -> std::io::Result<()> {
    write!(
        writer,
        "HTTP/1.1 {status} Status\r\n{headers}content-length: {}\r\n\r\n{text}",
        text.len()
    )?;
    writer.flush()
}

/// When the chunks of a reply are sent.
enum Pace {
    Free,
    Slow(Duration),
    /// The second half when the gate is open.
    Gated(Gate),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Whole,
    Cut,
    /// Finish reason `length`.
    Limit,
}

fn streamed(
    writer: &mut impl Write,
    text: &str,
    pace: &Pace,
    ending: Ending,
) -> std::io::Result<()> {
    write!(
        writer,
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    )?;
    // One write per event, like real servers. Several writes would send several packets.
    let mut event = |value: &str| -> std::io::Result<()> {
        let data = format!("data: {value}\n\n");
        writer.write_all(format!("{:x}\r\n{data}\r\n", data.len()).as_bytes())
    };
    let characters: Vec<char> = text.chars().collect();
    let chunks: Vec<_> = characters.chunks(12).collect();
    for (index, chunk) in chunks.iter().enumerate() {
        if let Pace::Gated(gate) = pace
            && index == chunks.len() / 2
        {
            gate.wait();
        }
        let chunk: String = chunk.iter().collect();
        event(&json!({ "choices": [{ "index": 0, "delta": { "content": chunk } }] }).to_string())?;
        if let Pace::Slow(pause) = pace {
            thread::sleep(*pause);
        }
    }
    if ending == Ending::Cut {
        return Ok(());
    }
    let finish = if ending == Ending::Limit {
        "length"
    } else {
        "stop"
    };
    event(
        &json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": finish }] }).to_string(),
    )?;
    let details = json!({ "cached_tokens": 50 });
    event(&json!({ "choices": [], "usage": { "prompt_tokens": 500, "completion_tokens": 100, "prompt_tokens_details": details } }).to_string())?;
    event("[DONE]")?;
    write!(writer, "0\r\n\r\n")?;
    writer.flush()
}

/// The replies of a successful debate of three rounds.
pub(crate) fn good(request: &Value, before: usize) -> String {
    let reply = match (schema_name(request).as_str(), before % 2) {
        ("opening", _) => {
            json!({ "answer": "Use a **queue**. 😀", "assumptions": ["Writes come in bursts."] })
        }
        ("critique", _) => json!({
            "assessment": "Bursts are assumed, not shown.",
            "issues": [issue("assumption_mining", "critical", "Nobody measured the bursts."), issue("completeness", "minor", "Costs are left out.")],
            "quality_score": 4,
            "ready_for_synthesis": false,
        }),
        ("revision", 0) => json!({
            "responses": [{ "issue": "S1", "action": "defend", "explanation": "The logs show them." }],
            "answer": "Use a queue: the logs show bursts.",
        }),
        ("revision", _) => json!({
            "responses": [{ "issue": "S1", "action": "accept", "explanation": "Figures added." }, { "issue": "S2", "action": "accept", "explanation": "Costs added." }],
            "answer": "Use a queue: 40 bursts a day, 3 dollars a month.",
        }),
        ("review", 0) => json!({
            "assessment": "Which logs?",
            "verdicts": [{ "issue": "S1", "status": "partially_resolved", "reason": "No figures." }],
            "new_issues": [],
            "quality_score": 6,
            "ready_for_synthesis": false,
        }),
        ("review", _) => json!({
            "assessment": "Sound now.",
            "verdicts": [{ "issue": "S1", "status": "resolved", "reason": "Figures are there." }, { "issue": "S2", "status": "resolved", "reason": "Costs too." }],
            "new_issues": [],
            "quality_score": 7,
            "ready_for_synthesis": false,
        }),
        ("synthesis", _) => json!({
            "answer": "Put a queue in front of the writes: it absorbs forty bursts a day for three dollars a month.",
            "confidence": 8,
            "confidence_reason": "Measured on one month only.",
            "insights": ["Without the figures the case was open."],
            "caveats": ["Traffic may change."],
            "change": "refined",
            "change_reason": "Figures were added.",
        }),
        ("marking", _) => json!({
            "justification": "Right and short.",
            "marks": { "correctness": 8, "completeness": 9, "clarity": 9, "depth": 7 },
            "would_benefit_from_finetune": true,
        }),
        (_, _) => json!({ "yes": true }),
    };
    reply.to_string()
}

fn issue(strategy: &str, severity: &str, problem: &str) -> Value {
    json!({
        "strategy": strategy, "severity": severity, "location": "the first sentence", "problem": problem,
        "why_it_matters": "All rests on it.", "suggested_fix": "Show it.",
    })
}
