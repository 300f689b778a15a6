//! The argument of a dialectic: the skeptic's issues with the proposer's answers and the skeptic's rulings.

use roundtable_core::issues::{Action, Issue, Ledger, Severity, Status};

use crate::report::{Argument, ArgumentPoint, Cell, Episode, SeatMove, Tone};

const PROPOSER: &str = "proposer";
const SKEPTIC: &str = "skeptic";

pub(super) fn argument(ledger: &Ledger) -> Argument {
    let points = ledger.all().iter().map(point);
    Argument {
        points: points.collect(),
        moves: moves(ledger.all()),
    }
    .sorted()
}

fn point(issue: &Issue) -> ArgumentPoint {
    let finding = &issue.finding;
    let raised = Episode::new(issue.raised_in, SKEPTIC, "raised it");
    let answers = issue.answers.iter().map(|answer| {
        let action = match answer.what.action {
            Action::Accept => "accepted it",
            Action::Defend => "defended the answer",
        };
        Episode::new(answer.round, PROPOSER, action).because(&answer.what.explanation)
    });
    let rulings = issue.verdicts.iter().map(|ruling| {
        let action = match ruling.what.status {
            Status::Resolved => "called it settled",
            Status::PartiallyResolved => "called it partly settled",
            Status::Unresolved => "called it open",
        };
        Episode::new(ruling.round, SKEPTIC, action).because(&ruling.what.reason)
    });
    ArgumentPoint::new(&issue.id, &finding.problem, outcome(issue))
        .labelled(finding.severity.name())
        .told(
            std::iter::once(raised.because(&finding.why_it_matters))
                .chain(answers)
                .chain(rulings),
        )
}

fn outcome(issue: &Issue) -> Cell {
    let settled = issue.verdicts.last().map(|ruling| ruling.round);
    let tone = match issue.finding.severity {
        Severity::Critical => Tone::Critical,
        Severity::Major => Tone::Caution,
        Severity::Minor => Tone::Plain,
    };
    match (issue.status, settled) {
        (Status::Resolved, Some(round)) => {
            Cell::new(format!("settled in round {round}")).toned(Tone::Good)
        }
        (Status::Resolved, None) => Cell::new("settled").toned(Tone::Good),
        (Status::PartiallyResolved, _) => Cell::new("partly settled").toned(tone),
        (Status::Unresolved, _) if issue.answers.is_empty() => {
            Cell::new("open, not answered").toned(tone)
        }
        (Status::Unresolved, _) => Cell::new("open").toned(tone),
    }
}

/// The rounds in which the proposer changed its answer for an issue.
fn moves(issues: &[Issue]) -> Vec<SeatMove> {
    let mut moves: Vec<SeatMove> = Vec::new();
    let answers = issues.iter().flat_map(|issue| {
        let answers = issue.answers.iter();
        let accepted = answers.filter(|answer| answer.what.action == Action::Accept);
        accepted.map(move |answer| (answer.round, issue, &answer.what.explanation))
    });
    for (round, issue, explanation) in answers {
        match moves.iter_mut().find(|moved| moved.round == round) {
            Some(moved) => {
                moved.text = format!("{}, {}", moved.text, issue.id);
                // Several reasons are in the stories of their issues.
                moved.reason = None;
            }
            None => moves.push(
                SeatMove::new(
                    round,
                    PROPOSER,
                    format!("changed the answer for {}", issue.id),
                )
                .because(Some(explanation)),
            ),
        }
    }
    moves
}
