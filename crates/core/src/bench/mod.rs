//! The statistics of a bench (B-01): arms that answer the same questions are compared with intervals and paired tests.
//!
//! [`Arm`]s come from recorded answers ([`Record`]) or from debates; [`compare`] does not know which.

mod agreement;
mod arms;
mod equal_budget;
mod grading;
mod independence;
mod record;

pub use agreement::{AgreementRow, Movements, Moves, RoundMoves, agreement, movements, moves};
pub use arms::{
    Arm, ArmFigures, Comparison, Decision, Measure, Outcome, PerRight, Question, Spent, Test,
    compare, conclusion, figures,
};
pub use equal_budget::{EqualBudget, Weights, is_equal, vote_of_samples};
pub use grading::{Key, TOLERANCE, canonical, letter, number};
pub use independence::{Independence, Shrinkage, effective_seats, independence};
pub use record::{Cell, Record, Seat, SeatFigures, Ties};
