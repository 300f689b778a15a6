use std::fmt::Write;

use super::*;
use proptest::prelude::*;

fn read_in_pieces(json: &str, cuts: &[usize]) -> String {
    let mut reader = MainText::new("answer");
    let mut out = String::new();
    let mut start = 0;
    let mut bounds: Vec<_> = cuts
        .iter()
        .map(|cut| cut % (json.len() + 1))
        .filter(|cut| json.is_char_boundary(*cut))
        .collect();
    bounds.sort_unstable();
    bounds.push(json.len());
    for end in bounds {
        out.push_str(&reader.feed(&json[start..end]));
        start = end;
    }
    out
}

/// C-09: the main field is found at any position; nested fields of the same name are ignored.
#[test]
fn c09_the_main_field_is_found_at_any_position() {
    let cases = [
        (r#"{"answer": "yes"}"#, "yes"),
        (
            r#"  {"x": [{"answer": "no"}, "answer"], "answer": "yes", "y": "z"}"#,
            "yes",
        ),
        (
            r#"{"x": {"answer": "no", "a": [1, {"b": "c"}]}, "answer":"a\"b\\c\n\u00e9\ud83d\ude00"}"#,
            "a\"b\\c\né😀",
        ),
        (r#"{"why": "answer", "answer": "right"}"#, "right"),
        (r#"{"answer": 3, "other": "x"}"#, ""),
        ("no JSON at all: \"answer\": \"x\"", ""),
        (r#"{"answer": "cut in the mi"#, "cut in the mi"),
        (
            r#"{"answer": "lone \ud83d surrogate"}"#,
            "lone \u{fffd} surrogate",
        ),
    ];
    for (json, expected) in cases {
        assert_eq!(read_in_pieces(json, &[]), expected, "{json}");
    }
}

proptest! {
    /// C-09: the concatenated pieces are the field, however the network splits the stream.
    #[test]
    fn any_cut_gives_the_same_text(
        answer in any::<String>(),
        before in any::<String>(),
        cuts in proptest::collection::vec(any::<usize>(), 0..20),
        ascii in any::<bool>(),
    ) {
        let mut json = serde_json::json!({ "before": [before.clone(), { "answer": before }], "answer": answer, "after": 1 }).to_string();
        if ascii {
            json = escaped(&json);
        }
        prop_assert_eq!(read_in_pieces(&json, &cuts), answer);
    }
}

fn escaped(json: &str) -> String {
    let mut out = String::new();
    for c in json.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out
}

proptest! {
    /// C-09: arbitrary input never yields more than was fed.
    #[test]
    fn c09_output_is_never_longer_than_input(pieces in proptest::collection::vec("[{}\\[\\]\",:\\\\a-z0-9é😀 ]{0,8}|\"answer\"|\\\\u[0-9a-f]{0,4}", 0..60)) {
        let mut reader = MainText::new("answer");
        let (mut came, mut given) = (0, 0);
        for piece in &pieces {
            came += piece.len();
            given += reader.feed(piece).len();
        }
        prop_assert!(given <= came, "{given} of {came}");
    }
}
