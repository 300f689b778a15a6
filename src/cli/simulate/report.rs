//! A study for people: what was simulated, a table, a chart, and what the simulation gets wrong.

use roundtable_core::format::{counted, grouped};
use roundtable_core::simulation::{ForecastRow, Panel, Row};
use roundtable_engine::report::{
    Block, Cell, Chart, Fact, Line, Report, Scale, Section, Table, Tone, Unit,
};

use super::{Choices, Forecasts, Output};

pub(super) const TITLE: &str = "Simulated panels";

pub(super) fn report(output: &Output) -> Report {
    match output {
        Output::Choices(study) => choices(study),
        Output::Forecasts(study) => forecasts(study),
    }
}

fn choices(study: &Choices) -> Report {
    let accuracies: Vec<String> = study.accuracy.iter().map(|one| percent(*one)).collect();
    let mut facts = vec![
        Fact::new(
            "Simulated",
            format!(
                "{} questions with {} options; a seat alone is right on {}. No model was called",
                grouped(u64::from(study.questions)),
                study.options,
                accuracies.join(", ")
            ),
        ),
        Fact::new(
            "Shared errors",
            format!(
                "correlation {} within a family, {} between families",
                study.same_family, study.other_family
            ),
        ),
    ];
    facts.extend(cheapest(study).map(|text| Fact::new("Cheapest", text)));
    let chart = (study.rows.iter().any(|row| row.panel.rounds > 1))
        .then(|| Block::Chart(chart(&study.rows)));
    let blocks = std::iter::once(Block::Table(table(study))).chain(chart);
    Report {
        facts,
        sections: vec![
            Section::main("Panels", blocks.collect()),
            notes(
                "What the simulation gets wrong",
                &study.misfit,
                Tone::Caution,
            ),
            notes(
                "Where its parameters come from",
                &study.sources,
                Tone::Quiet,
            ),
        ],
        ..Report::default()
    }
}

fn notes(title: &str, texts: &[&str], tone: Tone) -> Section {
    let notes = texts.iter().map(|text| Block::note(*text, tone));
    Section::main(title, notes.collect())
}

/// `3 seats of 3 families, 1 round: 65.2% right, within 2 points of the best (66.9%: 7 seats of 3 families, 4 rounds)`
fn cheapest(study: &Choices) -> Option<String> {
    let cheapest = Row::cheapest_good(&study.rows)?;
    let best = study
        .rows
        .iter()
        .max_by(|a, b| a.accuracy.total_cmp(&b.accuracy))?;
    let right = percent(cheapest.accuracy);
    let panel = described(cheapest.panel);
    Some(if cheapest.panel == best.panel {
        format!("{panel}: {right} right; no cheaper panel comes within 2 points")
    } else {
        format!(
            "{panel}: {right} right, within 2 points of the best ({}: {})",
            described(best.panel),
            percent(best.accuracy)
        )
    })
}

fn described(panel: Panel) -> String {
    format!(
        "{}, {}, {}",
        counted(panel.seats, "seat"),
        families(panel.families),
        counted(panel.rounds, "round")
    )
}

fn families(count: usize) -> String {
    if count == 1 {
        "1 family".to_owned()
    } else {
        format!("{count} families")
    }
}

fn table(study: &Choices) -> Table {
    let has_prices = !study.prices.is_empty();
    let mut columns = vec![
        "#seats",
        "#families",
        "#rounds",
        "#right",
        "95%",
        "#gain",
        "#agree",
        "#tokens",
    ];
    if has_prices {
        columns.extend(["#cost", "#per right"]);
    }
    let rows = study.rows.iter().map(|row| {
        let gain = match row.gain_interval {
            interval if interval.low > 0.0 => Tone::Good,
            interval if interval.high < 0.0 => Tone::Caution,
            _ => Tone::Plain,
        };
        let mut cells = vec![
            Cell::new(row.panel.seats.to_string()),
            Cell::new(row.panel.families.to_string()),
            Cell::new(row.panel.rounds.to_string()),
            Cell::new(percent(row.accuracy)),
            Cell::new(format!(
                "{:.1}–{}",
                100.0 * row.interval.low,
                percent(row.interval.high)
            )),
            Cell::new(format!("{:+.1}", 100.0 * row.gain)).toned(gain),
            Cell::new(percent(row.unanimous)),
            Cell::new(grouped(row.tokens)),
        ];
        if has_prices {
            let dollars =
                |amount: Option<f64>| Cell::new(amount.map_or_else(|| "–".into(), dollars));
            cells.extend([dollars(row.cost), dollars(row.cost_per_right_answer)]);
        }
        cells
    });
    let caption = "Per question. Right: the vote; gain: points over one call on the same questions; agree: all seats give one answer";
    Table::of(caption, &columns, rows)
}

