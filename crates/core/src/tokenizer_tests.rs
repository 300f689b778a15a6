use super::*;

/// Texts and the lengths of their tokens in bytes, by another implementation (`bpe-openai` 0.3.2).
const FIXTURE: &str = include_str!("tokenizer/fixture.json");

#[test]
fn texts_have_the_tokens_of_another_implementation() {
    let texts: Vec<(String, Vec<usize>)> = serde_json::from_str(FIXTURE).unwrap();
    assert_eq!(texts.len(), 324);
    for (text, lengths) in texts {
        let ends = token_ends(&text);
        let starts = [0].into_iter().chain(ends.iter().copied());
        let found: Vec<usize> = ends
            .iter()
            .zip(starts)
            .map(|(end, start)| end - start)
            .collect();
        assert_eq!(found, lengths, "{text:?}");
        assert_eq!(count(&text), lengths.len(), "{text:?}");
    }
}

/// Merging that searched the whole piece for every pair would take minutes.
#[test]
fn long_pieces_are_tokenized() {
    for (unit, tokens) in [("a", 12_500), (" ", 782), ("字", 100_000), ("=-", 12_500)] {
        assert_eq!(count(&unit.repeat(100_000)), tokens, "{unit:?}");
    }
}
