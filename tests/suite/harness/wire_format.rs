//! The formats of Anthropic and Gemini, translated from and to OpenAI's. Replies are not streamed.

use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WireFormat {
    OpenAi,
    Anthropic,
    Gemini,
}

impl WireFormat {
    pub(super) fn of(path: &str) -> Self {
        if path.ends_with("/messages") {
            Self::Anthropic
        } else if path.contains(":streamGenerateContent") {
            Self::Gemini
        } else {
            Self::OpenAi
        }
    }

    /// The request with `model`, `messages` and `response_format` as OpenAI has them.
    pub(super) fn to_openai(self, request: Value, path: &str) -> Value {
        let (model, system, messages, schema) = match self {
            Self::OpenAi => return request,
            Self::Anthropic => (
                request["model"].clone(),
                &request["system"],
                request["messages"].as_array().unwrap(),
                &request["output_config"]["format"]["schema"],
            ),
            Self::Gemini => (
                json!(path.rsplit('/').next().unwrap().split(':').next()),
                &request["systemInstruction"]["parts"],
                request["contents"].as_array().unwrap(),
                &request["generationConfig"]["responseJsonSchema"],
            ),
        };
        let system = json!({ "role": "system", "content": text_of(system) });
        let messages = messages.iter().map(|message| {
            let parts = message.get("content").or(message.get("parts")).unwrap();
            json!({ "role": message["role"], "content": text_of(parts) })
        });
        let messages: Vec<Value> = std::iter::once(system).chain(messages).collect();
        json!({
            "model": model,
            "messages": messages,
            "response_format": { "json_schema": { "name": name_of(schema), "schema": schema } },
        })
    }

    pub(super) fn whole_reply(self, text: &str) -> String {
        let reply = match self {
            Self::Anthropic => json!({
                "type": "message", "content": [{ "type": "text", "text": text }], "stop_reason": "end_turn",
                "usage": { "input_tokens": 500, "output_tokens": 100 },
            }),
            Self::OpenAi | Self::Gemini => json!({
                "candidates": [{ "content": { "parts": [{ "text": text }] }, "finishReason": "STOP" }],
                "usageMetadata": { "promptTokenCount": 500, "candidatesTokenCount": 100 },
            }),
        };
        reply.to_string()
    }
}

fn text_of(parts: &Value) -> String {
    let Some(parts) = parts.as_array() else {
        return parts.as_str().unwrap_or_default().to_owned();
    };
    let texts = parts.iter().filter_map(|part| part["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// The name of a schema, which only OpenAI's format has, by a property that no other has.
fn name_of(schema: &Value) -> &'static str {
    const NAMES: [(&str, &str); 21] = [
        ("assumptions", "opening"),
        ("issues", "critique"),
        ("responses", "revision"),
        ("verdicts", "review"),
        ("confidence_reason", "synthesis"),
        ("marks", "marking"),
        ("probabilities", "argument"),
        ("summary", "forecast_synthesis"),
        ("narrative", "narrative"),
        ("tensions", "response"),
        ("findings", "council_critique"),
        ("executive_summary", "orchestration"),
        ("stands_because", "judge_revision"),
        ("sub_scores", "evaluation"),
        ("withhold", "evaluation"),
        ("scores", "scoring"),
        ("ranking", "panel_ranking"),
        ("blind_spots", "panel_conclusion"),
        ("open_points", "conclusion"),
        ("argument", "contribution"),
        ("vote", "ballot"),
    ];
    let has = |property: &str| schema["properties"].get(property).is_some();
    let known = NAMES.iter().find(|(property, _)| has(property));
    known.map_or("panel_answer", |(_, name)| name)
}
