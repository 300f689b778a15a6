//! Converts CSV rows to text. Every value gets the heading of its column, so that a row can be understood on its own.

use super::SourceError;

/// The rows with their numbers as in a spreadsheet: the headings are row 1.
pub(super) fn rows(text: &str) -> Result<Vec<(u32, String)>, SourceError> {
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter(text))
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let headings = reader
        .headers()
        .map_err(|error| SourceError::NoTable(error.to_string()))?
        .clone();
    let mut rows = Vec::new();
    for (number, record) in (2..).zip(reader.records()) {
        let record = record.map_err(|error| SourceError::NoTable(error.to_string()))?;
        let values: Vec<String> = record
            .iter()
            .enumerate()
            .filter(|(_, value)| !value.is_empty())
            .map(|(column, value)| {
                let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
                match headings.get(column).filter(|heading| !heading.is_empty()) {
                    Some(heading) => format!("{heading}: {value}"),
                    None => value,
                }
            })
            .collect();
        if !values.is_empty() {
            rows.push((number, values.join("; ")));
        }
    }
    Ok(rows)
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
