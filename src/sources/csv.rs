//! Rows of a CSV table as sentences: every value with the heading of its column, so that a row can be understood alone.

use super::Unusable;

/// The rows with their numbers as spreadsheets count them: the headings are row 1.
pub(super) fn rows(text: &str) -> Result<Vec<(u32, String)>, Unusable> {
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter(text))
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let headings = reader
        .headers()
        .map_err(|error| Unusable::NoTable(error.to_string()))?
        .clone();
    let mut rows = Vec::new();
    for (number, record) in (2..).zip(reader.records()) {
        let record = record.map_err(|error| Unusable::NoTable(error.to_string()))?;
        let told: Vec<String> = record
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
        if !told.is_empty() {
            rows.push((number, told.join("; ")));
        }
    }
    Ok(rows)
}

/// Whichever of the usual ones the headings have most of.
fn delimiter(text: &str) -> u8 {
    let head = text.lines().next().unwrap_or_default();
    let count = |mark: u8| head.bytes().filter(|byte| *byte == mark).count();
    let best = [b',', b';', b'\t']
        .into_iter()
        .rev()
        .max_by_key(|mark| count(*mark));
    best.unwrap_or(b',')
}
