//! The calibration as a report, for the terminal, the page and the HTML file.

use roundtable_core::forecast::{Bin, Decomposition};
use roundtable_core::format::percent;
use roundtable_core::statistics::Interval;

use super::groups::GroupRecord;
use super::{Calibration, Deliberation, Record, WasWorthIt};
use crate::report::{Block, Cell, Chart, Dot, DotRow, Fact, Report, Scale, Section, Table, Tone};

/// Brier scores have two conventions; ours is said wherever one is shown.
const SCORES: &str = "Lower is better. Brier is half the sum of the squared errors over all outcomes (for two outcomes the squared error \
                      of one); negative differences and positive skill favour the debate";
const SCORE_COLUMNS: [&str; 7] = [
    "",
    "#questions",
    "#Brier",
    "#log",
    "#debate − this",
    "95%",
    "#skill",
];

fn signed(interval: Option<Interval>) -> String {
    interval.map_or_else(
        || "–".to_owned(),
        |interval| format!("{:+.3} … {:+.3}", interval.low, interval.high),
    )
}

fn cells(record: &Record) -> Vec<Cell> {
    let tone = match record.interval {
        Some(interval) if interval.high < 0.0 => Tone::Good,
        Some(interval) if interval.low > 0.0 => Tone::Caution,
        _ => Tone::Plain,
    };
    let shown =
        |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |own| format!("{own:+.3}"));
    vec![
        Cell::new(record.source.clone()),
        Cell::new(record.questions.to_string()),
        Cell::new(format!("{:.3}", record.brier)),
        Cell::new(format!("{:.3}", record.log)),
        Cell::new(shown(record.difference)).toned(tone),
        Cell::new(signed(record.interval)),
        Cell::new(shown(record.skill)),
    ]
}

/// The calibration as a report.
pub fn calibration_report(calibration: &Calibration) -> Report {
    if calibration.questions == 0 {
        let note = Block::note(
            "No forecast has been scored yet. Record an outcome with `roundtable resolve ID OUTCOME`; the forecast is \
             scored after its resolution date.",
            Tone::Quiet,
        );
        return Report {
            sections: vec![Section::main("Calibration", vec![note])],
            ..Report::default()
        };
    }
    let mut facts = vec![Fact::new("Questions", calibration.questions.to_string())];
    if let Some(debate) = calibration.records.first() {
        facts.push(Fact::new("Brier score", format!("{:.3}", debate.brier)));
        facts.push(Fact::new("Log score", format!("{:.3}", debate.log)));
    }
    let deliberation = calibration.deliberation.as_ref();
    facts.extend(deliberation.map(|own| Fact::new("Gain of deliberation", summary(own))));
    let scores = Table::of(
        SCORES,
        &SCORE_COLUMNS,
        calibration.records.iter().map(cells),
    );
    let note = Block::note(
        "The mean forecast and the share of outcomes that happened, by probability. In a well calibrated \
         forecast they are equal.",
        Tone::Quiet,
    );
    let diagram = Block::Chart(diagram(&calibration.reliability));
    let parts = calibration.decomposition.as_ref().map(parts);
    let scores = [Some(scores), parts, crps(&calibration.records)];
    let scores = scores.into_iter().flatten().map(Block::Table);
    let mut sections = vec![
        Section::main("Scores", scores.collect()),
        Section::main("Reliability", vec![note, diagram]),
    ];
    if let Some(own) = deliberation {
        sections.push(Section::main("Value of deliberation", worth(own)));
    }
    if !calibration.groups.is_empty() {
        let table = Block::Table(by_group(&calibration.groups));
        sections.push(Section::main(
            "By domain, horizon, role and family",
            vec![table],
        ));
    }
    sections.push(Section::side(
        "Role weights",
        vec![Block::Table(weights(calibration))],
    ));
    Report {
        facts,
        sections,
        ..Report::default()
    }
}

