//! A bench for people: one table of arms, one of comparisons, two charts, and what qualifies them.

use roundtable_core::bench::{ArmFigures, Comparison, Decision, Measure, Moves, Test};
use roundtable_core::statistics::Interval;
use roundtable_engine::report::{
    Block, Cell, Chart, Fact, Line, Point, Report, Scale, Section, Table, Tone, Unit, significant,
};

use super::BenchReport;
use crate::format::{counted, grouped};

/// Seats that a person is shown; JSON has them all.
const SHOWN_SEATS: usize = 20;

/// The report as every surface renders it.
pub(crate) fn report(bench: &BenchReport) -> Report {
    let mut sections = vec![
        Section::main("Arms", arms(bench)),
        Section::main("Comparison", comparisons(bench)),
    ];
    sections.extend(by_round(bench));
    if !bench.agreement.is_empty() {
        let block = Block::Table(agreement(bench));
        sections.push(Section::main("Agreement", vec![block]));
    }
    if bench.seats.len() > 1 {
        sections.push(Section::main("Seats", vec![Block::Table(seats(bench))]));
    }
    sections.extend(equal_budgets(bench));
    let notes = bench.notes.iter();
    let notes: Vec<Block> = notes.map(|text| Block::note(text, Tone::Quiet)).collect();
    if !notes.is_empty() {
        sections.push(Section::main("Notes", notes));
    }
    Report {
        facts: facts(bench),
        sections,
        ..Report::default()
    }
}

fn facts(bench: &BenchReport) -> Vec<Fact> {
    let source = &bench.source;
    let tone = if bench.is_decided {
        Tone::Good
    } else {
        Tone::Caution
    };
    let clusters = if source.clusters == source.questions {
        String::new()
    } else {
        format!(" in {}", counted(source.clusters, "cluster"))
    };
    let mut facts = vec![
        Fact::new("Conclusion", bench.conclusion.clone()).toned(tone),
        Fact::new(
            "Questions",
            format!(
                "{}{clusters}, {}, {}",
                grouped(source.questions as u64),
                counted(source.seats, "seat"),
                counted(source.rounds, "round")
            ),
        ),
    ];
    if let Some(any) = bench.any_right {
        let text = format!("{} of the questions", Unit::Percent.write(any));
        facts.push(Fact::new("At least one seat right", text));
    }
    if let Some(one) = &bench.independence {
        let interval = one.interval.map_or_else(String::new, |interval| {
            format!(" (95% {:.2} to {:.2})", interval.low, interval.high)
        });
        let measured = match one.correlation {
            Some(correlation) => format!("errors correlate by {correlation:.3}"),
            None => "too few questions to measure; a typical value".to_owned(),
        };
        facts.push(Fact::new(
            "Effective seats",
            format!(
                "{:.2} of {:.1}{interval}; {measured}",
                one.effective_seats, one.seats
            ),
        ));
    }
    if let Some(run) = &bench.run {
        facts.push(Fact::new("Models", run.models.join(", ")));
        facts.push(Fact::new("Seed", run.seed.to_string()));
    }
    facts.push(Fact::new(
        "Data",
        format!("{}, sha256 {}", source.file, source.sha256),
    ));
    facts
}

fn dash(value: Option<String>) -> Cell {
    Cell::new(value.unwrap_or_else(|| "–".into()))
}

/// `.698–.714`, as shares.
fn range(interval: Option<Interval>) -> Cell {
    dash(interval.map(|one| format!("{:.3} … {:.3}", one.low, one.high)))
}

/// `+0.0123 … +0.0456`
fn signed_range(interval: Option<Interval>) -> Cell {
    dash(interval.map(|one| format!("{:+.4} … {:+.4}", one.low, one.high)))
}

fn has(bench: &BenchReport, of: impl Fn(&ArmFigures) -> Option<f64>) -> bool {
    bench.arms.iter().any(|arm| of(arm).is_some())
}

/// The table of arms, and their accuracy against their cost.
fn arms(bench: &BenchReport) -> Vec<Block> {
    let mut blocks = vec![Block::Table(arms_table(bench))];
    blocks.extend(front(bench).map(Block::Chart));
    blocks
}

