#![expect(clippy::float_cmp, reason = "the figures are exact, or rounded before")]

use proptest::prelude::*;

use super::*;

fn score(value: f64) -> OutOfHundred {
    OutOfHundred::new(value).unwrap()
}

fn judged(judge: &str, before: f64, after: f64, is_explained: bool, read: &[f64]) -> Judgement {
    Judgement {
        dimension: "d".into(),
        judge: judge.into(),
        before: score(before),
        after: score(after),
        is_explained,
        read: read.iter().map(|value| score(*value)).collect(),
    }
}

fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// T-12: 40, 60 and 80 are 20, 0 and 20 from their mean. One approaches by 15 with a reason, one by 10 without.
#[test]
fn t12_convergence_measures_vanished_and_unexplained_differences() {
    let found = convergence(&[
        judged("a", 40.0, 55.0, true, &[]),
        judged("b", 60.0, 60.0, false, &[]),
        judged("c", 80.0, 70.0, false, &[]),
    ])
    .unwrap();
    assert_eq!(rounded(found.vanished), 0.625);
    assert_eq!(rounded(found.unexplained), 0.25);
    assert!(found.noteworthy, "a quarter is noteworthy");
    let less = convergence(&[
        judged("a", 40.0, 55.0, true, &[]),
        judged("b", 60.0, 60.0, false, &[]),
        judged("c", 80.0, 70.1, false, &[]),
    ]);
    assert!(!less.unwrap().noteworthy);
}

#[test]
fn t12_a_move_away_from_the_mean_does_not_offset_an_approach() {
    let found = convergence(&[
        judged("a", 40.0, 20.0, false, &[]),
        judged("b", 80.0, 60.0, false, &[]),
    ])
    .unwrap();
    assert_eq!(rounded(found.unexplained), 0.5);
    let nobody_differed = [
        judged("a", 60.0, 60.0, true, &[]),
        judged("b", 60.0, 10.0, false, &[]),
    ];
    assert_eq!(convergence(&nobody_differed), None);
}

/// T-12: from 50 to 60 after reading 80 and then 40 is 10 closer to the first and 10 further from the other.
#[test]
fn t12_anchoring_is_the_extra_approach_to_the_first_score_read() {
    let found = anchoring(&[
        judged("a", 50.0, 60.0, true, &[80.0, 40.0]),
        judged("b", 50.0, 50.0, true, &[90.0, 10.0]),
        judged("alone", 50.0, 80.0, true, &[80.0]),
    ])
    .unwrap();
    assert_eq!(
        (found.toward_first, found.toward_later, found.pull),
        (5.0, -5.0, 10.0)
    );
    assert_eq!(
        (found.judgements, found.noteworthy),
        (2, false),
        "two are too few"
    );
    let pulled = |to: f64| {
        let same = judged("a", 50.0, to, true, &[80.0, 50.0]);
        anchoring(&[same.clone(), same.clone(), same]).unwrap()
    };
    assert!(pulled(51.5).noteworthy, "three points");
    assert!(!pulled(51.4).noteworthy);
    assert_eq!(anchoring(&[judged("a", 50.0, 80.0, true, &[80.0])]), None);
}

/// T-12: a pair is softened without argument if the explained changes alone would have left it more than 20 apart.
#[test]
fn t12_a_disagreement_softened_without_argument_is_counted() {
    let pair = |after: (f64, bool), other: (f64, bool)| {
        let found = softening(&[
            judged("a", 40.0, after.0, after.1, &[]),
            judged("b", 80.0, other.0, other.1, &[]),
        ])
        .unwrap();
        (found.disagreements, found.softened, found.without_argument)
    };
    assert_eq!(pair((60.0, true), (80.0, false)), (1, 1, 0), "argued");
    assert_eq!(pair((60.0, false), (80.0, false)), (1, 1, 1), "given in");
    assert_eq!(
        pair((59.0, false), (80.0, false)),
        (1, 0, 0),
        "still 21 apart"
    );
    assert_eq!(
        pair((60.0, true), (79.0, false)),
        (1, 1, 0),
        "the reason alone sufficed"
    );
    assert_eq!(
        pair((55.0, true), (75.0, false)),
        (1, 1, 1),
        "the explained change alone is not enough"
    );
    let agreed = softening(&[
        judged("a", 40.0, 50.0, false, &[]),
        judged("b", 60.0, 50.0, false, &[]),
    ]);
    assert_eq!(
        agreed.unwrap().disagreements,
        0,
        "20 apart is no disagreement"
    );
}

/// T-12: the fullest band of ten points, its ends included.
#[test]
fn t12_crowding_is_the_share_in_the_fullest_band() {
    let scores = [62.0, 70.0, 72.0, 30.0, 66.0].map(score);
    let found = crowding(&scores).unwrap();
    assert_eq!(
        (found.band_from, found.band_to, found.share),
        (62.0, 72.0, 0.8)
    );
    assert!(found.noteworthy);
    let wide = crowding(&[62.0, 70.0, 73.0, 30.0, 66.0].map(score)).unwrap();
    assert_eq!((wide.share, wide.noteworthy), (0.6, false));
    assert!(
        !crowding(&[70.0; 4].map(score)).unwrap().noteworthy,
        "four are too few"
    );
    assert_eq!(crowding(&[]), None);
}

#[test]
fn t12_one_round_gives_only_crowding() {
    let found = bias_figures(&[], &[score(50.0)]);
    assert_eq!(
        (found.convergence, found.anchoring, found.softening),
        (None, None, None)
    );
    assert!(found.crowding.is_some());
}

proptest! {
    #[test]
    fn t12_explained_changes_never_count_as_bias(
        given in proptest::collection::vec((0.0..=100.0_f64, 0.0..=100.0_f64), 2..7),
    ) {
        let all: Vec<_> = given.iter().map(|(before, after)| judged("j", *before, *after, true, &[])).collect();
        let found = bias_figures(&all, &[]);
        prop_assert!(found.convergence.is_none_or(|c| c.unexplained == 0.0 && (0.0..=1.0 + 1e-9).contains(&c.vanished)));
        prop_assert!(found.softening.is_some_and(|s| s.without_argument == 0 && s.softened <= s.disagreements));
    }

    #[test]
    fn t12_unchanged_scores_show_no_bias(before in proptest::collection::vec(0.0..=100.0_f64, 3..7)) {
        let all: Vec<_> = before.iter().map(|value| judged("j", *value, *value, false, &before)).collect();
        let found = bias_figures(&all, &[]);
        prop_assert!(found.convergence.is_none_or(|c| c.vanished == 0.0));
        prop_assert!(found.anchoring.is_some_and(|a| a.pull == 0.0));
        prop_assert!(found.softening.is_some_and(|s| s.softened == 0));
    }
}
