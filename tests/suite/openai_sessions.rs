//! Whole sessions of clients of the OpenAI-compatible API (B-03): a chat in a front end, a debate that waits for a person, PostgreSQL.

use std::thread;

use serde_json::{Value, json};

use crate::harness::{Home, QUESTION, Serving};
use crate::openai_api::{CHAT, chat, debates, gated, model_server};

const MODEL: &str = "roundtable/panel";

/// An instruction of a front end with the chat quoted in it.
fn job(task: &str, output: &str, history: &str) -> String {
    format!(
        "### Task:\n{task}\n### Guidelines:\n- Use the language of the chat.\n### Output:\n{output}\n### Chat History:\n<chat_history>\n\
         {history}\n</chat_history>"
    )
}

/// The requests of Open `WebUI` 0.12 next to a chat: `max_tokens` is what it makes of its `max_completion_tokens` for other hosts than
/// OpenAI's.
fn side_jobs(history: &str) -> Vec<Value> {
    let completion = format!(
        "### Task:\nContinue the text in `<text>`.\n### **Output Rules**:\n- Respond only in JSON format: `{{ \"text\": \"…\" }}`.\n---\n\
         ### Context:\n<chat_history>\n{history}\n</chat_history>\n<type>General</type>  \n<text>And the</text>  \n#### Output:\n"
    );
    let title = "JSON format: { \"title\": \"your concise title here\" }\n### Examples:\n- { \"title\": \"Remote Work\" }";
    let contents = [
        job("Generate a concise title.", title, history),
        job(
            "Generate 1-3 tags.",
            "JSON format: { \"tags\": [\"tag1\", \"tag2\"] }",
            history,
        ),
        job(
            "Suggest 3-5 questions.",
            "JSON format: { \"follow_ups\": [\"Question 1?\"] }",
            history,
        ),
        job(
            "Generate search queries.",
            "Strictly return in JSON format: \n{\n  \"queries\": [\"query1\"]\n}",
            history,
        ),
        job(
            "Describe an image.",
            "Strictly return in JSON format:\n{\n    \"prompt\": \"Your description.\"\n}",
            history,
        ),
        completion,
    ];
    let mut requests: Vec<Value> = contents
        .into_iter()
        .map(|content| {
            json!({ "model": MODEL, "messages": [{ "role": "user", "content": content }], "stream": false })
        })
        .collect();
    requests[0]["max_tokens"] = json!(1000);
    requests
}

/// A chat of two questions is two debates, whatever else the front end asks about it.
#[test]
fn b03_a_chat_of_open_webui_is_one_debate_for_each_question() {
    let model = model_server();
    let home = Home::with_model(&model);
    let key = home.token("run");
    let mut serving = Serving::start(&home, &[]);
    serving.token = Some(key);
    assert_eq!(serving.get("/v1/models").status, 200);
    let mut messages = vec![
        json!({ "role": "system", "content": "Answer briefly." }),
        json!({ "role": "user", "content": QUESTION }),
    ];
    for turn in 1..=2 {
        let body = json!({
            "model": MODEL, "messages": messages, "stream": true, "stream_options": { "include_usage": true },
        });
        let before = model.count();
        let text: String = serving.post_stream(CHAT, &body).collect();
        assert!(text.contains("Use a queue."), "{text}");
        assert_eq!(model.count() - before, 9);
        let history = "USER: Should we?\nASSISTANT: Use a queue.";
        for request in side_jobs(history) {
            let before = model.count();
            let reply = serving.post(CHAT, &request);
            assert_eq!(reply.status, 200, "{}", reply.text());
            let content = reply.json()["choices"][0]["message"]["content"].clone();
            // The front end cuts at the outer braces and reads JSON.
            let parsed: Value = serde_json::from_str(content.as_str().unwrap()).unwrap();
            assert_eq!(parsed["title"], "Queues", "{content}");
            assert_eq!(model.count() - before, 1, "{request}");
        }
        assert_eq!(debates(&serving).len(), turn);
        messages.push(json!({ "role": "assistant", "content": "Use a queue." }));
        messages.push(json!({ "role": "user", "content": "And if it is full?" }));
    }
    let second = &debates(&serving)[0]["question"];
    assert!(
        second.as_str().unwrap().starts_with("And if it is full?"),
        "{second}"
    );
}

