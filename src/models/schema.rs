//! JSON schemas as the stricter providers take them. What is left out here is still checked when the reply is read.

use serde_json::{Map, Value};

/// What a model should know even where nothing makes it keep to it: as keywords refused, these go into the description.
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

/// What a provider's schema language leaves out or says differently.
pub(super) struct Dialect {
    /// Keywords that are taken. All others are left out.
    keywords: &'static [&'static str],
    /// Values of `format` that are taken.
    formats: &'static [&'static str],
    /// `oneOf` is refused where `anyOf` is not.
    one_of_as_any_of: bool,
    /// `const` is refused where an `enum` of one is not.
    const_as_enum: bool,
}

pub(super) const OPENAI_STRICT: Dialect = Dialect {
    keywords: &[
        "type",
        "title",
        "description",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "const",
        "anyOf",
        "$ref",
        "$defs",
        "pattern",
        "format",
        "multipleOf",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minItems",
        "maxItems",
    ],
    formats: &[
        "date-time",
        "time",
        "date",
        "duration",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "uuid",
    ],
    one_of_as_any_of: true,
    const_as_enum: false,
};

pub(super) const ANTHROPIC: Dialect = Dialect {
    keywords: &[
        "type",
        "title",
        "description",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "const",
        "anyOf",
        "allOf",
        "$ref",
        "$defs",
        "format",
    ],
    formats: &[
        "date-time",
        "time",
        "date",
        "duration",
        "email",
        "hostname",
        "uri",
        "ipv4",
        "ipv6",
        "uuid",
    ],
    one_of_as_any_of: true,
    const_as_enum: false,
};

pub(super) const GEMINI: Dialect = Dialect {
    keywords: &[
        "type",
        "title",
        "description",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "prefixItems",
        "enum",
        "anyOf",
        "oneOf",
        "$ref",
        "$defs",
        "format",
        "minimum",
        "maximum",
        "minItems",
        "maxItems",
    ],
    formats: &["date-time", "date", "time"],
    one_of_as_any_of: false,
    const_as_enum: true,
};

impl Dialect {
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
                        .is_some_and(|format| self.formats.contains(&format)) => {}
                bound if !self.keywords.contains(&bound) => {
                    if BOUNDS.contains(&bound) {
                        bounds.push(format!("{bound}: {value}"));
                    }
                }
                // Here the keys are names of the user's own, not keywords.
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
            let said = out.get("description").and_then(Value::as_str);
            let said = said.map_or_else(String::new, |said| format!("{said} "));
            let said = format!("{said}({})", bounds.join(", "));
            out.insert("description".to_owned(), Value::String(said));
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
