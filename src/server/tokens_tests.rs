use super::*;

#[test]
fn tokens_are_long_distinct_and_prefixed() {
    let (one, other) = (make().unwrap(), make().unwrap());
    assert_ne!(one, other);
    assert_eq!(one.len(), PREFIX.len() + 64);
    assert!(one.starts_with(PREFIX));
    assert_ne!(hash(&one), hash(&other));
}
