//! `roundtable pool`: how well recorded forecasts combine (B-09).

use std::path::PathBuf;
use std::process::ExitCode;

use roundtable_core::forecast::{
    Comparison, CrossFit, LearnedPool, PoolError, PoolResult, Question, Score, Seat, Weight,
    cross_fit, live,
};
use roundtable_core::statistics::Interval;
use roundtable_engine::protocols::forecast::Scored;
use roundtable_engine::report::{Block, Cell, Fact, Report, Section, Table, Tone};
use serde::Serialize;

use super::display::summary;
use super::{bench, output, pool_history};
use crate::app_context::AppContext;
use crate::clock;
use crate::failure::Failure;
use crate::format::{counted, grouped};
use crate::pool_export;
use crate::recorded_forecasts::{self, RecordedForecasts};

/// Combine recorded forecasts, learning whom to follow, and compare with simple pools
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable pool forecasts.csv\n  roundtable pool forecasts.csv --score-from 2026-06-01 --json\n  roundtable pool --history\n  roundtable pool --export panels.json\n  roundtable pool forecasts.csv.gz\n\nColumns: question_id, agent, probability (0 to 1), outcome (0 or 1); optional: domain, group (for example the role), cluster (questions that belong together), forecast_date, resolved_date. Every question is pooled with what had resolved before it; without dates, with what was learned from another half of the questions. Scores: Brier (p − outcome)² and −ln p; lower is better."
)]
pub(crate) struct Args {
    /// CSV file with one forecast per row, or a file of --export; `-` is standard input. Without it, the resolved forecasts of
    /// the store
    file: Option<PathBuf>,
    /// List what each outcome changed
    #[arg(long, conflicts_with_all = ["score_from", "cross_fit"])]
    history: bool,
    /// Write the questions with the forecasts of all seats to this file, as JSON
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
    /// Score only questions forecast on this day or later; earlier ones are still learned from
    #[arg(long, value_name = "DAY")]
    score_from: Option<String>,
    /// Ignore dates: learn from a random half of the clusters and score the other, this many times
    #[arg(long, value_name = "TIMES", conflicts_with = "score_from", value_parser = clap::value_parser!(u16).range(1..=1000))]
    cross_fit: Option<u16>,
    /// Ignore the column `group`
    #[arg(long)]
    no_group: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Enough for the mean to be stable.
const DEFAULT_HALVES: u16 = 40;

/// The result for programs.
#[derive(Debug, Serialize)]
struct Output {
    questions: usize,
    forecasts: usize,
    method: Method,
    scored: usize,
    learned: Score,
    comparisons: Vec<Comparison>,
    factor: f64,
    slopes: Vec<Slope>,
    seats: Vec<SeatWeight>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    results: Vec<Pooled>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
enum Method {
    /// In the order of the dates.
    Live,
    CrossFit {
        halves: u16,
    },
}

#[derive(Debug, Serialize)]
struct Slope {
    slope: f64,
    probability: f64,
}

#[derive(Debug, Serialize)]
struct SeatWeight {
    #[serde(flatten)]
    seat: Seat,
    #[serde(flatten)]
    weight: Weight,
}

#[derive(Debug, Serialize)]
struct Pooled {
    question_id: String,
    /// Of yes, for questions with two outcomes of a table.
    probability: f64,
    mean: f64,
    log_odds_mean: f64,
    /// Of every outcome.
    probabilities: Vec<f64>,
    outcome: usize,
}

/// Pools the questions of a file, without a configuration; `None` if no file is given.
pub(crate) fn run_with_file(args: &Args) -> Option<Result<ExitCode, Failure>> {
    let file = args.file.as_deref()?;
    let table = bench::read(file).and_then(|(text, _)| {
        if pool_export::is_export(&text) {
            pool_export::parse(&text)
        } else {
            recorded_forecasts::parse(&text)
        }
    });
    Some(table.and_then(|table| run_on(args, table)))
}

/// Pools the resolved forecasts of the store.
pub(crate) async fn run(app: &AppContext, args: &Args) -> Result<ExitCode, Failure> {
    let store = app.store().await?;
    let scored = app.forecasts.scored(&store, None, clock::now()).await?;
    store.close().await;
    let questions: Vec<Question> = scored.iter().filter_map(Scored::question).collect();
    if questions.is_empty() {
        output::note(
            "No forecast has been scored yet. Record an outcome with `roundtable resolve ID OUTCOME`, or pass a file.",
        );
        return Ok(ExitCode::SUCCESS);
    }
    let table = RecordedForecasts {
        questions,
        has_dates: true,
    };
    run_on(args, table)
}

fn run_on(args: &Args, table: RecordedForecasts) -> Result<ExitCode, Failure> {
    if let Some(path) = &args.export {
        output::write_to(Some(path), &pool_export::to_json(&table.questions)?)?;
    }
    if args.history {
        let learned = pool_history::learned(&table.questions)?;
        if args.json {
            output::json(&learned)?;
        } else {
            summary::print_report(&pool_history::report(&learned));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let output = evaluate(args, table)?;
    if args.json {
        output::json(&output)?;
    } else {
        summary::print_report(&report(&output));
    }
    Ok(ExitCode::SUCCESS)
}

fn evaluate(args: &Args, mut table: RecordedForecasts) -> Result<Output, Failure> {
    if args.no_group {
        let forecasts = table
            .questions
            .iter_mut()
            .flat_map(|one| &mut one.forecasts);
        forecasts.for_each(|(seat, _)| seat.group = None);
    }
    let questions = table.questions;
    let from = match args.score_from.as_deref() {
        Some(_) if !table.has_dates => {
            return Err(Failure::usage(
                "--score-from needs the columns forecast_date and resolved_date",
            ));
        }
        Some(day) => clock::day(day)
            .and_then(|at| i64::try_from(at).ok())
            .ok_or_else(|| {
                Failure::usage(format!(
                    "invalid --score-from '{day}': expected a day such as 2026-11-16"
                ))
            })?,
        None => i64::MIN,
    };
    let halves = match args.cross_fit {
        None if !table.has_dates => Some(DEFAULT_HALVES),
        halves => halves,
    };
    let (results, pool) = live(&questions).map_err(unpoolable)?;
    let (method, results) = match halves {
        Some(halves) => {
            let plan = CrossFit {
                halves: usize::from(halves),
            };
            let divisions = cross_fit(&questions, plan).map_err(unpoolable)?;
            let results = divisions.into_iter().flatten().collect();
            (Method::CrossFit { halves }, results)
        }
        None => (Method::Live, results),
    };
    let scored: Vec<PoolResult> = results
        .into_iter()
        .filter(|result| questions[result.question].forecast_at >= from)
        .collect();
    let learned = PoolResult::score(&scored, &questions)
        .ok_or_else(|| Failure::usage("no question is left to be scored"))?;
    Ok(Output {
        questions: questions.len(),
        forecasts: questions.iter().map(|one| one.forecasts.len()).sum(),
        scored: match method {
            Method::Live => scored.len(),
            Method::CrossFit { .. } => questions.len(),
        },
        learned,
        comparisons: PoolResult::comparisons(&scored, &questions),
        factor: pool.factor(),
        slopes: pool
            .slopes()
            .into_iter()
            .map(|(slope, probability)| Slope { slope, probability })
            .collect(),
        seats: seats(&questions, &pool),
        results: match method {
            Method::Live => scored.iter().map(|one| pooled(one, &questions)).collect(),
            Method::CrossFit { .. } => Vec::new(),
        },
        method,
    })
}

fn unpoolable(error: PoolError) -> Failure {
    Failure::usage(format!("cannot pool the forecasts: {error}"))
}

fn pooled(result: &PoolResult, questions: &[Question]) -> Pooled {
    let question = &questions[result.question];
    let yes = |values: &[f64]| values.get(1).copied().unwrap_or_default();
    Pooled {
        question_id: question.id.clone(),
        probability: yes(result.learned.values()),
        mean: yes(result.mean.values()),
        log_odds_mean: yes(result.log_odds_mean.values()),
        probabilities: result.learned.values().to_vec(),
        outcome: question.outcome,
    }
}

/// All seats as one panel, the most skilled first.
fn seats(questions: &[Question], pool: &LearnedPool) -> Vec<SeatWeight> {
    let all = questions.iter().flat_map(|question| &question.forecasts);
    let mut seats: Vec<Seat> = all.map(|(seat, _)| seat.clone()).collect();
    seats.sort_by(|a, b| (&a.agent, &a.group).cmp(&(&b.agent, &b.group)));
    seats.dedup();
    let weights = pool.weights(&seats, None);
    let mut seats: Vec<SeatWeight> = seats
        .into_iter()
        .zip(weights)
        .map(|(seat, weight)| SeatWeight { seat, weight })
        .collect();
    seats.sort_by(|a, b| a.weight.skill.total_cmp(&b.weight.skill));
    seats
}

/// The number of seats that a person is shown; JSON has them all.
const SHOWN_SEATS: usize = 20;

fn report(output: &Output) -> Report {
    let method = match output.method {
        Method::Live => "each with what had resolved before it".to_owned(),
        Method::CrossFit { halves } => {
            format!(
                "learned on one half, scored on the other, {}",
                counted(usize::from(halves), "time")
            )
        }
    };
    let questions = grouped(output.scored as u64);
    let forecasts = grouped(output.forecasts as u64);
    let facts = vec![
        Fact::new(
            "Questions",
            format!("{questions} scored, {forecasts} forecasts; {method}"),
        ),
        Fact::new("Skill", strength(&output.slopes)),
        Fact::new(
            "Factor",
            format!("{:.3} (1 is the mean of the log-odds)", output.factor),
        ),
    ];
    Report {
        facts,
        sections: vec![
            Section::main("Scores", vec![Block::Table(scores(output))]),
            Section::main("Weights now", vec![Block::Table(weights(output))]),
        ],
        ..Report::default()
    }
}

/// How strongly skill counts, in words.
fn strength(slopes: &[Slope]) -> String {
    let expected: f64 = slopes.iter().map(|one| one.slope * one.probability).sum();
    match expected {
        ..20.0 => "hardly counts: all seats weigh nearly the same",
        20.0..50.0 => "counts a little",
        50.0..100.0 => "counts strongly",
        _ => "counts most: the best seats nearly decide alone",
    }
    .to_owned()
}

fn scores(output: &Output) -> Table {
    let columns = ["pool", "#Brier", "#log", "#learned − this", "95%"];
    let cells = |name: &str, score: Score| {
        vec![
            Cell::new(name),
            Cell::new(format!("{:.4}", score.brier)),
            Cell::new(format!("{:.4}", score.log)),
        ]
    };
    let mut learned = cells("learned", output.learned);
    learned.extend([Cell::new("–"), Cell::new("–")]);
    let others = output.comparisons.iter().map(|one| {
        let mut row = cells(one.pool, one.score);
        let tone = match one.interval {
            Some(interval) if interval.high < 0.0 => Tone::Good,
            Some(interval) if interval.low > 0.0 => Tone::Caution,
            _ => Tone::Plain,
        };
        row.push(Cell::new(format!("{:+.4}", one.difference)).toned(tone));
        row.push(Cell::new(one.interval.map_or_else(|| "–".into(), range)));
        row
    });
    let rows = std::iter::once(learned).chain(others);
    Table::of("Lower is better", &columns, rows)
}

fn range(interval: Interval) -> String {
    format!("{:+.4} … {:+.4}", interval.low, interval.high)
}

fn weights(output: &Output) -> Table {
    let columns = ["seat", "#skill", "#weight", "#questions"];
    let left = output.seats.len().saturating_sub(SHOWN_SEATS);
    let caption = match left {
        0 => "Skill is the Brier score relative to the panel; negative is better".to_owned(),
        left => format!(
            "The {SHOWN_SEATS} most skilled seats; --json lists {left} more. Skill is the Brier score relative to the panel; negative is better"
        ),
    };
    let rows = output.seats.iter().take(SHOWN_SEATS).map(|one| {
        let name = match &one.seat.group {
            Some(group) => format!("{} as {group}", one.seat.agent),
            None => one.seat.agent.clone(),
        };
        vec![
            Cell::new(name),
            Cell::new(format!("{:+.4}", one.weight.skill)),
            Cell::new(format!("{:.3}", one.weight.weight)),
            Cell::new(one.weight.questions.to_string()),
        ]
    });
    Table::of(&caption, &columns, rows)
}
