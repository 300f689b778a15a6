use super::*;
use crate::protocols::dialectic::{Review, Synthesis};
use serde_json::json;

const PROSE: &str =
    "S1 is settled, the figures are there. I would give it 7/10, and about 65% of it is new.";

fn review(reason: &str, issue: &str, score: u8) -> String {
    json!({
        "assessment": "about 65% of it is new",
        "verdicts": [{ "issue": issue, "status": "resolved", "reason": reason }],
        "new_issues": [],
        "quality_score": score,
        "ready_for_synthesis": false,
    })
    .to_string()
}

fn added(reply: &str) -> Vec<String> {
    additions::<Review>(reply, &[PROSE.to_owned()])
}

/// C-05: words, numbers and ids that were said pass, and so does a grade of the schema that was given in other words.
#[test]
fn c05_nothing_is_added_by_copying() {
    assert_eq!(added(&review("The figures are there.", "S1", 7)), [""; 0]);
}

#[test]
fn c05_an_invented_number_id_or_word_is_found() {
    assert_eq!(added(&review("The figures are there.", "S1", 8)), ["8"]);
    assert_eq!(added(&review("The figures are there.", "S2", 7)), ["s2"]);
    assert_eq!(
        added(&review("The figures are not there.", "S1", 7)),
        ["not"]
    );
}

/// A reply in another shape is JSON: escapes in it are not words, and numbers in quotes are numbers.
#[test]
fn c05_replies_in_another_shape_are_read_as_json() {
    let said = json!({ "text": "One line.\nNext \u{201c}line\u{201d}.", "confidence": "8" });
    let reply = json!({
        "answer": "One line.\n\nNext line.", "confidence": 8, "confidence_reason": "One line.", "insights": ["Next"], "caveats": [],
        "change": "refined", "change_reason": "",
    });
    let added = additions::<Synthesis>(&reply.to_string(), &[said.to_string()]);
    assert_eq!(added, [""; 0]);
}

/// A share and a percentage are the same number; a digit of a longer number is not.
#[test]
fn c05_percentages_and_shares_are_equal() {
    let said = |text: &str| {
        let mut said = Said::default();
        said.add_text(text);
        said
    };
    assert!(said("70%").has(0.7));
    assert!(said("0.7").has(70.0));
    assert!(said("It is 7.").has(7.0));
    assert!(!said("170 or 0.07").has(7.5));
    assert!(!said("18").has(8.0));
}

/// A grade counts only on a scale of the schema: 8/10 is not 8 of a hundred.
#[test]
fn c05_a_grade_on_another_scale_is_another_number() {
    assert_eq!(numbers("I give 8/10.", &[10.0]), [8.0]);
    assert_eq!(numbers("I give 8/10.", &[100.0]), [0.0; 0]);
    assert_eq!(numbers("3 and/or 4", &[100.0]), [3.0, 4.0]);
}
