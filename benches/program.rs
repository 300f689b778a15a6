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

#[allow(unused_imports, reason = "its tests use more than its replies do")]
#[path = "../tests/suite/debate.rs"]
mod debate;
#[path = "../tests/suite/harness/mod.rs"]
mod harness;

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use harness::forecast::replies;
use harness::{Answer, Home, QUESTION, Server, good};
use roundtable_core::similarity::Index;
use serde_json::Value;

/// Far less than a hosted model takes: what is added to it stands out.
const DELAY: Duration = Duration::from_millis(50);
/// What a fast one takes for a few words.
const FOUR_TIMES: Duration = Duration::from_millis(200);
const RUNS: usize = 5;

fn main() {
    // Words name the parts to measure; without any, all are. Cargo adds flags that are meant for a test harness.
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let parts: [(&str, fn()); 7] = [
        ("wall", wall_over_calls),
        ("forecast", wall_of_a_forecast),
        ("modes", wall_of_modes),
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

/// How long a command took from its first call to its answer, over the longest chain of its calls as the server saw them, and over a
/// chain of so many calls of exactly the delay. The server is not elsewhere but takes its time from the same cores, so it
/// prepares its answer beforehand and gives it at once. The best of several runs.
fn wall(
    args: &[&str],
    delay: Duration,
    chain: f64,
    answer: fn(&Value, usize) -> String,
) -> (f64, f64) {
    let (mut over_calls, mut over_delays) = (f64::MAX, f64::MAX);
    for _ in 0..RUNS {
        let server =
            Server::start(move |request, before| Answer::After(delay, answer(request, before)));
        let home = Home::with(&server);
        home.run(&["list"]).expect(0, &[]);
        let mut child = home
            .command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut first_line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut first_line)
            .unwrap();
        let answered = Instant::now();
        // A closed pipe does not matter: all that counts has been read.
        child.wait().unwrap();
        assert!(!first_line.is_empty());
        let calls = server.calls();
        let took = (answered - calls[0].0).as_secs_f64();
        over_calls = over_calls.min(took / longest_chain(&calls).as_secs_f64());
        over_delays = over_delays.min(took / (delay.as_secs_f64() * chain));
    }
    (over_calls, over_delays)
}

/// The longest chain of calls of which each began after the one before had ended: no program could have waited for less.
fn longest_chain(calls: &[(Instant, Instant)]) -> Duration {
    let mut chains: Vec<(Instant, Duration)> = Vec::new();
    for &(begun, ended) in calls {
        let before = chains.iter().filter(|(end, _)| *end <= begun);
        let longest = before.map(|(_, length)| *length).max();
        chains.push((ended, longest.unwrap_or_default() + (ended - begun)));
    }
    let lengths = chains.into_iter().map(|(_, length)| length);
    lengths.max().unwrap_or_default()
}

fn wall_over_calls() {
    let args = ["ask", QUESTION, "--model", "lab:x", "--quiet"];
    let (over_calls, over_delays) = wall(&args, DELAY, 8.0, good);
    let what = "wall time of a debate over its 8 sequential calls";
    report(what, over_calls, "", 1.05);
    let what = "the same over 8 times the 50 ms after which the server answers";
    report(what, over_delays, "", 1.05);
}

/// A forecast's longest chain of calls that wait for each other: three arguments, the judge, the last scores, the synthesis.
fn wall_of_a_forecast() {
    let args = [
        "forecast",
        QUESTION,
        "--outcome",
        "Yes",
        "--outcome",
        "No",
        "--model",
        "lab:x",
        "--quiet",
    ];
    let (over_calls, over_delays) =
        wall(&args, DELAY, 6.0, |request, _| replies(request).to_string());
    let what = "wall time of a forecast over the longest chain of its calls";
    report(what, over_calls, "", 1.05);
    let what = "the same over 6 times 50 ms, the chain of its 31 calls";
    report(what, over_delays, "", 1.05);
}

/// That no mode has a longer chain than it must is tested on a simulated clock; this is what is added to it.
fn wall_of_modes() {
    for mode in [
        "adversarial",
        "collaborative",
        "delphi",
        "devils-advocate",
        "expert-panel",
        "red-team-blue-team",
        "socratic",
    ] {
        let args = [
            "debate", QUESTION, "--mode", mode, "--model", "lab:x", "--quiet",
        ];
        let reply = |request: &Value, _| debate::reply(request).to_string();
        for (delay, call) in [(DELAY, "50 ms"), (FOUR_TIMES, "200 ms")] {
            let (over_calls, _) = wall(&args, delay, 1.0, reply);
            let what = format!("wall time in {mode} over its chain of {call} calls");
            report(&what, over_calls, "", 1.05);
        }
    }
}

/// What a process takes from one call to another twenty calls later: so starting it does not count, nor what a first call of its
/// kind prepares for all that follow. Half of the debates take less, half take more.
fn cpu_per_call() {
    const DEBATES: usize = 60;
    /// The first of round 3: by then there was one of each kind.
    const FROM: usize = 4;
    /// The synthesis, after the last of round 12.
    const TO: usize = 24;
    let child = Arc::new(AtomicU32::new(0));
    let taken: Arc<Mutex<Vec<Duration>>> = Arc::default();
    let server = {
        let (child, taken) = (Arc::clone(&child), Arc::clone(&taken));
        Server::start(move |request, before| {
            // It has asked and waits: all that it took so far is accounted for.
            let so_far = cpu_of(child.load(Ordering::SeqCst));
            taken.lock().unwrap().push(so_far);
            Answer::Reply(good(request, before))
        })
    };
    let home = Home::with(&server);
    home.run(&["list"]).expect(0, &[]);
    let args = [
        "ask", QUESTION, "--model", "lab:x", "--quiet", "--rounds", "12",
    ];
    let mut debates: Vec<Duration> = (0..DEBATES)
        .map(|_| {
            taken.lock().unwrap().clear();
            let mut process = home.command(&args).stdout(Stdio::null()).spawn().unwrap();
            child.store(process.id(), Ordering::SeqCst);
            assert!(process.wait().unwrap().success());
            let taken = taken.lock().unwrap();
            taken[TO].saturating_sub(taken[FROM])
        })
        .collect();
    debates.sort_unstable();
    report(
        "CPU time per model call, journaled and streamed",
        debates[DEBATES / 2].as_secs_f64() * 1000.0 / (TO - FROM) as f64,
        "ms",
        0.5,
    );
}

/// How long the threads of a process have run, in user's code and the kernel's.
fn cpu_of(process: u32) -> Duration {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).expect("Linux");
    let nanoseconds = threads.flatten().filter_map(|thread| {
        let ran = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        ran.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum())
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
