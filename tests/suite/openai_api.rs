//! The OpenAI-compatible API (B-03): a debate as a model.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::all_protocols;
use crate::harness::{Answer, Gate, Home, QUESTION, Reply, Server, Serving, schema_name};

pub(crate) const CHAT: &str = "/v1/chat/completions";

/// Replies for every protocol. A request without a schema is a side job; one with the schema `verdict` is a client's.
pub(crate) fn reply(request: &Value) -> String {
    let schema = &request["response_format"]["json_schema"]["schema"];
    match schema_name(request).as_str() {
        "none" => "{\"title\": \"Queues\"}".to_owned(),
        "verdict" => json!({ "queue": true, "why": "Bursts." }).to_string(),
        "panel_answer" => {
            let seat = &request["seed"];
            json!({
                "answer": format!("A blind answer of {seat} words."),
                "position": format!("Position {seat}"),
                "confidence": 0.9,
            })
            .to_string()
        }
        "panel_ranking" => {
            let labels = &schema["properties"]["ranking"]["items"]["properties"]["answer"]["enum"];
            let labels = labels.as_array().unwrap().iter();
            let ranking: Vec<Value> = labels
                .map(|label| json!({ "answer": label, "reason": "Reason." }))
                .collect();
            json!({ "comparison": "They differ.", "ranking": ranking }).to_string()
        }
        "panel_conclusion" => json!({
            "answer": "Use a queue. STOP Because of bursts.",
            "position": "Use a queue",
            "confidence": 0.75,
            "consensus": [{ "text": "Bursts are real.", "answers": ["A", "B"] }],
            "contradictions": [{ "text": "Whether it costs much.", "answers": ["A", "C"] }],
            "partial_coverage": [],
            "unique_insights": [],
            "blind_spots": [{ "text": "Nobody treats hiring.", "answers": [] }],
        })
        .to_string(),
        _ => all_protocols::reply(request),
    }
}

pub(crate) fn model_server() -> Server {
    Server::start(|request, _| Answer::Reply(reply(request)))
}

pub(crate) fn chat(model: &str, more: &Value) -> Value {
    let mut body = json!({ "model": model, "messages": [{ "role": "user", "content": QUESTION }] });
    for (key, value) in more.as_object().into_iter().flatten() {
        body[key] = value.clone();
    }
    body
}

/// Asserts that the reply is an error in OpenAI's shape.
#[track_caller]
pub(crate) fn error(reply: &Reply, status: u16, kind: &str, code: &str) -> Value {
    assert_eq!(reply.status, status, "{}", reply.text());
    assert_eq!(reply.header("content-type"), Some("application/json"));
    let body = reply.json();
    assert_eq!(body.as_object().unwrap().len(), 1, "{body}");
    let error = &body["error"];
    assert_eq!(error["type"], kind, "{body}");
    assert_eq!(error["code"], code, "{body}");
    assert!(!error["message"].as_str().unwrap().is_empty(), "{body}");
    assert!(error.get("param").is_some(), "{body}");
    error.clone()
}

pub(crate) fn debates(serving: &Serving) -> Vec<Value> {
    let list = serving.get("/api/v1/debates").json();
    list["debates"].as_array().unwrap().clone()
}

#[test]
fn b03_models_are_listed_and_found() {
    let home = Home::with_model(&model_server());
    home.write(
        "presets/mine.toml",
        "name = \"mine\"\nsummary = \"My own\"\nprotocol = \"ask\"\n",
    );
    let serving = Serving::start(&home, &[]);
    let list = serving.get("/v1/models").json();
    assert_eq!(list["object"], "list");
    let ids: Vec<&str> = list["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| {
            assert_eq!(model["object"], "model");
            assert_eq!(model["owned_by"], "roundtable");
            assert!(model["created"].is_u64() && model["description"].is_string());
            model["id"].as_str().unwrap()
        })
        .collect();
    for name in [
        "ask",
        "panel",
        "judge",
        "forecast",
        "debate-collaborative",
        "second-opinion",
        "mine",
    ] {
        assert!(
            ids.contains(&format!("roundtable/{name}").as_str()),
            "{ids:?}"
        );
    }
    // A client may encode the slash of the id.
    for path in ["/v1/models/roundtable/mine", "/v1/models/roundtable%2Fmine"] {
        assert_eq!(serving.get(path).json()["id"], "roundtable/mine");
    }
    let missing = serving.get("/v1/models/gpt-5");
    let missing = error(&missing, 404, "invalid_request_error", "model_not_found");
    assert_eq!(missing["param"], "model");
    error(
        &serving.get("/v1/embeddings"),
        404,
        "invalid_request_error",
        "not_found",
    );
}

