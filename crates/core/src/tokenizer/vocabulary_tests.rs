use super::*;

/// The published vocabulary: all tokens by ascending rank, each after one byte with its length.
const PUBLISHED: &[u8] = include_bytes!("../../data/o200k_base.tokens");

#[test]
fn every_token_is_found_by_its_bytes() {
    let mut published = PUBLISHED;
    let mut tokens = 0;
    while let Some((length, rest)) = published.split_first() {
        let (token, rest) = rest.split_at(usize::from(*length));
        assert_eq!(rank(token, 0..token.len()), Some(tokens), "{token:?}");
        published = rest;
        tokens += 1;
    }
    assert_eq!(tokens, 199_998);
    // A token is found within a text as well, and other byte sequences are not tokens.
    assert!(rank(b"for the word", 3..7).is_some());
    assert_eq!(rank(b"for the word", 3..9), None);
    assert_eq!(rank(b"for", 2..4), None);
    assert_eq!(rank(b"for", 1..1), None);
    assert_eq!(rank(&[b' '; 300], 0..300), None);
}