/// The scores of numbers and dates; `None` if no value was recorded.
fn crps(records: &[Record]) -> Option<Table> {
    let rows = records.iter().filter_map(|record| {
        let crps = record.crps?;
        let skill = crps.skill;
        Some(vec![
            Cell::new(record.source.clone()),
            Cell::new(crps.questions.to_string()),
            Cell::new(format!("{:.3}", crps.mean)),
            Cell::new(skill.map_or_else(|| "–".to_owned(), |own| format!("{own:+.3}"))),
        ])
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    let caption = "CRPS of numbers and dates: the squared distance of the cumulative distribution to the value that came out, as a share of \
                   the range of the bins. Lower is better; positive skill favours the debate";
    let columns = ["", "#questions", "#CRPS", "#skill"];
    (!rows.is_empty()).then(|| Table::of(caption, &columns, rows))
}

fn summary(own: &Deliberation) -> String {
    format!(
        "{:+.3} Brier against the blind first round; each unit of movement was worth {:+.2} (1: all information, 0: nothing, −1: noise)",
        own.gain, own.efficiency
    )
}

/// Whether the movement after the blind first round was worth it.
fn worth(own: &Deliberation) -> Vec<Block> {
    let (text, tone) = match own.was_worth_it {
        WasWorthIt::Better => ("Deliberation made the forecasts better.", Tone::Good),
        WasWorthIt::Worse => ("Deliberation made the forecasts worse.", Tone::Caution),
        WasWorthIt::Undecided => (
            "It is not known yet whether deliberation makes the forecasts better: the interval of the gain includes 0.",
            Tone::Quiet,
        ),
    };
    let row = |name: &str, value: String, interval: Option<Interval>| {
        vec![
            Cell::new(name),
            Cell::new(value),
            Cell::new(signed(interval)),
        ]
    };
    let mut rows = vec![
        row("questions", own.questions.to_string(), None),
        row(
            "typical movement of a probability",
            format!("{:.3}", own.moved),
            None,
        ),
        row(
            "gain in the Brier score",
            format!("{:+.4}", own.gain),
            own.gain_interval,
        ),
        row(
            "λ, the gain per squared movement",
            format!("{:+.2}", own.efficiency),
            own.efficiency_interval,
        ),
    ];
    rows.extend(
        own.cost
            .map(|cost| row("cost per question", format!("${cost:.4}"), None)),
    );
    let caption = "From the blind first round to the result. λ is 1 if all movement was information, 0 if it was worth nothing, −1 if it \
                   was noise; it is shrunk towards 0, its interval is not";
    let table = Table::of(caption, &["", "#", "95%"], rows);
    vec![Block::note(text, tone), Block::Table(table)]
}

fn parts(parts: &Decomposition) -> Table {
    let rows = [
        ("Brier score", parts.brier, "lower is better"),
        (
            "= reliability",
            parts.reliability,
            "how far probabilities are from the frequencies that followed; lower is better",
        ),
        (
            "− resolution",
            parts.resolution,
            "how far the forecasts tell questions apart; higher is better",
        ),
        (
            "+ uncertainty",
            parts.uncertainty,
            "the score of always saying the base rate",
        ),
        (
            "+ within bins",
            parts.within_bins,
            "lost by sorting into bins",
        ),
        (
            "sharpness",
            parts.sharpness,
            "the variance of the probabilities; 0 is always the same one",
        ),
    ];
    let rows = rows.into_iter().map(|(name, value, meaning)| {
        vec![
            Cell::new(name),
            Cell::new(format!("{value:.4}")),
            Cell::new(meaning),
        ]
    });
    Table::of(
        "What the Brier score is made of (Murphy)",
        &["", "#", ""],
        rows,
    )
}

fn by_group(groups: &[GroupRecord]) -> Table {
    let range =
        |interval: Interval| format!("{} … {}", percent(interval.low), percent(interval.high));
    let rows = groups.iter().map(|group| {
        let interval = group.interval.map_or_else(
            || "–".to_owned(),
            |interval| format!("{:.3} … {:.3}", interval.low, interval.high),
        );
        let is_off =
            group.said < group.right_interval.low || group.said > group.right_interval.high;
        let tone = if is_off { Tone::Caution } else { Tone::Plain };
        vec![
            Cell::new(format!("{}: {}", group.by.name(), group.name)),
            Cell::new(group.questions.to_string()),
            Cell::new(format!("{:.3}", group.brier)),
            Cell::new(interval),
            Cell::new(format!("{:.3}", group.reliability)),
            Cell::new(percent(group.said)).toned(tone),
            Cell::new(percent(group.right)),
            Cell::new(range(group.right_interval)),
        ]
    });
    let caption = "Said is the mean probability of the likeliest outcome, right how often it happened. Domains and horizons are of the \
                   debates, roles and families of the roles' last forecasts";
    let columns = [
        "",
        "#questions",
        "#Brier",
        "95%",
        "#reliability",
        "#said",
        "#right",
        "95%",
    ];
    Table::of(caption, &columns, rows)
}

fn diagram(bins: &[Bin]) -> Chart {
    let rows = bins.iter().map(|bin| {
        let range = |from: f64, to: f64| format!("{:.0}–{:.0}%", from * 100.0, to * 100.0);
        let interval = bin.interval.map_or_else(String::new, |interval| {
            format!(", {}", range(interval.low, interval.high))
        });
        let dot = bin.mean_forecast.map(|value| Dot {
            role: "forecast".into(),
            value,
        });
        DotRow {
            label: range(bin.from, bin.to),
            line: bin.observed,
            dots: dot.into_iter().collect(),
            remark: Some(Cell::new(format!("n={}{interval}", bin.count)).toned(Tone::Quiet)),
        }
    });
    Chart::Dots {
        title: "Forecast and observed frequency".into(),
        scale: Scale::PERCENT,
        rows: rows.collect(),
    }
}

fn weights(calibration: &Calibration) -> Table {
    let columns = ["domain", "role", "model", "#skill", "#weight", "#questions"];
    let rows = calibration.standings.iter().flat_map(|(domain, seats)| {
        seats.iter().map(move |seat| {
            vec![
                Cell::new(domain.clone()),
                Cell::new(seat.role.clone()),
                Cell::new(seat.model.clone().unwrap_or_default()),
                Cell::new(format!("{:+.4}", seat.skill.unwrap_or_default())),
                Cell::new(percent(seat.weight)),
                Cell::new(seat.questions.to_string()),
            ]
        })
    });
    let caption = "Weight in the pool that learns. Skill is the Brier score relative to the panel; negative is better";
    Table::of(caption, &columns, rows)
}
