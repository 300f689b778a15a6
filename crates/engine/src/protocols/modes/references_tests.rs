//! M-15: cited passages are looked up, cited calculations repeated.

use roundtable_core::sources::{Source, of_text};

use super::*;

fn sources() -> Sources {
    Sources::new(vec![Source {
        name: "plan.md".into(),
        sha256: String::new(),
        passages: of_text("plan.md", "The move costs\n40,000 dollars."),
    }])
}

fn reference(title: &str, kind: EvidenceKind) -> Reference {
    Reference {
        number: 3,
        title: title.into(),
        url: Some("https://example.org".into()),
        gist: "what I say".into(),
        kind,
    }
}

#[test]
fn m15_a_cited_passage_keeps_its_own_words() {
    for kind in [EvidenceKind::Citation, EvidenceKind::ToolOutput] {
        let found = resolve(reference("[Plan.md:1-2]", kind), &sources());
        let expected = Reference {
            number: 3,
            title: "plan.md:1-2".into(),
            url: None,
            gist: "The move costs 40,000 dollars.".into(),
            kind: EvidenceKind::ToolOutput,
        };
        assert_eq!(Ok(expected), found);
    }
}

#[test]
fn m15_a_calculation_is_repeated_whatever_result_the_reply_states() {
    let found = resolve(
        reference("Calc: 40000 * 15% = 9", EvidenceKind::Citation),
        &sources(),
    );
    let expected = Reference {
        number: 3,
        title: "calc: 40000 * 15% = 6000".into(),
        url: None,
        gist: "what I say".into(),
        kind: EvidenceKind::Calculation,
    };
    assert_eq!(Ok(expected), found);
}

#[test]
fn m15_invented_tool_results_are_refused_and_other_works_are_not() {
    let title =
        |title: &str, kind| resolve(reference(title, kind), &sources()).map(|found| found.title);
    for refused in ["plan.md:9-12", "calc: 1 / 0", "calc:"] {
        assert_eq!(
            Err(refused.to_owned()),
            title(refused, EvidenceKind::Citation)
        );
    }
    assert_eq!(
        Err("my tool".to_owned()),
        title("my tool", EvidenceKind::ToolOutput)
    );
    assert_eq!(
        Err("my sum".to_owned()),
        title("my sum", EvidenceKind::Calculation)
    );
    for kept in ["plan.md", "plan.md, first part", "Smith: On queues", "E2"] {
        assert_eq!(Ok(kept.to_owned()), title(kept, EvidenceKind::Citation));
    }
}
