//! The scorecard chart: a dot for each judge, a line for the consensus.

use roundtable_core::bounded::OutOfHundred;
use roundtable_core::councils::{Agreement, Spread};

use super::super::scorecard::{DimensionResult, JudgeScore, ScoreBasis};
use crate::report::{Block, Cell, Chart, Dot, DotRow, Scale, Section, Table, Tone, Unit};

const SCALE: Scale = Scale {
    from: 0.0,
    to: 100.0,
    unit: Unit::Decimals(0),
};

pub(super) fn sections(dimensions: &[DimensionResult]) -> Vec<Section> {
    if dimensions
        .iter()
        .all(|dimension| dimension.judges.is_empty())
    {
        return Vec::new();
    }
    let now = chart(
        "Scorecard",
        dimensions,
        |result| result.final_score,
        |result| result.spread.as_ref(),
        JudgeScore::last,
    );
    let mut sections = vec![Section::main("Scorecard", vec![Block::Chart(now)])];
    let has_second = dimensions
        .iter()
        .flat_map(|dimension| &dimension.judges)
        .any(|score| score.round_2.is_some());
    if has_second {
        let before = chart(
            "Round 1, before the judges read each other",
            dimensions,
            |result| result.blind.as_ref().map(|consensus| consensus.score),
            |result| result.blind_spread.as_ref(),
            |score| score.round_1,
        );
        let blocks = vec![Block::Chart(before), Block::Table(moves(dimensions))];
        sections.push(Section::side("Before and after round 2", blocks));
    }
    sections
}

fn chart(
    title: &str,
    dimensions: &[DimensionResult],
    line: impl Fn(&DimensionResult) -> Option<OutOfHundred>,
    spread: impl Fn(&DimensionResult) -> Option<&Spread>,
    dot: impl Fn(&JudgeScore) -> Option<OutOfHundred>,
) -> Chart {
    let rows = dimensions.iter().map(|result| DotRow {
        label: result.title.clone(),
        line: line(result).map(OutOfHundred::value),
        dots: result
            .judges
            .iter()
            .filter_map(|judge| {
                Some(Dot {
                    role: judge.judge.clone(),
                    value: dot(judge)?.value(),
                })
            })
            .collect(),
        remark: spread(result).and_then(remark),
    });
    Chart::Dots {
        title: title.to_owned(),
        scale: SCALE,
        rows: rows.collect(),
    }
}

fn remark(spread: &Spread) -> Option<Cell> {
    let apart = || format!("{} apart", Unit::Decimals(0).write(spread.points));
    match spread.agreement {
        Agreement::HighConfidence => Some(Cell::new("agreed").toned(Tone::Good)),
        Agreement::Ordinary => None,
        Agreement::Disagreement => Some(Cell::new(apart()).toned(Tone::Caution)),
        Agreement::SevereDisagreement => Some(Cell::new(apart()).toned(Tone::Critical)),
    }
}

/// The scores of all judges that were asked in round 2.
fn moves(dimensions: &[DimensionResult]) -> Table {
    let table = Table::new(
        "What round 2 changed",
        &["dimension", "judge", "#round 1", "#round 2", ""],
    );
    let scores = dimensions
        .iter()
        .flat_map(|dimension| dimension.judges.iter().map(move |judge| (dimension, judge)));
    let asked = scores.filter(|(_, judge)| judge.basis != ScoreBasis::OneRound);
    asked.fold(table, |table, (dimension, judge)| {
        let shown = |score: Option<OutOfHundred>| {
            score.map_or_else(|| "–".into(), |score| score.shown().to_string())
        };
        let what = match (judge.basis, judge.is_explained) {
            (ScoreBasis::RoundOneStands, _) => {
                Cell::new("absent: round 1 counts").toned(Tone::Caution)
            }
            (_, Some(true)) => Cell::new("changed, with a reason"),
            (_, Some(false)) => Cell::new("changed, unexplained").toned(Tone::Caution),
            (_, None) => Cell::new("unchanged").toned(Tone::Quiet),
        };
        table.row(vec![
            Cell::new(dimension.title.clone()),
            Cell::new(judge.judge.clone()),
            Cell::new(shown(judge.round_1)),
            Cell::new(shown(judge.round_2)),
            what,
        ])
    })
}
