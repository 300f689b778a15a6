//! Tar archives (POSIX ustar) and gzip, with the same bytes for the same files.

use std::collections::BTreeSet;
use std::io::Write as _;

use flate2::{Compression, GzBuilder};

use crate::entry::Entry;

const BLOCK: usize = 512;

/// The files in order of their paths, after the folders they are in. Everything belongs to root.
pub(crate) fn tar(entries: &[Entry], date: u64) -> Result<Vec<u8>, String> {
    let mut files: Vec<&Entry> = entries.iter().collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let mut archive = Vec::new();
    for folder in folders(entries) {
        archive.extend(header(&folder, 0o755, 0, date, b'5')?);
    }
    for file in files {
        archive.extend(header(
            &file.path,
            file.mode(),
            file.content.len(),
            date,
            b'0',
        )?);
        archive.extend_from_slice(&file.content);
        archive.resize(archive.len().next_multiple_of(BLOCK), 0);
    }
    archive.resize(archive.len() + 2 * BLOCK, 0);
    Ok(archive)
}

pub(crate) fn tar_gz(entries: &[Entry], date: u64) -> Result<Vec<u8>, String> {
    gzip(&tar(entries, date)?)
}

/// Without name and time.
pub(crate) fn gzip(bytes: &[u8]) -> Result<Vec<u8>, String> {
    const UNKNOWN_SYSTEM: u8 = 255;
    let mut encoder = GzBuilder::new()
        .operating_system(UNKNOWN_SYSTEM)
        .write(Vec::new(), Compression::best());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.map_err(|error| format!("cannot compress: {error}"))
}

/// The folders of all files, with a slash at the end, outer ones first.
fn folders(entries: &[Entry]) -> BTreeSet<String> {
    let paths = entries.iter().map(|entry| &*entry.path);
    let ends = paths.flat_map(|path| path.match_indices('/').map(|(at, _)| &path[..=at]));
    ends.map(str::to_owned).collect()
}

fn header(path: &str, mode: u32, size: usize, date: u64, kind: u8) -> Result<[u8; BLOCK], String> {
    let mut block = [0; BLOCK];
    let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
    if path.len() > 100 {
        return Err(format!("the path is too long for an archive: {path}"));
    }
    put(0, path.as_bytes());
    put(100, format!("{mode:07o}").as_bytes());
    put(108, b"0000000");
    put(116, b"0000000");
    put(124, format!("{size:011o}").as_bytes());
    put(136, format!("{date:011o}").as_bytes());
    put(148, b"        ");
    put(156, &[kind]);
    put(257, b"ustar\x0000");
    put(265, b"root");
    put(297, b"root");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Ok(block)
}

#[cfg(test)]
#[path = "tarball_tests.rs"]
mod tests;
