//! Report blocks as text: charts drawn with characters on a terminal, tables of numbers elsewhere.

use anstyle::Style;
use roundtable_engine::report::{
    Align, Bar, Block, Cell, Chart, DotRow, Line, Scale, Section, Table, Threshold, Tone,
};
use unicode_width::UnicodeWidthStr;

use super::super::output::{self, BAD, BOLD, GOOD, QUIET, WARN, painted};
use super::convergence;
use super::markdown;
use super::wrap::{break_line, wrap_line};
use crate::render::Roles;

/// Maximum length of a table cell, in characters.
const MAX_CELL: usize = 400;
/// Length of a bar or an axis, in columns.
const TRACK: usize = 32;
pub(super) const INDENT: &str = "  ";
/// Several judges at the same place of an axis.
const SEVERAL: char = '∗';

#[derive(Debug, Clone, Copy)]
pub(super) struct RenderOptions {
    /// On a terminal: draw charts, and wrap lines at this width.
    pub width: Option<usize>,
}

impl RenderOptions {
    pub(super) fn new(is_terminal: bool) -> Self {
        Self {
            width: is_terminal.then(|| output::width().min(100)),
        }
    }
}

pub(super) fn style(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Quiet => QUIET,
        Tone::Good => GOOD,
        Tone::Caution => WARN,
        Tone::Critical => BAD,
    }
}

pub(super) fn section(section: &Section, roles: &Roles, options: RenderOptions) -> Vec<String> {
    let mut lines = Vec::new();
    for block in &section.blocks {
        match block {
            Block::Text { markdown } => lines.extend(text(markdown, options)),
            Block::Note { text, tone } => lines.extend(
                wrapped(&output::harmless(text), options)
                    .into_iter()
                    .map(|line| painted(style(*tone), &line)),
            ),
            Block::Table(data) => {
                lines.extend(caption(&data.caption, section));
                lines.extend(table(data, options));
            }
            Block::Chart(data) => {
                lines.extend(caption(data.title(), section));
                lines.extend(chart(data, roles, options));
            }
            Block::Opposed { positions } => {
                for position in positions {
                    lines.push(format!(
                        "{INDENT}{} {}",
                        output::seat(roles, &position.role),
                        painted(BOLD, &output::harmless(&position.stand))
                    ));
                    lines.extend(text(&position.markdown, options));
                }
            }
            Block::Gauges { gauges } => lines.extend(convergence::gauges(gauges, options)),
            Block::Cards { cards } => lines.extend(convergence::cards(cards, roles, options)),
        }
    }
    lines
}

/// The caption, unless it repeats the section's title.
fn caption(text: &str, section: &Section) -> Option<String> {
    let is_new = !text.is_empty() && text != section.title;
    is_new.then(|| format!("{INDENT}{}", painted(QUIET, &output::harmless(text))))
}

fn text(markdown: &str, options: RenderOptions) -> Vec<String> {
    let text = output::harmless(markdown);
    match options.width {
        Some(width) => {
            let shown = markdown::render(&text, width, INDENT.len());
            shown.lines().map(str::to_owned).collect()
        }
        None => wrapped(&text, options),
    }
}

/// Indented, and wrapped on a terminal.
fn wrapped(text: &str, options: RenderOptions) -> Vec<String> {
    let width = options
        .width
        .map(|width| width.saturating_sub(INDENT.len()).max(20));
    text.lines()
        .flat_map(|line| wrap_line(line, width))
        .map(|line| format!("{INDENT}{line}"))
        .collect()
}

/// Aligned columns; on a terminal, text columns are wrapped to fit.
pub(super) fn table(table: &Table, options: RenderOptions) -> Vec<String> {
    let names: Vec<String> = table
        .columns
        .iter()
        .map(|column| column.name.clone())
        .collect();
    let mut widths: Vec<usize> = names.iter().map(|name| name.width()).collect();
    for row in &table.rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell_text(cell).width());
        }
    }
    let mut gap = GAP;
    if let Some(width) = options.width {
        gap = fit(&mut widths, table, width.saturating_sub(INDENT.len()));
    }
    let layout = Layout {
        table,
        widths: &widths,
        gap,
    };
    let mut lines = Vec::new();
    if names.iter().any(|name| !name.is_empty()) {
        let heads: Vec<Cell> = names.into_iter().map(Cell::new).collect();
        let heads = layout.row_lines(&heads, options);
        lines.extend(heads.iter().map(|line| painted(QUIET, line)));
    }
    for row in &table.rows {
        lines.extend(layout.row_lines(row, options));
    }
    lines
}

fn cell_text(cell: &Cell) -> String {
    output::short(&cell.text, MAX_CELL)
}

