//! The result of a whole forecast.

use std::collections::BTreeMap;

use super::*;
use crate::protocols::forecast::extras::AccuracyPool;
use crate::protocols::record;
use crate::scripted::snapshot;
use roundtable_core::forecast::{Distribution, Question, Seat};

/// F-03, F-15: 15 arguments, 15 scorings and one synthesis are 31 calls; the journal of a whole debate.
#[tokio::test]
async fn f15_a_whole_debate_takes_31_calls() {
    let (model, journal) = (good_model(), Arc::default());
    let result = played(&model, &journal).await;
    let mut counted: BTreeMap<String, usize> = BTreeMap::new();
    for name in model.asked() {
        *counted.entry(name).or_default() += 1;
    }
    let counted: Vec<_> = counted
        .iter()
        .map(|(name, count)| (name.as_str(), *count))
        .collect();
    assert_eq!(
        counted,
        [("argument", 15), ("forecast_synthesis", 1), ("scoring", 15)]
    );
    assert_eq!(result.metadata.sonnet_calls, 31);
    assert_eq!(result.metadata.total_arguments, 15);
    assert_eq!(result.roundtable.state, State::Complete);
    insta::assert_json_snapshot!(snapshot(&journal));
}

/// F-14, F-08, F-10, F-11: the whole result as other services get it.
#[tokio::test]
async fn f14_the_result_of_a_golden_request() {
    let result = played(&good_model(), &Arc::default()).await;
    let mut result = serde_json::to_value(result).unwrap();
    // The test's clock advances with every reading.
    result["metadata"]["wall_clock_time_ms"] = json!(0);
    result["roundtable"]["totals"] = Value::Null;
    insta::assert_json_snapshot!(result);
}

/// The contract as a JSON schema, written by hand.
fn contract() -> Value {
    let text = json!({ "type": "string" });
    let share = json!({ "type": "number", "minimum": 0, "maximum": 1 });
    let count = json!({ "type": "integer", "minimum": 0 });
    let list = |items: Value| json!({ "type": "array", "items": items });
    let object = |fields: Value| {
        let names: Vec<&String> = fields.as_object().unwrap().keys().collect();
        json!({ "type": "object", "properties": fields, "required": names, "additionalProperties": false })
    };
    let role = json!({ "enum": ["optimist", "pessimist", "contrarian", "historian", "judge"] });
    let argument = object(json!({
        "role": role, "argument": text, "outcome_supported": text, "evidence_cited": list(text.clone()),
        "scores": object(json!({ "logical_strength": share, "evidence_quality": share, "novelty": share, "composite": share })),
        "rebuts": list(role.clone()),
    }));
    let round = object(json!({
        "round_number": { "enum": [1, 2, 3] },
        "phase": { "enum": ["opening", "rebuttal", "closing"] },
        "arguments": list(argument),
        "round_summary": object(json!({
            "dominant_argument": role, "key_disagreements": list(text.clone()),
            "emerging_consensus": list(object(json!({ "outcome_id": text, "direction": { "enum": ["toward", "away"] } }))),
        })),
    }));
    let mut result = object(json!({
        "debate_id": text, "task_id": text, "completed_at": { "type": "string", "format": "date-time" },
        "debate_log": object(json!({ "rounds": list(round) })),
        "consensus_score": share,
        "disagreement_map": list(object(json!({
            "topic": text, "positions": list(object(json!({ "role": role, "stance": text, "strength": share }))),
            "resolved": { "type": "boolean" },
        }))),
        "probability_distribution": list(object(json!({
            "outcome_id": text, "probability": share,
            "role_assessments": list(object(json!({ "role": role, "probability": share, "confidence": share }))),
            "judge_probability": share, "consensus_probability": share,
        }))),
        "key_insights": list(object(json!({
            "insight": text, "source_role": role, "round": { "enum": [1, 2, 3] },
            "impact": { "enum": ["high", "medium", "low"] }, "affected_outcomes": list(text.clone()),
        }))),
        "historical_precedents": list(object(json!({
            "event": text, "date": text, "similarity_score": share, "outcome": text, "relevance": text,
        }))),
        "metadata": object(json!({
            "total_arguments": count, "sonnet_tokens_used": object(json!({ "input": count, "output": count })),
            "sonnet_calls": count, "wall_clock_time_ms": count, "model": text,
        })),
    }));
    // Our additions are under this key only.
    result["properties"]["roundtable"] = json!({ "type": "object" });
    result
}

