#![expect(clippy::float_cmp, reason = "the figures are exact, or rounded before")]

use super::*;

fn score(value: f64) -> OutOfHundred {
    OutOfHundred::new(value).unwrap()
}

fn between(low: f64, high: f64) -> Agreement {
    spread([("a", score(high)), ("b", score(low))])
        .unwrap()
        .agreement
}

/// T-06: exactly 10 is high confidence, exactly 20 is not a disagreement, exactly 30 is not severe.
#[test]
fn t06_agreement_at_its_boundaries() {
    assert_eq!(between(60.0, 60.0), Agreement::HighConfidence);
    assert_eq!(between(60.0, 70.0), Agreement::HighConfidence);
    assert_eq!(between(60.0, 70.01), Agreement::Ordinary);
    assert_eq!(between(60.0, 80.0), Agreement::Ordinary);
    assert_eq!(between(60.0, 80.01), Agreement::Disagreement);
    assert_eq!(between(60.0, 90.0), Agreement::Disagreement);
    assert_eq!(between(60.0, 90.01), Agreement::SevereDisagreement);
}

#[test]
fn t06_binary_rounding_noise_does_not_change_the_agreement() {
    assert_eq!(between(50.1, 70.1), Agreement::Ordinary);
    assert_eq!(between(0.1, 20.1), Agreement::Ordinary);
    assert_eq!(between(33.3, 63.3), Agreement::Disagreement);
    assert_eq!(between(8.2, 18.2), Agreement::HighConfidence);
}

#[test]
fn t06_the_judges_at_both_ends_are_named() {
    let found = spread([("a", score(70.0)), ("b", score(31.0)), ("c", score(67.0))]).unwrap();
    assert_eq!(
        (found.lowest.judge.as_str(), found.highest.judge.as_str()),
        ("b", "a")
    );
    assert_eq!(found.points, 39.0);
}

#[test]
fn t06_one_judge_alone_neither_agrees_nor_disagrees() {
    assert_eq!(spread([("a", score(70.0))]), None);
    assert_eq!(spread([]), None);
}
