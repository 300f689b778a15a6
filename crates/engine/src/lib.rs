//! One engine for every protocol: the table acts, the journal remembers, protocols only decide.

pub mod embedder;
pub mod model;
