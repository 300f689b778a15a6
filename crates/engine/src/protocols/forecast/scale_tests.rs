use serde_json::{Value, json};

use super::*;

fn scale(json: Value) -> Scale {
    serde_json::from_value(json).unwrap()
}

fn outcomes(scale: &Scale) -> Vec<Outcome> {
    let labels = scale.labels().unwrap().into_iter();
    let outcomes = labels.map(|label| Outcome {
        id: label.clone(),
        label,
        description: String::new(),
        boundary_conditions: String::new(),
    });
    outcomes.collect()
}

#[test]
fn b09_a_number_is_asked_for_in_bins() {
    let open = scale(json!({ "edges": [0, 0.1, 0.2, 0.1 + 0.2], "unit": "%" }));
    assert_eq!(
        open.labels().unwrap(),
        [
            "Below 0%",
            "0% to below 0.1%",
            "0.1% to below 0.2%",
            "0.2% to below 0.3%",
            "0.3% or more"
        ]
    );
    let closed = scale(
        json!({ "edges": [0, 50, 100], "unit": "seats", "open_below": false, "open_above": false }),
    );
    assert_eq!(
        closed.labels().unwrap(),
        ["0 seats to below 50 seats", "50 seats to 100 seats"]
    );
    let all = outcomes(&open);
    let of = |value: &str| {
        open.outcome_of(open.value_of(value)?, &all)
            .map(|outcome| outcome.label.clone())
    };
    assert_eq!(of("0.0999").as_deref(), Some("0% to below 0.1%"));
    assert_eq!(of("0.1%").as_deref(), Some("0.1% to below 0.2%"));
    assert_eq!(of("-3").as_deref(), Some("Below 0%"));
    assert_eq!(of("7").as_deref(), Some("0.3% or more"));
    for nonsense in ["NaN", "inf", "", "much", "2027-01-01"] {
        assert_eq!(of(nonsense), None, "{nonsense}");
    }
}

#[test]
fn b09_a_date_is_asked_for_in_bins() {
    let scale = scale(json!({ "edges": ["2027-01-01", "2027-07-01"], "open_below": false }));
    assert_eq!(
        scale.labels().unwrap(),
        [
            "From 2027-01-01, before 2027-07-01",
            "On 2027-07-01 or later"
        ]
    );
    let all = outcomes(&scale);
    let of = |value: &str| {
        scale
            .outcome_of(scale.value_of(value)?, &all)
            .map(|outcome| outcome.label.clone())
    };
    assert_eq!(of("2026-12-31"), None);
    assert_eq!(
        of("2027-06-30T23:59:59Z").as_deref(),
        Some("From 2027-01-01, before 2027-07-01")
    );
    assert_eq!(of("2027-07-01").as_deref(), Some("On 2027-07-01 or later"));
    assert_eq!(of("5"), None);
}

#[test]
fn b09_edges_are_numbers_or_dates_and_rise() {
    let error = |edges: Value| scale(json!({ "edges": edges })).bins().unwrap_err();
    assert_eq!(error(json!([1, "2027-01-01"])), ScaleError::Mixed);
    assert!(
        error(json!(["2027-07-01", "2027-01-01"]))
            .to_string()
            .contains("must rise")
    );
    assert!(serde_json::from_value::<Scale>(json!({ "edges": ["soon"] })).is_err());
}

#[test]
fn b09_a_forecast_of_bins_has_five_quantiles() {
    let numbers = scale(json!({ "edges": [0, 10], "unit": "%" }));
    let forecast = Distribution::normalised(&[0.05, 0.85, 0.1]).unwrap();
    let shown: Vec<String> = numbers
        .quantiles(&forecast)
        .iter()
        .map(|quantile| numbers.shown(quantile))
        .collect();
    assert_eq!(
        shown,
        ["below 0%", "2.353%", "5.294%", "8.235%", "10% or more"]
    );
    let dates = scale(json!({ "edges": ["2027-01-01", "2027-01-11"], "open_below": false }));
    let forecast = Distribution::normalised(&[0.8, 0.2]).unwrap();
    assert_eq!(
        json!(dates.quantiles(&forecast)[2]),
        json!({ "quantile": 0.5, "value": "2027-01-07", "bound": "at" })
    );
    assert_eq!(
        json!(dates.quantiles(&forecast)[4]),
        json!({ "quantile": 0.95, "value": "2027-01-11", "bound": "at_or_above" })
    );
}
