//! Reads text from arguments, files and standard input.

use std::io::Read;
use std::path::Path;

use roundtable_engine::data::read_regular;

use crate::failure::Failure;

/// Far more than any model reads.
pub(crate) const MAX_BYTES: u64 = 20_000_000;

/// Extensions of files that contain text.
const TEXT_FILES: [&str; 16] = [
    "adoc", "csv", "docx", "htm", "html", "json", "log", "markdown", "md", "org", "pdf", "rst",
    "text", "txt", "yaml", "yml",
];

/// The text of an argument: `-` is standard input, an existing file is its content, anything else is the text itself. A path
/// without a file is an error: debating a file name would cost money and answer nothing.
pub(crate) fn read_text(argument: &str, command: &str) -> Result<String, Failure> {
    let path = Path::new(argument);
    let text = if argument == "-" {
        read_stdin()?
    } else if path.is_file() {
        read_file(path)?
    } else if path.is_dir() || looks_like_a_path(argument) {
        let problem = if path.is_dir() {
            "is a folder"
        } else {
            "does not exist"
        };
        return Err(Failure::usage(format!(
            "'{argument}' {problem}: pass the question in quotes, or a file that contains it. To debate this text itself, \
             pipe it in: `roundtable {command} -`"
        )));
    } else {
        argument.to_owned()
    };
    let text = text.trim().to_owned();
    if text.is_empty() {
        return Err(Failure::usage(format!(
            "the question is empty: write it after `roundtable {command}`, or pass - and pipe it in",
        )));
    }
    Ok(text)
}

/// One word with a folder or the extension of a text file; a question may contain a slash, but ends in a question mark.
fn looks_like_a_path(argument: &str) -> bool {
    if argument.contains(char::is_whitespace) || argument.ends_with('?') {
        return false;
    }
    let extension = Path::new(argument).extension();
    let is_text_file = extension
        .and_then(|extension| extension.to_str())
        .is_some_and(|extension| TEXT_FILES.contains(&extension.to_ascii_lowercase().as_str()));
    argument.contains(['/', '\\']) || is_text_file
}

pub(crate) fn read_stdin() -> Result<String, Failure> {
    utf8(stdin_bytes()?, "standard input")
}

pub(crate) fn stdin_bytes() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::usage(format!("cannot read standard input: {error}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        let megabytes = MAX_BYTES / 1_000_000;
        return Err(Failure::usage(format!(
            "cannot read standard input: it is larger than {megabytes} MB"
        )));
    }
    Ok(bytes)
}

pub(crate) fn read_file(path: &Path) -> Result<String, Failure> {
    let name = path.display().to_string();
    let bytes = read_regular(path, MAX_BYTES)
        .map_err(|error| Failure::usage(format!("cannot read {name}: {error}")))?;
    utf8(bytes, &name)
}

fn utf8(bytes: Vec<u8>, source: &str) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|_| Failure::usage(format!("{source} is not UTF-8 text")))
}
