//! From the schema of a request to the tokens it allows, one after the other.

use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::sampling::LlamaSampler;
use llguidance::api::TopLevelGrammar;
use llguidance::{JsonCompileOptions, Matcher, ParserFactory};
use roundtable_engine::model::{ModelError, Schema};
use serde_json::Value;

use crate::runtime::failed;

/// Made once for a model: it walks the whole vocabulary.
pub(super) struct Grammars {
    factory: ParserFactory,
}

impl Grammars {
    pub(super) fn of(model: &LlamaModel) -> Result<Self, ModelError> {
        let mut factory = ParserFactory::new_simple(&LlamaSampler::llguidance_tok_env(model))
            .map_err(|error| failed(format!("its vocabulary cannot be constrained: {error}")))?;
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
            Some(error) => Err(failed(format!(
                "the schema {} cannot constrain it: {error}",
                schema.name
            ))),
        }
    }
}

/// One line, spaced as JSON mostly is where models have seen it. Free white space is where small models get lost: they
/// write line breaks until the limit.
fn with_layout(schema: &Value) -> Value {
    let options = JsonCompileOptions {
        item_separator: ", ".to_owned(),
        key_separator: ": ".to_owned(),
        whitespace_flexible: false,
        // For generating, "one of" and "any of" are the same where the alternatives differ; the validator sees to the rest.
        coerce_one_of: true,
        // Keywords that cannot be enforced here are left to the validator, which sees every reply.
        lenient: true,
        ..JsonCompileOptions::default()
    };
    let mut schema = schema.clone();
    if schema.is_object() {
        options.apply_to(&mut schema);
    }
    schema
}
