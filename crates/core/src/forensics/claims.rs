//! Detects claims of certainty that the statistics cannot support.

/// Claims of certainty about the author in a judge's text. Negated ones, such as "this is no proof of", do not count.
pub fn claims_of_proof(text: &str) -> Vec<&'static str> {
    const CLAIMS: [&str; 16] = [
        "proof that",
        "proof of",
        "proves",
        "proven",
        "conclusive",
        "conclusively",
        "definitely",
        "undoubtedly",
        "unquestionably",
        "indisputably",
        "without a doubt",
        "without doubt",
        "beyond doubt",
        "beyond any doubt",
        "100% certain",
        "100% sure",
    ];
    let text = text.to_lowercase().replace('’', "'");
    CLAIMS
        .into_iter()
        .filter(|claim| {
            text.match_indices(claim)
                .any(|(at, _)| is_whole(&text, at, claim.len()) && !is_negated(&text[..at]))
        })
        .collect()
}

/// Whether the match is a whole word: "inconclusive" does not contain "conclusive".
fn is_whole(text: &str, at: usize, length: usize) -> bool {
    let before = text[..at].chars().next_back();
    let after = text[at + length..].chars().next();
    !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
}

/// Whether one of the five words before the claim, in the same sentence, negates it.
fn is_negated(before: &str) -> bool {
    let sentence = before.rsplit(['.', '!', '?', ';', '\n']).next();
    let words = sentence.unwrap_or_default().split_whitespace().rev();
    words.take(5).any(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '\'');
        matches!(
            word,
            "no" | "not"
                | "nor"
                | "never"
                | "nothing"
                | "none"
                | "cannot"
                | "without"
                | "neither"
                | "hardly"
        ) || word.ends_with("n't")
    })
}
