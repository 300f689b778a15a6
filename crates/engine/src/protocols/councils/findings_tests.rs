use super::super::replies::{Moved, Severity, Stated};
use super::*;

fn finding(category: Category) -> Finding {
    Finding {
        category,
        severity: Severity::High,
        about: "hook".into(),
        problem: "It does not follow.".into(),
        evidence: "Line 1.".into(),
    }
}

fn answer(id: &str, decision: Decision, to: Option<f64>) -> Answer {
    Answer {
        finding: id.into(),
        decision,
        reason: "Because.".into(),
        moves: to
            .map(|to| Moved {
                dimension: "hook".into(),
                to: Stated(OutOfHundred::new(to).ok()),
            })
            .into_iter()
            .collect(),
        no_move_because: String::new(),
    }
}

fn resolved(categories: &[Category], answers: &[Answer]) -> ResolvedFindings {
    let findings: Vec<_> = categories
        .iter()
        .map(|category| finding(*category))
        .collect();
    let scores = BTreeMap::from([("hook".to_owned(), OutOfHundred::new(60.0).unwrap())]);
    resolve_findings(&findings, answers, scores)
}

/// T-10: two findings may move the same score, each by at most ten points from its current value.
#[test]
fn t10_each_finding_moves_a_score_by_at_most_ten_points() {
    use Category::{Contradiction, LogicalFlaw};
    let found = resolved(
        &[LogicalFlaw, Contradiction],
        &[
            answer("K1", Decision::Accepted, Some(50.0)),
            answer("[k2]", Decision::Accepted, Some(40.0)),
        ],
    );
    let moves: Vec<_> = found
        .moves
        .iter()
        .map(|(_, change)| {
            (
                change.finding.as_str(),
                change.change.from.value(),
                change.change.to.value(),
            )
        })
        .collect();
    assert_eq!(moves, [("K1", 60.0, 50.0), ("K2", 50.0, 40.0)]);
    assert_eq!(found.faults, [] as [String; 0]);
}

/// T-10: a move of more than ten points is rejected with a message.
#[test]
fn t10_a_move_beyond_the_limit_is_rejected() {
    let found = resolved(
        &[Category::LogicalFlaw],
        &[answer("K1", Decision::Accepted, Some(49.9))],
    );
    assert!(found.moves.is_empty());
    assert_eq!(
        found.faults,
        ["K1: 'hook' from 60 to 49.9 is 10.1 points; at most 10 are allowed."]
    );
    assert!(found.findings[0].answer.as_ref().unwrap().refused.is_some());
}

/// T-10: every finding must be accepted with a score, or rejected with a reason.
#[test]
fn t10_missing_and_incomplete_answers_are_faults() {
    use Category::{LogicalFlaw, Overconfidence};
    let faults = |category, answers: &[Answer]| resolved(&[category], answers).faults;
    assert_eq!(
        faults(LogicalFlaw, &[]),
        ["The critic's finding K1 has no answer."]
    );
    assert_eq!(
        faults(LogicalFlaw, &[answer("K1", Decision::Accepted, None)]).len(),
        1
    );
    assert_eq!(
        faults(LogicalFlaw, &[answer("K1", Decision::Rejected, Some(55.0))]).len(),
        1
    );
    assert_eq!(
        faults(LogicalFlaw, &[answer("K1", Decision::Rejected, None)]),
        [] as [String; 0]
    );
    assert_eq!(
        faults(Overconfidence, &[answer("K1", Decision::Accepted, None)]),
        [] as [String; 0]
    );
    let unknown = faults(
        LogicalFlaw,
        &[
            answer("K1", Decision::Rejected, None),
            answer("K7", Decision::Rejected, None),
        ],
    );
    assert_eq!(unknown, ["There is no finding 'K7'."]);
}

/// T-14: an accepted finding moves a number or says why none moves; a score out of range or an empty reason costs the move.
#[test]
fn t14_an_accepted_finding_without_a_move_says_why() {
    use Category::{LogicalFlaw, Overconfidence};
    let still = Answer {
        no_move_because: "The score stands on other evidence.".into(),
        ..answer("K1", Decision::Accepted, None)
    };
    for (category, given, why, faults) in [
        (
            LogicalFlaw,
            still.clone(),
            Some("The score stands on other evidence."),
            0,
        ),
        (LogicalFlaw, answer("K1", Decision::Accepted, None), None, 1),
        (
            Overconfidence,
            answer("K1", Decision::Accepted, None),
            Some("it lowers the confidence, not a score"),
            0,
        ),
        (
            LogicalFlaw,
            answer("K1", Decision::Accepted, Some(55.0)),
            None,
            0,
        ),
        (
            LogicalFlaw,
            answer("K1", Decision::Accepted, Some(110.0)),
            None,
            1,
        ),
        (
            LogicalFlaw,
            Answer {
                reason: " ".into(),
                ..answer("K1", Decision::Accepted, Some(55.0))
            },
            None,
            1,
        ),
    ] {
        let found = resolved(&[category], std::slice::from_ref(&given));
        assert_eq!(found.faults.len(), faults, "{given:?}: {:?}", found.faults);
        let answer = found.findings[0].answer.as_ref().unwrap();
        assert_eq!(answer.no_move_because.as_deref(), why);
        assert_eq!(answer.refused.is_some(), faults == 1);
    }
}
