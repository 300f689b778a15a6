use roundtable_engine::event::State;

use super::*;
use crate::render::samples;

/// C-14: the file contains its charts, no script and nothing remote; C-12: the hostile turn is text.
#[test]
fn c14_the_html_file_is_self_contained_and_has_no_script() {
    let entries = samples::journal(State::Partial);
    let file = html(&samples::transcript(&entries), &samples::report());
    for needed in [
        "<svg",
        "content=\"default-src 'none'; style-src 'unsafe-inline'",
        "Partial result: score/judge/mark",
        "Judge is absent",
    ] {
        assert!(file.contains(needed), "{needed}");
    }
    for forbidden in [
        "<script",
        "<img",
        "<iframe",
        "<form",
        "<link",
        "onerror=\"",
        "javascript:alert(1)\"",
        "url(",
    ] {
        assert!(!file.contains(forbidden), "{forbidden}");
    }
    // The only links are those of the model.
    assert!(
        file.split("href=\"")
            .skip(1)
            .all(|rest| rest.starts_with('#') || rest.starts_with("https://example.org/"))
    );
    let shown = file.replace(&render::style().to_string(), "…");
    insta::assert_snapshot!(shown);
}

#[test]
fn c14_the_markdown_holds_everything_the_page_does() {
    let entries = samples::journal(State::Partial);
    insta::assert_snapshot!(markdown(&samples::transcript(&entries), &samples::report()));
}

#[test]
fn c14_a_debate_without_an_answer_can_be_exported() {
    let entries = samples::running();
    let report = Report::default();
    for end in 1..=entries.len() {
        let transcript = samples::transcript(&entries[..end]);
        assert!(markdown(&transcript, &report).contains("There is no answer."));
        assert!(html(&transcript, &report).contains("Running"));
    }
}
