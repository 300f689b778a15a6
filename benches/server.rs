//! The server under load, measured on the real binary with a model server on loopback that replies after 200 ms.
//! Each figure is a ratio or has a bound; exceeding a bound is reported, not an error.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::panic,
    dead_code,
    reason = "a benchmark prints its figures and panics if it cannot measure; it uses part of the tests' harness"
)]
#![cfg(unix)]

#[path = "../tests/suite/harness/mod.rs"]
mod harness;
mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use harness::{Home, Serving, good};
use serde_json::{Value, json};
use support::{cpu_ms, memory_mb, report};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::watch;

const DELAY: Duration = Duration::from_millis(200);
const CALLS: usize = 9;
const RUNS: usize = 5;

fn main() {
    allow_many_files();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    support::run(&[
        ("hundred", &|| hundred_at_once(&runtime)),
        ("embedder", &|| hundred_with_embedder(&runtime)),
        ("mcp", &|| hundred_over_mcp(&runtime)),
        ("chat", &|| chats(&runtime)),
        ("words", &first_words),
        ("thousand", &|| thousand_in_flight(&runtime)),
        ("readers", &|| readers(&runtime)),
    ]);
}

/// A model server for thousands of concurrent calls. It streams each reply in `chunks` parts over `DELAY`.
struct Model {
    port: u16,
    calls: Arc<AtomicUsize>,
    /// While it is closed, calls are accepted but not answered.
    gate: watch::Sender<bool>,
}

impl Model {
    fn start(runtime: &Runtime, chunks: u32) -> Self {
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        let calls = Arc::<AtomicUsize>::default();
        let counter = Arc::clone(&calls);
        let (gate, gate_receiver) = watch::channel(true);
        runtime.spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (counter, gate) = (Arc::clone(&counter), gate_receiver.clone());
                spawn(async move {
                    let _ = handle_connection(stream, &counter, gate, chunks).await;
                });
            }
        });
        Self { port, calls, gate }
    }

    fn home(&self) -> Home {
        let home = Home::empty();
        let text = format!(
            "[providers.lab]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:{}/v1\"\nmax_concurrent = 1024\n",
            self.port
        );
        home.write("roundtable.toml", &text);
        home
    }

    /// With a model for every tier, for clients that name none.
    fn home_with_tiers(&self) -> Home {
        let home = self.home();
        let config = std::fs::read_to_string(home.path().join("roundtable.toml")).unwrap();
        let tiers = "[tiers]\ndeliberate = \"lab:x\"\nfast = \"lab:x\"\n";
        home.write("roundtable.toml", &format!("{config}{tiers}"));
        home
    }

    /// The default configuration.
    fn home_with_embedder(&self) -> Home {
        let home = self.home();
        harness::weights::link_embedder(&home);
        home
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a server of the benchmark, not part of the program"
)]
fn spawn(work: impl Future<Output = ()> + Send + 'static) {
    drop(tokio::spawn(work));
}

async fn handle_connection(
    stream: TcpStream,
    calls: &AtomicUsize,
    mut gate: watch::Receiver<bool>,
    chunks: u32,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await? == 0 {
                return Ok(());
            }
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        calls.fetch_add(1, Ordering::Relaxed);
        let _ = gate.wait_for(|is_open| *is_open).await;
        let text = String::from_utf8_lossy(&body);
        let names = [
            "opening",
            "critique",
            "revision",
            "review",
            "synthesis",
            "marking",
        ];
        let name = names
            .into_iter()
            .find(|name| text.contains(&format!("\"name\":\"{name}\"")))
            .unwrap_or("none");
        let request = json!({ "response_format": { "json_schema": { "name": name } } });
        let reply = good(&request, 0);
        send_reply(&mut stream, &reply, chunks).await?;
    }
}

async fn send_reply(
    stream: &mut BufReader<TcpStream>,
    reply: &str,
    chunks: u32,
) -> std::io::Result<()> {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let event = |value: &Value| {
        let data = format!("data: {value}\n\n");
        format!("{:x}\r\n{data}\r\n", data.len())
    };
    let characters: Vec<char> = reply.chars().collect();
    let size = characters.len().div_ceil(chunks as usize).max(1);
    stream.write_all(head.as_bytes()).await?;
    for chunk in characters.chunks(size) {
        tokio::time::sleep(DELAY / chunks).await;
        let chunk: String = chunk.iter().collect();
        let value = json!({ "choices": [{ "index": 0, "delta": { "content": chunk } }] });
        stream.write_all(event(&value).as_bytes()).await?;
    }
    let stop = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
    let usage =
        json!({ "choices": [], "usage": { "prompt_tokens": 500, "completion_tokens": 100 } });
    let end = format!(
        "{}{}e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n",
        event(&stop),
        event(&usage)
    );
    stream.write_all(end.as_bytes()).await
}

/// Nine calls: four rounds of two and a synthesis.
fn debate_of_nine_calls() -> Value {
    debate_on(harness::QUESTION)
}

fn debate_on(question: &str) -> Value {
    let rules = json!({ "min_rounds": 4, "max_rounds": 4, "auto_score": false });
    json!({ "question": question, "model": "lab:x", "rules": rules })
}