/// Every protocol answers; usage is the sum over all calls.
#[test]
fn b03_every_protocol_is_a_model() {
    let home = Home::with_model(&model_server());
    let serving = Serving::start(&home, &[]);
    for model in ["ask", "panel", "debate-delphi", "judge", "forecast"] {
        let id = format!("roundtable/{model}");
        let reply = serving.post(
            CHAT,
            &chat(
                &id,
                &json!({ "user": "ada", "seed": -7, "temperature": 0.2 }),
            ),
        );
        assert_eq!(reply.status, 200, "{model}: {}", reply.text());
        let body = reply.json();
        assert_eq!(body["object"], "chat.completion");
        assert_eq!(body["model"], id.as_str());
        let choice = &body["choices"][0];
        assert_eq!(choice["message"]["role"], "assistant");
        assert_eq!(choice["finish_reason"], "stop");
        let content = choice["message"]["content"].as_str().unwrap();
        assert!(!content.is_empty(), "{body}");
        let extension = &body["roundtable"];
        let debate = extension["id"].as_str().unwrap();
        assert_eq!(body["id"], format!("chatcmpl-{debate}"));
        assert_eq!(extension["state"], "complete");
        let stored = serving.get(&format!("/api/v1/debates/{debate}")).json();
        assert_eq!(stored["report"]["answer"], content);
        let (usage, totals) = (&body["usage"], &stored["totals"]);
        assert_eq!(usage["prompt_tokens"], totals["input_tokens"]);
        assert_eq!(usage["completion_tokens"], totals["output_tokens"]);
        let sum =
            totals["input_tokens"].as_u64().unwrap() + totals["output_tokens"].as_u64().unwrap();
        assert_eq!(usage["total_tokens"], sum);
        assert!(sum > 0);
    }
}

#[test]
fn b03_the_extension_says_what_the_panel_said() {
    let home = Home::with_model(&model_server());
    let serving = Serving::start(&home, &[]);
    let body = serving
        .post(CHAT, &chat("roundtable/panel", &json!({})))
        .json();
    let extension = &body["roundtable"];
    assert_eq!(extension["consensus"][0]["text"], "Bursts are real.");
    assert_eq!(
        extension["contradictions"][0]["text"],
        "Whether it costs much."
    );
    assert_eq!(extension["partial_coverage"], json!([]));
    assert_eq!(extension["unique_insights"], json!([]));
    assert_eq!(extension["blind_spots"][0]["text"], "Nobody treats hiring.");
    assert_eq!(extension["calls"], 9);
    assert_eq!(extension["dissent"].as_array().unwrap().len(), 4);
    assert!(extension["dissent"][0]["position"].is_string());
    assert_eq!(extension["badge"]["kind"], "challenged");
    assert_eq!(extension["headline"], "Use a queue");
    assert_eq!(extension["confidence"]["value"], 0.75);
    assert_eq!(extension["changed"]["is_changed"], true);
    assert!(extension.as_object().unwrap().contains_key("cost_usd"));
}

