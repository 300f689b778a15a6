//! Extracts the text of a PDF file, page by page. The parser runs in a process of its own, with limits on time and memory and
//! without the environment, so that a hostile file can do no more than fail.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use lopdf::{DecompressError, Document, LoadOptions};

use super::{MAX_BYTES, MAX_CHARACTERS, SourceError};

/// The hidden subcommand of the child: PDF on standard input, [`Answer`] on standard output.
pub(crate) const SUBCOMMAND: &str = "read-pdf";

const TIMEOUT: Duration = Duration::from_secs(30);
/// For deeply nested files.
const STACK_SIZE: usize = 64 * 1024 * 1024;
const MAX_PAGES: usize = 5000;
/// Of one page or one stream. A file of 20 MB could otherwise expand to 20 GB.
const MAX_EXPANDED: usize = 64 * 1024 * 1024;
/// Of the child, including its program and the stack.
#[cfg(unix)]
const MAX_MEMORY: u64 = 2 * 1024 * 1024 * 1024;

/// The pages, or why they cannot be read.
type Answer = Result<Vec<String>, String>;

pub(super) fn pages(bytes: &[u8]) -> Result<Vec<String>, SourceError> {
    let program = std::env::current_exe();
    let program = program.map_err(|error| SourceError::BrokenPdf(error.to_string()))?;
    let mut command = Command::new(program);
    command.arg(SUBCOMMAND).env_clear();
    ask(command, bytes, TIMEOUT)
}

/// Passes the file to the child and reads its answer.
fn ask(mut child: Command, bytes: &[u8], timeout: Duration) -> Result<Vec<String>, SourceError> {
    let broken = |why: &str| SourceError::BrokenPdf(why.to_owned());
    let mut child = child
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| broken(&format!("its reader cannot be started: {error}")))?;
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let (sender, receiver) = mpsc::channel();
    let bytes = bytes.to_vec();
    std::thread::spawn(move || {
        // The child reads everything before it answers. It may have failed; then there is no answer.
        let _ = input.map(|mut input| input.write_all(&bytes));
        let mut answer = Vec::new();
        let most = MAX_CHARACTERS as u64 * 8;
        let _ = output.map(|output| output.take(most).read_to_end(&mut answer));
        // Fails if the receiver has timed out.
        let _ = sender.send(answer);
    });
    let answer = receiver.recv_timeout(timeout);
    let _ = child.kill();
    let _ = child.wait();
    let answer = answer.map_err(|_| broken("it takes too long"))?;
    let answer: Answer = serde_json::from_slice(&answer)
        .map_err(|_| broken("its structure is damaged, or it needs too much memory"))?;
    pages_of(answer)
}

fn pages_of(answer: Answer) -> Result<Vec<String>, SourceError> {
    let pages = answer.map_err(SourceError::BrokenPdf)?;
    if pages.iter().all(|page| page.trim().is_empty()) {
        return Err(SourceError::NoTextInPdf);
    }
    Ok(pages)
}

/// The work of the child process.
pub(crate) fn answer_on_stdout() -> std::io::Result<()> {
    limit_resources();
    let mut bytes = Vec::new();
    std::io::stdin().take(MAX_BYTES).read_to_end(&mut bytes)?;
    let answer = read_in_thread(bytes)?;
    serde_json::to_writer(std::io::stdout().lock(), &answer)?;
    Ok(())
}

/// A panic of the parser is an error.
fn read_in_thread(bytes: Vec<u8>) -> std::io::Result<Answer> {
    let thread = std::thread::Builder::new().stack_size(STACK_SIZE);
    let reading = thread.spawn(move || read(&bytes, MAX_EXPANDED))?;
    let damaged = |_| Err("its structure is damaged".to_owned());
    Ok(reading.join().unwrap_or_else(damaged))
}

/// Without a child: the program of a unit test has no subcommands.
#[cfg(test)]
pub(super) fn pages_here(bytes: &[u8]) -> Result<Vec<String>, SourceError> {
    pages_of(read_in_thread(bytes.to_vec()).unwrap())
}

/// Best effort: other systems than Linux do not enforce all of them.
fn limit_resources() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        for (resource, most) in [
            (Resource::As, MAX_MEMORY),
            (Resource::Cpu, TIMEOUT.as_secs()),
            (Resource::Core, 0),
        ] {
            let limit = Rlimit {
                current: Some(most),
                maximum: Some(most),
            };
            let _ = setrlimit(resource, limit);
        }
    }
}

fn read(bytes: &[u8], max_expanded: usize) -> Answer {
    let options = LoadOptions {
        max_decompressed_size: Some(max_expanded),
        ..LoadOptions::default()
    };
    let document =
        Document::load_mem_with_options(bytes, options).map_err(|error| message(&error))?;
    if document.is_encrypted() {
        return Err("it is encrypted".to_owned());
    }
    let mut pages = Vec::new();
    let mut length = 0;
    for number in document.get_pages().into_keys().take(MAX_PAGES) {
        let text = match document.extract_text_with_limit(&[number], max_expanded) {
            Ok(text) => text,
            Err(error) if is_too_large(&error) => return Err(message(&error)),
            // An unreadable page counts as empty, to keep the others.
            Err(_) => String::new(),
        };
        let is_text = |c: &char| !c.is_control() || c.is_whitespace();
        let text: String = text.chars().filter(is_text).collect();
        length += text.chars().count();
        pages.push(text);
        // The caller reports that this is too much.
        if length > MAX_CHARACTERS {
            break;
        }
    }
    Ok(pages)
}

fn is_too_large(error: &lopdf::Error) -> bool {
    matches!(
        error,
        lopdf::Error::Decompress(DecompressError::MemoryLimitExceeded { .. })
    )
}

fn message(error: &lopdf::Error) -> String {
    if is_too_large(error) {
        let megabytes = MAX_EXPANDED / 1024 / 1024;
        return format!("a part of it expands to more than {megabytes} MB");
    }
    error.to_string()
}

#[cfg(test)]
#[path = "pdf_tests.rs"]
mod tests;
