#![expect(clippy::float_cmp, reason = "the figures are exact, or rounded before")]

use proptest::prelude::*;

use super::*;

fn vote(judge: &str, score: f64, confidence: Option<f64>) -> Vote {
    Vote {
        judge: judge.into(),
        score: OutOfHundred::new(score).unwrap(),
        confidence: confidence.map(|value| Confidence::new(value).unwrap()),
    }
}

#[test]
fn t05_the_worked_example_gives_70_46_displayed_as_70() {
    let votes = [
        vote("a", 65.0, Some(0.9)),
        vote("b", 78.0, Some(0.7)),
        vote("c", 70.0, Some(0.8)),
    ];
    let found = consensus(&votes).unwrap();
    assert_eq!(format!("{:.2}", found.score.value()), "70.46");
    assert_eq!(found.score.shown(), 70);
    assert_eq!(found.basis, Basis::Weighted);
    assert_eq!(format!("{:.2}", found.confidence.value()), "0.80");
}

#[test]
fn t05_a_single_judges_score_is_used_as_it_is() {
    let expected = Consensus {
        score: OutOfHundred::new(72.0).unwrap(),
        basis: Basis::Single,
        confidence: Confidence::new(0.85).unwrap(),
        excluded: Vec::new(),
    };
    assert_eq!(consensus(&[vote("hook", 72.0, Some(0.85))]), Some(expected));
    let unsure = consensus(&[vote("hook", 72.0, Some(0.0))]).unwrap();
    assert_eq!((unsure.score.value(), unsure.basis), (72.0, Basis::Single));
}

/// T-05: one confidence above zero is enough for weighting.
#[test]
fn t05_zero_confidences_give_the_plain_mean() {
    let zero = consensus(&[vote("a", 40.0, Some(0.0)), vote("b", 80.0, Some(0.0))]).unwrap();
    assert_eq!((zero.score.value(), zero.basis), (60.0, Basis::PlainMean));
    let one = consensus(&[vote("a", 40.0, Some(0.0)), vote("b", 80.0, Some(0.01))]).unwrap();
    assert_eq!((one.score.value(), one.basis), (80.0, Basis::Weighted));
}

#[test]
fn t05_a_judge_without_a_confidence_is_excluded_and_named() {
    let found = consensus(&[
        vote("a", 40.0, Some(0.5)),
        vote("b", 90.0, None),
        vote("c", 60.0, Some(0.5)),
    ])
    .unwrap();
    assert_eq!(found.score.value(), 50.0);
    assert_eq!(found.excluded, ["b"]);
    assert_eq!(consensus(&[vote("b", 90.0, None)]), None);
    assert_eq!(consensus(&[]), None);
}

proptest! {
    #[test]
    fn t05_a_consensus_lies_within_its_scores_and_order_does_not_matter(
        given in proptest::collection::vec((0.0..=100.0_f64, 0.0..=1.0_f64), 1..8),
    ) {
        let votes: Vec<_> = given.iter().map(|(score, confidence)| vote("j", *score, Some(*confidence))).collect();
        let found = consensus(&votes).unwrap().score.value();
        let low = given.iter().map(|(score, _)| *score).fold(f64::INFINITY, f64::min);
        let high = given.iter().map(|(score, _)| *score).fold(f64::NEG_INFINITY, f64::max);
        prop_assert!(found >= low - 1e-9 && found <= high + 1e-9);
        let reversed: Vec<_> = votes.into_iter().rev().collect();
        prop_assert!((consensus(&reversed).unwrap().score.value() - found).abs() < 1e-9);
    }
}
