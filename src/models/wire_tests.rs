use super::*;

const OPTIONAL: &[(&str, Concession)] = &[
    ("temperature", Concession::Temperature),
    ("seed", Concession::Seed),
    ("max_tokens", Concession::OtherLimitName),
    ("max_tokens", Concession::NoLimit),
];

#[test]
fn a_refusal_costs_what_it_names_and_only_once() {
    let none = Concessions::default();
    let temperature = none.with(Concession::Temperature);
    let says = "Unsupported value: 'temperature' does not support 0.7 with this model.";
    assert_eq!(Some(temperature), none.after(says, OPTIONAL));
    assert_eq!(None, temperature.after(says, OPTIONAL));
    assert_eq!(None, none.after("the seeds of doubt", OPTIONAL));
}

#[test]
fn a_limit_is_renamed_first_and_dropped_next_but_dropped_at_once_if_too_large() {
    let none = Concessions::default();
    let renamed = none.with(Concession::OtherLimitName);
    let unsupported = "Unsupported parameter: 'max_tokens' is not supported with this model.";
    assert_eq!(Some(renamed), none.after(unsupported, OPTIONAL));
    assert_eq!(
        Some(renamed.with(Concession::NoLimit)),
        renamed.after(unsupported, OPTIONAL)
    );
    let too_large = "max_tokens is too large: 100000. This model supports at most 16384.";
    assert_eq!(
        Some(none.with(Concession::NoLimit)),
        none.after(too_large, OPTIONAL)
    );
}

#[test]
fn names_that_providers_would_refuse_are_made_plain() {
    assert_eq!("critique-1", plain_name("critique-1"));
    assert_eq!("r_sum__", plain_name("résumé "));
    assert_eq!("reply", plain_name(""));
    assert_eq!(64, plain_name(&"x".repeat(99)).len());
}

/// C-07: frames that are JSON of any shape, and those of real servers with one value changed.
mod anything {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use crate::models::anthropic::Anthropic;
    use crate::models::gemini::Gemini;
    use crate::models::ollama::Ollama;
    use crate::models::openai::OpenAi;
    use crate::models::testing::plain_request;
    use crate::models::wire::{Progress, Wire};

    fn leaf() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(|it| json!(it)),
            any::<String>().prop_map(Value::from),
            Just(json!([])),
            Just(json!({})),
            Just(json!([null, {}, [[]]])),
        ]
    }

    fn real() -> Vec<Value> {
        vec![
            json!({ "choices": [{ "index": 0, "delta": { "content": "a", "reasoning_content": "b", "tool_calls": [{ "index": 0, "id": "c", "function": { "name": "f", "arguments": "{}" } }] }, "finish_reason": "stop" }], "usage": { "prompt_tokens": 1, "completion_tokens": 2, "prompt_tokens_details": { "cached_tokens": 1 } } }),
            json!({ "type": "message_start", "message": { "usage": { "input_tokens": 1, "cache_read_input_tokens": 1 } } }),
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "tool_use", "id": "x", "name": "f", "input": {} } }),
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "a" } }),
            json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 2 } }),
            json!({ "candidates": [{ "content": { "parts": [{ "text": "a", "thought": false }] }, "finishReason": "STOP" }], "usageMetadata": { "promptTokenCount": 1, "candidatesTokenCount": 2 } }),
            json!({ "model": "m", "message": { "role": "assistant", "content": "a", "thinking": "b", "tool_calls": [{ "function": { "name": "f", "arguments": {} } }] }, "done": true, "done_reason": "stop", "prompt_eval_count": 1, "eval_count": 2 }),
            json!({ "error": { "message": "no", "type": "overloaded_error", "code": 500 } }),
        ]
    }

    fn replace(value: &mut Value, nth: &mut usize, with: &Value) -> bool {
        if *nth == 0 {
            value.clone_from(with);
            return true;
        }
        *nth -= 1;
        match value {
            Value::Array(items) => items.iter_mut().any(|it| replace(it, nth, with)),
            Value::Object(fields) => fields.values_mut().any(|it| replace(it, nth, with)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }

    proptest! {
        #[test]
        fn c07_any_frame_is_read_or_refused(
            frames in prop::collection::vec((any::<prop::sample::Index>(), prop::option::of((0..24_usize, leaf())), 0..200_usize), 1..12),
        ) {
            let real = real();
            let wires: [Box<dyn Wire>; 4] = [
                Box::new(OpenAi { official: false }),
                Box::new(Anthropic),
                Box::new(Gemini),
                Box::new(Ollama::default()),
            ];
            for wire in &wires {
                let mut progress = Progress::of(&plain_request("m"));
                for (which, change, cut) in &frames {
                    let mut frame = real[which.index(real.len())].clone();
                    if let Some((nth, with)) = change {
                        replace(&mut frame, &mut nth.clone(), with);
                    }
                    let mut bytes = frame.to_string().into_bytes();
                    if *cut < 20 {
                        bytes.truncate(*cut);
                    }
                    let _ = wire.read(&bytes, &mut progress);
                }
                progress.hand_over_calls();
            }
        }
    }
}
