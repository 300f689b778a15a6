//! The debate engine. A [`protocol`] decides which step comes next; the [`table`] calls the models and writes the
//! [`journal`]; every view of a debate is a fold over its [`event`]s.

pub mod algorithm;
pub mod assessment;
pub mod budget;
pub mod cast;
pub mod context;
pub mod data;
pub mod depth;
pub mod embedder;
pub mod envelope;
pub mod estimate;
pub mod event;
pub mod expected_usage;
pub mod fallbacks;
pub mod follow_up;
pub mod form;
pub mod journal;
pub mod mode;
pub mod model;
pub mod parent;
pub mod preset;
pub mod prompt;
pub mod protocol;
pub mod protocols;
pub mod reasoning;
pub mod recorded_prompt;
pub mod remarks;
pub mod reply;
pub mod report;
pub mod retrospective;
pub mod round_value;
pub mod rules;
pub mod safety;
pub mod seating;
pub mod spent;
pub mod state;
pub mod table;
pub mod tokens;
pub mod tools;
pub mod totals;
pub mod transcript;
pub mod withheld;

#[cfg(test)]
mod module_graph_tests;
#[cfg(test)]
mod scripted;
