//! Reads text from arguments, files and standard input.

use std::io::Read;
use std::path::Path;

use crate::failure::Failure;

/// The text of an argument: `-` is standard input, an existing path without spaces is that file, anything else is the text
/// itself.
pub(crate) fn read_text(argument: &str, command: &str) -> Result<String, Failure> {
    let text = if argument == "-" {
        read_stdin()?
    } else if !argument.contains(char::is_whitespace) && Path::new(argument).is_file() {
        read_file(Path::new(argument))?
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

pub(crate) fn read_stdin() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::usage(format!("cannot read standard input: {error}")))?;
    utf8(bytes, "standard input")
}

pub(crate) fn read_file(path: &Path) -> Result<String, Failure> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path)
        .map_err(|error| Failure::usage(format!("cannot read {name}: {error}")))?;
    utf8(bytes, &name)
}

fn utf8(bytes: Vec<u8>, source: &str) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|_| Failure::usage(format!("{source} is not UTF-8 text")))
}
