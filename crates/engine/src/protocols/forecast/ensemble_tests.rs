use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::resolution::Score;
use super::*;

fn engine(name: &str, weight: f64, confidence: f64, yes: f64) -> Value {
    json!({
        "name": name, "weight": weight, "confidence": confidence,
        "probability_distribution": [
            { "outcome_id": "yes", "probability": yes }, { "outcome_id": "no", "probability": 1.0 - yes }
        ],
    })
}

fn request(engines: Value) -> EnsembleRequest {
    let request = [("engines".to_owned(), engines)];
    serde_json::from_value(request.into_iter().collect()).unwrap()
}

/// A resolved forecast that said `yes` with this probability.
fn resolved(number: usize, yes: f64, happened: usize) -> Scored {
    let score = Score {
        brier: 0.1,
        log: 0.1,
        crps: None,
    };
    let seat = Seat {
        agent: "m".into(),
        group: None,
    };
    let distribution = Distribution::normalised(&[yes, 1.0 - yes]).unwrap();
    Scored {
        debate_id: format!("d{number}"),
        question: "Q".into(),
        domain: None,
        outcome: "yes".into(),
        known_at: number as u64,
        due_at: 0,
        debate: score,
        accuracy_pool: None,
        blind_first_round: None,
        roles: BTreeMap::new(),
        panel: vec![(seat, distribution.clone())],
        happened,
        actual: None,
        forecast_at: 0,
        uniform: score,
        simulation: None,
        forecasts: vec![(yes, happened == 0), (1.0 - yes, happened == 1)],
        movement: None,
        crowd: None,
        outcomes: vec!["yes".into(), "no".into()],
        families: BTreeMap::new(),
        extra_cost: None,
        forecast: distribution,
    }
}

fn close(found: &[OutcomeProbability], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            (found.probability.value() - expected).abs() < 1e-12,
            "{found:?}"
        );
    }
}

/// F-22: the rule of F-20: weight × confidence, at most 0.60, renormalised. Outcomes may be listed in any order.
#[test]
fn f22_engines_are_combined_by_the_rule() {
    let mut engines = json!([
        engine("simulation", 0.5, 0.8, 0.8),
        engine("statistics", 0.35, 0.8, 0.4),
        engine("debate", 0.15, 0.8, 0.5),
    ]);
    engines[1]["probability_distribution"]
        .as_array_mut()
        .unwrap()
        .reverse();
    let combined = ensemble(&request(engines), &[]).unwrap();
    close(&combined.probability_distribution, &[0.615, 0.385]);
    let shares: Vec<f64> = combined.engines.iter().map(|engine| engine.share).collect();
    for (share, expected) in shares.iter().zip([0.5, 0.35, 0.15]) {
        assert!((share - expected).abs() < 1e-12);
    }
    assert_eq!((combined.calibrated, combined.resolved), (None, 0));

    let capped = json!([engine("a", 1.0, 1.0, 1.0), engine("b", 0.1, 1.0, 0.0)]);
    let combined = ensemble(&request(capped), &[]).unwrap();
    close(&combined.probability_distribution, &[0.6, 0.4]);
}

/// F-22: calibrated from 30 resolved forecasts on. If they were too cautious, the result moves away from even odds.
#[test]
fn f22_the_result_is_calibrated_where_enough_has_resolved() {
    let both = request(json!([
        engine("a", 0.5, 1.0, 0.7),
        engine("b", 0.5, 1.0, 0.7)
    ]));
    let cautious: Vec<Scored> = (0..30).map(|number| resolved(number, 0.7, 0)).collect();
    assert_eq!(ensemble(&both, &cautious[..29]).unwrap().calibrated, None);
    let combined = ensemble(&both, &cautious).unwrap();
    close(&combined.probability_distribution, &[0.7, 0.3]);
    let calibrated = combined.calibrated.unwrap();
    let yes = calibrated.probability_distribution[0].probability.value();
    assert!(calibrated.factor > 1.2 && yes > 0.74, "{calibrated:?}");
    // logit p × factor
    let expected = calibrated.factor * (0.7_f64 / 0.3).ln();
    assert!((yes - 1.0 / (1.0 + (-expected).exp())).abs() < 1e-9);

    let bold: Vec<Scored> = (0..40)
        .map(|number| resolved(number, 0.9, number % 2))
        .collect();
    let calibrated = ensemble(&both, &bold).unwrap().calibrated.unwrap();
    assert!(calibrated.factor < 0.85, "{calibrated:?}");
}

/// F-22: everything that is wrong is listed at once, with its place.
#[test]
fn f22_every_fault_of_the_engines_is_listed() {
    let faults = |engines: Value| -> Vec<String> {
        let found = ensemble(&request(engines), &[]).unwrap_err();
        found.iter().map(ToString::to_string).collect()
    };
    let other = json!([{ "outcome_id": "yes", "probability": 0.7 }, { "outcome_id": "maybe", "probability": 0.3 }]);
    let twice = json!([
        { "outcome_id": "yes", "probability": 0.5 }, { "outcome_id": "yes", "probability": 0.3 },
        { "outcome_id": "no", "probability": 0.5 }
    ]);
    assert_eq!(
        faults(json!([
            engine("a", 0.5, 0.8, 0.7),
            { "name": " ", "confidence": 0.5, "probability_distribution": other },
            { "name": "a", "weight": 0.5, "confidence": 0.5 },
            { "name": "b", "weight": 0.5, "probability_distribution": twice },
        ])),
        [
            "/engines/1/name: is empty",
            "/engines/1/weight: is missing",
            "/engines/1/probability_distribution: unknown outcome 'maybe'; the first engine has yes, no",
            "/engines/1/probability_distribution: the outcome 'no' is missing",
            "/engines/2/probability_distribution: is missing; give it, or the debate_id of a forecast",
            "/engines/3/confidence: is missing",
            "/engines/3/probability_distribution: 'yes' is given twice",
            "/engines: 'a' is given twice",
        ]
    );
    let mut sum = engine("b", 0.5, 0.8, 0.7);
    sum["probability_distribution"][0]["probability"] = json!(0.72);
    assert_eq!(
        faults(json!([engine("a", 0.5, 0.8, 0.7), sum])),
        ["/engines/1/probability_distribution: the probabilities sum to 1.02, not to 1"]
    );
    assert_eq!(
        faults(json!([
            engine("a", 0.5, 0.8, 0.7),
            engine("b", 0.0, 0.8, 0.7)
        ])),
        [
            "/engines: an ensemble needs at least two engines with a weight and a confidence above 0; found 1"
        ]
    );
    assert!(serde_json::from_value::<Engine>(json!({ "name": "a", "weight": 1.5 })).is_err());
}
