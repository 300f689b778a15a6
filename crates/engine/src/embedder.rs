//! The port to sentence embedders (C-16).

use futures::future::BoxFuture;

use crate::model::ModelError;

pub trait Embedder: Send + Sync {
    /// The full name, `provider:model`: vectors of different names are never compared.
    fn name(&self) -> &str;

    /// One unit-length vector for each text, in order.
    fn embed(&self, texts: Vec<String>) -> BoxFuture<'static, Result<Vec<Vec<f32>>, ModelError>>;
}
