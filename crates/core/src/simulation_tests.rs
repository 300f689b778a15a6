use super::*;
use crate::random::SplitMix64;

fn near(found: f64, expected: f64, within: f64) {
    assert!(
        (found - expected).abs() <= within,
        "{found} is not {expected}"
    );
}

/// Two strong models with different prompts share more than the difficulty.
const ONE_MODEL: World = World {
    model: 2.7,
    ..World::MMLU_PRO
};

/// B-05: the worked examples of ability and correlation.
#[test]
fn b05_an_accuracy_has_an_ability() {
    near(ability(&World::MMLU_PRO, 0.6), 0.750_091, 5e-7);
    near(ability(&World::MMLU_PRO, 0.9), 3.823_482, 5e-7);
    near(accuracy(&World::MMLU_PRO, 0.750_091), 0.6, 5e-7);
    near(ability(&ONE_MODEL, 0.5), 0.0, 5e-7);
}

/// B-05
#[test]
fn b05_seats_of_one_model_are_wrong_together() {
    near(
        correlation(&World::MMLU_PRO, 0.6, Pair::SameModel),
        0.456_622,
        5e-7,
    );
    near(
        correlation(&World::MMLU_PRO, 0.6, Pair::DifferentModels),
        0.456_622,
        5e-7,
    );
    near(
        correlation(&ONE_MODEL, 0.6, Pair::SameModel),
        0.600_127,
        5e-7,
    );
    near(
        correlation(&ONE_MODEL, 0.6, Pair::DifferentModels),
        0.2287,
        5e-4,
    );
}

/// B-05: deviations for given correlations, and the bounds of what can be given.
#[test]
fn b05_correlations_give_the_deviations() {
    let of = |within, between| World::MMLU_PRO.with_correlations(0.6, within, between);
    for (within, between) in [
        (0.555, 0.423),
        (0.456_622, 0.456_622),
        (0.9, 0.0),
        (0.0, 0.0),
    ] {
        let world = of(within, between).unwrap();
        near(correlation(&world, 0.6, Pair::SameModel), within, 2e-3);
        near(
            correlation(&world, 0.6, Pair::DifferentModels),
            between,
            2e-3,
        );
    }
    near(of(0.456_622, 0.456_622).unwrap().difficulty, 2.4, 1e-3);
    for (within, between) in [
        (0.4, 0.5),
        (0.91, 0.1),
        (0.5, -0.1),
        (f64::NAN, 0.1),
        (0.5, f64::NAN),
    ] {
        assert_eq!(of(within, between), None, "{within} {between}");
    }
    for seat in [0.01, 0.99, f64::NAN] {
        assert_eq!(World::MMLU_PRO.with_correlations(seat, 0.5, 0.4), None);
    }
}

/// B-05: the worked examples of a seat that disagrees.
#[test]
fn b05_a_seat_adopts_what_most_others_say() {
    let seat = Debater::new(0.0, 0);
    near(seat.adoption(0.75, Side::Lead), 0.742_691, 5e-7);
    near(seat.adoption(0.75, Side::Own), 0.457_602, 5e-7);
    near(seat.adoption(0.25, Side::Neither), 0.379_894, 5e-7);
    near(seat.adoption(1.0, Side::Own), 0.571_996, 5e-7);
    let stubborn = Debater {
        stubbornness: 2.18,
        ..seat
    };
    assert!(stubborn.adoption(0.75, Side::Lead) < seat.adoption(0.75, Side::Lead));
    let loner = Debater {
        conformity: 0.0,
        ..seat
    };
    near(
        loner.adoption(1.0, Side::Neither),
        loner.adoption(0.0, Side::Neither),
        0.0,
    );
}

