use serde_json::json;

use super::*;

#[test]
fn every_protocol_has_its_result_in_one_line() {
    let cases = [
        (
            "dialectic",
            json!({ "answer": "Use **REST**.\n\nMore.", "final_answer": "x" }),
            Some("Use REST. More."),
        ),
        (
            "modes",
            json!({ "final_answer": "# Answer\n\nTake the bus.", "resolution": { "decision": null } }),
            Some("Take the bus."),
        ),
        (
            "modes",
            json!({ "answer": "It is cheaper.", "resolution": { "decision": "Bus" } }),
            Some("Bus. It is cheaper."),
        ),
        (
            "forecast",
            json!({ "final_answer": "Prices fall.", "probability_distribution": [
                { "outcome_id": "above_3", "probability": 0.2 }, { "outcome_id": "at_most_3", "probability": 0.8 }] }),
            Some("At most 3: 80%. Prices fall."),
        ),
        (
            "councils",
            json!({ "final_answer": "It spreads.", "overall": { "title": "Virality", "score": 64.6, "tier": "spreads" } }),
            Some("Virality 65 of 100, spreads. It spreads."),
        ),
        (
            "panel",
            json!({ "final_answer": "Yes, if it is cheap.", "position": "Yes" }),
            Some("Yes, if it is cheap."),
        ),
        ("dialectic", json!({ "final_answer": null }), None),
        ("unknown", json!({ "final_answer": "Kept." }), Some("Kept.")),
    ];
    for (protocol, result, expected) in cases {
        let line = result_line(protocol, &result);
        assert_eq!(line.as_deref(), expected, "{protocol}");
    }
}

#[test]
fn a_line_has_no_markup_and_no_control_characters() {
    let line = result_line("dialectic", &json!({ "answer": "a\u{1b}[2J**b**\n\n- c" }));
    assert_eq!(line.as_deref(), Some("a[2Jb; c"));
}