/// F-01, F-14: the result has exactly the contract's fields.
#[tokio::test]
async fn f14_a_golden_result_fits_the_contract() {
    let journal = Arc::default();
    played(&good_model(), &journal).await;
    let result = record(
        "0c1f1a9e-6a5b-4f0e-9d3c-2b7f6f1d8a55",
        "then".into(),
        &entries(&journal),
    )
    .unwrap();
    let validator = jsonschema::validator_for(&contract()).unwrap();
    let faults: Vec<_> = validator
        .iter_errors(&result)
        .map(|fault| format!("{}: {fault}", fault.instance_path()))
        .collect();
    assert_eq!(faults, Vec::<String>::new());
    assert!(result["roundtable"]["accuracy_pool"]["probabilities"].is_array());
}

/// F-08, F-09: the probabilities of the golden debate, computed by hand.
#[tokio::test]
async fn f08_the_probability_is_the_weighted_mean_of_judge_and_consensus() {
    let result = played(&good_model(), &Arc::default()).await;
    // above: roles 0.1, 0.3, 0.1, 0.2, judge 0.2.
    let above = &result.probability_distribution[0];
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found}");
    close(above.consensus_probability, 0.18);
    close(above.judge_probability.unwrap(), 0.2);
    close(above.probability, 0.6 * 0.2 + 0.4 * 0.18);
    let sum: f64 = result
        .probability_distribution
        .iter()
        .map(|outcome| outcome.probability)
        .sum();
    close(sum, 1.0);
    let by_outcome = &result.roundtable.extras.consensus_by_outcome;
    let spread = (0.028_f64 / 5.0).sqrt();
    close(by_outcome["above"], 1.0 - spread / (6.0_f64.sqrt() / 5.0));
    let mean = by_outcome.values().sum::<f64>() / 3.0;
    close(result.consensus_score.unwrap(), mean);
}

/// F-09: of one role that is left there is no agreement to report.
#[tokio::test]
async fn f09_a_role_that_is_left_alone_agrees_with_nobody() {
    let model = Scripted::new(|request: &Request, _| {
        if name(request) == "argument" && who(request).0 != "optimist" {
            return Err(ModelError::Unreachable {
                detail: "gone".into(),
            });
        }
        Ok(good(request).to_string())
    });
    let result = played(&model, &Arc::default()).await;
    assert_eq!(result.roundtable.state, State::Partial);
    assert_eq!(result.consensus_score, None);
    assert!(result.roundtable.extras.consensus_by_outcome.is_empty());
    assert_eq!(result.probability_distribution.len(), 3);
}

/// F-02: a seat's output limit is sent as its cast states it; longer arguments raise it.
#[test]
fn f02_the_output_limit_of_a_seat_is_that_of_its_cast() {
    let mut cast = cast();
    cast.seats[0].max_output_tokens = 900;
    let limit_at = |length: Value| {
        let mut asked = request();
        asked["config"] = json!({ "max_argument_length": length });
        let setup = setup_with(&asked, &cast, Ability::Full);
        setup.seats[0].seat.max_output_tokens
    };
    let limits = [json!(100), json!(500), json!(501), json!(2000)].map(limit_at);
    assert_eq!(limits, [900, 900, 1002, 4000]);
}

