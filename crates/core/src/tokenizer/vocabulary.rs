//! The tokens of the vocabulary and their ranks: a hash table that the build script lays out, so that nothing is loaded at run time
//! and only the pages that are looked at take memory.

use std::ops::Range;

use super::hash::{BUCKETS, bucket};

/// The end of each bucket in [`TOKENS`], as `u32` in little-endian order.
const ENDS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/o200k_base.ends"));
/// The tokens bucket by bucket, in a bucket by ascending length: one byte with the length, three with the rank, the bytes.
const TOKENS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/o200k_base.buckets"));
const HEADER_BYTES: usize = 4;

/// The rank of a part of a text that is a token.
pub(super) fn rank(text: &[u8], part: Range<usize>) -> Option<u32> {
    let bytes = text.get(part.clone())?;
    let mut tokens = tokens_of(bucket(text, part))?;
    while let Some(([length, rank @ ..], rest)) = tokens.split_first_chunk::<HEADER_BYTES>() {
        let length = usize::from(*length);
        if length > bytes.len() {
            return None;
        }
        let (token, rest) = rest.split_at_checked(length)?;
        if token == bytes {
            let [low, middle, high] = *rank;
            return Some(u32::from_le_bytes([low, middle, high, 0]));
        }
        tokens = rest;
    }
    None
}

fn tokens_of(bucket: usize) -> Option<&'static [u8]> {
    let end = |bucket: usize| {
        let (ends, _) = ENDS.as_chunks();
        ends.get(bucket)
            .map(|end| u32::from_le_bytes(*end) as usize)
    };
    let start = bucket.checked_sub(1).map_or(Some(0), end)?;
    TOKENS.get(start..end(bucket)?)
}

const _: () = assert!(ENDS.len() == BUCKETS * size_of::<u32>());

#[cfg(test)]
#[path = "vocabulary_tests.rs"]
mod tests;
