use super::*;
use crate::forecast::brier;

fn yes(probability: f64) -> Distribution {
    Distribution::normalised(&[probability, 1.0 - probability]).unwrap()
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12, "{found} {expected}");
}

/// Five forecasts of 0.8 of which four come true, five of 0.3 of which one does.
#[test]
fn b09_a_calibrated_part_costs_nothing_and_an_uncalibrated_one_does() {
    let mut questions = vec![(yes(0.8), 0); 4];
    questions.push((yes(0.8), 1));
    questions.push((yes(0.3), 0));
    questions.extend(vec![(yes(0.3), 1); 4]);
    let found = decompose(&questions, 10).unwrap();
    // 0.8 was right, 0.3 should have been 0.2.
    near(found.reliability, 0.5 * 0.01);
    near(found.resolution, 0.09);
    near(found.uncertainty, 0.25);
    near(found.within_bins, 0.0);
    near(found.brier, 0.005 - 0.09 + 0.25);
    near(found.sharpness, 0.0625);
    near(found.mean_highest, 0.75);
    assert_eq!(found.questions, 10);
}

#[test]
fn b09_the_parts_add_up_to_the_brier_score_with_any_number_of_outcomes() {
    let three = |a: f64, b: f64| Distribution::normalised(&[a, b, 1.0 - a - b]).unwrap();
    let questions = [
        (three(0.5, 0.3), 0),
        (three(0.15, 0.65), 2),
        (yes(0.19), 1),
        (yes(0.11), 0),
        (three(0.05, 0.05), 2),
    ];
    let found = decompose(&questions, 10).unwrap();
    let scores = questions
        .iter()
        .map(|(forecast, happened)| brier(forecast, *happened).unwrap());
    near(found.brier, scores.sum::<f64>() / 5.0);
    let sum = found.reliability - found.resolution + found.uncertainty + found.within_bins;
    near(found.brier, sum);
    assert!(found.within_bins.abs() > 1e-4);
}

#[test]
fn b09_always_saying_the_base_rate_is_reliable_and_useless() {
    let questions = [(yes(0.5), 0), (yes(0.5), 1)];
    let found = decompose(&questions, 10).unwrap();
    near(found.reliability, 0.0);
    near(found.resolution, 0.0);
    near(found.brier, found.uncertainty);
    near(found.sharpness, 0.0);
}

#[test]
fn b09_a_probability_on_the_edge_of_a_bin_is_in_the_bin_above_it() {
    assert_eq!(bin_of(0.0, 10), 0);
    assert_eq!(bin_of(0.099, 10), 0);
    assert_eq!(bin_of(0.1, 10), 1);
    assert_eq!(bin_of(0.999, 10), 9);
    assert_eq!(bin_of(1.0, 10), 9);
}

#[test]
fn b09_there_is_nothing_to_decompose_without_questions_or_outcomes() {
    assert_eq!(decompose(&[], 10), None);
    assert_eq!(decompose(&[(yes(0.5), 2)], 10), None);
}
