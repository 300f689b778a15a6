use roundtable_engine::model::{Message, Speaker};

use super::*;

fn dollars(amount: f64) -> Money {
    Money::from_dollars(amount).unwrap()
}

/// About 1,000 tokens.
fn request() -> Request {
    Request {
        model: "x".into(),
        system: String::new(),
        messages: vec![Message {
            speaker: Speaker::User,
            text: "word".repeat(1_000),
            shared: false,
            tools: Vec::new(),
        }],
        images: Vec::new(),
        schema: None,
        tools: None,
        temperature: 0.0,
        max_output_tokens: 10,
        seed: 1,
    }
}

/// C-19: a prompt that just fits is sent, one token or cent less is refused, and so is an unknown price under a cost limit.
#[test]
fn c19_a_call_besides_a_debate_fits_into_what_is_left() {
    let refused = |tokens, cost, price| {
        let left = Budget {
            max_tokens: tokens,
            max_cost: cost,
            max_ms: None,
        };
        refusal(&left, price, &request())
    };
    assert_eq!(refused(None, None, None), None);
    assert_eq!(refused(Some(1_001), None, None), None);
    let why = refused(Some(1_000), None, None).unwrap();
    assert!(why.contains("needs about 1000, and 1000 are left"), "{why}");

    // One dollar for a thousand tokens.
    let price: Price =
        serde_json::from_str(r#"{ "input": 1000.0, "output": 0.0, "cached": 0.0 }"#).unwrap();
    assert_eq!(refused(None, Some(dollars(1.01)), Some(price)), None);
    let why = refused(None, Some(dollars(1.0)), Some(price)).unwrap();
    assert!(why.contains("$1.0000"), "{why}");
    let why = refused(None, Some(dollars(9.0)), None).unwrap();
    assert!(why.contains("the price of x is unknown"), "{why}");
}

#[test]
fn c19_what_a_debate_has_used_is_not_left() {
    let used = Totals {
        input_tokens: 300,
        output_tokens: 80,
        cost_usd: Some(dollars(0.25)),
        ..Totals::default()
    };
    let budget = Budget {
        max_tokens: Some(400),
        max_cost: Some(dollars(1.0)),
        max_ms: Some(5),
    };
    let left = left_of(budget, &used);
    let expected = Budget {
        max_tokens: Some(20),
        max_cost: Some(dollars(0.75)),
        max_ms: Some(5),
    };
    assert_eq!(left, expected);
    assert_eq!(left_of(Budget::default(), &used), Budget::default());
}
