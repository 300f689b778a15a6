//! The embedded language model and the embedder.
