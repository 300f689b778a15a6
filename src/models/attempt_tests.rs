//! Servers that misbehave, over a real connection.

use roundtable_core::usage::Usage;
use serde_json::json;

use super::super::test_support::{
    Reply, Server, call, plain_request, registry, registry_from, text,
};
use super::*;

fn content_event(text: &str) -> String {
    format!(
        "data: {}\n\n",
        json!({ "choices": [{ "delta": { "content": text } }] })
    )
}

const FINISH: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

fn interrupted(detail: &str) -> ModelError {
    ModelError::Interrupted {
        detail: format!("lab:m: {detail}"),
    }
}

async fn outcome(reply: Reply) -> (Vec<Delta>, Option<ModelError>) {
    let server = Server::new([reply]);
    let (deltas, error) = call(&registry("openai", &server), plain_request("m")).await;
    let error = error.map(|error| {
        if let ModelError::NotAModelServer { detail } = error {
            let detail = detail.replace(&server.address, "SERVER");
            return ModelError::NotAModelServer { detail };
        }
        error
    });
    (deltas, error)
}

/// C-07: half a stream is a transient error; its text is not the reply.
#[tokio::test]
async fn c07_a_stream_that_breaks_off_is_an_interruption() {
    let half = [Delta::Text("ha".to_owned())].to_vec();
    let stream = || Reply::chunks("text/event-stream", &[content_event("ha")]);
    assert_eq!(
        (
            half.clone(),
            Some(interrupted("the stream ended before the reply did"))
        ),
        outcome(stream()).await
    );
    let (deltas, error) = outcome(stream().broken()).await;
    assert_eq!(half, deltas);
    assert!(
        matches!(error, Some(ModelError::Interrupted { .. })),
        "{error:?}"
    );
    let (deltas, error) = outcome(Reply::chunks(
        "text/event-stream",
        &[content_event("ha").as_str(), "data: {\"choi\n\n"],
    ))
    .await;
    assert_eq!(
        (half, Some(interrupted("invalid frame: {\"choi"))),
        (deltas, error)
    );
}

#[tokio::test]
async fn an_empty_or_truncated_response_is_an_interruption() {
    for reply in [
        Reply::new(200, &["content-type: text/event-stream"], ""),
        Reply::new(200, &["content-type: application/json"], "\n"),
    ] {
        assert_eq!(
            (vec![], Some(interrupted("the response is empty"))),
            outcome(reply).await
        );
    }
    let cut = Reply::new(
        200,
        &["content-type: application/json"],
        "{\"choices\":[{\"mess",
    );
    assert_eq!(
        (vec![], Some(interrupted("the response is truncated"))),
        outcome(cut).await
    );
}

#[tokio::test]
async fn a_response_of_another_server_is_reported_with_its_beginning() {
    let page = format!("<!doctype html>\n<title>Welcome</title>{}", "x".repeat(200));
    let shown = |text: &str| {
        let detail = format!("lab:m: SERVER answers: {text}");
        (vec![], Some(ModelError::NotAModelServer { detail }))
    };
    let page_shown = format!("<!doctype html> <title>Welcome</title>{}…", "x".repeat(42));
    for kind in ["text/html; charset=utf-8", "text/event-stream"] {
        let reply = Reply::new(200, &[&format!("content-type: {kind}")], &page);
        assert_eq!(shown(&page_shown), outcome(reply).await);
    }
    let other = Reply::json(200, &json!({ "status": "ok" }));
    assert_eq!(shown("{\"status\":\"ok\"}"), outcome(other).await);
}

#[tokio::test]
async fn an_error_within_the_stream_follows_its_usage() {
    let usage =
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":1}}\n\n";
    let error = "data: {\"error\":{\"message\":\"busy\",\"code\":503}}\n\n";
    assert_eq!(
        (
            vec![
                Delta::Text("ha".to_owned()),
                Delta::Usage(Usage {
                    input: 5,
                    output: 1,
                    cached: 0
                }),
            ],
            Some(ModelError::Server {
                status: 503,
                retry_after: None,
                detail: "lab:m: busy".to_owned()
            })
        ),
        outcome(Reply::chunks(
            "text/event-stream",
            &[content_event("ha").as_str(), usage, error]
        ))
        .await
    );
}

/// Split characters, CRLF, heartbeats, `data:` without a space, a wrong content type, and no `[DONE]`.
#[tokio::test]
async fn nonstandard_streams_are_read() {
    let stream = format!(
        ": hi\r\n\r\n{}: beat\n\n{FINISH}",
        content_event("né🦀")
            .replace("data: ", "data:")
            .replace('\n', "\r\n")
    );
    for at in [
        stream.find('é').unwrap() + 1,
        stream.find('🦀').unwrap() + 2,
        3,
    ] {
        let (head, tail) = stream.as_bytes().split_at(at);
        let server = Server::new([Reply::chunks("text/plain", &[head, tail])]);
        assert_eq!(
            "né🦀",
            text(&registry("openai", &server), plain_request("m")).await
        );
    }
}

