use roundtable_engine::model::{Message, Schema, Speaker};
use serde_json::{Value, json};

use super::super::test_support::{drain, registry_from};
use super::question::{find, options};
use super::*;

fn request(texts: &[&str], schema: Option<Value>, seed: u64) -> Request {
    let message = |text: &&str| Message {
        speaker: Speaker::User,
        text: (*text).to_owned(),
        shared: false,
        tools: Vec::new(),
    };
    Request {
        model: "a".to_owned(),
        system: "You answer.".to_owned(),
        messages: texts.iter().map(message).collect(),
        images: Vec::new(),
        schema: schema.map(|json| Schema {
            name: "reply".to_owned(),
            json: std::sync::Arc::new(json.into()),
        }),
        tools: None,
        temperature: 0.7,
        max_output_tokens: 1000,
        seed,
    }
}

fn model(name: &str, settings: Simulation) -> SimulatedModel {
    SimulatedModel::new(&ModelName::new("simulated", name), settings)
}

fn position_schema() -> Value {
    json!({ "type": "object", "properties": {
        "position": { "type": "string", "maxLength": 80 },
        "confidence": { "type": "number", "minimum": 0, "maximum": 1 },
    } })
}

fn reply(model: &SimulatedModel, texts: &[&str], seed: u64) -> Value {
    let (text, ..) = model.reply(&request(texts, Some(position_schema()), seed));
    serde_json::from_str(&text).unwrap()
}

const QUESTION: &str = "## Question\n\nWhich one is prime?\n(A) 12\n(B) 13\n(C) 14\n(D) 15";

#[test]
fn b17_a_question_names_its_answers() {
    for (question, expected) in [
        ("Which?\n(A) one\n(B) two\n(C) three", vec!["A", "B", "C"]),
        ("Which?\nA. one\nB. two", vec!["A", "B"]),
        ("Which?\n1) one\n2) two", vec!["1", "2"]),
        (
            "Which?\n- use a queue now\n- wait",
            vec!["use a queue now", "wait"],
        ),
        (
            "We have three teams. Should we merge them?",
            vec!["Yes", "No"],
        ),
        ("Is it late?", vec!["Yes", "No"]),
    ] {
        assert_eq!(options(question), expected, "{question}");
    }
    let general = options("How do we grow? See:\n(A) alone");
    assert_eq!(general.len(), 4);
    assert_eq!(options("Should we buy or build?"), general);
    assert_eq!(options(""), general);
}

