use std::time::Duration;

use super::super::testing::{Reply, Server, call, fleet_of, plain_request};
use super::*;

fn fleet_with(server: &Server, more: &str) -> super::super::ModelRegistry {
    fleet_of(&format!(
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

/// C-07: after so many failures a dead provider is asked no more, whoever asks, until its rest is over.
#[tokio::test]
async fn c07_a_dead_provider_is_left_alone_and_then_tried_once() {
    let server = Server::new([dead(), dead(), dead(), alive()]);
    let registry = fleet_with(&server, "attempts = 2\nopen_after = 3\nrest_s = 0.3");
    let (_, error) = call(&registry, plain_request("a")).await;
    assert!(
        matches!(error, Some(ModelError::Server { .. })),
        "{error:?}"
    );
    assert_eq!(2, server.seen().len());
    // The third failure opens it, and its retry is not made any more; another model of the provider is not asked either.
    for model in ["a", "b"] {
        let (_, error) = call(&registry, plain_request(model)).await;
        let detail = "lab failed again and again; it is tried again in 1 s".to_owned();
        assert_eq!(Some(ModelError::LeftAlone { detail }), error);
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

/// A server that refuses is alive, and so is one that asks for patience.
#[tokio::test]
async fn c07_refusals_open_nothing() {
    let server = Server::new([
        Reply::new(429, &[], "slow"),
        Reply::new(401, &[], "no"),
        Reply::new(400, &[], "what"),
    ]);
    let registry = fleet_with(&server, "attempts = 1\nopen_after = 1");
    for _ in 0..5 {
        let (_, error) = call(&registry, plain_request("a")).await;
        assert!(
            !matches!(error, Some(ModelError::LeftAlone { .. })),
            "{error:?}"
        );
    }
    assert_eq!(5, server.seen().len());
}

/// A call that is given up while it decides leaves the next one to decide.
#[tokio::test]
async fn c07_a_trial_that_is_given_up_decides_nothing() {
    let server = Server::new([dead(), Reply::silence(), alive()]);
    let registry = fleet_with(&server, "attempts = 1\nopen_after = 1\nrest_s = 0.05");
    let _ = call(&registry, plain_request("a")).await;
    tokio::time::sleep(Duration::from_millis(80)).await;
    let given_up = tokio::time::timeout(
        Duration::from_millis(200),
        call(&registry, plain_request("a")),
    )
    .await;
    assert!(given_up.is_err());
    let (deltas, error) = call(&registry, plain_request("a")).await;
    assert_eq!(
        (Some(&Delta::Text("yes".to_owned())), None),
        (deltas.first(), error)
    );
}
