use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// A ranking of exactly the answers in `order`, shown in ascending order.
fn ranking(reader: usize, order: &[usize]) -> Ranking {
    let mut shown = order.to_vec();
    shown.sort_unstable();
    Ranking::new(reader, shown, order.to_vec()).unwrap()
}

fn scores(pooled: &Pooled) -> Vec<Option<f64>> {
    pooled.answers.iter().map(|answer| answer.score).collect()
}

fn places(pooled: &Pooled) -> Vec<Option<usize>> {
    pooled.answers.iter().map(|answer| answer.place).collect()
}

fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

/// Fixed, because a journal is replayed by later versions.
#[test]
fn n02_the_order_of_a_seed_never_changes() {
    let orders: Vec<Vec<usize>> = (0..4).map(|reader| shuffled_order(7, reader, 5)).collect();
    assert_eq!(
        orders,
        [[1, 2, 3, 4], [4, 3, 0, 2], [1, 4, 3, 0], [4, 1, 0, 2]]
    );
    assert_eq!(shuffled_order(7, 0, 1), [0; 0]);
    assert_eq!(shuffled_order(7, 0, 0), [0; 0]);
}

#[test]
fn n02_a_reader_without_an_answer_is_shown_all() {
    let mut order = shuffled_order(7, 4, 4);
    order.sort_unstable();
    assert_eq!(order, [0, 1, 2, 3]);
}

/// Over many seeds every answer comes first about equally often: 2000 draws of 4 answers, 500 each, standard deviation 19.
#[test]
fn n02_every_position_is_equally_likely() {
    let mut first = [0_i32; 5];
    for seed in 0..2000 {
        first[shuffled_order(seed, 2, 5)[0]] += 1;
    }
    assert_eq!(first[2], 0);
    for answer in [0, 1, 3, 4] {
        assert!((first[answer] - 500).abs() < 80, "{first:?}");
    }
}

/// All at once: 1 is missing, 3 appears twice, 9 was never shown, and 0 is the reader's own.
#[test]
fn n02_an_invalid_ranking_lists_every_problem() {
    let problems = Ranking::new(0, vec![3, 1, 2], vec![3, 9, 3, 0, 2]).unwrap_err();
    assert_eq!(
        problems,
        InvalidRanking {
            missing: vec![1],
            duplicate: vec![3],
            unknown: vec![9],
            own: true,
        }
    );
    assert_eq!(
        problems.to_string(),
        "invalid ranking: missing: 1; ranked more than once: 3; not among the answers shown: 9; \
         the reader's own answer is ranked"
    );
    let missing = Ranking::new(0, vec![1, 2], vec![2]).unwrap_err();
    assert_eq!(missing.to_string(), "invalid ranking: missing: 1");
}

/// The first mention counts, answers that were not shown are dropped, and those left out share the last places with the mean of
/// their scores.
#[test]
fn n03_an_incomplete_ranking_is_normalised() {
    let shown = vec![3, 1, 2, 4];
    let one_missing = Ranking::normalised(0, shown.clone(), vec![3, 1, 3, 4]).unwrap();
    assert_eq!(one_missing.order(), [3, 1, 4]);
    assert_eq!(one_missing.unranked(), [2]);
    let scores = |ranking: &Ranking| [3, 1, 4, 2].map(|answer| ranking.score(answer).unwrap());
    let thirds = |ranking: &Ranking| scores(ranking).map(|score| score * 3.0);
    for (found, expected) in thirds(&one_missing).into_iter().zip([3.0, 2.0, 1.0, 0.0]) {
        assert!(is_near(found, expected));
    }

    let two_missing = Ranking::normalised(0, shown.clone(), vec![3, 3, 0, 9, 1]).unwrap();
    assert_eq!(two_missing.order(), [3, 1]);
    assert_eq!(two_missing.unranked(), [2, 4]);
    for (found, expected) in thirds(&two_missing).into_iter().zip([3.0, 2.0, 0.5, 0.5]) {
        assert!(is_near(found, expected));
    }
    assert_eq!(two_missing.place(4), Some(3));
    assert_eq!((two_missing.place(0), two_missing.score(0)), (None, None));

    // The two unranked answers are not compared: the five other pairs agree.
    assert_eq!(agreement(&[one_missing, two_missing.clone()]), Some(1.0));
    let pooled = pool(&[two_missing], 5);
    assert_eq!(pooled.ties, [[2, 4]]);
    assert_eq!(places(&pooled), [None, Some(2), Some(3), Some(1), Some(3)]);

    assert_eq!(Ranking::normalised(0, shown.clone(), vec![0, 9]), None);
    assert_eq!(Ranking::normalised(0, shown, Vec::new()), None);
    // A valid ranking stays as it is.
    let valid = Ranking::normalised(0, vec![1, 2], vec![2, 1]);
    assert_eq!(valid, Ranking::new(0, vec![1, 2], vec![2, 1]).ok());
}

