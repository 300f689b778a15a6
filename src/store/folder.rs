//! The data folder: the database file, one lock file per debate, and damaged databases that were moved aside.
//!
//! Nothing here opens an existing database file: closing any handle to it would drop the locks that `SQLite` holds on it in
//! this process (<https://www.sqlite.org/howtocorrupt.html>, 2.2).

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;

use super::address::FILE;
use super::errors::{Failure, Fault, StoreError};

/// How long to wait for a lock that another process holds.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const LOCKS: &str = "locks";

#[derive(Debug)]
pub(super) struct Folder {
    root: PathBuf,
}

/// A lock between processes, released when this value is dropped or the process dies.
#[derive(Debug)]
pub(super) struct FileLock {
    _file: File,
}

impl Folder {
    /// Creates the folder and its parents, accessible only to the user.
    pub(super) fn prepare(wanted: &Path) -> Result<Self, StoreError> {
        let failed = |error: io::Error| Failure::from(error).at_path(wanted);
        let folder = Self {
            root: std::path::absolute(wanted).map_err(failed)?,
        };
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        #[cfg(unix)]
        folder.tighten();
        builder.create(folder.locks()).map_err(failed)?;
        Ok(folder)
    }

    /// Closes an existing folder to other users, if it has nothing but our files: `--data /tmp` must not close `/tmp`. Best
    /// effort: the database itself is readable only to the user in any case.
    #[cfg(unix)]
    fn tighten(&self) {
        use std::os::unix::fs::PermissionsExt;
        let is_own = |entry: io::Result<fs::DirEntry>| {
            let name = entry.map(|entry| entry.file_name());
            name.is_ok_and(|name| {
                name == LOCKS || name.as_encoded_bytes().starts_with(FILE.as_bytes())
            })
        };
        let has_only_own = || fs::read_dir(&self.root).is_ok_and(|mut all| all.all(is_own));
        if is_open_to_others(&self.root) && has_only_own() {
            let _ = fs::set_permissions(&self.root, fs::Permissions::from_mode(0o700));
        }
    }

    pub(super) fn database(&self) -> PathBuf {
        self.root.join(FILE)
    }

    fn locks(&self) -> PathBuf {
        self.root.join(LOCKS)
    }

    fn lock_of(&self, id: Uuid) -> PathBuf {
        self.locks().join(format!("{id}.lock"))
    }

    /// A marker file: if it exists, the next opening checks the database for damage.
    fn suspect_marker(&self) -> PathBuf {
        self.root.join("roundtable.db.suspect")
    }

    pub(super) fn is_suspect(&self) -> bool {
        self.suspect_marker().exists()
    }

    pub(super) fn clear_suspect(&self) {
        // If it stays, the next opening only checks once more.
        let _ = fs::remove_file(self.suspect_marker());
    }

    /// A marker file with the name of a database that was moved aside. The next opening removes it, and marks a database that
    /// begins empty.
    fn replacement_marker(&self) -> PathBuf {
        self.root.join("roundtable.db.moved-aside")
    }

    /// The path of the database that was moved aside since the last opening.
    pub(super) fn moved_aside(&self) -> Option<String> {
        fs::read_to_string(self.replacement_marker()).ok()
    }

    pub(super) fn clear_moved_aside(&self) {
        // If it stays, the next opening looks once more; a database with debates or tokens is not marked.
        let _ = fs::remove_file(self.replacement_marker());
    }

    /// Converts a failure, and marks the database as suspect if it is damaged.
    pub(super) fn report(&self, failure: Failure) -> StoreError {
        if failure.fault == Fault::Damaged {
            // Best effort: without the marker, the next opening still finds damage in the pages it reads.
            let _ = File::create(self.suspect_marker());
        }
        failure.at_path(&self.database())
    }

    /// Only one process at a time may create, migrate or move the database aside.
    pub(super) async fn lock_for_opening(&self) -> Result<FileLock, StoreError> {
        let path = self.locks().join("opening.lock");
        let lock = poll(LOCK_TIMEOUT, || async { try_lock(&path) }).await?;
        lock.ok_or_else(|| StoreError::Locked {
            path: self.database(),
            detail: format!("{} is held", path.display()),
        })
    }

    /// `None` if the debate is locked.
    pub(super) fn try_lock_debate(&self, id: Uuid) -> Result<Option<FileLock>, StoreError> {
        try_lock(&self.lock_of(id))
    }

    /// Whether no process holds the debate. A lock that cannot be checked counts as held.
    pub(super) fn is_debate_free(&self, id: Uuid) -> bool {
        match File::open(self.lock_of(id)) {
            Ok(file) => file.try_lock_shared().is_ok(),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }

    /// For a deleted debate. Other processes may have the file open, but there is no debate left to lease.
    pub(super) fn remove_lock_file(&self, id: Uuid) {
        // A leftover empty file is harmless.
        let _ = fs::remove_file(self.lock_of(id));
    }

    /// Creates an empty database file that only the user can read; `SQLite` gives its WAL the same permissions.
    pub(super) fn create_database(&self) -> Result<(), StoreError> {
        match private().create_new(true).open(self.database()) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(Failure::from(error).at_path(&self.database())),
        }
    }

    /// `SQLite` would delete the WAL of an empty database, and with it the only remaining entries.
    pub(super) fn has_wal_without_database(&self) -> bool {
        let length = |path: PathBuf| fs::metadata(path).map_or(0, |data| data.len());
        length(self.database()) == 0 && length(with_suffix(&self.database(), "-wal")) > 0
    }

    /// Renames the database and its WAL to the first free name. Nothing is overwritten.
    pub(super) fn set_aside(&self) -> Result<PathBuf, StoreError> {
        let database = self.database();
        let is_free = |name: &PathBuf| {
            SUFFIXES
                .iter()
                .all(|suffix| !with_suffix(name, suffix).exists())
        };
        let mut number = 1;
        let kept_as = loop {
            let name = with_suffix(&database, &format!(".corrupt-{number}"));
            if is_free(&name) {
                break name;
            }
            number += 1;
        };
        // Before the renaming: a server must not take the empty database that follows for an ordinary one.
        let name = kept_as.display().to_string();
        fs::write(self.replacement_marker(), name)
            .map_err(|error| Failure::from(error).at_path(&database))?;
        for suffix in SUFFIXES {
            match fs::rename(
                with_suffix(&database, suffix),
                with_suffix(&kept_as, suffix),
            ) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Failure::from(error).at_path(&database)),
            }
        }
        self.clear_suspect();
        Ok(kept_as)
    }
}

/// The suffixes of a database's files: main file, WAL, and WAL index.
const SUFFIXES: [&str; 3] = ["", "-wal", "-shm"];

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// Tries to take a lock until it succeeds or the time is over.
pub(super) async fn poll<T, F>(
    timeout: Duration,
    attempt: impl Fn() -> F,
) -> Result<Option<T>, StoreError>
where
    F: Future<Output = Result<Option<T>, StoreError>>,
{
    let deadline = Instant::now() + timeout;
    loop {
        let lock = attempt().await?;
        if lock.is_some() || Instant::now() >= deadline {
            return Ok(lock);
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

#[cfg(unix)]
pub(super) fn is_open_to_others(folder: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(folder).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

/// Options to write a file that is accessible only to the user.
pub(super) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn try_lock(path: &Path) -> Result<Option<FileLock>, StoreError> {
    let failed = |error: io::Error| Failure::from(error).at_path(path);
    let file = private().create(true).truncate(false).open(path);
    let file = file.map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(FileLock { _file: file })),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}
