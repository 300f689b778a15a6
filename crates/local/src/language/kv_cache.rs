//! An exact model of llama.cpp's KV cache, which decides what stays in it.
//!
//! A cell holds one token at one position; sequences with a common prefix share cells. Busy sequences belong to running
//! requests. Idle ones belong to finished requests and stay until their room is needed, so that later prompts can reuse
//! them. Their number is limited, because decoding a token scans all cells in use, whichever sequence they belong to.
//!
//! The recorded operations must be applied to the native cache, in order, before the next tokens are decoded.

use llama_cpp_2::token::LlamaToken;

/// The id of a sequence in the native cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot(usize);

impl Slot {
    pub(super) fn as_i32(self) -> i32 {
        i32::try_from(self.0).unwrap_or(i32::MAX)
    }
}

/// The first `tokens` tokens of the sequence in `slot`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prefix {
    pub(super) slot: Slot,
    pub(super) tokens: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CacheOp {
    Copy {
        from: Prefix,
        to: Slot,
    },
    /// Keeps only this prefix of the sequence.
    Truncate(Prefix),
    Clear(Slot),
}

pub(super) struct KvCache {
    cells: Vec<Cell>,
    free: Vec<usize>,
    busy_cells: usize,
    /// The limit for cells of idle sequences; the newest sequence stays even if it exceeds the limit alone.
    max_idle_cells: usize,
    slots: Vec<Option<Sequence>>,
    ops: Vec<CacheOp>,
    clock: u64,
}

/// The number of sequences that share the cell, and how many of them are busy.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    sequences: u32,
    busy: u32,
}

struct Sequence {
    tokens: Vec<LlamaToken>,
    cells: Vec<usize>,
    state: State,
    last_use: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Busy,
    Idle,
}

/// No cell or slot is free for an admitted request: a bug in the accounting.
#[derive(Debug, thiserror::Error)]
#[error("the KV cache has no room for tokens that were admitted")]
pub(super) struct NoRoom;

impl KvCache {
    pub(super) fn new(cells: usize, max_idle_cells: usize, slots: usize) -> Self {
        Self {
            cells: vec![Cell::default(); cells],
            free: (0..cells).rev().collect(),
            busy_cells: 0,
            max_idle_cells,
            slots: (0..slots).map(|_| None).collect(),
            ops: Vec::new(),
            clock: 0,
        }
    }

    pub(super) fn capacity(&self) -> usize {
        self.cells.len()
    }

    /// The number of cells that cannot be reclaimed now.
    pub(super) fn busy_cells(&self) -> usize {
        self.busy_cells
    }

    /// The longest prefix of `tokens` in the cache.
    pub(super) fn longest_prefix(&self, tokens: &[LlamaToken]) -> Option<Prefix> {
        let sequences = self.slots.iter().enumerate();
        sequences
            .filter_map(|(slot, sequence)| {
                let shared = common_prefix_len(&sequence.as_ref()?.tokens, tokens);
                (shared > 0).then_some(Prefix {
                    slot: Slot(slot),
                    tokens: shared,
                })
            })
            .max_by_key(|prefix| prefix.tokens)
    }

    /// The number of cells that a sequence of `length` would make busy, in addition to those that already are.
    pub(super) fn additional_cells(&self, prefix: Option<Prefix>, length: usize) -> usize {
        let shared = prefix.map_or(0, |prefix| {
            let cells = self.cells_of(prefix);
            cells
                .iter()
                .filter(|cell| self.cells[**cell].busy > 0)
                .count()
        });
        length.saturating_sub(shared)
    }

    /// Opens a busy sequence that starts with `prefix`.
    pub(super) fn open(&mut self, prefix: Option<Prefix>) -> Result<Slot, NoRoom> {
        let slot = self.empty_slot(prefix).ok_or(NoRoom)?;
        let mut sequence = Sequence {
            tokens: Vec::new(),
            cells: Vec::new(),
            state: State::Busy,
            last_use: self.tick(),
        };
        if let Some(prefix) = prefix {
            sequence.cells = self.cells_of(prefix).to_vec();
            for &cell in &sequence.cells {
                self.acquire(cell);
            }
            let now = self.clock;
            if let Some(source) = &mut self.slots[prefix.slot.0] {
                source.last_use = now;
                sequence.tokens = source.tokens[..prefix.tokens].to_vec();
            }
            self.ops.push(CacheOp::Copy {
                from: prefix,
                to: slot,
            });
        }
        self.slots[slot.0] = Some(sequence);
        Ok(slot)
    }

