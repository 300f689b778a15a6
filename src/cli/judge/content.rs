//! Reads the content to judge. Anything that is not text is rejected before the first call.

use std::path::{Path, PathBuf};

use base64::Engine;
use roundtable_engine::data::read_regular;
use roundtable_engine::model::Image;
use roundtable_engine::protocols::councils::{Given, Kind};

use crate::cli::input::{MAX_BYTES, stdin_bytes};
use crate::failure::Failure;

/// Files, or standard input for `-`.
pub(super) fn read(names: &[String]) -> Result<Vec<Given>, Failure> {
    names.iter().map(|name| one(name)).collect()
}

pub(super) fn one(name: &str) -> Result<Given, Failure> {
    if name == "-" {
        let text = text_of(stdin_bytes()?, "standard input")?;
        return Ok(part(Kind::Text, "standard input", text));
    }
    let path = Path::new(name);
    let extension = path.extension().and_then(|extension| extension.to_str());
    let kind = match extension.map(str::to_lowercase).as_deref() {
        Some("srt" | "vtt") => Kind::Transcript,
        _ => Kind::Text,
    };
    file(path, kind)
}

pub(super) fn transcripts(paths: &[PathBuf]) -> Result<Vec<Given>, Failure> {
    paths
        .iter()
        .map(|path| file(path, Kind::Transcript))
        .collect()
}

pub(super) fn metadata(paths: &[PathBuf]) -> Result<Vec<Given>, Failure> {
    paths
        .iter()
        .map(|path| file(path, Kind::Metadata))
        .collect()
}

fn file(path: &Path, kind: Kind) -> Result<Given, Failure> {
    let shown = path.display().to_string();
    let bytes = read_regular(path, MAX_BYTES).map_err(|error| {
        Failure::usage(format!(
            "cannot read {shown}: {error}. Pass a file, or - to pipe text in"
        ))
    })?;
    let text = text_of(bytes, &shown)?;
    let name = path
        .file_name()
        .map_or(shown.clone(), |name| name.to_string_lossy().into_owned());
    Ok(part(kind, &name, text))
}

fn part(kind: Kind, name: &str, text: String) -> Given {
    Given {
        kind,
        name: name.to_owned(),
        text,
    }
}

fn text_of(bytes: Vec<u8>, source: &str) -> Result<String, Failure> {
    if media_type(&bytes).is_some() {
        return Err(Failure::usage(format!(
            "{source} is an image: pass it with --image, together with the text it belongs to"
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

/// Limits of the providers.
const MAX_IMAGE_BYTES: usize = 5_000_000;
const MAX_IMAGES: usize = 10;

pub(super) fn images(paths: &[PathBuf]) -> Result<Vec<Image>, Failure> {
    if paths.len() > MAX_IMAGES {
        return Err(Failure::usage(format!(
            "too many pictures: {} given, at most {MAX_IMAGES} allowed",
            paths.len()
        )));
    }
    paths.iter().map(|path| image(path)).collect()
}

fn image(path: &Path) -> Result<Image, Failure> {
    let shown = path.display();
    let bytes = read_regular(path, MAX_BYTES)
        .map_err(|error| Failure::usage(format!("cannot read {shown}: {error}")))?;
    let media_type = media_type(&bytes).ok_or_else(|| {
        Failure::usage(format!("{shown} is not a PNG, JPEG, GIF or WebP picture"))
    })?;
    if bytes.len() > MAX_IMAGE_BYTES {
        return Err(Failure::usage(format!(
            "{shown} is larger than 5 MB: shrink it first"
        )));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let data = base64::engine::general_purpose::STANDARD.encode(&bytes);
    Ok(Image {
        name: name.into_owned(),
        media_type: media_type.to_owned(),
        data: data.into(),
    })
}

/// Detected by magic bytes.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    if bytes.starts_with(b"\x89PNG") {
        Some("image/png")
    } else if bytes.starts_with(b"\xff\xd8\xff") {
        Some("image/jpeg")
    } else if bytes.starts_with(b"GIF8") {
        Some("image/gif")
    } else {
        is_webp.then_some("image/webp")
    }
}
