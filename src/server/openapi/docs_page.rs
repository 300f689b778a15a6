//! The OpenAPI document as an HTML page.

use std::fmt::Write;

use serde_json::Value;

use super::JSON;
use crate::render::escape;

/// Lists every operation with its parameters, body and responses, and every schema. Needs no script.
pub(super) fn page(document: &Value) -> String {
    let mut out = String::from(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>Roundtable API</title><link rel=\"stylesheet\" href=\"/api/docs.css\"></head><body><main><h1>Roundtable API</h1>",
    );
    let info = &document["info"];
    let _ = write!(
        out,
        "<p>{}</p><p>{}</p><p><a href=\"/api/openapi.json\">openapi.json</a> (OpenAPI {})</p>",
        text(&info["summary"]),
        text(&info["description"]),
        text(&document["openapi"])
    );
    for (path, operations) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in operations.as_object().into_iter().flatten() {
            write_operation(&mut out, path, method, operation);
        }
    }
    out.push_str("<h2>Schemas</h2>");
    let schemas = document["components"]["schemas"].as_object();
    let mut schemas: Vec<_> = schemas.into_iter().flatten().collect();
    schemas.sort_by_key(|(name, _)| *name);
    for (name, schema) in schemas {
        write_schema(&mut out, name, schema);
    }
    out.push_str("</main></body></html>");
    out
}

fn write_operation(out: &mut String, path: &str, method: &str, operation: &Value) {
    let _ = write!(
        out,
        "<details><summary><code class=\"{0}\">{1}</code> <code>{2}</code> {3}</summary>",
        escape(method),
        escape(&method.to_uppercase()),
        escape(path),
        text(&operation["summary"])
    );
    let parameters = operation["parameters"].as_array();
    if let Some(parameters) = parameters.filter(|all| !all.is_empty()) {
        out.push_str("<h3>Parameters</h3><dl>");
        for parameter in parameters {
            let _ = write!(
                out,
                "<dt><code>{}</code> <small>{}, {}</small></dt><dd>{}</dd>",
                text(&parameter["name"]),
                text(&parameter["in"]),
                type_of(&parameter["schema"]),
                text(&parameter["description"]),
            );
        }
        out.push_str("</dl>");
    }
    let body = &operation["requestBody"]["content"][JSON]["schema"];
    if body.is_object() {
        let _ = write!(out, "<h3>Body</h3><p>{}</p>", type_of(body));
    }
    out.push_str("<h3>Responses</h3><dl>");
    for (status, answer) in operation["responses"].as_object().into_iter().flatten() {
        let _ = write!(
            out,
            "<dt><code>{}</code></dt><dd>{}",
            escape(status),
            text(&answer["description"])
        );
        for (kind, content) in answer["content"].as_object().into_iter().flatten() {
            let schema = type_of(&content["schema"]);
            let _ = write!(out, " <small>{}, {schema}</small>", escape(kind));
        }
        out.push_str("</dd>");
    }
    out.push_str("</dl></details>");
}

/// The properties of an object with their types; the type itself for any other schema.
fn write_schema(out: &mut String, name: &str, schema: &Value) {
    let _ = write!(
        out,
        // The id is inside, so that following a link opens the details.
        "<details><summary><code>{0}</code></summary><p id=\"{0}\">{1}</p>",
        escape(name),
        text(&schema["description"])
    );
    match schema["properties"].as_object() {
        None => {
            let _ = write!(out, "<p>{}</p>", type_of(schema));
        }
        Some(properties) => {
            let required = schema["required"].as_array();
            out.push_str("<dl>");
            for (name, property) in properties {
                let is_required =
                    required.is_some_and(|names| names.iter().any(|required| required == name));
                let _ = write!(
                    out,
                    "<dt><code>{}</code> <small>{}{}</small></dt><dd>{}</dd>",
                    escape(name),
                    type_of(property),
                    if is_required { ", required" } else { "" },
                    text(&property["description"])
                );
            }
            out.push_str("</dl>");
        }
    }
    out.push_str("</details>");
}

/// The type of a value in a few words, with links to named schemas.
fn type_of(schema: &Value) -> String {
    let joined = |types: Vec<String>| types.join(" or ");
    if let Some(name) = schema["$ref"]
        .as_str()
        .and_then(|path| path.rsplit('/').next())
    {
        return format!("<a href=\"#{0}\"><code>{0}</code></a>", escape(name));
    }
    if let Some(value) = schema.get("const") {
        return format!("<code>{}</code>", escape(&value.to_string()));
    }
    if let Some(values) = schema["enum"].as_array() {
        let values = values.iter().map(|value| escape(&value.to_string()));
        return joined(
            values
                .map(|value| format!("<code>{value}</code>"))
                .collect(),
        );
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(choices) = schema[key].as_array() {
            return joined(choices.iter().map(type_of).collect());
        }
    }
    if let Some(properties) = schema["properties"].as_object() {
        let fields = properties.iter().map(|(name, property)| {
            format!("<code>{}</code>: {}", escape(name), type_of(property))
        });
        return format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "));
    }
    let name = |name: &Value| match name.as_str() {
        Some("array") => format!("array of {}", type_of(&schema["items"])),
        Some("object") if schema["additionalProperties"].is_object() => {
            format!("object of {}", type_of(&schema["additionalProperties"]))
        }
        Some(name) => escape(name),
        None => "any".to_owned(),
    };
    match schema["type"].as_array() {
        Some(names) => joined(names.iter().map(name).collect()),
        None => name(&schema["type"]),
    }
}

/// Text with `code` in backticks.
fn text(value: &Value) -> String {
    let escaped = escape(value.as_str().unwrap_or_default());
    let mut parts = escaped.split('`');
    let mut out = parts.next().unwrap_or_default().to_owned();
    while let Some(code) = parts.next() {
        let _ = write!(out, "<code>{code}</code>");
        out.push_str(parts.next().unwrap_or_default());
    }
    out
}
