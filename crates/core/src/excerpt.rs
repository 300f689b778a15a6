//! Plain excerpts of Markdown, for views with room for a few lines.

use crate::characters::is_deceptive;

/// The beginning of a Markdown text as plain text on one line without control characters, at most `max` characters long. It ends after a sentence if it
/// can; a shortened text ends with an ellipsis. Headings, tables and code blocks are left out, unless there is nothing else.
pub fn excerpt(markdown: &str, max: usize) -> String {
    let text = prose(markdown);
    let text = if text.is_empty() {
        let lines = markdown.lines().map(|line| line.trim_start_matches('#'));
        lines
            .flat_map(str::split_whitespace)
            .collect::<Vec<_>>()
            .join(" ")
    } else {
        text
    };
    let text: String = text.chars().filter(|c| !is_deceptive(*c)).collect();
    cut(&text, max)
}

/// The paragraphs and list items, without their markup.
fn prose(markdown: &str) -> String {
    let mut out = String::new();
    let mut is_code = false;
    let mut starts_block = false;
    for line in markdown.lines() {
        let line = line.trim();
        if line.starts_with("```") || line.starts_with("~~~") {
            is_code = !is_code;
            continue;
        }
        let is_rule = line.len() > 2 && line.chars().all(|c| matches!(c, '-' | '*' | '_' | '='));
        if line.is_empty() || is_code || is_rule || line.starts_with('#') || line.starts_with('|') {
            starts_block = true;
            continue;
        }
        let item = without_marker(line);
        starts_block |= item.len() < line.len();
        let text = without_markup(item);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if words.is_empty() {
            continue;
        }
        if !out.is_empty() {
            // Two items without punctuation would read as one sentence.
            if starts_block && out.ends_with(|c: char| c.is_alphanumeric() || c == ')') {
                out.push(';');
            }
            out.push(' ');
        }
        out.push_str(&words);
        starts_block = false;
    }
    out
}

/// Without the marker of a list item or a quotation.
fn without_marker(line: &str) -> &str {
    let line = line.trim_start_matches("> ");
    for marker in ["- ", "* ", "+ ", "• "] {
        if let Some(item) = line.strip_prefix(marker) {
            return item;
        }
    }
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    if number.len() < line.len()
        && let Some(item) = number
            .strip_prefix(". ")
            .or_else(|| number.strip_prefix(") "))
    {
        return item;
    }
    line
}

/// Without emphasis, code marks and the addresses of links.
fn without_markup(line: &str) -> String {
    let line = line.replace("**", "").replace('`', "");
    let mut out = String::new();
    let mut rest = line.as_str();
    while let Some(open) = rest.find('[') {
        let link = &rest[open + 1..];
        let parts = link.split_once("](");
        let parts = parts.and_then(|(text, after)| Some((text, after.split_once(')')?.1)));
        match parts {
            Some((text, after)) if !text.contains('[') => {
                out.push_str(&rest[..open]);
                out.push_str(text);
                rest = after;
            }
            _ => {
                out.push_str(&rest[..=open]);
                rest = link;
            }
        }
    }
    out.push_str(rest);
    without_stars(&out)
}

/// Without single stars at the edge of a word; the star of `2 * 3` stays.
fn without_stars(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let is_space = |at: Option<usize>| {
        let neighbour = at.and_then(|at| characters.get(at));
        neighbour.is_none_or(|c| c.is_whitespace())
    };
    let kept = characters
        .iter()
        .enumerate()
        .filter(|(at, c)| **c != '*' || (is_space(at.checked_sub(1)) == is_space(Some(at + 1))));
    kept.map(|(_, c)| *c).collect()
}

/// At most `max` characters, up to the end of a sentence if one ends in the second half.
fn cut(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    // Room for the ellipsis.
    let head: String = text.chars().take(max.saturating_sub(2)).collect();
    let sentence_ends = head.char_indices().filter(|(at, c)| {
        let rest = &text[at + c.len_utf8()..];
        matches!(c, '.' | '!' | '?' | '。') && rest.starts_with(char::is_whitespace)
    });
    let mut ends = sentence_ends.map(|(at, c)| at + c.len_utf8());
    if let Some(end) = ends.next_back().filter(|end| *end >= head.len() / 2) {
        return format!("{} …", &head[..end]);
    }
    let word = head.rfind(char::is_whitespace);
    let end = word.filter(|end| *end >= head.len() / 2);
    format!("{}…", head[..end.unwrap_or(head.len())].trim_end())
}

#[cfg(test)]
#[path = "excerpt_tests.rs"]
mod tests;
