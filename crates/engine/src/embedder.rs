//! Port to sentence embedding models (C-16).

use futures::future::BoxFuture;

use crate::model::ModelError;

/// A sentence embedding model, used for retrieval and similarity. The adapters live outside the engine.
pub trait Embedder: Send + Sync {
    /// The full name, `provider:model`: vectors of different names are never compared.
    fn name(&self) -> &str;

    /// One unit-length vector per text, in order.
    ///
    /// # Errors
    /// The future resolves to a [`ModelError`] if the call failed.
    fn embed(&self, texts: Vec<String>) -> BoxFuture<'static, Result<Vec<Vec<f32>>, ModelError>>;
}
