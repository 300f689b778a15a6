//! What can go wrong in the store, and the one place where errors of the database and of files are told apart.
//!
//! Every message says what happened, why, and what to do.

use std::io;
use std::path::{Path, PathBuf};

use roundtable_engine::journal::JournalError;
use sqlx::error::ErrorKind;
use uuid::Uuid;

use super::address::Url;
use super::row::DebateRow;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StoreError {
    #[error(
        "{} cannot be the data folder: it, or a part of its path, is a file; name another folder with --data",
        path.display()
    )]
    NotAFolder { path: PathBuf },
    #[error(
        "{} cannot be written ({detail}); make it writable, or keep debates elsewhere with --data or --database",
        path.display()
    )]
    ReadOnly { path: PathBuf, detail: String },
    #[error(
        "no space is left for {} ({detail}); free some and run the command again: what was saved is intact",
        path.display()
    )]
    Full { path: PathBuf, detail: String },
    #[error(
        "another process has kept {} locked for too long ({detail}); let it finish or end it, then try again",
        path.display()
    )]
    Locked { path: PathBuf, detail: String },
    #[error(
        "the database was damaged and has been kept as {}; the next run begins with an empty one",
        kept_as.display()
    )]
    Corrupt { kept_as: PathBuf },
    #[error(
        "the database {} is damaged ({detail}); the next run checks it and, if need be, keeps it aside",
        path.display()
    )]
    Damaged { path: PathBuf, detail: String },
    #[error(
        "the database {} was written by a newer version of this program (its migration {version} is not known here); \
         use that version, or name another folder with --data",
        path.display()
    )]
    Newer { path: PathBuf, version: i64 },
    #[error(
        "the database {} was set up by another build of this program (its migration {version} differs); \
         use that build, or name another folder with --data",
        path.display()
    )]
    Foreign { path: PathBuf, version: i64 },
    #[error("there already is a debate {id}; start the new one under another id")]
    Exists { id: Uuid },
    #[error("what {} holds cannot be read by this version ({detail}); use a newer one", path.display())]
    Unreadable { path: PathBuf, detail: String },
    #[error("the database {} is not available ({detail})", path.display())]
    Unavailable { path: PathBuf, detail: String },
    #[error(
        "the database {database} cannot be used ({detail}); check that it runs, and that address, user and password are right"
    )]
    Server { database: String, detail: String },
}

impl StoreError {
    /// Whether it may well work again soon, without anything being done about what was asked.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::ReadOnly { .. }
            | Self::Full { .. }
            | Self::Locked { .. }
            | Self::Unavailable { .. }
            | Self::Server { .. } => true,
            Self::NotAFolder { .. }
            | Self::Corrupt { .. }
            | Self::Damaged { .. }
            | Self::Newer { .. }
            | Self::Foreign { .. }
            | Self::Exists { .. }
            | Self::Unreadable { .. } => false,
        }
    }
}

/// Why a debate cannot be leased, rated or deleted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LeaseError {
    #[error(
        "another process is running debate {id}; follow it there, or end that process and try again"
    )]
    Held { id: Uuid },
    #[error("there is no debate {id} (any more); `roundtable list` shows those there are")]
    NotFound { id: Uuid },
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum FindError {
    #[error("no debate's id begins with '{wanted}'; `roundtable list` shows those there are")]
    NotFound { wanted: String },
    #[error("there is no debate yet; `roundtable ask` starts one")]
    Empty,
    /// `candidates` are the newest few.
    #[error(
        "more than one debate's id begins with '{wanted}': {}; give more of it",
        ids(candidates)
    )]
    Ambiguous {
        wanted: String,
        candidates: Vec<DebateRow>,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn ids(candidates: &[DebateRow]) -> String {
    let ids: Vec<String> = candidates.iter().map(|row| row.id.to_string()).collect();
    ids.join(", ")
}

impl From<StoreError> for JournalError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::ReadOnly { path, detail } => Self::ReadOnly {
                detail: at(&path, &detail),
            },
            StoreError::Full { path, detail } => Self::Full {
                detail: at(&path, &detail),
            },
            StoreError::Damaged { path, detail } => Self::Corrupt {
                detail: at(&path, &detail),
            },
            StoreError::Unreadable { detail, .. } => Self::Corrupt { detail },
            other @ (StoreError::NotAFolder { .. }
            | StoreError::Locked { .. }
            | StoreError::Corrupt { .. }
            | StoreError::Newer { .. }
            | StoreError::Foreign { .. }
            | StoreError::Exists { .. }
            | StoreError::Unavailable { .. }
            | StoreError::Server { .. }) => Self::Unavailable {
                detail: other.to_string(),
            },
        }
    }
}

fn at(path: &Path, detail: &str) -> String {
    format!("{}: {detail}", path.display())
}