/// F-10: a role has one position in a dispute; of several the first is kept.
#[tokio::test]
async fn f10_a_role_has_one_position_in_a_dispute() {
    let model = script(|request, mut reply| {
        if name(request) == "forecast_synthesis" {
            let again = json!({ "role": "pessimist", "stance": "And again", "strength": 0.2 });
            let positions = reply["disagreements"][0]["positions"].as_array_mut();
            positions.unwrap().push(again);
        }
        reply
    });
    let result = played(&model, &Arc::default()).await;
    let positions = result.disagreement_map[0].positions.iter();
    let positions: Vec<_> = positions
        .map(|position| (position.role.as_str(), position.stance.as_str()))
        .collect();
    assert_eq!(
        positions,
        [
            ("pessimist", "Second-round effects are coming"),
            ("historian", "They faded every time"),
        ]
    );
}

/// F-07: the dominant argument, and the outcomes that the roles moved toward.
#[tokio::test]
async fn f07_round_summaries_are_computed_from_scores_and_probabilities() {
    let model = script(|request, mut reply| {
        if name(request) == "scoring"
            && all_text(request).contains("The historian argues in round 2")
        {
            reply["scores"]["novelty"] = json!(0.9);
        }
        reply
    });
    let result = played(&model, &Arc::default()).await;
    let rounds = serde_json::to_value(&result.debate_log.rounds).unwrap();
    let summaries: Vec<_> = (0..3)
        .map(|index| rounds[index]["round_summary"].clone())
        .collect();
    assert_eq!(
        json!(summaries),
        json!([
            { "dominant_argument": "optimist", "key_disagreements": ["Whether wages keep rising"], "emerging_consensus": [] },
            { "dominant_argument": "historian", "key_disagreements": ["How long energy shocks last"], "emerging_consensus": [
                { "outcome_id": "above", "direction": "away" },
                { "outcome_id": "within", "direction": "toward" },
                { "outcome_id": "below", "direction": "away" },
            ] },
            { "dominant_argument": "optimist", "key_disagreements": [], "emerging_consensus": [
                { "outcome_id": "above", "direction": "away" },
                { "outcome_id": "within", "direction": "toward" },
            ] },
        ])
    );
}

/// C-17: the blind first round compared with the debated forecast, with their costs.
#[tokio::test]
async fn c17_the_result_says_what_the_debate_was_worth() {
    let result = played(&good_model(), &Arc::default()).await;
    let worth = result.roundtable.extras.worth.unwrap();
    let blind: Vec<_> = worth
        .blind
        .probabilities
        .iter()
        .map(|probability| probability.probability.value())
        .collect();
    let expected = [0.24, 0.45, 0.31];
    assert!(
        blind
            .iter()
            .zip(expected)
            .all(|(a, b)| (a - b).abs() < 1e-9),
        "{blind:?}"
    );
    assert_eq!((worth.blind.calls, worth.blind.tokens), (5, 600));
    assert_eq!((worth.debated.calls, worth.debated.tokens), (31, 31 * 120));
    assert!(!worth.changed_the_likeliest);
}

