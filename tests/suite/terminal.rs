//! The program on a real terminal of 80 columns and 24 lines, with the pseudo-terminal of `script`.

#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::debate::{contribution, reply};
use crate::harness::{Answer, Home, QUESTION, Run, Server, finished, good, schema_name};

pub(crate) const LINES: usize = 24;
pub(crate) const COLUMNS: usize = 80;

/// Runs the program on a terminal; output is both streams, with escape sequences.
fn on_a_terminal(home: &Home, args: &[&str]) -> Run {
    typing(home, args, "")
}

/// Like [`on_a_terminal`]. Input is typed as a whole, before the program has started.
fn typing(home: &Home, args: &[&str], input: &str) -> Run {
    let mut child = terminal(home, args, COLUMNS).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    // Closed only at the end: `script` ends with its input.
    let run = finished(child.wait_with_output().unwrap());
    drop(stdin);
    run
}

/// The program on a terminal of this width.
fn terminal(home: &Home, args: &[&str], columns: usize) -> Command {
    let program = home.command(args);
    let words = std::iter::once(program.get_program()).chain(program.get_args());
    let quoted = |word: &std::ffi::OsStr| format!("'{}'", word.to_str().unwrap());
    let line: Vec<String> = words.map(quoted).collect();
    let script = format!("stty rows {LINES} cols {columns}; exec {}", line.join(" "));
    let mut command = Command::new("script");
    command
        .args(["-q", "-e", "-c", &script, "/dev/null"])
        .current_dir(home.path())
        .env_clear()
        .env("HOME", home.path())
        .env("TERM", "xterm-256color")
        .env("PATH", "/usr/bin:/bin")
        .env("ROUNDTABLE_SOURCES", "nowhere")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if home.path().join("roundtable.toml").exists() {
        command.env("ROUNDTABLE_CONFIG", "roundtable.toml");
    }
    command
}

/// A person at a terminal, who reads before they type.
pub(crate) struct Session {
    child: Child,
    stdin: ChildStdin,
    chunks: Receiver<Vec<u8>>,
    output: Vec<u8>,
    /// The end of what was waited for.
    read: usize,
}

