//! The arithmetic of councils of judges (T-01, T-05 … T-12): what their scores come to, where they disagree, how far a number may
//! be moved and what it takes, how much their second round owes to something else than reasons, and how sure an order of several
//! judged things is.

mod bias;
mod consensus;
mod moves;
mod overall;
mod ranking;
mod spread;

pub use bias::{Anchoring, BiasFigures, Convergence, Crowding, Judgement, Softening, bias_figures};
pub use consensus::{Basis, Consensus, Vote, consensus};
pub use moves::{Limit, Move, TooFar, moved, reach};
pub use overall::{Component, Overall, Part, Tier, TierError, Tiers, overall, overall_confidence};
pub use ranking::{Measured, Pair, Place, Ranking, Verdict, rank, uncertainty};
pub use spread::{Agreement, Extreme, Spread, spread};
