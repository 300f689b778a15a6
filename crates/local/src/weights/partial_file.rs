//! A download in progress: `FILE.part` in the cache folder. It survives an interruption; the next attempt continues it from
//! any source, because all sources have the same bytes.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use roundtable_core::hex;
use sha2::{Digest, Sha256};

use super::checksum::{compare, io_error, with_suffix};
use super::{File, WeightsError};

const BUFFER_BYTES: usize = 256 * 1024;

pub(super) struct PartialFile {
    path: PathBuf,
    file: fs::File,
    digest: Sha256,
    bytes: u64,
    expected: &'static File,
}

/// Why [`PartialFile::append`] failed. Bytes that were read before are kept.
#[derive(Debug)]
pub(super) enum AppendError {
    /// The source could not be read, or has too many bytes.
    Source(io::Error),
    /// The disk.
    Target(WeightsError),
}

impl PartialFile {
    /// The path of the file, which may not exist yet.
    pub(super) fn path(cache: &Path, file: &File) -> PathBuf {
        with_suffix(&cache.join(file.name), ".part")
    }

    /// Opens or creates the file in the cache folder, and hashes what an earlier attempt has left.
    pub(super) fn open(
        cache: &Path,
        expected: &'static File,
        on_bytes: &mut dyn FnMut(u64),
    ) -> Result<Self, WeightsError> {
        let path = Self::path(cache, expected);
        let mut file = fs::File::options()
            .read(true)
            .append(true)
            .create(true)
            .open(&path)
            .map_err(io_error("create", &path))?;
        let mut digest = Sha256::new();
        let mut bytes = 0;
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            let count = read(&mut file, &mut buffer).map_err(io_error("read", &path))?;
            if count == 0 {
                break;
            }
            digest.update(&buffer[..count]);
            bytes += count as u64;
            on_bytes(bytes);
        }
        let mut partial = Self {
            path,
            file,
            digest,
            bytes,
            expected,
        };
        if partial.bytes > expected.bytes {
            partial.restart()?;
        }
        Ok(partial)
    }

    pub(super) fn len(&self) -> u64 {
        self.bytes
    }

    pub(super) fn is_complete(&self) -> bool {
        self.bytes == self.expected.bytes
    }

    pub(super) fn restart(&mut self) -> Result<(), WeightsError> {
        self.file
            .set_len(0)
            .map_err(io_error("write", &self.path))?;
        self.digest = Sha256::new();
        self.bytes = 0;
        Ok(())
    }

    /// Appends everything that can be read, up to the size of the file.
    pub(super) fn append(
        &mut self,
        from: &mut dyn Read,
        on_bytes: &mut dyn FnMut(u64),
    ) -> Result<(), AppendError> {
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            let count = read(from, &mut buffer).map_err(AppendError::Source)?;
            if count == 0 {
                return Ok(());
            }
            if self.bytes + count as u64 > self.expected.bytes {
                let message = format!("more than the expected {} bytes", self.expected.bytes);
                return Err(AppendError::Source(io::Error::other(message)));
            }
            self.file
                .write_all(&buffer[..count])
                .map_err(|error| AppendError::Target(io_error("write", &self.path)(error)))?;
            self.digest.update(&buffer[..count]);
            self.bytes += count as u64;
            on_bytes(self.bytes);
        }
    }

    /// Verifies the file and renames it. Returns its sha256.
    pub(super) fn finish(self, target: &Path) -> Result<String, WeightsError> {
        let found = hex::encode(self.digest.finalize());
        compare(&self.path, self.expected.sha256, &found)?;
        self.file
            .sync_all()
            .and_then(|()| fs::rename(&self.path, target))
            .map_err(io_error("write", target))?;
        Ok(found)
    }
}

fn read(from: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match from.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
