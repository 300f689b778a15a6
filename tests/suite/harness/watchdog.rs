//! Watches whether a server is blocked while it works on a request.
//!
//! It asks `/healthz` again and again and notes how long each answer takes. The machine may be busy with other things, so it asks a
//! second, idle server at the same time: what both of them take longer is not the work of the first. And a wait that is caused by a
//! request comes back when the request is repeated, unlike one by chance.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A server that answers later than this is blocked.
pub(crate) const LIMIT: Duration = Duration::from_millis(100);
/// How often a request is repeated before a wait counts. On a busy machine several waits in a row can be by chance, so later attempts
/// are further and further apart.
const ATTEMPTS: u32 = 24;
const QUICK_ATTEMPTS: u32 = 6;
const PAUSE: Duration = Duration::from_millis(100);
const INTERVAL: Duration = Duration::from_millis(8);
const MEMORY: usize = 20_000;

pub(crate) struct Watchdog {
    watched: Pulse,
    control: Pulse,
}

impl Watchdog {
    /// Watches the server at the first address; the second one is idle.
    pub(crate) fn new(watched: &str, control: &str) -> Self {
        Self {
            watched: Pulse::of(watched),
            control: Pulse::of(control),
        }
    }

    /// Runs `attempt` until the server answers in time meanwhile. Returns the last result and the shortest of the longest waits: if
    /// it is over [`LIMIT`], the server stood still every time.
    pub(crate) fn watch<T>(&self, mut attempt: impl FnMut() -> T) -> (T, Duration) {
        let mut shortest = Duration::MAX;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let (result, wait) = self.watch_once(&mut attempt);
            shortest = shortest.min(wait);
            if shortest <= LIMIT || attempts == ATTEMPTS {
                return (result, shortest);
            }
            thread::sleep(PAUSE * attempts.saturating_sub(QUICK_ATTEMPTS));
        }
    }

    /// The longest wait during one attempt.
    pub(crate) fn watch_once<T>(&self, attempt: impl FnOnce() -> T) -> (T, Duration) {
        let from = Instant::now();
        let result = attempt();
        let to = Instant::now();
        let wait = self.watched.longest(from, to);
        (result, wait.saturating_sub(self.control.longest(from, to)))
    }
}

/// The answers of one server, on a thread of its own.
struct Pulse {
    beats: Arc<Mutex<Beats>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Beats {
    /// When a request was sent and answered, the last ones.
    answered: VecDeque<(Instant, Instant)>,
    waiting_since: Option<Instant>,
}

impl Pulse {
    fn of(address: &str) -> Self {
        let beats = Arc::new(Mutex::new(Beats::default()));
        let stop = Arc::new(AtomicBool::new(false));
        let thread = {
            let (beats, stop, address) = (beats.clone(), stop.clone(), address.to_owned());
            thread::spawn(move || beat(&address, &beats, &stop))
        };
        while beats.lock().unwrap().answered.is_empty() {
            thread::sleep(INTERVAL);
        }
        Self {
            beats,
            stop,
            thread: Some(thread),
        }
    }

    /// The longest wait that had begun before `to` and was not over at `from`.
    fn longest(&self, from: Instant, to: Instant) -> Duration {
        let beats = self.beats.lock().unwrap();
        let waiting = beats.waiting_since.map(|sent| (sent, Instant::now()));
        let all = beats.answered.iter().copied().chain(waiting);
        all.filter(|(sent, answered)| *sent < to && *answered > from)
            .map(|(sent, answered)| answered - sent)
            .max()
            .unwrap_or_default()
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It ends by itself if the server is gone.
            let _ = thread.join();
        }
    }
}

fn beat(address: &str, beats: &Mutex<Beats>, stop: &AtomicBool) {
    let mut connection = None;
    while !stop.load(Ordering::Relaxed) {
        let sent = Instant::now();
        beats.lock().unwrap().waiting_since = Some(sent);
        let answered = ask(address, &mut connection).is_ok();
        let mut beats = beats.lock().unwrap();
        beats.waiting_since = None;
        if answered {
            beats.answered.push_back((sent, Instant::now()));
            if beats.answered.len() > MEMORY {
                beats.answered.pop_front();
            }
        } else {
            connection = None;
        }
        drop(beats);
        thread::sleep(INTERVAL);
    }
}

/// On one connection, as a balancer does.
fn ask(address: &str, connection: &mut Option<BufReader<TcpStream>>) -> std::io::Result<()> {
    if connection.is_none() {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_mins(1)))?;
        *connection = Some(BufReader::new(stream));
    }
    let Some(stream) = connection else {
        return Ok(());
    };
    let request = format!("GET /healthz HTTP/1.1\r\nhost: {address}\r\n\r\n");
    stream.get_mut().write_all(request.as_bytes())?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
        if line == "\r\n" {
            break;
        }
    }
    stream.read_exact(&mut vec![0; length])
}
