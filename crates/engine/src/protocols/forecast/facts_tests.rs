use serde_json::{Value, json};

use super::*;
use crate::cast::Cast;
use crate::data::Data;

fn request(context: Value) -> DebateRequest {
    let mut prediction_context = json!({
        "task": {}, "outcomes": [{ "id": "yes", "label": "Wheat above 300" }, { "id": "no", "label": "Not above" }]
    });
    let Value::Object(more) = context else {
        panic!("{context} is not an object");
    };
    prediction_context.as_object_mut().unwrap().extend(more);
    let cast = Cast::load(&Data::built_in(), "forecast").unwrap();
    let request = json!({ "task_id": "t", "prediction_context": prediction_context });
    let planned = super::super::plan(&request, &cast, super::super::ForecastContext::default());
    planned.unwrap().rules.request
}

const QUESTION: &str = "Will the price of wheat be above 300 in May?";

fn large() -> DebateRequest {
    let other = (0..40).map(|number| format!("Tourism in region {number} grew by {number}.5%"));
    let mut highlights: Vec<String> = other.collect();
    highlights.insert(
        20,
        "The price of wheat rose from 241 to 287 within two months, the fastest rise since 2022"
            .into(),
    );
    request(json!({
        "base_rates": ["Wheat was above 300 in 7 of 60 months"],
        "data_summary": { "region": "Europe", "economic_highlights": highlights, "data_gaps": ["stocks"] }
    }))
}

/// F-21: with room for all, every fact is there as it was written, on one line.
#[test]
fn f21_facts_that_fit_are_all_shown() {
    let request = request(json!({
        "task": { "region": "Europe", "type": "grain" },
        "base_rates": ["7 of 60 months"],
        "key_variables": [{ "name": "stocks", "current_value": { "low": 1, "high": 2 }, "importance": "high" }, { "name": "rain" }],
        "data_summary": { "region": "Europe", "economic_highlights": ["Up\n3.1%"], "sentiment_highlights": ["Calm"] },
    }));
    let shown = facts(&request, QUESTION, 1000);
    assert_eq!(
        shown.lines,
        [
            "Scope: Europe; grain",
            "Base rates: 7 of 60 months",
            "Key variables: stocks = {\"low\":1,\"high\":2} (high); rain",
            "Economy: Up 3.1%",
            "Sentiment: Calm",
        ]
    );
    assert_eq!(shown.left_out, 0);
}

/// F-21: without room for all, the most relevant ones are there whole, the others not at all; base rates and scope always.
#[test]
fn f21_facts_are_whole_or_left_out_and_the_relevant_ones_stay() {
    let request = large();
    let shown = facts(&request, QUESTION, 120);
    let text = shown.lines.join("\n");
    assert!(
        text.contains("rose from 241 to 287 within two months, the fastest rise since 2022"),
        "{text}"
    );
    assert!(
        text.contains("7 of 60 months") && text.contains("Europe"),
        "{text}"
    );
    let all = total_tokens(&request);
    let tourism = text.matches("Tourism").count();
    assert_eq!(
        text.matches(".5%").count(),
        tourism,
        "none lost its figure: {text}"
    );
    assert!(
        shown.left_out > 0 && tourism + shown.left_out >= 40,
        "{shown:?}"
    );
    let used: u64 = shown.lines.iter().map(|line| estimate_tokens(line)).sum();
    assert!(used <= 120 && all > 400, "{used} of {all}");
    // Exactly enough room, and one token less.
    assert_eq!(facts(&request, QUESTION, all).left_out, 0);
    assert!(facts(&request, QUESTION, all - 1).left_out > 0);
    let least = facts(&request, QUESTION, 0);
    assert_eq!(least.lines.len(), 2, "{least:?}");
}
