//! A final answer stands alone (P-06): whoever reads it need not know that there was a debate.

/// Words that only make sense to someone who saw the debate, found in `answer` but not in `question`.
pub fn traces_of_debate(answer: &str, question: &str) -> Vec<&'static str> {
    const TELLTALE: [&str; 12] = [
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
    TELLTALE
        .into_iter()
        .filter(|words| answer.contains(words) && !question.contains(words))
        .collect()
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
