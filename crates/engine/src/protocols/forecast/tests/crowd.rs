//! The crowd's forecast, and questions that ask for a number or a date (B-09).

use roundtable_core::forecast::Distribution;

use super::*;
use crate::depth::Depth;
use crate::protocol::SeatModels;

fn plan_of(input: Value) -> Result<Plan<Rules>, Vec<crate::protocol::Fault>> {
    let data = Data::built_in();
    let request = crate::protocol::Request {
        question: "How high will inflation be?".into(),
        cast: None,
        sources: Vec::new(),
        depth: Depth::Normal,
    };
    let input: Input = serde_json::from_value(input).unwrap();
    crate::protocols::forecast::input::validate(&input, &request, Context::new(&data, 10_000))
}

fn rules_of(input: Value) -> Rules {
    let plan = plan_of(input).unwrap();
    plan.rules(&SeatModels::new(), &mut Vec::new()).unwrap()
}

fn faults_of(input: Value) -> Vec<String> {
    let faults = plan_of(input).err().unwrap();
    faults
        .into_iter()
        .map(|fault| format!("{}: {}", fault.at, fault.message))
        .collect()
}

#[test]
fn b09_a_scale_makes_the_outcomes() {
    let rules = rules_of(json!({ "scale": { "edges": [1, 2], "unit": "%" } }));
    let outcomes = &rules.request.prediction_context.outcomes;
    let labels: Vec<&str> = outcomes
        .iter()
        .map(|outcome| outcome.label.as_str())
        .collect();
    assert_eq!(labels, ["Below 1%", "1% to below 2%", "2% or more"]);
    for (given, label) in [
        ("1.999", "1% to below 2%"),
        ("2 %", "2% or more"),
        ("below-1", "Below 1%"),
    ] {
        assert_eq!(
            rules.find_outcome(given).map(|(own, _)| own.label.as_str()),
            Some(label)
        );
    }
    assert_eq!(rules.find_outcome("many"), None);
    assert_eq!(
        faults_of(json!({ "scale": { "edges": [2, 1] }, "rounds": 99 })),
        [
            "/rules/rounds: rounds must be a whole number from 1 to 10",
            "/rules/scale: edge 2 is 1, but edges must rise"
        ]
    );
    assert_eq!(
        faults_of(json!({ "scale": { "edges": [1] }, "outcomes": ["Yes", "No"] })),
        ["/rules/scale: a scale makes its own outcomes, so there must be no others"]
    );
}

#[test]
fn b09_a_crowd_forecast_may_be_in_percent_and_is_checked() {
    let crowd = |crowd: Value| rules_of(json!({ "outcomes": ["Yes", "No"], "crowd": crowd })).crowd;
    let is = |given: Value, expected: f64| {
        let found = crowd(given).unwrap().values()[0];
        assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    };
    is(json!([0.3]), 0.3);
    is(json!([30]), 0.3);
    is(json!([1]), 1.0);
    is(json!([0]), 0.0);
    is(json!([0.31, 0.71]), 0.31 / 1.02);
    is(json!([62, 40]), 62.0 / 102.0);
    let fault = |crowd: Value| faults_of(json!({ "outcomes": ["A", "B", "C"], "crowd": crowd }));
    assert_eq!(
        fault(json!([0.5])),
        ["/rules/crowd: 1 number for 3 outcomes: expected a probability for each"]
    );
    assert!(fault(json!([0.5, 0.1, 0.1]))[0].contains("sum to 0.7"));
    assert!(fault(json!([-0.1, 0.6, 0.5]))[0].contains("no probability is negative"));
    assert!(fault(json!([101, 0, 0]))[0].contains("101"));
}

/// The crowd is next to the debate in every result, weighs in the pool only by configuration, and never reaches a prompt.
#[tokio::test]
async fn b09_the_crowd_is_compared_and_by_configuration_pooled() {
    let with_crowd = async |is_prior: bool| {
        let mut setup = setup_of(&request());
        let mut rules: Rules = serde_json::from_value(setup.rules.clone()).unwrap();
        rules.crowd = Some(Distribution::normalised(&[0.98, 0.01, 0.01]).unwrap());
        rules.is_crowd_prior = is_prior;
        setup.rules = json!(rules);
        let model = script(|request, _| good(request));
        let journal = Arc::<MemoryJournal>::default();
        let result = played_with(&model, &journal, setup, Budget::default()).await;
        (model, json!(result.roundtable))
    };
    let (model, alone) = with_crowd(false).await;
    let (_, pooled) = with_crowd(true).await;
    assert_eq!(alone["crowd"][0]["probability"], 0.98);
    assert_eq!(
        alone["accuracy_pool"]["weights"].as_array().unwrap().len(),
        5
    );
    let weights = pooled["accuracy_pool"]["weights"].as_array().unwrap();
    assert_eq!((weights.len(), &weights[5]["role"]), (6, &json!("crowd")));
    let first = |own: &Value| own["accuracy_pool"]["probabilities"][0]["probability"].as_f64();
    assert!(first(&pooled) > first(&alone));
    for request in model.heard() {
        assert!(!all_text(&request).contains("98"), "{}", all_text(&request));
    }
}
