//! The program on a real terminal of 80 columns and 24 lines, with the pseudo-terminal of `script`.

#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::debate::{contribution, reply};
use crate::harness::{Answer, Gate, Home, QUESTION, Run, Server, finished, good, schema_name};

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

/// The text that stays on the screen: without escape sequences, and with redrawn lines as they were drawn last.
pub(crate) fn scrolled(output: &str) -> Vec<String> {
    let plain = anstream::adapter::strip_str(output).to_string();
    let lines = plain.replace("\r\n", "\n");
    let lines = lines.split('\n').map(|line| line.rsplit('\r').next());
    lines
        .map(|line| line.unwrap_or_default().trim_end().to_owned())
        .collect()
}

/// The lines of a terminal after this output, scrolled ones included: text, redrawn lines and cursor movements.
pub(crate) fn screen(output: &str) -> Vec<String> {
    let mut lines: Vec<Vec<char>> = vec![Vec::new()];
    let (mut row, mut column): (usize, usize) = (0, 0);
    let mut characters = output.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\r' => column = 0,
            '\n' => row += 1,
            '\u{1b}' if characters.next_if_eq(&'[').is_some() => {
                let mut number = String::new();
                let mut command = ' ';
                for c in characters.by_ref() {
                    if c.is_ascii_alphabetic() {
                        command = c;
                        break;
                    }
                    number.push(c);
                }
                let count: usize = number.parse().unwrap_or(1);
                match command {
                    'A' => row = row.saturating_sub(count),
                    'B' => row += count,
                    'K' if number == "2" => lines[row].clear(),
                    'K' => lines[row].truncate(column),
                    'J' => {
                        lines.truncate(row + 1);
                        lines[row].truncate(column);
                    }
                    _ => {}
                }
            }
            '\u{1b}' => drop(characters.next()),
            c if c.is_control() => {}
            c => {
                if column == COLUMNS {
                    (row, column) = (row + 1, 0);
                }
                if lines.len() <= row {
                    lines.resize(row + 1, Vec::new());
                }
                let line = &mut lines[row];
                line.resize(line.len().max(column + 1), ' ');
                line[column] = c;
                column += 1;
            }
        }
        if lines.len() <= row {
            lines.resize(row + 1, Vec::new());
        }
    }
    let lines = lines.into_iter().map(String::from_iter);
    lines
        .map(|line: String| line.trim_end().to_owned())
        .collect()
}

/// The last screen, without the empty line of the prompt.
fn last_screen(lines: &[String]) -> String {
    let lines = match lines {
        [before @ .., last] if last.is_empty() => before,
        lines => lines,
    };
    let start = lines.len().saturating_sub(LINES - 1);
    lines[start..].join("\n")
}

/// P-11: every kind of debate ends on one screen: the question, what happened to the answer, the answer, how far to trust it,
/// the cost, and one line of next commands. Nothing that was redrawn stays, and turns are on demand.
#[test]
fn p11_every_debate_ends_on_one_screen() {
    let server = Server::start(crate::all_protocols::any_reply);
    let home = Home::with_model(&server);
    home.write("post.md", crate::all_protocols::POST);
    let forecast = [
        "forecast",
        "Will it open?",
        "--outcome",
        "Yes",
        "--outcome",
        "No",
    ];
    let kinds: [(&[&str], &str, &str); 5] = [
        (
            &["ask", QUESTION],
            "Dialectic",
            "Put a queue in front of the writes",
        ),
        (
            &["debate", QUESTION, "--seats", "3", "--enhanced"],
            "Debate",
            "Use a queue, and measure.",
        ),
        (&forecast, "Forecast", "Yes: "),
        (&["judge", "post.md"], "Judgement", "of 100"),
        (&["panel", QUESTION], "Panel", ""),
    ];
    for (args, title, answer) in kinds {
        let run = on_a_terminal(&home, args);
        let lines = screen(&run.out);
        let text = lines.join("\n");
        assert_eq!(run.code, 0, "{text}");
        let screen = last_screen(&lines);
        let id = home.list()[0]["id"].as_str().unwrap()[..8].to_owned();
        for words in [
            title,
            answer,
            "Confidence",
            " calls · ",
            &*format!("roundtable show {id} ["),
        ] {
            assert!(
                screen.contains(words),
                "{args:?}: '{words}' is not in:\n{screen}"
            );
        }
        let is_marked = ["hallenged: ", "Unanimous, blind: "].map(|words| screen.contains(words));
        assert!(is_marked.contains(&true), "{screen}");
        // After the cost there is one line.
        let after = screen.split(" calls · ").nth(1).unwrap();
        assert_eq!(after.trim_end().lines().count(), 2, "{screen}");
        for gone in ["is thinking", "writes: …", "**", "## "] {
            assert!(!text.contains(gone), "'{gone}' is in:\n{text}");
        }
        let too_long = lines.iter().find(|line| line.chars().count() > COLUMNS);
        assert_eq!(too_long, None, "{text}");
        assert!(lines.len() < 2 * LINES, "{args:?}: {} lines", lines.len());
    }
}

