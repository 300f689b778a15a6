use super::*;
use serde_json::json;

fn matches(pattern: &str, text: &str) -> bool {
    let schema = json!({ "type": "string", "pattern": pattern });
    jsonschema::is_valid(&schema, &json!(text))
}

/// C-04: whole sentences of every script, and nothing that is not prose.
#[test]
fn c04_a_main_text_consists_of_whole_sentences() {
    for good in [
        "The train is the better choice for a family.",
        "The train takes 6.5 hours, i.e. half a day. It is cheaper!",
        "火车更适合一个四口之家，因为车站在市中心而且行李不用另外付钱。火车更快。",
        "Поезд лучше для семьи, потому что вокзалы в центре.",
    ] {
        assert!(matches(&sentences(), good), "{good}");
    }
    for bad in [
        "",
        ");",
        "1.",
        "Yes.",
        "The train is the better choice for a family",
        "The train is the better choice }, {\"position\": 1.",
        "The train is the best choice. It is. It is. It is so.",
        "][ The train is the better choice for a family.",
    ] {
        assert!(!matches(&sentences(), bad), "{bad}");
    }
}

/// The bound of a sentence, on both sides, and that of the whole text.
#[test]
fn sentences_are_bounded() {
    let (least, most) = SENTENCE;
    let sentence = |length: u64| format!("T{}.", "a".repeat(usize::try_from(length).unwrap()));
    for (length, expected) in [
        (least - 1, false),
        (least, true),
        (most, true),
        (most + 1, false),
    ] {
        assert_eq!(
            matches(&sentences(), &sentence(length)),
            expected,
            "{length}"
        );
    }
    let longest = vec![sentence(most); usize::try_from(MAX_SENTENCES).unwrap()].join(" ");
    assert!(matches(&sentences(), &longest));
    assert!(longest.len() as u64 <= MAX_MAIN, "{}", longest.len());
}

#[test]
fn a_phrase_is_bounded_and_may_be_empty_only_if_it_need_not_be_there() {
    assert!(matches(&phrase(0, 4), ""));
    assert!(!matches(&phrase(1, 4), ""));
    assert!(matches(&phrase(1, 4), "20 %"));
    assert!(!matches(&phrase(1, 4), "20 %!"));
    assert!(matches(&phrase(1, 81), "It has no figures."));
    assert!(!matches(&phrase(1, 81), "It has no figures"));
    assert!(!matches(&phrase(1, 81), "It has no figures. It is vague."));
    for bad in ["}, {", "[1]", ", not", "FACT}"] {
        assert!(!matches(&phrase(0, 80), bad), "{bad}");
    }
}
