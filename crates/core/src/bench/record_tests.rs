use super::*;
use crate::bench::{Measure, agreement, compare, figures, movements, moves};

/// Answers of the seats by question and round; the truth is answer 0 of each.
fn record(rows: &[&[&[Option<u32>]]]) -> Record {
    let questions = (0..rows.len()).map(|index| {
        let question = Question {
            id: index.to_string(),
            cluster: index.to_string(),
            domain: None,
        };
        (question, 0)
    });
    let seats = (0..rows[0][0].len()).map(|index| Seat {
        name: format!("s{index}"),
        family: None,
    });
    let mut record = Record::new(questions.collect(), seats.collect(), rows[0].len(), false);
    for (question, rounds) in rows.iter().enumerate() {
        for (round, seats) in rounds.iter().enumerate() {
            for (seat, answer) in seats.iter().enumerate() {
                let cell = Cell {
                    answer: *answer,
                    ..Cell::default()
                };
                assert_eq!(record.set(question, round, seat, cell), None);
            }
        }
    }
    record
}

fn credits(record: &Record, ties: Ties, arm: &str) -> Vec<f64> {
    let arms = record.arms(ties);
    let arm = arms.iter().find(|one| one.name == arm).unwrap();
    arm.outcomes.iter().map(|one| one.unwrap().credit).collect()
}

#[test]
fn b01_a_vote_shares_ties_or_follows_the_first_seat() {
    let record = record(&[
        &[&[Some(0), Some(0), Some(1)]],
        &[&[Some(1), Some(0), None]],
        &[&[Some(1), Some(2), Some(0)]],
        &[&[None, None, None]],
    ]);
    assert_eq!(
        credits(&record, Ties::Shared, "vote"),
        [1.0, 0.5, 1.0 / 3.0, 0.0]
    );
    assert_eq!(credits(&record, Ties::First, "vote"), [1.0, 0.0, 0.0, 0.0]);
    assert_eq!(
        credits(&record, Ties::Shared, "one seat"),
        [2.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 0.0]
    );
    let rows = figures(
        &record.questions,
        &record.arms(Ties::Shared),
        Measure::Accuracy,
    );
    assert!((rows[0].unanswered - 0.25).abs() < 1e-12);
    assert_eq!(record.any_right(), Some(0.75));
}

#[test]
fn b01_the_best_seat_and_the_weights_come_from_other_questions() {
    // Seat 0 is always right except on question 0, seats 1 and 2 are always wrong together.
    let right: &[&[Option<u32>]] = &[&[Some(0), Some(1), Some(1)]];
    let wrong: &[&[Option<u32>]] = &[&[Some(2), Some(0), Some(0)]];
    let rows: Vec<&[&[Option<u32>]]> = std::iter::once(wrong)
        .chain(std::iter::repeat_n(right, 59))
        .collect();
    let record = record(&rows);
    for arm in ["best seat", "weighted vote"] {
        let found = credits(&record, Ties::Shared, arm);
        assert!(found[0] < 0.5, "{arm} was chosen on its own question");
        assert!(found[1..].iter().all(|credit| *credit > 0.5), "{arm}");
    }
    assert_eq!(credits(&record, Ties::Shared, "vote")[..2], [1.0, 0.0]);
}

#[test]
fn b01_rounds_correct_and_collapse() {
    let record = record(&[
        // Wrong, then right.
        &[&[Some(1), Some(1), Some(0)], &[Some(0), Some(1), Some(0)]],
        // Right, then wrong.
        &[&[Some(0), Some(0), Some(1)], &[Some(1), Some(0), Some(1)]],
        // Wrong, then wrong in another way.
        &[&[Some(1), Some(1), Some(2)], &[Some(2), Some(1), Some(2)]],
    ]);
    let [round] = moves(&record)[..] else {
        panic!();
    };
    assert_eq!(round.round, 2);
    let panel = round.panel;
    assert_eq!(
        (panel.corrected, panel.collapsed, panel.still_wrong),
        (1, 1, 1)
    );
    assert_eq!((round.seats.corrected, round.seats.collapsed), (1, 1));
    let found = compare(
        &record.questions,
        &record.arms(Ties::Shared),
        "vote",
        Measure::Accuracy,
    );
    assert!(found.iter().any(|one| one.arm == "vote after round 2"));
    let agreed = agreement(&record);
    assert_eq!(agreed.len(), 1);
    assert_eq!(
        (agreed[0].agreement.as_str(), agreed[0].questions),
        ("2 of 3", 3)
    );
}

#[test]
fn b01_a_question_that_ended_early_keeps_its_answer() {
    let mut record = record(&[
        &[&[Some(0), Some(0)], &[Some(1), Some(1)]],
        &[&[Some(0), Some(0)], &[Some(1), Some(1)]],
    ]);
    for seat in 0..2 {
        let place = 2 + seat;
        record.cells[place] = None;
    }
    assert_eq!(
        credits(&record, Ties::Shared, "vote after round 2"),
        [1.0, 0.0]
    );
}

#[test]
fn b01_forecasts_are_scored_and_their_movement_valued() {
    let question = |index: usize| Question {
        id: index.to_string(),
        cluster: index.to_string(),
        domain: None,
    };
    let seat = |index: usize| Seat {
        name: index.to_string(),
        family: Some("one".into()),
    };
    let mut record = Record::new(
        vec![(question(0), 1), (question(1), 0)],
        vec![seat(0), seat(1)],
        2,
        true,
    );
    let p = |probability: f64| Cell {
        probability: Some(probability),
        ..Cell::default()
    };
    for (question, round, values) in [
        (0, 0, [0.6, 0.4]),
        (0, 1, [0.8, 0.4]),
        (1, 0, [0.5, 0.5]),
        (1, 1, [0.5, 0.6]),
    ] {
        for (seat, value) in values.into_iter().enumerate() {
            record.set(question, round, seat, p(value));
        }
    }
    let rows = figures(
        &record.questions,
        &record.arms(Ties::Shared),
        Measure::Brier,
    );
    let brier = |arm: &str| {
        let row = rows.iter().find(|row| row.arm == arm).unwrap();
        row.brier.unwrap()
    };
    assert!((brier("mean") - 0.25).abs() < 1e-12);
    assert!((brier("mean after round 2") - f64::midpoint(0.16, 0.3025)).abs() < 1e-12);
    let [moved] = movements(&record)[..] else {
        panic!();
    };
    // Gains .16 − .04 and .25 − .36; squares .04 and .01.
    assert!((moved.gain - 0.01).abs() < 1e-12);
    assert!((moved.squared - 0.05).abs() < 1e-12);
    assert!((moved.efficiency.unwrap() - 0.2).abs() < 1e-9);
    assert!(record.is_one_family());
}
