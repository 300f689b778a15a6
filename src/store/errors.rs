//! Errors of the store, and the classification of database and file errors.
//!
//! Every message says what happened, why, and what to do.

use std::io;
use std::path::{Path, PathBuf};

use roundtable_engine::journal::JournalError;
use sqlx::error::ErrorKind;
use uuid::Uuid;

use super::address::Url;
use super::dialect::STATEMENT_TIMEOUT;
use super::row::DebateRow;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StoreError {
    #[error(
        "{} cannot be the data folder: it, or a part of its path, is a file; choose another folder with --data",
        path.display()
    )]
    NotAFolder { path: PathBuf },
    #[error(
        "cannot write {} ({detail}); make it writable, or store debates elsewhere with --data or --database",
        path.display()
    )]
    ReadOnly { path: PathBuf, detail: String },
    #[error(
        "no space left for {} ({detail}); free some and run the command again. Saved data is intact",
        path.display()
    )]
    Full { path: PathBuf, detail: String },
    #[error(
        "{} is locked by another process ({detail}); let it finish or stop it, then retry",
        path.display()
    )]
    Locked { path: PathBuf, detail: String },
    #[error(
        "the database was damaged and was moved to {}; the next run starts with an empty one, \
         a server only with `serve --begin-empty`",
        kept_as.display()
    )]
    Corrupt { kept_as: PathBuf },
    #[error(
        "the database {} is damaged ({detail}); the next run checks it and moves it aside if necessary",
        path.display()
    )]
    Damaged { path: PathBuf, detail: String },
    #[error(
        "the database {database} has an older schema: version {version}, and this version of the program needs {needed}. Back \
         it up, then run `roundtable db migrate`; processes of the previous version keep running meanwhile"
    )]
    Older {
        database: String,
        version: i64,
        needed: i64,
    },
    #[error(
        "the database {} was written by a newer version of this program (its schema has version {version} and does not \
         support this one); use that version, or choose another folder with --data",
        path.display()
    )]
    Newer { path: PathBuf, version: i64 },
    #[error(
        "the database {} was created by another build of this program (migration {version} differs); \
         use that build, or choose another folder with --data",
        path.display()
    )]
    Foreign { path: PathBuf, version: i64 },
    #[error("debate {id} already exists; use another id")]
    Exists { id: Uuid },
    #[error("this version cannot read {} ({detail}); use a newer one", path.display())]
    Unreadable { path: PathBuf, detail: String },
    #[error("the database {} is not available ({detail})", path.display())]
    Unavailable { path: PathBuf, detail: String },
    #[error(
        "cannot use the database {database} ({detail}); check that it is running, and its address, user and password"
    )]
    Server { database: String, detail: String },
}

impl StoreError {
    /// Whether the same request may succeed later.
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
            | Self::Older { .. }
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
        "another process is running debate {id}; follow it there, or stop that process and retry"
    )]
    Held { id: Uuid },
    #[error("there is no debate {id}; `roundtable list` shows all debates")]
    NotFound { id: Uuid },
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum FindError {
    #[error("no debate id starts with '{wanted}'; `roundtable list` shows all debates")]
    NotFound { wanted: String },
    #[error("there are no debates yet; `roundtable ask` starts one")]
    Empty,
    /// `candidates` are the newest matches.
    #[error(
        "several debate ids start with '{wanted}': {}; use a longer prefix",
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
            | StoreError::Older { .. }
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

/// A classified database or file error, before it becomes a [`StoreError`] with the path or URL.
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
    /// A unique constraint was violated.
    Duplicate,
    /// The appender's trigger rejected an old epoch.
    Fenced,
    /// The value exists, but this version cannot parse it.
    Unreadable,
    Other,
}

impl Failure {
    /// The writing task has stopped. Nothing was written.
    pub(super) fn abandoned() -> Self {
        Self::other("the write was abandoned")
    }

    pub(super) fn timed_out() -> Self {
        Self::other("the server does not respond")
    }

    fn too_slow() -> Self {
        let limit = STATEMENT_TIMEOUT.as_secs();
        Self::other(format!(
            "a query took longer than {limit} s and was cancelled: retry later, or ask for less at once"
        ))
    }

    pub(super) fn other(detail: impl Into<String>) -> Self {
        let (fault, detail) = (Fault::Other, detail.into());
        Self { fault, detail }
    }

    pub(super) fn unreadable(detail: impl Into<String>) -> Self {
        let (fault, detail) = (Fault::Unreadable, detail.into());
        Self { fault, detail }
    }

    pub(super) fn at_path(self, path: &Path) -> StoreError {
        let path = path.to_path_buf();
        let detail = self.detail;
        match self.fault {
            Fault::NotAFolder => StoreError::NotAFolder { path },
            Fault::ReadOnly => StoreError::ReadOnly { path, detail },
            Fault::Full => StoreError::Full { path, detail },
            Fault::Locked => StoreError::Locked { path, detail },
            Fault::Damaged => StoreError::Damaged { path, detail },
            Fault::Unreadable => StoreError::Unreadable { path, detail },
            Fault::Duplicate | Fault::Fenced | Fault::Other => {
                StoreError::Unavailable { path, detail }
            }
        }
    }

    pub(super) fn at_server(self, url: &Url) -> StoreError {
        let database = url.to_string();
        match self.fault {
            Fault::NotAFolder | Fault::Duplicate | Fault::Fenced | Fault::Other => {
                let detail = self.detail;
                StoreError::Server { database, detail }
            }
            Fault::ReadOnly | Fault::Full | Fault::Locked | Fault::Damaged | Fault::Unreadable => {
                self.at_path(Path::new(&database))
            }
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind as Kind;
        let fault = match error.kind() {
            Kind::NotADirectory | Kind::AlreadyExists => Fault::NotAFolder,
            Kind::PermissionDenied | Kind::ReadOnlyFilesystem => Fault::ReadOnly,
            Kind::StorageFull | Kind::QuotaExceeded => Fault::Full,
            _ => Fault::Other,
        };
        let detail = error.to_string();
        Self { fault, detail }
    }
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        let (fault, detail) = match error {
            sqlx::Error::Io(error) => return error.into(),
            sqlx::Error::Database(error) if error.kind() == ErrorKind::UniqueViolation => {
                (Fault::Duplicate, error.to_string())
            }
            sqlx::Error::Database(error) => {
                let code = error.code().unwrap_or_default();
                if is_interrupt(&code) {
                    return Self::too_slow();
                }
                (fault_of(&code), error.to_string())
            }
            sqlx::Error::PoolTimedOut => (Fault::Locked, error.to_string()),
            // The schema does not allow such a value, so the file was overwritten.
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => {
                (Fault::Damaged, error.to_string())
            }
            _ => (Fault::Other, error.to_string()),
        };
        Self { fault, detail }
    }
}

/// A statement was cancelled: `SQLITE_INTERRUPT`, or `query_canceled` of `PostgreSQL`.
fn is_interrupt(code: &str) -> bool {
    matches!(code, "9" | "57014")
}

/// Only the appender's triggers raise this.
const SQLITE_CONSTRAINT_TRIGGER: u32 = 1811;

/// Classifies `SQLite` result codes, whose low byte is the primary code (<https://www.sqlite.org/rescode.html>), and
/// `PostgreSQL` codes, which always have five characters
/// (<https://www.postgresql.org/docs/current/errcodes-appendix.html>).
fn fault_of(code: &str) -> Fault {
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
    if code == Ok(SQLITE_CONSTRAINT_TRIGGER) {
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
