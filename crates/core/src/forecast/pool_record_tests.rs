use super::*;

/// Question, agent, domain, group, probability, day of the forecast, day of the outcome, outcome.
const TINY: &str = "\
q1 m1 law judge 0.7 1 10 1
q1 m2 law skeptic 0.4 1 10 1
q1 m3 law skeptic 0.6 1 10 1
q2 m1 law judge 0.2 5 12 0
q2 m2 law skeptic 0.5 5 12 0
q2 m3 law skeptic 0.3 5 12 0
q3 m1 sport judge 0.8 11 20 1
q3 m2 sport skeptic 0.55 11 20 1
q4 m1 sport judge 0.1 15 16 0
q4 m2 sport skeptic 0.45 15 16 0
q4 m3 sport skeptic 0.35 15 16 0
q5 m1 law judge 0.65 18 32 0
q5 m2 law skeptic 0.35 18 32 0
q5 m3 law skeptic 0.55 18 32 0
q6 m1 sport judge 0.9 33 36 1
q6 m2 sport skeptic 0.5 33 36 1
q6 m3 sport skeptic 0.75 33 36 1";

fn tiny() -> Vec<Question> {
    let mut questions: Vec<Question> = Vec::new();
    for line in TINY.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let &[
            id,
            agent,
            domain,
            group,
            p,
            forecast_at,
            resolved_at,
            outcome,
        ] = fields.as_slice()
        else {
            panic!("{line}");
        };
        let p: f64 = p.parse().unwrap();
        let seat = Seat {
            agent: agent.into(),
            group: Some(group.into()),
        };
        let forecast = (seat, Distribution::normalised(&[1.0 - p, p]).unwrap());
        match questions.last_mut() {
            Some(question) if question.id == id => question.forecasts.push(forecast),
            _ => questions.push(Question {
                id: id.into(),
                domain: Some(domain.into()),
                cluster: id.into(),
                forecasts: vec![forecast],
                forecast_at: forecast_at.parse().unwrap(),
                resolved_at: resolved_at.parse().unwrap(),
                outcome: outcome.parse().unwrap(),
            }),
        }
    }
    questions
}

fn is_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
}

#[test]
fn b09_recorded_questions_are_pooled_with_what_was_known_before() {
    let questions = tiny();
    let (results, _) = live(&questions).unwrap();
    let expected = [
        0.570_143, 0.322_014, 0.735_313, 0.180_980, 0.602_588, 0.844_391,
    ];
    assert_eq!(results.len(), expected.len());
    for (result, expected) in results.iter().zip(expected) {
        is_near(result.learned.values()[1], expected);
    }
    is_near(
        PoolResult::score(&results, &questions).unwrap().brier,
        0.129_768,
    );
    let comparisons = PoolResult::comparisons(&results, &questions);
    let briers: Vec<f64> = comparisons.iter().map(|one| one.score.brier).collect();
    is_near(briers[0], 0.140_289);
    is_near(briers[2], 0.131_114);
    is_near(comparisons[0].difference, 0.129_768 - 0.140_289);
    let interval = comparisons[0].interval.unwrap();
    assert!(
        interval.low <= comparisons[0].difference && comparisons[0].difference <= interval.high
    );
}

/// An outcome on the day of a forecast was not known yet.
#[test]
fn b09_only_earlier_outcomes_count() {
    let mut questions = tiny();
    questions[1].resolved_at = 33;
    let (late, _) = live(&questions).unwrap();
    questions[1].resolved_at = 32;
    let (early, _) = live(&questions).unwrap();
    assert_eq!(late[4].learned, early[4].learned);
    assert_ne!(late[5].learned, early[5].learned);
}

#[test]
fn b09_the_order_of_the_file_does_not_matter() {
    let questions = tiny();
    let (results, pool) = live(&questions).unwrap();
    let mut turned = questions.clone();
    turned.reverse();
    let (other, same) = live(&turned).unwrap();
    let values = |results: &[PoolResult]| -> Vec<f64> {
        results.iter().map(|one| one.learned.values()[1]).collect()
    };
    assert_eq!(values(&results), values(&other));
    assert_eq!(pool, same);
}

#[test]
fn b09_halves_learn_from_each_other_and_never_from_themselves() {
    let questions = tiny();
    let halves = cross_fit(&questions, CrossFit { halves: 4 }).unwrap();
    assert_eq!(halves.len(), 4);
    assert!(halves.iter().all(|half| half.len() == 3));
    let again = cross_fit(&questions, CrossFit { halves: 4 }).unwrap();
    assert_eq!(halves, again);
    // Without anything known, each result is the mean of the log-odds.
    let one = cross_fit(&questions[..1], CrossFit { halves: 1 }).unwrap();
    is_near(
        one[0][0].learned.values()[1],
        one[0][0].log_odds_mean.values()[1],
    );
}

#[test]
fn b09_no_questions_have_no_score() {
    let (results, pool) = live(&[]).unwrap();
    assert!(PoolResult::score(&results, &[]).is_none());
    assert!(PoolResult::comparisons(&results, &[]).is_empty());
    assert_eq!(pool, LearnedPool::default());
}

/// B-09, E-16: every outcome with what it changed; without one of them, the state is as if it had never been there.
#[test]
fn b09_every_outcome_says_what_it_changed_and_can_be_left_out() {
    let mut questions = tiny();
    let steps = history(&questions).unwrap();
    let ids = |steps: &[LearningStep], questions: &[Question]| -> Vec<String> {
        let ids = steps.iter().map(|step| questions[step.question].id.clone());
        ids.collect()
    };
    assert_eq!(
        ids(&steps, &questions),
        ["q1", "q2", "q4", "q3", "q5", "q6"]
    );
    assert_eq!(steps[0].factor.before.to_bits(), 1.0_f64.to_bits());
    for (step, next) in steps.iter().zip(&steps[1..]) {
        assert_eq!(step.factor.after.to_bits(), next.factor.before.to_bits());
    }
    let (_, pool) = live(&questions).unwrap();
    is_near(steps[5].factor.after, pool.factor());
    // The judge was nearest to the first outcome.
    assert_eq!(steps[0].skills.len(), 3);
    assert!(steps[0].skills[0].1.after < 0.0 && steps[0].skills[1].1.after > 0.0);
    is_near(steps[0].said.values()[1], 0.570_143);

    questions.remove(1);
    let without = history(&questions).unwrap();
    assert_eq!(without[0], steps[0]);
    let known = learned(&questions, 20).unwrap();
    assert_eq!(known.questions(), 2);
    let (_, same) = live(&questions[..1]).unwrap();
    assert_eq!(learned(&questions, 11).unwrap(), same);
    // Strictly before.
    assert_eq!(learned(&questions, 10).unwrap(), LearnedPool::default());
}
