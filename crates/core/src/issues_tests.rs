use super::*;

fn finding(severity: Severity, strategy: Strategy) -> Finding {
    Finding {
        strategy,
        severity,
        location: "step 2".into(),
        problem: "does not follow".into(),
        why_it_matters: "the conclusion rests on it".into(),
        suggested_fix: "show the missing step".into(),
    }
}

fn answer(issue: &str) -> Answer {
    Answer {
        issue: issue.into(),
        action: Action::Accept,
        explanation: "mended".into(),
    }
}

fn verdict(issue: &str, status: Status) -> Verdict {
    Verdict {
        issue: issue.into(),
        status,
        reason: String::new(),
    }
}

fn ids(issues: &[&Issue]) -> Vec<String> {
    issues.iter().map(|issue| issue.id.clone()).collect()
}

/// P-03, P-04: ids are assigned in order; unanswered issues are listed; verdicts decide which are open.
#[test]
fn p04_an_unanswered_issue_is_listed_for_the_next_turn() {
    let mut ledger = Ledger::default();
    ledger.raise(
        1,
        [
            finding(Severity::Minor, Strategy::PrecisionAudit),
            finding(Severity::Critical, Strategy::LogicalStructure),
            finding(Severity::Major, Strategy::SteelMan),
        ],
    );
    assert_eq!(ids(&ledger.open()), ["S2", "S3", "S1"]);

    let unknown = ledger.answer(2, [answer("s2"), answer("[S1]"), answer("S9")]);
    assert_eq!(unknown, UnknownIds::from(["S9".into()]));
    assert_eq!(ids(&ledger.unanswered(2)), ["S3"]);

    ledger.judge(
        2,
        [
            verdict("S2", Status::Resolved),
            verdict("S1", Status::PartiallyResolved),
        ],
    );
    ledger.raise(2, [finding(Severity::Major, Strategy::Completeness)]);
    assert_eq!(ids(&ledger.open()), ["S3", "S4", "S1"]);
    assert_eq!(ledger.open_count(Severity::Critical), 0);
    // An issue raised in this round cannot have been answered yet.
    assert_eq!(ids(&ledger.unanswered(2)), ["S3"]);
}

/// P-04: a resolved issue can be reopened by the skeptic; the history keeps both verdicts.
#[test]
fn the_latest_verdict_counts_and_earlier_ones_are_kept() {
    let mut ledger = Ledger::default();
    ledger.raise(1, [finding(Severity::Critical, Strategy::Robustness)]);
    ledger.judge(2, [verdict("S1", Status::Resolved)]);
    ledger.judge(3, [verdict("S1", Status::Unresolved)]);
    assert_eq!(ledger.open_count(Severity::Critical), 1);
    assert_eq!(ledger.all()[0].verdicts.len(), 2);
}

/// P-03: the eight strategies, and which of them found nothing.
#[test]
fn p03_strategies_that_found_nothing_are_listed() {
    let mut ledger = Ledger::default();
    assert_eq!(ledger.fruitless(), Strategy::ALL);
    ledger.raise(1, [finding(Severity::Minor, Strategy::AssumptionMining)]);
    assert_eq!(ledger.fruitless(), Strategy::ALL[1..]);
}
