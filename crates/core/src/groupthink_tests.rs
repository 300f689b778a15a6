use super::*;
use crate::bounded::Confidence;
use crate::stance::Stance;
use crate::votes::{Presence, Standing, Vote};

fn figures(round: u32, confidences: &[f64], new_facts: usize) -> Figures {
    let standings = confidences
        .iter()
        .enumerate()
        .map(|(index, confidence)| Standing {
            seat: format!("seat-{index}"),
            confidence: Confidence::new(*confidence).unwrap(),
            vote: Vote::Accept,
            stance: None,
            option: None,
            probability: None,
            position: String::new(),
            presence: Presence::Spoke,
        });
    Figures {
        round,
        standings: standings.collect(),
        silent: 0,
        new_facts,
        open_blockers: 0,
    }
}

const DIVERSE: Diversity = Diversity {
    sources: 3,
    premise_overlap: 0.69,
    clusters: 2,
};

/// M-08: fewer than one new FACT for each agent, on both sides, two rounds in a row.
#[test]
fn m08_stagnation_needs_two_rounds_with_few_facts() {
    let stagnates = |facts: [usize; 2]| {
        super::stagnates(&[
            figures(1, &[0.5, 0.5, 0.5], 9),
            figures(2, &[0.5, 0.5, 0.5], facts[0]),
            figures(3, &[0.5, 0.5, 0.5], facts[1]),
        ])
    };
    assert!(stagnates([2, 2]));
    assert!(!stagnates([3, 2]));
    assert!(!stagnates([2, 3]));
    assert!(!super::stagnates(&[
        figures(1, &[0.5], 0),
        figures(2, &[0.5], 0)
    ]));
}

/// M-08: a mean change of confidence of up to 10% counts as no change.
#[test]
fn m08_stagnation_allows_a_change_of_ten_percent() {
    let stagnates = |third: f64| {
        super::stagnates(&[
            figures(1, &[0.5, 0.5], 0),
            figures(2, &[0.6, 0.6], 0),
            figures(3, &[third, third], 0),
        ])
    };
    assert!(stagnates(0.7));
    assert!(!stagnates(0.701));
}

/// M-08: a spread of 0.15, on both sides; of stances if there are any, otherwise of confidences.
#[test]
fn m08_stagnation_needs_all_close_together() {
    // The deviation of two numbers is half their distance.
    let stagnates = |low: f64, high: f64, stances: Option<[Stance; 2]>| {
        let history: Vec<Figures> = (1..=3)
            .map(|round| {
                let mut figures = figures(round, &[low, high], 0);
                if let Some(stances) = stances {
                    for (standing, stance) in figures.standings.iter_mut().zip(stances) {
                        standing.stance = Some(stance);
                    }
                }
                figures
            })
            .collect();
        super::stagnates(&history)
    };
    assert!(stagnates(0.4, 0.7, None));
    assert!(!stagnates(0.4, 0.71, None));
    assert!(!stagnates(0.5, 0.5, Some([Stance::Yes, Stance::No])));
    assert!(stagnates(0.1, 0.9, Some([Stance::Yes, Stance::Yes])));
}

/// M-08: at least 75% at 0.85 or more, by round 2, each on both sides.
#[test]
fn m08_early_convergence_needs_three_quarters_confident_by_round_two() {
    let poor = Diversity {
        sources: 2,
        ..DIVERSE
    };
    let fires = |round, confidences: &[f64]| {
        !early_gates(&figures(round, confidences, 9), &poor).is_empty()
    };
    assert!(fires(2, &[0.85, 0.85, 0.85, 0.1]));
    assert!(fires(1, &[0.85, 0.85, 0.85, 0.1]));
    assert!(!fires(3, &[0.85, 0.85, 0.85, 0.1]));
    assert!(!fires(2, &[0.85, 0.85, 0.84, 0.1]));
    assert!(!fires(2, &[]));
}