/// Space between two columns.
const GAP: usize = 2;
/// Minimum width of a text column.
const MIN_COLUMN: usize = 8;

/// Shrinks the widest text columns until the table fits. If they cannot shrink further, columns of numbers wrap their names, and
/// columns move closer. Returns the space between two columns.
fn fit(widths: &mut [usize], table: &Table, max: usize) -> usize {
    let gaps = widths.len().saturating_sub(1);
    let is_over = |widths: &[usize], gap: usize| widths.iter().sum::<usize>() + gap * gaps > max;
    while is_over(widths, GAP) {
        let texts = (0..widths.len()).filter(|index| align(table, *index) == Align::Text);
        let widest = texts.max_by_key(|index| (widths[*index], *index));
        let Some(widest) = widest.filter(|index| widths[*index] > MIN_COLUMN) else {
            break;
        };
        widths[widest] -= 1;
    }
    if !is_over(widths, GAP) {
        return GAP;
    }
    for (index, width) in widths.iter_mut().enumerate() {
        if align(table, index) == Align::Number {
            let cells = table.rows.iter().filter_map(|row| row.get(index));
            let cells = cells.map(|cell| cell_text(cell).width());
            let words = table.columns.get(index).into_iter();
            let words = words.flat_map(|column| column.name.split(' ').map(UnicodeWidthStr::width));
            *width = (*width).min(cells.chain(words).max().unwrap_or(*width));
        }
    }
    if is_over(widths, GAP) { 1 } else { GAP }
}

struct Layout<'a> {
    table: &'a Table,
    widths: &'a [usize],
    gap: usize,
}

impl Layout<'_> {
    /// One row, on as many lines as its longest cell needs.
    fn row_lines(&self, row: &[Cell], options: RenderOptions) -> Vec<String> {
        let Self { table, widths, gap } = *self;
        let width_of = |index: usize| widths.get(index).copied().unwrap_or(0);
        let cells: Vec<Vec<String>> = row
            .iter()
            .enumerate()
            .map(|(index, cell)| {
                let text = cell_text(cell);
                // The name of a column of numbers may have several words.
                if options.width.is_some() {
                    break_line(&text, width_of(index).max(1))
                } else {
                    vec![text]
                }
            })
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        let last = row.len().saturating_sub(1);
        let lines = (0..height).map(|line| {
            let mut out = INDENT.to_owned();
            for (index, cell) in row.iter().enumerate() {
                let part = cells[index].get(line).map_or("", String::as_str);
                let padded = padded(part, width_of(index), align(table, index));
                let padded = if index == last {
                    padded.trim_end()
                } else {
                    &padded
                };
                if part.is_empty() {
                    out.push_str(padded);
                } else {
                    out.push_str(&painted(style(cell.tone), padded));
                }
                out.push_str(&" ".repeat(if index == last { 0 } else { gap }));
            }
            out.trim_end().to_owned()
        });
        lines.collect()
    }
}

fn align(table: &Table, index: usize) -> Align {
    table
        .columns
        .get(index)
        .map_or(Align::Text, |column| column.align)
}

fn padded(text: &str, width: usize, align: Align) -> String {
    let gap = " ".repeat(width.saturating_sub(text.width()));
    match align {
        Align::Text => format!("{text}{gap}"),
        Align::Number => format!("{gap}{text}"),
    }
}

fn chart(chart: &Chart, roles: &Roles, options: RenderOptions) -> Vec<String> {
    if options.width.is_none() {
        return table(&chart.table(), options);
    }
    match chart {
        Chart::Bars { bars, unit, .. } => draw_bars(bars, unit, roles),
        Chart::Lines {
            scale,
            lines,
            thresholds,
            ..
        } => draw_lines(*scale, lines, thresholds),
        Chart::Dots { scale, rows, .. } => draw_dots(*scale, rows, roles),
        Chart::Points { .. } => table(&chart.table(), options),
    }
}

fn draw_bars(bars: &[Bar], unit: &str, roles: &Roles) -> Vec<String> {
    let max = bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
    let labels = padded_labels(bars.iter().map(|bar| bar.label.as_str()));
    bars.iter()
        .zip(labels)
        .map(|(bar, label)| {
            let filled = track_column(bar.value, 0.0, max);
            let role = bar.role.as_deref();
            let style = role.map_or(BOLD, |role| output::role_style(roles, role));
            format!(
                "{INDENT}{label}  {}{}  {} {unit}",
                painted(style, &"█".repeat(filled)),
                painted(QUIET, &"░".repeat(TRACK - filled)),
                bar.value
            )
        })
        .collect()
}