fn serving(home: &Home) -> Serving {
    let options = "--max-running 1000 --burst 100000 --rate 100000".split(' ');
    Serving::start(home, &options.collect::<Vec<_>>())
}

/// Runs `count` concurrent debates on the same question and returns the wall time.
fn run_all(serving: &Serving, count: usize) -> Duration {
    run_each(serving, &vec![debate_of_nine_calls(); count])
}

/// Runs the debates at the same time and returns the wall time.
fn run_each(serving: &Serving, debates: &[Value]) -> Duration {
    let started = Instant::now();
    thread::scope(|scope| {
        for body in debates {
            scope.spawn(|| {
                let wait = [("prefer", "wait=120")];
                let reply = serving.post_with("/api/v1/debates", body, &wait);
                assert_eq!(reply.status, 200, "{}", reply.text());
                assert_eq!(reply.json()["state"], "complete");
            });
        }
    });
    started.elapsed()
}

fn hundred_at_once(runtime: &Runtime) {
    let model = Model::start(runtime, 1);
    let home = model.home();
    let serving = serving(&home);
    let critical_path = DELAY.as_secs_f64() * CALLS as f64;
    let one = run_all(&serving, 1).as_secs_f64() / critical_path;
    report("one debate of 9 calls over its critical path", one, "", 1.3);
    let before = (cpu_ms(serving.pid()), model.calls.load(Ordering::Relaxed));
    let wall = run_all(&serving, 100).as_secs_f64() / critical_path;
    let calls = model.calls.load(Ordering::Relaxed) - before.1;
    assert_eq!(calls, 100 * CALLS);
    let what = "100 concurrent debates of 9 calls over the critical path of one";
    report(what, wall, "", 1.3);
    let cpu = (cpu_ms(serving.pid()) - before.0) / calls as f64;
    report("CPU time of the server per model call", cpu, "ms", 0.7);
}

/// The same with the default embedder, which embeds each question.
fn hundred_with_embedder(runtime: &Runtime) {
    let model = Model::start(runtime, 1);
    let home = model.home_with_embedder();
    let serving = serving(&home);
    // Embeds the template library.
    run_all(&serving, 1);
    let before = (cpu_ms(serving.pid()), model.calls.load(Ordering::Relaxed));
    let debates: Vec<Value> = (0..100)
        .map(|number| debate_on(&format!("{} Case {number}.", harness::QUESTION)))
        .collect();
    let wall = run_each(&serving, &debates).as_secs_f64();
    let calls = model.calls.load(Ordering::Relaxed) - before.1;
    assert_eq!(calls, 100 * CALLS);
    report(
        "100 concurrent debates over the critical path, default embedder",
        wall / (DELAY.as_secs_f64() * CALLS as f64),
        "",
        1.3,
    );
    let cpu = (cpu_ms(serving.pid()) - before.0) / calls as f64;
    let what = "CPU time of the server per model call, default embedder";
    report(what, cpu, "ms", 1.5);
}

/// Calls of agents, each for a debate of its own, in which no model call runs next to another.
fn hundred_over_mcp(runtime: &Runtime) {
    let model = Model::start(runtime, 1);
    let serving = serving(&model.home_with_tiers());
    let call = |number: usize| {
        let question = format!("{} Case {number}.", harness::QUESTION);
        let arguments = json!({ "question": question, "wait_seconds": 120 });
        let answer = serving.mcp_call("ask", &arguments);
        let outcome = &answer["result"]["structuredContent"];
        assert_eq!(outcome["state"], "complete", "{answer}");
    };
    call(0);
    let of_one = model.calls.load(Ordering::Relaxed);
    let started = Instant::now();
    thread::scope(|scope| {
        for number in 1..=100 {
            scope.spawn(move || call(number));
        }
    });
    let wall = started.elapsed().as_secs_f64();
    assert_eq!(model.calls.load(Ordering::Relaxed), 101 * of_one);
    report(
        "100 concurrent MCP calls over the critical path of one",
        wall / (DELAY.as_secs_f64() * of_one as f64),
        "",
        1.3,
    );
}

const CHAT: &str = "/v1/chat/completions";

fn chat(is_stream: bool) -> Value {
    let messages = json!([{ "role": "user", "content": harness::QUESTION }]);
    json!({ "model": "roundtable/ask", "messages": messages, "stream": is_stream })
}

/// The same debate over the OpenAI-compatible API and over our own. The best of several runs of each.
fn chats(runtime: &Runtime) {
    let model = Model::start(runtime, 1);
    let home = model.home_with_tiers();
    let serving = serving(&home);
    let timed = |path: &str, body: &Value| {
        let started = Instant::now();
        let reply = serving.post_with(path, body, &[("prefer", "wait=120")]);
        assert_eq!(reply.status, 200, "{}", reply.text());
        started.elapsed().as_secs_f64()
    };
    let (mut by_api, mut by_chat) = (f64::MAX, f64::MAX);
    for _ in 0..RUNS {
        let question = json!({ "question": harness::QUESTION });
        by_api = by_api.min(timed("/api/v1/debates", &question));
        by_chat = by_chat.min(timed(CHAT, &chat(false)));
    }
    let what = "a chat completion over the same debate by the API";
    report(what, by_chat / by_api, "", 1.02);
}

