//! The tokens of a vocabulary and their ranks: a hash table over the data file, which is part of the program.

use std::ops::Range;

/// All tokens by ascending rank, each after one byte with its length. See `data/README.md`.
const TOKENS: &[u8] = include_bytes!("../../data/o200k_base.tokens");
const MAX_TOKEN_BYTES: usize = 128;

/// The bits of a slot for a token's rank. The others are bits of its hash, which tell most other byte sequences apart.
const RANK_BITS: u32 = 21;
const RANK_MASK: u32 = (1 << RANK_BITS) - 1;
const EMPTY: u32 = 0;
/// More than twice the number of tokens, so that a search is short.
const SLOTS: usize = 1 << 19;

/// Open addressing with linear probing.
pub(super) struct Vocabulary {
    slots: Box<[u32]>,
}

impl Vocabulary {
    pub(super) fn load() -> Self {
        let mut slots = vec![EMPTY; SLOTS].into_boxed_slice();
        let mut rank = 1;
        while let Some(token) = token(rank) {
            let (tag, mut slot) = place(token, 0..token.len());
            while slots[slot] != EMPTY {
                slot = (slot + 1) % SLOTS;
            }
            slots[slot] = tag | rank;
            rank += 1 + u32::from(TOKENS[rank as usize - 1]);
        }
        Self { slots }
    }

    /// The rank of a part of a text that is a token: one more than the token's position in the file, so in the order of the
    /// published ranks.
    pub(super) fn rank(&self, text: &[u8], part: Range<usize>) -> Option<u32> {
        let bytes = text.get(part.clone())?;
        if bytes.len() > MAX_TOKEN_BYTES {
            return None;
        }
        let (tag, mut slot) = place(text, part);
        loop {
            let entry = self.slots[slot];
            if entry == EMPTY {
                return None;
            }
            let rank = entry & RANK_MASK;
            if entry & !RANK_MASK == tag && token(rank) == Some(bytes) {
                return Some(rank);
            }
            slot = (slot + 1) % SLOTS;
        }
    }
}

fn token(rank: u32) -> Option<&'static [u8]> {
    let (length, rest) = TOKENS.get(rank as usize - 1..)?.split_first()?;
    rest.get(..usize::from(*length))
}

/// The hash bits of a slot, and the slot where a search begins.
#[expect(
    clippy::cast_possible_truncation,
    reason = "both take some bits of the hash"
)]
fn place(text: &[u8], part: Range<usize>) -> (u32, usize) {
    let mut hash = part.len() as u64;
    for start in part.clone().step_by(8) {
        let word = word(text, start, (part.end - start).min(8));
        hash = (hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        hash ^= hash >> 32;
    }
    ((hash >> 32) as u32 & !RANK_MASK, hash as usize % SLOTS)
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

#[cfg(test)]
#[path = "vocabulary_tests.rs"]
mod tests;
