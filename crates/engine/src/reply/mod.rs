//! Structured replies (C-05): the schema that is sent, the parser and the validator are derived from one Rust type.

mod additions;
mod faults;
mod main_text;
mod normalize;
mod prose;
mod read;
mod repair;
mod schema;
mod schema_templates;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) use additions::additions;
pub use main_text::MainText;
pub use read::{ReplyError, read, read_mended, without_reasoning};
pub use schema::{Refinement, schema_for};

/// Derives and caches the schema and validator of a reply type, so that they are ready before the first call that needs them.
pub fn prepare<T: Reply>() {
    schema::derived::<T>();
}

/// A structured reply of a model. Its `JsonSchema` (doc comments included) is sent with the request; the reply is validated
/// against it and deserialized into the type.
pub trait Reply: Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static {
    /// The name of the schema in requests.
    const NAME: &'static str;
    /// The top-level string field that is streamed to listeners (C-09).
    const MAIN: &'static str;

    /// The text people read. It begins with the main field, verbatim.
    fn text(&self) -> String;

    /// Rewrites what can only mean one thing, such as probabilities in percent, before the reply is validated.
    fn rewrite(_: &mut Value) {}
}