/// The last user message is the question; everything else is quoted in every prompt.
#[test]
fn b03_a_conversation_is_quoted_as_context() {
    let model = model_server();
    let home = Home::with_model(&model);
    let serving = Serving::start(&home, &[]);
    let messages = json!([
        { "role": "system", "content": "Answer like a pirate." },
        { "role": "user", "content": [{ "type": "text", "text": "We use Postgres." }] },
        { "role": "assistant", "content": "Noted." },
        { "role": "tool", "tool_call_id": "1", "content": "load: 40 per second" },
        { "role": "user", "content": QUESTION },
    ]);
    for protocol in ["panel", "forecast", "judge"] {
        let body = chat(
            &format!("roundtable/{protocol}"),
            &json!({ "messages": messages }),
        );
        assert_eq!(serving.post(CHAT, &body).status, 200);
        let last = model.heard().last().unwrap().to_string();
        for words in [
            "> Answer like a pirate.",
            "> User: We use Postgres.",
            "> Assistant: Noted.",
            "> Tool: load: 40 per second",
            QUESTION,
        ] {
            let first = model.heard()[0].to_string();
            assert!(
                first.contains(words) || last.contains(words),
                "{protocol}: {words}"
            );
        }
    }
    let questions: Vec<Value> = debates(&serving)
        .iter()
        .map(|debate| debate["question"].clone())
        .collect();
    assert!(
        questions
            .iter()
            .any(|question| question.as_str().unwrap().starts_with(QUESTION))
    );
}

/// The stream: role, one run of reasoning, content, the end. Usage only on request.
#[test]
fn b03_a_stream_has_the_order_that_clients_need() {
    let home = Home::with_model(&model_server());
    let serving = Serving::start(&home, &[]);
    for with_usage in [false, true] {
        let more = json!({ "stream": true, "stream_options": { "include_usage": with_usage } });
        let stream = serving.post_stream(CHAT, &chat("roundtable/panel", &more));
        assert_eq!(stream.status, 200);
        assert!(
            stream
                .headers
                .contains(&("content-type".into(), "text/event-stream".into()))
        );
        let blocks: Vec<String> = stream.collect();
        // No comments, ids or event names: some clients cannot read them.
        for block in &blocks {
            assert!(
                block.starts_with("data: ") && block.matches('\n').count() == 2,
                "{block:?}"
            );
        }
        assert_eq!(blocks.last().unwrap(), "data: [DONE]\n\n");
        let mut chunks: Vec<Value> = blocks[..blocks.len() - 1]
            .iter()
            .map(|block| serde_json::from_str(&block["data: ".len()..]).unwrap())
            .collect();
        for chunk in &chunks {
            assert_eq!(chunk["object"], "chat.completion.chunk");
            assert_eq!(chunk["id"], chunks[0]["id"]);
            assert_eq!(chunk["model"], "roundtable/panel");
            assert!(chunk["created"].is_u64());
            assert_eq!(chunk.as_object().unwrap().contains_key("usage"), with_usage);
        }
        if with_usage {
            let usage = chunks.pop().unwrap();
            assert_eq!(usage["choices"], json!([]));
            assert!(usage["usage"]["total_tokens"].as_u64().unwrap() > 0);
        }
        assert_eq!(chunks[0]["choices"][0]["delta"]["role"], "assistant");
        let last = chunks.last().unwrap();
        assert_eq!(last["choices"][0]["finish_reason"], "stop");
        assert_eq!(
            last["roundtable"]["blind_spots"][0]["text"],
            "Nobody treats hiring."
        );
        let kinds: Vec<&str> = chunks[1..chunks.len() - 1]
            .iter()
            .map(|chunk| {
                let delta = chunk["choices"][0]["delta"].as_object().unwrap();
                assert_eq!(delta.len(), 1, "{delta:?}");
                delta.keys().next().unwrap().as_str()
            })
            .collect();
        let changes = kinds.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert_eq!(
            (kinds[0], changes, *kinds.last().unwrap()),
            ("reasoning_content", 1, "content")
        );
        let text = |key: &str| -> String {
            let deltas = chunks.iter().map(|chunk| &chunk["choices"][0]["delta"]);
            deltas.filter_map(|delta| delta[key].as_str()).collect()
        };
        assert_eq!(text("content"), "Use a queue. STOP Because of bursts.");
        let reasoning = text("reasoning_content");
        for words in [
            "## Round 1: answers",
            "**First** (lab:x): A blind answer of",
            "## Round 2: rankings",
            "**Chair** writes",
        ] {
            assert!(reasoning.contains(words), "'{words}' is not in {reasoning}");
        }
        assert!(
            !reasoning.contains("Use a queue. STOP"),
            "the answer is told twice"
        );
    }
}

