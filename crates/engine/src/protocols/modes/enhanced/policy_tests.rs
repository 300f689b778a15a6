use super::*;

fn policy(evidence: Option<bool>, convergence: Option<bool>) -> DebatePolicy {
    DebatePolicy {
        require_evidence: evidence,
        track_convergence: convergence,
        enable_learning: None,
    }
}

/// E-21: flag, algorithm and constitution, each alone and together.
#[test]
fn e21_the_request_takes_precedence_over_constitution_and_configuration() {
    let none = policy(None, None);
    let choice = |wanted, algorithm, policy| {
        Choice::of(wanted, algorithm, policy).map(|c| (c.algorithm, c.evidence, c.ends_by))
    };
    let whole = (Some(Evidence::Required), Some(EndsBy::Convergence));
    let of = |name: &str, (evidence, ends_by)| Some((name.to_owned(), evidence, ends_by));
    assert_eq!(choice(None, None, none), None);
    assert_eq!(choice(None, None, policy(Some(false), Some(false))), None);
    assert_eq!(
        choice(Some(true), None, none),
        of(algorithm::ENHANCED, whole)
    );
    assert_eq!(
        choice(Some(true), Some("security_first_veto"), none),
        of("security_first_veto", whole)
    );
    assert_eq!(
        choice(Some(true), None, policy(Some(false), Some(false))),
        of(algorithm::ENHANCED, whole)
    );
    assert_eq!(
        choice(None, Some(algorithm::DEFAULT), none),
        of(algorithm::DEFAULT, (None, None))
    );
    assert_eq!(
        choice(None, None, policy(Some(true), None)),
        of(algorithm::ENHANCED, (Some(Evidence::Required), None))
    );
    assert_eq!(
        choice(None, None, policy(Some(true), Some(false))),
        of(
            algorithm::ENHANCED,
            (Some(Evidence::Required), Some(EndsBy::Votes))
        )
    );
}

#[test]
fn e15_a_constitution_can_forbid_learning() {
    let mut forbids = policy(Some(true), Some(true));
    forbids.enable_learning = Some(false);
    let choice = Choice::of(None, None, forbids).unwrap();
    assert_eq!(choice.learning, Learning::Disabled);
    let choice = Choice::of(Some(true), None, policy(None, None)).unwrap();
    assert_eq!(choice.learning, Learning::Enabled);
}

/// E-21: a debate that neither the request nor an algorithm made an enhanced one says why it is.
#[test]
fn e21_the_constitution_is_named_if_it_makes_a_debate_enhanced() {
    let constitution = Settings {
        policy: DebatePolicy {
            require_evidence: Some(true),
            ..DebatePolicy::default()
        },
        ..Settings::default()
    };
    assert_eq!(
        why_enhanced(None, None, &constitution).as_deref(),
        Some(
            "Enhanced debate: constitution.yaml sets require_evidence; --no-enhanced turns it off"
        )
    );
    assert_eq!(why_enhanced(Some(true), None, &constitution), None);
    assert_eq!(why_enhanced(None, None, &Settings::default()), None);
}
