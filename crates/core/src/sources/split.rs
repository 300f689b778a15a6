//! Splits a text into passages at headings and between paragraphs, none longer than [`MAX_PASSAGE_LENGTH`]. The passages together cover
//! everything that is not blank.

use super::{Passage, Place};

/// The longest passage, in characters.
pub const MAX_PASSAGE_LENGTH: usize = 900;
/// A passage of at least this many characters ends with its paragraph.
const TARGET_LENGTH: usize = 450;

/// Splits running text; locations are lines.
pub fn of_text(source: &str, text: &str) -> Vec<Passage> {
    let lines: Vec<Piece> = (1..)
        .zip(text.lines())
        .map(|(number, line)| Piece::of_line(number, line))
        .collect();
    placed(source, &grouped(&lines), |from, to| Place::Lines {
        from,
        to,
    })
}

/// Groups table rows, given as number and text with column headings; locations are rows.
pub fn of_rows(source: &str, rows: &[(u32, String)]) -> Vec<Passage> {
    let rows: Vec<Piece> = rows
        .iter()
        .map(|(number, text)| Piece {
            number: *number,
            text: text.trim().to_owned(),
            is_heading: false,
        })
        .collect();
    placed(source, &grouped(&rows), |from, to| Place::Rows { from, to })
}

/// Splits each page separately; locations are pages.
pub fn of_pages(source: &str, pages: &[String]) -> Vec<Passage> {
    let mut passages = Vec::new();
    for (number, page) in (1..).zip(pages) {
        let lines: Vec<Piece> = (1..)
            .zip(page.lines())
            .map(|(line, text)| Piece::of_line(line, text))
            .collect();
        let parts = grouped(&lines);
        passages.extend((1..).zip(parts).map(|(part, group)| {
            Passage::new(source, Place::Page { number, part }, None, group.text)
        }));
    }
    passages
}

/// A line or row.
struct Piece {
    number: u32,
    text: String,
    /// A heading starts a new passage.
    is_heading: bool,
}

impl Piece {
    fn of_line(number: u32, line: &str) -> Self {
        let text = line.trim_end();
        let hashes = text.trim_start_matches('#');
        let is_heading =
            hashes.len() < text.len() && text.len() - hashes.len() <= 6 && hashes.starts_with(' ');
        Self {
            number,
            text: text.to_owned(),
            is_heading,
        }
    }
}

struct Group {
    from: u32,
    to: u32,
    text: String,
    length: usize,
    /// Only headings so far: the following text belongs to them.
    is_heading: bool,
}

fn grouped(pieces: &[Piece]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut open: Option<Group> = None;
    let mut blanks = 0;
    for piece in pieces {
        if piece.text.trim().is_empty() {
            blanks += 1;
            continue;
        }
        for part in parts(&piece.text) {
            let length = part.chars().count();
            let ends = open.as_ref().is_some_and(|group| {
                group.length + blanks + 1 + length > MAX_PASSAGE_LENGTH
                    || (piece.is_heading && !group.is_heading)
                    || (blanks > 0 && group.length >= TARGET_LENGTH)
            });
            if ends {
                groups.extend(open.take());
            }
            match &mut open {
                Some(group) => {
                    let between = if blanks > 0 { "\n\n" } else { "\n" };
                    group.text.push_str(between);
                    group.text.push_str(part);
                    group.length += between.len() + length;
                    group.to = piece.number;
                    group.is_heading &= piece.is_heading;
                }
                None => {
                    open = Some(Group {
                        from: piece.number,
                        to: piece.number,
                        text: part.to_owned(),
                        length,
                        is_heading: piece.is_heading,
                    });
                }
            }
            blanks = 0;
        }
    }
    groups.extend(open);
    groups
}

/// Splits a line that is too long for one passage, preferably after a sentence, otherwise between words.
fn parts(line: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = line;
    while let Some((end, _)) = rest.char_indices().nth(MAX_PASSAGE_LENGTH) {
        let head = &rest[..end];
        let sentence = head.rfind(". ").map(|at| at + 1);
        let far_enough = |at: &usize| *at >= end / 2;
        let cut = sentence
            .filter(far_enough)
            .or_else(|| head.rfind(char::is_whitespace).filter(far_enough))
            .unwrap_or(end);
        parts.push(rest[..cut].trim_end());
        rest = rest[cut..].trim_start();
    }
    parts.push(rest);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

/// Numbers the groups that lie in the same single line.
fn placed(source: &str, groups: &[Group], place: impl Fn(u32, u32) -> Place) -> Vec<Passage> {
    let mut passages: Vec<Passage> = Vec::with_capacity(groups.len());
    let mut same = 1;
    for group in groups {
        let place = place(group.from, group.to);
        same = match passages.last() {
            Some(last) if last.place == place => same + 1,
            Some(_) | None => 1,
        };
        let part = (same > 1).then_some(same);
        passages.push(Passage::new(source, place, part, group.text.clone()));
    }
    passages
}
