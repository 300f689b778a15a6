//! The arithmetic of councils of judges (T-01, T-05 … T-12): consensus scores, disagreement, limits on later changes, figures of
//! bias between rounds, and rankings with their uncertainty.

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
