use anstream::adapter::strip_str;
use roundtable_engine::event::State;
use roundtable_engine::report::{
    Badge, BadgeKind, Dissent, Fact, SeatFailure, VerdictAnswer, VerdictChange, VerdictConfidence,
};

use super::*;
use crate::render::test_support::verdict;

fn drawn(verdict: &Verdict, width: usize) -> Vec<String> {
    let question = "REST or GraphQL for the dashboard?";
    let lines = card(verdict, question, "Dialectic", Detail::Screen, width);
    let lines = lines.iter().map(|line| strip_str(line).to_string());
    lines.map(|line| line.trim_end().to_owned()).collect()
}

#[test]
fn a_verdict_on_80_columns() {
    insta::assert_snapshot!(drawn(&verdict(), 80).join("\n"));
}

/// The card of the longest verdict still fits on a screen of 24 lines, with the answer in it.
#[test]
fn the_longest_verdict_fits_on_the_screen() {
    let long = "many long words without an end ".repeat(40);
    let dissent = Dissent::new("skeptic", "Skeptic".into(), &long, Some(&long));
    let failure = SeatFailure {
        seat: "skeptic".into(),
        text: "Skeptic gave no answer in rounds 1, 2, 3, 4 and 5".into(),
        reason: long.clone(),
    };
    let verdict = Verdict {
        state: State::Partial,
        badge: Badge::new(BadgeKind::NotChallenged, long.clone(), Tone::Critical),
        answer: Some(VerdictAnswer::new(&long).headed(&long)),
        confidence: Some(VerdictConfidence::new(0.7, "7 of 10").because(Some(&long))),
        changed: Some(VerdictChange::new(false, long.clone())),
        dissent: vec![dissent; 5],
        caveats: vec![long.clone(); 5],
        figures: vec![Fact::new(&long, long.clone()); 5],
        ending: Some(long.clone()),
        failures: vec![failure; 5],
        ..verdict()
    };
    for width in [40, 80, 100] {
        let lines = drawn(&verdict, width);
        assert!(lines.len() <= 21, "{}", lines.join("\n"));
        let widest = lines.iter().map(|line| line.width()).max().unwrap();
        assert!(widest <= width, "{widest}: {}", lines.join("\n"));
        let text = lines.join("\n");
        assert!(text.contains("✗ many long words"), "{text}");
        for label in ["Failed", "Confidence", "Change", "Dissent", "8 calls"] {
            assert!(text.contains(label), "{label} is not in {text}");
        }
    }
}

/// An answer that was not challenged differs in its sign and its words, not only in colour.
#[test]
fn c22_an_unchallenged_answer_cannot_be_mistaken() {
    let text = "Not challenged: the skeptic did not answer";
    let verdict = Verdict {
        badge: Badge::new(BadgeKind::NotChallenged, text, Tone::Critical),
        ..verdict()
    };
    let lines = drawn(&verdict, 80);
    assert_eq!(lines[1], "✗ Not challenged: the skeptic did not answer");
    let challenged = drawn(&super::tests::verdict(), 80);
    assert_eq!(challenged[1], "✓ Challenged: 4 objections, 4 settled");
}

#[test]
fn a_debate_without_an_answer_has_a_card_too() {
    let verdict = Verdict {
        state: State::Failed,
        badge: Badge::new(BadgeKind::NoAnswer, "No answer", Tone::Critical),
        answer: None,
        confidence: None,
        changed: None,
        caveats: Vec::new(),
        figures: Vec::new(),
        ending: None,
        ..verdict()
    };
    let lines = drawn(&verdict, 80);
    assert_eq!(lines.len(), 5, "{}", lines.join("\n"));
    assert!(lines[0].ends_with("Dialectic · 3 rounds · failed"));
}

/// P-11: only the end of a live run is bounded to a screen; `show` has every row in full, wrapped, on a pipe too.
#[test]
fn p11_rows_in_full_are_not_cut() {
    let long = "many long words without an end "
        .repeat(40)
        .trim()
        .to_owned();
    let failure = |number: usize| SeatFailure {
        seat: "skeptic".into(),
        text: format!("Seat {number} gave no answer"),
        reason: format!("{long} {number}"),
    };
    let verdict = Verdict {
        caveats: vec![long.clone(); 3],
        failures: (1..=5).map(failure).collect(),
        ..verdict()
    };
    let lines = |detail| {
        let lines = card(&verdict, "Why?", "Dialectic", detail, 80);
        let lines = lines.iter().map(|line| strip_str(line).to_string());
        lines.collect::<Vec<_>>()
    };
    for detail in [Detail::Rows, Detail::Whole("The answer.")] {
        let wrapped = lines(detail);
        assert!(wrapped.iter().all(|line| line.width() <= 80), "{wrapped:?}");
        let text = wrapped.join(" ");
        let words: Vec<&str> = text.split_whitespace().collect();
        let text = words.join(" ");
        assert!(text.contains(&[long.as_str(); 3].join(" · ")), "{text}");
        for number in 1..=5 {
            let failed = format!("Seat {number} gave no answer: {long} {number}");
            assert!(text.contains(&failed), "{failed}: {text}");
        }
    }
}

/// C-06: a dead server fails every seat; its reason is on the card once.
#[test]
fn c06_a_reason_is_told_once_for_all_seats() {
    let failure = |title: &str, when: &str, reason: &str| SeatFailure {
        seat: title.to_lowercase(),
        text: format!("{title} gave no answer{when}"),
        reason: reason.into(),
    };
    let dead = "cannot reach the server";
    let verdict = Verdict {
        failures: vec![
            failure("Builder", " in round 1", dead),
            failure("Analyst", " in round 1", dead),
            failure("Judge", "", "the reply was empty"),
        ],
        ..verdict()
    };
    assert_eq!(
        failures(&verdict),
        [
            "Builder, Analyst gave no answer in round 1: cannot reach the server",
            "Judge gave no answer: the reply was empty",
        ]
    );
}