/// M-08: each of the three gates on both sides; any one is enough.
#[test]
fn m08_the_diversity_gate() {
    let gates = |diversity: Diversity| early_gates(&figures(2, &[0.9, 0.9, 0.9], 9), &diversity);
    assert_eq!(gates(DIVERSE), []);
    assert_eq!(
        gates(Diversity {
            sources: 2,
            ..DIVERSE
        }),
        [Gate::FewSources]
    );
    assert_eq!(
        gates(Diversity {
            premise_overlap: 0.70,
            ..DIVERSE
        }),
        [Gate::PremiseOverlap]
    );
    assert_eq!(
        gates(Diversity {
            clusters: 1,
            ..DIVERSE
        }),
        [Gate::FewClusters]
    );
    assert_eq!(
        gates(Diversity {
            sources: 0,
            premise_overlap: 1.0,
            clusters: 1
        })
        .len(),
        3
    );
}

/// M-08: which trigger is named.
#[test]
fn m08_either_trigger_fires() {
    let calm = [
        figures(1, &[0.5, 0.5], 0),
        figures(2, &[0.5, 0.5], 0),
        figures(3, &[0.5, 0.5], 0),
    ];
    assert_eq!(after_round(&calm, &DIVERSE), Some(Trigger::Stagnation));
    assert_eq!(after_round(&calm[..2], &DIVERSE), None);
    let sure = [figures(2, &[0.9, 0.9], 0)];
    assert_eq!(
        after_round(
            &sure,
            &Diversity {
                clusters: 1,
                ..DIVERSE
            }
        ),
        Some(Trigger::EarlyConvergence {
            gates: vec![Gate::FewClusters]
        })
    );
}

/// M-08: a person is asked only if all three hold, each on both sides.
#[test]
fn m08_a_person_is_asked_only_if_the_objections_changed_nothing() {
    let failed = |before: f64, after: f64, facts| {
        objection_failed(
            &figures(2, &[before, before], 0),
            &figures(3, &[after, after], facts),
        )
    };
    assert!(failed(0.84, 0.80, 0));
    assert!(!failed(0.84, 0.80, 1), "a new fact");
    assert!(!failed(0.83, 0.79, 0), "less sure than 0.80");
    assert!(!failed(0.85, 0.80, 0), "moved by exactly 5%");
    assert!(failed(0.849, 0.80, 0));
}

#[test]
fn m08_premise_overlap_is_the_mean_over_pairs_of_seats() {
    let set = |ids: &[&str]| {
        ids.iter()
            .map(|id| (*id).to_owned())
            .collect::<BTreeSet<_>>()
    };
    let same = [set(&["C1", "C2"]), set(&["C1", "C2"])];
    assert!((premise_overlap(&same) - 1.0).abs() < 1e-12);
    let mixed = [set(&["C1"]), set(&["C1"]), set(&["C2"])];
    assert!((premise_overlap(&mixed) - 1.0 / 3.0).abs() < 1e-12);
    assert!(premise_overlap(&[]) < 1e-12);
}

/// M-17: a reversal with the same confidence is a change of belief, for the first trigger and for an objection round.
#[test]
fn m17_reversed_answers_are_movement() {
    let answering = |round: u32, option: &str| {
        let mut figures = figures(round, &[0.9, 0.9, 0.9, 0.9], 0);
        for standing in &mut figures.standings {
            standing.option = Some(option.to_owned());
        }
        figures
    };
    let (a, b) = ("Use a queue", "Buy hardware");
    assert!(objection_failed(&answering(1, a), &answering(2, a)));
    assert!(!objection_failed(&answering(1, a), &answering(2, b)));
    let one_of_four = |round| {
        let mut figures = answering(round, a);
        figures.standings[0].option = Some(b.to_owned());
        figures
    };
    assert!(!objection_failed(&answering(1, a), &one_of_four(2)));
    let stagnates =
        |third: &str| super::stagnates(&[answering(1, a), answering(2, a), answering(3, third)]);
    assert!(stagnates(a));
    assert!(!stagnates(b));
}

/// M-17: three quarters of the panel, silent seats included.
#[test]
fn m17_silent_seats_are_not_confident() {
    let poor = Diversity {
        sources: 0,
        ..DIVERSE
    };
    let with_silent = |silent| Figures {
        silent,
        ..figures(1, &[0.9, 0.9, 0.9], 9)
    };
    assert!(!early_gates(&with_silent(1), &poor).is_empty());
    assert!(early_gates(&with_silent(2), &poor).is_empty());
}
