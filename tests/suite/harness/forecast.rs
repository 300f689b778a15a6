//! Valid replies for a forecast with the outcomes `yes` and `no`.

use serde_json::{Value, json};

use super::schema_name;

/// All messages of a request as one text.
pub(crate) fn said(request: &Value) -> String {
    let messages = request["messages"].as_array().unwrap().iter();
    let texts = messages.filter_map(|message| message["content"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// `("historian", 2)` for an argument of the historian in round 2.
pub(crate) fn who(request: &Value) -> (String, u32) {
    let text = said(request);
    let role = text.split("You are the ").nth(1).unwrap_or_default();
    let role = role.split('.').next().unwrap_or_default().to_lowercase();
    let round = text
        .split("Round ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next()?.parse().ok());
    (role, round.unwrap_or(0))
}

pub(crate) fn replies(request: &Value) -> Value {
    match schema_name(request).as_str() {
        "argument" => {
            let (role, round) = who(request);
            let yes = match role.as_str() {
                "optimist" => 0.9,
                "pessimist" => 0.3,
                "contrarian" => 0.4,
                "historian" => 0.6,
                _ => 0.7,
            };
            let mut reply = json!({
                "argument": format!("The {role} speaks in round {round}."),
                "evidence": ["The builder's report of May"],
                "supports": if yes > 0.5 { "yes" } else { "no" },
                "probabilities": { "yes": yes, "no": 1.0 - yes },
                "confidence": 0.8,
                "gist": format!("What the {role} means"),
            });
            let asked = &request["response_format"]["json_schema"]["schema"]["properties"];
            if asked.get("refers_to").is_some() {
                let other = if role == "pessimist" {
                    "optimist"
                } else {
                    "pessimist"
                };
                reply["rebuts"] = json!([other]);
                reply["refers_to"] = json!(["optimist-1"]);
            }
            if asked.get("precedents").is_some() {
                let precedent = |event: &str| {
                    json!({
                        "event": event, "date": "1999", "similarity_score": 0.5, "outcome": "Late", "relevance": "A bridge too",
                    })
                };
                reply["precedents"] = json!([precedent("The old bridge"), precedent("The tunnel")]);
            }
            reply
        }
        "scoring" => json!({
            "reason": "Fine.",
            "scores": { "logical_strength": 0.7, "evidence_quality": 0.5, "novelty": 0.5 },
        }),
        "forecast_synthesis" => json!({
            "summary": "It will **probably** open in time.",
            "rounds": [{ "round": 1, "key_disagreements": ["The weather"] }],
            "disagreements": [{
                "topic": "The weather",
                "positions": [{ "role": "pessimist", "stance": "A wet spring", "strength": 0.6 }],
                "resolved": false,
            }],
            "insights": [{
                "insight": "Steel is late", "source_role": "pessimist", "round": 1, "impact": "high", "affected_outcomes": ["no"],
            }],
        }),
        other => panic!("unexpected schema '{other}'"),
    }
}
