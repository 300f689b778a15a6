use super::*;

fn request(input: Value) -> Value {
    contract_request(&serde_json::from_value(input).unwrap(), " Will it rain? ")
}

/// F-01: a question and a list of outcomes are enough.
#[test]
fn f01_a_question_and_outcomes_make_a_request() {
    let made = request(json!({
        "outcomes": ["Above 3%", "Above 3 %", "Über 3 Prozent im Jahr 2027", "!!"],
        "rounds": 2, "domain": "weather", "resolves": "2027-06-30"
    }));
    assert_eq!(
        made,
        json!({
            "task_id": "question",
            "prediction_context": {
                "task": { "raw_query": "Will it rain?", "type": "weather", "timeframe": { "end": "2027-06-30" } },
                "outcomes": [
                    { "id": "above-3", "label": "Above 3%" },
                    { "id": "above-3-2", "label": "Above 3 %" },
                    { "id": "über-3-prozent-im", "label": "Über 3 Prozent im Jahr 2027" },
                    { "id": "outcome-4", "label": "!!" },
                ],
            },
            "config": { "rounds": 2 },
        })
    );
}

/// F-01: a whole request is used as it is; other inputs replace its values, and an invalid one is left to be rejected.
#[test]
fn f01_a_whole_request_is_used_as_it_is() {
    let given = json!({ "task_id": "t", "config": { "rounds": 3, "extra": 1 } });
    let found = request(json!({ "request": given, "judge_weight": 0.2 }));
    assert_eq!(
        found,
        json!({ "task_id": "t", "config": { "rounds": 3, "extra": 1, "judge_weight": 0.2 } })
    );
    let nonsense = request(json!({ "request": [1], "rounds": 2 }));
    assert_eq!(nonsense, json!([1]));
    let odd = request(json!({ "request": { "config": 7 }, "rounds": 2 }));
    assert_eq!(odd, json!({ "config": 7 }));
}
