use super::*;
use crate::store::{OldSecret, Scope};

#[test]
fn tokens_are_long_distinct_and_prefixed() {
    let (one, other) = (make().unwrap(), make().unwrap());
    assert_ne!(one, other);
    assert_eq!(one.len(), PREFIX.len() + 64);
    assert!(one.starts_with(PREFIX));
    assert_ne!(hash(&one), hash(&other));
}

#[test]
fn an_expired_token_is_unknown() {
    let hash = hash("rt_1");
    let tokens = [TokenRow {
        expires_at: Some(100),
        ..TokenRow::new("ada".into(), Scope::Run, hash, 1)
    }];
    assert!(find(&tokens, &hash, 99).is_some());
    assert_eq!(find(&tokens, &hash, 100), None);
}

#[test]
fn the_old_secret_works_until_the_grace_period_ends() {
    let (old, new) = (hash("rt_old"), hash("rt_new"));
    let tokens = [TokenRow {
        old_secret: Some(OldSecret {
            hash: old,
            valid_until: 100,
        }),
        ..TokenRow::new("ada".into(), Scope::Run, new, 1)
    }];
    assert!(find(&tokens, &old, 99).is_some());
    assert_eq!(find(&tokens, &old, 100), None);
    assert!(find(&tokens, &new, 100).is_some());
    assert_eq!(find(&tokens, &hash("rt_other"), 1), None);
}
