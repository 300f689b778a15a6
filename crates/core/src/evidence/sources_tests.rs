use proptest::prelude::*;

use super::*;

fn same(a: &str, b: &str) -> bool {
    same_source(&Cited::read(a), &Cited::read(b))
}

#[test]
fn e07_spellings_of_one_source_match() {
    for (a, b) in [
        ("Team size research", "team-size RESEARCH."),
        ("Team size research", "The team size research"),
        ("Team size research", "Team size reserch"),
        (
            "https://spec.graphql.org/",
            "GraphQL specification (http://www.spec.graphql.org)",
        ),
        (
            "https://example.org/a/index.html?utm_source=x#top",
            "http://EXAMPLE.org:80/a",
        ),
        (
            "https://example.org/?b=2&a=1",
            "https://example.org/?a=1&b=2",
        ),
        ("Fowler: Microservices", "Microservices (Fowler)"),
    ] {
        assert!(same(a, b), "{a} / {b}");
        assert!(same(b, a), "{b} / {a}");
    }
}

#[test]
fn e07_different_sources_do_not_match() {
    for (a, b) in [
        ("RFC 7231", "RFC 7232"),
        ("Annual report 2019", "Annual report 2020"),
        ("https://example.org/a", "https://example.org/b"),
        ("https://example.org/?p=1", "https://example.org/?p=2"),
        ("Evaluation, part A", "Evaluation, part B"),
        ("DDD book", "YAGNI principle"),
        ("", ""),
        ("...", "!!!"),
        ("cat", "car"),
    ] {
        assert!(!same(a, b), "{a} / {b}");
    }
}

#[test]
fn e07_one_source_under_three_spellings_is_registered_once() {
    let mut registry = Registry::default();
    let ids: Vec<SourceId> = [
        "GraphQL specification (https://spec.graphql.org)",
        "HTTP://spec.graphql.org/",
        "the GraphQL Specification",
    ]
    .into_iter()
    .zip(["a", "b", "c"])
    .map(|(text, seat)| registry.cite(seat, Some(EvidenceType::Documented), &Cited::read(text)))
    .collect();
    assert_eq!(ids, [SourceId(0); 3]);
    let source = registry.get(SourceId(0)).unwrap();
    assert_eq!(source.cited_by.len(), 3);
    assert_eq!(source.spellings.len(), 2);
    assert_eq!(source.kinds[&EvidenceType::Documented], 3);
}

#[test]
fn the_address_is_extracted_from_the_text() {
    assert_eq!(
        Cited::read("See the guide (https://example.org/guide)."),
        Cited {
            title: "See the guide".into(),
            address: Some("https://example.org/guide".into())
        }
    );
    assert!(Cited::read(" — ").is_empty());
    assert!(!Cited::read("www.example.org").is_empty());
}

proptest! {
    #[test]
    fn e07_being_the_same_source_is_symmetric_and_reflexive(a in "[a-zA-Z0-9 ./:()-]{0,30}", b in "[a-zA-Z0-9 ./:()-]{0,30}") {
        prop_assert_eq!(same(&a, &b), same(&b, &a));
        prop_assert_eq!(same(&a, &a), !Cited::read(&a).is_empty());
    }

    #[test]
    fn arbitrary_text_never_panics(text in any::<String>(), other in any::<String>()) {
        let _ = same(&text, &other);
    }
}
