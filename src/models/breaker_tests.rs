use std::time::Duration;

use super::super::test_support::{Reply, Server, call, plain_request, registry_from};
use super::*;

fn registry_with(server: &Server, more: &str) -> super::super::ModelRegistry {
    registry_from(&format!(
        "[providers.lab]\nkind = \"openai\"\nbase_url = \"{}\"\n[retry]\nbase_ms = 1\nmax_ms = 2\n{more}\n",
        server.address
    ))
}

fn dead() -> Reply {
    Reply::new(503, &[], "down")
}

fn alive() -> Reply {
    let data = "{\"choices\":[{\"delta\":{\"content\":\"yes\"},\"finish_reason\":\"stop\"}]}";
    Reply::events(&[data, "[DONE]"])
}

/// C-07: after `open_after` failures no model of the provider is called until `rest_s` has passed.
#[tokio::test]
async fn c07_an_open_breaker_rejects_calls_until_a_trial_succeeds() {
    let server = Server::new([dead(), dead(), dead(), alive()]);
    let registry = registry_with(&server, "attempts = 2\nopen_after = 3\nrest_s = 0.3");
    let (_, error) = call(&registry, plain_request("a")).await;
    assert!(
        matches!(error, Some(ModelError::Server { .. })),
        "{error:?}"
    );
    assert_eq!(2, server.seen().len());
    // The third failure opens the breaker: no retry, and no call to another model of the provider.
    for model in ["a", "b"] {
        let (_, error) = call(&registry, plain_request(model)).await;
        let detail =
            "lab keeps failing: the server failed with status 503; next attempt in 1 s".to_owned();
        assert_eq!(Some(ModelError::BreakerOpen { detail }), error);
    }
    assert_eq!(3, server.seen().len());
    tokio::time::sleep(Duration::from_millis(350)).await;
    let (deltas, error) = call(&registry, plain_request("a")).await;
    assert_eq!(
        (Some(&Delta::Text("yes".to_owned())), None),
        (deltas.first(), error)
    );
    assert_eq!(4, server.seen().len());
}

/// A server that rejects or rate-limits calls is up.
#[tokio::test]
async fn c07_rejections_do_not_open_the_breaker() {
    let server = Server::new([
        Reply::new(429, &[], "slow"),
        Reply::new(401, &[], "no"),
        Reply::new(400, &[], "what"),
    ]);
    let registry = registry_with(&server, "attempts = 1\nopen_after = 1");
    for _ in 0..5 {
        let (_, error) = call(&registry, plain_request("a")).await;
        assert!(
            !matches!(error, Some(ModelError::BreakerOpen { .. })),
            "{error:?}"
        );
    }
    assert_eq!(5, server.seen().len());
}

/// If the trial call is dropped, the next call becomes the trial.
#[tokio::test]
async fn c07_a_dropped_trial_call_does_not_change_the_breaker() {
    let server = Server::new([dead(), Reply::silence(), alive()]);
    let registry = registry_with(&server, "attempts = 1\nopen_after = 1\nrest_s = 0.05");
    let _ = call(&registry, plain_request("a")).await;
    tokio::time::sleep(Duration::from_millis(80)).await;
    let dropped = tokio::time::timeout(
        Duration::from_millis(200),
        call(&registry, plain_request("a")),
    )
    .await;
    assert!(dropped.is_err());
    let (deltas, error) = call(&registry, plain_request("a")).await;
    assert_eq!(
        (Some(&Delta::Text("yes".to_owned())), None),
        (deltas.first(), error)
    );
}
