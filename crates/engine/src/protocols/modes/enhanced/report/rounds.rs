//! One measured round: positions with their evidence, the three measures and the status.

use roundtable_core::convergence::{Basis, Explanation, shift_band, similarity_band};
use roundtable_core::evidence::{Calibration, Level};
use roundtable_core::wording::one_line;

use super::status_tone;
use crate::protocols::modes::Debate;
use crate::protocols::modes::enhanced::state::{EnhancedState, MeasuredRound, SeatPosition};
use crate::protocols::modes::report::note;
use crate::report::{Block, Card, Cell, Gauge, Mark, Section, Threshold, Tone};

pub(super) fn round_section(
    debate: &Debate,
    enhanced: &EnhancedState,
    round: &MeasuredRound,
) -> Section {
    let cards = round
        .positions
        .iter()
        .map(|position| card(debate, enhanced, round, position));
    let mut blocks = vec![
        Block::Cards {
            cards: cards.collect(),
        },
        Block::Gauges {
            gauges: gauges(enhanced, round),
        },
    ];
    if round.decision.basis == Basis::TypedAnswersAlone {
        let why = round.measurement.failure.as_deref();
        let why = why.unwrap_or("fewer than two positions");
        blocks.push(note(
            format!("Similarity was not measured ({why}): the typed answers alone decide."),
            Tone::Caution,
        ));
    }
    let agreement = &round.metrics.agreement;
    if let Some(lowest) = agreement.lowest() {
        let tone = if agreement.contradictions.is_empty() {
            Tone::Plain
        } else {
            Tone::Caution
        };
        blocks.push(note(
            format!("Agreement of the typed answers: {:.0}%.", lowest * 100.0),
            tone,
        ));
    }
    for contradiction in &agreement.contradictions {
        let lead = if round.decision.vetoed {
            "The wording is similar, but the answers contradict each other: "
        } else {
            "The answers contradict each other: "
        };
        blocks.push(note(
            format!("{lead}{}.", contradiction.shown()),
            Tone::Caution,
        ));
    }
    for warning in &round.decision.warnings {
        blocks.push(note(warning.shown(), Tone::Caution));
    }
    blocks.push(note(
        format!("Status: {}", round.decision.status.shown()),
        status_tone(round.decision.status),
    ));
    Section::main(&format!("Round {}", round.number), blocks)
}

fn card(
    debate: &Debate,
    enhanced: &EnhancedState,
    round: &MeasuredRound,
    position: &SeatPosition,
) -> Card {
    let rounds = debate.rounds.iter().filter(|r| r.number == round.number);
    let turn = rounds
        .flat_map(|round| &round.turns)
        .find(|turn| turn.seat == position.seat);
    let text = turn.map_or_else(String::new, |turn| {
        if turn.is_hidden {
            "[withheld]".to_owned()
        } else {
            one_line(&turn.heard.position)
        }
    });
    let evidence = &position.evidence;
    let pieces = evidence.evidence.iter().map(|ground| {
        let source = ground.source.and_then(|id| enhanced.ledger.sources.get(id));
        let source = source.map_or_else(|| "no source".to_owned(), |s| s.cited.shown());
        (ground.kind.name().to_owned(), source)
    });
    let stated = evidence.stated.value();
    let mut remarks = Vec::new();
    let wants_evidence = enhanced.rules.wants_evidence();
    if wants_evidence && evidence.calibration != Calibration::Within {
        let text = miscalibrated(evidence.calibration, stated, evidence.grade.level);
        remarks.push(Cell::new(text).toned(Tone::Caution));
    }
    let claims = position.claims.iter().filter(|_| wants_evidence);
    for claim in claims.filter(|claim| claim.calibration != Calibration::Within) {
        let text = miscalibrated(claim.calibration, claim.stated.value(), claim.level);
        remarks.push(Cell::new(format!("{}: {text}", claim.claim)).toned(Tone::Caution));
    }
    if position.movement.is_some_and(|movement| movement.turned) {
        remarks.push(Cell::new("changed its answer").toned(Tone::Caution));
    }
    match &position.explanation {
        Explanation::NotNeeded => {}
        Explanation::By(ids) => remarks.push(Cell::new(format!("moved by {}", ids.join(", ")))),
        Explanation::Unexplained => {
            let text = "changed its position without naming new evidence";
            remarks.push(Cell::new(text).toned(Tone::Caution));
        }
    }
    Card {
        role: position.seat.clone(),
        position: text,
        evidence: if wants_evidence {
            pieces.collect()
        } else {
            Vec::new()
        },
        confidence: Cell::new(format!("{} ({stated:.2})", Level::of(stated).name())),
        remarks,
    }
}

