//! The result of a finished debate in one line, for lists. It is read from the last entry alone, because a list must not load
//! whole journals.

use roundtable_core::excerpt::excerpt;
use serde_json::Value;

use super::named;
use super::outcome::unmarked;

/// Length of the line, in characters.
const LINE: usize = 160;

/// `result` is that of the last entry of a debate of the protocol. `None` if it has no answer.
pub fn result_line(protocol: &str, result: &Value) -> Option<String> {
    let headline = named(protocol).and_then(|protocol| protocol.headline(result));
    let answer = ["answer", "final_answer"]
        .into_iter()
        .find_map(|field| result[field].as_str());
    let answer = answer.map(|answer| excerpt(unmarked(answer), LINE));
    let says = |answer: &str, headline: &str| {
        let start = answer.to_lowercase();
        start.starts_with(&headline.to_lowercase())
    };
    let line = match (headline, answer) {
        (Some(headline), Some(answer)) if !says(&answer, &headline) => {
            excerpt(&format!("{headline}. {answer}"), LINE)
        }
        (_, Some(answer)) => answer,
        (Some(headline), None) => excerpt(&headline, LINE),
        (None, None) => return None,
    };
    Some(line).filter(|line| !line.is_empty())
}

#[cfg(test)]
#[path = "result_line_tests.rs"]
mod tests;
