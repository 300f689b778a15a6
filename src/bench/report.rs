//! A bench for people: one table of arms, one of comparisons, two charts, and what qualifies them.

mod rounds;

use roundtable_core::bench::{ArmFigures, Comparison, Decision, Measure, Test};
use roundtable_core::statistics::Interval;
use roundtable_engine::report::{
    Block, Cell, Chart, Fact, Point, Report, Scale, Section, Table, Tone, Unit, significant,
};

use super::BenchReport;
use super::judge::JudgeInfo;
use crate::format::{counted, grouped};
use rounds::{by_round, equal_budgets};

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
    if let Some(judge) = bench.run.as_ref().and_then(|run| run.judge.as_ref()) {
        facts.push(judge_fact(judge));
    }
    if let Some(run) = &bench.run {
        facts.push(Fact::new("Models", run.models.join(", ")));
        facts.push(Fact::new("Seed", run.seed.to_string()));
        if let Some(day) = run
            .prices_as_of
            .as_ref()
            .filter(|_| has(bench, |arm| arm.cost_per_question))
        {
            facts.push(Fact::new("Prices", format!("of {day}")));
        }
    }
    facts.push(Fact::new(
        "Data",
        format!("{}, sha256 {}", source.file, source.sha256),
    ));
    facts
}

/// The judge with what speaks for and against its grades.
fn judge_fact(judge: &JudgeInfo) -> Fact {
    let graded = counted(judge.answers, "answer");
    let who = format!("{} ({})", judge.model, judge.family);
    let consistent = judge.consistent.map_or_else(String::new, |share| {
        let share = Unit::Percent.write(share);
        format!(", the same verdict in both for {share}")
    });
    let checked = judge.agreement.map_or_else(
        || "not compared with grades of a person".to_owned(),
        |own| {
            let [share, low, high] = [own.share, own.interval.low, own.interval.high]
                .map(|value| Unit::Percent.write(value));
            let answers = counted(own.answers, "answer");
            let kappa = own
                .kappa
                .map_or_else(String::new, |kappa| format!(", Cohen's κ {kappa:.2}"));
            format!("agrees with a person on {share} of {answers} (95% {low} to {high}){kappa}")
        },
    );
    Fact::new(
        "Judge",
        format!("{who}, {graded} graded in both orders{consistent}; {checked}"),
    )
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

/// The table of arms, what a right answer costs, and their accuracy against their cost. Two tables, so that each fits 80 columns.
fn arms(bench: &BenchReport) -> Vec<Block> {
    let mut blocks = vec![Block::Table(arms_table(bench))];
    blocks.extend(price_table(bench).map(Block::Table));
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
    table_of("Every arm on the same questions", bench, &columns)
}

/// Tokens, money and seconds per right answer; `None` if nothing of it was recorded.
fn price_table(bench: &BenchReport) -> Option<Table> {
    let mut columns: Vec<Column> = Vec::new();
    if has(bench, |arm| arm.tokens_per_question) {
        columns.push((
            "#tokens",
            Box::new(|arm| dash(arm.per_right.tokens.map(significant))),
        ));
    }
    if has(bench, |arm| arm.cost_per_question) {
        columns.push((
            "#US dollars",
            Box::new(|arm| dash(arm.per_right.cost.map(significant))),
        ));
        columns.push((
            "95%",
            Box::new(|arm| {
                let interval = arm.per_right.cost_interval;
                dash(
                    interval
                        .map(|one| format!("{} … {}", significant(one.low), significant(one.high))),
                )
            }),
        ));
    }
    if has(bench, |arm| arm.seconds_per_question) {
        columns.push((
            "#seconds",
            Box::new(|arm| dash(arm.per_right.seconds.map(significant))),
        ));
    }
    (!columns.is_empty()).then(|| table_of("What a right answer costs", bench, &columns))
}

fn table_of(caption: &str, bench: &BenchReport, columns: &[Column]) -> Table {
    let names: Vec<&str> = std::iter::once("arm")
        .chain(columns.iter().map(|(name, _)| *name))
        .collect();
    let rows = bench.arms.iter().map(|arm| {
        let name = Cell::new(arm.arm.clone());
        let cells = columns.iter().map(|(_, cell)| cell(arm));
        std::iter::once(name).chain(cells).collect()
    });
    Table::of(caption, &names, rows)
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
    let what = format!("Against {}", bench.baseline);
    comparison_blocks(&bench.comparisons, bench.measure, &what, ["it", "baseline"])
}

/// Differences with what decides them, and in a second table what they rest on.
pub(super) fn comparison_blocks(
    comparisons: &[Comparison],
    measure: Measure,
    what: &str,
    [it, other]: [&str; 2],
) -> Vec<Block> {
    let rows = comparisons.iter().map(|one| {
        let (word, tone) = match one.decision {
            Decision::Better => ("better", Tone::Good),
            Decision::Worse => ("worse", Tone::Caution),
            Decision::NotDecided => ("not decided", Tone::Quiet),
        };
        vec![
            Cell::new(one.arm.clone()),
            Cell::new(format!("{:+.4}", one.difference)).toned(tone),
            signed_range(one.interval),
            Cell::new(probability(one.adjusted_p)),
            Cell::new(word).toned(tone),
        ]
    });
    let better = match measure {
        Measure::Accuracy => "above 0 is better",
        Measure::Brier => "Brier score, below 0 is better",
    };
    let caption = format!("{what}, question by question ({better})");
    let columns = ["arm", "#difference", "95%", "#p (Holm)", ""];
    let decided = Table::of(&caption, &columns, rows);
    let rows = comparisons.iter().map(|one| {
        vec![
            Cell::new(one.arm.clone()),
            Cell::new(grouped(one.questions as u64)),
            dash(discordant(one)),
            Cell::new(probability(one.p)),
            dash(one.smallest_difference.map(|one| format!("{one:.3}"))),
        ]
    });
    let alone = format!("#{it} : {other}");
    let columns = ["arm", "#questions", &alone, "#p", "#smallest visible"];
    let rest = Table::of(
        "What this rests on: answers that only one of the two had right",
        &columns,
        rows,
    );
    vec![
        Block::Table(decided),
        Block::Table(rest),
        Block::note(method(comparisons), Tone::Quiet),
    ]
}

fn method(comparisons: &[Comparison]) -> String {
    let tests: Vec<Test> = comparisons.iter().map(|one| one.test).collect();
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
    format!(
        "Intervals: bootstrap over clusters, 2,000 draws. p: {text}; corrected by Holm for {}. The smallest visible difference is found with 80% power.",
        counted(comparisons.len(), "comparison")
    )
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
