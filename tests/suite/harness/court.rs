//! Replies of a debate of councils in good order, for any cast: the schema of each call says what is asked for.

use serde_json::{Value, json};

use super::server::{Answer, Server, schema_name};

/// A server at which every seat judges well. `score` says what content gets, by its text.
pub(crate) fn court(score: impl Fn(&str) -> f64 + Send + Sync + 'static) -> Server {
    Server::start(move |request, _| Answer::Reply(judged(request, &score).to_string()))
}

/// The values that the schema of this call allows for a property, wherever it is.
pub(crate) fn allowed(schema: &Value, property: &str) -> Vec<String> {
    fn find(schema: &Value, property: &str) -> Option<Vec<String>> {
        if let Some(properties) = schema["properties"].as_object() {
            if let Some(values) = properties
                .get(property)
                .and_then(|it| it["enum"].as_array())
            {
                let texts = values
                    .iter()
                    .filter_map(|it| it.as_str().map(str::to_owned));
                return Some(texts.collect());
            }
            return properties.values().find_map(|it| find(it, property));
        }
        find(schema.get("items")?, property)
    }
    find(schema, property).unwrap_or_default()
}

pub(crate) fn judged(request: &Value, score: &impl Fn(&str) -> f64) -> Value {
    let schema = &request["response_format"]["json_schema"]["schema"];
    let allowed = |property: &str| allowed(schema, property);
    let text = request["messages"].to_string();
    match schema_name(request).as_str() {
        kind @ ("evaluation" | "judge_revision") => {
            // Judges differ a little, so that there is a spread.
            let own = if text.contains("You are the Hook Analyst")
                || text.contains("You are the Trend")
            {
                4.0
            } else {
                0.0
            };
            let scores: Vec<Value> = allowed("dimension")
                .iter()
                .map(|it| json!({ "dimension": it, "evidence": "the first line", "reasoning": "It is so.", "score": score(&text) + own, "confidence": 0.8 }))
                .collect();
            let sub_scores: Vec<Value> = allowed("name")
                .iter()
                .map(|it| json!({ "name": it, "score": 50 }))
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
            "merged": allowed("judge").iter().map(|it| json!({ "judge": it, "observation": "short" })).collect::<Vec<_>>(),
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
            "extras": allowed("name").iter().map(|it| json!({ "name": it, "values": ["one"] })).collect::<Vec<_>>(),
        }),
        _ => json!({ "yes": true }),
    }
}
