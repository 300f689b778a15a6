//! Helpers for models that wrap other models: a `Deltas` stream from a state machine, and forwarded capabilities.

use std::future::Future;

use futures::{StreamExt, stream};
use roundtable_engine::model::{Delta, Deltas, ModelError};

pub(super) type Item = Result<Delta, ModelError>;

pub(super) trait DeltaSource: Send + 'static {
    /// `None` ends the stream, and so do an error and [`Delta::Finish`]; `next` is not called again.
    fn next(&mut self) -> impl Future<Output = Option<Item>> + Send;
}

/// The source is boxed so that its state is not moved for every delta. It is dropped before its last item is returned.
pub(super) fn into_deltas(source: impl DeltaSource) -> Deltas {
    stream::unfold(Some(Box::new(source)), |source| async move {
        let mut source = source?;
        let item = source.next().await?;
        let is_last = matches!(item, Err(_) | Ok(Delta::Finish(_)));
        Some((item, (!is_last).then_some(source)))
    })
    .boxed()
}

/// The next delta of a reply. A reply that has no more and is not finished was interrupted.
pub(super) async fn next_or_interrupted(stream: &mut Deltas) -> Item {
    stream.next().await.unwrap_or_else(|| {
        Err(ModelError::Interrupted {
            detail: "the stream ended before the reply did".to_owned(),
        })
    })
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
