//! Workers on one PostgreSQL database, measured on the real binary: how soon a dead one is replaced, and what more of them
//! bring. The database waits for its disk as in earnest. Nothing here is a test.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::panic,
    dead_code,
    reason = "a benchmark prints, and stops where it cannot measure; it shares the tests' harness"
)]
#![cfg(unix)]

#[path = "../tests/suite/harness/mod.rs"]
mod harness;

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use harness::postgres::{Database, Disk};
use harness::{Answer, Home, Server, Serving, good, schema_name};
use serde_json::Value;

const DELAY: Duration = Duration::from_millis(200);
/// Calls of one debate on the harness's model: three rounds, a synthesis and its marking.
const CALLS: usize = 8;

fn main() {
    println!("{:<66} {:>9}  bound", "what", "measured");
    let parts: [(&str, fn()); 3] = [
        ("takeover", takeover),
        ("throughput", throughput),
        ("cpu", cpu_of_a_step),
    ];
    // Words name the parts to measure; without any, all are. Cargo adds flags that are meant for a test harness.
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    for (name, measure) in parts {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            measure();
        }
    }
}

fn report(what: &str, value: f64, bound: &str) {
    println!("{what:<66} {value:>9.2}  {bound}");
}

struct Worker(Child);

impl Worker {
    fn start(home: &Home, concurrency: usize) -> Self {
        let mut child = home
            .command(&["worker", "--concurrency", &concurrency.to_string()])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let out = child.stdout.as_mut().unwrap();
        BufReader::new(out).read_line(&mut line).unwrap();
        Self(child)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// From the kill of a worker in the middle of a call to another's first call for the same debate.
fn takeover() {
    let mut worst = Duration::ZERO;
    for _ in 0..3 {
        let database = Database::on(Disk::Safe);
        let server = Server::start(|request, before| match schema_name(request).as_str() {
            "review" if before == 0 => Answer::Late(Duration::from_mins(1), good(request, before)),
            _ => Answer::Reply(good(request, before)),
        });
        let home = Home::with_database(&server, database.url());
        let serving = Serving::start(&home, &["--no-work"]);
        let first = Worker::start(&home, 1);
        serving.debate();
        Serving::until_asked(&server, "review");
        let _second = Worker::start(&home, 1);
        thread::sleep(Duration::from_secs(1));
        let killed = Instant::now();
        drop(first);
        Serving::wait_until_asked(&server, "review", 2);
        worst = worst.max(killed.elapsed());
    }
    report(
        "seconds from kill -9 to the next worker's first call (worst of 3)",
        worst.as_secs_f64(),
        "10",
    );
}

/// Finished steps a second: on a model that takes 200 ms, with ten debates at once for each worker; and on one that takes no time, with
/// fifty, where what the program does itself is all there is. Model server, database and workers share the machine.
fn throughput() {
    const EACH: usize = 10;
    const MANY: usize = 50;
    for workers in [1, 2, 4] {
        let slow = |request: &Value, before| Answer::Late(DELAY, good(request, before % CALLS));
        let most = (workers * EACH) as f64 / DELAY.as_secs_f64();
        report(
            &format!("steps a second, {workers} workers with {EACH} debates each"),
            steps_a_second(workers, EACH, 80, slow),
            &format!("{most} if a call took 200 ms and nothing else took any"),
        );
    }
    for workers in [1, 2, 4] {
        let fast = |request: &Value, before| Answer::AtOnce(good(request, before % CALLS));
        let steps = steps_a_second(workers, MANY, 800, fast);
        let cores = thread::available_parallelism().unwrap().get() as f64;
        report(
            &format!("the same on a model that answers at once, {workers} workers"),
            steps,
            &format!("{:.0} for each core", steps / cores),
        );
    }
}

fn steps_a_second(
    workers: usize,
    each: usize,
    debates: usize,
    answer: fn(&Value, usize) -> Answer,
) -> f64 {
    let database = Database::on(Disk::Safe);
    let server = Server::start(answer);
    let home = Home::with_database(&server, database.url());
    let serving = Serving::start(&home, &["--no-work", "--max-queued", "1000"]);
    for _ in 0..debates {
        serving.debate();
    }
    let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let all: Vec<Worker> = (0..workers).map(|_| Worker::start(&home, each)).collect();
    // Asking takes of the same cores, so it is done rarely. When the last debate ended, it says itself.
    while database.sql("SELECT count(*) FROM debates WHERE ended_at IS NULL") != "0" {
        thread::sleep(Duration::from_millis(500));
    }
    let ended = database.sql("SELECT max(ended_at) FROM debates");
    let seconds = ended.parse::<f64>().unwrap() / 1000.0 - started.as_secs_f64();
    drop(all);
    let steps = database.sql("SELECT count(*) FROM journal WHERE kind = 'step_finished'");
    steps.parse::<f64>().unwrap() / seconds
}

/// CPU time of a server for one step of its debates, from the request to the last entry, with both databases. The model answers at
/// once, so that waiting costs nothing.
fn cpu_of_a_step() {
    const DEBATES: usize = 60;
    let server = Server::start(|request, before| Answer::Reply(good(request, before % CALLS)));
    let database = Database::on(Disk::Safe);
    let places = [
        ("SQLite", Home::with_file(&server)),
        ("PostgreSQL", Home::with_database(&server, database.url())),
    ];
    for (name, home) in &places {
        let serving = Serving::start(home, &[]);
        // What is made once is not of a step.
        serving.until(&serving.debate(), "complete");
        let (calls, before) = (server.heard().len(), cpu_ms(serving.pid()));
        let ids: Vec<String> = (0..DEBATES).map(|_| serving.debate()).collect();
        let last = "/api/v1/debates?state=running&limit=1";
        while serving.get(last).json()["total"] != 0 {
            thread::sleep(Duration::from_millis(200));
        }
        drop(ids);
        let steps = (server.heard().len() - calls) as f64;
        report(
            &format!("ms of CPU for a step, {DEBATES} debates at once on {name}"),
            (cpu_ms(serving.pid()) - before) / steps,
            "",
        );
    }
}

/// User and system time so far.
fn cpu_ms(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let after_name = stat.rsplit(')').next().unwrap();
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let ticks = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
    ticks * 10.0
}