    /// Allocates cells for tokens about to be decoded; evicts idle sequences if needed, least recently used first.
    pub(super) fn append(&mut self, slot: Slot, tokens: &[LlamaToken]) -> Result<(), NoRoom> {
        while self.free.len() < tokens.len() {
            let oldest = self.oldest_idle(None).ok_or(NoRoom)?;
            self.clear(oldest);
        }
        let mut cells = self.free.split_off(self.free.len() - tokens.len());
        cells.reverse();
        for &cell in &cells {
            self.acquire(cell);
        }
        let sequence = self.slots[slot.0].as_mut().ok_or(NoRoom)?;
        sequence.tokens.extend(tokens);
        sequence.cells.extend(cells);
        Ok(())
    }

    /// Makes the sequence idle and truncates it to `prefix`. Clears idle sequences that became redundant, then the least
    /// recently used ones beyond the limit.
    pub(super) fn retire(&mut self, prefix: Prefix) {
        let slot = prefix.slot;
        let now = self.tick();
        let Some(sequence) = &mut self.slots[slot.0] else {
            return;
        };
        sequence.state = State::Idle;
        sequence.last_use = now;
        for &cell in &sequence.cells {
            self.cells[cell].busy -= 1;
            if self.cells[cell].busy == 0 {
                self.busy_cells -= 1;
            }
        }
        self.truncate(prefix);
        for redundant in self.redundant(slot) {
            self.clear(redundant);
        }
        while self.cells.len() - self.free.len() > self.busy_cells + self.max_idle_cells
            && let Some(oldest) = self.oldest_idle(Some(slot))
        {
            self.clear(oldest);
        }
    }

    /// The idle sequences that are prefixes of `slot`, or `slot` itself if it is a prefix of another one.
    fn redundant(&self, slot: Slot) -> Vec<Slot> {
        let Some(retired) = &self.slots[slot.0] else {
            return Vec::new();
        };
        let mut redundant = Vec::new();
        for (other, sequence) in self.slots.iter().enumerate() {
            let Some(sequence) = sequence else { continue };
            if other == slot.0 || sequence.state == State::Busy {
                continue;
            }
            if retired.tokens.starts_with(&sequence.tokens) {
                redundant.push(Slot(other));
            } else if sequence.tokens.starts_with(&retired.tokens) {
                return vec![slot];
            }
        }
        redundant
    }

    /// Clears the model without recording operations; the caller clears the native cache as a whole.
    pub(super) fn reset(&mut self) {
        *self = Self::new(self.cells.len(), self.max_idle_cells, self.slots.len());
    }

    pub(super) fn take_ops(&mut self) -> Vec<CacheOp> {
        std::mem::take(&mut self.ops)
    }

    fn empty_slot(&mut self, keep: Option<Prefix>) -> Option<Slot> {
        if let Some(empty) = self.slots.iter().position(Option::is_none) {
            return Some(Slot(empty));
        }
        let oldest = self.oldest_idle(keep.map(|prefix| prefix.slot))?;
        self.clear(oldest);
        Some(oldest)
    }

    fn oldest_idle(&self, kept: Option<Slot>) -> Option<Slot> {
        let sequences = self.slots.iter().enumerate();
        sequences
            .filter_map(|(slot, sequence)| Some((Slot(slot), sequence.as_ref()?)))
            .filter(|(slot, sequence)| sequence.state == State::Idle && Some(*slot) != kept)
            .min_by_key(|(_, sequence)| sequence.last_use)
            .map(|(slot, _)| slot)
    }

    /// For idle sequences only.
    fn truncate(&mut self, prefix: Prefix) {
        if prefix.tokens == 0 {
            return self.clear(prefix.slot);
        }
        let Some(sequence) = &mut self.slots[prefix.slot.0] else {
            return;
        };
        if prefix.tokens < sequence.tokens.len() {
            sequence.tokens.truncate(prefix.tokens);
            let rest = sequence.cells.split_off(prefix.tokens);
            self.release(rest);
            self.ops.push(CacheOp::Truncate(prefix));
        }
    }

    fn clear(&mut self, slot: Slot) {
        if let Some(sequence) = self.slots[slot.0].take() {
            self.release(sequence.cells);
            self.ops.push(CacheOp::Clear(slot));
        }
    }

    fn release(&mut self, cells: Vec<usize>) {
        for cell in cells {
            self.cells[cell].sequences -= 1;
            if self.cells[cell].sequences == 0 {
                self.free.push(cell);
            }
        }
    }

    fn cells_of(&self, prefix: Prefix) -> &[usize] {
        self.slots[prefix.slot.0]
            .as_ref()
            .map_or(&[], |sequence| &sequence.cells[..prefix.tokens])
    }

    /// Adds a reference from a busy sequence.
    fn acquire(&mut self, cell: usize) {
        let cell = &mut self.cells[cell];
        cell.sequences += 1;
        cell.busy += 1;
        if cell.busy == 1 {
            self.busy_cells += 1;
        }
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }
}

pub(super) fn common_prefix_len(a: &[LlamaToken], b: &[LlamaToken]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
#[path = "kv_cache_tests.rs"]
mod tests;