/// `too confident for its evidence: 0.60 stated, 0.40 to 0.54 supported`
fn miscalibrated(calibration: Calibration, stated: f64, level: Level) -> String {
    let (low, high) = level.band();
    let what = match calibration {
        Calibration::Overconfident => "too confident for its evidence",
        Calibration::Underconfident => "less confident than its evidence allows",
        Calibration::Within => "as confident as its evidence allows",
    };
    format!("{what}: {stated:.2} stated, {low:.2} to {high:.2} supported")
}

fn gauges(enhanced: &EnhancedState, round: &MeasuredRound) -> Vec<Gauge> {
    let thresholds = &enhanced.rules.thresholds;
    let before = enhanced
        .rounds
        .iter()
        .rev()
        .find(|r| r.number < round.number);
    let similarity = round.metrics.similarity.map(|s| s.scaled);
    let similarity_before = before.and_then(|before| Some(before.metrics.similarity?.scaled));
    let shift = round.metrics.shift;
    let shift_before = before.and_then(|before| before.metrics.shift);
    let evidence = round.metrics.evidence;
    let evidence_before = before.map(|before| before.metrics.evidence);
    let unmeasured = || "not measured".to_owned();
    let label = match before {
        Some(before) => format!("Position shift (R{}→R{})", before.number, round.number),
        None => "Position shift".to_owned(),
    };
    vec![
        Gauge {
            label: "Semantic similarity".into(),
            value: similarity,
            threshold: Some(Threshold {
                label: "consensus".into(),
                value: thresholds.similarity,
            }),
            previous: similarity_before,
            trend: trend(
                similarity,
                similarity_before,
                ["rising", "steady", "falling"],
            ),
            status: similarity.map_or_else(unmeasured, |s| similarity_band(s).to_owned()),
            mark: mark(similarity, thresholds.similarity),
        },
        Gauge {
            label,
            value: shift,
            threshold: Some(Threshold {
                label: "no progress below".into(),
                value: thresholds.stalled,
            }),
            previous: shift_before,
            trend: trend(shift, shift_before, ["moving more", "steady", "slowing"]),
            status: shift.map_or_else(
                || "no earlier positions".to_owned(),
                |shift| shift_band(shift).to_owned(),
            ),
            mark: match shift {
                Some(shift) if shift < thresholds.stalled => Mark::Short,
                Some(_) | None => Mark::OnTheWay,
            },
        },
        Gauge {
            label: "Evidence convergence".into(),
            value: Some(evidence),
            threshold: Some(Threshold {
                label: "strong agreement".into(),
                value: thresholds.evidence,
            }),
            previous: evidence_before,
            trend: trend(
                Some(evidence),
                evidence_before,
                ["rising", "steady", "falling"],
            ),
            status: round.metrics.evidence_band().to_owned(),
            mark: match mark(Some(evidence), thresholds.evidence) {
                Mark::Reached => Mark::Reached,
                Mark::OnTheWay | Mark::Short => Mark::Short,
            },
        },
    ]
}

fn mark(value: Option<f64>, threshold: f64) -> Mark {
    match value {
        Some(value) if value >= threshold => Mark::Reached,
        Some(_) => Mark::OnTheWay,
        None => Mark::Short,
    }
}

fn trend(now: Option<f64>, before: Option<f64>, words: [&str; 3]) -> Option<String> {
    /// Values are shown with two decimals.
    const MIN_CHANGE: f64 = 0.005;
    let change = now? - before?;
    let [up, level, down] = words;
    Some(match change {
        change if change >= MIN_CHANGE => up.to_owned(),
        change if change <= -MIN_CHANGE => down.to_owned(),
        _ => level.to_owned(),
    })
}