/// B-09: the accuracy pool has equal weights without history; with it, it is the pool of what resolved before.
#[tokio::test]
async fn b09_a_live_forecast_is_pooled_with_what_has_resolved() {
    let plain = played(&good_model(), &Arc::default()).await;
    let pool = plain.roundtable.extras.accuracy_pool.unwrap();
    assert!(
        pool.weights
            .iter()
            .all(|weight| (weight.weight - 0.2).abs() < 1e-12)
    );
    // The contrarian was right 20 times, about the outcome that the others found unlikely.
    let seen = |role: &str, values: [f64; 3]| {
        let seat = Seat {
            agent: "test:scripted".into(),
            group: Some(role.into()),
        };
        (seat, Distribution::normalised(&values).unwrap())
    };
    let question = |number: i64| Question {
        id: number.to_string(),
        domain: Some("economy".into()),
        cluster: number.to_string(),
        forecasts: vec![
            seen("contrarian", [0.1, 0.2, 0.7]),
            seen("optimist", [0.2, 0.6, 0.2]),
            seen("judge", [0.3, 0.5, 0.2]),
        ],
        forecast_at: 1,
        resolved_at: 5,
        outcome: 2,
    };
    let history: Vec<Question> = (0..20).map(question).collect();
    let before = |history| ForecastContext {
        history,
        now: 10,
        ..ForecastContext::default()
    };
    // Questions that resolve now are not known yet.
    let late = history.iter().map(|question| Question {
        resolved_at: 10,
        ..question.clone()
    });
    let planned = plan(&request(), &cast(), before(late.collect())).unwrap();
    assert_eq!(planned.rules.learned.unwrap().questions, 0);
    let planned = plan(&request(), &cast(), before(history.clone())).unwrap();
    let setup = Setup {
        rules: json!(planned.rules),
        ..setup_of(&request())
    };
    let learned = played_with(&good_model(), &Arc::default(), setup, Budget::default()).await;
    let learned_pool = learned.roundtable.extras.accuracy_pool.unwrap();
    let below = |pool: &AccuracyPool| pool.probabilities[2].probability.value();
    assert!(
        below(&learned_pool) > below(&pool),
        "the contrarian counts more"
    );
    // Exactly the pool of the whole state.
    let latest = &learned.roundtable.extras.arguments[10..];
    let panel: Vec<_> = latest
        .iter()
        .map(|argument| {
            let values = argument.probabilities.iter();
            let values: Vec<f64> = values.map(|outcome| outcome.probability.value()).collect();
            let seat = Seat {
                agent: "test:scripted".into(),
                group: Some(argument.role.clone()),
            };
            (seat, Distribution::normalised(&values).unwrap())
        })
        .collect();
    let panel: Vec<_> = panel.iter().map(|(seat, own)| (seat, own)).collect();
    let expected = roundtable_core::forecast::learned(&history, 10).unwrap();
    let expected = expected.pool(&panel, Some("economy")).unwrap();
    for (found, expected) in learned_pool.probabilities.iter().zip(expected.values()) {
        assert!((found.probability.value() - expected).abs() < 1e-12);
    }
    let skill = |role: &str| {
        let mut weights = learned_pool.weights.iter();
        let weight = weights.find(|weight| weight.role == role).unwrap();
        (weight.skill.unwrap(), weight.questions)
    };
    assert!(skill("contrarian").0 < -0.1 && skill("contrarian").1 == 20);
    let (historian, questions) = skill("historian");
    assert!(historian.abs() < 1e-12 && questions == 0);
    assert_eq!(
        learned.probability_distribution,
        plain.probability_distribution
    );
}

/// B-10: with copies of one model, another round is not known to be worth anything; with a price the forecast ends at once.
#[tokio::test]
async fn b10_a_forecast_stops_when_movement_is_not_worth_it() {
    for (max_price, family, rounds, reason) in [
        (None, ["one", "one"], 3, "played"),
        (Some(100.0), ["one", "one"], 1, "value"),
        (Some(100.0), ["one", "two"], 3, "played"),
    ] {
        let (model, journal) = (good_model(), Arc::<MemoryJournal>::default());
        let mut setup = setup_of(&request());
        setup.rules["value"] = json!({ "max_price": max_price });
        for (seated, family) in setup.seats.iter_mut().zip(family.into_iter().cycle()) {
            seated.family = Some(family.to_owned());
        }
        let deps = forecast_deps(&model, &setup, Arc::clone(&journal) as Arc<dyn Journal>);
        let table = Table::open(setup, Budget::default(), deps).await.unwrap();
        let end = play(&table, &Forecast).await.unwrap();
        assert_eq!(
            (end.state, end.stop_reason()),
            (State::Complete, Some(reason))
        );
        let result = DebateResult::of("id", "then".into(), &entries(&journal)).unwrap();
        assert_eq!(result.debate_log.rounds.len(), rounds);
        let values = crate::round_value::of_journal(&entries(&journal));
        assert_eq!(values.len(), rounds);
        assert_eq!(values[0].1.stops, reason == "value");
    }
}
