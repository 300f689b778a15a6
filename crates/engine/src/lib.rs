//! One engine for every protocol: the table acts, the journal remembers, protocols only decide.

pub mod account;
pub mod algorithm;
pub mod cast;
pub mod context;
pub mod data;
pub mod embedder;
pub mod enhanced;
pub mod envelope;
pub mod event;
pub mod journal;
pub mod mode;
pub mod model;
pub mod panel;
pub mod prompt;
pub mod protocols;
pub mod reasoning;
pub mod reply;
pub mod report;
pub mod safety;
pub mod stand_ins;
pub mod table;
pub mod tokens;
pub mod tools;
pub mod totals;

#[cfg(test)]
mod scripted;
