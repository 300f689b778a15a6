//! Comparing files with the sha256 they must have, and remembering that it was done.
//!
//! Hashing a few gigabytes at every start would be felt, so a checked file gets a mark beside it: its sha256, size and
//! time of change. While size and time are the same the file is not read again. The mark guards against damage and
//! exchange by mistake; who can write into the cache folder can forge it.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use sha2::{Digest, Sha256};

use super::{Checksum, File, WeightsError};

/// Copies everything and returns the sha256 of it. `on_bytes` hears how many bytes have gone by.
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
    let mut hexadecimal = String::with_capacity(64);
    for byte in digest.finalize() {
        let _ = write!(hexadecimal, "{byte:02x}");
    }
    Ok(hexadecimal)
}

pub(super) fn of_file(path: &Path, on_bytes: &mut dyn FnMut(u64)) -> Result<String, WeightsError> {
    let mut file = fs::File::open(path).map_err(disk("read", path))?;
    copy(&mut file, &mut io::sink(), on_bytes).map_err(disk("read", path))
}

pub(super) fn compare(file: &Path, expected: &str, found: &str) -> Result<(), WeightsError> {
    if expected.eq_ignore_ascii_case(found) {
        return Ok(());
    }
    Err(WeightsError::WrongChecksum {
        file: file.to_owned(),
        expected: expected.to_owned(),
        found: found.to_owned(),
        kept: None,
    })
}

/// Proves a file in the cache folder right, by its mark or by reading it. A wrong one is moved aside.
pub(super) fn prove(
    path: &Path,
    file: &File,
    on_bytes: &mut dyn FnMut(u64),
) -> Result<(), WeightsError> {
    let mark = read_mark(path);
    let expected = match (file.checksum, &mark) {
        (Checksum::Pinned(sha256), _) => sha256,
        (Checksum::FirstUse, Some(mark)) => &mark.sha256,
        (Checksum::FirstUse, None) => {
            return Err(WeightsError::NeverChecked {
                file: path.to_owned(),
            });
        }
    };
    if let Some(mark) = &mark
        && mark.sha256 == expected
        && mark.state == state_of(path).map_err(disk("read", path))?
    {
        return Ok(());
    }
    let found = of_file(path, on_bytes)?;
    compare(path, expected, &found).map_err(|error| set_aside(error, path, path))?;
    mark_checked(path, expected)
}

/// Moves a wrong file to `NAME.bad` beside `place` and tells so in the error. An older wrong file is kept too.
pub(super) fn set_aside(error: WeightsError, file: &Path, place: &Path) -> WeightsError {
    let WeightsError::WrongChecksum {
        expected, found, ..
    } = error
    else {
        return error;
    };
    let mut aside = with_suffix(place, ".bad");
    let mut number = 1;
    while aside.exists() {
        number += 1;
        aside = with_suffix(place, &format!(".bad-{number}"));
    }
    match fs::rename(file, &aside) {
        Ok(()) => WeightsError::WrongChecksum {
            file: place.to_owned(),
            expected,
            found,
            kept: Some(aside),
        },
        Err(source) => disk("move aside", file)(source),
    }
}

pub(super) fn mark_checked(path: &Path, sha256: &str) -> Result<(), WeightsError> {
    let state = state_of(path).map_err(disk("read", path))?;
    let mark = mark_of(path);
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = tempfile::NamedTempFile::new_in(folder).and_then(|mut file| {
        writeln!(file, "{sha256} {} {}", state.bytes, state.changed)?;
        file.persist(&mark).map_err(|error| error.error)
    });
    written.map(drop).map_err(disk("write", &mark))
}

struct Mark {
    sha256: String,
    state: State,
}

#[derive(PartialEq, Eq)]
struct State {
    bytes: u64,
    /// Nanoseconds since 1970.
    changed: u128,
}

fn read_mark(path: &Path) -> Option<Mark> {
    let text = fs::read_to_string(mark_of(path)).ok()?;
    let mut words = text.split_whitespace();
    Some(Mark {
        sha256: words.next()?.to_owned(),
        state: State {
            bytes: words.next()?.parse().ok()?,
            changed: words.next()?.parse().ok()?,
        },
    })
}

fn state_of(path: &Path) -> io::Result<State> {
    let metadata = fs::metadata(path)?;
    let changed = metadata.modified()?.duration_since(UNIX_EPOCH);
    Ok(State {
        bytes: metadata.len(),
        changed: changed.map_or(0, |age| age.as_nanos()),
    })
}

fn mark_of(path: &Path) -> PathBuf {
    with_suffix(path, ".sha256")
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

pub(super) fn disk(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> WeightsError {
    let path = path.to_owned();
    move |source| WeightsError::Disk {
        doing,
        path,
        source,
    }
}
