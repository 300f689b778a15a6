use proptest::prelude::*;

use super::*;

fn metrics(round: u32, similarity: f64, shift: Option<f64>, evidence: f64) -> Metrics {
    Metrics {
        round,
        similarity: Some(Similarity {
            raw: similarity,
            scaled: similarity,
        }),
        shift,
        evidence,
        agreement: Agreement::default(),
        turned: Vec::new(),
        compared: usize::from(shift.is_some()) * 3,
        seats: 3,
        silent: 0,
        sources: 1,
    }
}

fn is_same(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

fn status(history: &[Metrics]) -> Status {
    after_round(history, &Thresholds::default()).unwrap().status
}

fn warned(history: &[Metrics]) -> Vec<Warning> {
    after_round(history, &Thresholds::default())
        .unwrap()
        .warnings
}

fn contradicted(metrics: Metrics) -> Metrics {
    let agreement = Agreement {
        contradictions: vec![Contradiction::Votes {
            agree: vec!["a".into()],
            block: vec!["b".into()],
        }],
        ..Agreement::default()
    };
    Metrics {
        agreement,
        ..metrics
    }
}

/// E-07: the worked example of the specification by its formula; its own figure for round 2 is wrong, 1/5 is right.
#[test]
fn e07_the_formula_gives_the_worked_example() {
    let set =
        |names: &[&'static str]| -> BTreeSet<&'static str> { names.iter().copied().collect() };
    let rounds = [
        (
            vec![
                set(&["Microservices", "AWS Guide"]),
                set(&["YAGNI", "Survey"]),
                set(&["Serverless patterns", "Lambda docs"]),
            ],
            0.0,
        ),
        (
            vec![
                set(&["Modular monolith", "DDD book", "Team size research"]),
                set(&["Team size research", "Conway's Law", "Shopify"]),
                set(&["Team size research", "Shopify"]),
            ],
            0.2,
        ),
        (
            vec![
                set(&["DDD book", "Team size research", "Modular monolith pattern"]),
                set(&[
                    "Modular monolith pattern",
                    "Team size research",
                    "Migration planning",
                ]),
                set(&["Modular monolith pattern", "Team size research"]),
            ],
            0.5,
        ),
    ];
    for (cited, expected) in rounds {
        assert!(
            is_same(evidence_convergence(&cited), expected),
            "{expected}"
        );
    }
    assert!(is_same(evidence_convergence::<u8>(&[]), 0.0));
    assert!(is_same(
        evidence_convergence::<u8>(&[BTreeSet::new(), BTreeSet::new()]),
        0.0
    ));
}

/// E-08: similarity reached or not, evidence reached or not, settled or not, stalled or not, answers contradicting or not.
#[test]
fn e08_the_status_follows_the_whole_truth_table() {
    for bits in 0_u8..32 {
        let bit = |place: u8| bits & (1 << place) != 0;
        let (alike, evidence, settled, stalled, contradicts) =
            (bit(0), bit(1), bit(2), bit(3), bit(4));
        let shift = match (settled, stalled) {
            (_, true) => 0.04,
            (true, false) => 0.09,
            (false, false) => 0.30,
        };
        let wrap = |metrics| {
            if contradicts {
                contradicted(metrics)
            } else {
                metrics
            }
        };
        let round = |number| {
            let similarity = if alike { 0.82 } else { 0.70 };
            let share = if evidence { 0.7 } else { 0.4 };
            wrap(metrics(number, similarity, Some(shift), share))
        };
        let history = [metrics(2, 0.7, None, 0.0), round(3), round(4)];
        let is_settled = settled || stalled;
        let expected = match (alike && !contradicts, evidence || is_settled, stalled) {
            (true, true, _) => Status::ConsensusReached,
            (true, false, _) => Status::ConsensusWithDiverseEvidence,
            (false, _, true) => Status::DiminishingReturns,
            (false, _, false) => Status::Continue,
        };
        let decision = after_round(&history, &Thresholds::default()).unwrap();
        assert_eq!(decision.status, expected, "{bits:05b}");
        assert_eq!(decision.vetoed, alike && contradicts, "{bits:05b}");
        assert_eq!(decision.basis, Basis::Measured);
    }
}

#[test]
fn e08_thresholds_apply_exactly_at_their_boundaries() {
    use Status::{ConsensusReached, ConsensusWithDiverseEvidence, Continue, DiminishingReturns};
    let one = |similarity, shift, evidence| status(&[metrics(4, similarity, shift, evidence)]);
    assert_eq!(one(0.80, None, 0.60), ConsensusReached);
    assert_eq!(one(0.7999, None, 0.60), Continue);
    assert_eq!(one(0.80, None, 0.5999), ConsensusWithDiverseEvidence);
    assert_eq!(one(0.80, Some(0.0999), 0.0), ConsensusReached);
    assert_eq!(one(0.80, Some(0.10), 0.0), ConsensusWithDiverseEvidence);
    let two = |first, second| {
        status(&[
            metrics(3, 0.5, Some(first), 0.0),
            metrics(4, 0.5, Some(second), 0.0),
        ])
    };
    assert_eq!(two(0.0499, 0.0499), DiminishingReturns);
    assert_eq!(two(0.05, 0.0499), Continue);
    assert_eq!(two(0.0499, 0.05), Continue);
    assert_eq!(one(0.5, Some(0.01), 0.0), Continue);
    let levels = [
        ConsensusReached,
        ConsensusWithDiverseEvidence,
        DiminishingReturns,
        Continue,
    ]
    .map(Status::level);
    assert_eq!(
        levels,
        [
            Some(Level::High),
            Some(Level::MediumHigh),
            Some(Level::Medium),
            None
        ]
    );
}

#[test]
fn e08_early_consensus_and_divergence_are_warned_about() {
    let flags = |round, before: f64, now: f64| {
        warned(&[
            metrics(round - 1, before, None, 0.0),
            metrics(round, now, None, 0.0),
        ])
    };
    assert_eq!(flags(2, 0.8, 0.8501), [Warning::EarlyConsensus]);
    assert_eq!(flags(2, 0.8, 0.85), Vec::<Warning>::new());
    assert_eq!(flags(3, 0.8, 0.90), Vec::<Warning>::new());
    assert_eq!(flags(4, 0.8, 0.7), Vec::<Warning>::new());
    assert_eq!(flags(4, 0.8, 0.6999), [Warning::Diverging]);
    assert_eq!(
        flags(2, 0.99, 0.86),
        [Warning::EarlyConsensus, Warning::Diverging]
    );
    assert_eq!(
        warned(&[metrics(1, 0.9, None, 0.0)]),
        [Warning::EarlyConsensus]
    );
}

#[test]
fn e08_thresholds_are_configurable_and_validated() {
    let strict = Thresholds {
        similarity: 0.95,
        ..Thresholds::default()
    };
    let history = [metrics(4, 0.9, None, 0.9)];
    assert_eq!(
        after_round(&history, &strict).unwrap().status,
        Status::Continue
    );
    let hasty = Thresholds {
        stalled_rounds: 1,
        ..Thresholds::default()
    };
    let history = [metrics(4, 0.5, Some(0.01), 0.9)];
    assert_eq!(
        after_round(&history, &hasty).unwrap().status,
        Status::DiminishingReturns
    );
    assert!(
        Thresholds {
            similarity: 1.01,
            ..Thresholds::default()
        }
        .checked()
        .is_err()
    );
    assert!(
        Thresholds {
            stalled: f64::NAN,
            ..Thresholds::default()
        }
        .checked()
        .is_err()
    );
    assert!(
        Thresholds {
            stalled_rounds: 0,
            ..Thresholds::default()
        }
        .checked()
        .is_err()
    );
    assert_eq!(Thresholds::default().checked(), Ok(Thresholds::default()));
    assert_eq!(after_round(&[], &Thresholds::default()), None);
}

#[test]
fn e19_a_reversal_is_neither_settled_nor_stalled() {
    let turned = |metrics: Metrics| Metrics {
        turned: vec!["a".into()],
        ..metrics
    };
    let still = |number| metrics(number, 0.5, Some(0.01), 0.0);
    assert_eq!(status(&[still(3), still(4)]), Status::DiminishingReturns);
    assert_eq!(status(&[still(3), turned(still(4))]), Status::Continue);
    let alike = metrics(4, 0.9, Some(0.01), 0.0);
    assert_eq!(
        status(std::slice::from_ref(&alike)),
        Status::ConsensusReached
    );
    assert_eq!(
        status(&[turned(alike)]),
        Status::ConsensusWithDiverseEvidence
    );
}

#[test]
fn e19_contradicting_answers_veto_a_consensus_of_similar_positions() {
    let decision = after_round(
        &[contradicted(metrics(4, 0.95, Some(0.2), 0.9))],
        &Thresholds::default(),
    )
    .unwrap();
    assert_eq!((decision.status, decision.vetoed), (Status::Continue, true));
}

#[test]
fn without_an_embedder_the_typed_answers_decide_alone() {
    let unmeasured = |round, unanimous: bool, evidence| Metrics {
        similarity: None,
        shift: None,
        compared: if round > 1 { 3 } else { 0 },
        agreement: Agreement {
            option: Some(if unanimous { 1.0 } else { 0.5 }),
            vote: Some(1.0),
            ..Agreement::default()
        },
        ..metrics(round, 0.0, None, evidence)
    };
    let decided = |history: &[Metrics]| {
        let decision = after_round(history, &Thresholds::default()).unwrap();
        assert_eq!(decision.basis, Basis::TypedAnswersAlone);
        assert_eq!(decision.warnings, Vec::<Warning>::new());
        decision.status
    };
    assert_eq!(
        decided(&[unmeasured(1, true, 0.6)]),
        Status::ConsensusReached
    );
    assert_eq!(
        decided(&[unmeasured(1, true, 0.0)]),
        Status::ConsensusWithDiverseEvidence
    );
    assert_eq!(
        decided(&[unmeasured(2, true, 0.0)]),
        Status::ConsensusReached
    );
    assert_eq!(decided(&[unmeasured(1, false, 0.9)]), Status::Continue);
    let stuck = [
        unmeasured(1, false, 0.0),
        unmeasured(2, false, 0.0),
        unmeasured(3, false, 0.0),
    ];
    assert_eq!(decided(&stuck[..2]), Status::Continue);
    assert_eq!(decided(&stuck), Status::DiminishingReturns);
}

/// E-05, E-06: the bands of similarity and of shift.
#[test]
fn e05_bands_have_the_specified_boundaries() {
    let names = [0.40, 0.41, 0.60, 0.61, 0.79, 0.80].map(similarity_band);
    assert_eq!(names[0], "strong disagreement, far apart");
    assert_eq!((names[1], names[2]), (names[2], names[1]));
    assert_eq!((names[3], names[4]), (names[4], names[3]));
    assert_eq!(names[5], "consensus, strong agreement");
    assert_eq!(
        [0.10, 0.11, 0.30, 0.31, 0.60, 0.61].map(shift_band),
        [
            "stable",
            "refinement",
            "refinement",
            "significant update",
            "significant update",
            "major shift"
        ]
    );
    assert_eq!(
        [0.30, 0.31, 0.59, 0.60].map(evidence_band),
        [
            "different evidence",
            "some overlap",
            "some overlap",
            "strong agreement"
        ]
    );
}

/// E-20: only items that are new to the seat explain a move.
#[test]
fn e20_a_move_is_explained_only_by_new_items() {
    let by = |shift: f64, turned: bool, named: &[&str]| {
        let named: Vec<String> = named.iter().map(|id| (*id).to_owned()).collect();
        let shift = Some(Similarity {
            raw: shift,
            scaled: shift,
        });
        let movement = Movement { shift, turned };
        explanation(&movement, &named, |id| id == "C7", &Thresholds::default())
    };
    assert_eq!(by(0.10, false, &[]), Explanation::NotNeeded);
    assert_eq!(by(0.1001, false, &[]), Explanation::Unexplained);
    assert_eq!(by(0.5, false, &["C1"]), Explanation::Unexplained);
    assert_eq!(
        by(0.5, false, &["C1", "C7", "C7"]),
        Explanation::By(vec!["C7".into()])
    );
    assert_eq!(by(0.0, true, &[]), Explanation::Unexplained);
}

/// E-05: vectors need not be normalized.
#[test]
fn e05_similarity_is_the_mean_pairwise_cosine() {
    let positions = [vec![2.0, 0.0], vec![3.0, 4.0], vec![0.0, 5.0]];
    // 0.6, 0 and 0.8
    let identity = similarity(&positions, &Scale::identity()).unwrap();
    assert_eq!(formatted(identity), "0.466667 0.466667");
    // The scale is applied to the mean; both values are kept.
    let scale = Scale::new(vec![[0.0, 0.0], [0.4, 0.5], [1.0, 1.0]]).unwrap();
    let scaled = similarity(&positions, &scale).unwrap();
    assert_eq!(formatted(scaled), "0.466667 0.555556");
}

/// Rounded, because vectors have single precision.
fn formatted(value: Similarity) -> String {
    format!("{:.6} {:.6}", value.raw, value.scaled)
}

/// E-06: the scaled shift is at most 1.
#[test]
fn e06_a_shift_is_one_minus_the_cosine_to_the_previous_position() {
    let moved = |now: &[f32]| formatted(shift(&[2.0, 0.0], now, &Scale::identity()).unwrap());
    assert_eq!(moved(&[7.0, 0.0]), "0.000000 0.000000");
    assert_eq!(moved(&[3.0, 4.0]), "0.400000 0.400000");
    assert_eq!(moved(&[0.0, 1.0]), "1.000000 1.000000");
    assert_eq!(moved(&[-1.0, 0.0]), "2.000000 1.000000");
}

#[test]
fn incomparable_vectors_give_none() {
    let scale = Scale::identity();
    assert_eq!(similarity(&[vec![1.0, 0.0]], &scale), None);
    assert_eq!(similarity(&[vec![1.0], vec![1.0, 0.0]], &scale), None);
    assert_eq!(shift(&[], &[], &scale), None);
    assert_eq!(
        similarity(&[vec![0.0], vec![0.0]], &scale).map(|similarity| similarity.scaled),
        Some(0.0)
    );
}

proptest! {
    /// E-05: and 1 for equal vectors.
    #[test]
    fn e05_similarity_is_symmetric_and_in_range(
        mut vectors in prop::collection::vec(prop::collection::vec(-1.0_f32..1.0, 4), 2..6),
        seed in any::<u64>(),
    ) {
        let scale = Scale::identity();
        let found = similarity(&vectors, &scale).unwrap();
        prop_assert!((-1.0..=1.0).contains(&found.raw));
        prop_assert!((0.0..=1.0).contains(&found.scaled));
        let shift_there = shift(&vectors[0], &vectors[1], &scale).unwrap();
        prop_assert_eq!(shift_there, shift(&vectors[1], &vectors[0], &scale).unwrap());
        prop_assert!((0.0..=1.0).contains(&shift_there.scaled));
        let turn = usize::try_from(seed % vectors.len() as u64).unwrap();
        vectors.rotate_left(turn);
        prop_assert!((similarity(&vectors, &scale).unwrap().scaled - found.scaled).abs() < 1e-6);
        let same = vec![vec![0.6_f32, 0.8, 0.0, 0.0]; 3];
        prop_assert!((similarity(&same, &scale).unwrap().scaled - 1.0).abs() < 1e-6);
    }

    /// E-07: 1 for identical sets, in range, and the order of the agents does not matter.
    #[test]
    fn e07_evidence_convergence_is_one_for_identical_sets(
        set in prop::collection::btree_set(0_u8..20, 1..8),
        mut sets in prop::collection::vec(prop::collection::btree_set(0_u8..6, 0..5), 1..5),
    ) {
        prop_assert!(is_same(evidence_convergence(&[set.clone(), set.clone(), set]), 1.0));
        let found = evidence_convergence(&sets);
        prop_assert!((0.0..=1.0).contains(&found));
        sets.reverse();
        prop_assert!(is_same(evidence_convergence(&sets), found));
    }
}

/// M-17: 80% of the panel, on both sides.
#[test]
fn m17_a_panel_with_silent_seats_has_no_consensus() {
    let with = |seats: usize, silent: usize| Metrics {
        seats,
        silent,
        ..metrics(3, 0.9, Some(0.0), 1.0)
    };
    assert_eq!(status(&[with(5, 1)]), Status::ConsensusReached);
    assert_eq!(status(&[with(4, 1)]), Status::Continue);
}

/// E-07: no source is not the same as different sources.
#[test]
fn e07_missing_evidence_is_called_missing() {
    let mut round = metrics(1, 0.9, None, 0.0);
    assert_eq!(round.evidence_band(), "different evidence");
    round.sources = 0;
    assert_eq!(round.evidence_band(), "no evidence cited");
}