/// C-07: a server that sends nothing, stops sending, or is too slow.
#[tokio::test]
async fn c07_silence_and_slowness_are_timeouts() {
    let timed = |server: &Server, limits: &str| {
        registry_from(&format!(
            "[providers.lab]\nkind = \"openai\"\nbase_url = \"{}\"\n[retry]\nattempts = 1\n[limits]\n{limits}",
            server.address
        ))
    };
    let idle = "idle_timeout_s = 0.5";
    let after = |milliseconds| {
        Some(ModelError::Timeout {
            after: Duration::from_millis(milliseconds),
        })
    };

    let server = Server::new([Reply::silence()]);
    assert_eq!(
        (vec![], after(500)),
        call(&timed(&server, idle), plain_request("m")).await
    );

    let server =
        Server::new([Reply::chunks("text/event-stream", &[content_event("ha")]).endless()]);
    let (deltas, error) = call(&timed(&server, idle), plain_request("m")).await;
    assert_eq!(
        (vec![Delta::Text("ha".to_owned())], after(500)),
        (deltas, error)
    );

    let server =
        Server::new([Reply::chunks("text/event-stream", &[content_event("ha")]).endless()]);
    let (_, error) = call(&timed(&server, "call_timeout_s = 0.2"), plain_request("m")).await;
    assert_eq!(after(200), error);
}

#[tokio::test]
async fn a_finished_reply_is_kept_if_the_server_does_not_close_the_stream() {
    for end in [FINISH.to_owned(), format!("{FINISH}{DONE}")] {
        let reply = Reply::chunks("text/event-stream", &[content_event("ha") + &end]).endless();
        let server = Server::new([reply]);
        let registry = registry_from(&format!(
            "[providers.lab]\nkind = \"openai\"\nbase_url = \"{}\"\n[limits]\nidle_timeout_s = 0.1",
            server.address
        ));
        assert_eq!("ha", text(&registry, plain_request("m")).await);
    }
}

#[tokio::test]
async fn consecutive_calls_reuse_a_connection() {
    let body = content_event("ha") + FINISH + DONE;
    let server = Server::new([Reply::new(200, &["content-type: text/event-stream"], body)]);
    let registry = registry("openai", &server);
    for _ in 0..5 {
        assert_eq!("ha", text(&registry, plain_request("m")).await);
    }
    assert_eq!((5, 1), (server.seen().len(), server.connections()));
}

#[tokio::test]
async fn a_closed_port_is_unreachable() {
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let registry = registry_from(&format!(
        "[providers.lab]\nkind = \"openai\"\nbase_url = \"http://{free}/v1\"\n[retry]\nattempts = 1"
    ));
    let (_, error) = call(&registry, plain_request("m")).await;
    let Some(ModelError::Unreachable { detail }) = error else {
        panic!("{error:?}")
    };
    assert!(detail.starts_with("lab:m: "), "{detail}");
    assert!(
        detail.ends_with(&format!("is a server running at http://{free}/v1?")),
        "{detail}"
    );
}

/// The error names the variable but never contains the key, even if the server repeats it.
#[tokio::test]
async fn a_refused_key_is_reported_with_the_name_of_its_variable() {
    let body = json!({ "error": { "message": "Incorrect API key provided: sk-very-secret" } });
    let server = Server::new([Reply::json(401, &body)]);
    let (_, error) = call(&registry("openai", &server), plain_request("m")).await;
    assert_eq!(
        Some(ModelError::Unauthorized {
            detail: "lab:m: check LAB_KEY; Incorrect API key provided: ***".to_owned()
        }),
        error
    );
    assert_eq!(1, server.seen().len());
}

#[tokio::test]
async fn a_server_that_does_not_speak_tls_is_unreachable_over_https() {
    let server = Server::new([Reply::silence()]);
    let address = server.address.replace("http://", "https://");
    let registry = registry_from(&format!(
        "[providers.lab]\nkind = \"openai\"\nbase_url = \"{address}\"\n[retry]\nattempts = 1\n[limits]\nidle_timeout_s = 0.2"
    ));
    let (_, error) = call(&registry, plain_request("m")).await;
    assert!(
        matches!(
            error,
            Some(ModelError::Unreachable { .. } | ModelError::Timeout { .. })
        ),
        "{error:?}"
    );
}

/// A stream is limited as a whole: comments and blank lines fill no frame, but would come for ever.
#[tokio::test]
async fn c07_an_endless_stream_is_cut_off() {
    let comment = format!(": {}\n", "x".repeat(1 << 20));
    let comments = vec![comment; 66];
    let (_, error) = outcome(Reply::chunks("text/event-stream", &comments)).await;
    assert_eq!(error, Some(interrupted("the response is too long")));
    let blanks = vec!["\n".repeat(1 << 20); 66];
    let (_, error) = outcome(Reply::chunks("text/event-stream", &blanks)).await;
    assert_eq!(error, Some(interrupted("the response is too long")));
}

/// A server that sends blank lines until the reply begins is heard out.
#[tokio::test]
async fn c07_blank_lines_before_the_reply_are_skipped() {
    let mut chunks = vec!["\n".repeat(1000); 20];
    chunks.push(content_event("ha"));
    chunks.push(FINISH.to_owned());
    chunks.push(DONE.to_owned());
    let (deltas, error) = outcome(Reply::chunks("text/event-stream", &chunks)).await;
    assert_eq!(error, None);
    assert_eq!(deltas[0], Delta::Text("ha".to_owned()));
}

/// C-06: numbers of a server are cut off where their sums would not fit.
#[tokio::test]
async fn c06_an_absurd_usage_is_cut_off() {
    let usage = json!({ "prompt_tokens": u64::MAX, "completion_tokens": u64::MAX });
    let usage = format!("data: {}\n\n", json!({ "choices": [], "usage": usage }));
    let chunks = [
        content_event("ha"),
        FINISH.to_owned(),
        usage,
        DONE.to_owned(),
    ];
    let (deltas, error) = outcome(Reply::chunks("text/event-stream", &chunks)).await;
    assert_eq!(error, None);
    let expected = Usage {
        input: MAX_REPORTED_TOKENS,
        output: MAX_REPORTED_TOKENS,
        cached: 0,
    };
    assert!(deltas.contains(&Delta::Usage(expected)), "{deltas:?}");
}
