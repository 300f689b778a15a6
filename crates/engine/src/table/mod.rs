//! The table.
mod budget;
pub use budget::Budget;
