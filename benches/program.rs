//! Overhead of the program over its model calls, measured on the real binary with a model server on loopback.
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

#[allow(unused_imports, reason = "only its replies are used, not its tests")]
#[path = "../tests/suite/debate.rs"]
mod debate;
#[path = "../tests/suite/harness/mod.rs"]
mod harness;
mod support;

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use harness::forecast::replies;
use harness::mcp::McpProcess;
use harness::{Answer, Home, QUESTION, Server, good};
use roundtable_core::similarity::Index;
use serde_json::{Value, json};
use support::{memory_mb, report};

/// Much less than a hosted model takes, so that the overhead is visible.
const DELAY: Duration = Duration::from_millis(50);
/// The latency of a fast hosted model for a short reply.
const LONG_DELAY: Duration = Duration::from_millis(200);
const RUNS: usize = 5;

fn main() {
    support::run(&[
        ("wall", &wall_of_ask),
        ("forecast", &wall_of_a_forecast),
        ("modes", &wall_of_modes),
        ("cpu", &cpu_per_call),
        ("startup", &startup),
        ("memory", &idle_memory),
        ("mcp", &mcp),
        ("set", &wall_of_a_set),
        ("pool", &pooling),
        ("retrieval", &retrieval),
        ("bench", &bench_statistics),
        ("bench-overhead", &bench_overhead),
        ("simulate", &simulation),
    ]);
}

/// The wall time of a command from its first call to its output, as two ratios: over the longest chain of its calls as measured by
/// the server, and over `chain` times the delay. The server runs on the same cores, so it prepares each reply before the delay
/// and sends it at once. The best of several runs.
fn wall_ratios(
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
        // The pipe is closed by now, which does not matter: the first line has been read.
        child.wait().unwrap();
        assert!(!first_line.is_empty());
        let calls = server.calls();
        let elapsed = (answered - calls[0].0).as_secs_f64();
        over_calls = over_calls.min(elapsed / longest_chain(&calls).as_secs_f64());
        over_delays = over_delays.min(elapsed / (delay.as_secs_f64() * chain));
    }
    (over_calls, over_delays)
}

/// The longest chain of calls that each began after the previous one ended: the lower bound for the wall time.
fn longest_chain(calls: &[(Instant, Instant)]) -> Duration {
    let mut chains: Vec<(Instant, Duration)> = Vec::new();
    for &(start, end) in calls {
        let before = chains
            .iter()
            .filter(|(previous_end, _)| *previous_end <= start);
        let longest = before.map(|(_, length)| *length).max();
        chains.push((end, longest.unwrap_or_default() + (end - start)));
    }
    let lengths = chains.into_iter().map(|(_, length)| length);
    lengths.max().unwrap_or_default()
}

fn wall_of_ask() {
    let args = ["ask", QUESTION, "--model", "lab:x", "--quiet"];
    let (over_calls, over_delays) = wall_ratios(&args, DELAY, 8.0, good);
    let what = "wall time of a debate over its 8 sequential calls";
    report(what, over_calls, "", 1.05);
    let what = "the same over 8 times the server's delay of 50 ms";
    report(what, over_delays, "", 1.05);
}

/// The longest chain of dependent calls in a forecast: three arguments, the judge, the final scores, the synthesis.
fn wall_of_a_forecast() {
    let args = "forecast --outcome Yes --outcome No --model lab:x --quiet".split(' ');
    let args: Vec<&str> = args.chain([QUESTION]).collect();
    let (over_calls, over_delays) =
        wall_ratios(&args, DELAY, 6.0, |request, _| replies(request).to_string());
    let what = "wall time of a forecast over the longest chain of its calls";
    report(what, over_calls, "", 1.05);
    let what = "the same over 6 times 50 ms, the chain of its 31 calls";
    report(what, over_delays, "", 1.05);
}