/// A column of the table of arms.
type Column = (&'static str, Box<dyn Fn(&ArmFigures) -> Cell>);

fn arms_table(bench: &BenchReport) -> Table {
    let mut columns: Vec<Column> = vec![
        (
            "#questions",
            Box::new(|arm| Cell::new(grouped(arm.questions as u64))),
        ),
        (
            "#right",
            Box::new(|arm| Cell::new(format!("{:.4}", arm.accuracy))),
        ),
        ("95%", Box::new(|arm| range(arm.interval))),
    ];
    if has(bench, |arm| arm.brier) {
        columns.push((
            "#Brier",
            Box::new(|arm| dash(arm.brier.map(|one| format!("{one:.4}")))),
        ));
        columns.push(("95%", Box::new(|arm| range(arm.brier_interval))));
        columns.push((
            "#log",
            Box::new(|arm| dash(arm.log_score.map(|one| format!("{one:.4}")))),
        ));
    }
    if bench.arms.iter().any(|arm| arm.unanswered > 0.0) {
        columns.push((
            "#unparsed",
            Box::new(|arm| Cell::new(format!("{:.1}%", 100.0 * arm.unanswered))),
        ));
    }
    if has(bench, |arm| arm.tokens_per_question) {
        columns.push((
            "#tokens/right",
            Box::new(|arm| dash(arm.per_right.tokens.map(significant))),
        ));
    }
    if has(bench, |arm| arm.cost_per_question) {
        columns.push((
            "#$/right",
            Box::new(|arm| dash(arm.per_right.cost.map(significant))),
        ));
    }
    if has(bench, |arm| arm.seconds_per_question) {
        columns.push((
            "#s/right",
            Box::new(|arm| dash(arm.per_right.seconds.map(significant))),
        ));
    }
    let names: Vec<&str> = std::iter::once("arm")
        .chain(columns.iter().map(|(name, _)| *name))
        .collect();
    let rows = bench.arms.iter().map(|arm| {
        let name = Cell::new(arm.arm.clone());
        let cells = columns.iter().map(|(_, cell)| cell(arm));
        std::iter::once(name).chain(cells).collect()
    });
    Table::of("Every arm on the same questions", &names, rows)
}

/// Accuracy against cost, or against tokens if prices are unknown. `None` if neither was recorded.
fn front(bench: &BenchReport) -> Option<Chart> {
    let by_cost = bench.arms.iter().all(|arm| arm.cost_per_question.is_some());
    let amount = |arm: &ArmFigures| {
        let amount = if by_cost {
            arm.cost_per_question
        } else {
            arm.tokens_per_question
        };
        amount.filter(|amount| *amount > 0.0)
    };
    let points: Vec<Point> = bench
        .arms
        .iter()
        .filter_map(|arm| {
            let (value, interval) = match bench.measure {
                Measure::Accuracy => (arm.accuracy, arm.interval?),
                Measure::Brier => (arm.brier?, arm.brier_interval?),
            };
            Some(Point {
                label: arm.arm.clone(),
                amount: amount(arm)?,
                value,
                low: interval.low,
                high: interval.high,
                is_front: arm.is_on_front == Some(true),
            })
        })
        .collect();
    let (title, unit) = match bench.measure {
        Measure::Accuracy => ("Accuracy", Unit::Percent),
        Measure::Brier => ("Brier score", Unit::Decimals(2)),
    };
    let (amount, name) = if by_cost {
        ("cost", "US dollars per question")
    } else {
        ("tokens", "tokens per question")
    };
    (points.len() > 1).then(|| Chart::Points {
        title: format!("{title} against {amount}"),
        amount: name.to_owned(),
        scale: Scale {
            from: 0.0,
            to: match bench.measure {
                Measure::Accuracy => 1.0,
                Measure::Brier => points.iter().map(|one| one.high).fold(0.0, f64::max),
            },
            unit,
        },
        points,
    })
}

fn comparisons(bench: &BenchReport) -> Vec<Block> {
    let columns = [
        "arm",
        "#difference",
        "95%",
        "#only it : only baseline",
        "#p",
        "#p (Holm)",
        "#smallest visible",
        "",
    ];
    let rows = bench.comparisons.iter().map(|one| {
        let (word, tone) = match one.decision {
            Decision::Better => ("better", Tone::Good),
            Decision::Worse => ("worse", Tone::Caution),
            Decision::NotDecided => ("not decided", Tone::Quiet),
        };
        vec![
            Cell::new(one.arm.clone()),
            Cell::new(format!("{:+.4}", one.difference)).toned(tone),
            signed_range(one.interval),
            dash(discordant(one)),
            Cell::new(probability(one.p)),
            Cell::new(probability(one.adjusted_p)),
            dash(one.smallest_difference.map(|one| format!("{one:.3}"))),
            Cell::new(word).toned(tone),
        ]
    });
    let better = match bench.measure {
        Measure::Accuracy => "above 0 is better",
        Measure::Brier => "Brier score, below 0 is better",
    };
    let caption = format!(
        "Against {}, question by question ({better})",
        bench.baseline
    );
    let mut blocks = vec![Block::Table(Table::of(&caption, &columns, rows))];
    let tests: Vec<Test> = bench.comparisons.iter().map(|one| one.test).collect();
    let text = match (
        tests.contains(&Test::McnemarMidP),
        tests.contains(&Test::ClusteredZ),
    ) {
        (true, false) => "McNemar's test with mid-p",
        (true, true) => {
            "McNemar's test with mid-p, or the clustered standard error for shared ties"
        }
        (false, _) => "the clustered standard error",
    };
    blocks.push(Block::note(
        format!(
            "Intervals: bootstrap over clusters, 2,000 draws. p: {text}; corrected by Holm for {}. The smallest visible difference is found with 80% power.",
            counted(bench.comparisons.len(), "comparison")
        ),
        Tone::Quiet,
    ));
    blocks
}

fn discordant(one: &Comparison) -> Option<String> {
    (one.only_arm + one.only_baseline > 0)
        .then(|| format!("{} : {}", one.only_arm, one.only_baseline))
}

fn probability(p: f64) -> String {
    if p < 0.0001 {
        "<0.0001".to_owned()
    } else {
        format!("{p:.4}")
    }
}

/// The result after every round, and what each round changed.
fn by_round(bench: &BenchReport) -> Option<Section> {
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
        let efficiency = one.efficiency?;
        let interval = one.interval.map_or_else(String::new, |interval| {
            format!(" (95% {:+.2} to {:+.2})", interval.low, interval.high)
        });
        let text = format!(
            "Movement in round {} was worth λ = {efficiency:+.2}{interval}: 1 if all of it was information, 0 if it was worth nothing, −1 if all of it was noise.",
            one.round
        );
        Some(Block::note(text, Tone::Plain))
    });
    blocks.extend(moved);
    Some(Section::main("By round", blocks))
}

