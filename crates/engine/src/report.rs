//! Reports as data. One report is rendered in the terminal, on the web page, as Markdown and as HTML; renderers know nothing
//! else about a protocol.
//!
//! Text written by a model or a person appears only where its type says so, above all in [`Block::Text`]; renderers sanitize
//! it there.

mod argument;
mod verdict;

use roundtable_core::distinct::distinct;
use roundtable_core::format::percent;
use schemars::JsonSchema;
use serde::Serialize;

use crate::state::State;
pub use argument::{Argument, ArgumentPoint, Episode, SeatMove};
pub use verdict::{
    Badge, BadgeKind, Dissent, NextAction, SeatFailure, Verdict, VerdictAnswer, VerdictChange,
    VerdictConfidence, VerdictUsage,
};

/// The presentable content of a debate. A protocol folds its journal into a report at any moment, finished or not; the same journal
/// always gives the same report.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    /// The result on one screen. `None` in reports that are not about a single debate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// The outcome in the model's words, as Markdown. `None` while there is none.
    pub answer: Option<String>,
    /// Key figures: `("Confidence", "7 of 10")`.
    pub facts: Vec<Fact>,
    /// The argument by its points.
    #[serde(skip_serializing_if = "Argument::is_empty")]
    pub argument: Argument,
    pub sections: Vec<Section>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Fact {
    pub name: String,
    pub value: String,
    pub tone: Tone,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Section {
    pub title: String,
    pub place: Place,
    pub blocks: Vec<Block>,
}

/// The placement of a section by renderers with a side column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    Main,
    Side,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Block {
    /// Markdown written by a model or a person: untrusted.
    Text {
        markdown: String,
    },
    /// A sentence written by the program.
    Note {
        text: String,
        tone: Tone,
    },
    Table(Table),
    Chart(Chart),
    /// Opposing positions, shown side by side and never averaged.
    Opposed {
        positions: Vec<Position>,
    },
    /// Current measures, each with threshold, previous value and trend.
    Gauges {
        gauges: Vec<Gauge>,
    },
    /// The position of each seat and its evidence.
    Cards {
        cards: Vec<Card>,
    },
}

/// A measure from 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Gauge {
    pub label: String,
    /// `None` if it could not be measured.
    pub value: Option<f64>,
    pub threshold: Option<Threshold>,
    pub previous: Option<f64>,
    pub trend: Option<String>,
    /// The meaning of the value.
    pub status: String,
    pub mark: Mark,
}

/// A measure relative to its threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    Reached,
    OnTheWay,
    Short,
}

impl Mark {
    pub const fn sign(self) -> char {
        match self {
            Self::Reached => '✓',
            Self::OnTheWay => '↻',
            Self::Short => '~',
        }
    }