#[test]
fn b17_the_question_is_found_in_every_prompt() {
    let found = |texts: &[&'static str]| find(texts.iter().copied());
    assert_eq!(found(&["## Question\n\nWhy?\n\n## Focus\n\nx"]), "Why?");
    assert_eq!(
        found(&["intro", "Question: Why?\nOutcomes, exactly"]),
        "Why?"
    );
    assert_eq!(found(&["Why?"]), "Why?");
    assert_eq!(found(&[]), "");
}

/// B-17: seats are right as often as the settings say, counted by the option that is drawn most often at the highest accuracy.
#[test]
fn b17_the_accuracy_decides_how_often_seats_are_right() {
    let share = |accuracy: f64| {
        let settings = Simulation {
            accuracy,
            ..Simulation::default()
        };
        let model = model("a", settings);
        let oracle = model_with(0.98);
        let right = (0..300).filter(|number| {
            let text = format!("## Question\n\nCase {number}?\n(A) 1\n(B) 2\n(C) 3\n(D) 4");
            let own = reply(&model, &[&text], 3)["position"].clone();
            own == most_frequent(&oracle, &text)
        });
        right.count()
    };
    let (low, high) = (share(0.3), share(0.9));
    assert!((60..130).contains(&low), "{low}");
    assert!((235..300).contains(&high), "{high}");
}

fn model_with(accuracy: f64) -> SimulatedModel {
    model(
        "oracle",
        Simulation {
            accuracy,
            ..Simulation::default()
        },
    )
}

fn most_frequent(model: &SimulatedModel, text: &str) -> Value {
    let mut counts: std::collections::BTreeMap<String, usize> = std::collections::BTreeMap::new();
    for seed in 0..9 {
        *counts
            .entry(reply(model, &[text], seed)["position"].to_string())
            .or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count).unwrap();
    serde_json::from_str(&most.0).unwrap()
}

#[test]
fn b17_the_same_seed_gives_the_same_reply() {
    let model = model("a", Simulation::default());
    let one = |seed| {
        model
            .reply(&request(&[QUESTION], Some(position_schema()), seed))
            .0
    };
    assert_eq!(one(3), one(3));
    assert!((0..20).any(|seed| one(seed) != one(3)));
    let other = SimulatedModel::new(
        &ModelName::new("simulated", "a"),
        Simulation {
            seed: 1,
            ..Simulation::default()
        },
    );
    let of_other = |seed| {
        other
            .reply(&request(&[QUESTION], Some(position_schema()), seed))
            .0
    };
    assert!((0..20).any(|seed| of_other(seed) != one(seed)));
}

/// B-17: a seat that reads others adopts their answer as the rule says, and a stubborn one does not.
#[test]
fn b17_seats_read_each_other() {
    let others = format!(
        "{QUESTION}\n\n## The previous round\n\n{}\n{}\n{}",
        opinion::sentence("B"),
        opinion::sentence("B"),
        opinion::sentence("B")
    );
    let mine = format!(
        "Your own position in the last round:\n\n{}",
        opinion::sentence("C")
    );
    let adopted = |settings: Simulation| {
        let model = model("a", settings);
        let replies = (0..200).map(|seed| reply(&model, &[&others, &mine], seed));
        let texts = replies.map(|reply| reply["position"].clone());
        let (mut b, mut c) = (0, 0);
        for text in texts {
            b += usize::from(text == "The answer is B.");
            c += usize::from(text == "The answer is C.");
        }
        (b, c)
    };
    let (b, c) = adopted(Simulation::default());
    assert!(b > 60 && c > 10, "{b} {c}");
    let (b, c) = adopted(Simulation {
        stubbornness: 9.0,
        ..Simulation::default()
    });
    assert!(b < 30 && c > 120, "{b} {c}");
}

/// B-17: a sure seat is sure, an overconfident one surer.
#[test]
fn b17_confidence_is_that_of_the_answer() {
    let confidence = |overconfidence| {
        let model = model(
            "a",
            Simulation {
                overconfidence,
                ..Simulation::default()
            },
        );
        reply(&model, &[QUESTION], 3)["confidence"]
            .as_f64()
            .unwrap()
    };
    assert!(confidence(1.0) > confidence(0.0));
    assert!((0.05..=0.99).contains(&confidence(9.0)));
    assert!((0.05..=0.99).contains(&confidence(-9.0)));
}

/// B-17: schemas are filled within their limits, with one item for each value.
#[test]
fn b17_a_reply_fits_its_schema() {
    let schema = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "text": { "type": "string", "minLength": 1, "maxLength": 10 },
            "score": { "type": "integer", "minimum": 1, "maximum": 10 },
            "ok": { "type": "boolean" },
            "blocker": { "type": ["string", "null"] },
            "url": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
            "level": { "oneOf": [{ "const": "low", "description": "a" }, { "const": "high" }] },
            "verdicts": { "type": "array", "items": { "type": "object", "properties": {
                "issue": { "type": "string", "enum": ["i1", "i2", "i3"] },
                "status": { "type": "string", "enum": ["open", "resolved"] },
            }, "required": ["issue", "status"] } },
            "none": { "type": "array", "maxItems": 0, "items": { "type": "string" } },
            "ranking": { "type": "array", "minItems": 2, "maxItems": 2, "items": { "type": "object", "properties": {
                "answer": { "type": "string", "enum": ["A", "B"] },
            } } },
            "probabilities": { "type": "object", "additionalProperties": false, "properties": {
                "yes": { "type": "number", "minimum": 0, "maximum": 1 },
                "no": { "type": "number", "minimum": 0, "maximum": 1 },
            } },
        },
    });
    let validator = jsonschema::validator_for(&schema).unwrap();
    let model = model("a", Simulation::default());
    for seed in 0..50 {
        let request = request(&[QUESTION], Some(schema.clone()), seed);
        let reply: Value = serde_json::from_str(&model.reply(&request).0).unwrap();
        let faults: Vec<String> = validator
            .iter_errors(&reply)
            .map(|fault| fault.to_string())
            .collect();
        assert!(faults.is_empty(), "{faults:?} in {reply}");
        let issues: Vec<&Value> = reply["verdicts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| &one["issue"])
            .collect();
        assert_eq!(issues, ["i1", "i2", "i3"]);
        let mut ranked: Vec<&str> = reply["ranking"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|one| one["answer"].as_str())
            .collect();
        ranked.sort_unstable();
        assert_eq!(ranked, ["A", "B"]);
        let sum = reply["probabilities"]["yes"].as_f64().unwrap()
            + reply["probabilities"]["no"].as_f64().unwrap();
        assert!((sum - 1.0).abs() < 1e-9);
    }
}

