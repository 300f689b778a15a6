//! The blocks of a report in plain characters: drawn on a terminal, bare figures elsewhere.

use anstyle::Style;
use roundtable_engine::report::{
    Align, Bar, Block, Cell, Chart, DotRow, Line, Scale, Section, Table, Threshold, Tone,
};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::super::output::{self, BAD, BOLD, GOOD, QUIET, WARN, painted};
use super::standing;

/// How long a text may be where there is no room for all of it.
const SHORT: usize = 200;
/// The length of a bar or an axis.
const TRACK: usize = 32;
pub(super) const INDENT: &str = "  ";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Brief,
    Whole,
}

/// What the reader's side can show.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub extent: Extent,
    /// A terminal: pictures are drawn and lines wrapped at this width.
    pub width: Option<usize>,
}

impl Look {
    pub(super) fn of_terminal(is_terminal: bool, extent: Extent) -> Self {
        Self {
            extent,
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

/// Roles are shown by their titles.
pub(super) type Titles<'a> = &'a dyn Fn(&str) -> String;

pub(super) fn section(section: &Section, titles: Titles<'_>, look: Look) -> Vec<String> {
    let mut lines = Vec::new();
    for block in &section.blocks {
        match block {
            Block::Text { markdown } => lines.extend(text(markdown, look)),
            Block::Note { text, tone } => lines.extend(
                wrapped(&output::harmless(text), look)
                    .into_iter()
                    .map(|line| painted(style(*tone), &line)),
            ),
            Block::Table(figures) => {
                lines.extend(caption(&figures.caption, section));
                lines.extend(table(figures, look));
            }
            Block::Chart(picture) => {
                lines.extend(caption(picture.title(), section));
                lines.extend(chart(picture, titles, look));
            }
            Block::Opposed { positions } => {
                for position in positions {
                    lines.push(format!(
                        "{INDENT}{} {}",
                        painted(
                            output::role(&position.role),
                            &output::harmless(&titles(&position.role))
                        ),
                        painted(BOLD, &output::harmless(&position.stand))
                    ));
                    lines.extend(text(&position.markdown, look));
                }
            }
            Block::Gauges { gauges } => lines.extend(standing::gauges(gauges, look)),
            Block::Cards { cards } => lines.extend(standing::cards(cards, titles, look)),
        }
    }
    lines
}

fn caption(words: &str, section: &Section) -> Option<String> {
    let is_new = !words.is_empty() && words != section.title;
    is_new.then(|| format!("{INDENT}{}", painted(QUIET, &output::harmless(words))))
}

fn text(markdown: &str, look: Look) -> Vec<String> {
    match look.extent {
        Extent::Brief => wrapped(&output::short(markdown, SHORT), look),
        Extent::Whole => wrapped(&output::harmless(markdown), look),
    }
}

/// Indented, and on a terminal broken at words.
fn wrapped(text: &str, look: Look) -> Vec<String> {
    let room = look
        .width
        .map(|width| width.saturating_sub(INDENT.len()).max(20));
    text.lines()
        .flat_map(|line| broken(line, room))
        .map(|line| format!("{INDENT}{line}"))
        .collect()
}

pub(super) fn broken(line: &str, room: Option<usize>) -> Vec<String> {
    let Some(room) = room else {
        return vec![line.to_owned()];
    };
    let mut lines = vec![String::new()];
    for word in line.split(' ') {
        let last = lines.last().map_or(0, |line| line.width());
        if last > 0 && last + 1 + word.width() > room {
            lines.push(word.to_owned());
        } else if let Some(line) = lines.last_mut() {
            if last > 0 {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

/// Aligned columns; on a terminal, where they have not all the room they want, texts are broken at words.
fn table(table: &Table, look: Look) -> Vec<String> {
    let text = |cell: &Cell| output::short(&cell.text, 400);
    let names: Vec<String> = table.columns.iter().map(|it| it.name.clone()).collect();
    let mut widths: Vec<usize> = names.iter().map(|name| name.width()).collect();
    for row in &table.rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(text(cell).width());
        }
    }
    if let Some(width) = look.width {
        fit(&mut widths, table, width.saturating_sub(INDENT.len()));
    }
    let mut lines = Vec::new();
    if names.iter().any(|name| !name.is_empty()) {
        let heads: Vec<Cell> = names.into_iter().map(Cell::new).collect();
        let heads = row_lines(&heads, table, &widths, look);
        lines.extend(heads.iter().map(|line| painted(QUIET, line)));
    }
    for row in &table.rows {
        lines.extend(row_lines(row, table, &widths, look));
    }
    lines
}

/// Between two columns.
const GAP: usize = 2;
/// No column of texts is made narrower.
const NARROWEST: usize = 8;

/// Takes from the widest columns of texts what there is no room for.
fn fit(widths: &mut [usize], table: &Table, room: usize) {
    let gaps = GAP * widths.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > room {
        let texts = (0..widths.len()).filter(|index| align(table, *index) == Align::Text);
        let widest = texts.max_by_key(|index| (widths[*index], *index));
        let Some(widest) = widest.filter(|index| widths[*index] > NARROWEST) else {
            return;
        };
        widths[widest] -= 1;
    }
}

/// One row, on as many lines as its longest cell takes.
fn row_lines(row: &[Cell], table: &Table, widths: &[usize], look: Look) -> Vec<String> {
    let width_of = |index: usize| widths.get(index).copied().unwrap_or(0);
    let cells: Vec<Vec<String>> = row
        .iter()
        .enumerate()
        .map(|(index, cell)| {
            let text = output::short(&cell.text, 400);
            let room = look.width.filter(|_| align(table, index) == Align::Text);
            match room {
                Some(_) => folded(&text, width_of(index).max(1)),
                None => vec![text],
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
            out.push_str(&" ".repeat(if index == last { 0 } else { GAP }));
        }
        out.trim_end().to_owned()
    });
    lines.collect()
}

/// Broken at words; a word that is wider than the column, where it has to be.
fn folded(text: &str, room: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in broken(text, Some(room)) {
        let mut part = String::new();
        for c in line.chars() {
            if part.width() + c.width().unwrap_or(0) > room && !part.is_empty() {
                lines.push(std::mem::take(&mut part));
            }
            part.push(c);
        }
        lines.push(part);
    }
    lines
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

fn chart(chart: &Chart, titles: Titles<'_>, look: Look) -> Vec<String> {
    if look.width.is_none() {
        return table(&chart.table(), look);
    }
    match chart {
        Chart::Bars { bars, unit, .. } => draw_bars(bars, unit),
        Chart::Lines {
            scale,
            lines,
            thresholds,
            ..
        } => draw_lines(*scale, lines, thresholds),
        Chart::Dots { scale, rows, .. } => draw_dots(*scale, rows, titles),
    }
}

fn draw_bars(bars: &[Bar], unit: &str) -> Vec<String> {
    let most = bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
    let names = names(bars.iter().map(|bar| bar.label.as_str()));
    bars.iter()
        .zip(names)
        .map(|(bar, name)| {
            let filled = place(bar.value, 0.0, most);
            let paint = bar.role.as_deref().map_or(BOLD, output::role);
            format!(
                "{INDENT}{name}  {}{}  {} {unit}",
                painted(paint, &"█".repeat(filled)),
                painted(QUIET, &"░".repeat(TRACK - filled)),
                bar.value
            )
        })
        .collect()
}

/// The last value of each line as a bar, with its thresholds drawn in, what it was before and where it went.
fn draw_lines(scale: Scale, lines: &[Line], thresholds: &[Threshold]) -> Vec<String> {
    let names = names(lines.iter().map(|line| line.label.as_str()));
    let mut out: Vec<String> = lines
        .iter()
        .zip(names)
        .map(|(line, name)| {
            let mut values = line.values.iter().rev().filter_map(|value| *value);
            let (last, before) = (values.next(), values.next());
            let Some(last) = last else {
                return format!("{INDENT}{name}  –");
            };
            let mut track: Vec<char> = vec!['░'; TRACK];
            track[..place(last, scale.from, scale.to)].fill('█');
            for threshold in thresholds {
                let at = place(threshold.value, scale.from, scale.to).min(TRACK - 1);
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
                "{INDENT}{name}  {}  {}{}",
                track.iter().collect::<String>(),
                painted(BOLD, &scale.unit.write(last)),
                painted(QUIET, &trend)
            )
        })
        .collect();
    let marks: Vec<&str> = thresholds.iter().map(|it| it.label.as_str()).collect();
    if !marks.is_empty() {
        out.push(painted(QUIET, &format!("{INDENT}│ {}", marks.join(", "))));
    }
    out
}

/// Each who judged is the first letter of its name, what came out a bar.
fn draw_dots(scale: Scale, rows: &[DotRow], titles: Titles<'_>) -> Vec<String> {
    let names = names(rows.iter().map(|row| row.label.as_str()));
    let mut keys: Vec<(char, String)> = Vec::new();
    let mut out = Vec::new();
    for (row, name) in rows.iter().zip(names) {
        let mut track: Vec<char> = vec!['·'; TRACK + 1];
        for dot in &row.dots {
            let title = titles(&dot.role);
            let letter = letter_of(&title, &mut keys);
            let at = place(dot.value, scale.from, scale.to);
            track[at] = if track[at] == '·' { letter } else { '∗' };
        }
        if let Some(line) = row.line {
            let at = place(line, scale.from, scale.to);
            // Where somebody stands exactly there, both are told.
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
            "{INDENT}{name}  {}  {}{remark}",
            track.iter().collect::<String>(),
            painted(BOLD, &line)
        ));
    }
    let keys: Vec<String> = keys
        .iter()
        .map(|(letter, title)| format!("{letter} {title}"))
        .collect();
    out.push(painted(
        QUIET,
        &format!("{INDENT}┃ result, {}", keys.join(", ")),
    ));
    out
}

/// The first letter of the name that is still free, else a digit.
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

/// Labels of the same width.
fn names<'a>(labels: impl Iterator<Item = &'a str>) -> Vec<String> {
    let short: Vec<String> = labels.map(|label| output::short(label, 28)).collect();
    let width = short.iter().map(|label| label.width()).max().unwrap_or(0);
    short
        .iter()
        .map(|label| padded(label, width, Align::Text))
        .collect()
}

/// Where a value falls on the track; at its beginning what is no number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "between nothing and the length of the track"
)]
fn place(value: f64, from: f64, to: f64) -> usize {
    let share = ((value - from) / (to - from)).clamp(0.0, 1.0);
    if share.is_nan() {
        return 0;
    }
    (share * TRACK as f64).round() as usize
}

#[cfg(test)]
#[path = "blocks_tests.rs"]
mod tests;