/// How often a seat with the answer `own` gives each of four options next, or none.
fn next(answers: &[Answer], seat: &Debater) -> [f64; 5] {
    const DRAWS: u32 = 40_000;
    let mut random = SplitMix64::new(5);
    let question = Question::draw(&World::MMLU_PRO, 1, &mut random);
    let mut counts = [0.0; 5];
    for _ in 0..DRAWS {
        let next = seat.revised(&World::MMLU_PRO, &question, (answers, 0), &mut random);
        counts[next.map_or(4, usize::from)] += 1.0 / f64::from(DRAWS);
    }
    counts
}

/// B-05: every branch of a round, by its share.
#[test]
fn b05_a_seat_reacts_by_the_rule() {
    let seat = Debater::new(0.0, 0);
    // All agree: it leaves with .0175, for any other option.
    let [right, lure, third, fourth, _] = next(&[Some(1), Some(1), Some(1)], &seat);
    near(lure, 0.9825, 0.004);
    near(right + third + fourth, 0.0175, 0.004);
    near(right, third, 0.004);
    // It agrees with the lead of two thirds: .40 · (1/3), of which .8 to the other answer on the table.
    let [_, lure, third, ..] = next(&[Some(1), Some(1), Some(1), Some(2)], &seat);
    near(lure, 1.0 - 0.4 / 3.0, 0.01);
    near(third, 0.4 / 3.0 * (0.8 + 0.2 / 3.0), 0.01);
    // It differs: .18 a third answer, otherwise the lead with the probability above.
    let [right, lure, third, fourth, _] =
        next(&[Some(1), Some(0), Some(0), Some(0), Some(2)], &seat);
    let adopts = seat.adoption(0.75, Side::Lead);
    let wrong = 0.18 * 0.8 / 3.0;
    near(right, 0.82 * adopts + 0.18 * 0.2, 0.01);
    near(lure, 0.82 * (1.0 - adopts) + wrong, 0.01);
    near(third, wrong, 0.01);
    near(fourth, wrong, 0.01);
    // No answer of its own.
    let [_, lure, _, _, none] = next(&[None, Some(1), Some(1)], &seat);
    near(none, 0.67, 0.01);
    assert!((0.24..0.33).contains(&lure), "{lure}");
    // No other seat answered: nothing to react to.
    near(next(&[Some(2), None, None], &seat)[2], 1.0, 1e-9);
    near(next(&[None, None], &seat)[4], 0.67, 0.01);
}

/// B-05: on a tie the answer named first leads, so that the order of the options does not help the right one.
#[test]
fn b05_ties_go_to_the_answer_named_first() {
    assert_eq!(leading(&[Some(2), Some(0), Some(0), Some(2)]), Some(2));
    assert_eq!(leading(&[None, Some(0), Some(2)]), Some(0));
    assert_eq!(leading(&[Some(3), Some(1), Some(1)]), Some(1));
    assert_eq!(leading(&[None, None]), None);
    assert_eq!(leading(&[]), None);
}

fn study(world: World, questions: usize) -> Study {
    Study {
        world,
        accuracies: vec![0.6],
        seat: Debater::new(0.0, 0),
        questions,
        seed: 7,
        prompt_tokens: 1_000,
        reply_tokens: 300,
        prices: Vec::new(),
    }
}

fn panel(seats: usize, families: usize, rounds: usize) -> Panel {
    Panel {
        seats,
        families,
        rounds,
    }
}

/// B-05: what the model answers: blind votes of 1 to 15 seats with an accuracy of .60, four options.
#[test]
fn b05_the_blind_vote_is_that_of_the_record() {
    let sizes = [1, 3, 5, 9, 15];
    let different = sizes.map(|seats| panel(seats, seats, 1));
    let same = sizes.map(|seats| panel(seats, 1, 1));
    for (world, panels, expected) in [
        (World::MMLU_PRO, different, [0.59, 0.63, 0.65, 0.67, 0.67]),
        (ONE_MODEL, same, [0.61, 0.63, 0.65, 0.65, 0.65]),
    ] {
        for (row, expected) in study(world, 4_000).run(&panels).iter().zip(expected) {
            near(row.accuracy, expected, 0.02);
            near(row.one_seat, 0.6, 0.02);
            assert!(row.any_right >= row.accuracy);
        }
    }
}

