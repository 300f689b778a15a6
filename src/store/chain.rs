//! Checksums of journal entries. Each covers the one before it, so a changed, removed, inserted or reordered entry is found.
//!
//! The chain of a debate starts with a checksum of what the debate was created with; the last checksum is kept in its row.
//! Entries of versions without checksums have none, and the chain passes over them.

use roundtable_core::hex;
use sha2::{Digest, Sha256};

use super::errors::Failure;
use super::lock;

/// The columns of a debate's row that never change.
pub(super) struct Origin<'a> {
    pub(super) id: &'a str,
    pub(super) protocol: &'a [u8],
    pub(super) created_at: i64,
    pub(super) question: &'a [u8],
    pub(super) setup: &'a [u8],
}

/// The columns of an entry.
#[derive(Debug)]
pub(super) struct Link<'a> {
    pub(super) debate: &'a str,
    pub(super) seq: i64,
    pub(super) key: &'a [u8],
    pub(super) at: i64,
    pub(super) kind: &'a [u8],
    pub(super) body: &'a [u8],
}

impl Origin<'_> {
    pub(super) fn checksum(&self) -> String {
        let texts = [
            b"roundtable debate",
            self.id.as_bytes(),
            self.protocol,
            self.question,
            self.setup,
        ];
        checksum(texts, [self.created_at])
    }
}

impl Link<'_> {
    pub(super) fn checksum(&self, previous: &str) -> String {
        let texts = [
            previous.as_bytes(),
            self.debate.as_bytes(),
            self.key,
            self.kind,
            self.body,
        ];
        checksum(texts, [self.seq, self.at])
    }
}

/// Texts are prefixed with their length, so that different values never hash the same bytes.
fn checksum<const N: usize>(texts: [&[u8]; 5], numbers: [i64; N]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    for number in numbers {
        hash.update(number.to_le_bytes());
    }
    hex::encode(hash.finalize())
}

/// The last checksum of a leased debate, shared by its journal and the appender.
#[derive(Debug)]
pub(super) struct ChainHead(std::sync::Mutex<Option<String>>);

impl ChainHead {
    pub(super) fn new(last: String) -> Self {
        Self(std::sync::Mutex::new(Some(last)))
    }

    pub(super) fn is_unknown(&self) -> bool {
        lock(&self.0).is_none()
    }

    pub(super) fn set(&self, last: String) {
        *lock(&self.0) = Some(last);
    }

    /// After a failed write it is not known whether the entries were written.
    pub(super) fn forget(&self) {
        *lock(&self.0) = None;
    }

    pub(super) fn last(&self) -> Result<String, Failure> {
        let last = lock(&self.0).clone();
        last.ok_or_else(|| Failure::other("an earlier write to the same journal failed"))
    }
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod tests;
