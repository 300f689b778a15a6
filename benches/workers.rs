//! Workers that share a PostgreSQL database, measured on the real binary: takeover time and throughput. The database runs with
//! fsync, as in production. Exceeding a bound is not an error.

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

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use harness::postgres::{Database, Disk};
use harness::{Answer, Home, Server, Serving, good, schema_name};
use serde_json::Value;
use support::cpu_ms;

const DELAY: Duration = Duration::from_millis(200);
/// Calls of one debate with the harness's model: three rounds, a synthesis and its score.
const CALLS: usize = 8;

fn main() {
    support::run(&[
        ("takeover", &takeover),
        ("throughput", &throughput),
        ("cpu", &cpu_per_step),
    ]);
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

/// Time from killing a worker during a call to another worker's first call for the same debate.
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
    let what = "seconds from kill -9 to the next worker's first call (worst of 3)";
    report(what, worst.as_secs_f64(), "10");
}

/// Finished steps per second: with a model that takes 200 ms and ten concurrent debates per worker, and with a model that replies at
/// once and fifty, which measures the program itself. Model server, database and workers share the machine.
fn throughput() {
    const DEBATES_PER_WORKER: usize = 10;
    const MANY_DEBATES_PER_WORKER: usize = 50;
    for workers in [1, 2, 4] {
        let slow = |request: &Value, before| Answer::Late(DELAY, good(request, before % CALLS));
        let limit = (workers * DEBATES_PER_WORKER) as f64 / DELAY.as_secs_f64();
        report(
            &format!("steps per second, {workers} workers with {DEBATES_PER_WORKER} debates each"),
            steps_per_second(workers, DEBATES_PER_WORKER, 80, slow),
            &format!("{limit} without any overhead"),
        );
    }
    for workers in [1, 2, 4] {
        let fast = |request: &Value, before| Answer::AtOnce(good(request, before % CALLS));
        let steps = steps_per_second(workers, MANY_DEBATES_PER_WORKER, 800, fast);
        let cores = thread::available_parallelism().unwrap().get() as f64;
        report(
            &format!("steps per second, {workers} workers, a model that replies at once"),
            steps,
            &format!("{:.0} per core", steps / cores),
        );
    }
}

fn steps_per_second(
    workers: usize,
    debates_per_worker: usize,
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
    let workers: Vec<Worker> = (0..workers)
        .map(|_| Worker::start(&home, debates_per_worker))
        .collect();
    // Polled rarely, because queries use the same cores. The end time comes from the database.
    while database.sql("SELECT count(*) FROM debates WHERE ended_at IS NULL") != "0" {
        thread::sleep(Duration::from_millis(500));
    }
    let ended = database.sql("SELECT max(ended_at) FROM debates");
    let seconds = ended.parse::<f64>().unwrap() / 1000.0 - started.as_secs_f64();
    drop(workers);
    let steps = database.sql("SELECT count(*) FROM journal WHERE kind = 'step_finished'");
    steps.parse::<f64>().unwrap() / seconds
}

/// CPU time of a server per step of its debates, from the request to the last journal entry, with both databases. The model replies
/// at once.
fn cpu_per_step() {
    const DEBATES: usize = 60;
    let server = Server::start(|request, before| Answer::Reply(good(request, before % CALLS)));
    let database = Database::on(Disk::Safe);
    let databases = [
        ("SQLite", Home::with_file(&server)),
        ("PostgreSQL", Home::with_database(&server, database.url())),
    ];
    for (name, home) in &databases {
        let serving = Serving::start(home, &[]);
        // Warm-up: one-time work is not part of a step.
        serving.until(&serving.debate(), "complete");
        let (calls, before) = (server.heard().len(), cpu_ms(serving.pid()));
        let ids: Vec<String> = (0..DEBATES).map(|_| serving.debate()).collect();
        let running = "/api/v1/debates?state=running&limit=1";
        while serving.get(running).json()["total"] != 0 {
            thread::sleep(Duration::from_millis(200));
        }
        drop(ids);
        let steps = (server.heard().len() - calls) as f64;
        report(
            &format!("CPU ms per step, {DEBATES} concurrent debates on {name}"),
            (cpu_ms(serving.pid()) - before) / steps,
            "",
        );
    }
}