/// In kilobytes; `None` once the process has ended.
fn peak_memory(pid: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// 500 questions with 50 at a time, over the chain of ten times the six calls of a forecast, each of 200 ms; and the growth of memory from
/// 100 questions to 500.
fn wall_of_a_set() {
    const CONCURRENCY: usize = 50;
    let peak_of = |questions: usize| {
        let server =
            Server::start(|request, _| Answer::After(LONG_DELAY, replies(request).to_string()));
        let home = Home::with(&server);
        home.allow_calls(CONCURRENCY * 10);
        let rows = (0..questions).map(|number| format!("Does bridge {number} open?\n"));
        home.write(
            "set.csv",
            &format!("question\n{}", rows.collect::<String>()),
        );
        home.run(&["questions", "import", "set.csv"]).expect(0, &[]);
        let args = "forecast --set set --concurrency 50 --model lab:x --quiet".split(' ');
        let mut child = home
            .command(&args.collect::<Vec<_>>())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let pid = child.id();
        let sampler = thread::spawn(move || {
            let mut peak = 0.0_f64;
            while let Some(now) = peak_memory(pid) {
                peak = now;
                thread::sleep(Duration::from_millis(20));
            }
            peak
        });
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let answered = Instant::now();
        std::io::copy(&mut output, &mut std::io::sink()).unwrap();
        child.wait().unwrap();
        let peak = sampler.join().unwrap();
        let calls = server.calls();
        assert_eq!(calls.len(), questions * 31);
        ((answered - calls[0].0).as_secs_f64(), peak)
    };
    let (_, small) = peak_of(100);
    let (elapsed, large) = peak_of(500);
    let chain = LONG_DELAY.as_secs_f64() * 6.0 * (500 / CONCURRENCY) as f64;
    report(
        "wall time of 500 questions, 50 at a time, over their chain",
        elapsed / chain,
        "",
        1.15,
    );
    report(
        "memory of 500 questions over that of 100",
        large / small,
        "",
        1.25,
    );
}

/// Unit tests with a simulated clock check the length of each mode's chain; this measures the overhead on top of it.
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
        for (delay, call) in [(DELAY, "50 ms"), (LONG_DELAY, "200 ms")] {
            let (over_calls, _) = wall_ratios(&args, delay, 1.0, reply);
            let what = format!("wall time in {mode} over its chain of {call} calls");
            report(&what, over_calls, "", 1.05);
        }
    }
}