fn rounds_chart(bench: &BenchReport) -> Option<Chart> {
    let name = match bench.measure {
        Measure::Accuracy => "vote",
        Measure::Brier => "mean",
    };
    let later = format!("{name} after round ");
    let value = |arm: &ArmFigures| match bench.measure {
        Measure::Accuracy => Some(arm.accuracy),
        Measure::Brier => arm.brier,
    };
    let in_order = bench
        .arms
        .iter()
        .filter(|arm| arm.arm == name || arm.arm.starts_with(&later));
    let values: Vec<Option<f64>> = in_order.map(value).collect();
    let (unit, to) = match bench.measure {
        Measure::Accuracy => (Unit::Percent, 1.0),
        Measure::Brier => {
            let largest = values.iter().flatten().copied().fold(0.0, f64::max);
            (Unit::Decimals(4), (largest * 1.25).max(0.01))
        }
    };
    (values.len() > 1).then(|| Chart::Lines {
        title: format!("The panel's {name} by round"),
        scale: Scale {
            from: 0.0,
            to,
            unit,
        },
        rounds: (1..=values.len()).map(|round| round.to_string()).collect(),
        lines: vec![Line {
            label: name.to_owned(),
            role: None,
            values,
        }],
        thresholds: Vec::new(),
    })
}

/// The spending of self-consistency against each debate, and the vote of every number of samples.
fn equal_budgets(bench: &BenchReport) -> Option<Section> {
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

fn agreement(bench: &BenchReport) -> Table {
    let columns = ["leading answer", "#questions", "#right", "95%"];
    let rows = bench.agreement.iter().map(|row| {
        vec![
            Cell::new(row.agreement.clone()),
            Cell::new(grouped(row.questions as u64)),
            Cell::new(format!("{:.3}", row.accuracy)),
            range(Some(row.interval)),
        ]
    });
    Table::of("Agreement in the first round", &columns, rows)
}

fn seats(bench: &BenchReport) -> Table {
    let with_brier = bench.seats.iter().any(|seat| seat.brier.is_some());
    let mut sorted: Vec<_> = bench.seats.iter().collect();
    sorted.sort_by(|a, b| match bench.measure {
        Measure::Accuracy => b.accuracy.total_cmp(&a.accuracy),
        Measure::Brier => a.brier.unwrap_or(1.0).total_cmp(&b.brier.unwrap_or(1.0)),
    });
    let mut columns = vec!["seat", "#questions", "#right", "#unparsed"];
    if with_brier {
        columns.push("#Brier");
    }
    let left = sorted.len().saturating_sub(SHOWN_SEATS);
    let caption = match left {
        0 => "Each seat alone, in the first round".to_owned(),
        left => format!(
            "The {SHOWN_SEATS} best of {} seats alone; --json lists the other {left}",
            sorted.len()
        ),
    };
    let rows = sorted.into_iter().take(SHOWN_SEATS).map(|seat| {
        let mut cells = vec![
            Cell::new(seat.seat.clone()),
            Cell::new(grouped(seat.questions as u64)),
            Cell::new(format!("{:.4}", seat.accuracy)),
            Cell::new(format!("{:.1}%", 100.0 * seat.unanswered)),
        ];
        if with_brier {
            cells.push(dash(seat.brier.map(|one| format!("{one:.4}"))));
        }
        cells
    });
    Table::of(&caption, &columns, rows)
}
