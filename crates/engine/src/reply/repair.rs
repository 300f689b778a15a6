//! JSON that a model meant and did not quite write. What is mended is how it is written, never what it says: a value that
//! breaks off, is left out or stands for more is not filled in, and a reply that has one is refused.

use std::collections::HashSet;
use std::fmt::Write;

use serde_json::{Map, Value};

/// The object that was meant.
pub(super) fn repaired(text: &str) -> Option<Value> {
    let text = text.trim();
    if text.contains(MARK) || text.matches(['{', '[']).count() > MOST_OPENED {
        return None;
    }
    let Closed { text, names } = closed(text)?;
    // The repair library sees nothing that does not at least begin and end like an object.
    if !(text.starts_with('{') && text.ends_with('}')) {
        return None;
    }
    let mended = jsonrepair::repair_json(&in_ascii(&text), &jsonrepair::Options::default()).ok()?;
    let value = out_of_ascii(serde_json::from_str(&mended).ok()?);
    // Where it loses the thread it takes words of a text for names.
    (value.is_object() && only_has(&value, &names)).then_some(value)
}

/// The repair library goes one level deeper for each with no end to it, and a stack has one.
const MOST_OPENED: usize = 256;

/// Allowed as it is within JSON strings, and written by nobody.
const MARK: char = '\u{7f}';

/// Every character beyond ASCII as its number between marks: the repair library counts bytes where it should count
/// characters, and loses text after escapes.
fn in_ascii(text: &str) -> String {
    let mut ascii = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            ascii.push(c);
        } else {
            push_marked(&mut ascii, c);
        }
    }
    ascii
}

fn push_marked(text: &mut String, c: char) {
    // Writing to a String cannot fail.
    let _ = write!(text, "{MARK}{:x}{MARK}", u32::from(c));
}

