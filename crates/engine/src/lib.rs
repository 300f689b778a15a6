//! One engine for every protocol: the table acts, the journal remembers, protocols only decide.

pub mod cast;
pub mod embedder;
pub mod event;
pub mod journal;
pub mod model;
pub mod table;
