use serde_json::json;

use super::*;

fn roles() -> Vec<String> {
    ["optimist", "pessimist", "contrarian", "historian", "judge"]
        .map(str::to_owned)
        .to_vec()
}

fn minimal() -> Value {
    json!({
        "task_id": "t",
        "prediction_context": {
            "task": {},
            "outcomes": [{ "id": "yes", "label": "Yes" }, { "id": "no", "label": "No" }]
        }
    })
}

fn faults(request: &Value) -> Vec<String> {
    let found = read(request, &roles()).err().unwrap_or_default();
    found.iter().map(ToString::to_string).collect()
}

/// F-01: the defaults are the contract's.
#[test]
fn f01_the_minimal_request_gets_the_contracts_defaults() {
    let (request, criteria) = read(&minimal(), &roles()).unwrap();
    assert_eq!(
        serde_json::to_value(&request.config).unwrap(),
        json!({
            "rounds": 3,
            "roles": ["optimist", "pessimist", "contrarian", "historian", "judge"],
            "max_argument_length": 500,
            "scoring_criteria": ["logical_strength", "evidence_quality", "novelty"],
            "judge_weight": 0.6
        })
    );
    assert_eq!(criteria, Criteria::standard());
}

/// F-01: unknown fields are accepted and ignored, at every depth.
#[test]
fn f01_unknown_fields_are_ignored() {
    let mut request = minimal();
    request["surprise"] = json!({ "deep": [1] });
    request["prediction_context"]["weather"] = json!("fine");
    request["prediction_context"]["outcomes"][0]["colour"] = json!(["x"]);
    request["config"] = json!({ "temperature": 0.1 });
    assert_eq!(
        read(&request, &roles()).unwrap(),
        read(&minimal(), &roles()).unwrap()
    );
}

/// F-01: outcomes that differ only in case and spaces are one; a sign or a unit makes a difference.
#[test]
fn f01_equal_labels_are_refused() {
    for (label, is_fine) in [
        ("yes", false),
        (" YES ", false),
        ("Yes!", true),
        ("-Yes", true),
    ] {
        let mut request = minimal();
        request["prediction_context"]["outcomes"][1]["label"] = json!(label);
        let expected = format!(
            "/prediction_context/outcomes/1/label: '{}' is used twice; the outcomes must differ",
            label.trim()
        );
        let expected = if is_fine { vec![] } else { vec![expected] };
        assert_eq!(faults(&request), expected, "{label}");
    }
}

/// F-21: boundary conditions, variables and base rates may be in the task; those of the context come first.
#[test]
fn f21_facts_of_the_task_are_read() {
    let mut request = minimal();
    request["prediction_context"]["task"] = json!({
        "outcomes": [
            { "id": "no", "boundary_conditions": ["by noon", "in\nUTC"] },
            { "id": "yes", "boundary_conditions": "not this" },
        ],
        "key_variables": [{ "name": "rain", "current_value": 4 }, { "name": "wind", "current_value": 5 }],
        "base_rates": ["2 of 9"],
    });
    request["prediction_context"]["outcomes"][0]["boundary_conditions"] = json!("at 9");
    request["prediction_context"]["key_variables"] =
        json!([{ "name": "wind", "current_value": 7 }]);
    request["prediction_context"]["base_rates"] = json!(["1 of 8"]);
    let (request, _) = read(&request, &roles()).unwrap();
    let context = request.prediction_context;
    let conditions: Vec<&str> = context
        .outcomes
        .iter()
        .map(|outcome| outcome.boundary_conditions.as_str())
        .collect();
    assert_eq!(conditions, ["at 9", "by noon; in UTC"]);
    let variables = context.key_variables.iter();
    let variables: Vec<_> = variables
        .map(|variable| (variable.name.as_str(), variable.current_value.clone()))
        .collect();
    assert_eq!(variables, [("wind", json!(7)), ("rain", json!(4))]);
    assert_eq!(context.base_rates, ["1 of 8", "2 of 9"]);
}

/// F-01: all missing fields are named at once.
#[test]
fn f01_missing_fields_are_all_named() {
    assert_eq!(
        faults(&json!({})),
        ["/task_id: is missing", "/prediction_context: is missing"]
    );
    assert_eq!(
        faults(&json!({ "prediction_context": { "outcomes": [{}, { "id": " " }] } })),
        [
            "/task_id: is missing",
            "/prediction_context/task: is missing",
            "/prediction_context/outcomes/0/id: is missing",
            "/prediction_context/outcomes/0/label: is missing",
            "/prediction_context/outcomes/1/id: is empty",
            "/prediction_context/outcomes/1/label: is missing",
        ]
    );
    for no_object in [json!(null), json!([]), json!("x"), json!(3)] {
        assert_eq!(faults(&no_object).len(), 1, "{no_object}");
    }
}

