//! The data folder: where the database lies, who holds which debate, and where a damaged database is kept.
//!
//! Nothing here opens the database file while it exists: closing any handle of it would drop the locks that `SQLite`
//! holds on it in this process (<https://www.sqlite.org/howtocorrupt.html>, 2.2).

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use uuid::Uuid;

use super::address::FILE;
use super::errors::{Failure, Fault, StoreError};

/// How long anything here waits for another process.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
pub(super) const PAUSE: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(super) struct Folder {
    root: PathBuf,
}

/// A lock between processes. It ends with this value or with the process, however that dies.
#[derive(Debug)]
pub(super) struct Held {
    _file: File,
}

impl Folder {
    /// Makes the folder with its parents, for the user alone.
    pub(super) fn prepare(wanted: &Path) -> Result<Self, StoreError> {
        let failed = |error: io::Error| Failure::from(error).about(wanted);
        let folder = Self {
            root: std::path::absolute(wanted).map_err(failed)?,
        };
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder.locks()).map_err(failed)?;
        Ok(folder)
    }

    pub(super) fn database(&self) -> PathBuf {
        self.root.join(FILE)
    }

    fn locks(&self) -> PathBuf {
        self.root.join("locks")
    }

    fn lock_of(&self, id: Uuid) -> PathBuf {
        self.locks().join(format!("{id}.lock"))
    }

    /// There while the database is suspected to be damaged: the next opening looks closely.
    fn suspicion(&self) -> PathBuf {
        self.root.join("roundtable.db.suspect")
    }

    pub(super) fn is_suspect(&self) -> bool {
        self.suspicion().exists()
    }

    pub(super) fn clear_suspicion(&self) {
        // Should it stay, the next opening looks closely once more, which does no harm.
        let _ = fs::remove_file(self.suspicion());
    }

    /// Puts a failure into a sentence, and remembers it if it means that the database is damaged.
    pub(super) fn report(&self, failure: Failure) -> StoreError {
        if failure.fault == Fault::Damaged {
            // Without the mark, the next opening still sees damage that lies in its way.
            let _ = File::create(self.suspicion());
        }
        failure.about(&self.database())
    }

    /// One process at a time creates, migrates or sets aside.
    pub(super) async fn lock_for_opening(&self) -> Result<Held, StoreError> {
        let path = self.locks().join("opening.lock");
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            if let Some(held) =
                try_lock(&path).map_err(|error| Failure::from(error).about(&path))?
            {
                return Ok(held);
            }
            if tokio::time::Instant::now() >= deadline {
                return Err(StoreError::Locked {
                    path: self.database(),
                    detail: format!("{} is taken", path.display()),
                });
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// `None` while another lease holds the debate.
    pub(super) fn try_hold(&self, id: Uuid) -> Result<Option<Held>, StoreError> {
        let path = self.lock_of(id);
        try_lock(&path).map_err(|error| Failure::from(error).about(&path))
    }

    /// For a debate that is gone. Others may have the file open, but they will find no debate to lease.
    pub(super) fn forget_lock(&self, id: Uuid) {
        // An empty file that stays behind does no harm.
        let _ = fs::remove_file(self.lock_of(id));
    }

    /// Makes an empty database file that only the user can read; `SQLite` gives its log the same permissions.
    pub(super) fn create_database(&self) -> Result<(), StoreError> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(self.database()) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(Failure::from(error).about(&self.database())),
        }
    }

    /// `SQLite` would delete the log of an empty database, and with it the only entries that are left.
    pub(super) fn has_log_without_database(&self) -> bool {
        let length = |path: PathBuf| fs::metadata(path).map_or(0, |data| data.len());
        length(self.database()) == 0 && length(with_suffix(&self.database(), "-wal")) > 0
    }

    /// Renames the database and its log to the first free name. Nothing is overwritten.
    pub(super) fn set_aside(&self) -> Result<PathBuf, StoreError> {
        let database = self.database();
        let is_free = |name: &PathBuf| PARTS.iter().all(|part| !with_suffix(name, part).exists());
        let mut number = 1;
        let kept_as = loop {
            let name = with_suffix(&database, &format!(".corrupt-{number}"));
            if is_free(&name) {
                break name;
            }
            number += 1;
        };
        for part in PARTS {
            match fs::rename(with_suffix(&database, part), with_suffix(&kept_as, part)) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Failure::from(error).about(&database)),
            }
        }
        self.clear_suspicion();
        Ok(kept_as)
    }
}

/// The files of one database: itself, its log, and the index of the log.
const PARTS: [&str; 3] = ["", "-wal", "-shm"];

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

fn try_lock(path: &Path) -> io::Result<Option<Held>> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(Held { _file: file })),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