    pub const fn tone(self) -> Tone {
        match self {
            Self::Reached => Tone::Good,
            Self::OnTheWay => Tone::Plain,
            Self::Short => Tone::Caution,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Card {
    /// The seat, which also sets the colour.
    pub role: String,
    /// In the seat's words.
    pub position: String,
    /// Type and source of each piece.
    pub evidence: Vec<(String, String)>,
    pub confidence: Cell,
    /// Sentences written by the program.
    pub remarks: Vec<Cell>,
}

impl Card {
    /// The card as a position, for renderers without cards.
    pub fn as_position(&self) -> Position {
        let mut lines = vec![self.position.clone(), String::new()];
        for (kind, source) in &self.evidence {
            lines.push(format!("- {kind}: {source}"));
        }
        for remark in &self.remarks {
            lines.push(format!("- {}", remark.text));
        }
        Position {
            role: self.role.clone(),
            stand: self.confidence.text.clone(),
            markdown: lines.join("\n"),
        }
    }
}

impl Gauge {
    /// The gauges as a table, for renderers without gauges.
    pub fn table(caption: &str, gauges: &[Self]) -> Table {
        let columns = [
            "measure",
            "#value",
            "#threshold",
            "#before",
            "trend",
            "what it means",
        ];
        let number = |value| Unit::Decimals(2).cell(value);
        let rows = gauges.iter().map(|gauge| {
            vec![
                Cell::new(gauge.label.clone()),
                number(gauge.value).toned(gauge.mark.tone()),
                number(gauge.threshold.as_ref().map(|t| t.value)),
                number(gauge.previous),
                Cell::new(gauge.trend.clone().unwrap_or_else(|| "–".into())),
                Cell::new(gauge.status.clone()),
            ]
        });
        Table::of(caption, &columns, rows)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Position {
    pub role: String,
    /// Its score or vote, for example.
    pub stand: String,
    pub markdown: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Table {
    pub caption: String,
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Cell>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Column {
    pub name: String,
    pub align: Align,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Align {
    Text,
    Number,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Cell {
    pub text: String,
    pub tone: Tone,
}

/// Emphasis of a value. `Critical` (red) is only for open critical items and for answers that were not challenged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    #[default]
    Plain,
    Quiet,
    Good,
    Caution,
    Critical,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "shape", rename_all = "snake_case")]
pub enum Chart {
    /// One bar per row.
    Bars {
        title: String,
        unit: String,
        bars: Vec<Bar>,
    },
    /// Values over rounds, with thresholds.
    Lines {
        title: String,
        scale: Scale,
        rounds: Vec<String>,
        lines: Vec<Line>,
        thresholds: Vec<Threshold>,
    },
    /// One row per item judged, one dot per judge, a line for the result.
    Dots {
        title: String,
        scale: Scale,
        rows: Vec<DotRow>,
    },
    /// A value against an amount on a logarithmic axis, each with its interval.
    Points {
        title: String,
        /// The name of the horizontal axis.
        amount: String,
        scale: Scale,
        points: Vec<Point>,
    },
}

/// Range of an axis and number format.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Scale {
    pub from: f64,
    pub to: f64,
    pub unit: Unit,
}

impl Scale {
    /// Probabilities from 0% to 100%.
    pub const PERCENT: Self = Self {
        from: 0.0,
        to: 1.0,
        unit: Unit::Percent,
    };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// 0.46 is shown as 46%.
    Percent,
    /// Shown with this many decimals.
    Decimals(u8),
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Bar {
    pub label: String,
    pub value: f64,
    /// The seat whose colour it takes.
    pub role: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Line {
    pub label: String,
    pub role: Option<String>,
    /// One per round; `None` if there is no value.
    pub values: Vec<Option<f64>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Threshold {
    pub label: String,
    pub value: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DotRow {
    pub label: String,
    /// The result of the dots: the consensus, the debate's probability.
    pub line: Option<f64>,
    pub dots: Vec<Dot>,
    /// Shown next to the row: "36 apart".
    pub remark: Option<Cell>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    pub label: String,
    /// Above 0.
    pub amount: f64,
    pub value: f64,
    pub low: f64,
    pub high: f64,
    /// Whether it stands out: no other point is better for less.
    pub is_front: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Dot {
    pub role: String,
    pub value: f64,
}

/// The title of [`Section::ending`].
const ENDING: &str = "Ending";

impl Report {
    /// The report with the state that surfaces show, see [`Verdict::shown_as`].
    #[must_use]
    pub fn shown_as(self, state: State) -> Self {
        Self {
            verdict: self.verdict.map(|verdict| verdict.shown_as(state)),
            ..self
        }
    }

    /// For a view of a few lines: how the debate ended and what it changed, then the sections that only have notes.
    pub fn ending(&self) -> impl Iterator<Item = &Block> {
        let is_note = |block: &Block| matches!(block, Block::Note { .. });
        let sections = self.sections.iter();
        let ending = sections.clone().filter(|section| section.title == ENDING);
        let notes = sections
            .filter(move |section| section.title != ENDING && section.blocks.iter().all(is_note));
        ending.chain(notes).flat_map(|section| &section.blocks)
    }
}

impl Section {
    /// How the debate ended, what it changed, and what is missing (C-17).
    pub fn ending(blocks: Vec<Block>) -> Self {
        Self::main(ENDING, blocks)
    }

    pub fn main(title: &str, blocks: Vec<Block>) -> Self {
        Self {
            title: title.to_owned(),
            place: Place::Main,
            blocks,
        }
    }

    pub fn side(title: &str, blocks: Vec<Block>) -> Self {
        Self {
            place: Place::Side,
            ..Self::main(title, blocks)
        }
    }
}

impl Block {
    /// The text of a note that readers of the result should know of.
    pub fn caution(&self) -> Option<&str> {
        match self {
            Self::Note {
                text,
                tone: Tone::Caution | Tone::Quiet,
            } => Some(text),
            _ => None,
        }
    }

    pub fn note(text: impl Into<String>, tone: Tone) -> Self {
        let text = text.into();
        Self::Note { text, tone }
    }
}

impl Fact {
    pub fn new(name: &str, value: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            value: value.into(),
            tone: Tone::Plain,
        }
    }

    #[must_use]
    pub fn toned(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }
}

impl Cell {
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            tone: Tone::Plain,
        }
    }

    #[must_use]
    pub fn toned(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }
}

impl Table {
    /// A leading `#` in a column name marks a column of numbers.
    pub fn new(caption: &str, columns: &[&str]) -> Self {
        Self::of(caption, columns, [])
    }

    pub fn of(caption: &str, columns: &[&str], rows: impl IntoIterator<Item = Vec<Cell>>) -> Self {
        Self {
            caption: caption.to_owned(),
            columns: columns.iter().map(|name| Column::named(name)).collect(),
            rows: rows.into_iter().collect(),
        }
    }

    #[must_use]
    pub fn row(mut self, cells: Vec<Cell>) -> Self {
        self.rows.push(cells);
        self
    }
}

impl Column {
    fn named(name: &str) -> Self {
        let (name, align) = name
            .strip_prefix('#')
            .map_or((name, Align::Text), |name| (name, Align::Number));
        Self {
            name: name.to_owned(),
            align,
        }
    }
}

impl Unit {
    pub fn write(self, value: f64) -> String {
        match self {
            Self::Percent => percent(value),
            Self::Decimals(places) => format!("{value:.*}", usize::from(places)),
        }
    }

    /// A dash without a value.
    pub fn cell(self, value: Option<f64>) -> Cell {
        Cell::new(value.map_or_else(|| "–".to_owned(), |value| self.write(value)))
    }
}

impl Chart {
    pub fn title(&self) -> &str {
        match self {
            Self::Bars { title, .. }
            | Self::Lines { title, .. }
            | Self::Dots { title, .. }
            | Self::Points { title, .. } => title,
        }
    }

    /// The chart as a table, for accessibility and text output.
    pub fn table(&self) -> Table {
        match self {
            Self::Bars { title, unit, bars } => {
                let rows = bars.iter().map(|bar| {
                    let value = bar.value.to_string();
                    vec![Cell::new(bar.label.clone()), Cell::new(value)]
                });
                Table::of(title, &["", &format!("#{unit}")], rows)
            }
            Self::Lines {
                title,
                scale,
                rounds,
                lines,
                ..
            } => {
                let names: Vec<String> = lines
                    .iter()
                    .map(|line| format!("#{}", line.label))
                    .collect();
                let columns: Vec<&str> = std::iter::once("")
                    .chain(names.iter().map(String::as_str))
                    .collect();
                let rows = rounds.iter().enumerate().map(|(index, round)| {
                    let values = lines.iter().map(|line| line.values.get(index).copied());
                    let values = values.map(|value| scale.unit.cell(value.flatten()));
                    std::iter::once(Cell::new(round.clone()))
                        .chain(values)
                        .collect()
                });
                Table::of(title, &columns, rows)
            }
            Self::Dots { title, scale, rows } => dots_table(title, *scale, rows),
            Self::Points {
                title,
                amount,
                scale,
                points,
            } => points_table(title, amount, *scale, points),
        }
    }
}

fn points_table(title: &str, amount: &str, scale: Scale, points: &[Point]) -> Table {
    let columns = ["", &format!("#{amount}"), "#value", "95%", ""];
    let rows = points.iter().map(|point| {
        let range = format!(
            "{} … {}",
            scale.unit.write(point.low),
            scale.unit.write(point.high)
        );
        let front = if point.is_front { "front" } else { "" };
        vec![
            Cell::new(point.label.clone()),
            Cell::new(significant(point.amount)),
            Cell::new(scale.unit.write(point.value)),
            Cell::new(range),
            Cell::new(front),
        ]
    });
    Table::of(title, &columns, rows)
}

/// An amount with three significant digits at most: `12400`, `0.0312`.
pub fn significant(amount: f64) -> String {
    let places = match amount.abs() {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        0.1.. => 3,
        _ => 5,
    };
    format!("{amount:.places$}")
}

fn dots_table(title: &str, scale: Scale, rows: &[DotRow]) -> Table {
    let dots = rows.iter().flat_map(|row| &row.dots);
    let roles = distinct(dots.map(|dot| dot.role.as_str()));
    let names: Vec<String> = roles.iter().map(|role| format!("#{role}")).collect();
    let columns: Vec<&str> = ["", "#result"]
        .into_iter()
        .chain(names.iter().map(String::as_str))
        .chain([""])
        .collect();
    let rows = rows.iter().map(|row| {
        let mut cells = vec![Cell::new(row.label.clone()), scale.unit.cell(row.line)];
        cells.extend(roles.iter().map(|role| {
            let dot = row.dots.iter().find(|dot| dot.role == *role);
            scale.unit.cell(dot.map(|dot| dot.value))
        }));
        cells.push(row.remark.clone().unwrap_or_else(|| Cell::new("")));
        cells
    });
    Table::of(title, &columns, rows)
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