/// F-01: all faults of a request are listed at once.
#[test]
fn f01_every_fault_is_listed_at_once() {
    let request = json!({
        "task_id": 7,
        "prediction_context": {
            "task": "a word",
            "outcomes": [{ "id": "a", "label": "A" }, { "id": "a", "label": "B", "description": 3 }],
            "key_variables": [{ "category": "x" }],
            "simulation_summary": {
                "final_distribution": [
                    { "outcome_id": "a", "probability": 60 },
                    { "outcome_id": "ghost", "probability": -0.1 },
                    { "outcome_id": "a" }
                ],
                "key_findings": "none"
            },
            "data_summary": { "timeframe": [], "data_gaps": [1] }
        },
        "config": {
            "rounds": 0, "roles": ["optimist", "wizard", "optimist"], "max_argument_length": 5,
            "scoring_criteria": ["x", "x"], "judge_weight": 1.5
        }
    });
    insta::assert_json_snapshot!(faults(&request));
}

fn with_outcomes(count: usize) -> Value {
    let mut request = minimal();
    let outcomes: Vec<_> = (0..count)
        .map(|number| json!({ "id": format!("o{number}"), "label": format!("L{number}") }))
        .collect();
    request["prediction_context"]["outcomes"] = json!(outcomes);
    request
}

/// F-01: zero, one and fifty outcomes are rejected; both sides of each bound.
#[test]
fn f01_the_number_of_outcomes_is_bounded() {
    for (count, is_fine) in [
        (0, false),
        (1, false),
        (2, true),
        (20, true),
        (21, false),
        (50, false),
    ] {
        assert_eq!(faults(&with_outcomes(count)).is_empty(), is_fine, "{count}");
    }
    assert_eq!(
        faults(&with_outcomes(50)),
        [
            "/prediction_context/outcomes: has 50 outcomes; the maximum is 20. Combine the least likely ones."
        ]
    );
}

fn with_simulation(values: &[(&str, Value)]) -> Value {
    let mut request = minimal();
    let given: Vec<_> = values
        .iter()
        .map(|(id, value)| json!({ "outcome_id": id, "probability": value }))
        .collect();
    request["prediction_context"]["simulation_summary"] = json!({ "final_distribution": given });
    request
}

/// F-01: a distribution that sums to 1.3 or 0, is negative, in percent or in words is rejected; nothing is guessed.
#[test]
fn f01_an_invalid_distribution_is_rejected() {
    let at = "/prediction_context/simulation_summary/final_distribution";
    let both = |yes: Value, no: Value| with_simulation(&[("yes", yes), ("no", no)]);
    let cases = [
        (
            both(json!(0.7), json!(0.6)),
            vec![format!("{at}: the probabilities sum to 1.30, not to 1")],
        ),
        (
            both(json!(0), json!(0)),
            vec![format!(
                "{at}: the probabilities sum to 0, so they say nothing"
            )],
        ),
        (
            both(json!(1.2), json!(-0.2)),
            vec![
                format!("{at}/0/probability: is 1.2; expected a number from 0 to 1"),
                format!("{at}/1/probability: is -0.2; expected a number from 0 to 1"),
            ],
        ),
        (
            both(json!(60), json!(40)),
            vec![
                format!("{at}/0/probability: is 60; expected a number from 0 to 1"),
                format!("{at}/1/probability: is 40; expected a number from 0 to 1"),
            ],
        ),
        (
            both(json!("NaN"), json!(1)),
            vec![format!("{at}/0/probability: must be a number from 0 to 1")],
        ),
        (
            with_simulation(&[("maybe", json!(1.0))]),
            vec![format!("{at}/0/outcome_id: unknown outcome 'maybe'")],
        ),
    ];
    for (request, expected) in cases {
        assert_eq!(faults(&request), expected);
    }
    assert!(
        faults(&both(json!(0.5), json!(0.51))).is_empty(),
        "rounding is no fault"
    );
    assert!(!faults(&both(json!(0.5), json!(0.52))).is_empty());
    // An outcome that is not mentioned has no probability.
    assert!(faults(&with_simulation(&[("yes", json!(1.0))])).is_empty());
}

/// F-01: the bounds of every range of the configuration.
#[test]
fn f01_the_configuration_has_its_bounds() {
    let with = |config: Value| {
        let mut request = minimal();
        request["config"] = config;
        faults(&request).is_empty()
    };
    for (name, fine, wrong) in [
        (
            "rounds",
            vec![json!(1), json!(10)],
            vec![json!(0), json!(11), json!(2.5), json!("3")],
        ),
        (
            "judge_weight",
            vec![json!(0), json!(1)],
            vec![json!(-0.01), json!(1.01), json!("0.6")],
        ),
        (
            "max_argument_length",
            vec![json!(100), json!(4000)],
            vec![json!(99), json!(4001)],
        ),
        (
            "roles",
            vec![json!(["judge", "optimist"])],
            vec![json!([]), json!(["judge"]), json!("judge")],
        ),
        (
            "scoring_criteria",
            vec![json!(["x"])],
            vec![json!([]), json!(["composite"]), json!([1])],
        ),
    ] {
        for value in fine {
            assert!(with(json!({ name: value })), "{name} {value}");
        }
        for value in wrong {
            assert!(!with(json!({ name: value })), "{name} {value}");
        }
    }
    assert!(with(
        json!({ "rounds": null, "roles": null, "judge_weight": null })
    ));
}

/// C-20: a list of 100,000 wrong items does not make as many messages, each of which looks at the whole request.
#[test]
fn c20_the_number_of_faults_is_limited() {
    let mut request = minimal();
    request["config"] = json!({ "roles": vec![0; 100_000] });
    assert_eq!(read(&request, &roles()).err().unwrap().len(), 100);
}
