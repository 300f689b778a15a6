//! The embedded language model and the embedder: in-process inference with llama.cpp.
//!
//! [`weights`] finds or downloads the model files and verifies their checksums, [`language`] answers requests,
//! [`embedder`] turns texts into vectors. No module reads environment variables; paths, folders and thread counts come from
//! the caller.

pub mod embedder;
pub mod language;
pub mod runtime;
#[cfg(test)]
mod test_support;
pub mod weights;
mod worker;