#[test]
fn b03_the_name_of_the_reasoning_field_can_be_configured() {
    let server = model_server();
    let tiers = "\n[tiers]\ndeliberate = \"lab:x\"\nfast = \"lab:x\"\n[server]\nreasoning_key = \"reasoning\"\n";
    let home = Home::configured(&server.url(), tiers);
    let serving = Serving::start(&home, &[]);
    let body = chat("roundtable/panel", &json!({ "stream": true }));
    let text: String = serving.post_stream(CHAT, &body).collect();
    assert!(
        text.contains("\"reasoning\":") && !text.contains("reasoning_content"),
        "{text}"
    );
}

#[test]
fn b03_stop_and_max_tokens_cut_the_answer() {
    let home = Home::with_model(&model_server());
    let serving = Serving::start(&home, &[]);
    let ask = |more: &Value| {
        let body = serving.post(CHAT, &chat("roundtable/panel", more)).json();
        let choice = &body["choices"][0];
        let content = choice["message"]["content"].as_str().unwrap().to_owned();
        (
            content,
            choice["finish_reason"].as_str().unwrap().to_owned(),
        )
    };
    assert_eq!(
        ask(&json!({ "stop": " STOP" })),
        ("Use a queue.".into(), "stop".into())
    );
    assert_eq!(
        ask(&json!({ "stop": ["Because", "queue"] })),
        ("Use a ".into(), "stop".into())
    );
    let (cut, reason) = ask(&json!({ "max_tokens": 4 }));
    assert!(
        "Use a queue. STOP".starts_with(cut.trim_end_matches(" …")),
        "{cut}"
    );
    assert_eq!(reason, "length");
    let (whole, reason) = ask(&json!({ "max_completion_tokens": 100 }));
    assert!(whole.ends_with("bursts.") && reason == "stop", "{whole}");
}

/// The answer is put into the client's schema by one call, and once more if that is invalid.
#[test]
fn b03_the_answer_is_made_to_fit_a_schema() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let model = Server::start(move |request, _| {
        if schema_name(request) != "verdict" {
            return Answer::Reply(reply(request));
        }
        match counter.fetch_add(1, Ordering::Relaxed) {
            0 | 3.. => Answer::Reply("{\"queue\": \"perhaps\"}".into()),
            _ => Answer::Reply(reply(request)),
        }
    });
    let home = Home::with_model(&model);
    let serving = Serving::start(&home, &[]);
    let schema = json!({
        "type": "object",
        "properties": { "queue": { "type": "boolean" }, "why": { "type": "string" } },
        "required": ["queue", "why"],
        "additionalProperties": false,
    });
    let format = json!({ "response_format": { "type": "json_schema", "json_schema": { "name": "verdict", "strict": true, "schema": schema } } });
    let content = |reply: &Reply| -> Value {
        let content = reply.json()["choices"][0]["message"]["content"].clone();
        serde_json::from_str(content.as_str().unwrap()).unwrap()
    };
    // The first attempt is invalid, the second is not.
    let reply = serving.post(CHAT, &chat("roundtable/panel", &format));
    assert_eq!(content(&reply), json!({ "queue": true, "why": "Bursts." }));
    assert_eq!(asked.load(Ordering::Relaxed), 2);
    assert_eq!(reply.json()["roundtable"]["calls"], 11);
    let debate = debates(&serving).remove(0);
    let usage = reply.json()["usage"]["completion_tokens"].as_u64().unwrap();
    assert!(usage > debate["totals"]["output_tokens"].as_u64().unwrap());
    let second = model.heard().last().unwrap().to_string();
    assert!(second.contains("Your last attempt was refused"), "{second}");
    // Streamed, and valid at once.
    let mut streamed = chat("roundtable/panel", &format);
    streamed["stream"] = json!(true);
    let text: String = serving.post_stream(CHAT, &streamed).collect();
    assert!(
        text.contains(r#"{\"queue\":true,\"why\":\"Bursts.\"}"#),
        "{text}"
    );
    // Invalid twice.
    let reply = serving.post(CHAT, &chat("roundtable/panel", &format));
    let error = error(&reply, 502, "server_error", "no_json");
    assert!(error["debate_id"].is_string());
    assert_eq!(reply.header("x-should-retry"), Some("false"));
    assert_eq!(asked.load(Ordering::Relaxed), 5);
    // Without a schema: any JSON object.
    let object = json!({ "response_format": { "type": "json_object" } });
    let reply = serving.post(CHAT, &chat("roundtable/panel", &object));
    assert_eq!(content(&reply), json!({ "title": "Queues" }));
}

