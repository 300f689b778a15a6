//! One engine for every protocol: the table acts, the journal remembers, protocols only decide.

pub mod algorithm;
pub mod assessment;
pub mod budget;
pub mod cast;
pub mod context;
pub mod data;
pub mod embedder;
pub mod envelope;
pub mod event;
pub mod fallbacks;
pub mod journal;
pub mod mode;
pub mod model;
pub mod prompt;
pub mod protocol;
pub mod protocols;
pub mod reasoning;
pub mod reply;
pub mod report;
pub mod retrospective;
pub mod safety;
pub mod table;
pub mod tokens;
pub mod tools;
pub mod totals;
pub mod transcript;

#[cfg(test)]
mod scripted;
