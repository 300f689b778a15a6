//! Checks that a final answer is self-contained and does not mention the debate that produced it (P-06).

/// Phrases in `answer`, but not in `question`, that only make sense to a reader of the debate.
pub fn traces_of_debate(answer: &str, question: &str) -> Vec<String> {
    const DEBATE_PHRASES: [&str; 11] = [
        "the proposer",
        "the skeptic",
        "the synthesizer",
        "proposer's",
        "skeptic's",
        "this debate",
        "in the debate",
        "during the debate",
        "the debate above",
        "the debate showed",
        "the critique",
    ];
    let is_in_answer = {
        let answer = answer.to_lowercase();
        move |phrase: &str| answer.contains(phrase)
    };
    let question_words = question.to_lowercase();
    let phrases = DEBATE_PHRASES.into_iter();
    let phrases = phrases.filter(|phrase| is_in_answer(phrase) && !question_words.contains(phrase));
    let mut traces: Vec<String> = phrases.map(str::to_owned).collect();
    traces.extend(issue_ids(answer).filter(|id| !question.contains(id.as_str())));
    traces
}

/// Issue ids that the answer says something about, as in "S1 is resolved". Other names of this form, such as a product S3, are
/// not followed by what is said of an issue.
fn issue_ids(answer: &str) -> impl Iterator<Item = String> {
    const SAID_OF_ISSUES: [&str; 8] = [
        "is resolved",
        "was resolved",
        "is unresolved",
        "is settled",
        "was raised",
        "remains open",
        "is open",
        "was accepted",
    ];
    let is_start = |at: usize| !answer[..at].ends_with(char::is_alphanumeric);
    let starts = answer.match_indices('S').filter(|(at, _)| is_start(*at));
    let starts = starts.map(|(at, _)| &answer[at..]);
    let ids = starts.filter_map(|rest| {
        let digits = rest[1..].chars().take_while(char::is_ascii_digit).count();
        let (id, after) = rest.split_at(1 + digits);
        let is_issue = digits > 0
            && SAID_OF_ISSUES
                .iter()
                .any(|said| after.trim_start().starts_with(said));
        is_issue.then(|| id.to_owned())
    });
    ids.collect::<std::collections::BTreeSet<_>>().into_iter()
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