/// B-05: rounds bring agreement, and about as much accuracy as the misfit says.
#[test]
fn b05_rounds_unite_a_panel_and_hardly_help_it() {
    let rows = study(World::MMLU_PRO, 4_000).run(&[panel(5, 5, 1), panel(5, 5, 2), panel(5, 5, 3)]);
    let [blind, second, third] = rows.as_slice() else {
        panic!("{rows:?}");
    };
    assert!(blind.unanimous < second.unanimous && second.unanimous < third.unanimous);
    assert!(
        (-0.005..0.03).contains(&(third.accuracy - blind.accuracy)),
        "{rows:?}"
    );
    assert_eq!(blind.changed, None);
    assert!((0.04..0.13).contains(&second.changed.unwrap()), "{rows:?}");
}

/// B-05: the recorded debates of 3, 5 and 7 seats of one model, as the fitted model repeats them: accuracy of a seat and of the
/// vote, agreement, and changed majorities, by round.
#[test]
fn b05_rounds_repeat_the_recorded_debates() {
    let world = World::MMLU_PRO
        .with_correlations(0.685, 0.46, 0.42)
        .unwrap();
    let study = Study {
        accuracies: vec![0.685],
        ..study(world, 6_000)
    };
    for (rounds, [one_seat, vote, unanimous, changed]) in [
        (1, [0.684, 0.745, 0.507, 0.0]),
        (2, [0.702, 0.750, 0.565, 0.076]),
        (3, [0.712, 0.753, 0.630, 0.057]),
    ] {
        let rows = study.run(&[3, 5, 7].map(|seats| panel(seats, 1, rounds)));
        let mean = |value: fn(&Row) -> f64| rows.iter().map(value).sum::<f64>() / 3.0;
        near(mean(|row| row.one_seat), one_seat, 0.02);
        near(mean(|row| row.accuracy), vote, 0.02);
        near(mean(|row| row.unanimous), unanimous, 0.06);
        near(mean(|row| row.changed.unwrap_or_default()), changed, 0.02);
    }
}

/// B-05
#[test]
fn b05_the_same_seed_gives_the_same_study() {
    let panels = [panel(3, 3, 2), panel(5, 1, 1)];
    let one = study(World::MMLU_PRO, 500);
    assert_eq!(one.run(&panels), one.run(&panels));
    let other = Study {
        seed: 8,
        ..one.clone()
    };
    assert_ne!(one.run(&panels), other.run(&panels));
}

/// B-17: the bill of a panel, by hand.
#[test]
fn b17_a_round_after_the_first_reads_all_replies() {
    let prices = |list: &[(f64, f64)]| {
        let price = |&(input, output): &(f64, f64)| crate::usage::Price {
            input,
            output,
            cached: None,
        };
        list.iter().map(price).collect::<Vec<_>>()
    };
    let priced = Study {
        prices: prices(&[(1.0, 10.0), (3.0, 30.0)]),
        ..study(World::MMLU_PRO, 50)
    };
    let rows = priced.run(&[Panel::ONE_CALL, panel(3, 1, 2), panel(3, 2, 1)]);
    // 1,000 in and 300 out.
    assert_eq!((rows[0].calls, rows[0].tokens), (1, 1_300));
    near(rows[0].cost.unwrap(), 0.004, 1e-12);
    // Three seats, each 2 · 1,000 + 3 · 300 in and 2 · 300 out.
    assert_eq!((rows[1].calls, rows[1].tokens), (6, 3 * 3_500));
    near(
        rows[1].cost.unwrap(),
        3.0 * (2_900.0 + 6_000.0) / 1e6,
        1e-12,
    );
    // Seats 1 and 3 of the first family, seat 2 of the second.
    near(rows[2].cost.unwrap(), 0.004 + 0.012 + 0.004, 1e-12);
    near(rows[0].gain, 0.0, 0.0);
    let of_right = rows[2].cost_per_right_answer.unwrap();
    near(of_right * rows[2].accuracy, rows[2].cost.unwrap(), 1e-12);
    let unpriced = study(World::MMLU_PRO, 50).run(&[panel(3, 1, 2)]);
    assert_eq!(
        (unpriced[0].cost, unpriced[0].cost_per_right_answer),
        (None, None)
    );
}