/// A debate that waits for a person answers with what is to be decided and where, and runs on once it is decided.
#[test]
fn b03_a_debate_that_waits_says_what_to_decide() {
    for streams in [false, true] {
        let (model, gate) = gated("panel_answer");
        let home = Home::with_model(&model);
        let serving = Serving::start(&home, &[]);
        let body = chat(MODEL, &json!({ "stream": streams }));
        let text = thread::scope(|scope| {
            let asking = scope.spawn(|| {
                if streams {
                    serving.post_stream(CHAT, &body).collect()
                } else {
                    serving.post(CHAT, &body).text()
                }
            });
            Serving::wait_until_asked(&model, "panel_answer", 4);
            let id = debates(&serving)[0]["id"].as_str().unwrap().to_owned();
            let paused = serving.post(&format!("/api/v1/debates/{id}/pause"), &json!({}));
            assert_eq!(paused.status, 202);
            gate.open();
            asking.join().unwrap()
        });
        let id = debates(&serving)[0]["id"].as_str().unwrap().to_owned();
        let decision = format!("/api/v1/debates/{id}/decision");
        for words in ["waits for your decision", "(continue, stop)", &decision] {
            assert!(text.contains(words), "'{words}' is not in {text}");
        }
        assert!(text.contains("\"finish_reason\":\"stop\""), "{text}");
        assert!(text.contains("\"state\":\"waiting\""), "{text}");
        assert_eq!(serving.state(&id), "waiting");
        let decided = serving.post(&decision, &json!({ "choice": "continue" }));
        assert_eq!(decided.status, 202);
        serving.until(&id, "complete");
        assert_eq!(model.count(), 9, "a call was repeated");
    }
}

/// Parameters without effect are named, so that a client does not take them for followed.
#[test]
fn b03_a_temperature_is_reported_as_ignored() {
    let model = model_server();
    let home = Home::with_model(&model);
    let serving = Serving::start(&home, &[]);
    let warm = json!({ "temperature": 1.7 });
    let reply = serving.post(CHAT, &chat(MODEL, &warm)).json();
    assert_eq!(
        reply["roundtable"]["ignored"],
        json!(["temperature"]),
        "{reply}"
    );
    assert!(
        model
            .heard()
            .iter()
            .all(|request| request["temperature"] != 1.7)
    );
    let reply = serving.post(CHAT, &chat(MODEL, &json!({}))).json();
    assert!(reply["roundtable"].get("ignored").is_none(), "{reply}");
    let body = json!({ "model": MODEL, "input": QUESTION, "temperature": 1.7 });
    let reply = serving.post("/v1/responses", &body).json();
    assert_eq!(reply["roundtable"]["ignored"], json!(["temperature"]));
    assert_eq!(reply["temperature"], Value::Null, "no call had it");
    // A side job is a single call, which has it.
    let mut title = side_jobs("USER: Hi").remove(0);
    title["temperature"] = json!(1.7);
    serving.post(CHAT, &title);
    assert_eq!(model.heard().last().unwrap()["temperature"], 1.7);
}

/// The same on PostgreSQL: chat, stream, joined requests, responses.
#[cfg(unix)]
#[test]
fn b03_the_api_works_on_postgres() {
    let model = model_server();
    let home = Home::on_postgres(&model);
    let serving = Serving::start(&home, &[]);
    let body = chat(MODEL, &json!({}));
    let whole = || {
        let key = [("idempotency-key", "k1")];
        serving.post_with(CHAT, &body, &key).json()
    };
    let (first, again) = (whole(), whole());
    let content = &first["choices"][0]["message"]["content"];
    assert_eq!(content, "Use a queue. STOP Because of bursts.");
    assert_eq!(first["id"], again["id"]);
    let streamed = chat("roundtable/ask", &json!({ "stream": true }));
    let text: String = serving.post_stream(CHAT, &streamed).collect();
    assert!(
        text.contains("reasoning_content") && text.ends_with("data: [DONE]\n\n"),
        "{text}"
    );
    // Asked on.
    let respond = |body: &Value| serving.post("/v1/responses", body).json();
    let response = respond(&json!({ "model": MODEL, "input": QUESTION }));
    let id = &response["id"];
    let next =
        respond(&json!({ "model": MODEL, "input": "And then?", "previous_response_id": id }));
    assert_eq!(next["previous_response_id"], *id, "{next}");
    assert_eq!(
        (&response["status"], &next["status"]),
        (&json!("completed"), &json!("completed"))
    );
    let debates = debates(&serving);
    assert_eq!(debates.len(), 4);
    assert!(
        debates.iter().all(|debate| debate["state"] == "complete"),
        "{debates:?}"
    );
}
