//! Adds images to request bodies, in each provider's format. They precede the text of the first user message, so that
//! prompt caches hit.

use roundtable_engine::model::Image;
use serde_json::{Value, json};

/// Chat completions: content parts, images as data URLs.
pub(super) fn add_to_openai(body: Vec<u8>, images: &[Image]) -> Vec<u8> {
    edit_first_user_message(body, images, "messages", |turn| {
        let text = turn["content"].take();
        let url = |image: &Image| format!("data:{};base64,{}", image.media_type, image.data);
        let mut parts: Vec<Value> = images
            .iter()
            .map(|image| json!({ "type": "image_url", "image_url": { "url": url(image) } }))
            .collect();
        parts.push(json!({ "type": "text", "text": text }));
        turn["content"] = json!(parts);
    })
}

/// Content blocks.
pub(super) fn add_to_anthropic(body: Vec<u8>, images: &[Image]) -> Vec<u8> {
    edit_first_user_message(body, images, "messages", |turn| {
        prepend(
            &mut turn["content"],
            images,
            |image| json!({ "type": "image", "source": { "type": "base64", "media_type": image.media_type, "data": image.data } }),
        );
    })
}

/// Parts with inline data.
pub(super) fn add_to_gemini(body: Vec<u8>, images: &[Image]) -> Vec<u8> {
    edit_first_user_message(body, images, "contents", |turn| {
        prepend(
            &mut turn["parts"],
            images,
            |image| json!({ "inlineData": { "mimeType": image.media_type, "data": image.data } }),
        );
    })
}

/// A list next to the text.
pub(super) fn add_to_ollama(body: Vec<u8>, images: &[Image]) -> Vec<u8> {
    edit_first_user_message(body, images, "messages", |turn| {
        let data: Vec<&str> = images.iter().map(|image| image.data.as_ref()).collect();
        turn["images"] = json!(data);
    })
}

/// Without images the body is not changed.
fn edit_first_user_message(
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

fn prepend(list: &mut Value, images: &[Image], form: impl Fn(&Image) -> Value) {
    if let Some(list) = list.as_array_mut() {
        list.splice(0..0, images.iter().map(form));
    }
}

#[cfg(test)]
#[path = "images_tests.rs"]
mod tests;
