use std::io;
use std::path::Path;

use roundtable_engine::journal::JournalError;

use super::{Failure, Fault, StoreError, fault_of};

#[test]
fn error_codes_of_both_databases_are_classified() {
    let faults = [
        ("8", Fault::ReadOnly),
        ("1032", Fault::ReadOnly), // SQLITE_READONLY_DBMOVED
        ("5", Fault::Locked),
        ("517", Fault::Locked), // SQLITE_BUSY_SNAPSHOT
        ("11", Fault::Damaged),
        ("779", Fault::Damaged), // SQLITE_CORRUPT_INDEX
        ("26", Fault::Damaged),
        ("13", Fault::Full),
        ("10", Fault::Other),
        ("42P01", Fault::Other),
        ("42501", Fault::ReadOnly), // insufficient_privilege; as a number its low byte would be SQLITE_BUSY
        ("25006", Fault::ReadOnly),
        ("55P03", Fault::Locked),
        ("53100", Fault::Full),
        ("XX001", Fault::Damaged),
    ];
    assert_eq!(
        faults.map(|(code, _)| fault_of(code)),
        faults.map(|(_, fault)| fault)
    );
}

#[test]
fn file_errors_are_classified() {
    let fault = |kind: io::ErrorKind| Failure::from(io::Error::from(kind)).fault;
    assert_eq!(
        [
            fault(io::ErrorKind::StorageFull),
            fault(io::ErrorKind::ReadOnlyFilesystem),
            fault(io::ErrorKind::PermissionDenied),
            fault(io::ErrorKind::NotADirectory),
            fault(io::ErrorKind::Interrupted),
        ],
        [
            Fault::Full,
            Fault::ReadOnly,
            Fault::ReadOnly,
            Fault::NotAFolder,
            Fault::Other
        ]
    );
}

#[test]
fn a_journal_error_keeps_the_detail_and_the_path() {
    let full = StoreError::Full {
        path: "/d/roundtable.db".into(),
        detail: "no space".into(),
    };
    assert_eq!(
        JournalError::from(full),
        JournalError::Full {
            detail: format!("{}: no space", Path::new("/d/roundtable.db").display())
        }
    );
}
