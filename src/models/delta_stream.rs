//! Helpers for models that wrap other models: a `Deltas` stream from a state machine, and forwarded capabilities.

use std::future::Future;

use futures::{StreamExt, stream};
use roundtable_engine::model::{Delta, Deltas, ModelError};

pub(super) type Item = Result<Delta, ModelError>;

pub(super) trait DeltaSource: Send + 'static {
    /// `None` ends the stream; `next` is not called again.
    fn next(&mut self) -> impl Future<Output = Option<Item>> + Send;
}

/// The source is boxed so that its state is not moved for every delta.
pub(super) fn into_deltas(source: impl DeltaSource) -> Deltas {
    stream::unfold(Box::new(source), |mut source| async move {
        let item = source.next().await?;
        Some((item, source))
    })
    .boxed()
}

/// The methods of `Model` that describe it, forwarded to the model in the field `$inner`.
macro_rules! forward_capabilities {
    ($inner:ident) => {
        fn profile(&self) -> roundtable_engine::model::Profile {
            self.$inner.profile()
        }

        fn sees(&self) -> bool {
            self.$inner.sees()
        }

        fn calls_tools(&self) -> bool {
            self.$inner.calls_tools()
        }
    };
}
pub(super) use forward_capabilities;
