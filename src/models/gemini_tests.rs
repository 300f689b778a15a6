use roundtable_engine::model::{Delta, Offer, ToolCall};
use serde_json::json;

use super::super::test_support::{
    Reply, Server, call, called, calls, registry, request, text, tool_request,
};
use super::*;

/// C-05
#[test]
fn c05_the_request_has_the_schema() {
    let call = Gemini.call(&request("gemini-x"), Adjustments::default());
    assert_eq!("/models/gemini-x:streamGenerateContent?alt=sse", call.path);
    let body: Value = serde_json::from_slice(&call.body).unwrap();
    insta::assert_json_snapshot!(body);
}

#[test]
fn model_names_are_escaped_in_the_url() {
    assert_eq!("models/gemini-2.5-pro", model_path("models/gemini-2.5-pro"));
    assert_eq!("models/a%3Fb%23c", model_path("a?b#c"));
    assert_eq!("tunedModels/mine", model_path("tunedModels/mine"));
    // No name leaves the folder of the models on the provider's host.
    assert_eq!("models/..%2Fx", model_path("../x"));
    assert_eq!("models/..%2F..%2Fx", model_path("models/../../x"));
    assert_eq!(
        "tunedModels/..%2FcachedContents",
        model_path("tunedModels/../cachedContents")
    );
    let at = |model: &str| {
        let path = format!(
            "https://host/v1beta/{}:streamGenerateContent",
            model_path(model)
        );
        reqwest::Url::parse(&path).unwrap().path().to_owned()
    };
    for model in ["../x", "..", ".", "models/..", "%2e%2e/x", "a/../../b"] {
        assert!(at(model).starts_with("/v1beta/models/"), "{}", at(model));
    }
}

fn chunk(parts: &Value, finish: Option<&str>) -> Value {
    json!({
        "candidates": [{ "content": { "role": "model", "parts": parts }, "finishReason": finish }],
        "usageMetadata": { "promptTokenCount": 50, "candidatesTokenCount": 6, "thoughtsTokenCount": 4,
            "cachedContentTokenCount": 30, "totalTokenCount": 60 },
    })
}

/// C-03, C-11: thoughts are billed as output and are not part of the text.
#[tokio::test]
async fn c11_thoughts_text_and_usage_are_read() {
    let server = Server::new([Reply::events(&[
        chunk(&json!([{ "text": "Hm.", "thought": true }]), None).to_string(),
        chunk(&json!([{ "text": "Ye" }, { "text": "s." }]), None).to_string(),
        chunk(&json!([{ "text": "" }]), Some("STOP")).to_string(),
    ])]);
    let (deltas, error) = call(&registry("gemini", &server), request("gemini-x")).await;
    assert_eq!(None, error);
    assert_eq!(
        vec![
            Delta::Reasoning("Hm.".to_owned()),
            Delta::Text("Yes.".to_owned()),
            Delta::Usage(Usage {
                input: 50,
                output: 10,
                cached: 30
            }),
            Delta::Finish(Finish::Stop),
        ],
        deltas
    );
    let seen = &server.seen()[0];
    assert_eq!(
        "POST /v1beta/models/gemini-x:streamGenerateContent?alt=sse",
        seen.line
    );
    assert_eq!("sk-very-secret", seen.headers["x-goog-api-key"]);
}

#[tokio::test]
async fn blocked_truncated_and_unstreamed_replies_are_read() {
    let blocked = json!({ "promptFeedback": { "blockReason": "SAFETY" } });
    let server = Server::new([Reply::events(&[blocked.to_string()])]);
    let (deltas, error) = call(&registry("gemini", &server), request("g")).await;
    assert_eq!(
        (vec![Delta::Finish(Finish::Refused)], None),
        (deltas, error)
    );

    let array = json!([
        chunk(&json!([{ "text": "a" }]), None),
        chunk(&json!([{ "text": "b" }]), Some("MAX_TOKENS"))
    ]);
    let server = Server::new([Reply::json(200, &array)]);
    let (deltas, _) = call(&registry("gemini", &server), request("g")).await;
    assert_eq!(Some(&Delta::Finish(Finish::Length)), deltas.last());
}

#[tokio::test]
async fn a_rejected_schema_is_sent_as_text() {
    let refusal = json!({ "error": { "code": 400, "status": "INVALID_ARGUMENT",
        "message": "Invalid value at 'generation_config.response_json_schema'" } });
    let ok = chunk(&json!([{ "text": "ok" }]), Some("STOP"));
    let server = Server::new([Reply::json(400, &refusal), Reply::events(&[ok.to_string()])]);
    assert_eq!("ok", text(&registry("gemini", &server), request("g")).await);
    let config = &server.bodies()[1]["generationConfig"];
    assert_eq!(
        (None, &json!("application/json")),
        (
            config.get("responseJsonSchema"),
            &config["responseMimeType"]
        )
    );
}

#[tokio::test]
async fn the_list_of_models_contains_only_chat_models() {
    let server = Server::new([Reply::json(
        200,
        &json!({ "models": [
            { "name": "models/gemini-x", "supportedGenerationMethods": ["generateContent", "countTokens"] },
            { "name": "models/embedding-x", "supportedGenerationMethods": ["embedContent"] },
        ]}),
    )]);
    let list = registry("gemini", &server).list("lab").await.unwrap();
    assert_eq!(
        vec![Listed {
            id: "gemini-x".to_owned(),
            ..Listed::default()
        }],
        list
    );
}

/// M-15: while functions may be called, the schema is sent as text. The signature of a call is sent back with it.
#[test]
fn m15_functions_calls_and_results_are_sent() {
    let body = |offer| -> Value {
        let call = Gemini.call(&tool_request("gemini-x", offer), Adjustments::default());
        serde_json::from_slice(&call.body).unwrap()
    };
    insta::assert_json_snapshot!("m15_open", body(Offer::Open));
    let closed = body(Offer::Closed);
    assert_eq!(Value::Null, closed["tools"]);
    assert!(closed["generationConfig"]["responseJsonSchema"].is_object());
}

#[tokio::test]
async fn m15_function_calls_are_read() {
    let server = Server::new([Reply::events(&[
        chunk(&json!([{ "functionCall": { "name": "search", "args": { "query": "é" } }, "thoughtSignature": "c2ln" }]), None).to_string(),
        chunk(&json!([{ "functionCall": { "name": "calculate" } }]), Some("STOP")).to_string(),
    ])]);
    let tool_calls = calls(
        &registry("gemini", &server),
        tool_request("gemini-x", Offer::Open),
    )
    .await;
    let first = ToolCall {
        signature: Some("c2ln".to_owned()),
        ..called("call_1", "search", "{\"query\":\"é\"}")
    };
    assert_eq!(
        vec![first, called("call_2", "calculate", "null")],
        tool_calls
    );
}
