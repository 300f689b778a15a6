//! What happened from round to round, and what votes at the budget of a debate are worth.

use roundtable_core::bench::{ArmFigures, Measure, Moves};
use roundtable_engine::report::{Block, Cell, Chart, Line, Scale, Section, Table, Tone, Unit};

use crate::bench::BenchReport;

/// The result after every round, and what each round changed.
pub(super) fn by_round(bench: &BenchReport) -> Option<Section> {
    if bench.rounds.is_empty() {
        return None;
    }
    let mut blocks: Vec<Block> = rounds_chart(bench).map(Block::Chart).into_iter().collect();
    let columns = [
        "round",
        "who",
        "#corrected",
        "#collapsed",
        "#wrong another way",
        "#unchanged",
    ];
    let rows = bench.rounds.iter().flat_map(|round| {
        let row = |who: &str, moves: &Moves| {
            [
                round.round.to_string(),
                who.to_owned(),
                moves.corrected.to_string(),
                moves.collapsed.to_string(),
                moves.still_wrong.to_string(),
                (moves.kept_right + moves.kept_wrong).to_string(),
            ]
            .map(Cell::new)
            .to_vec()
        };
        [row("panel", &round.panel), row("seats", &round.seats)]
    });
    let caption = "Corrected: wrong, then right. Collapsed: right, then wrong";
    blocks.push(Block::Table(Table::of(caption, &columns, rows)));
    let moved = bench.movements.iter().filter_map(|one| {
        let moved = &one.movement;
        let efficiency = moved.efficiency?;
        let of = one.debate.as_ref();
        let of = of.map_or_else(String::new, |debate| format!(" of {debate}"));
        let interval = moved.interval.map_or_else(String::new, |interval| {
            format!(" (95% {:+.2} to {:+.2})", interval.low, interval.high)
        });
        let text = format!(
            "Movement in round {}{of} was worth λ = {efficiency:+.2}{interval}: 1 if all of it was information, 0 if it was worth nothing, −1 if all of it was noise.",
            moved.round
        );
        Some(Block::note(text, Tone::Plain))
    });
    blocks.extend(moved);
    Some(Section::main("By round", blocks))
}

/// The panel's answer after every round; of a debate, its blind round and its result.
fn rounds_chart(bench: &BenchReport) -> Option<Chart> {
    let name = match bench.measure {
        Measure::Accuracy => "vote",
        Measure::Brier => "mean",
    };
    let value = |arm: &ArmFigures| match bench.measure {
        Measure::Accuracy => Some(arm.accuracy),
        Measure::Brier => arm.brier,
    };
    let (title, rounds, lines) = if bench.run.is_some() {
        let blind = format!("blind {name} of ");
        let lines = bench.arms.iter().filter_map(|arm| {
            let debate = arm.arm.strip_prefix(&blind)?;
            let result = bench.arms.iter().find(|other| other.arm == debate)?;
            Some(line(debate, vec![value(arm), value(result)]))
        });
        let rounds = ["blind round", "result"].map(str::to_owned).to_vec();
        let lines: Vec<Line> = lines.collect();
        (
            format!("From the blind {name} to the result"),
            rounds,
            lines,
        )
    } else {
        let later = format!("{name} after round ");
        let in_order = bench.arms.iter();
        let in_order = in_order.filter(|arm| arm.arm == name || arm.arm.starts_with(&later));
        let values: Vec<Option<f64>> = in_order.map(value).collect();
        let rounds: Vec<String> = (1..=values.len()).map(|round| round.to_string()).collect();
        let title = format!("The panel's {name} by round");
        (title, rounds, vec![line(name, values)])
    };
    let (unit, to) = match bench.measure {
        Measure::Accuracy => (Unit::Percent, 1.0),
        Measure::Brier => {
            let values = lines.iter().flat_map(|line| line.values.iter().flatten());
            let largest = values.copied().fold(0.0, f64::max);
            (Unit::Decimals(4), (largest * 1.25).max(0.01))
        }
    };
    (!lines.is_empty() && rounds.len() > 1).then_some(Chart::Lines {
        title,
        scale: Scale {
            from: 0.0,
            to,
            unit,
        },
        rounds,
        lines,
        thresholds: Vec::new(),
    })
}

fn line(label: &str, values: Vec<Option<f64>>) -> Line {
    Line {
        label: label.to_owned(),
        role: None,
        values,
    }
}

/// The spending of self-consistency against each debate, and the vote of every number of samples.
pub(super) fn equal_budgets(bench: &BenchReport) -> Option<Section> {
    let run = bench.run.as_ref()?;
    let mut blocks = Vec::new();
    if !run.budgets.is_empty() {
        let columns = [
            "debate",
            "#calls it costs",
            "#k",
            "#spent / debate",
            "equal budget",
        ];
        let rows = run.budgets.iter().map(|line| {
            let (word, tone) = if line.is_equal {
                ("yes", Tone::Good)
            } else {
                ("no", Tone::Caution)
            };
            let most = line.plan.most();
            let samples = if most == line.plan.samples {
                most.to_string()
            } else {
                format!("{} or {most}", line.plan.samples)
            };
            vec![
                Cell::new(line.debate.clone()),
                Cell::new(format!("{:.2}", line.plan.ratio)),
                Cell::new(samples),
                Cell::new(format!("{:.3}", line.spent)),
                Cell::new(word).toned(tone),
            ]
        });
        let caption =
            "Samples of one call at the budget of each debate, measured on the first 20 questions";
        blocks.push(Block::Table(Table::of(caption, &columns, rows)));
    }
    if run.vote_of_k.len() > 1 {
        blocks.push(Block::Chart(Chart::Lines {
            title: "The vote of k samples".to_owned(),
            scale: Scale::PERCENT,
            rounds: run
                .vote_of_k
                .iter()
                .map(|one| one.samples.to_string())
                .collect(),
            lines: vec![Line {
                label: "accuracy".to_owned(),
                role: None,
                values: run.vote_of_k.iter().map(|one| Some(one.accuracy)).collect(),
            }],
            thresholds: Vec::new(),
        }));
    }
    (!blocks.is_empty()).then(|| Section::main("Equal budgets", blocks))
}
