//! Translates JSON schemas to the subsets that strict providers accept. Replies are validated against the full schema.

use serde_json::{Map, Value};

/// Keywords that move to the description if the provider rejects them, so that the model still knows the bounds.
const BOUNDS: [&str; 9] = [
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "pattern",
];

/// Keywords that every provider accepts.
const KEYWORDS: [&str; 12] = [
    "type",
    "title",
    "description",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "anyOf",
    "$ref",
    "$defs",
    "format",
];

/// Values of `format` that every provider accepts.
const FORMATS: [&str; 3] = ["date-time", "time", "date"];

/// The subset of JSON schema that a provider accepts. All other keywords are removed.
pub(super) struct Dialect {
    /// In addition to [`KEYWORDS`].
    keywords: &'static [&'static str],
    /// In addition to [`FORMATS`].
    formats: &'static [&'static str],
    /// `oneOf` is rejected, `anyOf` accepted.
    one_of_as_any_of: bool,
    /// `const` is rejected, an `enum` with one value accepted.
    const_as_enum: bool,
}

pub(super) const OPENAI_STRICT: Dialect = Dialect {
    keywords: &[
        "const",
        "pattern",
        "multipleOf",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minItems",
        "maxItems",
    ],
    formats: &["duration", "email", "hostname", "ipv4", "ipv6", "uuid"],
    one_of_as_any_of: true,
    const_as_enum: false,
};

pub(super) const ANTHROPIC: Dialect = Dialect {
    keywords: &["const", "allOf"],
    formats: &[
        "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid",
    ],
    one_of_as_any_of: true,
    const_as_enum: false,
};

pub(super) const GEMINI: Dialect = Dialect {
    keywords: &[
        "prefixItems",
        "oneOf",
        "minimum",
        "maximum",
        "minItems",
        "maxItems",
    ],
    formats: &[],
    one_of_as_any_of: false,
    const_as_enum: true,
};

impl Dialect {
    fn accepts(&self, keyword: &str) -> bool {
        KEYWORDS.contains(&keyword) || self.keywords.contains(&keyword)
    }

    fn accepts_format(&self, format: &str) -> bool {
        FORMATS.contains(&format) || self.formats.contains(&format)
    }

    pub(super) fn translate(&self, schema: &Value) -> Value {
        let Value::Object(schema) = schema else {
            return schema.clone();
        };
        let mut out = Map::with_capacity(schema.len());
        let mut bounds = Vec::new();
        for (keyword, value) in schema {
            match keyword.as_str() {
                "oneOf" if self.one_of_as_any_of => {
                    out.insert("anyOf".to_owned(), self.translate_each(value));
                }
                "const" if self.const_as_enum => {
                    out.insert("enum".to_owned(), Value::Array(vec![value.clone()]));
                }
                "format"
                    if !value
                        .as_str()
                        .is_some_and(|format| self.accepts_format(format)) => {}
                bound if !self.accepts(bound) => {
                    if BOUNDS.contains(&bound) {
                        bounds.push(format!("{bound}: {value}"));
                    }
                }
                // The keys are property names, not keywords.
                "properties" | "$defs" => {
                    out.insert(keyword.clone(), self.translate_values(value));
                }
                "items" | "additionalProperties" => {
                    out.insert(keyword.clone(), self.translate(value));
                }
                "anyOf" | "oneOf" | "allOf" | "prefixItems" => {
                    out.insert(keyword.clone(), self.translate_each(value));
                }
                _ => {
                    out.insert(keyword.clone(), value.clone());
                }
            }
        }
        if !bounds.is_empty() {
            let description = out.get("description").and_then(Value::as_str);
            let prefix = description.map_or_else(String::new, |text| format!("{text} "));
            let description = format!("{prefix}({})", bounds.join(", "));
            out.insert("description".to_owned(), Value::String(description));
        }
        Value::Object(out)
    }

    fn translate_each(&self, schemas: &Value) -> Value {
        let Value::Array(schemas) = schemas else {
            return schemas.clone();
        };
        schemas
            .iter()
            .map(|schema| self.translate(schema))
            .collect()
    }

    fn translate_values(&self, named: &Value) -> Value {
        let Value::Object(named) = named else {
            return named.clone();
        };
        named
            .iter()
            .map(|(name, schema)| (name.clone(), self.translate(schema)))
            .collect()
    }
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
