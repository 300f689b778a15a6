//! The fields of request bodies, as the OpenAPI document describes them.

use serde_json::{Value, json};

/// A place in a request body.
#[derive(Clone, Debug)]
pub(super) enum Part {
    Field(String),
    First,
}

pub(super) struct Document(pub(super) Value);

impl Document {
    fn resolve<'v>(&'v self, schema: &'v Value) -> &'v Value {
        match schema["$ref"].as_str() {
            Some(path) => self.0.pointer(path.trim_start_matches('#')).unwrap(),
            None => schema,
        }
    }

    /// The smallest value that fits, so that the hostile one next to it is checked.
    pub(super) fn sample(&self, schema: &Value) -> Value {
        let schema = self.resolve(schema);
        for key in ["anyOf", "oneOf"] {
            if let Some(choices) = schema[key].as_array() {
                return self.sample(&choices[0]);
            }
        }
        if let Some(choices) = schema["enum"].as_array() {
            return choices[0].clone();
        }
        let kind = match schema["type"].as_array() {
            Some(kinds) => kinds[0].as_str(),
            None => schema["type"].as_str(),
        };
        match kind {
            Some("string") => json!("Why?"),
            Some("integer") => json!(schema["minimum"].as_i64().unwrap_or(1)),
            Some("number") => json!(schema["minimum"].as_f64().unwrap_or(0.5)),
            Some("boolean") => json!(true),
            Some("array") => json!([self.sample(&schema["items"])]),
            Some("object") => {
                let required = schema["required"].as_array().into_iter().flatten();
                let fields = required.filter_map(|name| {
                    let name = name.as_str()?;
                    Some((name.to_owned(), self.sample(&schema["properties"][name])))
                });
                Value::Object(fields.collect())
            }
            _ => Value::Null,
        }
    }

    /// Every field of a schema, with those within it.
    pub(super) fn fields(&self, schema: &Value, here: &[Part], found: &mut Vec<Vec<Part>>) {
        const MAX_DEPTH: usize = 8;
        let schema = self.resolve(schema);
        if here.len() > MAX_DEPTH {
            return;
        }
        for key in ["anyOf", "oneOf"] {
            for choice in schema[key].as_array().into_iter().flatten() {
                self.fields(choice, here, found);
            }
        }
        if schema["items"].is_object() {
            self.fields(&schema["items"], &[here, &[Part::First]].concat(), found);
        }
        if schema["additionalProperties"].is_object() {
            found.push([here, &[Part::Field("skeptic".into())]].concat());
        }
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let path = [here, &[Part::Field(name.clone())]].concat();
            found.push(path.clone());
            self.fields(property, &path, found);
        }
    }
}

/// Puts a value at a place. Objects and lists on the way there are added.
pub(super) fn put(body: &mut Value, path: &[Part], value: Value) {
    let mut here = body;
    for part in path {
        here = match part {
            Part::Field(name) => {
                if !here.is_object() {
                    *here = json!({});
                }
                &mut here[name.as_str()]
            }
            Part::First => {
                if here.as_array().is_none_or(Vec::is_empty) {
                    *here = json!([null]);
                }
                &mut here[0]
            }
        };
    }
    *here = value;
}

/// A field of a request's body.
#[derive(Clone)]
pub(super) struct Place {
    pub is_put: bool,
    pub path: String,
    /// A valid body.
    pub base: Value,
    pub field: Vec<Part>,
}

/// The operations that take a body, as method, path and schema.
pub(super) fn operations(document: &Document) -> Vec<(&'static str, &str, &Value)> {
    let mut all = Vec::new();
    for (path, operations) in document.0["paths"].as_object().unwrap() {
        for method in ["post", "put"] {
            let content = &operations[method]["requestBody"]["content"];
            let schema = &content["application/json"]["schema"];
            if schema.is_object() {
                all.push((method, path.as_str(), document.resolve(schema)));
            }
        }
    }
    all
}

/// Every field of every operation that takes a body.
pub(super) fn places(document: &Document, debate: &str) -> Vec<Place> {
    let mut all = Vec::new();
    for (method, path, schema) in operations(document) {
        let target = path.replace("{id}", debate).replace("{name}", "other");
        let place = |base: &Value, field: Vec<Part>| Place {
            is_put: method == "put",
            path: target.clone(),
            base: base.clone(),
            field,
        };
        let mut base = document.sample(schema);
        if path == "/api/v1/debates" {
            // Nothing is called with this budget, so that thousands of debates end at once.
            base = json!({ "question": "Why?", "model": "lab:x", "budget": { "max_tokens": 1 } });
        }
        let mut fields = Vec::new();
        document.fields(schema, &[], &mut fields);
        let rules = schema["properties"]["rules"]["anyOf"].as_array();
        let inputs = rules.into_iter().flatten();
        fields.retain(|field| !matches!(&field[..], [Part::Field(name), _, ..] if name == "rules"));
        all.extend(fields.into_iter().map(|field| place(&base, field)));
        for input in inputs {
            let mut base = base.clone();
            base["protocol"] = input["title"].clone();
            let mut fields = Vec::new();
            document.fields(input, &[Part::Field("rules".into())], &mut fields);
            all.extend(fields.into_iter().map(|field| place(&base, field)));
        }
    }
    all
}
