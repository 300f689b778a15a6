//! Bounded prompt context of long debates (M-12): the state, summaries of older rounds, the previous round. Sizes are counted
//! with a real tokenizer; contested claims and BLOCKERs are never left out.

mod state;
mod summaries;
mod window;

pub use state::View;
pub use summaries::{Consensus, PositionRow, RoundSummary};
pub use window::{Context, Fixed, Limits, Material, PastTurn, Shown, Window};