/// B-17: every call says that it is simulated, counts tokens, and is cut at its limit.
#[tokio::test]
async fn b17_a_call_has_a_notice_usage_and_an_end() {
    let model = model("a", Simulation::default());
    let (deltas, error) = drain(&model, request(&[QUESTION], None, 3)).await;
    assert_eq!(error, None);
    let [
        Delta::Notice(notice),
        Delta::Text(text),
        Delta::Usage(usage),
        Delta::Finish(Finish::Stop),
    ] = deltas.as_slice()
    else {
        panic!("{deltas:?}");
    };
    assert!(notice.contains("simulated:a is simulated"), "{notice}");
    assert_eq!(usage.output, text.len().div_ceil(4) as u64);
    let cut = Request {
        max_output_tokens: 2,
        ..request(&[QUESTION], None, 3)
    };
    let (deltas, _) = drain(&model, cut).await;
    assert!(
        deltas.contains(&Delta::Text(text.chars().take(8).collect())),
        "{deltas:?}"
    );
    assert_eq!(deltas.last(), Some(&Delta::Finish(Finish::Length)));
}

/// B-17: at a given speed the reply comes in pieces, after the latency.
#[tokio::test(start_paused = true)]
async fn b17_latency_and_speed_are_those_of_the_settings() {
    let started = tokio::time::Instant::now();
    let settings = Simulation {
        latency: Duration::from_secs(2),
        tokens_per_second: 10.0,
        ..Simulation::default()
    };
    let slow = model("a", settings);
    let (text, ..) = slow.reply(&request(&[QUESTION], None, 3));
    drain(&slow, request(&[QUESTION], None, 3)).await;
    let seconds = started.elapsed().as_secs_f64();
    let tokens = u32::try_from(text.len().div_ceil(4)).unwrap();
    let expected = 2.0 + f64::from(tokens) / 10.0;
    assert!(
        (seconds - expected).abs() < 0.5,
        "{seconds}, not {expected}"
    );
}

/// B-17: provider and settings come from the configuration, and the built-in one needs none.
#[test]
fn b17_simulated_models_are_free_and_need_no_configuration() {
    let registry = registry_from("[providers.weak]\nkind = \"simulated\"\naccuracy = 0.3\n");
    for name in ["weak:x", "simulated:x"] {
        let name = registry.config().model_name(name).unwrap();
        assert!(registry.model(&name).is_ok(), "{name}");
        assert_eq!(
            registry.price(&name),
            Some(roundtable_core::usage::Price::FREE)
        );
        assert!(registry.embedder(&name).is_err());
    }
    let weak = &registry.config().providers["weak"];
    assert!((weak.simulation.unwrap().accuracy - 0.3).abs() < 1e-9);
}