/// Four models that all prefer 0 to 1 to 2 to 3. Answer 1 is first for reader 0 and second of three for readers 2 and 3:
/// (1 + 1/2 + 1/2) / 3.
#[test]
fn n03_the_score_is_the_mean_share_of_answers_placed_below() {
    let pooled = pool(
        &[
            ranking(0, &[1, 2, 3]),
            ranking(1, &[0, 2, 3]),
            ranking(2, &[0, 1, 3]),
            ranking(3, &[0, 1, 2]),
        ],
        4,
    );
    for (found, expected) in scores(&pooled)
        .into_iter()
        .zip([1.0, 2.0 / 3.0, 1.0 / 3.0, 0.0])
    {
        assert!(is_near(found.unwrap(), expected), "{pooled:?}");
    }
    assert_eq!(places(&pooled), [Some(1), Some(2), Some(3), Some(4)]);
    assert_eq!(pooled.winners(), [0]);
    assert!(pooled.ties.is_empty());
    assert!(pooled.answers.iter().all(|answer| answer.readers == 3));
}

/// Three models in a cycle: each answer wins one comparison and loses one.
#[test]
fn n03_ties_share_a_place_and_are_reported() {
    let pooled = pool(
        &[
            ranking(0, &[1, 2]),
            ranking(1, &[2, 0]),
            ranking(2, &[0, 1]),
        ],
        3,
    );
    assert_eq!(scores(&pooled), [Some(0.5); 3]);
    assert_eq!(places(&pooled), [Some(1); 3]);
    assert_eq!(pooled.ties, [[0, 1, 2]]);
    assert_eq!(pooled.winners(), [0, 1, 2]);

    // The place after a tie is skipped.
    let pooled = pool(&[ranking(4, &[3, 1, 2, 0]), ranking(5, &[3, 2, 1, 0])], 4);
    assert_eq!(places(&pooled), [Some(4), Some(2), Some(2), Some(1)]);
    assert_eq!(pooled.ties, [[1, 2]]);
}

#[test]
fn n03_an_answer_without_comparison_has_no_score() {
    let pooled = pool(&[ranking(0, &[1, 2])], 4);
    assert_eq!(scores(&pooled), [None, Some(1.0), Some(0.0), None]);
    assert_eq!(places(&pooled), [None, Some(1), Some(2), None]);
    // Two models have nothing to compare: each sees a single answer.
    let pooled = pool(&[ranking(0, &[1]), ranking(1, &[0])], 2);
    assert_eq!(scores(&pooled), [None, None]);
    assert!(pooled.winners().is_empty() && pooled.ties.is_empty());
    assert!(pool(&[], 0).answers.is_empty());
}

/// Readers 0 and 1 share 2, 3 and 4 and differ in one of three pairs: (2 - 1) / 3. With a reader who reverses 0's order the
/// pairs are 1/3, -1 and -1/3.
#[test]
fn n03_agreement_is_the_mean_tau_of_pairs_of_readers() {
    let [zero, one] = [ranking(0, &[1, 2, 3, 4]), ranking(1, &[0, 3, 2, 4])];
    assert!(is_near(
        agreement(&[zero.clone(), one.clone()]).unwrap(),
        1.0 / 3.0
    ));
    let reversed = ranking(5, &[4, 3, 2, 1]);
    assert_eq!(agreement(&[zero.clone(), reversed.clone()]), Some(-1.0));
    assert!(is_near(
        agreement(&[zero, one, reversed]).unwrap(),
        -1.0 / 3.0
    ));
}

