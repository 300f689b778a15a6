use super::super::{Decision, Test, compare, compare_pairs, conclusion};
use super::*;
use crate::statistics::smallest_difference;

fn questions(count: usize) -> Vec<Question> {
    (0..count)
        .map(|index| Question {
            id: index.to_string(),
            cluster: index.to_string(),
            domain: None,
        })
        .collect()
}

fn arm(name: &str, credits: &[f64]) -> Arm {
    let outcome = |credit: &f64| Outcome {
        credit: *credit,
        is_answered: true,
        brier: Some((1.0 - credit).powi(2)),
        log: None,
        spent: Spent {
            tokens: Some(100.0),
            cost: Some(0.02),
            seconds: None,
        },
    };
    Arm {
        name: name.to_owned(),
        outcomes: credits.iter().map(|credit| Some(outcome(credit))).collect(),
    }
}

/// 60 both, 12 only the first, 3 only the second, 25 neither.
fn pair() -> [Arm; 2] {
    let part = |count: usize, credit: f64| vec![credit; count];
    let first = [part(60, 1.0), part(12, 1.0), part(3, 0.0), part(25, 0.0)].concat();
    let second = [part(60, 1.0), part(12, 0.0), part(3, 1.0), part(25, 0.0)].concat();
    [arm("vote", &second), arm("debate", &first)]
}

fn is_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
}

#[test]
fn b01_arms_are_compared_with_one_baseline() {
    let questions = questions(100);
    let found = compare(&questions, &pair(), "vote", Measure::Accuracy);
    let [one] = found.as_slice() else {
        panic!("{found:?}");
    };
    is_near(one.difference, 0.09);
    is_near(one.newcombe.unwrap().low, 0.015_992);
    is_near(one.p, 0.021_271);
    is_near(one.adjusted_p, 0.021_271);
    assert_eq!((one.only_arm, one.only_baseline), (12, 3));
    assert_eq!(one.test, Test::McnemarMidP);
    assert_eq!(one.decision, Decision::Better);
    is_near(
        one.smallest_difference.unwrap(),
        smallest_difference(100, 0.15),
    );
    let text = conclusion(&found, "than vote", Measure::Accuracy);
    assert_eq!(text, "debate is better than vote by 9.0 points.");
    assert_eq!(compare(&questions, &pair(), "none", Measure::Accuracy), []);
}

#[test]
fn b01_many_comparisons_decide_less() {
    let [base, better] = pair();
    let mut arms = vec![base.clone(), better];
    // Two more arms that equal the baseline: 3 × 0.021 is above 0.05.
    for name in ["a", "b"] {
        let same = base.outcomes.clone();
        arms.push(Arm {
            name: name.to_owned(),
            outcomes: same,
        });
    }
    let found = compare(&questions(100), &arms, "vote", Measure::Accuracy);
    is_near(found[0].adjusted_p, 3.0 * found[0].p);
    is_near(found[0].p, 0.021_271);
    assert!(found.iter().all(|one| one.decision == Decision::NotDecided));
    let text = conclusion(&found, "than vote", Measure::Accuracy);
    assert!(
        text.starts_with("Not decided: no arm is better or worse than vote beyond chance; differences below 10.9 points"),
        "{text}"
    );
    let nothing = conclusion(&[], "than vote", Measure::Accuracy);
    assert_eq!(nothing, "Not decided: there is nothing to compare.");
}

#[test]
fn b01_an_arm_is_compared_with_itself_in_another_bench() {
    let [before, after] = pair();
    let pairs = [
        (before.clone(), after.clone()),
        (after.clone(), after.clone()),
    ];
    let found = compare_pairs(&questions(100), &pairs, Measure::Accuracy);
    is_near(found[0].difference, 0.09);
    // Two comparisons: twice the probability of the smaller one.
    is_near(found[0].adjusted_p, 2.0 * 0.021_271);
    assert_eq!(found[0].decision, Decision::Better);
    is_near(found[1].difference, 0.0);
    assert_eq!(found[1].decision, Decision::NotDecided);
}

#[test]
fn b01_clusters_and_shared_ties_use_the_clustered_error() {
    let mut questions = questions(100);
    for (index, question) in questions.iter_mut().enumerate() {
        question.cluster = (index / 4).to_string();
    }
    let found = compare(&questions, &pair(), "vote", Measure::Accuracy);
    assert_eq!((found[0].test, found[0].newcombe), (Test::ClusteredZ, None));
    assert!(found[0].p > 0.021_271, "{}", found[0].p);
    let shared = [arm("vote", &[1.0, 0.5, 0.0]), arm("x", &[1.0, 0.0, 0.0])];
    let found = compare(&self::questions(3), &shared, "vote", Measure::Accuracy);
    assert_eq!(found[0].test, Test::ClusteredZ);
    is_near(found[0].difference, -0.5 / 3.0);
}

#[test]
fn b01_an_arm_has_accuracy_price_and_interval() {
    let credits: Vec<f64> = (0..200).map(|i| f64::from(u8::from(i < 137))).collect();
    let rows = figures(&questions(200), &[arm("vote", &credits)], Measure::Accuracy);
    let row = &rows[0];
    is_near(row.accuracy, 0.685);
    is_near(row.interval.unwrap().low, 0.617_650);
    is_near(row.interval.unwrap().high, 0.745_377);
    is_near(row.cost_per_question.unwrap(), 0.02);
    // 200 questions at $0.02.
    is_near(row.per_right.cost.unwrap(), 4.0 / 137.0);
    let interval = row.per_right.cost_interval.unwrap();
    is_near(interval.low, 4.0 / (200.0 * 0.745_377_4));
    assert_eq!(row.per_right.seconds, None);
    assert_eq!(row.is_on_front, Some(true));
}

#[test]
fn b01_an_arm_without_a_right_answer_has_no_price_per_right_answer() {
    let rows = figures(&questions(3), &[arm("vote", &[0.0; 3])], Measure::Accuracy);
    assert_eq!(rows[0].per_right.cost, None);
    assert_eq!(rows[0].per_right.cost_interval, None);
}

#[test]
fn b01_only_a_surely_better_and_cheaper_arm_dominates() {
    let price = |mut arm: Arm, cost: f64| {
        for outcome in arm.outcomes.iter_mut().flatten() {
            outcome.spent.cost = Some(cost);
        }
        arm
    };
    let [vote, debate] = pair();
    let front = |arms: &[Arm]| -> Vec<Option<bool>> {
        let rows = figures(&questions(100), arms, Measure::Accuracy);
        rows.iter().map(|row| row.is_on_front).collect()
    };
    let cheap = [price(vote.clone(), 1.0), price(debate.clone(), 2.0)];
    assert_eq!(front(&cheap), [Some(true), Some(true)]);
    let dear = [price(vote, 2.0), price(debate, 1.0)];
    assert_eq!(front(&dear), [Some(false), Some(true)]);
}