/// P-11: while it runs, the block says who is at work and has the draft; with `-v` every turn is printed.
#[test]
fn p11_turns_are_printed_with_verbose() {
    let home = Home::with_model(&Server::good());
    let run = on_a_terminal(&home, &["ask", QUESTION]);
    assert!(run.out.contains("is thinking"), "{}", run.out);
    assert!(
        run.out.contains("Draft 1, not challenged yet"),
        "{}",
        run.out
    );
    let quiet = screen(&run.out).join("\n");
    assert!(!quiet.contains("Use a queue."), "{quiet}");
    let run = on_a_terminal(&home, &["ask", QUESTION, "-v"]);
    let lines = screen(&run.out);
    let text = lines.join("\n");
    assert!(text.contains("Use a queue."), "{text}");
    assert!(text.contains("round 1 of 3–5"), "{text}");
    let last = last_screen(&lines);
    assert!(last.contains("Confidence  8 of 10"), "{last}");
}

/// C-22: an unchallenged answer is marked on the last screen, with the failure in words, once, and the next step.
#[test]
fn c22_an_unchallenged_answer_is_marked_on_the_terminal() {
    let server = Server::start(|request, before| match schema_name(request).as_str() {
        "critique" => Answer::Reply("I like it.".into()),
        _ => Answer::Reply(good(request, before)),
    });
    let home = Home::with_model(&server);
    let run = on_a_terminal(&home, &["ask", QUESTION]);
    assert_eq!(run.code, 3, "{}", run.out);
    let lines = screen(&run.out);
    let last = last_screen(&lines);
    let id = home.list()[0]["id"].as_str().unwrap()[..8].to_owned();
    for words in [
        "✗ Not challenged: the skeptic did not answer",
        "Skeptic gave no answer in rounds 1 and 2: the model",
        &format!("Next: roundtable resume {id} (retries the failed steps)"),
    ] {
        assert!(last.contains(words), "'{words}' is not in:\n{last}");
    }
    let text = lines.join(" ");
    assert_eq!(text.matches("Skeptic gave no answer").count(), 1, "{text}");
    assert!(!text.contains("r1/skeptic"), "{text}");
}

/// P-11: `show` has three depths; a long one goes through a pager.
#[test]
fn p11_show_has_three_depths() {
    let home = Home::with_model(&Server::good());
    home.ask(&["--quiet"]).expect(0, &[]);
    let verdict = home.run(&["show", "last"]).out;
    assert!(
        verdict.contains("Key insights"),
        "the whole answer: {verdict}"
    );
    assert!(verdict.contains("Challenged: 2 objections"), "{verdict}");
    assert!(!verdict.contains("Round 1"), "{verdict}");
    let rounds = home.run(&["show", "last", "--rounds"]).out;
    for words in ["Round 1", "Proposer", "Use a queue.", "Skeptic"] {
        assert!(rounds.contains(words), "'{words}' is not in {rounds}");
    }
    assert!(!rounds.contains("Ending\n"), "{rounds}");
    let record = home.run(&["show", "last", "--record"]).out;
    for words in [
        "**queue**",
        "Issues",
        "Ending",
        "First answer, before the debate",
    ] {
        assert!(record.contains(words), "'{words}' is not in {record}");
    }
    let mut session = Session::start(&home, &["show", "last", "--record"], COLUMNS, &[]);
    session.until("\n:").types("q");
    assert_eq!(session.end().code, 0);
}

