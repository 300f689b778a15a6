//! Checks that a final answer is self-contained and does not mention the debate that produced it (P-06).

/// Phrases in `answer`, but not in `question`, that only make sense to a reader of the debate.
pub fn traces_of_debate(answer: &str, question: &str) -> Vec<&'static str> {
    const DEBATE_PHRASES: [&str; 12] = [
        "the proposer",
        "the skeptic",
        "the synthesizer",
        "proposer's",
        "skeptic's",
        "in round 1",
        "in round 2",
        "in round 3",
        "this debate",
        "during the debate",
        "the debate above",
        "the critique",
    ];
    let answer = answer.to_lowercase();
    let question = question.to_lowercase();
    DEBATE_PHRASES
        .into_iter()
        .filter(|phrase| answer.contains(phrase) && !question.contains(phrase))
        .collect()
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
