//! Converts CSV rows to text. Every value gets the heading of its column, so that a row can be understood on its own.

use super::SourceError;

/// A heading is repeated in every row. The rest of a longer one is left out.
const MAX_HEADING: usize = 200;

/// The rows with their numbers as in a spreadsheet: the headings are row 1. Stops with an error at `limit` characters.
pub(super) fn rows(text: &str, limit: usize) -> Result<Vec<(u32, String)>, SourceError> {
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter(text))
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let headings: Vec<String> = reader
        .headers()
        .map_err(|error| SourceError::NoTable(error.to_string()))?
        .iter()
        .map(|heading| heading.chars().take(MAX_HEADING).collect())
        .collect();
    let mut rows = Vec::new();
    let mut length = 0;
    for (number, record) in (2..).zip(reader.records()) {
        let record = record.map_err(|error| SourceError::NoTable(error.to_string()))?;
        let mut row = String::new();
        for (column, value) in record.iter().enumerate() {
            if value.is_empty() {
                continue;
            }
            let start = row.len();
            if !row.is_empty() {
                row.push_str("; ");
            }
            if let Some(heading) = headings.get(column).filter(|heading| !heading.is_empty()) {
                row.push_str(heading);
                row.push_str(": ");
            }
            push_words(&mut row, value);
            length += row[start..].chars().count();
            // One row can have hundreds of thousands of cells.
            if length > limit {
                return Err(SourceError::TooLong);
            }
        }
        if !row.is_empty() {
            rows.push((number, row));
        }
    }
    Ok(rows)
}

/// Appends a text with single spaces between its words.
fn push_words(row: &mut String, text: &str) {
    for (index, word) in text.split_whitespace().enumerate() {
        if index > 0 {
            row.push(' ');
        }
        row.push_str(word);
    }
}

/// The most frequent of the usual delimiters in the headings.
fn delimiter(text: &str) -> u8 {
    let head = text.lines().next().unwrap_or_default();
    let count = |delimiter: u8| head.bytes().filter(|byte| *byte == delimiter).count();
    let best = [b',', b';', b'\t']
        .into_iter()
        .rev()
        .max_by_key(|delimiter| count(*delimiter));
    best.unwrap_or(b',')
}
