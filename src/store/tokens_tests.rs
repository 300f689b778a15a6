use super::*;
use crate::store::fixtures;
use crate::store::test_stores::{Place, on_both};

fn token(name: &str, scope: Scope) -> TokenRow {
    TokenRow {
        id: Uuid::new_v4(),
        name: name.into(),
        scope,
        hash: [0xab; 32],
        created_at: 1_700_000_000_000,
    }
}

async fn tokens_are_added_listed_and_revoked(place: Place) {
    let store = place.open().await;
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

async fn a_request_with_a_key_makes_one_debate(place: Place) {
    let store = place.open().await;
    let setup = fixtures::setup("Why?");
    let sent = |fingerprint: &str| super::super::CreateRequest {
        key: Some("k1".into()),
        fingerprint: fingerprint.into(),
    };
    let id = Uuid::new_v4();
    let first = store
        .create_for_server(
            id,
            &setup,
            1,
            roundtable_engine::event::State::Queued,
            &sent("a"),
        )
        .await
        .unwrap();
    assert!(matches!(first, super::super::Created::New(_)));
    drop(first);
    let second = store
        .create_for_server(
            Uuid::new_v4(),
            &setup,
            2,
            roundtable_engine::event::State::Running,
            &sent("a"),
        )
        .await
        .unwrap();
    assert!(matches!(second, super::super::Created::Existing(known) if known == id));
    let other: Option<super::super::Created> = store.find_created(&sent("b")).await.unwrap();
    assert!(matches!(other, Some(super::super::Created::KeyConflict)));
    assert_eq!(store.interrupted_server_debates().await.unwrap(), [id]);
    // Whoever takes it over on the command line takes it from the servers.
    drop(store.lease(id).await.unwrap());
    assert!(store.interrupted_server_debates().await.unwrap().is_empty());
}

#[test]
fn hashes_are_written_and_read() {
    let hash: [u8; 32] = std::array::from_fn(|index| u8::try_from(index * 7).unwrap());
    assert_eq!(from_hex(&to_hex(&hash)), Some(hash));
    assert_eq!(from_hex("zz"), None);
    assert_eq!(from_hex(&"é".repeat(32)), None);
}

on_both!(
    tokens_are_added_listed_and_revoked,
    a_request_with_a_key_makes_one_debate
);
