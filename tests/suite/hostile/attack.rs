//! Sends inputs to a server while a [`Watchdog`] asks whether it still answers others, and counts what they do.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::SECRET;
use crate::harness::watchdog::{LIMIT, Watchdog};
use crate::harness::{Reply, Scale, Serving};

/// Inputs that are watched together, and how many of them are sent at the same time.
const BATCH: usize = 16;
const CONNECTIONS: usize = 4;

pub(super) struct Input {
    method: &'static str,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Input {
    pub(super) fn get(path: impl Into<String>) -> Self {
        Self {
            method: "GET",
            path: path.into(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    pub(super) fn json(path: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            method: "POST",
            path: path.to_owned(),
            headers: vec![("content-type", "application/json".into())],
            body: body.into(),
        }
    }

    pub(super) fn put(path: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            method: "PUT",
            ..Self::json(path, body)
        }
    }

    /// A file in a form, as browsers send it.
    pub(super) fn upload(path: &str, field: &str, file: &str, content: &str) -> Self {
        let line = |text: &str| format!("{text}\r\n");
        let head = format!("content-disposition: form-data; name=\"{field}\"; filename=\"{file}\"");
        let question = "content-disposition: form-data; name=\"question\"";
        let lines = [
            "--x", question, "", "Why?", "--x", &head, "", content, "--x--",
        ];
        Self {
            method: "POST",
            path: path.to_owned(),
            headers: vec![("content-type", "multipart/form-data; boundary=x".into())],
            body: lines.map(line).concat().into_bytes(),
        }
    }

    pub(super) fn form(path: &str, fields: &[(&str, &str)]) -> Self {
        let fields: Vec<String> = fields
            .iter()
            .map(|(name, value)| format!("{}={}", percent(name), percent(value)))
            .collect();
        Self {
            method: "POST",
            path: path.to_owned(),
            headers: vec![("content-type", "application/x-www-form-urlencoded".into())],
            body: fields.join("&").into_bytes(),
        }
    }

    pub(super) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    fn shown(&self) -> String {
        let body = String::from_utf8_lossy(&self.body);
        let text = format!("{} {} {:?} {body}", self.method, self.path, self.headers);
        text.chars().take(300).collect()
    }
}

/// The answer to an input, or why there is none.
type Answered = std::io::Result<Reply>;

/// The effects of the inputs so far.
pub(super) struct Attack<'s> {
    serving: &'s Serving,
    watchdog: Watchdog,
    inputs: usize,
    pub(super) answers: BTreeMap<u16, usize>,
    /// Inputs that the server closed the connection on.
    closed: Vec<String>,
    longest: Duration,
    faults: Vec<String>,
}

impl<'s> Attack<'s> {
    pub(super) fn on(serving: &'s Serving, control: &Serving) -> Self {
        Self {
            serving,
            watchdog: Watchdog::new(&serving.address, &control.address),
            inputs: 0,
            answers: BTreeMap::new(),
            closed: Vec::new(),
            longest: Duration::ZERO,
            faults: Vec::new(),
        }
    }

    /// Sends one input. A wait of the server counts only if it comes back each time the input is sent again.
    pub(super) fn send(&mut self, input: &Input) -> Option<Reply> {
        let serving = self.serving;
        let (answered, wait) = self.watchdog.watch(|| attempt(serving, input));
        self.judge(input, answered, wait)
    }

    /// Sends an input for every case, several at a time. If the server is blocked meanwhile, the batch is sent again one by one.
    pub(super) fn send_all<C: Sync>(&mut self, cases: &[C], make: impl Fn(&C) -> Input + Sync) {
        let serving = self.serving;
        for batch in cases.chunks(BATCH) {
            let (answers, wait) = self.watchdog.watch_once(|| {
                thread::scope(|scope| {
                    let send = |input: Input| {
                        let answered = attempt(serving, &input);
                        (input, answered)
                    };
                    let make = &make;
                    let parts = batch.chunks(BATCH.div_ceil(CONNECTIONS));
                    let senders = parts.map(|part| {
                        scope.spawn(move || part.iter().map(make).map(send).collect::<Vec<_>>())
                    });
                    let senders: Vec<_> = senders.collect();
                    let sent = senders
                        .into_iter()
                        .flat_map(|sender| sender.join().unwrap());
                    sent.collect::<Vec<_>>()
                })
            });
            for (input, answered) in answers {
                let is_calm = wait <= LIMIT;
                self.judge(
                    &input,
                    answered,
                    if is_calm { wait } else { Duration::ZERO },
                );
                if !is_calm {
                    self.send(&input);
                }
            }
        }
    }

    fn judge(&mut self, input: &Input, answered: Answered, wait: Duration) -> Option<Reply> {
        self.inputs += 1;
        self.longest = self.longest.max(wait);
        if wait > LIMIT {
            self.faults
                .push(format!("stood still for {wait:?}: {}", input.shown()));
        }
        let reply = match answered {
            Ok(reply) => reply,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.faults.push(format!("no answer: {}", input.shown()));
                return None;
            }
            Err(error) => {
                self.closed.push(format!("{error}: {}", input.shown()));
                return None;
            }
        };
        *self.answers.entry(reply.status).or_default() += 1;
        let text = reply.text();
        if reply.status >= 500 || reply.status == 0 {
            let text: String = text.chars().take(300).collect();
            let status = reply.status;
            self.faults
                .push(format!("{status}: {} → {text}", input.shown()));
        }
        if text.contains(SECRET) {
            self.faults.push(format!("leaked: {}", input.shown()));
        }
        Some(reply)
    }

    /// Prints the figures, and fails if an input did what it must not.
    pub(super) fn end(self, what: &str) {
        let count = |kind: &str| self.faults.iter().filter(|f| f.starts_with(kind)).count();
        let failures: usize = self.answers.range(500..).map(|(_, count)| count).sum();
        Scale::asked_for().tell(
            &format!("hostile input, {what}"),
            &json!({
                "inputs": self.inputs, "answers": self.answers, "closed": self.closed, "5xx": failures,
                "stalls": count("stood"), "leaks": count("leaked"), "longest_wait_ms": self.longest.as_millis(),
                "peak_memory_mb": peak_memory_mb(self.serving),
            }),
        );
        assert!(self.faults.is_empty(), "{:#?}", self.faults);
        assert_eq!(self.serving.get("/readyz").status, 200);
    }
}

fn attempt(serving: &Serving, input: &Input) -> Answered {
    let headers: Vec<(&str, &str)> = input
        .headers
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    serving.try_send(input.method, &input.path, &headers, &input.body)
}

#[cfg(target_os = "linux")]
pub(super) fn peak_memory_mb(serving: &Serving) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", serving.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    kilobytes.map_or(0, |number| number.parse::<u64>().unwrap() / 1000)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn peak_memory_mb(_: &Serving) -> u64 {
    0
}

pub(super) fn percent(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}