/// From the first token of a model to the first words that a client of a chat reads. The best of several runs.
fn first_words() {
    let said_at = Arc::new(Mutex::new(Instant::now()));
    let at = Arc::clone(&said_at);
    let model = harness::Server::start(move |request, before| {
        *at.lock().unwrap() = Instant::now();
        harness::Answer::Reply(good(request, before))
    });
    let home = Home::with_model(&model);
    let serving = serving(&home);
    let mut best = Duration::MAX;
    for _ in 0..RUNS {
        let mut stream = serving.post_stream(CHAT, &chat(true));
        stream.find(|block| block.contains("Use a")).unwrap();
        best = best.min(said_at.lock().unwrap().elapsed());
        stream.last();
    }
    let what = "first words in a chat after the first token of a model";
    report(what, best.as_secs_f64() * 1000.0, "ms", 50.0);
}

/// No call is answered before all debates have made their first.
fn thousand_in_flight(runtime: &Runtime) {
    const DEBATES: usize = 1000;
    let model = Model::start(runtime, 1);
    let home = model.home();
    let serving = serving(&home);
    let body = debate_of_nine_calls();
    let started = Instant::now();
    let running = || serving.get("/healthz").json()["running"].as_u64().unwrap();
    let wait_for = |count: u64| {
        while running() != count {
            assert!(started.elapsed() < Duration::from_mins(5));
            thread::sleep(Duration::from_millis(50));
        }
    };
    model.gate.send_replace(false);
    for _ in 0..DEBATES {
        let reply = serving.post("/api/v1/debates", &body);
        assert_eq!(reply.status, 202, "{}", reply.text());
    }
    wait_for(DEBATES as u64);
    while model.calls.load(Ordering::Relaxed) < DEBATES {
        thread::sleep(Duration::from_millis(10));
    }
    let gate_opened = Instant::now();
    model.gate.send_replace(true);
    wait_for(0);
    let critical_path = DELAY.as_secs_f64() * CALLS as f64;
    println!(
        "{:<66} {:>9.3}",
        "1,000 concurrent debates of 9 calls over the critical path of one",
        gate_opened.elapsed().as_secs_f64() / critical_path
    );
    let listed = serving.get("/api/v1/debates?state=complete&limit=1").json();
    assert_eq!(listed["total"], DEBATES, "all debates are complete");
    let memory = memory_mb(serving.pid(), "VmHWM");
    report("memory with 1,000 debates in flight", memory, "MB", 200.0);
}

/// A debate with 500 readers of its event stream, compared with none. The model streams small chunks.
fn readers(runtime: &Runtime) {
    const READERS: usize = 500;
    let model = Model::start(runtime, 20);
    let home = model.home();
    let serving = serving(&home);
    run_all(&serving, 1);
    let alone = (0..3)
        .map(|_| run_all(&serving, 1))
        .min()
        .expect("three runs");
    let mut best = Duration::MAX;
    for _ in 0..3 {
        let id = serving
            .post("/api/v1/debates", &debate_of_nine_calls())
            .json()["id"]
            .as_str()
            .unwrap()
            .to_owned();
        let started = Instant::now();
        let streams: Vec<_> = (0..READERS)
            .map(|_| runtime.spawn(read_all(serving.address.clone(), id.clone())))
            .collect();
        serving.until(&id, "complete");
        best = best.min(started.elapsed());
        let read: Vec<Vec<(String, String)>> = streams
            .into_iter()
            .map(|stream| runtime.block_on(stream).unwrap())
            .collect();
        let expected = texts(&serving.events(&id, &[]).all());
        for texts in &read {
            assert_eq!(*texts, expected, "a reader missed or repeated an event");
        }
    }
    let what = "wall time of a debate with 500 readers over one without";
    report(what, best.as_secs_f64() / alone.as_secs_f64(), "", 1.05);
}

/// The text of every turn as received by one reader.
async fn read_all(address: String, id: String) -> Vec<(String, String)> {
    let mut stream = TcpStream::connect(&address).await.unwrap();
    let head = format!(
        "GET /api/v1/debates/{id}/events HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let mut events = Vec::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("data: ")) {
        let data: Value = serde_json::from_str(line).unwrap();
        events.push(harness::Sent {
            id: String::new(),
            name: data["event"].as_str().unwrap().to_owned(),
            data,
        });
    }
    assert_eq!(events.last().unwrap().name, "complete");
    texts(&events)
}

fn texts(events: &[harness::Sent]) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for event in events {
        let turn = format!("{} {}", event.data["round"], event.name);
        let content = event.data["content"].as_str().unwrap();
        if !event.name.ends_with("_chunk") {
            all.push((turn, content.to_owned()));
        } else if let Some((_, text)) = all.iter_mut().find(|(own, _)| *own == turn) {
            text.push_str(content);
        } else {
            all.push((turn, content.to_owned()));
        }
    }
    all
}

fn allow_many_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}
