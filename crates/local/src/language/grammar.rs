//! Compiles the JSON schema of a request into a matcher for constrained decoding.

use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::sampling::LlamaSampler;
use llguidance::api::TopLevelGrammar;
use llguidance::{JsonCompileOptions, Matcher, ParserFactory};
use roundtable_engine::model::{ModelError, Schema};
use serde_json::Value;

use crate::runtime::local_error;

/// Created once per model, because it processes the whole vocabulary.
pub(super) struct GrammarFactory {
    factory: ParserFactory,
}

impl GrammarFactory {
    pub(super) fn new(model: &LlamaModel) -> Result<Self, ModelError> {
        let mut factory = ParserFactory::new_simple(&LlamaSampler::llguidance_tok_env(model))
            .map_err(|error| {
                local_error(format!(
                    "the model's vocabulary is not supported for constrained decoding: {error}"
                ))
            })?;
        factory.quiet();
        factory.limits_mut().verbose_errors = false;
        Ok(Self { factory })
    }

    pub(super) fn matcher(&self, schema: &Schema) -> Result<Matcher, ModelError> {
        let parser = self
            .factory
            .create_parser(TopLevelGrammar::from_json_schema(with_layout(&schema.json)));
        let matcher = Matcher::new(parser);
        match matcher.get_error() {
            None => Ok(matcher),
            Some(error) => Err(local_error(format!(
                "cannot compile the schema {}: {error}",
                schema.name
            ))),
        }
    }
}

/// Fixes the whitespace: one line, with the spacing that is most common in training data. With free whitespace, small models
/// write line breaks until the token limit.
fn with_layout(schema: &Value) -> Value {
    let options = JsonCompileOptions {
        item_separator: ", ".to_owned(),
        key_separator: ": ".to_owned(),
        whitespace_flexible: false,
        // Generation can treat `oneOf` as `anyOf`; the validator checks the difference.
        coerce_one_of: true,
        // Unsupported keywords are left to the validator, which checks every reply.
        lenient: true,
        ..JsonCompileOptions::default()
    };
    let mut schema = schema.clone();
    if schema.is_object() {
        options.apply_to(&mut schema);
    }
    schema
}
