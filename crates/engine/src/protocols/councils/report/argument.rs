//! The argument of a judgement: the critic's findings with the orchestrator's rulings, the dimensions on which the judges
//! disagree, and the judges that changed a score.

use crate::cast::councils::{CRITIC, ORCHESTRATOR};
use crate::protocols::councils::disagreements::Disagreement;
use crate::protocols::councils::findings::{AnsweredFinding, FindingAnswer};
use crate::protocols::councils::replies::{Decision, Severity};
use crate::protocols::councils::scorecard::DimensionResult;
use crate::protocols::councils::verdict::Verdict;
use crate::report::{Argument, ArgumentPoint, Cell, Episode, SeatMove, Tone};

/// The round in which the judges have read each other.
const SECOND_ROUND: u32 = 2;

pub(super) fn argument(verdict: &Verdict) -> Argument {
    let findings = verdict.critic.iter().flat_map(|critic| &critic.findings);
    let findings = findings.map(|found| finding(found, &verdict.dimensions));
    let disagreements = verdict.council_disagreements.iter().map(disagreement);
    Argument {
        points: findings.chain(disagreements).collect(),
        moves: moves(&verdict.dimensions),
    }
    .sorted()
}

/// The judges that changed a score, while the debate runs or after it.
pub(super) fn moves(dimensions: &[DimensionResult]) -> Vec<SeatMove> {
    let judges = dimensions
        .iter()
        .flat_map(|dimension| dimension.judges.iter().map(move |judge| (dimension, judge)));
    let moved = judges.filter_map(|(dimension, judge)| {
        let (from, to) = (judge.round_1?, judge.round_2?);
        if from.shown() == to.shown() {
            return None;
        }
        let text = format!("{}: {} → {}", dimension.title, from.shown(), to.shown());
        let reason = match judge.is_explained {
            Some(false) => "gave no reason",
            Some(true) | None => &judge.reasoning,
        };
        Some(SeatMove::new(SECOND_ROUND, &judge.judge, text).because(Some(reason)))
    });
    moved.collect()
}

fn finding(found: &AnsweredFinding, dimensions: &[DimensionResult]) -> ArgumentPoint {
    let finding = &found.finding;
    let text = format!("{}: {}", finding.about, finding.problem);
    let raised = Episode::new(None, CRITIC, "raised it").because(&finding.evidence);
    let ruling = found.answer.iter().map(|answer| {
        let action = match answer.decision {
            Decision::Accepted => "accepted it",
            Decision::Rejected => "rejected it",
        };
        Episode::new(None, ORCHESTRATOR, action).because(&answer.reason)
    });
    ArgumentPoint::new(
        &found.id,
        &text,
        outcome(found.answer.as_ref(), finding.severity, dimensions),
    )
    .labelled(finding.severity.name())
    .told(std::iter::once(raised).chain(ruling))
}

fn outcome(
    answer: Option<&FindingAnswer>,
    severity: Severity,
    dimensions: &[DimensionResult],
) -> Cell {
    let Some(answer) = answer else {
        let tone = match severity {
            Severity::High => Tone::Critical,
            Severity::Medium | Severity::Low => Tone::Caution,
        };
        return Cell::new("no answer").toned(tone);
    };
    match (&answer.moved, answer.decision) {
        (Some(moved), _) => {
            let (from, to) = (moved.from.value(), moved.to.value());
            let mut titles = dimensions.iter();
            let found = titles.find(|dimension| dimension.dimension == moved.dimension);
            let title = found.map_or(&moved.dimension, |dimension| &dimension.title);
            let text = format!("accepted, {title} {from:.0} → {to:.0}");
            Cell::new(text).toned(Tone::Good)
        }
        (None, Decision::Accepted) => Cell::new("accepted, no score moved").toned(Tone::Good),
        (None, Decision::Rejected) => Cell::new("rejected").toned(Tone::Good),
    }
}

fn disagreement(apart: &Disagreement) -> ArgumentPoint {
    let tone = if apart.is_severe() {
        Tone::Critical
    } else {
        Tone::Caution
    };
    let outcome = Cell::new(format!("{:.0} points apart", apart.points)).toned(tone);
    let positions = apart.positions.iter().map(|position| {
        let action = format!("gave {}", position.score.shown());
        Episode::new(None, &position.judge, action).because(&position.reasoning)
    });
    let critic = apart.critic.iter();
    let critic = critic.map(|answer| Episode::new(None, CRITIC, "answered it").because(answer));
    ArgumentPoint::new(&apart.id, &apart.title, outcome)
        .labelled("disagreement")
        .told(positions.chain(critic))
}
