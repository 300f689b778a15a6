use std::collections::HashSet;
use std::sync::Arc;

use serde_json::json;

use super::of;
use crate::model::{
    Image, Message, Offer, Request, Schema, Speaker, Tool, ToolCall, ToolPart, Tools,
};

fn request() -> Request {
    Request {
        model: "x".into(),
        system: "You are the skeptic.".into(),
        messages: vec![message("Why?")],
        images: Vec::new(),
        schema: None,
        tools: None,
        temperature: 0.7,
        max_output_tokens: 500,
        seed: 1,
    }
}

fn message(text: &str) -> Message {
    Message {
        speaker: Speaker::User,
        text: text.into(),
        shared: false,
        tools: Vec::new(),
    }
}

fn with(change: impl FnOnce(&mut Request)) -> Request {
    let mut request = request();
    change(&mut request);
    request
}

fn schema(name: &str, json: serde_json::Value) -> Schema {
    Schema {
        name: name.into(),
        json: Arc::new(json.into()),
    }
}

fn tool(offer: Offer) -> Tools {
    Tools {
        list: vec![Tool {
            name: "search".into(),
            description: "Searches.".into(),
            parameters: Arc::new(json!({ "type": "object" }).into()),
        }],
        offer,
    }
}

fn picture(data: &str) -> Image {
    Image {
        name: "a.png".into(),
        media_type: "image/png".into(),
        data: data.into(),
    }
}

/// C-08: a change of any field changes the hash.
#[test]
fn c08_every_field_is_part_of_the_hash() {
    let call = ToolCall {
        id: "1".into(),
        name: "search".into(),
        arguments: "{}".into(),
        signature: None,
    };
    let requests = [
        request(),
        with(|r| r.model = "y".into()),
        with(|r| r.system = String::new()),
        with(|r| r.messages.clear()),
        with(|r| r.messages[0].text = "Why not?".into()),
        with(|r| r.messages[0].shared = true),
        with(|r| r.messages[0].speaker = Speaker::Assistant),
        with(|r| r.messages[0].tools = vec![ToolPart::Call(call)]),
        with(|r| r.messages.push(message(""))),
        with(|r| r.images = vec![picture("AAAA")]),
        with(|r| r.images = vec![picture("AAAB")]),
        with(|r| r.schema = Some(schema("reply", json!({ "type": "object" })))),
        with(|r| r.schema = Some(schema("other", json!({ "type": "object" })))),
        with(|r| r.schema = Some(schema("reply", json!({ "type": "array" })))),
        with(|r| r.tools = Some(tool(Offer::Open))),
        with(|r| r.tools = Some(tool(Offer::Closed))),
        with(|r| r.temperature = 0.8),
        with(|r| r.max_output_tokens = 501),
        with(|r| r.seed = 2),
    ];
    let mut hashes: HashSet<String> = requests.iter().map(|r| of("lab:x", r)).collect();
    hashes.insert(of("lab:y", &request()));
    assert_eq!(hashes.len(), requests.len() + 1);
}

/// C-08: moving characters from one text to the next changes the hash.
#[test]
fn c08_text_boundaries_are_part_of_the_hash() {
    let split = |system: &str, text: &str| {
        with(|r| {
            r.system = system.into();
            r.messages[0].text = text.into();
        })
    };
    assert_ne!(
        of("lab:x", &split("ab", "c")),
        of("lab:x", &split("a", "bc"))
    );
}

/// C-15: the hash is stable, whether the schema was built as a value or as text.
#[test]
fn c15_the_same_request_has_the_same_hash() {
    let text = serde_json::value::to_raw_value(&json!({ "type": "object" })).unwrap();
    let read = Schema {
        name: "reply".into(),
        json: Arc::new(text.into()),
    };
    let made = schema("reply", json!({ "type": "object" }));
    let one = of("lab:x", &with(|r| r.schema = Some(read)));
    assert_eq!(one, of("lab:x", &with(|r| r.schema = Some(made))));
    assert_eq!(of("lab:x", &request()).len(), 32);
}