/// The last value of each line as a bar, with thresholds, previous value and trend.
fn draw_lines(scale: Scale, lines: &[Line], thresholds: &[Threshold]) -> Vec<String> {
    let labels = padded_labels(lines.iter().map(|line| line.label.as_str()));
    let mut out: Vec<String> = lines
        .iter()
        .zip(labels)
        .map(|(line, label)| {
            let mut values = line.values.iter().rev().filter_map(|value| *value);
            let (last, before) = (values.next(), values.next());
            let Some(last) = last else {
                return format!("{INDENT}{label}  –");
            };
            let mut track: Vec<char> = vec!['░'; TRACK];
            track[..track_column(last, scale.from, scale.to)].fill('█');
            for threshold in thresholds {
                let at = track_column(threshold.value, scale.from, scale.to).min(TRACK - 1);
                track[at] = '│';
            }
            let trend = before.map_or_else(String::new, |before| {
                let arrow = match last.total_cmp(&before) {
                    std::cmp::Ordering::Less => '↓',
                    std::cmp::Ordering::Equal => '→',
                    std::cmp::Ordering::Greater => '↑',
                };
                format!("  {arrow} was {}", scale.unit.write(before))
            });
            format!(
                "{INDENT}{label}  {}  {}{}",
                track.iter().collect::<String>(),
                painted(BOLD, &scale.unit.write(last)),
                painted(QUIET, &trend)
            )
        })
        .collect();
    let legend: Vec<&str> = thresholds.iter().map(|t| t.label.as_str()).collect();
    if !legend.is_empty() {
        out.push(painted(QUIET, &format!("{INDENT}│ {}", legend.join(", "))));
    }
    out
}

/// Each judge is the first letter of its title, the result is a bar.
fn draw_dots(scale: Scale, rows: &[DotRow], roles: &Roles) -> Vec<String> {
    let labels = padded_labels(rows.iter().map(|row| row.label.as_str()));
    let mut keys: Vec<(char, String)> = Vec::new();
    let mut out = Vec::new();
    for (row, label) in rows.iter().zip(labels) {
        let mut track: Vec<char> = vec!['·'; TRACK + 1];
        for dot in &row.dots {
            let letter = letter_of(&roles.title(&dot.role), &mut keys);
            let at = track_column(dot.value, scale.from, scale.to);
            track[at] = if track[at] == '·' { letter } else { SEVERAL };
        }
        if let Some(line) = row.line {
            let at = track_column(line, scale.from, scale.to);
            // A combined character if a judge gave exactly the result.
            track[at] = if track[at] == '·' { '┃' } else { '╂' };
        }
        let line = row
            .line
            .map_or_else(|| "–".into(), |line| scale.unit.write(line));
        let remark = row.remark.as_ref().map_or_else(String::new, |remark| {
            painted(
                style(remark.tone),
                &format!("  {}", output::harmless(&remark.text)),
            )
        });
        out.push(format!(
            "{INDENT}{label}  {}  {}{remark}",
            track.iter().collect::<String>(),
            painted(BOLD, &line)
        ));
    }
    let mut keys: Vec<String> = keys
        .iter()
        .map(|(letter, title)| format!("{letter} {title}"))
        .collect();
    if out.iter().any(|line| line.contains(SEVERAL)) {
        keys.push(format!("{SEVERAL} several"));
    }
    out.push(painted(
        QUIET,
        &format!("{INDENT}┃ result, {}", keys.join(", ")),
    ));
    out
}

/// The first unused letter of the title, otherwise a digit.
fn letter_of(title: &str, keys: &mut Vec<(char, String)>) -> char {
    if let Some((letter, _)) = keys.iter().find(|(_, known)| known == title) {
        return *letter;
    }
    let letters = title.chars().filter(char::is_ascii_alphabetic);
    let letter = letters
        .map(|c| c.to_ascii_uppercase())
        .chain('1'..='9')
        .find(|c| keys.iter().all(|(taken, _)| taken != c))
        .unwrap_or('o');
    keys.push((letter, output::harmless(title)));
    letter
}

/// Labels, shortened and padded to the same width.
fn padded_labels<'a>(labels: impl Iterator<Item = &'a str>) -> Vec<String> {
    let short: Vec<String> = labels.map(|label| output::short(label, 28)).collect();
    let width = short.iter().map(|label| label.width()).max().unwrap_or(0);
    short
        .iter()
        .map(|label| padded(label, width, Align::Text))
        .collect()
}

/// The column of a value on the track; 0 for NaN.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "between 0 and the length of the track"
)]
fn track_column(value: f64, from: f64, to: f64) -> usize {
    let share = ((value - from) / (to - from)).clamp(0.0, 1.0);
    if share.is_nan() {
        return 0;
    }
    (share * TRACK as f64).round() as usize
}

#[cfg(test)]
#[path = "blocks_tests.rs"]
mod tests;
