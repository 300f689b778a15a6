//! M-15 and E-18: passages, search, and checking claims against them.

use proptest::prelude::*;

use super::*;

fn passage(source: &str, line: u32, text: &str) -> Passage {
    let place = Place::Lines {
        from: line,
        to: line,
    };
    Passage::new(source, place, None, text.to_owned())
}

fn sources() -> Sources {
    let plan = of_text(
        "plan.md",
        "# Budget\n\nThe move costs 40,000 dollars.\n\n# Risks\n\nTwo engineers know Rust.\n",
    );
    let rows = of_rows(
        "calls.csv",
        &[
            (2, "month: May; calls: 310".into()),
            (3, "month: June; calls: 420".into()),
        ],
    );
    let pages = of_pages(
        "report.pdf",
        &["First page.".into(), String::new(), "Third page.".into()],
    );
    let source = |name: &str, passages| Source {
        name: name.into(),
        sha256: String::new(),
        passages,
    };
    Sources::new(vec![
        source("plan.md", plan),
        source("calls.csv", rows),
        source("report.pdf", pages),
    ])
}

#[test]
fn m15_passages_have_their_location() {
    let sources = sources();
    let all: Vec<(&str, String, &str)> = sources
        .passages()
        .map(|p| (p.id.as_str(), p.place.to_string(), p.text.as_str()))
        .collect();
    let expected = [
        (
            "plan.md:1-3",
            "lines 1–3",
            "# Budget\n\nThe move costs 40,000 dollars.",
        ),
        (
            "plan.md:5-7",
            "lines 5–7",
            "# Risks\n\nTwo engineers know Rust.",
        ),
        (
            "calls.csv:r2-3",
            "rows 2–3",
            "month: May; calls: 310\nmonth: June; calls: 420",
        ),
        ("report.pdf:p1", "page 1", "First page."),
        ("report.pdf:p3", "page 3", "Third page."),
    ];
    let expected: Vec<_> = expected
        .iter()
        .map(|(id, place, text)| (*id, (*place).to_owned(), *text))
        .collect();
    assert_eq!(expected, all);
}

#[test]
fn m15_a_passage_is_found_by_its_id_however_models_write_it() {
    let sources = sources();
    for id in ["plan.md:5-7", "[plan.md:5-7]", " `Plan.md:5-7` "] {
        assert_eq!(
            Some("plan.md:5-7"),
            sources.passage(id).map(|passage| passage.id.as_str()),
            "{id}"
        );
    }
    for id in ["plan.md:5-8", "plan.md", "5-7", "", "../plan.md:5-7"] {
        assert_eq!(None, sources.passage(id), "{id}");
    }
    assert_eq!(Some(2), sources.from("plan.md").map(<[Passage]>::len));
    assert_eq!(Some(1), sources.from("plan.md:5-7").map(<[Passage]>::len));
    assert_eq!(None, sources.from("/etc/passwd"));
    assert_eq!(
        Some("plan.md"),
        sources
            .named("plan.md:99")
            .map(|source| source.name.as_str())
    );
    assert_eq!(None, sources.named("plan.mdx"));
}

#[test]
fn m15_a_passage_is_never_longer_than_the_limit() {
    let line = |length: usize| "a".repeat(length);
    assert_eq!(1, of_text("a", &line(MAX_PASSAGE_LENGTH)).len());
    let two = of_text("a", &line(MAX_PASSAGE_LENGTH + 1));
    let ids: Vec<&str> = two.iter().map(|passage| passage.id.as_str()).collect();
    assert_eq!(vec!["a:1", "a:1#2"], ids);
    // Two lines fit only if the line break between them fits too.
    let fits = format!("{}\n{}", line(449), line(450));
    assert_eq!(1, of_text("a", &fits).len());
    let too_long = format!("{}\n{}", line(450), line(450));
    assert_eq!(2, of_text("a", &too_long).len());
}

