use super::*;

fn is_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
}

fn is_interval(found: Interval, low: f64, high: f64) {
    is_near(found.low, low);
    is_near(found.high, high);
}

#[test]
fn b01_a_share_has_a_wilson_interval() {
    is_interval(wilson(8, 10), 0.490_162, 0.943_318);
    is_interval(wilson(0, 20), 0.0, 0.161_125);
    is_interval(wilson(137, 200), 0.617_650, 0.745_377);
}

#[test]
fn b01_answers_in_clusters_have_a_larger_error() {
    let clusters = [
        vec![1.0, 1.0, 0.0],
        vec![0.0, 0.0],
        vec![1.0; 4],
        vec![0.0, 1.0],
    ];
    is_near(clustered_error(&clusters).unwrap(), 0.205_119);
    let alone: Vec<Vec<f64>> = clusters.iter().flatten().map(|x| vec![*x]).collect();
    let naive = clustered_error(&alone).unwrap() * (10.0_f64 / 11.0).sqrt();
    is_near(naive, 0.145_041);
    assert_eq!(clustered_error(&clusters[..1]), None);
    assert_eq!(clustered_error(&[]), None);
}

#[test]
fn b01_two_arms_are_compared_question_by_question() {
    let counts = Paired {
        both: 60,
        only_first: 12,
        only_second: 3,
        neither: 25,
    };
    is_near(counts.difference(), 0.09);
    is_interval(counts.interval(), 0.015_992, 0.163_209);
    is_near(counts.mid_p(), 0.021_271);
    is_near(counts.exact_p(), 0.035_156);
    let even = Paired {
        only_first: 15,
        only_second: 15,
        ..Paired::default()
    };
    is_near(even.mid_p(), 1.0);
    let pairs = [(true, true), (true, false), (false, true), (false, false)];
    let one_each = Paired {
        both: 1,
        only_first: 1,
        only_second: 1,
        neither: 1,
    };
    assert_eq!(Paired::of(pairs), one_each);
}

#[test]
fn b01_several_comparisons_are_corrected() {
    let adjusted = holm(&[0.04, 0.003, 0.3, 0.02]);
    for (found, expected) in adjusted.iter().zip([0.08, 0.012, 0.3, 0.06]) {
        is_near(*found, expected);
    }
    assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
}

#[test]
fn b01_the_smallest_difference_that_could_be_seen() {
    assert!((smallest_difference(200, 0.15) - 0.077).abs() < 5e-4);
    assert!((smallest_difference(1_000, 0.15) - 0.034).abs() < 5e-4);
    assert_eq!(questions_for(0.02, 0.15), 2_944);
}

#[test]
fn b01_a_vote_of_k_is_exact() {
    let counts = [6, 3, 1];
    is_near(vote_of(1, &counts, 0).unwrap(), 0.6);
    is_near(vote_of(3, &counts, 0).unwrap(), 0.716_667);
    is_near(vote_of(5, &counts, 0).unwrap(), 0.827_381);
    is_near(vote_of(5, &counts, 1).unwrap(), 0.172_619);
    is_near(vote_of(10, &counts, 0).unwrap(), 1.0);
    assert_eq!(vote_of(11, &counts, 0), None);
    assert_eq!(vote_of(0, &counts, 0), None);
    assert_eq!(vote_of(1, &counts, 3), None);
}

#[test]
fn the_bootstrap_contains_the_mean_and_is_the_same_each_time() {
    let clusters: Vec<Vec<f64>> = (0..40).map(|i| vec![f64::from(i % 5), 1.0]).collect();
    let found = bootstrap(&clusters).unwrap();
    assert!(found.low < 1.5 && 1.5 < found.high, "{found:?}");
    assert_eq!(bootstrap(&clusters), Some(found));
    assert_eq!(bootstrap(&[]), None);
    assert_eq!(bootstrap(&[vec![]]), None);
    is_interval(bootstrap(&[vec![2.0, 4.0]]).unwrap(), 3.0, 3.0);
}

#[test]
fn b01_a_ratio_has_a_bootstrap_interval() {
    let clusters: Vec<(f64, f64)> = (0..40).map(|i| (f64::from(i % 5), 2.0)).collect();
    let found = bootstrap_ratio(&clusters).unwrap();
    assert!(found.low < 1.0 && 1.0 < found.high, "{found:?}");
    assert_eq!(bootstrap_ratio(&[]), None);
    assert_eq!(bootstrap_ratio(&[(1.0, 0.0)]), None);
    is_interval(bootstrap_ratio(&[(3.0, 2.0)]).unwrap(), 1.5, 1.5);
}

#[test]
fn a_normal_deviation_has_a_probability() {
    is_near(two_sided(0.0), 1.0);
    is_near(two_sided(1.959_964), 0.05);
    is_near(two_sided(-1.959_964), 0.05);
    is_near(two_sided(2.575_829), 0.01);
    assert!(two_sided(40.0) < 1e-100);
}