#[test]
fn n03_agreement_needs_two_answers_in_common() {
    let three = [
        ranking(0, &[1, 2]),
        ranking(1, &[2, 0]),
        ranking(2, &[0, 1]),
    ];
    assert_eq!(agreement(&three), None);
    assert_eq!(agreement(&three[..1]), None);
    assert_eq!(agreement(&[]), None);
    let four = [ranking(0, &[1, 2, 3]), ranking(1, &[0, 2, 3])];
    assert_eq!(agreement(&four), Some(1.0));
}

/// Four readers of three answers. Always the first shown at the top and the last at the bottom is 1; the reverse is -1; two
/// of each is 0. The standard error is sqrt(4 * 1/2) / 4.
#[test]
fn n03_positional_bias_is_first_minus_last() {
    let shown = |reader: usize| shuffled_order(3, reader, 4);
    let forward = |reader| Ranking::new(reader, shown(reader), shown(reader)).unwrap();
    let backward = |reader| {
        let order = shown(reader).into_iter().rev().collect();
        Ranking::new(reader, shown(reader), order).unwrap()
    };
    let bias = positional_bias(&[forward(0), forward(1), forward(2), forward(3)]).unwrap();
    assert!(is_near(bias.difference, 1.0) && bias.is_noteworthy());
    assert!(is_near(bias.standard_error, 2.0_f64.sqrt() / 4.0));
    assert_eq!(bias.readers, 4);
    let bias = positional_bias(&[backward(0), backward(1), backward(2), backward(3)]).unwrap();
    assert!(is_near(bias.difference, -1.0) && bias.is_noteworthy());
    let bias = positional_bias(&[forward(0), backward(1), forward(2), backward(3)]).unwrap();
    assert!(is_near(bias.difference, 0.0) && !bias.is_noteworthy());
}

#[test]
fn n03_positional_bias_needs_three_readers_of_two_answers() {
    let three = [
        ranking(0, &[1, 2]),
        ranking(1, &[0, 2]),
        ranking(2, &[0, 1]),
    ];
    let bias = positional_bias(&three).unwrap();
    assert!(is_near(bias.difference, 1.0), "{bias:?}");
    // Chance alone does this once in eight panels.
    assert!(!bias.is_noteworthy());
    assert_eq!(positional_bias(&three[..2]), None);
    let singles = [ranking(0, &[1, 2]), ranking(1, &[0, 2]), ranking(2, &[0])];
    assert_eq!(positional_bias(&singles), None);
}

/// The variance in the documentation is that over all orders, counted here for up to five answers.
#[test]
#[expect(clippy::cast_precision_loss, reason = "at most 120 orders")]
fn n03_the_standard_error_is_that_of_random_orders() {
    for count in 3..=5_usize {
        let all: Vec<Ranking> = permutations(count)
            .iter()
            .map(|order| ranking(9, order))
            .collect();
        let difference = |r: &Ranking| r.score(0).unwrap() - r.score(count - 1).unwrap();
        let variance = all.iter().map(|r| difference(r).powi(2)).sum::<f64>() / all.len() as f64;
        let bias = positional_bias(&all[..3]).unwrap();
        assert!(is_near(bias.standard_error, (variance / 3.0).sqrt()));
    }
}

fn permutations(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let shorter = permutations(count - 1);
    shorter
        .iter()
        .flat_map(|order| {
            (0..count).map(move |at| {
                let mut longer = order.clone();
                longer.insert(at, count - 1);
                longer
            })
        })
        .collect()
}

fn blind(option: &str, confidence: f64) -> BlindAnswer<'_> {
    BlindAnswer {
        option,
        confidence: Confidence::new(confidence).unwrap(),
    }
}

#[test]
fn n05_equal_and_sure_answers_are_unanimous() {
    let found = unanimous(
        &[
            blind("Use  PostgreSQL", 0.95),
            blind("use postgresql.", 0.8),
        ],
        EARLY_STOP_CONFIDENCE,
    );
    assert_eq!(
        found,
        Some(Unanimous {
            option: "Use PostgreSQL".into(),
            lowest_confidence: Confidence::new(0.8).unwrap(),
            answers: 2,
        })
    );
}

