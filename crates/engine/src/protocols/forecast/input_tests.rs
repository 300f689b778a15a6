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

fn refused(input: Value) -> Vec<(String, String)> {
    let input: Input = serde_json::from_value(input).unwrap();
    let made = contract_request(&input, "Will it rain?");
    let cast = Cast::load(&crate::data::Data::built_in(), Forecast::CAST).unwrap();
    let found = plan(&made, &cast, ForecastContext::default()).unwrap_err();
    let found = found.iter().map(|fault| named(&input, fault));
    found.map(|fault| (fault.at, fault.message)).collect()
}

fn pair(at: &str, message: &str) -> (String, String) {
    (at.to_owned(), message.to_owned())
}

/// F-01: a fault points at the rule that the caller wrote, and its message has a subject instead of a pointer.
#[test]
fn f01_faults_point_at_what_the_caller_wrote() {
    assert_eq!(
        refused(
            json!({ "outcomes": ["Yes"], "rounds": 11, "roles": ["ghost", "judge"], "judge_weight": 1.5 })
        ),
        [
            pair(
                "/rules/outcomes",
                "outcomes has 1 outcome; a forecast needs at least 2, such as yes and no"
            ),
            pair(
                "/rules/rounds",
                "rounds must be a whole number from 1 to 10"
            ),
            pair(
                "/rules/judge_weight",
                "judge_weight is 1.5; expected a number from 0 to 1"
            ),
            pair(
                "/rules/roles/0",
                "unknown role 'ghost'; known: optimist, pessimist, contrarian, historian, judge"
            ),
        ]
    );
    assert_eq!(
        refused(json!({ "outcomes": ["Yes", "No"], "resolves": "soon" })),
        [pair(
            "/rules/resolves",
            "invalid date 'soon': expected a date such as 2027-06-30"
        )]
    );
    // A wrong date does not hide behind other faults.
    assert_eq!(
        refused(json!({ "outcomes": ["Yes", "yes"], "resolves": "soon" })),
        [
            pair(
                "/rules/outcomes/1/label",
                "'yes' is used twice; the outcomes must differ"
            ),
            pair(
                "/rules/resolves",
                "invalid date 'soon': expected a date such as 2027-06-30"
            )
        ]
    );
    // In a whole request, other rules next to it replace its values.
    assert_eq!(
        refused(
            json!({ "request": { "task_id": "t", "config": { "max_argument_length": 5 } }, "rounds": 0 })
        ),
        [
            pair(
                "/rules/request/prediction_context",
                "prediction_context is missing"
            ),
            pair(
                "/rules/rounds",
                "rounds must be a whole number from 1 to 10"
            ),
            pair(
                "/rules/request/config/max_argument_length",
                "config/max_argument_length must be a whole number from 100 to 4000"
            ),
        ]
    );
    assert_eq!(
        refused(json!({ "request": [] })),
        [pair(
            "/rules/request",
            "request must be a JSON object with task_id and prediction_context"
        )]
    );
}

/// JSON Schema counts 3.0 as an integer.
#[test]
fn f01_a_whole_number_may_have_a_decimal_point() {
    let with = |rounds: Value| {
        let request = json!({
            "task_id": "t", "config": { "rounds": rounds },
            "prediction_context": {
                "task": {}, "outcomes": [{ "id": "y", "label": "Yes" }, { "id": "n", "label": "No" }]
            }
        });
        let cast = Cast::load(&crate::data::Data::built_in(), Forecast::CAST).unwrap();
        let planned = plan(&request, &cast, ForecastContext::default());
        planned.map(|planned| planned.rules.rounds).ok()
    };
    assert_eq!(with(json!(2.0)), Some(2));
    for wrong in [json!(2.5), json!(-1.0), json!(1e300), json!("2")] {
        assert_eq!(with(wrong.clone()), None, "{wrong}");
    }
}
