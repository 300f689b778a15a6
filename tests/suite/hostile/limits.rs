//! Limits on connections, on the process that reads PDF files, and on files that the command line reads; and the watchdog itself.

use std::io::Read;
use std::net::TcpStream;
use std::process::Command;
use std::thread;
use std::time::Duration;

#[cfg(target_os = "linux")]
use serde_json::Value;

use super::{home, idle};
use crate::harness::watchdog::{LIMIT, Watchdog};
use crate::harness::{Home, Server, Serving};

/// The watchdog itself: a blocked server is noticed, and one that only takes long for an answer is not.
#[test]
fn c20_the_watchdog_notices_a_server_that_stands_still() {
    let server = Server::good();
    let ((serving, _home), (control, _other)) = (idle(&server), idle(&server));
    let watchdog = Watchdog::new(&serving.address, &control.address);
    let signal = |name: &str| {
        let pid = serving.pid().to_string();
        let sent = Command::new("kill").args([name, &pid]).status();
        assert!(sent.unwrap().success());
    };
    let ((), wait) = watchdog.watch(|| {
        signal("-STOP");
        thread::sleep(LIMIT * 3);
        signal("-CONT");
    });
    assert!(wait > LIMIT, "{wait:?}");
    let ((), wait) = watchdog.watch(|| thread::sleep(LIMIT * 3));
    assert!(wait <= LIMIT, "{wait:?}");
}

/// Beyond the limit a connection gets 503; when one is closed, the next is served.
#[test]
fn c20_connections_are_limited() {
    let server = Server::good();
    let home = Home::with_file(&server);
    let serving = Serving::start(&home, &["--max-connections", "8"]);
    let mut open: Vec<TcpStream> = (0..8)
        .map(|_| TcpStream::connect(&serving.address).unwrap())
        .collect();
    let refused = serving.get("/healthz");
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert_eq!(refused.header("retry-after"), Some("5"));
    assert_eq!(
        refused.header("content-type"),
        Some("application/problem+json")
    );
    assert_eq!(
        refused.json()["type"],
        "urn:roundtable:problem:too-many-connections"
    );
    // Further idle ones are closed at once, without a response.
    let idle: Vec<TcpStream> = (0..64)
        .map(|_| TcpStream::connect(&serving.address).unwrap())
        .collect();
    let mut closed = TcpStream::connect(&serving.address).unwrap();
    closed
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    assert!(matches!(closed.read(&mut [0; 1]), Ok(0) | Err(_)));
    drop(idle);
    open.pop();
    let served = (0..100).any(|_| {
        thread::sleep(Duration::from_millis(50));
        serving
            .try_send("GET", "/healthz", &[], b"")
            .is_ok_and(|reply| reply.status == 200)
    });
    assert!(served);
}

/// The process that parses PDF files has limits on memory and time, and nothing of the environment.
#[cfg(target_os = "linux")]
#[test]
fn m15_the_reader_of_pdf_files_is_limited() {
    use std::io::Write;
    use std::process::Stdio;
    let home = Home::empty();
    let mut child = home
        .command(&["read-pdf"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let file = format!("/proc/{}/limits", child.id());
    let mut limits = String::new();
    let is_set = (0..200).any(|_| {
        thread::sleep(Duration::from_millis(20));
        limits = std::fs::read_to_string(&file).unwrap();
        limits.contains("2147483648")
    });
    assert!(is_set, "{limits}");
    let line = |name: &str| {
        limits
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap()
            .to_owned()
    };
    assert!(line("Max address space").contains("2147483648"), "{limits}");
    assert!(line("Max cpu time").contains(" 30 "), "{limits}");
    child.stdin.take().unwrap().write_all(b"nonsense").unwrap();
    let output = child.wait_with_output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(answer["Err"].is_string(), "{answer}");
}

/// The command line refuses anything but a regular file, with the reason, wherever it reads one.
#[test]
fn c20_devices_and_pipes_are_refused_on_the_command_line() {
    let server = Server::good();
    let home = home(&server);
    let pipe = home.path().join("pipe.toml").display().to_string();
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let folder = home.path().display().to_string();
    for (path, why) in [
        ("/dev/zero", "it is a device or a pipe, not a file"),
        (pipe.as_str(), "it is a device or a pipe, not a file"),
        (folder.as_str(), "folder"),
    ] {
        for args in [
            vec!["ask", "Why?", "--model", "lab:x", "--cast", path],
            vec!["debate", "Why?", "--model", "lab:x", "--cast", path],
            vec!["debate", "Why?", "--model", "lab:x", "--source", path],
            vec!["judge", path, "--model", "lab:x"],
            vec!["casts", "show", path],
            vec!["casts", "check", path],
            vec!["modes", "check", path],
            vec!["templates", "add", path],
            vec!["forecast", "--request", path, "--model", "lab:x"],
        ] {
            home.run(&args).expect(2, &[why]);
        }
    }
}
