//! What the program adds to the time of its model calls, measured on the real binary against a server on loopback.
//! Everything is a ratio or a bound within one run; nothing here is a test.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::panic,
    dead_code,
    reason = "a benchmark prints, and stops where it cannot measure; it shares the tests' harness"
)]

#[path = "../tests/suite/harness/mod.rs"]
mod harness;

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use harness::forecast::replies;
use harness::{Answer, Home, QUESTION, Server, good};
use roundtable_core::similarity::Index;

const DELAY: Duration = Duration::from_millis(50);

fn main() {
    // Words name the parts to measure; without any, all are. Cargo adds flags that are meant for a test harness.
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let parts: [(&str, fn()); 6] = [
        ("wall", wall_over_calls),
        ("path", wall_over_critical_path),
        ("cpu", cpu_per_call),
        ("startup", startup),
        ("memory", idle_memory),
        ("retrieval", retrieval),
    ];
    println!("{:<66} {:>9}  bound", "what", "measured");
    for (name, measure) in parts {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            measure();
        }
    }
}

fn report(what: &str, value: f64, unit: &str, bound: f64) {
    let verdict = if value <= bound { "" } else { "   OVER" };
    println!("{what:<66} {value:>9.3}  {bound} {unit}{verdict}");
}

/// The debate's own time, from its first call to its answer, over its calls one after another.
fn wall_over_calls() {
    let (mut over_calls, mut over_delays) = (f64::MAX, f64::MAX);
    for _ in 0..8 {
        let started = Arc::new(Mutex::new(None));
        let started_there = Arc::clone(&started);
        let server = Server::start(move |request, before| {
            started_there
                .lock()
                .unwrap()
                .get_or_insert_with(Instant::now);
            Answer::Late(DELAY, good(request, before))
        });
        let home = Home::with(&server);
        home.run(&["list"]).expect(0, &[]);
        let mut child = home
            .command(&["ask", QUESTION, "--model", "lab:x", "--quiet"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut answer = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut answer)
            .unwrap();
        let took = started.lock().unwrap().expect("a first call").elapsed();
        assert!(child.wait().unwrap().success() && !answer.is_empty());
        assert_eq!(server.heard().len(), 8);
        let delays = DELAY.as_secs_f64() * 8.0;
        over_calls = over_calls.min(took.as_secs_f64() / server.spent().as_secs_f64());
        over_delays = over_delays.min(took.as_secs_f64() / delays);
    }
    report(
        "wall time of a debate over its 8 sequential calls",
        over_calls,
        "",
        1.05,
    );
    report(
        "the same over 8 times the 50 ms after which the server answers",
        over_delays,
        "",
        1.05,
    );
}

/// A forecast's own time over the longest chain of calls that wait for each other: three arguments, the judge, the last
/// scores, the synthesis.
fn wall_over_critical_path() {
    const CHAIN: f64 = 6.0;
    let mut best = f64::MAX;
    for _ in 0..5 {
        let server = Server::start(|request, _| Answer::Late(DELAY, replies(request).to_string()));
        let home = Home::with(&server);
        home.run(&["list"]).expect(0, &[]);
        let run = home.run(&[
            "forecast",
            QUESTION,
            "--outcome",
            "Yes",
            "--outcome",
            "No",
            "--model",
            "lab:x",
            "--json",
            "--quiet",
        ]);
        run.expect(0, &[]);
        assert_eq!(server.heard().len(), 31);
        let took = run.json()["metadata"]["wall_clock_time_ms"]
            .as_f64()
            .unwrap();
        best = best.min(took / (DELAY.as_millis() as f64 * CHAIN));
    }
    report(
        "wall time of a forecast over its chain of 6 calls of 50 ms",
        best,
        "",
        1.05,
    );
}

/// The difference between long and short debates, so that starting the program does not count.
fn cpu_per_call() {
    const RUNS: u32 = 30;
    let server = Server::good();
    let home = Home::with(&server);
    home.ask(&["--quiet"]).expect(0, &[]);
    let total = |rounds: &str| {
        let (calls, ticks) = (server.heard().len(), cpu_of_children());
        for _ in 0..RUNS {
            home.ask(&["--quiet", "--rounds", rounds]).expect(0, &[]);
        }
        (
            server.heard().len() - calls,
            (cpu_of_children() - ticks) as f64 * 10.0,
        )
    };
    let (short_calls, short) = total("1");
    let (long_calls, long) = total("12");
    report(
        "CPU time per model call, journaled and streamed",
        (long - short) / (long_calls - short_calls) as f64,
        "ms",
        0.5,
    );
}

/// User and system time of all finished children in hundredths of a second. The kernel adds them up exactly and rounds only
/// what it shows.
fn cpu_of_children() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let after_name = stat.rsplit(')').next().unwrap();
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    fields[13].parse::<u64>().unwrap() + fields[14].parse::<u64>().unwrap()
}

fn first_request(server: &Server, before: usize) -> Duration {
    let started = Instant::now();
    while server.heard().len() == before {
        thread::sleep(Duration::from_micros(200));
    }
    started.elapsed()
}

fn stop(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn startup() {
    let server = Server::start(|_, _| Answer::Silence);
    let home = Home::with(&server);
    let mut best = f64::MAX;
    for _ in 0..10 {
        let before = server.heard().len();
        let child = home
            .command(&["ask", QUESTION, "--model", "lab:x", "--quiet"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        best = best.min(first_request(&server, before).as_secs_f64() * 1000.0);
        stop(child);
    }
    report(
        "start-up to the first request, a provider configured",
        best,
        "ms",
        50.0,
    );
}

fn idle_memory() {
    let server = Server::start(|_, _| Answer::Silence);
    let home = Home::with(&server);
    let child = home
        .command(&["ask", QUESTION, "--model", "lab:x", "--quiet"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    first_request(&server, 0);
    thread::sleep(Duration::from_millis(200));
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).expect("Linux");
    let kilobytes: f64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|number| number.parse().ok())
        .expect("VmRSS");
    stop(child);
    report(
        "memory while waiting for a model, the embedded one not loaded",
        kilobytes / 1024.0,
        "MB",
        30.0,
    );
}

fn retrieval() {
    const DIMENSION: usize = 384;
    let mut state = 1_u64;
    let mut vector = || -> Vec<f32> {
        (0..DIMENSION)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (state >> 40) as f32 / 16_777_216.0 - 0.5
            })
            .collect()
    };
    let mut index = Index::new(DIMENSION);
    for item in 0..100_000 {
        index.add(item, &vector()).unwrap();
    }
    let query = vector();
    let best = (0..5)
        .map(|_| {
            let started = Instant::now();
            assert_eq!(index.nearest(&query, 3).unwrap().len(), 3);
            started.elapsed().as_secs_f64() * 1000.0
        })
        .fold(f64::MAX, f64::min);
    report("the best 3 of 100,000 templates, exactly", best, "ms", 60.0);
}
