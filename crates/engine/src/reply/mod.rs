//! Structured replies (C-05): one Rust type each, from which the schema that is sent, the parser and the validator are
//! derived.

mod fast_validate;
mod main_text;
mod normalize;
mod read;
mod repair;
mod schema;
mod schema_templates;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use main_text::MainText;
pub use read::{ReplyError, read, without_reasoning};
pub use schema::{Refinement, schema_for};

/// Derives what is needed for replies of this type, once: better while models are waited for than when one is to be asked.
pub fn prepare<T: Reply>() {
    schema::derived::<T>();
}

pub trait Reply: Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static {
    /// The name under which the schema is sent.
    const NAME: &'static str;
    /// The field whose text streams while the reply is written (C-09).
    const MAIN: &'static str;

    /// The turn as people read it. It begins with the main field, verbatim.
    fn text(&self) -> String;
}