/// B-17: the cheapest panel within .02 of the best, on both sides of the bound.
#[test]
fn b17_the_cheapest_panel_that_is_about_as_good_is_named() {
    let rows = study(World::MMLU_PRO, 50).run(&[panel(1, 1, 1), panel(3, 3, 1), panel(3, 3, 2)]);
    let with = |accuracies: [f64; 3]| -> Vec<Row> {
        let pairs = rows.iter().zip(accuracies);
        pairs
            .map(|(row, accuracy)| Row {
                accuracy,
                ..row.clone()
            })
            .collect()
    };
    let seats = |rows: Vec<Row>| {
        let found = Row::cheapest_good(&rows).map(|row| (row.panel.seats, row.panel.rounds));
        found.unwrap()
    };
    assert_eq!(seats(with([0.65, 0.66, 0.67])), (1, 1));
    assert_eq!(seats(with([0.649, 0.66, 0.67])), (3, 1));
    assert_eq!(seats(with([0.6, 0.62, 0.67])), (3, 2));
    assert_eq!(Row::cheapest_good(&[]), None);
}

/// B-05: a seat without an answer of its own.
#[test]
fn b05_absent_seats_do_not_vote() {
    let absent = Debater {
        absence: 1.0,
        ..Debater::new(0.0, 0)
    };
    let rows = Study {
        seat: absent,
        ..study(World::MMLU_PRO, 300)
    }
    .run(&[panel(3, 1, 1)]);
    near(rows[0].accuracy, 0.0, 0.0);
    near(rows[0].unanimous, 0.0, 0.0);
    assert_eq!(rows[0].cost_per_right_answer, None);
}

/// B-05: recorded panels of forecasters and their simulation: one seat, mean, mean of the log-odds, correlation of errors.
#[test]
fn b05_forecasters_score_like_those_of_the_records() {
    for (name, seats, families, expected) in [
        ("models", 15, 15, [0.1982, 0.1696, 0.1670, 0.845]),
        ("models-2", 12, 12, [0.1877, 0.1634, 0.1584, 0.859]),
        ("samples", 30, 6, [0.2038, 0.1910, 0.1911, 0.925]),
        ("professionals", 9, 9, [0.1606, 0.1555, 0.1560, 0.965]),
    ] {
        let kind = Forecasters::named(name).unwrap();
        let rows = forecast_study(kind, 1.0, &[(seats, families)], (20_000, 3));
        let row = rows[0];
        near(row.one_seat, expected[0], 0.006);
        near(row.mean, expected[1], 0.006);
        near(row.log_odds_mean, expected[2], 0.006);
        near(row.correlation.unwrap(), expected[3], 0.03);
    }
    assert_eq!(Forecasters::named("experts"), None);
}

/// B-05
#[test]
fn b05_overconfident_forecasters_score_worse() {
    let kind = Forecasters::named("models").unwrap();
    let of = |sharpness| forecast_study(kind, sharpness, &[(3, 3), (3, 1), (1, 1)], (4_000, 3));
    let (plain, sharp) = (of(1.0), of(2.0));
    assert!(sharp[0].mean > plain[0].mean);
    assert!(sharp[0].one_seat > plain[0].one_seat + 0.01);
    assert!(plain[1].correlation > plain[0].correlation);
    assert!(plain[1].effective_seats < plain[0].effective_seats);
    assert_eq!(plain[2].correlation, None);
    near(plain[2].effective_seats, 1.0, 0.0);
    near(plain[2].mean, plain[2].one_seat, 1e-12);
}