/// R16, E-10: with `--interactive` a terminal has an input line below the debate. It shows what is typed, what was said, and when
/// the seats read it.
#[test]
fn e10_a_typed_line_is_shown_once() {
    let gate = Gate::default();
    let held = gate.clone();
    let server = Server::start(move |request, before| {
        let reply = reply(request).to_string();
        if schema_name(request) == "contribution" && before == 0 {
            Answer::Gated(held.clone(), reply)
        } else {
            Answer::Reply(reply)
        }
    });
    let home = Home::with_model(&server);
    let args = ["debate", QUESTION, "--seats", "3", "--interactive"];
    let mut session = Session::start(&home, &args, COLUMNS, &[]);
    session
        .until("You ▸")
        .types("Mind the prize\u{7f}\u{7f}ce.");
    session.until("Mind the price.▏").types("\r");
    session.until("The seats read this before the next round.");
    gate.open();
    session.until("The seats read your message now, in round 2.");
    let run = session.end();
    assert_eq!(run.code, 0, "{}", run.out);
    let text = screen(&run.out).join("\n");
    assert_eq!(text.matches("Mind the price.").count(), 1, "{text}");
    assert!(text.contains("You: Mind the price."), "{text}");
    assert!(!text.contains("You ▸"), "{text}");
    let record = home.run(&["show", "last", "--json"]).json();
    assert_eq!(record["user_input"][0], "Mind the price.");
}

