use proptest::prelude::*;

use super::*;

fn reference(number: u32, title: &str) -> Reference {
    Reference {
        number,
        title: title.into(),
        url: None,
        gist: String::new(),
        kind: EvidenceKind::Citation,
    }
}

fn numbers(text: &str) -> Vec<u32> {
    parse(text).numbers.into_iter().collect()
}

#[test]
fn m04_single_adjacent_and_range_citations_are_parsed() {
    assert_eq!(numbers("a [1]"), [1]);
    assert_eq!(numbers("a [1][2]"), [1, 2]);
    assert_eq!(numbers("a [1-3]"), [1, 2, 3]);
    let design = "Smith argues that AI safety is paramount [1], while recent studies \
                  suggest implementation challenges remain significant [2][3].";
    assert_eq!(
        parse(design),
        Cited {
            numbers: [1, 2, 3].into(),
            strange: vec![]
        }
    );
}

/// M-04: other citation styles are reported; text that is not a citation is ignored.
#[test]
fn m04_other_citation_styles_are_reported() {
    let strange = |text: &str| parse(text).strange;
    for text in [
        "[1, 2]",
        "[1–3]",
        "[3-1]",
        "[^1]",
        "[Smith 2024]",
        "(Smith, 2024)",
        "[Smith et al.]",
        "[0]",
        "[1-900]",
        "(O'Neil 1999a)",
    ] {
        assert_eq!(strange(text), [text], "{text}");
        assert_eq!(numbers(text), [0; 0], "{text}");
    }
    for text in [
        "[x]",
        "[FACT]",
        "[C3]",
        "[a link](https://example.org/2024)",
        "(May 2024)",
        "(the queue)",
        "[]",
        "[[",
        "](",
    ] {
        assert_eq!(strange(text), [""; 0], "{text}");
    }
}

/// M-04: [9] of 3 references, a gap in the numbers, a reference without a title.
#[test]
fn m04_citations_are_checked_against_the_list() {
    let list = [
        reference(1, "One"),
        reference(2, "Two"),
        reference(3, "Three"),
    ];
    assert_eq!(check(&parse("a [1] b [2-3]"), &list), []);
    assert_eq!(
        check(&parse("a [9]"), &list),
        [CitationFault::Unlisted {
            number: 9,
            listed: 3
        }]
    );
    let broken = [reference(1, "One"), reference(3, " … ")];
    assert_eq!(
        check(&parse("[1]"), &broken),
        [
            CitationFault::Misnumbered {
                expected: 2,
                found: 3
            },
            CitationFault::Untitled { number: 3 }
        ]
    );
}

/// M-04: spellings of one title match; two editions do not.
#[test]
fn m04_the_same_source_is_recognised() {
    assert_eq!(
        address_key("https://WWW.Example.org/a/"),
        address_key("http://example.org/a#top")
    );
    assert_ne!(
        address_key("https://example.org/a"),
        address_key("https://example.org/b")
    );
    assert!(same_title(
        "Smith, J. (2024). AI Safety Principles. Nature AI.",
        "smith j 2024 ai safety principles, nature ai"
    ));
    assert!(!same_title(
        "Report on traffic in the city 2023",
        "Report on traffic in the city 2024"
    ));
    assert!(!same_title("Queues", "Caches"));
    assert!(!same_title("", ""));
}

proptest! {
    /// M-04: parsing any text terminates and finds only numbers that occur in it.
    #[test]
    fn m04_any_text_can_be_parsed(text in "(\\[[0-9,\\-^ ]{0,4}\\]|\\(|\\)|\\[|\\]|[a-zé ]{0,4}|2024){0,20}") {
        let cited = parse(&text);
        prop_assert!(cited.numbers.iter().all(|number| *number > 0));
        check(&cited, &[]);
        starts_with_citation(&text);
        ends_with_citation(&text);
    }
}

proptest! {
    #[test]
    fn m04_arbitrary_unicode_never_panics(text in any::<String>(), a in any::<String>(), b in any::<String>()) {
        let cited = parse(&text);
        check(&cited, &[reference(1, &a), reference(u32::MAX, &b)]);
        starts_with_citation(&text);
        ends_with_citation(&text);
        address_key(&text);
        same_title(&a, &b);
    }

    #[test]
    fn m04_a_huge_range_uses_bounded_memory(from in any::<u64>(), to in any::<u64>()) {
        let cited = parse(&format!("It is so [{from}-{to}]."));
        prop_assert!(cited.numbers.len() <= 10_000, "{} numbers", cited.numbers.len());
    }
}

/// M-16: citations of a seat's own list become ids of the registry; everything else stays.
#[test]
fn m16_citations_become_ids_of_the_registry() {
    let ids = BTreeMap::from([(1, "E3".to_owned()), (2, "E4".to_owned())]);
    for (said, kept) in [
        ("Demand falls.[INFER][1][2]", "Demand falls.[INFER][E3][E4]"),
        ("See [1-2].", "See [E3][E4]."),
        ("See [1-3].", "See [E3][E4][3]."),
        ("[3] is unknown", "[3] is unknown"),
        (
            "[E3], [C1], [x], [1, 2] and [0]",
            "[E3], [C1], [x], [1, 2] and [0]",
        ),
        ("Später[1] – [[2]]", "Später[E3] – [[E4]]"),
        ("no citation ] [", "no citation ] ["),
        ("", ""),
    ] {
        assert_eq!(renumber(said, &ids), kept);
    }
}

proptest! {
    #[test]
    fn m16_without_ids_nothing_is_renumbered(text in "[a-z0-9 \\[\\]ä-]{0,40}") {
        prop_assert_eq!(renumber(&text, &BTreeMap::new()), text);
    }
}
