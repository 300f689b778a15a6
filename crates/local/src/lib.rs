//! The embedded language model and the embedder: real inference in this process, through one native runtime.
//!
//! Three parts: [`weights`] finds or fetches the model files and proves them right before use, [`language`] answers
//! requests, [`embedder`] turns texts into vectors. Nothing here reads the environment; paths, folders and thread
//! counts come from the caller.

pub mod embedder;
pub mod language;
pub mod runtime;
#[cfg(test)]
mod testing;
pub mod weights;
mod worker;
