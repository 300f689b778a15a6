use roundtable_engine::model::Image;
use serde_json::{Value, json};

use super::super::anthropic::Anthropic;
use super::super::families::Families;
use super::super::gemini::Gemini;
use super::super::ollama::Ollama;
use super::super::openai::OpenAi;
use super::super::test_support::request;
use super::super::wire::{Adjustments, WireFormat};

fn sent(wire: &dyn WireFormat, with_images: bool) -> Value {
    let mut request = request("x");
    if with_images {
        let image = |name: &str, data: &str| Image {
            name: name.into(),
            media_type: "image/png".into(),
            data: data.into(),
        };
        request.images = vec![image("a.png", "AAAA"), image("b.png", "BBBB")];
    }
    let call = wire.call(&request, Adjustments::default());
    serde_json::from_slice(&call.body).unwrap()
}

/// T-13: in every wire format, images precede the text of the first message.
#[test]
fn t13_images_precede_the_text_in_every_format() {
    let chat = sent(&OpenAi { official: true }, true);
    assert_eq!(
        chat["messages"][1]["content"],
        json!([
            { "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } },
            { "type": "image_url", "image_url": { "url": "data:image/png;base64,BBBB" } },
            { "type": "text", "text": "The question.\n\nWhat was said so far." },
        ])
    );
    let blocks = sent(&Anthropic, true);
    let source = |data: &str| json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": data } });
    let content = &blocks["messages"][0]["content"];
    assert_eq!(
        (&content[0], &content[1]),
        (&source("AAAA"), &source("BBBB"))
    );
    assert_eq!(content[2]["text"], "The question.");
    assert!(
        content[2]["cache_control"].is_object(),
        "the breakpoint stays after the shared content"
    );
    let parts = sent(&Gemini, true);
    assert_eq!(
        parts["contents"][0]["parts"][0],
        json!({ "inlineData": { "mimeType": "image/png", "data": "AAAA" } })
    );
    assert_eq!(parts["contents"][0]["parts"][2]["text"], "The question.");
    let ollama = sent(&Ollama::default(), true);
    assert_eq!(ollama["messages"][1]["images"], json!(["AAAA", "BBBB"]));
    assert!(ollama["messages"][1]["content"].is_string());
}

#[test]
fn without_images_the_body_is_unchanged() {
    for wire in [
        &OpenAi { official: false } as &dyn WireFormat,
        &Ollama::default(),
    ] {
        let body = sent(wire, false);
        assert!(body["messages"][1]["content"].is_string());
        assert!(body["messages"][1].get("images").is_none());
    }
}

/// T-13: by the name of the model; unknown models do not.
#[test]
fn t13_image_support_depends_on_the_model_name() {
    let families = Families::built_in();
    for model in [
        "claude-sonnet-4-5",
        "gpt-4o-mini",
        "gpt-5",
        "gemini-2.5-flash",
        "llava:13b",
        "qwen2.5vl:7b",
        "Qwen/Qwen2.5-VL-7B",
        "gemma3:12b",
    ] {
        assert!(families.sees(model), "{model}");
    }
    for model in [
        "gpt-3.5-turbo",
        "qwen3:32b",
        "llama3.3:70b",
        "smollm2-135m",
        "gemma3:1b",
        "x",
    ] {
        assert!(!families.sees(model), "{model}");
    }
}
