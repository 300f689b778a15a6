//! Verifies the sha256 of model files and records the result.
//!
//! Hashing gigabytes at every start would be slow, so a verified file gets a record next to it (`FILE.sha256`) with its
//! checksum, size and modification time. The file is hashed again only if size or time changed. This protects against
//! corruption and accidental replacement, not against a user who can write to the cache folder.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use roundtable_core::hex;
use sha2::{Digest, Sha256};

use super::{File, WeightsError};

/// Copies everything and returns its sha256. `on_bytes` is called with the number of bytes copied so far.
pub(super) fn copy(
    from: &mut dyn Read,
    to: &mut dyn Write,
    on_bytes: &mut dyn FnMut(u64),
) -> io::Result<String> {
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 256 * 1024];
    let mut done = 0;
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        digest.update(&buffer[..count]);
        to.write_all(&buffer[..count])?;
        done += count as u64;
        on_bytes(done);
    }
    Ok(hex::encode(digest.finalize()))
}

pub(super) fn of_file(path: &Path, on_bytes: &mut dyn FnMut(u64)) -> Result<String, WeightsError> {
    let mut file = fs::File::open(path).map_err(io_error("read", path))?;
    copy(&mut file, &mut io::sink(), on_bytes).map_err(io_error("read", path))
}

pub(super) fn compare(file: &Path, expected: &str, found: &str) -> Result<(), WeightsError> {
    if expected.eq_ignore_ascii_case(found) {
        return Ok(());
    }
    Err(WeightsError::WrongChecksum {
        file: file.to_owned(),
        expected: expected.to_owned(),
        found: found.to_owned(),
        quarantined: None,
    })
}

/// Verifies a file in the cache folder by its record or by hashing it. A wrong one is moved aside.
pub(super) fn verify(
    path: &Path,
    file: &File,
    on_bytes: &mut dyn FnMut(u64),
) -> Result<(), WeightsError> {
    verify_recorded(path, &record_path(path), file, on_bytes)
        .map_err(|error| quarantine(error, path, path))
}

/// Verifies a file by the record or by hashing it, and then writes the record.
pub(super) fn verify_recorded(
    path: &Path,
    record: &Path,
    file: &File,
    on_bytes: &mut dyn FnMut(u64),
) -> Result<(), WeightsError> {
    let state = state_of(path).map_err(io_error("read", path))?;
    if let Some(record) = read_record(record)
        && record.sha256 == file.sha256
        && record.state == state
    {
        return Ok(());
    }
    let found = of_file(path, on_bytes)?;
    compare(path, file.sha256, &found)?;
    write_record(record, file.sha256, &state)
}

/// Moves a wrong file to `TARGET.bad`, or `TARGET.bad-2` and so on if that exists, and adds the path to the error.
pub(super) fn quarantine(error: WeightsError, file: &Path, target: &Path) -> WeightsError {
    let WeightsError::WrongChecksum {
        expected, found, ..
    } = error
    else {
        return error;
    };
    let mut aside = with_suffix(target, ".bad");
    let mut number = 1;
    while aside.exists() {
        number += 1;
        aside = with_suffix(target, &format!(".bad-{number}"));
    }
    match fs::rename(file, &aside) {
        Ok(()) => WeightsError::WrongChecksum {
            file: target.to_owned(),
            expected,
            found,
            quarantined: Some(aside),
        },
        Err(source) => io_error("move aside", file)(source),
    }
}

pub(super) fn record_verified(path: &Path, sha256: &str) -> Result<(), WeightsError> {
    let state = state_of(path).map_err(io_error("read", path))?;
    write_record(&record_path(path), sha256, &state)
}

fn write_record(record: &Path, sha256: &str, state: &FileState) -> Result<(), WeightsError> {
    let folder = record.parent().unwrap_or(Path::new("."));
    let result = tempfile::NamedTempFile::new_in(folder).and_then(|mut file| {
        writeln!(file, "{sha256} {} {}", state.bytes, state.modified)?;
        file.persist(record).map_err(|error| error.error)
    });
    result.map(drop).map_err(io_error("write", record))
}

struct Record {
    sha256: String,
    state: FileState,
}

#[derive(PartialEq, Eq)]
struct FileState {
    bytes: u64,
    /// Modification time in nanoseconds since 1970.
    modified: u128,
}

fn read_record(record: &Path) -> Option<Record> {
    let text = fs::read_to_string(record).ok()?;
    let mut words = text.split_whitespace();
    Some(Record {
        sha256: words.next()?.to_owned(),
        state: FileState {
            bytes: words.next()?.parse().ok()?,
            modified: words.next()?.parse().ok()?,
        },
    })
}

fn state_of(path: &Path) -> io::Result<FileState> {
    let metadata = fs::metadata(path)?;
    let modified = metadata.modified()?.duration_since(UNIX_EPOCH);
    Ok(FileState {
        bytes: metadata.len(),
        modified: modified.map_or(0, |age| age.as_nanos()),
    })
}

fn record_path(path: &Path) -> PathBuf {
    with_suffix(path, ".sha256")
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

pub(super) fn io_error(
    action: &'static str,
    path: &Path,
) -> impl FnOnce(io::Error) -> WeightsError {
    let path = path.to_owned();
    move |source| WeightsError::Io {
        action,
        path,
        source,
    }
}
