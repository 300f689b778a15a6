#![expect(clippy::float_cmp, reason = "the figures are exact, or rounded before")]

use proptest::prelude::*;

use super::*;

fn measured(text: &str) -> Statistics {
    match Forensics::of(text) {
        Forensics::Measured(statistics) => *statistics,
        Forensics::TooLittle { words } => panic!("only {words} words"),
    }
}

fn numbers(from: usize, to: usize) -> String {
    let words: Vec<String> = (from..to).map(|number| format!("w{number}")).collect();
    words.join(" ")
}

#[test]
fn t02_texts_under_fifty_words_are_not_measured() {
    assert_eq!(Forensics::of(""), Forensics::TooLittle { words: 0 });
    assert_eq!(
        Forensics::of(&numbers(0, 49)),
        Forensics::TooLittle { words: 49 }
    );
    assert_eq!(measured(&numbers(0, 50)).words, 50);
    let said = Forensics::of("Two words.").explained();
    assert_eq!(
        said[0].meaning,
        "fewer than 50: too little to say anything from figures"
    );
}

/// T-02: sentences of 10, 20 and 30 words: mean 20, variance 66.7, burstiness (8.165 − 20) / (8.165 + 20).
#[test]
fn t02_sentence_lengths_and_burstiness_by_hand() {
    let sentence = |from: usize, to: usize| {
        let mut words = numbers(from, to);
        words.replace_range(0..1, "W");
        format!("{words}. ")
    };
    let text = sentence(0, 10) + &sentence(10, 30) + &sentence(30, 60);
    let found = measured(&text);
    assert_eq!((found.words, found.sentences), (60, 3));
    assert!((found.sentence_length_mean - 20.0).abs() < 1e-9);
    assert_eq!(format!("{:.2}", found.sentence_length_variance), "66.67");
    assert_eq!(format!("{:.3}", found.burstiness.unwrap()), "-0.420");
    assert_eq!(found.type_token_ratio, 1.0);
    assert_eq!(found.hapax_rate, 1.0);
    assert_eq!(
        format!("{:.4}", found.word_entropy),
        format!("{:.4}", 60_f64.log2())
    );
    assert_eq!(
        found.punctuation,
        BTreeMap::from([("full stop".into(), 50.0)])
    );
}

/// T-02: equal sentences give burstiness −1; a repeated phrase gives few types, no hapax and repeated runs.
#[test]
fn t02_a_text_that_repeats_itself_shows_it() {
    let found = measured(&"The cat sat on the mat. ".repeat(50));
    assert_eq!(found.burstiness, Some(-1.0));
    assert_eq!((found.words, found.hapax_rate), (300, 0.0));
    assert_eq!(format!("{:.4}", found.type_token_ratio), "0.0167");
    assert_eq!(
        format!("{:.2}", found.type_token_ratio_within_100.unwrap()),
        "0.05"
    );
    assert!(
        found.repeated_ngrams.share > 0.97,
        "{:?}",
        found.repeated_ngrams
    );
    assert_eq!(
        found.repeated_ngrams.most_frequent[0],
        Repeated {
            words: "the cat sat".into(),
            times: 50
        }
    );
    assert!(found.compressibility < 0.1);
}

const ENGLISH: &str = "Perhaps the plan is sound. Moreover, it seems that the cost of the work is likely to fall in the end.\n\n\
    In addition, the team may be able to do it by the summer, and that is what the board was asked for in this case.\n\n\
    As a result, the work is to start on the first of June, or as soon as the people are there and it is not too cold for it.";

/// T-02: including transitions of two words.
#[test]
fn t02_hedges_and_transitions_are_counted_in_english_only() {
    let found = measured(ENGLISH);
    // perhaps, seems, likely, may; moreover, in addition, a result
    assert_eq!(
        format!("{:.2}", found.hedging_rate.unwrap()),
        format!("{:.2}", 4000.0 / real(found.words))
    );
    assert_eq!(
        format!("{:.2}", found.formal_transition_rate.unwrap()),
        format!("{:.2}", 3000.0 / real(found.words))
    );
    assert_eq!(found.paragraphs, 3);
    assert!(found.reading_level_deviation.is_some());
    let german = measured(
        &"Der Hund lief schnell durch den Wald und sah dabei einen Fuchs am Bach. ".repeat(5),
    );
    assert_eq!(
        (german.hedging_rate, german.formal_transition_rate),
        (None, None)
    );
}

fn real(count: usize) -> f64 {
    u32::try_from(count).map(f64::from).unwrap()
}

#[test]
fn t02_scripts_without_spaces_are_measured_by_characters() {
    let found = measured(
        &"今日は天気がとても良いので、友達と公園へ行きました。桜がきれいに咲いていました。"
            .repeat(3),
    );
    assert_eq!(found.writing, Writing::Unspaced);
    assert_eq!(found.sentences, 6);
    assert_eq!((found.hedging_rate, found.reading_level_mean), (None, None));
    assert_eq!(found.repeated_ngrams.length, 6);
    assert!(found.punctuation.contains_key("full stop") && found.punctuation.contains_key("comma"));
    let russian =
        measured(&"Быстрая лиса прыгает через ленивую собаку каждый день утром. ".repeat(8));
    assert_eq!((russian.writing, russian.words), (Writing::Spaced, 64 + 8));
    assert_eq!(russian.type_token_ratio, 0.125);
}

#[test]
fn t02_line_breaks_within_a_paragraph_do_not_end_a_sentence() {
    let plain = measured(&ENGLISH.repeat(2));
    let wrapped = measured(&ENGLISH.repeat(2).replace(" is ", "\nis "));
    assert_eq!(plain.sentences, wrapped.sentences);
    assert_eq!(
        plain.sentence_length_variance,
        wrapped.sentence_length_variance
    );
}

#[test]
fn t02_every_figure_is_explained() {
    let names: Vec<_> = Forensics::of(ENGLISH)
        .explained()
        .into_iter()
        .map(|figure| figure.name)
        .collect();
    assert_eq!(
        names,
        [
            "Length",
            "Sentence length",
            "Burstiness",
            "Type-token ratio",
            "Hapax rate",
            "Repeated runs",
            "Punctuation",
            "Entropy",
            "Compressibility",
            "Hedging and formal transitions",
            "Reading level"
        ]
    );
    assert!(LIMITS.contains("no proof"));
}

#[test]
fn t02_claims_of_proof_are_found_and_denials_are_not() {
    assert_eq!(
        claims_of_proof("The low burstiness proves that a model wrote it."),
        ["proves"]
    );
    assert_eq!(
        claims_of_proof("This is definitely AI, without a doubt."),
        ["definitely", "without a doubt"]
    );
    assert_eq!(
        claims_of_proof("Evenness is no proof of anything."),
        [] as [&str; 0]
    );
    assert_eq!(
        claims_of_proof("The figures don’t and can't be conclusive; inconclusive at best."),
        [] as [&str; 0]
    );
    assert_eq!(
        claims_of_proof("It is not sure. This proves it."),
        ["proves"]
    );
}

proptest! {
    #[test]
    fn t02_any_text_gives_shares_between_0_and_1(text in "\\PC{0,400}") {
        if let Forensics::Measured(found) = Forensics::of(&text) {
            for share in [found.type_token_ratio, found.hapax_rate, found.compressibility, found.repeated_ngrams.share] {
                prop_assert!((0.0..=1.0).contains(&share), "{share}");
            }
            prop_assert!(found.burstiness.is_none_or(|value| (-1.0..=1.0).contains(&value)));
            prop_assert!(found.character_entropy.is_finite() && found.word_entropy.is_finite());
        }
    }
}
