use super::*;

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// F-05: 0.4, 0.4 and 0.2, in any order.
#[test]
fn f05_the_composite_weighs_logic_and_evidence_twice_as_much_as_novelty() {
    let criteria = Criteria::named(&names(&["novelty", "logical_strength", "evidence_quality"]));
    let score = |name: &str| match name {
        "logical_strength" => Some(0.8),
        "evidence_quality" => Some(0.6),
        "novelty" => Some(0.3),
        _ => None,
    };
    let found = composite(&criteria.unwrap(), score).unwrap();
    assert!((found - 0.62).abs() < 1e-12, "{found}");
    let standard = composite(&Criteria::standard(), score).unwrap();
    assert!((standard - 0.62).abs() < 1e-12, "{standard}");
}

/// F-05: other criteria have equal weights unless weights are given.
#[test]
fn f05_other_criteria_have_equal_or_given_weights() {
    let two = Criteria::named(&names(&["logical_strength", "clarity"])).unwrap();
    assert_eq!(composite(&two, |_| Some(0.5)), Some(0.5));
    assert!(
        two.all()
            .iter()
            .all(|criterion| (criterion.weight - 0.5).abs() < 1e-12)
    );
    let given = Criteria::weighted(vec![("clarity".into(), 3.0), ("depth".into(), 1.0)]).unwrap();
    let found = composite(&given, |name| {
        Some(if name == "clarity" { 1.0 } else { 0.0 })
    });
    assert_eq!(found, Some(0.75));
}

#[test]
fn f05_a_missing_score_is_never_filled_in() {
    assert_eq!(
        composite(&Criteria::standard(), |name| (name != "novelty")
            .then_some(0.9)),
        None
    );
}

#[test]
fn f05_invalid_criteria_are_rejected() {
    assert_eq!(Criteria::named(&[]), Err(CriteriaError::Empty));
    assert_eq!(
        Criteria::named(&names(&["a", "a"])),
        Err(CriteriaError::Twice { name: "a".into() })
    );
    for weights in [[0.0, 0.0], [-1.0, 2.0], [f64::NAN, 1.0]] {
        let criteria = vec![("a".to_owned(), weights[0]), ("b".to_owned(), weights[1])];
        assert_eq!(Criteria::weighted(criteria), Err(CriteriaError::Weights));
    }
}