/// A front end asks for titles, tags, follow-ups and queries: one call each, and no debate.
#[test]
fn b03_side_jobs_of_front_ends_start_no_debate() {
    let model = model_server();
    let home = Home::with_model(&model);
    let serving = Serving::start(&home, &[]);
    let history =
        "### Chat History:\n<chat_history>\nUSER: Is tea good?\nASSISTANT: Yes.\n</chat_history>";
    let jobs = [
        (
            "Generate a concise, 3-5 word title with an emoji summarizing the chat history.",
            "{ \"title\": \"your concise title here\" }",
        ),
        (
            "Generate 1-3 broad tags categorizing the main themes of the chat history.",
            "{ \"tags\": [\"tag1\", \"tag2\", \"tag3\"] }",
        ),
        (
            "Suggest 3-5 relevant follow-up questions or prompts.",
            "{ \"follow_ups\": [\"Question 1?\", \"Question 2?\"] }",
        ),
        (
            "Analyze the chat history to determine the necessity of generating search queries.",
            "{ \"queries\": [\"query1\", \"query2\"] }",
        ),
    ];
    for (index, (task, output)) in jobs.into_iter().enumerate() {
        let prompt = format!(
            "### Task:\n{task}\n### Guidelines:\n- Be brief.\n### Output:\nJSON format: {output}\n{history}"
        );
        let more = json!({ "messages": [{ "role": "user", "content": prompt }], "stream": index % 2 == 1, "max_completion_tokens": 1000 });
        let reply = serving.post(CHAT, &chat("roundtable/ask", &more));
        assert_eq!(reply.status, 200, "{}", reply.text());
        if index % 2 == 0 {
            let body = reply.json();
            assert_eq!(
                body["choices"][0]["message"]["content"],
                "{\"title\": \"Queues\"}"
            );
            assert!(body["usage"]["total_tokens"].as_u64().unwrap() > 0);
            assert!(body.get("roundtable").is_none(), "{body}");
        } else {
            assert!(
                reply
                    .text()
                    .contains("\"content\":\"{\\\"title\\\": \\\"Queues\\\"}\"")
            );
            assert!(reply.text().ends_with("data: [DONE]\n\n"));
        }
        assert_eq!(model.count(), index + 1);
    }
    assert_eq!(debates(&serving).len(), 0);
    // The chat itself is a debate.
    assert_eq!(
        serving
            .post(CHAT, &chat("roundtable/ask", &json!({})))
            .status,
        200
    );
    assert_eq!(debates(&serving).len(), 1);
}

/// A model server that holds every reply of one kind back until the gate opens.
pub(crate) fn gated(schema: &'static str) -> (Server, Gate) {
    let gate = Gate::default();
    let held = gate.clone();
    let server = Server::start(move |request, _| {
        if schema_name(request) == schema {
            Answer::Gated(held.clone(), reply(request))
        } else {
            Answer::Reply(reply(request))
        }
    });
    (server, gate)
}

