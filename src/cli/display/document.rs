//! A whole Markdown text on a terminal: tables as aligned columns, everything else as in a turn.

use roundtable_engine::report::{Align, Cell, Column, Table};

use super::blocks::{self, RenderOptions};
use super::markdown;

pub(crate) fn render(text: &str, width: usize) -> String {
    let mut out = Vec::new();
    let mut prose = Vec::new();
    let mut is_fenced = false;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        is_fenced ^= line.trim_start().starts_with("```");
        let aligns = lines.peek().and_then(|below| alignments(below));
        let Some(aligns) = aligns.filter(|_| !is_fenced && is_row(line)) else {
            prose.push(line);
            continue;
        };
        lines.next();
        let columns = cells(line).zip(aligns);
        let columns: Vec<Column> = columns
            .map(|(name, align)| Column { name, align })
            .collect();
        let rows = std::iter::from_fn(|| lines.next_if(|line| is_row(line)));
        let rows = rows
            .map(|row| cells(row).take(columns.len()).map(Cell::new).collect())
            .collect();
        let table = Table {
            caption: String::new(),
            columns,
            rows,
        };
        out.extend(rendered(&std::mem::take(&mut prose), width));
        let options = RenderOptions { width: Some(width) };
        out.extend(blocks::table(&table, options));
    }
    out.extend(rendered(&prose, width));
    out.join("\n")
}

/// Keeps an empty line before a table.
fn rendered(lines: &[&str], width: usize) -> Vec<String> {
    if lines.is_empty() {
        return Vec::new();
    }
    let mut out = vec![markdown::render(&lines.join("\n"), width, 0)];
    if lines.len() > 1 && lines.last().is_some_and(|last| last.trim().is_empty()) {
        out.push(String::new());
    }
    out
}

fn is_row(line: &str) -> bool {
    line.trim_start().starts_with('|')
}

/// The line below the names of a table's columns, such as `|---|--:|`.
fn alignments(line: &str) -> Option<Vec<Align>> {
    let is_rule = is_row(line)
        && line.contains('-')
        && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '));
    let align = |cell: String| {
        let is_right = cell.ends_with(':') && !cell.starts_with(':');
        if is_right { Align::Number } else { Align::Text }
    };
    is_rule.then(|| cells(line).map(align).collect())
}

/// The cells of a row, without marks of emphasis.
fn cells(row: &str) -> impl Iterator<Item = String> {
    // Control characters were removed before.
    const ESCAPED: &str = "\0";
    let row = row.trim().trim_matches('|').replace("\\|", ESCAPED);
    let cells: Vec<String> = row
        .split('|')
        .map(|cell| cell.replace("**", "").replace('`', ""))
        .map(|cell| cell.trim().replace(ESCAPED, "|"))
        .collect();
    cells.into_iter()
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
