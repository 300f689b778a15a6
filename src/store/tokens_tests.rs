use roundtable_engine::event::State;

use super::*;
use crate::store::test_stores::{TestStore, on_both};
use crate::store::test_support;
use crate::store::{CreateRequest, Created};

fn token(name: &str, scope: Scope) -> TokenRow {
    TokenRow::new(name.into(), scope, [0xab; 32], 1_700_000_000_000)
}

async fn tokens_are_added_listed_and_revoked(test_store: TestStore) {
    let store = test_store.open().await;
    let (ada, bob) = (token("ada", Scope::Read), token("bob", Scope::Admin));
    store.add_token(&ada).await.unwrap();
    store.add_token(&bob).await.unwrap();
    assert_eq!(store.tokens().await.unwrap(), [ada.clone(), bob]);
    let again = store.add_token(&token("ada", Scope::Run)).await;
    assert_eq!(again, Err(TokenError::Exists { name: "ada".into() }));
    store.revoke_token("bob").await.unwrap();
    assert_eq!(store.tokens().await.unwrap(), [ada]);
    let gone = store.revoke_token("bob").await;
    assert_eq!(gone, Err(TokenError::NotFound { name: "bob".into() }));
}

async fn a_request_with_a_key_creates_one_debate(test_store: TestStore) {
    let store = test_store.open().await;
    let setup = test_support::setup("Why?");
    let request = |fingerprint: &str| CreateRequest {
        key: Some("k1".into()),
        fingerprint: fingerprint.into(),
        ..CreateRequest::default()
    };
    let id = Uuid::new_v4();
    let first = store
        .create_for_server(id, &setup, 1, State::Queued, &request("a"))
        .await
        .unwrap();
    assert!(matches!(first, Created::New(_)));
    drop(first);
    let second = store
        .create_for_server(Uuid::new_v4(), &setup, 2, State::Running, &request("a"))
        .await
        .unwrap();
    assert!(matches!(second, Created::Existing(known) if known == id));
    let other: Option<Created> = store.find_created(&request("b")).await.unwrap();
    assert!(matches!(other, Some(Created::KeyConflict)));
    // On a database server, the job queue finds it.
    let abandoned = if test_store.is_postgres() {
        vec![]
    } else {
        vec![id]
    };
    assert_eq!(store.abandoned_server_debates().await.unwrap(), abandoned);
    // A lease from the command line takes it away from the servers.
    drop(store.lease(id).await.unwrap());
    assert!(store.abandoned_server_debates().await.unwrap().is_empty());
}

on_both!(
    tokens_are_added_listed_and_revoked,
    a_request_with_a_key_creates_one_debate
);
