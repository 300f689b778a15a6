use super::*;

fn rewritten(probabilities: Value, confidence: Value) -> Value {
    let fields = [("probabilities", probabilities), ("confidence", confidence)];
    let fields = fields.map(|(name, value)| (name.to_owned(), value));
    let mut reply: Value = fields.into_iter().collect();
    rewrite(&mut reply);
    reply
}

/// F-08: percentages are understood if they sum to 100, both sides of the tolerance.
#[test]
fn f08_percentages_are_converted_if_they_sum_to_a_hundred() {
    assert_eq!(
        rewritten(json!({ "a": 70, "b": 20, "c": 10 }), json!(80)),
        json!({ "probabilities": { "a": 0.7, "b": 0.2, "c": 0.1 }, "confidence": 0.8 })
    );
    assert_eq!(
        rewritten(json!({ "a": "70%", "b": " 30 % " }), json!("60%")),
        json!({ "probabilities": { "a": 0.7, "b": 0.3 }, "confidence": 0.6 })
    );
    assert_eq!(
        rewritten(json!({ "a": 99, "b": 0 }), json!(0.7)),
        json!({ "probabilities": { "a": 0.99, "b": 0.0 }, "confidence": 0.7 })
    );
    for unclear in [
        json!({ "a": 98.9, "b": 0 }),
        json!({ "a": 60, "b": 41.1 }),
        json!({ "a": 110, "b": -10 }),
        json!({ "a": 0.7, "b": 0.3 }),
        json!({ "a": 60, "b": "much" }),
        json!({ "a": 60, "b": "40" }),
        json!([60, 40]),
    ] {
        let expected = json!({ "probabilities": unclear, "confidence": 80 });
        assert_eq!(rewritten(unclear, json!(80)), expected);
    }
}

#[test]
fn f08_other_replies_are_left_alone() {
    for reply in [json!({}), json!([1]), json!({ "probabilities": null })] {
        let mut same = reply.clone();
        rewrite(&mut same);
        assert_eq!(same, reply);
    }
}
