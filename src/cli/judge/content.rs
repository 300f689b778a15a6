//! Reading what is to be judged. Whatever is not text is refused before anybody is asked.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::super::failure::Failure;

/// Files, or standard input for `-`.
pub(super) fn read(names: &[String]) -> Result<Vec<Value>, Failure> {
    names.iter().map(|name| one(name)).collect()
}

pub(super) fn one(name: &str) -> Result<Value, Failure> {
    if name == "-" {
        let mut bytes = Vec::new();
        std::io::stdin()
            .read_to_end(&mut bytes)
            .map_err(|error| Failure::usage(format!("cannot read standard input: {error}")))?;
        let text = text_of(bytes, "standard input")?;
        return Ok(part("text", "standard input", &text));
    }
    let path = Path::new(name);
    let extension = path.extension().and_then(|it| it.to_str());
    let kind = match extension.map(str::to_lowercase).as_deref() {
        Some("srt" | "vtt") => "transcript",
        _ => "text",
    };
    file(path, kind)
}

pub(super) fn transcripts(paths: &[PathBuf]) -> Result<Vec<Value>, Failure> {
    paths.iter().map(|path| file(path, "transcript")).collect()
}

pub(super) fn metadata(paths: &[PathBuf]) -> Result<Vec<Value>, Failure> {
    paths.iter().map(|path| file(path, "metadata")).collect()
}

fn file(path: &Path, kind: &str) -> Result<Value, Failure> {
    let shown = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|error| {
        Failure::usage(format!(
            "cannot read {shown}: {error}; give a file, or - to pipe text in"
        ))
    })?;
    let text = text_of(bytes, &shown)?;
    let name = path
        .file_name()
        .map_or(shown.clone(), |name| name.to_string_lossy().into_owned());
    Ok(part(kind, &name, &text))
}

fn part(kind: &str, name: &str, text: &str) -> Value {
    json!({ "kind": kind, "name": name, "text": text })
}

fn text_of(bytes: Vec<u8>, source: &str) -> Result<String, Failure> {
    if is_image(&bytes) {
        return Err(Failure::usage(format!(
            "{source} is an image; councils judge text, Markdown, transcripts and metadata"
        )));
    }
    let text = String::from_utf8(bytes)
        .ok()
        .filter(|text| !text.contains('\0'))
        .ok_or_else(|| Failure::usage(format!("{source} is not text (UTF-8)")))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned();
    if text.trim().is_empty() {
        return Err(Failure::usage(format!(
            "{source} is empty: there is nothing to judge"
        )));
    }
    Ok(text)
}

/// PNG, JPEG, GIF and WebP by how they begin.
fn is_image(bytes: &[u8]) -> bool {
    let begins: [&[u8]; 3] = [b"\x89PNG", b"\xff\xd8\xff", b"GIF8"];
    let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    is_webp || begins.iter().any(|begin| bytes.starts_with(begin))
}