/// E-10: a message that no seat has read is not lost silently.
#[test]
fn e10_a_message_that_comes_too_late_is_reported() {
    let gate = Gate::default();
    let held = gate.clone();
    let server = Server::start(move |request, _| {
        let reply = reply(request).to_string();
        match schema_name(request).as_str() {
            "conclusion" => Answer::Gated(held.clone(), reply),
            _ => Answer::Reply(reply),
        }
    });
    let home = Home::with_model(&server);
    let args = ["debate", QUESTION, "--seats", "3", "--interactive"];
    let mut session = Session::start(&home, &args, COLUMNS, &[]);
    session.until("after the rounds").types("Too late.\r");
    session.until("The seats read this before");
    gate.open();
    session
        .until("Your last message was not read")
        .until("--continue");
    assert_eq!(session.end().code, 0);
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

/// A failure is reported with seat and round, in plain words, and not again at the end.
#[test]
fn c06_a_failure_is_told_once() {
    let server = Server::start(|request, before| match schema_name(request).as_str() {
        "critique" => Answer::Reply("I like it.".into()),
        _ => Answer::Reply(good(request, before)),
    });
    let run = Home::with(&server).ask(&["--rounds", "1"]);
    let told = "The skeptic in round 1 gave no answer: the model answered in prose instead of the required form";
    run.expect(3, &[told]);
    assert_eq!(
        run.err.matches("gave no answer: ").count(),
        1,
        "{}",
        run.err
    );
    let end = "Partial result: the skeptic in round 1 gave no answer\n";
    assert!(run.err.contains(end), "{}", run.err);
    assert!(!run.err.contains("r1/skeptic"), "{}", run.err);
}

/// P-11: the argument is told by its issues: raised, answered, settled, and who moved and why.
#[test]
fn p11_the_rounds_begin_with_the_story_of_each_issue() {
    let home = Home::with_model(&Server::good());
    home.ask(&["--quiet"]).expect(0, &[]);
    let shown = home.run(&["show", "last", "--rounds"]).out;
    let points = shown.split_once("\nPoints\n").unwrap().1;
    let points = points.split("\nRound 1").next().unwrap();
    let mut rest = points;
    for part in [
        "S1  critical, settled in round 3",
        "Nobody measured the bursts.",
        "R1 Skeptic raised it: ",
        "R2 Proposer defended the answer: The logs show them.",
        "R2 Skeptic called it partly settled: No figures.",
        "R3 Proposer accepted it: Figures added.",
        "R3 Skeptic called it settled: Figures are there.",
        "S2  minor, settled in round 3",
        "Changed positions",
        "R3 Proposer changed the answer for S1, S2",
    ] {
        let found = rest.find(part);
        let at = found.unwrap_or_else(|| panic!("'{part}' is not next in:\n{points}"));
        rest = &rest[at + part.len()..];
    }
    assert!(
        shown.find("S1  critical").unwrap() < shown.find("\nRound 1").unwrap(),
        "{shown}"
    );
    let exported = home.run(&["export", "last", "--format", "md"]).out;
    assert!(
        exported.contains("- **S1** (critical, settled in round 3): Nobody measured the bursts.\n  - Round 1, Skeptic raised it: "),
        "{exported}"
    );
}

/// Long output goes through `$PAGER`, and colours are on, off, or for terminals.
#[test]
fn show_respects_the_pager_and_colour_is_chosen() {
    let home = Home::with_model(&Server::good());
    home.ask(&["--quiet"]).expect(0, &[]);
    let shown = |args: &[&str], pager: &str| {
        let all = [&["show", "last"], args].concat();
        Session::start(&home, &all, COLUMNS, &[("PAGER", pager)]).end()
    };
    let paged = shown(&[], "sed s/^/PAGED:/").out;
    assert!(paged.contains("PAGED:"), "{paged}");
    assert!(paged.contains("\u{1b}["), "{paged}");
    let plain = shown(&[], "cat").out;
    assert!(plain.contains("\u{1b}[") && !plain.contains("PAGED:"));
    for never in [["--color", "never"], ["--color=never", "--rounds"]] {
        let out = shown(&never, "cat").out;
        assert!(!out.contains('\u{1b}') && out.contains(QUESTION), "{out}");
    }
    let piped = home.run(&["show", "last"]).out;
    assert!(!piped.contains('\u{1b}'), "{piped}");
    let piped = home.run(&["show", "last", "--color", "always"]).out;
    assert!(piped.contains('\u{1b}'), "{piped}");
    home.run(&["show", "--color", "blue"])
        .expect(2, &["auto", "always", "never"]);
}

/// C-14: `show --web` writes one private file and opens it in the user's browser.
#[test]
fn c14_a_debate_is_shown_in_the_browser() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::with_model(&Server::good());
    home.ask(&["--quiet"]).expect(0, &[]);
    let opened = home.path().join("opened");
    let script = format!("#!/bin/sh\ncp \"$1\" '{}'\n", opened.display());
    let browser = home.write("browser.sh", &script);
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
    let run = |browser: &str| {
        let mut command = home.command(&["show", "last", "--web"]);
        finished(command.env("BROWSER", browser).output().unwrap())
    };
    let shown = run(browser.to_str().unwrap());
    shown.expect(0, &["Opened in the browser"]);
    let path = std::path::PathBuf::from(shown.out.trim());
    let html = std::fs::read_to_string(&path).unwrap();
    assert!(html.contains(QUESTION) && html.contains("id=\"argument\""));
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let started = std::time::Instant::now();
    while std::fs::read_to_string(&opened).ok().as_deref() != Some(&html) {
        assert!(started.elapsed() < Duration::from_secs(20), "not opened");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::fs::remove_file(&path).unwrap();
    let none = run("/nowhere/browser");
    none.expect(0, &["Cannot start a browser. Open this file:"]);
    std::fs::remove_file(none.out.trim()).unwrap();
}

/// C-14: the list says what each debate is and what came of it, within the terminal.
#[test]
fn c14_the_list_shows_results() {
    let home = Home::with_model(&Server::good());
    home.ask(&["--quiet"]).expect(0, &[]);
    let lines = screen(&on_a_terminal(&home, &["list"]).out);
    let text = lines.join("\n");
    assert!(lines[1].contains("Dialectic  complete"), "{text}");
    assert!(
        lines[2].starts_with("          Put a queue in front of the writes"),
        "{text}"
    );
    assert!(lines.iter().all(|line| line.chars().count() <= COLUMNS));
    // One line for each debate in a pipe, for programs that search it.
    let piped = home.run(&["list"]).out;
    assert_eq!(piped.lines().count(), 2, "{piped}");
    let result = home.list()[0]["result"].clone();
    assert!(
        result.as_str().unwrap().starts_with("Put a queue"),
        "{result}"
    );
}

/// Tables of numbers that are wider than the terminal wrap their names and move closer.
#[test]
fn the_tables_of_simulate_fit_80_columns() {
    let home = Home::empty();
    for more in [&["--price", "3/15"][..], &["--forecast"]] {
        let args = [&["simulate", "--questions", "200"], more].concat();
        let run = on_a_terminal(&home, &args);
        assert_eq!(run.code, 0, "{}", run.out);
        for line in screen(&run.out) {
            assert!(line.chars().count() <= COLUMNS, "{line}");
        }
    }
}