#[test]
fn n05_the_threshold_holds_for_every_answer() {
    let stops = |lowest, threshold| {
        let answers = [blind("yes", 1.0), blind("yes", lowest), blind("yes", 0.9)];
        unanimous(&answers, threshold).is_some()
    };
    assert!(stops(0.8, EARLY_STOP_CONFIDENCE));
    assert!(!stops(0.799, EARLY_STOP_CONFIDENCE));
    assert!(stops(0.0, 0.0));
    assert!(!stops(1.0, 1.0));
    assert!(!stops(1.0, f64::NAN));
}

#[test]
fn n05_one_answer_or_a_different_one_is_not_unanimous() {
    let is_unanimous = |options: &[&str]| {
        let answers: Vec<_> = options.iter().map(|option| blind(option, 1.0)).collect();
        unanimous(&answers, EARLY_STOP_CONFIDENCE).is_some()
    };
    assert!(!is_unanimous(&[]));
    assert!(!is_unanimous(&["yes"]));
    assert!(is_unanimous(&["yes", "yes"]));
    assert!(!is_unanimous(&["yes", "yes", "no"]));
    assert!(!is_unanimous(&["deploy it now", "do not deploy it now"]));
    assert!(!is_unanimous(&["", ""]));
    assert!(!is_unanimous(&["yes", " ? "]));
    // Each of the last two extends the first, but they differ from each other.
    assert!(!is_unanimous(&[
        "use postgres",
        "use postgres here",
        "use postgres later"
    ]));
}

/// A panel of 2 to 8 models; each ranks all the others at random, and some readers fail.
fn panels() -> impl Strategy<Value = (usize, Vec<Ranking>)> {
    let panel = |count: usize| {
        proptest::collection::vec((any::<u64>(), any::<u64>(), any::<bool>()), count).prop_map(
            move |readers| {
                let given = readers
                    .into_iter()
                    .enumerate()
                    .filter(|(_, (_, _, ranks))| *ranks);
                let rankings = given
                    .map(|(reader, (shown, order, _))| {
                        let shuffled = |seed| shuffled_order(seed, reader, count);
                        Ranking::new(reader, shuffled(shown), shuffled(order)).unwrap()
                    })
                    .collect();
                (count, rankings)
            },
        )
    };
    (2..=8_usize).prop_flat_map(panel)
}

