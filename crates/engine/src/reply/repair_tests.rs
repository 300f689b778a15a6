use serde_json::json;

use super::*;

/// C-05: common JSON syntax errors are repaired without a retry and without changing the content.
#[test]
fn c05_syntax_errors_are_repaired() {
    let yes = json!({ "answer": "Yes.", "list": [1, 2] });
    let flags = json!({ "answer": "True or None", "ok": true, "no": false, "none": null });
    let nested = json!({ "list": [{ "a": 1 }, { "a": "2" }] });
    let cases = [
        // Extra and missing commas.
        (r#"{"answer": "Yes.", "list": [1, 2,],}"#, &yes),
        (r#"{"answer": "Yes." "list": [1 2]}"#, &yes),
        // Other quotes, and none.
        (r"{'answer': 'Yes.', 'list': [1, 2]}", &yes),
        (r#"{answer: "Yes.", list: [1, 2]}"#, &yes),
        // Comments.
        (
            "{\"answer\": \"Yes.\", // it's so\n \"list\": [1 /* } */, 2]}",
            &yes,
        ),
        ("{\"answer\": \"Yes.\", # it's so\n \"list\": [1, 2]}", &yes),
        // Python literals.
        (
            r#"{"answer": "True or None", "ok": True, "no": False, "none": None}"#,
            &flags,
        ),
        // Missing closing braces after a complete value.
        (r#"{"answer": "Yes.", "list": [1, 2]"#, &yes),
        (r#"{"answer": "Yes.", "list": [1, 2,"#, &yes),
        (
            r#"{"answer": "True or None", "ok": true, "no": false, "none": null"#,
            &flags,
        ),
        (r#"{"list": [{"a": 1}, {"a": "2"}"#, &nested),
        (r#"{"list": [{"a": 1}, {"a": "2""#, &nested),
        (r#"{"list": [{"a": 1}, {"a": "2"}}"#, &nested),
        (r#"{"list": [{"a": 1}, {"a": "2"]}"#, &nested),
    ];
    for (text, meant) in cases {
        assert_eq!(repaired(text).as_ref(), Some(meant), "{text}");
    }
}

/// C-05: strings keep every character: line breaks, inner quotes, backslashes, commas, braces, non-ASCII.
#[test]
fn c05_a_repaired_string_keeps_its_content() {
    let cases = [
        ("{\"a\": \"one\ntwo\tthree\"}", "one\ntwo\tthree"),
        (r#"{"a": "x, y: z, {w} [v]",}"#, "x, y: z, {w} [v]"),
        (r#"{"a": "He said "no" to it.",}"#, "He said \"no\" to it."),
        (r#"{'a': "It's so.",}"#, "It's so."),
        (r"{'a': 'It's so, isn\'t it?'}", "It's so, isn't it?"),
        (
            r#"{"a": "\alpha, C:\Data\users\\x, \u00e9, \ud83d\ude00 and \n \"so\"",}"#,
            "\\alpha, C:\\Data\\users\\x, é, 😀 and \n \"so\"",
        ),
        (r#"{"a": "\ud83d alone",}"#, "\\ud83d alone"),
        (
            r#"{"a": "see http://x.y # z, /* no */",}"#,
            "see http://x.y # z, /* no */",
        ),
        (r#"{"a": "Naïve 😀 “so”",}"#, "Naïve 😀 “so”"),
    ];
    for (text, meant) in cases {
        let meant = json!({ "a": meant });
        assert_eq!(repaired(text), Some(meant), "{text}");
    }
    assert_eq!(repaired(r#"{"größer": 1,}"#), Some(json!({ "größer": 1 })));
}

/// C-05: missing content is not invented.
#[test]
fn c05_truncated_or_missing_values_are_refused() {
    let cases = [
        // Truncated within a string, number, word or name, or before a value.
        r#"{"answer": "Yes, and"#,
        r#"{"answer": "Yes, and}"#,
        r#"{"answer": "Yes.", "score": 7"#,
        r#"{"answer": "Yes.", "list": [1, 2"#,
        r#"{"answer": "Yes.", "ok": tru"#,
        r#"{"answer": "Yes.", "score""#,
        r#"{"answer": "Yes.", "score","#,
        r#"{"answer": "Yes.", "score":"#,
        r#"{"answer": "Yes.", "list": ["#,
        r#"{"answer": "Yes.", "more": {"#,
        "{",
        // Left out.
        r#"{"answer": , "list": []}"#,
        r#"{"list": [], "answer": }"#,
        r#"{"answer": "Yes.", ...}"#,
        r#"{"answer": "Yes.", "list": [1, …]}"#,
        // Not JSON.
        r#"{"answer": """Yes.""", "list": []}"#,
        r#"{"answer" = "Yes."}"#,
        r#"{"answer": yes}"#,
        r#"{"answer": "Yes."} {"answer": "No."}"#,
        r#"{"answer": "Yes."]}"#,
        "{ I would rather not }",
        "I would rather not.",
        "",
    ];
    for text in cases {
        assert_eq!(repaired(text), None, "{text}");
    }
}