/// An error of the database or of a file, told apart but not yet put into a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub fault: Fault,
    pub detail: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    NotAFolder,
    ReadOnly,
    Full,
    Locked,
    Damaged,
    /// A value that must be unique is there already.
    Taken,
    /// A trigger of ours said so: the epoch is another.
    Fenced,
    /// The value is there, but this version cannot make sense of it.
    Unreadable,
    Other,
}

impl Failure {
    /// Whoever was to write went away. Nothing of it was kept.
    pub(super) fn lost() -> Self {
        Self {
            fault: Fault::Other,
            detail: "the write was given up".into(),
        }
    }

    /// A server that does not answer.
    pub(super) fn silent() -> Self {
        Self {
            fault: Fault::Other,
            detail: "it does not answer".into(),
        }
    }

    pub(super) fn unreadable(detail: impl Into<String>) -> Self {
        Self {
            fault: Fault::Unreadable,
            detail: detail.into(),
        }
    }

    /// The sentence for people. `path` is what was being used.
    pub(super) fn about(self, path: &Path) -> StoreError {
        let path = path.to_path_buf();
        let detail = self.detail;
        match self.fault {
            Fault::NotAFolder => StoreError::NotAFolder { path },
            Fault::ReadOnly => StoreError::ReadOnly { path, detail },
            Fault::Full => StoreError::Full { path, detail },
            Fault::Locked => StoreError::Locked { path, detail },
            Fault::Damaged => StoreError::Damaged { path, detail },
            Fault::Unreadable => StoreError::Unreadable { path, detail },
            Fault::Taken | Fault::Fenced | Fault::Other => StoreError::Unavailable { path, detail },
        }
    }
}

impl Failure {
    /// The sentence for people, where the database is on a server.
    pub(super) fn at_server(self, url: &Url) -> StoreError {
        let path = PathBuf::from(url.to_string());
        let detail = self.detail;
        match self.fault {
            Fault::ReadOnly => StoreError::ReadOnly { path, detail },
            Fault::Full => StoreError::Full { path, detail },
            Fault::Locked => StoreError::Locked { path, detail },
            Fault::Damaged => StoreError::Damaged { path, detail },
            Fault::Unreadable => StoreError::Unreadable { path, detail },
            Fault::NotAFolder | Fault::Taken | Fault::Fenced | Fault::Other => StoreError::Server {
                database: url.to_string(),
                detail,
            },
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let kind = error.kind();
        let fault = if kind == io::ErrorKind::NotADirectory || kind == io::ErrorKind::AlreadyExists
        {
            Fault::NotAFolder
        } else if kind == io::ErrorKind::PermissionDenied
            || kind == io::ErrorKind::ReadOnlyFilesystem
        {
            Fault::ReadOnly
        } else if kind == io::ErrorKind::StorageFull || kind == io::ErrorKind::QuotaExceeded {
            Fault::Full
        } else {
            Fault::Other
        };
        Self {
            fault,
            detail: error.to_string(),
        }
    }
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        if let Some(database) = error.as_database_error() {
            let fault = if database.kind() == ErrorKind::UniqueViolation {
                Fault::Taken
            } else {
                database.code().map_or(Fault::Other, |code| of_code(&code))
            };
            return Self {
                fault,
                detail: database.to_string(),
            };
        }
        if let sqlx::Error::Io(error) = error {
            return error.into();
        }
        let fault = if matches!(error, sqlx::Error::PoolTimedOut) {
            Fault::Locked
        } else if matches!(
            error,
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_)
        ) {
            // The schema leaves no room for such a value, so somebody else wrote over it.
            Fault::Damaged
        } else {
            Fault::Other
        };
        Self {
            fault,
            detail: error.to_string(),
        }
    }
}

/// `SQLITE_CONSTRAINT_TRIGGER`. Only those of the appender raise anything.
const RAISED_BY_A_TRIGGER: u32 = 1811;

/// `SQLite`'s result codes, whose low byte is the primary one (<https://www.sqlite.org/rescode.html>), and `PostgreSQL`'s,
/// which are the only ones with five characters (<https://www.postgresql.org/docs/current/errcodes-appendix.html>).
fn of_code(code: &str) -> Fault {
    if code.len() == 5 {
        return match code {
            "25006" | "42501" => Fault::ReadOnly,
            "55P03" => Fault::Locked,
            "53100" => Fault::Full,
            "XX001" | "XX002" => Fault::Damaged,
            _ => Fault::Other,
        };
    }
    let code = code.parse::<u32>();
    if code == Ok(RAISED_BY_A_TRIGGER) {
        return Fault::Fenced;
    }
    match code.map(|code| code & 0xff) {
        Ok(3 | 8 | 23) => Fault::ReadOnly,
        Ok(5 | 6) => Fault::Locked,
        Ok(11 | 26) => Fault::Damaged,
        Ok(13) => Fault::Full,
        Ok(_) | Err(_) => Fault::Other,
    }
}

#[cfg(test)]
#[path = "errors_tests.rs"]
mod tests;
