//! Pictures in each provider's form. They go before the words of the user's first message, where caches find them again.

use roundtable_engine::model::Image;
use serde_json::{Value, json};

/// The chat completions format: content in parts, pictures as data addresses.
pub(super) fn in_chat(body: Vec<u8>, images: &[Image]) -> Vec<u8> {
    with_first(body, images, "messages", |turn| {
        let words = turn["content"].take();
        let address = |image: &Image| format!("data:{};base64,{}", image.media_type, image.data);
        let mut parts: Vec<Value> = images
            .iter()
            .map(|image| json!({ "type": "image_url", "image_url": { "url": address(image) } }))
            .collect();
        parts.push(json!({ "type": "text", "text": words }));
        turn["content"] = json!(parts);
    })
}

/// Anthropic's: blocks of content.
pub(super) fn in_blocks(body: Vec<u8>, images: &[Image]) -> Vec<u8> {
    with_first(body, images, "messages", |turn| {
        put_first(
            &mut turn["content"],
            images,
            |image| json!({ "type": "image", "source": { "type": "base64", "media_type": image.media_type, "data": image.data } }),
        );
    })
}

/// Gemini's: parts with inline data.
pub(super) fn in_parts(body: Vec<u8>, images: &[Image]) -> Vec<u8> {
    with_first(body, images, "contents", |turn| {
        put_first(
            &mut turn["parts"],
            images,
            |image| json!({ "inlineData": { "mimeType": image.media_type, "data": image.data } }),
        );
    })
}

/// Ollama's: a list beside the words.
pub(super) fn beside(body: Vec<u8>, images: &[Image]) -> Vec<u8> {
    with_first(body, images, "messages", |turn| {
        let data: Vec<&str> = images.iter().map(|image| image.data.as_ref()).collect();
        turn["images"] = json!(data);
    })
}

/// Changes the user's first message. Without pictures the body stays as it is.
fn with_first(
    body: Vec<u8>,
    images: &[Image],
    list: &str,
    change: impl FnOnce(&mut Value),
) -> Vec<u8> {
    if images.is_empty() {
        return body;
    }
    let Ok(mut value) = serde_json::from_slice::<Value>(&body) else {
        return body;
    };
    let turns = value[list].as_array_mut();
    let first = turns.and_then(|turns| turns.iter_mut().find(|turn| turn["role"] == "user"));
    match first {
        Some(turn) => change(turn),
        None => return body,
    }
    super::wire::json(&value)
}

fn put_first(list: &mut Value, images: &[Image], form: impl Fn(&Image) -> Value) {
    if let Some(list) = list.as_array_mut() {
        list.splice(0..0, images.iter().map(form));
    }
}

#[cfg(test)]
#[path = "pictures_tests.rs"]
mod tests;
