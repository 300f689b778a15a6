//! What seats are given to read of a long debate, within bounds (M-12): the state, summaries of older rounds, the previous
//! round. Everything is counted with a real tokenizer, and nothing contested and no BLOCKER is ever left out.

mod state;
mod summaries;
mod window;

pub use state::{EVIDENCE_TEXT, render_state};
pub use summaries::{Consensus, PositionRow, RoundSummary};
pub use window::{Context, Fixed, Limits, Material, PastTurn, Shown, Window};
