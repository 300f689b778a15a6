use super::*;
use crate::store::test_stores::{TestStore, on_both};
use crate::store::{Scope, TokenRow};

const TIMEOUTS: SessionTimeouts = SessionTimeouts {
    idle: 100,
    total: 1_000,
};
const SIGNED_IN: Millis = 10_000;

async fn with_session(test_store: &TestStore) -> (Store, TokenRow) {
    let store = test_store.open().await;
    let token = TokenRow::new("ada".into(), Scope::Run, [1; 32], 1);
    store.add_token(&token).await.unwrap();
    store
        .open_session(&[0xab; 32], token.id, SIGNED_IN, TIMEOUTS)
        .await
        .unwrap();
    (store, token)
}

async fn a_session_ends_when_idle_and_after_its_total_time(test_store: TestStore) {
    let (store, token) = with_session(&test_store).await;
    let session = |now| store.session(&[0xab; 32], now, TIMEOUTS);
    let use_at = async |at| {
        let uses = crate::store::Uses {
            sessions: [([0xab; 32], at)].into(),
            ..Default::default()
        };
        store.record_uses(&uses).await.unwrap();
    };
    assert_eq!(session(SIGNED_IN + 99).await, Ok(Some(token.id)));
    assert_eq!(session(SIGNED_IN + 100).await, Ok(None));
    use_at(SIGNED_IN + 90).await;
    assert_eq!(session(SIGNED_IN + 189).await, Ok(Some(token.id)));
    assert_eq!(session(SIGNED_IN + 190).await, Ok(None));
    use_at(SIGNED_IN + 999).await;
    assert_eq!(session(SIGNED_IN + 999).await, Ok(Some(token.id)));
    assert_eq!(session(SIGNED_IN + 1_000).await, Ok(None));
}

async fn sessions_are_listed_and_ended(test_store: TestStore) {
    let (store, token) = with_session(&test_store).await;
    let later = SIGNED_IN + 50;
    store
        .open_session(&[0xcd; 32], token.id, later, TIMEOUTS)
        .await
        .unwrap();
    let row = |id: &str, at| SessionRow {
        id: id.repeat(6),
        token: "ada".into(),
        created_at: at,
        last_used_at: at,
        expires_at: at + 1_000,
    };
    let (first, second) = (row("ab", SIGNED_IN), row("cd", later));
    let listed = store.sessions(later, TIMEOUTS).await.unwrap();
    assert_eq!(listed, [first.clone(), second.clone()]);
    // The first has been idle for too long.
    let listed = store.sessions(SIGNED_IN + 100, TIMEOUTS).await.unwrap();
    assert_eq!(listed, [second]);

    store.end_session(&first.id).await.unwrap();
    let ended = store.session(&[0xab; 32], later, TIMEOUTS).await;
    assert_eq!(ended, Ok(None));
    for id in [first.id.as_str(), "", "%", "cd"] {
        let missing = Err(TokenError::NoSession { id: id.into() });
        assert_eq!(store.end_session(id).await, missing);
    }
    let other = store.session(&[0xcd; 32], later, TIMEOUTS).await;
    assert_eq!(other, Ok(Some(token.id)));
}

async fn a_sign_in_deletes_sessions_that_have_ended(test_store: TestStore) {
    let (store, token) = with_session(&test_store).await;
    let now = SIGNED_IN + 100;
    store
        .open_session(&[0xcd; 32], token.id, now, TIMEOUTS)
        .await
        .unwrap();
    // Even with a longer timeout the first session is gone.
    let long = SessionTimeouts {
        idle: 10_000,
        ..TIMEOUTS
    };
    let listed = store.sessions(now, long).await.unwrap();
    assert_eq!(listed.len(), 1, "{listed:?}");
}

async fn a_session_of_an_expired_token_is_not_listed(test_store: TestStore) {
    let (store, _) = with_session(&test_store).await;
    let expires_at = Some(SIGNED_IN + 50);
    store
        .rotate_token("ada", &[2; 32], SIGNED_IN + 500, expires_at)
        .await
        .unwrap();
    let listed = async |now| store.sessions(now, TIMEOUTS).await.unwrap().len();
    assert_eq!(listed(SIGNED_IN + 49).await, 1);
    assert_eq!(listed(SIGNED_IN + 50).await, 0);
}

on_both!(
    a_session_ends_when_idle_and_after_its_total_time,
    sessions_are_listed_and_ended,
    a_sign_in_deletes_sessions_that_have_ended,
    a_session_of_an_expired_token_is_not_listed,
);
