use super::*;

pub(crate) fn figures(round: u32, votes: &[(Vote, f64)], new_facts: usize) -> Figures {
    let standings = votes
        .iter()
        .enumerate()
        .map(|(index, (vote, confidence))| Standing {
            seat: format!("seat-{index}"),
            confidence: Confidence::new(*confidence).unwrap(),
            vote: *vote,
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
        open_blockers: votes.iter().filter(|(vote, _)| !vote.agrees()).count(),
    }
}

const A: (Vote, f64) = (Vote::Accept, 0.8);
const M: (Vote, f64) = (Vote::Minor, 0.8);

/// M-05: at least 80% ACCEPT or MINOR, on both sides.
#[test]
fn m05_four_of_five_are_enough_and_three_of_four_are_not() {
    let blocker_withdrawn = |votes: &[(Vote, f64)]| Figures {
        open_blockers: 0,
        ..figures(1, votes, 1)
    };
    let b = (Vote::Blocker, 0.8);
    assert_eq!(
        after_round(&[blocker_withdrawn(&[A, M, A, M, b])], 5),
        Some(Exit::Consensus)
    );
    assert_eq!(after_round(&[blocker_withdrawn(&[A, M, A, b])], 5), None);
    assert_eq!(after_round(&[blocker_withdrawn(&[])], 5), None);
}

/// M-05: one open BLOCKER, even of an outvoted seat, keeps the debate going.
#[test]
fn m05_an_open_blocker_prevents_consensus() {
    let open = Figures {
        open_blockers: 1,
        ..figures(1, &[A, A, A, A, A], 1)
    };
    assert_eq!(after_round(std::slice::from_ref(&open), 5), None);
    assert_eq!(
        after_round(
            &[Figures {
                open_blockers: 0,
                ..open
            }],
            5
        ),
        Some(Exit::Consensus)
    );
}

/// M-05: every confidence at 0.70, on both sides.
#[test]
fn m05_every_confidence_reaches_the_threshold() {
    let at = |least| figures(1, &[A, A, (Vote::Accept, least)], 1);
    assert_eq!(after_round(&[at(0.70)], 5), Some(Exit::Consensus));
    assert_eq!(after_round(&[at(0.69)], 5), None);
}

fn unsure(round: u32, confidence: f64, new_facts: usize) -> Figures {
    figures(
        round,
        &[(Vote::Blocker, confidence), (Vote::Accept, confidence)],
        new_facts,
    )
}

/// M-05: less than 10% change in each of two rounds, on both sides, and no new FACT in either.
#[test]
fn m05_a_plateau_is_two_flat_rounds_without_a_new_fact() {
    let plateau = |second: f64, third: f64, facts: [usize; 2]| {
        let history = [
            unsure(1, 0.5, 3),
            unsure(2, second, facts[0]),
            unsure(3, third, facts[1]),
        ];
        after_round(&history, 9)
    };
    assert_eq!(plateau(0.59, 0.68, [0, 0]), Some(Exit::Plateau));
    assert_eq!(plateau(0.60, 0.68, [0, 0]), None, "exactly 10% is a change");
    assert_eq!(
        plateau(0.59, 0.69, [0, 0]),
        None,
        "exactly 10% in the second round"
    );
    assert_eq!(plateau(0.59, 0.68, [0, 1]), None);
    assert_eq!(plateau(0.59, 0.68, [1, 0]), None);
    let two = [unsure(1, 0.5, 0), unsure(2, 0.5, 0)];
    assert_eq!(after_round(&two, 9), None, "the first round is no change");
}

/// M-05: a changed vote is a change even if every confidence stays the same.
#[test]
fn m05_a_changed_vote_is_not_a_plateau() {
    let mut turned = unsure(3, 0.5, 0);
    turned.standings[1].vote = Vote::Minor;
    let history = [unsure(1, 0.5, 0), unsure(2, 0.5, 0), turned];
    assert_eq!(after_round(&history, 9), None);
}

/// C-06, M-05: a round without replies is not a plateau.
#[test]
fn m05_absent_seats_do_not_count_as_unchanged() {
    let absent = |round| {
        let mut figures = unsure(round, 0.5, 0);
        for standing in &mut figures.standings {
            standing.presence = Presence::Absent;
        }
        figures
    };
    assert_eq!(
        after_round(&[unsure(1, 0.5, 0), absent(2), absent(3)], 9),
        None
    );
}

/// M-05: the cap, on both sides; consensus takes precedence.
#[test]
fn m05_the_round_cap_ends_it() {
    assert_eq!(after_round(&[unsure(4, 0.5, 1)], 5), None);
    assert_eq!(after_round(&[unsure(5, 0.5, 1)], 5), Some(Exit::RoundCap));
    assert_eq!(
        after_round(&[figures(5, &[A, A, A], 1)], 5),
        Some(Exit::Consensus)
    );
    assert_eq!(ROUND_CAP, 5);
}

/// M-05: a vote is one of three words; MAINTAIN is not one of them.
#[test]
fn m05_maintain_is_not_a_vote() {
    assert!(serde_json::from_str::<Vote>("\"MAINTAIN\"").is_err());
    assert_eq!(
        serde_json::from_str::<Vote>("\"MINOR\"").unwrap(),
        Vote::Minor
    );
}

fn answering(round: u32, options: &[&str]) -> Figures {
    let mut figures = figures(round, &vec![A; options.len()], 0);
    for (standing, option) in figures.standings.iter_mut().zip(options) {
        standing.option = Some((*option).to_owned());
    }
    figures
}

/// M-17: with all votes and confidences.
#[test]
fn m17_contradicting_answers_are_no_consensus() {
    let (adopt, not) = ("adopt the plan", "not adopt the plan");
    let exit = |figures: Figures| after_round(&[figures], 5);
    assert_eq!(
        exit(answering(1, &[adopt, adopt, adopt])),
        Some(Exit::Consensus)
    );
    assert_eq!(exit(answering(1, &[adopt, adopt, not, not])), None);
    assert_eq!(exit(answering(1, &[adopt, adopt, adopt, not])), None);
    let mut stances = figures(1, &[A, A, A], 1);
    stances.standings[0].stance = Some(Stance::Yes);
    stances.standings[1].stance = Some(Stance::Neutral);
    assert_eq!(exit(stances.clone()), Some(Exit::Consensus));
    stances.standings[2].stance = Some(Stance::No);
    assert_eq!(exit(stances), None);
    let mut words = figures(1, &[A, A, A], 1);
    words.standings[0].position = "We support the merger.".into();
    words.standings[1].position = "We do not oppose the merger.".into();
    assert_eq!(exit(words.clone()), Some(Exit::Consensus));
    words.standings[2].position = "We oppose the merger.".into();
    assert_eq!(exit(words), None);
}

/// M-17: 80% of the panel, on both sides.
#[test]
fn m17_a_seat_that_never_spoke_does_not_agree() {
    let with_one_silent = |votes: &[(Vote, f64)]| Figures {
        silent: 1,
        ..figures(1, votes, 1)
    };
    assert_eq!(after_round(&[with_one_silent(&[A, A, A])], 5), None);
    assert_eq!(
        after_round(&[with_one_silent(&[A, A, A, A])], 5),
        Some(Exit::Consensus)
    );
    assert_eq!(with_one_silent(&[A, A, A]).agreement(), Some(0.75));
}

/// M-17: the vote of a seat that has fallen silent no longer counts.
#[test]
fn m17_a_seat_that_fell_silent_does_not_agree() {
    let mut figures = figures(2, &[A, A, A, A], 1);
    assert_eq!(after_round(&[figures.clone()], 5), Some(Exit::Consensus));
    figures.standings[3].presence = Presence::Absent;
    assert_eq!(figures.agreement(), Some(0.75));
    assert_eq!(after_round(&[figures], 5), None);
}

/// M-17: a panel that flips and flips back has moved, although votes and confidences are the same.
#[test]
fn m17_a_reversal_is_not_a_plateau() {
    let (a, b) = ("Use a queue", "Buy hardware");
    let rounds = |options: [[&str; 2]; 3]| {
        let rounds = (1..).zip(options);
        let history: Vec<Figures> = rounds
            .map(|(round, options)| Figures {
                open_blockers: 1,
                ..answering(round, &options)
            })
            .collect();
        after_round(&history, 9)
    };
    assert_eq!(rounds([[a, a], [a, a], [a, a]]), Some(Exit::Plateau));
    assert_eq!(rounds([[a, a], [b, b], [a, a]]), None);
    assert_eq!(rounds([[a, a], [a, a], [a, b]]), None);
}
