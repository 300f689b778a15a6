//! What the model has read and still holds: an exact account of the native cache.
//!
//! The cache has cells, one for a token at a place in a sequence. Sequences that begin alike share cells. Busy sequences
//! are being written; idle ones are finished and stay so that later prompts can begin with them, until their room is
//! needed. They are not free: every token that is decoded passes over all cells in use, its own or not. So not much stays.
//! This account decides; the changes it notes down have to be made in the native cache, in order, before the next
//! tokens are decoded.

use llama_cpp_2::token::LlamaToken;

/// The number of a sequence in the native cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot(usize);

impl Slot {
    pub(super) fn as_i32(self) -> i32 {
        i32::try_from(self.0).unwrap_or(i32::MAX)
    }
}

/// The beginning of a prompt that a sequence already holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Beginning {
    pub(super) slot: Slot,
    pub(super) tokens: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Copy {
        from: Beginning,
        to: Slot,
    },
    /// Only this beginning of the sequence stays.
    Cut(Beginning),
    Clear(Slot),
}

pub(super) struct Cache {
    cells: Vec<Cell>,
    free: Vec<usize>,
    busy_cells: usize,
    /// How many cells idle sequences may hold, unless one alone holds more.
    idle_cells: usize,
    slots: Vec<Option<Sequence>>,
    changes: Vec<Change>,
    clock: u64,
}

/// How many sequences share the cell, and how many of them are busy.
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

/// The account and the work do not agree: there is no cell, or no slot, where there must be one.
#[derive(Debug, thiserror::Error)]
#[error("its cache has no room for tokens that were admitted")]
pub(super) struct NoRoom;

impl Cache {
    pub(super) fn new(cells: usize, idle_cells: usize, slots: usize) -> Self {
        Self {
            cells: vec![Cell::default(); cells],
            free: (0..cells).rev().collect(),
            busy_cells: 0,
            idle_cells,
            slots: (0..slots).map(|_| None).collect(),
            changes: Vec::new(),
            clock: 0,
        }
    }

    pub(super) fn capacity(&self) -> usize {
        self.cells.len()
    }

    /// Cells that cannot be taken from anyone now.
    pub(super) fn busy_cells(&self) -> usize {
        self.busy_cells
    }

    /// The longest beginning of `tokens` that any sequence holds.
    pub(super) fn longest_beginning(&self, tokens: &[LlamaToken]) -> Option<Beginning> {
        let sequences = self.slots.iter().enumerate();
        sequences
            .filter_map(|(slot, sequence)| {
                let shared = shared_length(&sequence.as_ref()?.tokens, tokens);
                (shared > 0).then_some(Beginning {
                    slot: Slot(slot),
                    tokens: shared,
                })
            })
            .max_by_key(|beginning| beginning.tokens)
    }

    /// How many cells a sequence of `length` would make busy that are not busy yet.
    pub(super) fn claim(&self, beginning: Option<Beginning>, length: usize) -> usize {
        let shared = beginning.map_or(0, |beginning| {
            let cells = self.cells_of(beginning);
            cells
                .iter()
                .filter(|cell| self.cells[**cell].busy > 0)
                .count()
        });
        length.saturating_sub(shared)
    }

    /// Opens a busy sequence that begins with what another one holds.
    pub(super) fn open(&mut self, beginning: Option<Beginning>) -> Result<Slot, NoRoom> {
        let slot = self.empty_slot(beginning).ok_or(NoRoom)?;
        let mut sequence = Sequence {
            tokens: Vec::new(),
            cells: Vec::new(),
            state: State::Busy,
            last_use: self.tick(),
        };
        if let Some(beginning) = beginning {
            sequence.cells = self.cells_of(beginning).to_vec();
            for &cell in &sequence.cells {
                self.hold(cell);
            }
            let now = self.clock;
            if let Some(source) = &mut self.slots[beginning.slot.0] {
                source.last_use = now;
                sequence.tokens = source.tokens[..beginning.tokens].to_vec();
            }
            self.changes.push(Change::Copy {
                from: beginning,
                to: slot,
            });
        }
        self.slots[slot.0] = Some(sequence);
        Ok(slot)
    }