/// CPU time between two calls that are twenty calls apart, which excludes start-up and one-time work of the first calls. The median
/// of all debates.
fn cpu_per_call() {
    const DEBATES: usize = 60;
    /// The first call of round 3: there has been one of each kind before.
    const FROM: usize = 4;
    /// The synthesis, after round 12.
    const TO: usize = 24;
    let child = Arc::new(AtomicU32::new(0));
    let cpu_at_call: Arc<Mutex<Vec<Duration>>> = Arc::default();
    let server = {
        let (child, cpu_at_call) = (Arc::clone(&child), Arc::clone(&cpu_at_call));
        Server::start(move |request, before| {
            // The process waits for this reply, so its CPU time does not change now.
            let cpu = cpu_of(child.load(Ordering::SeqCst));
            cpu_at_call.lock().unwrap().push(cpu);
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
            cpu_at_call.lock().unwrap().clear();
            let mut process = home.command(&args).stdout(Stdio::null()).spawn().unwrap();
            child.store(process.id(), Ordering::SeqCst);
            assert!(process.wait().unwrap().success());
            let cpu_at_call = cpu_at_call.lock().unwrap();
            cpu_at_call[TO].saturating_sub(cpu_at_call[FROM])
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

/// User and system time of all threads of a process.
fn cpu_of(process: u32) -> Duration {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).expect("Linux");
    let nanoseconds = threads.flatten().filter_map(|thread| {
        let schedstat = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        schedstat.split_whitespace().next()?.parse::<u64>().ok()
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

fn start_ask(home: &Home) -> Child {
    let mut command = home.command(&["ask", QUESTION, "--model", "lab:x", "--quiet"]);
    command.stdout(Stdio::null()).spawn().unwrap()
}

fn stop(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn startup() {
    let server = Server::start(|_, _| Answer::Silence);
    let home = Home::with(&server);
    let without = startup_time(&server, &home);
    let what = "start-up to the first request, with a configured provider";
    report(what, without, "ms", 50.0);
    harness::weights::link_embedder(&home);
    // Embeds the template library.
    startup_time(&server, &home);
    let what = "start-up with the default embedder, minus that without one";
    report(what, startup_time(&server, &home) - without, "ms", 40.0);
}

/// The best of ten runs, in milliseconds.
fn startup_time(server: &Server, home: &Home) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..10 {
        let before = server.heard().len();
        let child = start_ask(home);
        best = best.min(first_request(server, before).as_secs_f64() * 1000.0);
        stop(child);
    }
    best
}

fn idle_memory() {
    let server = Server::start(|_, _| Answer::Silence);
    let home = Home::with(&server);
    let child = start_ask(&home);
    first_request(&server, 0);
    thread::sleep(Duration::from_millis(200));
    let memory = memory_mb(child.id(), "VmRSS");
    stop(child);
    let what = "memory while waiting for a model, embedded model not loaded";
    report(what, memory, "MB", 30.0);
}

/// An MCP process: from its start to its first response, and while it waits for requests.
fn mcp() {
    let server = Server::start(|_, _| Answer::Silence);
    let home = Home::with_model(&server);
    let mut best = Duration::MAX;
    let mut memory = 0.0;
    for _ in 0..RUNS {
        let started = Instant::now();
        let mut process = McpProcess::initialized(&home, &[], "2025-06-18");
        process.request("tools/list", json!({}));
        best = best.min(started.elapsed());
        thread::sleep(Duration::from_millis(200));
        memory = memory_mb(process.child.id(), "VmRSS");
        process.close();
    }
    let what = "`roundtable mcp` from its start to the list of its tools";
    report(what, best.as_secs_f64() * 1000.0, "ms", 100.0);
    report("memory of an idle MCP process", memory, "MB", 40.0);
}

/// The time of a whole command, in seconds.
fn seconds_of(home: &Home, args: &[&str]) -> f64 {
    let started = Instant::now();
    home.run(args).expect(0, &[]);
    started.elapsed().as_secs_f64()
}

/// 10,000 questions of five domains with ten agents of three groups, each resolved 30 days after its forecasts (B-09).
fn pooling() {
    const AGENTS: usize = 10;
    let home = Home::empty();
    let mut text = String::from(
        "question_id,agent,group,domain,forecast_date,resolved_date,probability,outcome\n",
    );
    let day = |number: usize| {
        let (year, rest) = (1996 + number / 336, number % 336);
        format!("{year}-{:02}-{:02}", rest / 28 + 1, rest % 28 + 1)
    };
    for question in 0..10_000_usize {
        let outcome = usize::from(question % 10 < 4);
        let (asked, known) = (day(question), day(question + 30));
        for agent in 0..AGENTS {
            // Fixed, and without a pattern across questions and agents.
            let noise = ((question * 7919 + agent * 104_729) % 1000) as f64 / 1000.0 - 0.5;
            let centre = if outcome == 1 { 0.7 } else { 0.3 };
            let width = 0.2 + 0.05 * agent as f64;
            let said = (centre + noise * width).clamp(0.01, 0.99);
            let (group, domain) = (agent % 3, question % 5);
            let _ = writeln!(
                text,
                "{question},a{agent},g{group},d{domain},{asked},{known},{said:.4},{outcome}"
            );
        }
    }
    home.write("forecasts.csv", &text);
    let args = ["pool", "forecasts.csv", "--json"];
    let what = "pool on 100,000 forecasts of 10,000 questions, whole command";
    report(what, seconds_of(&home, &args), "s", 1.0);
}

/// Accuracies, intervals, comparisons and independence of recorded answers (B-01).
fn bench_statistics() {
    let home = Home::empty();
    let mut text = String::from("question,correct");
    for seat in 0..29 {
        let _ = write!(text, ",seat{seat}");
    }
    for question in 0..12_000_usize {
        let _ = write!(text, "\n{question},A");
        for seat in 0..29 {
            let is_right = question.wrapping_mul(2_654_435_761 + seat) % 100 < 40 + seat;
            text.push_str(if is_right { ",A" } else { ",B" });
        }
    }
    home.write("answers.csv", &text);
    let args = ["bench", "--records", "answers.csv", "--wide", "--json"];
    let what = "bench --records on 12,000 questions and 29 seats, whole command";
    report(what, seconds_of(&home, &args), "s", 2.0);
}

/// What a bench adds to its calls, which it makes one after the other (B-01).
fn bench_overhead() {
    let server = Server::start(|_, _| {
        let reply = "{\"answer\": \"Answer: 4\", \"position\": \"4\", \"confidence\": 0.9}";
        Answer::After(LONG_DELAY, reply.to_owned())
    });
    let home = Home::with_model(&server);
    let mut text = String::from("question,answer\n");
    for question in 0..40 {
        let _ = writeln!(text, "What is {question} minus itself plus 4?,4");
    }
    home.write("items.csv", &text);
    let started = Instant::now();
    let args = [
        "bench",
        "items.csv",
        "--arms",
        "one",
        "--jobs",
        "1",
        "--quiet",
        "--json",
    ];
    home.run(&args).expect(0, &[]);
    let elapsed = started.elapsed();
    let calls: Duration = server
        .calls()
        .iter()
        .map(|(start, end)| *end - *start)
        .sum();
    let over = elapsed.as_secs_f64() / calls.as_secs_f64();
    report(
        "wall time of a bench over its 40 calls of 200 ms",
        over,
        "",
        1.02,
    );
}

/// Seat-rounds a second on one core, whole command (B-17).
fn simulation() {
    let home = Home::empty();
    let args = "simulate --seats 7 --families 3 --rounds 4 --questions 100000 --json".split(' ');
    let seconds = seconds_of(&home, &args.collect::<Vec<_>>());
    let per_million = seconds / (7.0 * 4.0 * 100_000.0) * 1e6;
    let what = "simulate: a million seat-rounds (50,000 a second are 20 s)";
    report(what, per_million, "s", 20.0);
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
    let what = "the nearest 3 of 100,000 templates, exact search";
    report(what, best, "ms", 60.0);
}
