use super::*;

fn is_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
}

#[test]
fn b01_a_fraction_of_the_questions_gets_one_sample_more() {
    let budget = EqualBudget::of(12_400.0, 1_900.0).unwrap();
    is_near(budget.ratio, 6.526_316);
    assert_eq!((budget.samples, budget.most()), (6, 7));
    is_near(budget.share_with_one_more, 0.526_316);
    let counts: Vec<usize> = (0..10_000)
        .map(|question| budget.samples_for(&format!("q{question}")))
        .collect();
    assert!(counts.iter().all(|count| (6..=7).contains(count)));
    let mean = real(counts.iter().sum()) / 10_000.0;
    assert!((mean - 6.526).abs() < 0.02, "{mean}");
    assert_eq!(budget.samples_for("q1"), budget.samples_for("q1"));
    // A debate cheaper than one call.
    let cheap = EqualBudget::of(1.0, 2.0).unwrap();
    assert_eq!((cheap.samples, cheap.most()), (1, 1));
    assert_eq!(EqualBudget::of(1.0, 0.0), None);
    assert_eq!(EqualBudget::of(0.0, 1.0), None);
}

#[test]
fn b01_budgets_are_equal_within_five_percent() {
    assert!(is_equal(105.0, 100.0));
    assert!(is_equal(95.0, 100.0));
    assert!(!is_equal(105.1, 100.0));
    assert!(!is_equal(94.9, 100.0));
    assert!(!is_equal(0.0, 0.0));
}

#[test]
fn b01_tokens_are_weighted_if_prices_are_unknown() {
    is_near(
        Weights::default().tokens(1_000, 100, 400),
        600.0 + 400.0 + 40.0,
    );
}

#[test]
fn b01_the_vote_of_k_samples_is_exact_and_blank_samples_do_not_vote() {
    let samples = |answers: &str| -> Vec<Option<String>> {
        let letters = answers.chars();
        letters
            .map(|letter| (letter != '-').then(|| letter.to_string()))
            .collect()
    };
    let vote = |k: usize, answers: &str, right: &str| {
        vote_of_samples(k, &samples(answers), |answer| answer == right)
    };
    is_near(vote(1, "AAAAAABBBC", "A").unwrap(), 0.6);
    is_near(vote(3, "AAAAAABBBC", "A").unwrap(), 0.716_667);
    is_near(vote(5, "AAAAAABBBC", "B").unwrap(), 0.172_619);
    // Of two samples: AA, A-, A-, and the blank one alone never.
    is_near(vote(2, "AA-", "A").unwrap(), 1.0);
    is_near(vote(1, "AA-", "A").unwrap(), 2.0 / 3.0);
    is_near(vote(1, "--", "A").unwrap(), 0.0);
    // AB, AA, A-: a tie is shared.
    is_near(vote(2, "AB-", "A").unwrap(), (0.5 + 1.0 + 0.0) / 3.0);
    assert_eq!(vote(3, "AA", "A"), None);
    assert_eq!(vote(0, "AA", "A"), None);
}
