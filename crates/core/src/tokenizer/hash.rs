//! The hash that places a token in its bucket. The build script uses it as well.

use std::ops::Range;

/// About six tokens in each.
pub(super) const BUCKETS: usize = 1 << 15;

/// The bucket of a part of a text.
#[expect(clippy::cast_possible_truncation, reason = "takes some bits")]
pub(super) fn bucket(text: &[u8], part: Range<usize>) -> usize {
    let mut hash = part.len() as u64;
    for start in part.clone().step_by(8) {
        let word = word(text, start, (part.end - start).min(8));
        hash = (hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        hash ^= hash >> 32;
    }
    hash as usize % BUCKETS
}

/// One to eight bytes of a text as a number. Reads eight bytes if the text has them, which is faster than copying some.
fn word(text: &[u8], start: usize, length: usize) -> u64 {
    if let Some(bytes) = text[start..].first_chunk() {
        u64::from_le_bytes(*bytes) & (u64::MAX >> (64 - 8 * length))
    } else {
        let mut bytes = [0; 8];
        bytes[..length].copy_from_slice(&text[start..start + length]);
        u64::from_le_bytes(bytes)
    }
}
