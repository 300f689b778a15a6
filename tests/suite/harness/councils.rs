//! Valid replies for councils, for any cast: derived from the schema of each request.

use serde_json::{Value, json};

use super::server::{Answer, Server, schema_name};

/// A server on which every judge replies validly. `score` returns the score of a content, by its text.
pub(crate) fn council_server(score: impl Fn(&str) -> f64 + Send + Sync + 'static) -> Server {
    Server::start(move |request, _| Answer::Reply(council_reply(request, &score).to_string()))
}

/// The enum values that the schema allows for a property, at any depth.
pub(crate) fn enum_values(schema: &Value, property: &str) -> Vec<String> {
    fn find(schema: &Value, property: &str) -> Option<Vec<String>> {
        if let Some(properties) = schema["properties"].as_object() {
            if let Some(values) = properties
                .get(property)
                .and_then(|schema| schema["enum"].as_array())
            {
                let texts = values
                    .iter()
                    .filter_map(|value| value.as_str().map(str::to_owned));
                return Some(texts.collect());
            }
            return properties.values().find_map(|inner| find(inner, property));
        }
        find(schema.get("items")?, property)
    }
    find(schema, property).unwrap_or_default()
}

pub(crate) fn council_reply(request: &Value, score: &impl Fn(&str) -> f64) -> Value {
    let schema = &request["response_format"]["json_schema"]["schema"];
    let values = |property: &str| enum_values(schema, property);
    let text = request["messages"].to_string();
    match schema_name(request).as_str() {
        kind @ ("evaluation" | "judge_revision") => {
            // Judges differ a little, so that there is a spread.
            let offset = if text.contains("You are the Hook Analyst")
                || text.contains("You are the Trend")
            {
                4.0
            } else {
                0.0
            };
            let scores: Vec<Value> = values("dimension")
                .iter()
                .map(|dimension| json!({ "dimension": dimension, "evidence": "the first line", "reasoning": "It is so.", "score": score(&text) + offset, "confidence": 0.8 }))
                .collect();
            let sub_scores: Vec<Value> = values("name")
                .iter()
                .map(|name| json!({ "name": name, "score": 50 }))
                .collect();
            let mut reply = json!({ "assessment": "Well made.", "scores": scores, "sub_scores": sub_scores, "key_observations": ["It is short."] });
            if kind == "judge_revision" {
                reply["changes"] = json!([]);
                reply["disputes"] = json!([]);
                reply["stands_because"] = json!("I read the same words.");
            }
            reply
        }
        "narrative" => json!({
            "narrative": "All found it well made.",
            "merged": values("judge").iter().map(|judge| json!({ "judge": judge, "observation": "short" })).collect::<Vec<_>>(),
        }),
        "response" => {
            json!({ "view": "No.", "tensions": "None.", "missed": "Nothing.", "changes": [] })
        }
        "council_critique" => json!({
            "review": "Fairly judged.", "findings": [], "checked": ["every score"], "disagreements": [],
            "confidence_adjustment": 0, "adjustment_reason": "Nothing found.",
        }),
        "orchestration" => json!({
            "executive_summary": "A well made piece.", "answers": [],
            "extras": values("name").iter().map(|name| json!({ "name": name, "values": ["one"] })).collect::<Vec<_>>(),
        }),
        _ => json!({ "yes": true }),
    }
}
