use roundtable_engine::model::Finish;

use super::super::ModelRegistry;
use super::super::test_support::{Reply, Server, call, registry_from, request};
use super::*;

fn alive(text: &str) -> Reply {
    let data = serde_json::json!({ "choices": [{ "delta": { "content": text }, "finish_reason": "stop" }] });
    Reply::events(&[data.to_string(), "[DONE]".to_owned()])
}

fn registry_with(first: &Server, second: &Server) -> ModelRegistry {
    registry_from(&format!(
        "[providers.lab]\nkind = \"openai\"\nbase_url = \"{}\"\nfallback = [\"spare:y\", \"spare:z\"]\n\
         [providers.spare]\nkind = \"openai\"\nbase_url = \"{}\"\n[retry]\nattempts = 2\nbase_ms = 1\nmax_ms = 2\nopen_after = 2\n",
        first.address, second.address
    ))
}

/// C-07: a fallback answers and is reported with the reason; with an open breaker, later calls use it immediately.
#[tokio::test]
async fn c07_a_fallback_answers_if_the_provider_fails() {
    let (first, second) = (
        Server::new([Reply::new(503, &[], "down")]),
        Server::new([alive("yes")]),
    );
    let registry = registry_with(&first, &second);
    for (asked, because) in [
        (2, "lab:x: the server failed with status 503"),
        (2, "lab:x: skipped: circuit breaker open (lab keeps failing"),
    ] {
        let (deltas, error) = call(&registry, request("x")).await;
        assert_eq!(None, error);
        let instead = deltas.iter().find_map(|delta| match delta {
            Delta::Instead(instead) => Some(instead.as_ref().clone()),
            Delta::Text(_)
            | Delta::Reasoning(_)
            | Delta::Call(_)
            | Delta::Usage(_)
            | Delta::Restart { .. }
            | Delta::Notice(_)
            | Delta::Finish(_) => None,
        });
        let instead = instead.unwrap();
        assert_eq!(("spare:y", None), (instead.model.as_str(), instead.price));
        assert!(instead.because.starts_with(because), "{}", instead.because);
        let end = [Delta::Text("yes".to_owned()), Delta::Finish(Finish::Stop)];
        assert!(deltas.ends_with(&end), "{deltas:?}");
        assert_eq!(asked, first.seen().len());
    }
    assert_eq!("y", second.bodies()[0]["model"]);
}

/// An invalid request is not sent to a fallback; after the last fallback its error is returned.
#[tokio::test]
async fn c07_only_errors_of_the_provider_lead_to_a_fallback() {
    let (first, second) = (
        Server::new([Reply::new(413, &[], "prompt is too long")]),
        Server::new([alive("yes")]),
    );
    let (_, error) = call(&registry_with(&first, &second), request("x")).await;
    assert!(error.is_some());
    assert!(second.seen().is_empty());
    let (first, second) = (
        Server::new([Reply::new(503, &[], "down")]),
        Server::new([Reply::new(401, &[], "no")]),
    );
    let (_, error) = call(&registry_with(&first, &second), request("x")).await;
    assert!(
        matches!(error, Some(ModelError::Unauthorized { .. })),
        "{error:?}"
    );
    let asked: Vec<_> = second
        .bodies()
        .into_iter()
        .map(|body| body["model"].clone())
        .collect();
    assert_eq!(vec!["y", "z"], asked);
}
