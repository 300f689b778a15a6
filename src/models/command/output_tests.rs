use serde_json::json;

use super::*;

fn rule(text: &str) -> ReplyRule {
    ReplyRule {
        text: Some(text.into()),
        ..ReplyRule::default()
    }
}

fn text_of(
    output: Output,
    rules: &[ReplyRule],
    stdout: &str,
) -> Result<Option<String>, Unreadable> {
    read(output, rules, stdout.as_bytes()).map(|reply| reply.text)
}

#[test]
fn plain_text_is_the_reply() {
    assert_eq!(
        text_of(Output::Text, &[], " Yes.\n"),
        Ok(Some("Yes.".into()))
    );
}

#[test]
fn a_document_after_other_lines_is_found() {
    let rules = [rule("/a")];
    let stdout = "warning: {old}\n{ not json\nprogress 50%\n{\"a\":\n \"yes\"}\ntrailing words";
    assert_eq!(
        text_of(Output::Json, &rules, stdout),
        Ok(Some("yes".into()))
    );
    assert_eq!(
        text_of(Output::Json, &rules, "no json"),
        Err(Unreadable::NoJson)
    );
    assert_eq!(text_of(Output::Json, &rules, ""), Err(Unreadable::NoJson));
}

#[test]
fn half_a_reply_is_truncated_not_invalid() {
    let rules = [rule("/a")];
    assert_eq!(
        text_of(Output::Json, &rules, "starting\n{\"a\": \"ye"),
        Err(Unreadable::Truncated)
    );
    assert_eq!(
        text_of(Output::JsonLines, &rules, "{\"a\":1}\n{\"a\": \"ye"),
        Err(Unreadable::Truncated)
    );
    // The first two bytes of a character.
    assert_eq!(
        read(Output::Text, &[], b"caf\xe2\x82"),
        Err(Unreadable::Truncated)
    );
}

#[test]
fn invalid_utf8_is_reported_with_its_place() {
    assert_eq!(
        read(Output::Text, &[], b"ab\xffcd"),
        Err(Unreadable::NotUtf8 { at: 2 })
    );
}

#[test]
fn events_give_text_usage_and_the_end() {
    let on = |kind: &str| vec![("/type".to_owned(), json!(kind))];
    let rules = [
        ReplyRule {
            when: on("part"),
            append: Some("/text".into()),
            ..ReplyRule::default()
        },
        ReplyRule {
            when: on("done"),
            input_tokens: vec!["/usage/*/in".into(), "/usage/*/cache".into()],
            cached_tokens: vec!["/usage/*/cache".into()],
            output_tokens: vec!["/usage/*/out".into()],
            end: true,
            ..ReplyRule::default()
        },
    ];
    let parts = "noise\n{\"type\":\"part\",\"text\":\"a\"}\n{\"type\":\"other\",\"text\":\"!\"}\n{\"type\":\"part\",\"text\":\"b\"}\n";
    let incomplete = read(Output::JsonLines, &rules, parts.as_bytes()).unwrap();
    assert_eq!(incomplete.text.as_deref(), Some("ab"));
    assert!(!incomplete.is_complete);
    let end = json!({"type": "done", "usage": {
        "big": {"in": 10, "cache": 5, "out": 3}, "small": {"in": 1, "cache": 0, "out": 1},
    }});
    let whole = read(
        Output::JsonLines,
        &rules,
        format!("{parts}{end}\n").as_bytes(),
    )
    .unwrap();
    assert!(whole.is_complete);
    assert_eq!(
        whole.usage,
        Some(Usage {
            input: 16,
            output: 4,
            cached: 5
        })
    );
}

#[test]
fn structured_output_has_priority_over_text_and_null_is_no_error() {
    let rules = [ReplyRule {
        text: Some("/result".into()),
        json: Some("/structured".into()),
        error: Some("/error".into()),
        ..ReplyRule::default()
    }];
    let stdout = json!({"result": "Done.", "structured": {"yes": true}, "error": null}).to_string();
    let reply = read(Output::Json, &rules, stdout.as_bytes()).unwrap();
    assert_eq!(reply.text.as_deref(), Some("{\"yes\":true}"));
    assert_eq!(reply.error, None);
}

#[test]
fn absurd_token_counts_are_bounded() {
    let rules = [ReplyRule {
        input_tokens: vec!["/n".into(), "/n".into()],
        ..rule("/t")
    }];
    let stdout = json!({"t": "x", "n": u64::MAX}).to_string();
    let usage = read(Output::Json, &rules, stdout.as_bytes()).unwrap().usage;
    assert_eq!(usage.unwrap().input, MAX_REPORTED_TOKENS);
}
