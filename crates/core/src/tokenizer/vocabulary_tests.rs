use super::*;

#[test]
fn every_token_is_found_by_its_bytes() {
    let vocabulary = Vocabulary::load();
    let mut rank = 1;
    let mut tokens = 0;
    while let Some(token) = token(rank) {
        assert_eq!(vocabulary.rank(token, 0..token.len()), Some(rank));
        assert!(token.len() <= MAX_TOKEN_BYTES, "{token:?}");
        rank += 1 + u32::try_from(token.len()).unwrap();
        tokens += 1;
    }
    assert_eq!(tokens, 199_998);
    assert_eq!(rank as usize, TOKENS.len() + 1);
    assert!(rank <= RANK_MASK);
    // A token is found within a text as well, and other byte sequences are not tokens.
    assert!(vocabulary.rank(b"for the word", 3..7).is_some());
    assert_eq!(vocabulary.rank(b"for the word", 3..9), None);
    assert_eq!(vocabulary.rank(b"for", 2..4), None);
    assert_eq!(vocabulary.rank(&[b' '; 300], 0..300), None);
}
