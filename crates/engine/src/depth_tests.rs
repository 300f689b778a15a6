use serde_json::{Value, json};

use super::*;
use crate::event::Setup;
use crate::protocol::AnyProtocol;
use crate::protocols::{Councils, Dialectic, Forecast, Modes, Panel};
use crate::scripted::{rules_at, setup};

/// Each protocol with the least input that it needs.
fn protocols() -> [(&'static dyn AnyProtocol, Value); 5] {
    [
        (&Dialectic, json!({})),
        (&Councils, json!({})),
        (&Forecast, json!({ "outcomes": ["Yes", "No"] })),
        (&Modes, json!({})),
        (&Panel, json!({})),
    ]
}

/// The fields of the rules that a depth may set.
fn fields(rules: &Value) -> Value {
    let names = [
        "min_rounds",
        "max_rounds",
        "rounds",
        "early_stop_score",
        "auto_score",
        "mode",
        "full",
        "ranks",
        "is_scored",
        "brief",
        "escalation",
    ];
    let fields = names.iter().filter_map(|name| {
        let value = rules.get(*name).filter(|value| !value.is_object())?;
        Some(((*name).to_owned(), value.clone()))
    });
    Value::Object(fields.collect())
}

#[test]
fn names_and_depths_correspond() {
    for depth in Depth::ALL {
        assert_eq!(Depth::named(depth.name()), Some(depth));
        assert_eq!(json!(depth), json!(depth.name()));
    }
    assert_eq!(Depth::named("shallow"), None);
}

/// B-13: what each depth means for each protocol.
#[test]
fn b13_every_protocol_says_what_a_depth_means() {
    let table = protocols().map(|(protocol, input)| {
        let at = |depth| fields(&rules_at(protocol, depth, input.clone(), "Why?"));
        json!([
            protocol.name(),
            at(Depth::Quick),
            at(Depth::Normal),
            at(Depth::Deep)
        ])
    });
    insta::assert_json_snapshot!(table);
}

/// B-13: what the caller sets wins over the depth.
#[test]
fn b13_explicit_rules_win() {
    let cases: [(&dyn AnyProtocol, Value, Depth, Value); 6] = [
        (
            &Dialectic,
            json!({ "max_rounds": 3, "min_rounds": 2, "auto_score": true }),
            Depth::Quick,
            json!({ "min_rounds": 2, "max_rounds": 3, "auto_score": true }),
        ),
        // The configured minimum of 3 fits; the depth's own minimum of 4 would not.
        (
            &Dialectic,
            json!({ "max_rounds": 3 }),
            Depth::Deep,
            json!({ "min_rounds": 3, "max_rounds": 3 }),
        ),
        (
            &Forecast,
            json!({ "outcomes": ["Yes", "No"], "rounds": 2, "score": true }),
            Depth::Quick,
            json!({ "rounds": 2 }),
        ),
        (
            &Modes,
            json!({ "max_rounds": 3, "brief": false }),
            Depth::Quick,
            json!({ "max_rounds": 3, "escalation": "never" }),
        ),
        (
            &Panel,
            json!({ "full": true }),
            Depth::Quick,
            json!({ "full": true }),
        ),
        (
            &Councils,
            json!({ "mode": "fast" }),
            Depth::Quick,
            json!({ "mode": "fast" }),
        ),
    ];
    for (protocol, input, depth, expected) in cases {
        let rules = fields(&rules_at(protocol, depth, input, "Why?"));
        for (field, value) in expected.as_object().unwrap() {
            assert_eq!(
                rules.get(field),
                Some(value),
                "{}: {rules}",
                protocol.name()
            );
        }
        assert!(rules.get("brief").is_none() && rules.get("is_scored").is_none());
    }
}

/// B-13: a debate of normal depth is stored as in versions without depths, and one of those has normal depth.
#[test]
fn b13_normal_depth_is_not_stored() {
    let mut setup = setup("Why?");
    let stored = json!(setup);
    assert!(stored.get("depth").is_none(), "{stored}");
    assert_eq!(serde_json::from_value::<Setup>(stored).unwrap(), setup);
    setup.depth = Depth::Quick;
    assert_eq!(json!(setup)["depth"], "quick");
}

/// B-13: a whole forecast request keeps its own number of rounds.
#[test]
fn b13_a_whole_request_keeps_its_rounds() {
    let request = |config: Value| {
        json!({ "request": {
            "task_id": "t",
            "prediction_context": {
                "task": { "raw_query": "Why?" },
                "outcomes": [{ "id": "a", "label": "A" }, { "id": "b", "label": "B" }],
            },
            "config": config,
        } })
    };
    let rounds = |config| rules_at(&Forecast, Depth::Quick, request(config), "")["rounds"].clone();
    assert_eq!(rounds(json!({ "rounds": 4 })), 4);
    assert_eq!(rounds(json!({})), 1);
}
