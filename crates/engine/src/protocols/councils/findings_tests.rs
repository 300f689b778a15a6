use super::super::replies::{Moved, Severity};
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
                to: OutOfHundred::new(to).unwrap(),
            })
            .into_iter()
            .collect(),
    }
}

fn settled(categories: &[Category], answers: &[Answer]) -> Settled {
    let findings: Vec<_> = categories.iter().map(|it| finding(*it)).collect();
    let standing = BTreeMap::from([("hook".to_owned(), OutOfHundred::new(60.0).unwrap())]);
    settle(&findings, answers, standing)
}

/// T-10: two findings may move the same number, each by at most ten points from where the one before left it.
#[test]
fn t10_each_finding_moves_at_most_ten_points_from_where_the_number_stands() {
    use Category::{Contradiction, LogicalFlaw};
    let found = settled(
        &[LogicalFlaw, Contradiction],
        &[
            answer("K1", Decision::Accepted, Some(50.0)),
            answer("[k2]", Decision::Accepted, Some(40.0)),
        ],
    );
    let moves: Vec<_> = found
        .moves
        .iter()
        .map(|(_, it)| {
            (
                it.finding.as_str(),
                it.change.from.value(),
                it.change.to.value(),
            )
        })
        .collect();
    assert_eq!(moves, [("K1", 60.0, 50.0), ("K2", 50.0, 40.0)]);
    assert_eq!(found.faults, [] as [String; 0]);
}

/// T-10: more than ten points is not made, and said.
#[test]
fn t10_a_move_that_goes_too_far_is_not_made() {
    let found = settled(
        &[Category::LogicalFlaw],
        &[answer("K1", Decision::Accepted, Some(49.9))],
    );
    assert!(found.moves.is_empty());
    assert_eq!(
        found.faults,
        ["K1: 'hook' from 60.0 to 49.9 is more than the 10 points that are allowed."]
    );
    assert!(found.findings[0].answer.as_ref().unwrap().refused.is_some());
}

/// T-10: every finding is answered: accepted with a number, or rejected with the reason.
#[test]
fn t10_silence_and_half_answers_are_faults() {
    use Category::{LogicalFlaw, Overconfidence};
    let faults = |category, answers: &[Answer]| settled(&[category], answers).faults;
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
