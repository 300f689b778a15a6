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

/// C-08: a request that differs in anything at all is another one.
#[test]
fn c08_whatever_is_changed_changes_it() {
    let call = ToolCall {
        id: "1".into(),
        name: "search".into(),
        arguments: "{}".into(),
        signature: None,
    };
    let requests = [
        request(),
        with(|it| it.model = "y".into()),
        with(|it| it.system = String::new()),
        with(|it| it.messages.clear()),
        with(|it| it.messages[0].text = "Why not?".into()),
        with(|it| it.messages[0].shared = true),
        with(|it| it.messages[0].speaker = Speaker::Assistant),
        with(|it| it.messages[0].tools = vec![ToolPart::Call(call)]),
        with(|it| it.messages.push(message(""))),
        with(|it| it.images = vec![picture("AAAA")]),
        with(|it| it.images = vec![picture("AAAB")]),
        with(|it| it.schema = Some(schema("reply", json!({ "type": "object" })))),
        with(|it| it.schema = Some(schema("other", json!({ "type": "object" })))),
        with(|it| it.schema = Some(schema("reply", json!({ "type": "array" })))),
        with(|it| it.tools = Some(tool(Offer::Open))),
        with(|it| it.tools = Some(tool(Offer::Closed))),
        with(|it| it.temperature = 0.8),
        with(|it| it.max_output_tokens = 501),
        with(|it| it.seed = 2),
    ];
    let mut hashes: HashSet<String> = requests.iter().map(|it| of("lab:x", it)).collect();
    hashes.insert(of("lab:y", &request()));
    assert_eq!(hashes.len(), requests.len() + 1);
}

/// What stands at the end of one text is not what stands at the beginning of the next.
#[test]
fn c08_where_one_text_ends_counts() {
    let split = |system: &str, text: &str| {
        with(|it| {
            it.system = system.into();
            it.messages[0].text = text.into();
        })
    };
    assert_ne!(
        of("lab:x", &split("ab", "c")),
        of("lab:x", &split("a", "bc"))
    );
}

/// C-15: the same whenever and wherever it is made, however the schema came about.
#[test]
fn c15_the_same_request_gives_the_same() {
    let text = serde_json::value::to_raw_value(&json!({ "type": "object" })).unwrap();
    let read = Schema {
        name: "reply".into(),
        json: Arc::new(text.into()),
    };
    let made = schema("reply", json!({ "type": "object" }));
    let one = of("lab:x", &with(|it| it.schema = Some(read)));
    assert_eq!(one, of("lab:x", &with(|it| it.schema = Some(made))));
    assert_eq!(of("lab:x", &request()).len(), 32);
}