#[test]
fn m15_rare_words_count_more_and_unknown_words_find_nothing() {
    let sources = sources();
    let found = |words: &str| -> Vec<String> {
        sources
            .search(words, 3)
            .iter()
            .map(|passage| passage.id.clone())
            .collect()
    };
    assert_eq!(vec!["plan.md:1-3"], found("What does the move cost? cost"));
    assert_eq!(vec!["plan.md:5-7", "plan.md:1-3"], found("engineer plan"));
    assert_eq!(vec!["calls.csv:r2-3"], found("calls in JUNE"));
    assert_eq!(Vec::<String>::new(), found("submarine"));
    assert_eq!(Vec::<String>::new(), found(""));
    assert_eq!(1, sources.search("page", 1).len());
}

#[test]
fn m15_sources_survive_json() {
    let sources = sources();
    let text = serde_json::to_string(&sources).unwrap();
    assert_eq!(sources, serde_json::from_str(&text).unwrap());
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("([a-f]{1,3}( |\\. |\n|\n\n# )){0,60}", 1..12)
}

proptest! {
    #[test]
    fn m15_nothing_but_blanks_is_lost_in_passages(text in "(\\PC|\n){0,3000}") {
        let dense = |text: &str| -> String { text.chars().filter(|c| !c.is_whitespace()).collect() };
        let passages = of_text("f", &text);
        let together: String = passages.iter().map(|passage| dense(&passage.text)).collect();
        prop_assert_eq!(dense(&text), together);
        for passage in &passages {
            prop_assert!(passage.text.chars().count() <= MAX_PASSAGE_LENGTH);
            prop_assert!(!passage.text.trim().is_empty());
        }
        let ids: std::collections::BTreeSet<&str> = passages.iter().map(|passage| passage.id.as_str()).collect();
        prop_assert_eq!(ids.len(), passages.len());
    }

    #[test]
    fn m15_a_search_finds_and_orders_only_passages_with_a_word(texts in texts(), query in "[a-f]{1,3}( [a-f]{1,3}){0,3}", most in 0_usize..8) {
        let passages: Vec<Passage> = texts.iter().zip(1..).map(|(text, line)| passage("x", line, text)).collect();
        let index = Index::of(&passages);
        let found = index.search(&query, most);
        prop_assert!(found.len() <= most);
        prop_assert_eq!(&found, &Index::of(&passages).search(&query, most));
        for pair in found.windows(2) {
            let order = pair[1].score.total_cmp(&pair[0].score).then(pair[0].at.cmp(&pair[1].at));
            prop_assert_eq!(std::cmp::Ordering::Less, order);
        }
        for hit in &found {
            prop_assert!(hit.score > 0.0 && hit.score.is_finite());
        }
        // A longer list starts with the shorter one.
        let all = index.search(&query, usize::MAX);
        prop_assert_eq!(&all[..found.len()], &found[..]);
    }

    #[test]
    fn e18_a_verbatim_claim_is_supported(words in prop::collection::vec("[b-z]{5,9}", 3..12), figure in 1_u32..9999) {
        let claim = format!("{} {figure}", words.join(" "));
        let passages = [passage("s", 1, &format!("Before. {claim}. After."))];
        let supported = Checked::Supported { passage: "s:1".into() };
        prop_assume!(!claim.contains("without") && !claim.contains("never") && !claim.contains("neither") && !claim.contains("cannot") && !claim.contains("nobody"));
        prop_assert_eq!(supported, check(&claim, "s", &passages));
    }
}

fn checked(claim: &str, text: &str) -> Checked {
    check(claim, "s", &[passage("s", 1, text)])
}

fn supported() -> Checked {
    Checked::Supported {
        passage: "s:1".into(),
    }
}

fn contradicted(figure: &str) -> Checked {
    Checked::Contradicted {
        passage: "s:1".into(),
        figure: Some(figure.into()),
    }
}

#[test]
fn e18_a_claim_is_supported_from_60_percent_of_its_words_on() {
    // Five content words: three are enough, two are not.
    let claim = "queues absorb sudden write bursts";
    assert_eq!(supported(), checked(claim, "The queue will absorb bursts."));
    assert_eq!(
        Checked::NotFound,
        checked(claim, "The queue is for bursts.")
    );
    assert_eq!(Checked::NotFound, checked("", "Anything."));
    assert_eq!(Checked::NotFound, checked("the of and", "the of and"));
}

