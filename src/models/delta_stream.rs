//! Streams that draw their deltas from something with a memory of its own, one after the other.

use std::future::Future;

use futures::{StreamExt, stream};
use roundtable_engine::model::{Delta, Deltas, ModelError};

pub(super) type Item = Result<Delta, ModelError>;

pub(super) trait Source: Send + 'static {
    /// `None`: it is over, and is not asked again.
    fn next(&mut self) -> impl Future<Output = Option<Item>> + Send;
}

/// What is remembered stays in its place while word after word goes by.
pub(super) fn drawn_from(source: impl Source) -> Deltas {
    stream::unfold(Box::new(source), |mut source| async move {
        let item = source.next().await?;
        Some((item, source))
    })
    .boxed()
}