impl Session {
    pub(crate) fn start(
        home: &Home,
        args: &[&str],
        columns: usize,
        variables: &[(&str, &str)],
    ) -> Self {
        let mut command = terminal(home, args, columns);
        let mut child = command.envs(variables.iter().copied()).spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let (sender, chunks) = channel();
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(count @ 1..) = stdout.read(&mut chunk) {
                if sender.send(chunk[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self {
            stdin: child.stdin.take().unwrap(),
            child,
            chunks,
            output: Vec::new(),
            read: 0,
        }
    }

    /// Waits until the program has printed this.
    #[track_caller]
    pub(crate) fn until(&mut self, text: &str) -> &mut Self {
        loop {
            let new = String::from_utf8_lossy(&self.output[self.read..]).into_owned();
            if let Some(at) = new.find(text) {
                self.read += at + text.len();
                return self;
            }
            match self.chunks.recv_timeout(Duration::from_mins(1)) {
                Ok(chunk) => self.output.extend(chunk),
                Err(error) => panic!("'{text}' was not printed ({error}): {new}"),
            }
        }
    }

    pub(crate) fn types(&mut self, keys: &str) -> &mut Self {
        self.stdin.write_all(keys.as_bytes()).unwrap();
        self
    }

    /// Waits until the program has ended.
    pub(crate) fn end(mut self) -> Run {
        self.output.extend(self.chunks.iter().flatten());
        let code = self.child.wait().unwrap().code();
        Run {
            code: code.unwrap_or(-1),
            out: String::from_utf8(self.output).unwrap(),
            err: String::new(),
        }
    }
}

/// What stays on the screen: without escape sequences, and with redrawn lines as they were drawn last.
pub(crate) fn scrolled(output: &str) -> Vec<String> {
    let plain = anstream::adapter::strip_str(output).to_string();
    let lines = plain.replace("\r\n", "\n");
    let lines = lines.split('\n').map(|line| line.rsplit('\r').next());
    lines
        .map(|line| line.unwrap_or_default().trim_end().to_owned())
        .collect()
}

/// P-11, R5: the answer is printed once, whole, as the last thing on the screen, with a few lines about it.
#[test]
fn p11_the_last_screen_is_the_answer() {
    let home = Home::with_model(&Server::good());
    let run = on_a_terminal(&home, &["ask", QUESTION]);
    assert_eq!(run.code, 0, "{}", run.out);
    let lines = scrolled(&run.out);
    let text = lines.join("\n");
    let answer = "Put a queue in front of the writes";
    assert_eq!(text.matches(answer).count(), 1, "{text}");
    // Sentences may be wrapped.
    let screen = lines[lines.len() - LINES..].join(" ");
    let id = home.list()[0]["id"].as_str().unwrap()[..8].to_owned();
    for words in [
        answer,
        "Confidence 8 of 10",
        "The debate refined the first answer.",
        &format!("roundtable show {id} --transcript"),
        &format!("roundtable export {id}"),
        &format!("roundtable rate {id}"),
    ] {
        assert!(screen.contains(words), "'{words}' is not in:\n{screen}");
    }
    // Markdown of turns is rendered, and no line was left to the terminal to break.
    for marks in ["**", "## "] {
        assert!(!text.contains(marks), "'{marks}' is in:\n{text}");
    }
    let too_long = lines.iter().find(|line| line.chars().count() > COLUMNS);
    assert_eq!(too_long, None);
}

/// R5: positions and tables are on demand; each round's measures are printed once.
#[test]
fn p11_a_debate_ends_with_its_answer() {
    let server = Server::start(|request, _| Answer::Reply(reply(request).to_string()));
    let home = Home::with_model(&server);
    let run = on_a_terminal(&home, &["debate", QUESTION, "--seats", "3", "--enhanced"]);
    assert_eq!(run.code, 0, "{}", run.out);
    let lines = scrolled(&run.out);
    let text = lines.join("\n");
    assert_eq!(
        text.matches("Use a queue, and measure.").count(),
        1,
        "{text}"
    );
    let screen = lines[lines.len() - LINES..].join("\n");
    assert!(screen.contains("Use a queue, and measure."), "{screen}");
    assert!(!text.contains("Ending"), "{text}");
    let rounds = text.matches("Evidence convergence").count();
    assert_eq!(rounds, text.matches("Status: CONSENSUS REACHED").count());
    // What was written for the models is not for people.
    assert!(!text.contains("backing"), "{text}");
    let shown = home.run(&["show", "last"]);
    assert!(shown.out.contains("Ending"), "{}", shown.out);
}

/// R16, E-10: with `--interactive` the terminal says who is thinking, and a typed line is on the screen once.
#[test]
fn e10_a_typed_line_is_shown_once() {
    let server = Server::start(|request, _| Answer::Reply(reply(request).to_string()));
    let home = Home::with_model(&server);
    let args = ["debate", QUESTION, "--seats", "3", "--interactive"];
    let run = typing(&home, &args, "Mind the cost.\n");
    assert_eq!(run.code, 0, "{}", run.out);
    let text = scrolled(&run.out).join("\n");
    assert_eq!(text.matches("Mind the cost.").count(), 1, "{text}");
    assert!(
        text.contains("The seats see this before the next round."),
        "{text}"
    );
    assert!(text.contains("thinking: "), "{text}");
    // Nobody types into a pipe: there the line is printed.
    let record = home.run(&["show", "last", "--json"]).json();
    assert_eq!(record["user_input"][0], "Mind the cost.");
}

/// R3: an objection round is announced while it runs, and never "round 2 of 1".
#[test]
fn m08_an_extra_round_is_announced() {
    let server = Server::start(|request, _| {
        let mut reply = reply(request);
        if schema_name(request) == "contribution" {
            reply = contribution(request);
            reply["vote"] = "ACCEPT".into();
            reply["confidence"] = 0.95.into();
        }
        Answer::Reply(reply.to_string())
    });
    let home = Home::with_model(&server);
    let args = ["debate", QUESTION, "--seats", "3", "--rounds", "1"];
    let run = home.run(&args);
    run.expect(0, &["Extra round: critical objections"]);
    assert!(!run.err.contains("round 2 of 1"), "{}", run.err);
}

/// In a pipe, standard output is the answer alone, and standard error has no empty heading.
#[test]
fn a_pipe_gets_the_answer_alone() {
    let home = Home::with(&Server::good());
    let run = home.ask(&[]);
    run.expect(0, &[]);
    assert!(run.out.starts_with("Put a queue"), "{}", run.out);
    assert!(!run.out.contains("roundtable show"), "{}", run.out);
    assert!(run.err.lines().all(|line| line != "Answer"), "{}", run.err);
    // No Markdown is rendered.
    assert!(run.err.contains("**queue**"), "{}", run.err);
}

/// A failure is told with seat and round, in plain words, and not again at the end.
#[test]
fn c06_a_failure_is_told_once() {
    let server = Server::start(|request, before| match schema_name(request).as_str() {
        "critique" => Answer::Reply("I like it.".into()),
        _ => Answer::Reply(good(request, before)),
    });
    let run = Home::with(&server).ask(&["--rounds", "1"]);
    let told = "The skeptic in round 1 is absent: the model answered in prose instead of the required form";
    run.expect(3, &[told]);
    assert_eq!(run.err.matches("is absent: ").count(), 1, "{}", run.err);
    let end = "Partial result: the skeptic in round 1 is absent\n";
    assert!(run.err.contains(end), "{}", run.err);
    assert!(!run.err.contains("r1/skeptic"), "{}", run.err);
}
