use super::*;

const ADJUSTABLE: &[(&str, Adjustment)] = &[
    ("temperature", Adjustment::OmitTemperature),
    ("seed", Adjustment::OmitSeed),
    ("max_tokens", Adjustment::AlternativeLimitName),
    ("max_tokens", Adjustment::OmitLimit),
];

#[test]
fn a_rejection_removes_the_parameter_that_it_names_once() {
    let none = Adjustments::default();
    let temperature = none.with(Adjustment::OmitTemperature);
    let says = "Unsupported value: 'temperature' does not support 0.7 with this model.";
    assert_eq!(Some(temperature), none.after(says, ADJUSTABLE));
    assert_eq!(None, temperature.after(says, ADJUSTABLE));
    assert_eq!(None, none.after("the seeds of doubt", ADJUSTABLE));
}

#[test]
fn a_limit_is_first_renamed_then_omitted_but_omitted_at_once_if_too_large() {
    let none = Adjustments::default();
    let renamed = none.with(Adjustment::AlternativeLimitName);
    let unsupported = "Unsupported parameter: 'max_tokens' is not supported with this model.";
    assert_eq!(Some(renamed), none.after(unsupported, ADJUSTABLE));
    assert_eq!(
        Some(renamed.with(Adjustment::OmitLimit)),
        renamed.after(unsupported, ADJUSTABLE)
    );
    let too_large = "max_tokens is too large: 100000. This model supports at most 16384.";
    assert_eq!(
        Some(none.with(Adjustment::OmitLimit)),
        none.after(too_large, ADJUSTABLE)
    );
}

#[test]
fn names_that_providers_reject_are_sanitized() {
    assert_eq!("critique-1", sanitize_name("critique-1"));
    assert_eq!("r_sum__", sanitize_name("résumé "));
    assert_eq!("reply", sanitize_name(""));
    assert_eq!(64, sanitize_name(&"x".repeat(99)).len());
}

/// C-07: frames of real servers, with one value replaced by arbitrary JSON, or truncated.
mod anything {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use crate::models::anthropic::Anthropic;
    use crate::models::gemini::Gemini;
    use crate::models::ollama::Ollama;
    use crate::models::openai::OpenAi;
    use crate::models::test_support::plain_request;
    use crate::models::wire::{Progress, WireFormat};

    fn leaf() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(|number| json!(number)),
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
            Value::Array(items) => items.iter_mut().any(|item| replace(item, nth, with)),
            Value::Object(fields) => fields.values_mut().any(|value| replace(value, nth, with)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }

    proptest! {
        #[test]
        fn c07_no_frame_causes_a_panic(
            frames in prop::collection::vec((any::<prop::sample::Index>(), prop::option::of((0..24_usize, leaf())), 0..200_usize), 1..12),
        ) {
            let real = real();
            let wires: [Box<dyn WireFormat>; 4] = [
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
                progress.flush_calls();
            }
        }
    }
}