/// Accuracy by round, a line for each panel.
fn chart(rows: &[Row]) -> Chart {
    let mut rounds: Vec<usize> = rows.iter().map(|row| row.panel.rounds).collect();
    rounds.sort_unstable();
    rounds.dedup();
    let mut panels: Vec<(usize, usize)> = rows
        .iter()
        .map(|row| (row.panel.seats, row.panel.families))
        .collect();
    panels.dedup();
    let lines = panels.iter().map(|&(seats, own)| {
        let value = |round: &usize| {
            let panel = Panel {
                seats,
                families: own,
                rounds: *round,
            };
            rows.iter()
                .find(|row| row.panel == panel)
                .map(|row| row.accuracy)
        };
        Line {
            label: format!("{}, {}", counted(seats, "seat"), families(own)),
            role: None,
            values: rounds.iter().map(value).collect(),
        }
    });
    let lowest = rows.iter().map(|row| row.accuracy).fold(1.0, f64::min);
    let highest = rows.iter().map(|row| row.accuracy).fold(0.0, f64::max);
    Chart::Lines {
        title: "Share of right votes by number of rounds".to_owned(),
        scale: Scale {
            from: (10.0 * lowest - 0.5).floor().max(0.0) / 10.0,
            to: (10.0 * highest + 0.5).ceil().min(10.0) / 10.0,
            unit: Unit::Percent,
        },
        rounds: rounds.iter().map(|round| counted_round(*round)).collect(),
        lines: lines.collect(),
        thresholds: Vec::new(),
    }
}

fn counted_round(round: usize) -> String {
    counted(round, "round")
}

fn forecasts(study: &Forecasts) -> Report {
    let mut who = format!("{} ({})", study.forecasters, study.fitted_to);
    if (study.overconfidence - 1.0).abs() > f64::EPSILON {
        who = format!("{who}, log-odds × {}", study.overconfidence);
    }
    let questions = grouped(u64::from(study.questions));
    Report {
        facts: vec![
            Fact::new(
                "Simulated",
                format!("{questions} yes-or-no questions. No model was called"),
            ),
            Fact::new("Forecasters", who),
        ],
        sections: vec![
            Section::main("Panels", vec![Block::Table(scores(&study.rows))]),
            notes(
                "What the simulation gets wrong",
                &study.misfit,
                Tone::Caution,
            ),
        ],
        ..Report::default()
    }
}

fn scores(rows: &[ForecastRow]) -> Table {
    let columns = [
        "#seats",
        "#families",
        "#one seat",
        "#mean",
        "#log-odds mean",
        "#correlation",
        "#independent",
    ];
    let rows = rows.iter().map(|row| {
        vec![
            Cell::new(row.seats.to_string()),
            Cell::new(row.families.to_string()),
            Cell::new(format!("{:.4}", row.one_seat)),
            Cell::new(format!("{:.4}", row.mean)),
            Cell::new(format!("{:.4}", row.log_odds_mean)),
            Cell::new(
                row.correlation
                    .map_or_else(|| "–".into(), |own| format!("{own:.3}")),
            ),
            Cell::new(format!("{:.2}", row.effective_seats)),
        ]
    });
    let caption = "Brier scores: (p − outcome)², lower is better. Independent seats: as many seats without shared errors would be as good";
    Table::of(caption, &columns, rows)
}

fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

fn dollars(amount: f64) -> String {
    format!("${amount:.4}")
}
