//! The statistics of a bench (B-01): arms that answer the same questions are compared with intervals and paired tests.
//!
//! [`Arm`]s come from recorded answers ([`Record`]) or from debates; [`compare`] does not know which.

mod agreement;
mod arms;
mod comparison;
mod equal_budget;
mod grading;
mod independence;
mod judging;
mod preference;
mod record;

pub use agreement::{AgreementRow, Movements, Moves, RoundMoves, agreement, movements, moves};
pub use arms::{Arm, ArmFigures, Measure, Outcome, PerRight, Question, Spent, figures};
pub use comparison::{Comparison, Decision, Test, compare, compare_pairs, conclusion};
pub use equal_budget::{EqualBudget, Weights, is_equal, vote_of_samples};
pub use grading::{Key, TOLERANCE, canonical, letter, number};
pub use independence::{Independence, Shrinkage, effective_seats, independence};
pub use judging::Agreement;
pub use preference::{Battle, Strength, strengths, win_probability};
pub use record::{Cell, Record, Seat, SeatFigures, Ties};
