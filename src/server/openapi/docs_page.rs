//! The OpenAPI document as an HTML page.

use std::fmt::Write;

use serde_json::Value;

use super::JSON;

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
    for (name, schema) in schemas.into_iter().flatten() {
        let pretty = serde_json::to_string_pretty(schema).unwrap_or_default();
        let _ = write!(
            out,
            "<details id=\"{0}\"><summary><code>{0}</code></summary><pre>{1}</pre></details>",
            escape(name),
            escape(&pretty)
        );
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
                "<dt><code>{}</code> <small>{}</small></dt><dd>{} <code>{}</code></dd>",
                text(&parameter["name"]),
                text(&parameter["in"]),
                text(&parameter["description"]),
                escape(&parameter["schema"].to_string())
            );
        }
        out.push_str("</dl>");
    }
    let body = &operation["requestBody"]["content"][JSON]["schema"];
    if let Some(name) = referred(body) {
        let _ = write!(
            out,
            "<h3>Body</h3><p><a href=\"#{0}\"><code>{0}</code></a></p>",
            escape(name)
        );
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
            let _ = write!(out, " <code>{}</code>", escape(kind));
            if let Some(name) = referred(&content["schema"]) {
                let _ = write!(out, " <a href=\"#{0}\"><code>{0}</code></a>", escape(name));
            }
        }
        out.push_str("</dd>");
    }
    out.push_str("</dl></details>");
}

fn referred(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

fn text(value: &Value) -> String {
    escape(value.as_str().unwrap_or_default())
}

fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}