proptest! {
    #[test]
    fn n02_a_reader_is_shown_every_other_answer_once(seed: u64, reader in 0..9_usize, count in 0..9_usize) {
        let order = shuffled_order(seed, reader, count);
        prop_assert_eq!(&order, &shuffled_order(seed, reader, count));
        let shown: BTreeSet<usize> = order.iter().copied().collect();
        prop_assert_eq!(shown.len(), order.len());
        let expected: BTreeSet<usize> = (0..count).filter(|answer| *answer != reader).collect();
        prop_assert_eq!(shown, expected);
    }

    /// Readers without an answer of their own see the same answers, so that only the draw can differ. Eight readers draw the
    /// same of 8! orders with a chance of 10^-32.
    #[test]
    fn n02_readers_have_different_orders(seed: u64) {
        let orders: BTreeSet<Vec<usize>> = (8..16).map(|reader| shuffled_order(seed, reader, 8)).collect();
        prop_assert!(orders.len() > 1);
    }

    #[test]
    fn n02_only_a_strict_order_of_the_shown_answers_is_valid(
        seed: u64,
        order in proptest::collection::vec(0..5_usize, 0..6),
    ) {
        let shown = shuffled_order(seed, 0, 4);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        prop_assert_eq!(Ranking::new(0, shown, order).is_ok(), sorted == [1, 2, 3]);
    }

    #[test]
    fn n03_scores_and_places_are_within_bounds((count, rankings) in panels()) {
        let pooled = pool(&rankings, count);
        prop_assert_eq!(pooled.answers.len(), count);
        for one in &pooled.answers {
            prop_assert_eq!(one.score.is_some(), one.readers > 0);
            prop_assert_eq!(one.score.is_some(), one.place.is_some());
            prop_assert!(one.score.is_none_or(|score| (0.0..=1.0).contains(&score)));
            prop_assert!(one.readers < count);
            for other in &pooled.answers {
                if let (Some(a), Some(b)) = (one.score, other.score)
                    && !is_near(a, b)
                {
                    prop_assert_eq!(a > b, one.place < other.place);
                }
            }
        }
        prop_assert!(agreement(&rankings).is_none_or(|tau| (-1.0..=1.0).contains(&tau)));
        prop_assert!(positional_bias(&rankings).is_none_or(|bias| (-1.0..=1.0).contains(&bias.difference)));
    }

    /// If no reader fails, every answer has as many readers as any other, so the mean score is one half.
    #[test]
    fn n03_a_complete_panel_hands_out_half_of_all_points(seed: u64, count in 3..9_usize) {
        let rankings: Vec<Ranking> = (0..count)
            .map(|reader| ranking(reader, &shuffled_order(seed, reader, count)))
            .collect();
        let all: Vec<f64> = scores(&pool(&rankings, count)).into_iter().flatten().collect();
        prop_assert_eq!(all.len(), count);
        prop_assert!(is_near(mean(&all).unwrap(), 0.5));
    }

    /// Neither the order of the readers nor the numbering of the answers matters.
    #[test]
    fn n03_pooling_is_symmetric((count, rankings) in panels(), seed: u64) {
        let renamed = shuffled_order(seed, usize::MAX, count);
        let rename = |answers: &[usize]| -> Vec<usize> { answers.iter().map(|answer| renamed[*answer]).collect() };
        let permuted: Vec<Ranking> = rankings
            .iter()
            .rev()
            .map(|r| Ranking::new(renamed[r.reader], rename(&r.shown), rename(&r.order)).unwrap())
            .collect();
        let (before, after) = (pool(&rankings, count), pool(&permuted, count));
        for (one, new_name) in before.answers.iter().zip(&renamed) {
            let other = &after.answers[*new_name];
            prop_assert_eq!(one.place, other.place);
            prop_assert_eq!(one.readers, other.readers);
        }
        match (agreement(&rankings), agreement(&permuted)) {
            (Some(a), Some(b)) => prop_assert!(is_near(a, b)),
            (a, b) => prop_assert_eq!(a, b),
        }
    }

    /// A reader that ranks a single answer compares nothing and changes nothing.
    #[test]
    fn n03_a_lone_answer_changes_no_score((count, rankings) in panels(), answer in 0..2_usize) {
        let mut longer = rankings.clone();
        longer.push(ranking(count, &[answer]));
        prop_assert_eq!(pool(&longer, count), pool(&rankings, count));
    }

    /// An answer preferred by everyone who can rank it wins alone.
    #[test]
    fn n03_an_answer_first_for_all_its_readers_wins(seed: u64, count in 3..9_usize) {
        let rankings: Vec<Ranking> = (0..count)
            .map(|reader| {
                let mut order = shuffled_order(seed, reader, count);
                order.sort_by_key(|answer| *answer != 0);
                ranking(reader, &order)
            })
            .collect();
        prop_assert_eq!(pool(&rankings, count).winners(), [0]);
    }

    #[test]
    fn n03_readers_with_one_common_order_agree_fully(count in 4..9_usize) {
        let rankings: Vec<Ranking> = (0..count)
            .map(|reader| ranking(reader, &(0..count).filter(|answer| *answer != reader).collect::<Vec<_>>()))
            .collect();
        prop_assert_eq!(agreement(&rankings), Some(1.0));
        prop_assert_eq!(places(&pool(&rankings, count)), (1..=count).map(Some).collect::<Vec<_>>());
    }

    #[test]
    fn n05_the_lowest_confidence_decides(
        confidences in proptest::collection::vec(0.0..=1.0_f64, 2..9),
        threshold in 0.0..=1.0_f64,
    ) {
        let answers: Vec<_> = confidences.iter().map(|confidence| blind("yes", *confidence)).collect();
        let lowest = confidences.iter().copied().fold(1.0, f64::min);
        prop_assert_eq!(unanimous(&answers, threshold).is_some(), lowest >= threshold);
    }
}