#[test]
fn e18_only_the_cited_source_counts() {
    let passages = [
        passage("a.md", 1, "Costs doubled in May."),
        passage("b.md", 4, "Costs doubled in May."),
    ];
    let at = |cited: &str| check("costs doubled in May", cited, &passages);
    let supported = |id: &str| Checked::Supported { passage: id.into() };
    assert_eq!(supported("b.md:4"), at("b.md"));
    assert_eq!(supported("b.md:4"), at("B.md:4"));
    assert_eq!(supported("b.md:4"), at("b.md, line 4"));
    assert_eq!(Checked::NotFound, at("c.md"));
    assert_eq!(Checked::NotFound, at("b.mdx"));
    assert_eq!(Checked::NotFound, at("b.md:5"));
    assert_eq!(
        supported("a.md:1"),
        check_anywhere("costs doubled in May", &passages)
    );
}

#[test]
fn e18_another_figure_of_the_same_kind_contradicts() {
    let text = "Latency fell by 35% in 2024 after the migration, at a cost of $1.2 million.";
    assert_eq!(
        supported(),
        checked("Latency fell by 35% after the migration", text)
    );
    assert_eq!(
        contradicted("35%"),
        checked("Latency fell by 53% after the migration", text)
    );
    assert_eq!(
        contradicted("2024"),
        checked("Latency fell after the migration in 2023", text)
    );
    assert_eq!(
        contradicted("$1.2 million"),
        checked(
            "The migration after which latency fell had a cost of $2 million",
            text
        )
    );
    // No figure of that kind is there, so the claim is neither contradicted nor supported.
    assert_eq!(
        Checked::NotFound,
        checked(
            "Latency fell by 35 milliseconds after the migration",
            "Latency fell by 35% after the migration."
        )
    );
}

#[test]
fn e18_figures_agree_within_the_precision_of_the_less_precise() {
    let text = "The service handled 1,249,999 requests.";
    assert_eq!(
        supported(),
        checked("The service handled 1.2 million requests", text)
    );
    assert_eq!(
        contradicted("1,250,001"),
        checked(
            "The service handled 1.2 million requests",
            "The service handled 1,250,001 requests."
        )
    );
    assert_eq!(
        supported(),
        checked("The service handled 1,249,999 requests", text)
    );
    assert_eq!(
        contradicted("1,249,999"),
        checked("The service handled 1,249,998 requests", text)
    );
    assert_eq!(
        supported(),
        checked("growth was 12 percent", "Growth was 12%.")
    );
    assert_eq!(
        contradicted("12%"),
        checked("growth was 13 percent", "Growth was 12%.")
    );
}

#[test]
fn e18_a_sentence_that_says_the_opposite_contradicts() {
    let text = "The cache does not survive a restart.";
    assert_eq!(
        supported(),
        checked("The cache doesn't survive a restart", text)
    );
    let denied = Checked::Contradicted {
        passage: "s:1".into(),
        figure: None,
    };
    assert_eq!(denied, checked("The cache will survive a restart", text));
    let bridge = "The bridge carries 31,500 vehicles a day and has no toll.";
    assert_eq!(
        denied,
        checked("The bridge does not carry 31,500 vehicles a day", bridge)
    );
    assert_eq!(
        supported(),
        checked("The bridge carries 31,500 vehicles a day", bridge)
    );
}

#[test]
fn e18_versions_ordinals_and_words_with_digits_are_not_figures() {
    let read = |text: &str| -> Vec<String> {
        figures::figures(text)
            .into_iter()
            .map(|figure| figure.text)
            .collect()
    };
    assert_eq!(Vec::<String>::new(), read("v1.2.3, HTTP2, 3rd, 1.2.3"));
    assert_eq!(
        vec!["1,200", "3.5bn", "7 %", "$40k", "2024", "12", "5"],
        read("1,200 and 3.5bn, 7 % or $40k in 2024: 12,5")
    );
}