/// Sends a request and closes the connection once the models are asked.
pub(crate) fn disconnect(serving: &Serving, model: &Server, body: &Value) {
    let body = body.to_string();
    let mut stream = TcpStream::connect(&serving.address).unwrap();
    let head = format!(
        "POST {CHAT} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        serving.address,
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    Serving::wait_until_asked(model, "panel_answer", 4);
}

/// The calls in flight end and are journaled, no other is made, and the debate can be resumed.
#[test]
fn b03_a_client_that_disconnects_stops_its_debate_after_the_calls_in_flight() {
    for streams in [false, true] {
        let (model, gate) = gated("panel_answer");
        let home = Home::with_model(&model);
        let serving = Serving::start(&home, &[]);
        disconnect(
            &serving,
            &model,
            &chat("roundtable/panel", &json!({ "stream": streams })),
        );
        thread::sleep(Duration::from_millis(300));
        let id = debates(&serving)[0]["id"].as_str().unwrap().to_owned();
        assert_eq!(
            serving.state(&id),
            "running",
            "it waits for the calls in flight"
        );
        gate.open();
        serving.until(&id, "interrupted");
        assert_eq!(model.count(), 4, "another call was made");
        let totals = &serving.get(&format!("/api/v1/debates/{id}")).json()["totals"];
        assert_eq!(totals["calls"], 4, "the answers in flight are lost");
        let resumed = serving.post(&format!("/api/v1/debates/{id}/resume"), &json!({}));
        assert_eq!(resumed.status, 202);
        serving.until(&id, "complete");
        assert_eq!(model.count(), 9);
    }
}

/// While a model thinks, an empty delta arrives every ten seconds.
#[test]
fn b03_an_idle_stream_is_kept_open_with_empty_deltas() {
    let (model, gate) = gated("panel_answer");
    let home = Home::with_model(&model);
    let serving = Serving::start(&home, &[]);
    let mut stream =
        serving.post_stream(CHAT, &chat("roundtable/panel", &json!({ "stream": true })));
    let started = Instant::now();
    let empty = stream.find(|block| block.contains("\"delta\":{}")).unwrap();
    let waited = started.elapsed();
    assert!(empty.contains("\"finish_reason\":null"), "{empty}");
    assert!((9..=13).contains(&waited.as_secs()), "{waited:?}");
    gate.open();
    assert_eq!(stream.last().unwrap(), "data: [DONE]\n\n");
}

#[test]
fn b03_a_client_that_never_reads_holds_nothing_up() {
    let model = model_server();
    let home = Home::with_model(&model);
    let serving = Serving::start(&home, &[]);
    let body = chat("roundtable/ask", &json!({ "stream": true })).to_string();
    let mut stream = TcpStream::connect(&serving.address).unwrap();
    let head = format!(
        "POST {CHAT} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        serving.address,
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let started = Instant::now();
    while debates(&serving).is_empty() {
        assert!(started.elapsed() < Duration::from_secs(30));
        thread::sleep(Duration::from_millis(10));
    }
    let id = debates(&serving)[0]["id"].as_str().unwrap().to_owned();
    serving.until(&id, "complete");
    assert_eq!(
        serving
            .post(CHAT, &chat("roundtable/panel", &json!({})))
            .status,
        200
    );
    // What it did not read is still there.
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut rest = String::new();
    let _ = stream.read_to_string(&mut rest);
    assert!(rest.contains("[DONE]"), "{rest}");
}

/// A debate without an answer is an error, and says that a retry would pay again.
#[test]
fn b03_a_debate_that_fails_is_an_error() {
    let model =
        Server::start(|_, _| Answer::Status(401, "", "{\"error\": {\"message\": \"no\"}}".into()));
    let home = Home::with_model(&model);
    let serving = Serving::start(&home, &[]);
    let reply = serving.post(CHAT, &chat("roundtable/panel", &json!({})));
    let failed = error(&reply, 502, "server_error", "no_answer");
    assert!(failed["debate_id"].is_string(), "{failed}");
    assert_eq!(reply.header("x-should-retry"), Some("false"));
    let stream = serving.post_stream(CHAT, &chat("roundtable/panel", &json!({ "stream": true })));
    assert_eq!(stream.status, 200);
    let blocks: Vec<String> = stream.collect();
    let [.., last, done] = blocks.as_slice() else {
        panic!("{blocks:?}");
    };
    assert_eq!(done, "data: [DONE]\n\n");
    let last: Value = serde_json::from_str(&last["data: ".len()..]).unwrap();
    assert_eq!(last["error"]["code"], "no_answer", "{last}");
}

/// A repeated request with the same key gets the answer of the first one.
#[test]
fn b03_an_idempotency_key_joins_the_debate() {
    let home = Home::with_model(&model_server());
    let serving = Serving::start(&home, &[]);
    let body = chat("roundtable/panel", &json!({}));
    let send = || {
        serving
            .post_with(CHAT, &body, &[("idempotency-key", "k1")])
            .json()["id"]
            .clone()
    };
    assert_eq!(send(), send());
    assert_eq!(debates(&serving).len(), 1);
    let other = chat("roundtable/ask", &json!({}));
    let reply = serving.post_with(CHAT, &other, &[("idempotency-key", "k1")]);
    error(&reply, 400, "invalid_request_error", "invalid_request");
}

/// Eight clients at once, half of them streaming: none waits for another, and each gets its own answer.
#[test]
fn b03_eight_clients_are_answered_at_once() {
    const CLIENTS: usize = 8;
    /// Blind answers of a panel.
    const FIRST_CALLS: usize = 4;
    let gate = Gate::default();
    let held = gate.clone();
    let model = Server::start(move |request, _| Answer::Gated(held.clone(), reply(request)));
    let home = Home::with_model(&model);
    // By default more than four debates would wait for each other's calls.
    home.allow_calls(CLIENTS * FIRST_CALLS);
    let serving = Serving::start(&home, &[]);
    let ask = |index: usize| {
        let question = format!("Question {index}: {QUESTION}");
        let more = json!({ "stream": index.is_multiple_of(2), "messages": [{ "role": "user", "content": question }] });
        let reply = serving.post(CHAT, &chat("roundtable/panel", &more));
        assert_eq!(reply.status, 200, "{}", reply.text());
        let text = reply.text();
        assert!(text.contains("Use a queue."), "{text}");
        let at = text.find("chatcmpl-").unwrap() + "chatcmpl-".len();
        let id = text[at..at + 36].to_owned();
        let shown = serving.get(&format!("/api/v1/debates/{id}")).json();
        assert_eq!(shown["question"], question);
        id
    };
    let ids: Vec<String> = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|index| scope.spawn(move || ask(index)))
            .collect();
        // No call is answered before the first ones of all debates are in flight.
        Serving::wait_until_asked(&model, "panel_answer", CLIENTS * FIRST_CALLS);
        gate.open();
        clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .collect()
    });
    let distinct: std::collections::BTreeSet<&String> = ids.iter().collect();
    assert_eq!(distinct.len(), CLIENTS);
}

/// The first words of a model reach a client while the model is still writing.
#[test]
fn b03_the_first_words_reach_the_client_at_once() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Server::start(move |request, _| {
        if schema_name(request) == "panel_answer" {
            Answer::Gated(held.clone(), reply(request))
        } else {
            Answer::Reply(reply(request))
        }
    });
    let home = Home::with_model(&model);
    let serving = Serving::start(&home, &[]);
    let body = chat("roundtable/panel", &json!({ "stream": true }));
    let mut stream = serving.post_stream(CHAT, &body);
    stream.find(|block| block.contains("A blind")).unwrap();
    gate.open();
}
