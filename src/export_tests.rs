use roundtable_engine::event::{Event, State};

use super::*;
use crate::render::test_support;

/// C-14: the file contains its charts, no script and nothing remote; C-12: the hostile turn is text.
#[test]
fn c14_the_html_file_is_self_contained_and_has_no_script() {
    let entries = test_support::journal(State::Partial);
    let file = html(&test_support::transcript(&entries), &test_support::report());
    for needed in [
        "<svg",
        "content=\"default-src 'none'; style-src 'unsafe-inline'",
        "Partial result: score/judge/mark",
        "gave no answer: ",
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
    let entries = test_support::journal(State::Partial);
    insta::assert_snapshot!(markdown(
        &test_support::transcript(&entries),
        &test_support::report()
    ));
}

#[test]
fn c14_a_debate_without_an_answer_can_be_exported() {
    let entries = test_support::running();
    let report = Report::default();
    for end in 1..=entries.len() {
        let transcript = test_support::transcript(&entries[..end]);
        assert!(markdown(&transcript, &report).contains("There is no answer."));
        assert!(html(&transcript, &report).contains("Running"));
    }
}

#[expect(
    clippy::default_trait_access,
    reason = "the type is private to the store"
)]
fn row(protocol: &str) -> DebateRow {
    DebateRow {
        id: uuid::Uuid::nil(),
        protocol: protocol.into(),
        question: "Why?".into(),
        state: State::Complete,
        created_at: 0,
        updated_at: 0,
        ended_at: None,
        totals: Default::default(),
        rating: None,
        result: None,
        parent: None,
        is_served: false,
        token: None,
    }
}

/// Each format has its own content, and a debate without training data says so in place of another format.
#[test]
fn c14_every_format_is_rendered_as_itself() {
    let entries = test_support::journal(State::Complete);
    let rendered = |format| render(format, &row("dialectic"), &entries);
    assert!(rendered(Format::Json).unwrap().starts_with('{'));
    assert!(rendered(Format::Yaml).unwrap().contains("\nfinal_answer:"));
    assert!(rendered(Format::Md).unwrap().starts_with("# "));
    assert!(
        rendered(Format::Html)
            .unwrap()
            .starts_with("<!doctype html>")
    );
    match rendered(Format::Jsonl) {
        Ok(line) => assert!(line.starts_with("{\"messages\":"), "{line}"),
        Err(error) => assert_eq!(error, ExportError::NoTrainingData),
    }
    for format in Format::ALL {
        assert_eq!(Format::named(format.name()), Some(format));
        assert_eq!(
            render(format, &row("dialectic"), &[]),
            Err(ExportError::NotStarted)
        );
    }
}

#[test]
fn a_debate_of_an_unknown_protocol_is_exported_as_a_document_only() {
    let mut entries = test_support::running();
    let Event::Opened(setup) = &mut entries[0].event else {
        panic!("the first entry opens the debate");
    };
    std::sync::Arc::make_mut(setup).protocol = "newer".into();
    let unknown = Err(ExportError::UnknownProtocol("newer".into()));
    assert_eq!(render(Format::Json, &row("newer"), &entries), unknown);
    assert_eq!(render(Format::Yaml, &row("newer"), &entries), unknown);
    assert!(render(Format::Md, &row("newer"), &entries).is_ok());
}

/// C-21: key figures and the reason of a partial result are not read as part of the answer.
#[test]
fn c21_the_answer_is_a_section_of_its_own() {
    let entries = test_support::journal(State::Partial);
    let report = Report {
        answer: Some("# Title\n\nYes.\n\n## Remaining caveats\n\n- one".into()),
        ..test_support::report()
    };
    let text = markdown(&test_support::transcript(&entries), &report);
    let (before, after) = text.split_once("## Answer\n\n").unwrap();
    assert!(before.contains("**Not complete:**"), "{before}");
    let (answer, rest) = after.split_once("\n## ").unwrap();
    assert_eq!(
        answer.trim_end(),
        "### Title\n\nYes.\n\n#### Remaining caveats\n\n- one"
    );
    assert!(rest.starts_with("Key figures\n\n- "), "{rest}");
}