    /// Accounts for tokens that are about to be decoded; idle sequences give way, the longest unused first.
    pub(super) fn append(&mut self, slot: Slot, tokens: &[LlamaToken]) -> Result<(), NoRoom> {
        while self.free.len() < tokens.len() {
            let oldest = self.oldest_idle(None).ok_or(NoRoom)?;
            self.clear(oldest);
        }
        let mut taken = self.free.split_off(self.free.len() - tokens.len());
        taken.reverse();
        for &cell in &taken {
            self.hold(cell);
        }
        let sequence = self.slots[slot.0].as_mut().ok_or(NoRoom)?;
        sequence.tokens.extend(tokens);
        sequence.cells.extend(taken);
        Ok(())
    }

    /// The sequence is finished. Its beginning stays, unless another sequence holds all of it; those that it holds all of
    /// go, and so do the longest unused ones that would be too much.
    pub(super) fn settle(&mut self, beginning: Beginning) {
        let slot = beginning.slot;
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
        self.cut(beginning);
        for superfluous in self.superfluous(slot) {
            self.clear(superfluous);
        }
        while self.cells.len() - self.free.len() > self.busy_cells + self.idle_cells
            && let Some(oldest) = self.oldest_idle(Some(slot))
        {
            self.clear(oldest);
        }
    }

    /// The idle sequences that `slot` holds completely, or `slot` itself if another holds it.
    fn superfluous(&self, slot: Slot) -> Vec<Slot> {
        let Some(settled) = &self.slots[slot.0] else {
            return Vec::new();
        };
        let mut superfluous = Vec::new();
        for (other, sequence) in self.slots.iter().enumerate() {
            let Some(sequence) = sequence else { continue };
            if other == slot.0 || sequence.state == State::Busy {
                continue;
            }
            if settled.tokens.starts_with(&sequence.tokens) {
                superfluous.push(Slot(other));
            } else if sequence.tokens.starts_with(&settled.tokens) {
                return vec![slot];
            }
        }
        superfluous
    }

    /// Forgets everything, without changes to make: the native cache is cleared as a whole.
    pub(super) fn reset(&mut self) {
        *self = Self::new(self.cells.len(), self.idle_cells, self.slots.len());
    }

    pub(super) fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    fn empty_slot(&mut self, keep: Option<Beginning>) -> Option<Slot> {
        if let Some(empty) = self.slots.iter().position(Option::is_none) {
            return Some(Slot(empty));
        }
        let oldest = self.oldest_idle(keep.map(|beginning| beginning.slot))?;
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

    /// Only idle sequences are cut or cleared.
    fn cut(&mut self, beginning: Beginning) {
        if beginning.tokens == 0 {
            return self.clear(beginning.slot);
        }
        let Some(sequence) = &mut self.slots[beginning.slot.0] else {
            return;
        };
        if beginning.tokens < sequence.tokens.len() {
            sequence.tokens.truncate(beginning.tokens);
            let rest = sequence.cells.split_off(beginning.tokens);
            self.release(rest);
            self.changes.push(Change::Cut(beginning));
        }
    }

    fn clear(&mut self, slot: Slot) {
        if let Some(sequence) = self.slots[slot.0].take() {
            self.release(sequence.cells);
            self.changes.push(Change::Clear(slot));
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

    fn cells_of(&self, beginning: Beginning) -> &[usize] {
        self.slots[beginning.slot.0]
            .as_ref()
            .map_or(&[], |sequence| &sequence.cells[..beginning.tokens])
    }

    /// For a busy sequence.
    fn hold(&mut self, cell: usize) {
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

pub(super) fn shared_length(a: &[LlamaToken], b: &[LlamaToken]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
