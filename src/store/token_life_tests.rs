use super::*;
use crate::store::test_stores::{TestStore, on_both};
use crate::store::{OldSecret, Scope, SessionTimeouts, TokenRow};

async fn a_rotated_token_keeps_its_old_secret_for_the_grace_period(test_store: TestStore) {
    let store = test_store.open().await;
    let token = TokenRow {
        expires_at: Some(5_000),
        ..TokenRow::new("ada".into(), Scope::Run, [1; 32], 1)
    };
    store.add_token(&token).await.unwrap();
    assert_eq!(store.tokens().await.unwrap(), std::slice::from_ref(&token));
    store
        .rotate_token("ada", &[2; 32], 100, None)
        .await
        .unwrap();
    let rotated = TokenRow {
        hash: [2; 32],
        expires_at: None,
        old_secret: Some(OldSecret {
            hash: [1; 32],
            valid_until: 100,
        }),
        ..token
    };
    assert_eq!(store.tokens().await.unwrap(), [rotated]);
    let missing = store.rotate_token("bob", &[3; 32], 0, None).await;
    assert_eq!(missing, Err(TokenError::NotFound { name: "bob".into() }));
}

/// A session that was opened with a leaked secret must not outlive it.
async fn sessions_end_with_the_old_secret(test_store: TestStore) {
    let store = test_store.open().await;
    let token = TokenRow::new("ada".into(), Scope::Run, [1; 32], 1);
    let bob = TokenRow::new("bob".into(), Scope::Run, [2; 32], 1);
    store.add_token(&token).await.unwrap();
    store.add_token(&bob).await.unwrap();
    let timeouts = SessionTimeouts {
        idle: 1_000,
        total: 1_000,
    };
    for (hash, owner) in [([7; 32], token.id), ([8; 32], bob.id)] {
        store.open_session(&hash, owner, 1, timeouts).await.unwrap();
    }
    store
        .rotate_token("ada", &[3; 32], 100, None)
        .await
        .unwrap();
    let before = store.session(&[7; 32], 99, timeouts).await;
    assert_eq!(before, Ok(Some(token.id)));
    assert_eq!(store.session(&[7; 32], 100, timeouts).await, Ok(None));
    let other = store.session(&[8; 32], 100, timeouts).await;
    assert_eq!(other, Ok(Some(bob.id)));
}

async fn the_last_use_only_moves_forward(test_store: TestStore) {
    let store = test_store.open().await;
    let token = TokenRow::new("ada".into(), Scope::Run, [1; 32], 1);
    store.add_token(&token).await.unwrap();
    for (at, recorded) in [(50, 50), (40, 50), (60, 60)] {
        let uses = Uses {
            tokens: [(token.id, at), (Uuid::new_v4(), at)].into(),
            sessions: [([9; 32], at)].into(),
        };
        store.record_uses(&uses).await.unwrap();
        let row = &store.tokens().await.unwrap()[0];
        assert_eq!(row.last_used_at, Some(recorded));
    }
}

on_both!(
    a_rotated_token_keeps_its_old_secret_for_the_grace_period,
    sessions_end_with_the_old_secret,
    the_last_use_only_moves_forward,
);
