//! Byte-pair merging of one piece.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::vocabulary;

/// The buffers of a merge, for reuse.
#[derive(Default)]
pub(super) struct Merger {
    /// By the position of their first byte.
    parts: Vec<Part>,
    /// Lowest rank first, then leftmost. Outdated pairs stay until they are reached.
    pairs: BinaryHeap<Reverse<Pair>>,
}

struct Part {
    previous: Option<usize>,
    next: usize,
    /// The rank of this part and the next one as one token.
    rank: Option<u32>,
}

/// Two parts that make a token: its rank in the upper half, its first byte in the lower half.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Pair(u64);

impl Pair {
    fn new(rank: u32, start: usize) -> Self {
        Self((u64::from(rank) << 32) | start as u64)
    }

    #[expect(clippy::cast_possible_truncation, reason = "takes the halves apart")]
    fn rank_and_start(self) -> (u32, usize) {
        ((self.0 >> 32) as u32, self.0 as u32 as usize)
    }
}

impl Merger {
    /// Calls `found` with the end of every token of a piece.
    pub(super) fn merge(&mut self, piece: &[u8], mut found: impl FnMut(usize)) {
        self.split(piece);
        while let Some(Reverse(pair)) = self.pairs.pop() {
            let (rank, start) = pair.rank_and_start();
            if self.parts[start].rank == Some(rank) {
                self.join(start);
                self.rank(piece, start);
                if let Some(previous) = self.parts[start].previous {
                    self.rank(piece, previous);
                }
            }
        }
        let mut end = 0;
        while let Some(part) = self.parts.get(end) {
            end = part.next;
            found(end);
        }
    }

    /// Every byte is a part.
    fn split(&mut self, piece: &[u8]) {
        self.parts.clear();
        self.parts.extend((0..piece.len()).map(|start| Part {
            previous: start.checked_sub(1),
            next: start + 1,
            rank: vocabulary::rank(piece, start..start + 2),
        }));
        let ranked = self.parts.iter().enumerate();
        self.pairs
            .extend(ranked.filter_map(|(start, part)| Some(Reverse(Pair::new(part.rank?, start)))));
    }

    /// Joins a part with the next one.
    fn join(&mut self, start: usize) {
        let second = self.parts[start].next;
        let second = &mut self.parts[second];
        second.rank = None;
        let next = second.next;
        self.parts[start].next = next;
        if let Some(part) = self.parts.get_mut(next) {
            part.previous = Some(start);
        }
    }

    /// Looks up a part and the next one as one token.
    fn rank(&mut self, piece: &[u8], start: usize) {
        let second = self.parts.get(self.parts[start].next);
        let rank = second.and_then(|second| vocabulary::rank(piece, start..second.next));
        self.parts[start].rank = rank;
        self.pairs
            .extend(rank.map(|rank| Reverse(Pair::new(rank, start))));
    }
}