fn out_of_ascii(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(unmarked(text)),
        Value::Array(items) => items.into_iter().map(out_of_ascii).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            let fields = fields.map(|(name, value)| (unmarked(name), out_of_ascii(value)));
            Value::Object(fields.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

fn unmarked(text: String) -> String {
    if !text.contains(MARK) {
        return text;
    }
    let parts = text.split(MARK).enumerate().map(|(index, part)| {
        let is_number = index % 2 == 1;
        let number = is_number.then(|| u32::from_str_radix(part, 16).ok());
        let c = number.flatten().and_then(char::from_u32);
        c.map_or_else(|| part.to_owned(), String::from)
    });
    parts.collect()
}

fn only_has(value: &Value, names: &HashSet<&str>) -> bool {
    match value {
        Value::Array(items) => items.iter().all(|item| only_has(item, names)),
        Value::Object(fields) => all_known(fields, names),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

fn all_known(fields: &Map<String, Value>, names: &HashSet<&str>) -> bool {
    let is_known =
        |(name, value): (&String, _)| names.contains(name.as_str()) && only_has(value, names);
    fields.iter().all(is_known)
}

/// A text whose brackets match.
struct Closed<'t> {
    text: String,
    /// What stands before a colon.
    names: HashSet<&'t str>,
}

/// The text with the braces and brackets that are missing within it or at its end. `None` where it ends within a value or
/// right after something opened, where something closes that was never opened, and where a value is missing.
fn closed(text: &str) -> Option<Closed<'_>> {
    let mut closed = String::with_capacity(text.len() + 8);
    let mut names = HashSet::new();
    let mut open = Vec::new();
    let mut tokens = Vec::new();
    let mut rest = text;
    let mut word = "";
    while let Some((token, length)) = next_token(rest) {
        let (piece, after) = rest.split_at(length);
        rest = after;
        let is_over = open.is_empty() && !tokens.is_empty();
        let is_unvalued = tokens.last() == Some(&Token::Colon);
        let is_after_two = tokens.ends_with(&[Token::Quoted; 2]);
        match token {
            Token::Space => {
                closed.push_str(piece);
                continue;
            }
            Token::Unfinished | Token::Ellipsis => return None,
            _ if is_over => return None,
            Token::Comma | Token::Closing(_) if is_unvalued => return None,
            // Between a value and the next name a comma may be missing; three texts in a row are no JSON of any kind.
            Token::Quoted if is_after_two => return None,
            Token::Opening(bracket) => open.push(bracket),
            Token::Closing(bracket) => loop {
                match open.pop()? {
                    opened if opened == bracket => break,
                    unclosed => closed.push(unclosed.closing()),
                }
            },
            Token::Colon => {
                names.insert(word);
            }
            Token::Quoted => word = &piece[1..piece.len() - 1],
            Token::Bare { .. } => word = piece,
            Token::Comma => {}
        }
        match token {
            Token::Quoted => push_escaped(&mut closed, piece),
            _ => closed.push_str(piece),
        }
        tokens.push(token);
    }
    if let Some(within) = open.last()
        && !ends_whole(&tokens, *within)
    {
        return None;
    }
    closed.extend(open.iter().rev().map(|bracket| bracket.closing()));
    Some(Closed {
        text: closed,
        names,
    })
}

/// Whether nothing is missing but what closes. A number at the very end may lack digits.
fn ends_whole(tokens: &[Token], within: Bracket) -> bool {
    let head = match tokens {
        [.., Token::Closing(_)] | [.., Token::Closing(_), Token::Comma] => return true,
        [head @ .., Token::Quoted]
        | [head @ .., Token::Bare { is_word: true }]
        | [head @ .., Token::Quoted | Token::Bare { .. }, Token::Comma] => head,
        _ => return false,
    };
    match within {
        Bracket::Brace => head.last() == Some(&Token::Colon),
        Bracket::Square => true,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bracket {
    Brace,
    Square,
}

impl Bracket {
    const fn closing(self) -> char {
        match self {
            Self::Brace => '}',
            Self::Square => ']',
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    /// Or a comment.
    Space,
    Opening(Bracket),
    Closing(Bracket),
    Comma,
    Colon,
    /// In double or single quotation marks.
    Quoted,
    /// Quoted to the end of the text, and further.
    Unfinished,
    /// In place of what was to be written.
    Ellipsis,
    Bare {
        /// One of those that cannot go on, unlike a number.
        is_word: bool,
    },
}

/// As JSON and as Python write them.
const WORDS: [&str; 6] = ["true", "false", "null", "True", "False", "None"];

/// What comes next, and how many bytes of it there are.
fn next_token(text: &str) -> Option<(Token, usize)> {
    let first = text.chars().next()?;
    let until = |end: Option<usize>| end.unwrap_or(text.len());
    Some(match first {
        '{' => (Token::Opening(Bracket::Brace), 1),
        '[' => (Token::Opening(Bracket::Square), 1),
        '}' => (Token::Closing(Bracket::Brace), 1),
        ']' => (Token::Closing(Bracket::Square), 1),
        ',' => (Token::Comma, 1),
        ':' => (Token::Colon, 1),
        '"' | '\'' => match end_of_string(text, first) {
            Some(end) => (Token::Quoted, end),
            None => (Token::Unfinished, text.len()),
        },
        '#' => (Token::Space, until(text.find('\n'))),
        '/' if text.starts_with("//") => (Token::Space, until(text.find('\n'))),
        '/' if text.starts_with("/*") => match text.find("*/") {
            Some(end) => (Token::Space, end + 2),
            None => (Token::Unfinished, text.len()),
        },
        '…' => (Token::Ellipsis, first.len_utf8()),
        '.' if text.starts_with("...") => (Token::Ellipsis, 3),
        _ if first.is_whitespace() => {
            let length = until(text.find(|c: char| !c.is_whitespace()));
            (Token::Space, length)
        }
        _ => {
            let ends = |c: char| c.is_whitespace() || "{}[],:\"'".contains(c);
            let length = until(text.find(ends));
            let is_word = WORDS.contains(&&text[..length]);
            (Token::Bare { is_word }, length)
        }
    })
}

fn end_of_string(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Backslashes that are meant as such travel as numbers too. One that escapes nothing is meant, as in `\alpha` or `C:\data`.
fn push_escaped(closed: &mut String, string: &str) {
    let mut characters = string.char_indices();
    while let Some((at, c)) = characters.next() {
        let after = &string[at + c.len_utf8()..];
        if c != '\\' {
            closed.push(c);
        } else if escapes(after) && !after.starts_with('\\') {
            closed.push(c);
            closed.extend(characters.next().map(|(_, escaped)| escaped));
        } else {
            push_marked(closed, c);
            if escapes(after) {
                characters.next();
            }
        }
    }
}

/// Whether a backslash before this text says how the next character is meant.
fn escapes(text: &str) -> bool {
    let is_hex = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    match text.as_bytes() {
        [b'u', digits @ ..] => digits.get(..4).is_some_and(is_hex),
        [first, ..] => b"\"'\\/bfnrt".contains(first),
        [] => false,
    }
}

#[cfg(test)]
#[path = "repair_tests.rs"]
mod tests;
